/* libc's own functions behind the hooks.  See hooks.def. */
#ifndef SMPMAKE_LIBC_H
#define SMPMAKE_LIBC_H

#include <sys/types.h>

#include "guard.h"

struct statx;
struct open_how;

#define HOOK(type, name, params, args, before) type(*name) params;
#define ENTRY(type, name, params, args, dir, path, before) type(*name) params;
#define LOOK(name, params, args, dir, path, show, to, plain, flags) int(*name) params;
#define OPEN(name, params, args, dir, path, how) int(*name) params;
#define STREAM(name, params, args, dir, path, how) void *(*name)params;
#define TEMP(name, params, args, tail, flags) int(*name) params;
#define GONE(type, name, params, args, dir, path, kinds) type(*name) params;
#define OWN(type, name, params) type(*name) params;
struct libc {
#include "guard/hooks/hooks.def"
};
extern struct libc libc;

/* Whether nobody else stands between us and the kernel. */
int libc_is_alone(void);

/* Found once each, by whoever needs it first: to find even the common ones in advance would cost
 * more than most small processes use them for. */
#define LIBC(name)                                                                                 \
	(__atomic_load_n(&libc.name, __ATOMIC_RELAXED) != NULL                                     \
	     ? libc.name                                                                           \
	     : (__typeof__(libc.name))(uintptr_t)found_in_libc(&libc.name, #name))

/* NULL where this libc has no such function; or one that says so, put into its place. */
void *find_in_libc(const char *name);
SLOW void *found_in_libc(void *place, const char *name);

#endif
