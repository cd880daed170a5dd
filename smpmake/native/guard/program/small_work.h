/* The work of small tools, done by who would become one of them. */
#ifndef SMPMAKE_SMALL_WORK_H
#define SMPMAKE_SMALL_WORK_H

/* Whether a tool of that path would end in silence and with status 0, and all that it would do is
 * done.  Else it is to run: what was done by then is what it would have done first, and need not
 * find any more. */
int did_small_work(const char *path, char *const *argv);

#endif
