/* libc's own functions behind the hooks, found by the constructor.  See hooks.def. */
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
#include "hooks.def"
};
extern struct libc libc;

/* Whether nobody else stands between us and the kernel. */
extern int libc_is_alone;

/* The ones in daily use are found once, by the constructor; the others each time, which costs less
 * than finding them all in every small process. */
#define LIBC(name)                                                                                 \
	(libc.name != NULL ? libc.name : (__typeof__(libc.name))(uintptr_t)found_in_libc(#name))

/* NULL where this libc has no such function; or one that says so. */
void *find_in_libc(const char *name);
void *found_in_libc(const char *name);

#endif
