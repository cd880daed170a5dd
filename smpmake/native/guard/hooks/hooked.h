/* The hooks that run programs, as libc declares them. */
#ifndef SMPMAKE_HOOKED_H
#define SMPMAKE_HOOKED_H

#include "guard/libc.h"

/* The functions that we stand for are declared by hooks.def; <unistd.h> and <stdio.h> stay out,
 * which declare some of them a little otherwise. */
#define HOOK(type, name, params, args, before)
#define ENTRY(type, name, params, args, dir, path, before)
#define LOOK(name, params, args, dir, path, show, to, plain, flags)
#define OPEN(name, params, args, dir, path, how)
#define STREAM(name, params, args, dir, path, how)
#define TEMP(name, params, args, tail, flags)
#define GONE(type, name, params, args, dir, path, kinds)
#define OWN(type, name, params) EXPORT type name params;
#include "hooks.def"

#endif
