/* What a shim does about remembered results. */
#ifndef SMPMAKE_REMEMBER_H
#define SMPMAKE_REMEMBER_H

#include "context.h"

/* Becomes the real tool; the status where that cannot be. */
int execute(const char *real, char **argv, char **env);

/* A configure script's check, with nothing at work: gives its result back, or becomes what runs it
 * and remembers that, or the tool. */
int remember(const char *real, char **argv, const struct context *s);

/* A command of the build: gives its result back if nothing is pending, and tells the server, which
 * has nothing to decide then.  -1: it is not remembered, or may not be; the server is to be asked.
 */
int give_back(const char *tool, const char *real, char **argv, const struct context *s);

/* Whether a recipe's line is best left to its shell: a compiler begins it, and has its result by
 * the look of it.  What is in the line comes by itself. */
int has_result(char *const *argv, const struct context *s);

/* A command that the server has run where it stands, with others pending: becomes what looks for
 * its result under the guard, or the tool. */
int run_in_place(const char *real, char **argv, const struct context *s);

#endif
