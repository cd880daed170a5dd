/* How a program is started: what runs for it, and in which environment. */
#ifndef SMPMAKE_PLAN_H
#define SMPMAKE_PLAN_H

#include <stdarg.h>

#include "guard/hooks/calls.h"

/* A call that starts a program. */
struct program {
	struct call call;    /* its path may be NULL: what is open as `dir` */
	int searches;        /* PATH, as execvp(3) */
	int is_exec;         /* this process becomes the program */
	int argv_at, env_at; /* which words these are */
	const void *actions; /* of a spawn, or NULL; so its attributes */
	const void *attributes;
	int tells_pid; /* a spawn: in its first word */
	char *const *argv, *const *env;
	const char *first; /* where `list` is set: the first of the words, the others, */
	va_list *list;     /* and NULL; `listed` of them */
	size_t listed;
};

/* Makes the call, once nothing is pending of what the kernel will open for it: known tools go to
 * their shim, and the guard goes with the rest.  Returns what the call returns. */
long start_program(const struct program *program);

#endif
