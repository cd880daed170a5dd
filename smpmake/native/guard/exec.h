/* What the hooks that run programs share. */
#ifndef SMPMAKE_EXEC_H
#define SMPMAKE_EXEC_H

#include <string.h>

#include "hooks.h"

extern char **environ;

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
#undef HOOK
#undef ENTRY
#undef LOOK
#undef OPEN
#undef STREAM
#undef TEMP
#undef GONE
#undef OWN

/* The value of the variable that `name` (of `length`, with its "=") names, or NULL. */
static inline const char *value_in(char *const *env, const char *name, size_t length)
{
	for (; env != NULL && *env != NULL; env++)
		if (strncmp(*env, name, length) == 0)
			return *env + length;
	return NULL;
}

/* "NAME=0000000123": always as many digits, so that it can be changed in place. */
static inline void put_number(char *to, const char *name, uint32_t number)
{
	char *at = stpcpy(to, name);
	for (int i = CALLER_DIGITS; i-- > 0; number /= 10)
		at[i] = (char)('0' + number % 10);
	at[CALLER_DIGITS] = '\0';
}

#endif
