/* A job server for the tools that use one, and were given none. */
#ifndef SMPMAKE_TOKENS_H
#define SMPMAKE_TOKENS_H

/* To be called before the program begins, once it is known; may not return. */
void guard_borrow(char **argv, char **env);

#endif
