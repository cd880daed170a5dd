/* libc's own functions behind the hooks, found by the constructor.  See hooks.def. */
#ifndef SMPMAKE_HOOKS_H
#define SMPMAKE_HOOKS_H

#include <sys/types.h>

#include "guard.h"

struct statx;

#define HOOK(type, name, params, args, before) type(*name) params;
#define LOOK(type, name, params, args, dir, path, shown) type(*name) params;
#define OPEN(type, name, params, args, dir, path, aim, failed) type(*name) params;
#define OWN(type, name, params) type(*name) params;
struct libc {
#include "hooks.def"
};
#undef HOOK
#undef LOOK
#undef OPEN
#undef OWN
extern struct libc libc;

#define LIBC(name) (libc.name != NULL ? libc.name : (find_libc(), libc.name))
void find_libc(void);

#endif
