/* A program's environment, as an array of "NAME=value". */
#ifndef SMPMAKE_ENVIRONMENT_H
#define SMPMAKE_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "guard/guard.h"

extern char **environ;

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
