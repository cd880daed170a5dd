/* Whether a question has to be put. */
#ifndef SMPMAKE_CONCERN_H
#define SMPMAKE_CONCERN_H

/* Of a path that is to be read. */
int guard_concerns(int dir, const char *path);

/* Whether what is at a path, or where a link there leads, is an older file that a pending command
 * will replace, or already has removed; or a link leads nowhere, where one may be going to make
 * something. */
int is_stale(int dir, const char *path, int *is_link);

#endif
