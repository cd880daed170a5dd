/* The file actions of a posix_spawn(3): what its child opens, and in which folder it is then. */
#ifndef SMPMAKE_ACTIONS_H
#define SMPMAKE_ACTIONS_H

/* Before the spawn: waits for what its child is going to open, and notes it.  Returns where the
 * program's name will be looked up: a descriptor that is to be closed, or AT_FDCWD. */
int actions_see(const void *actions);

/* Whether they leave the child's folder as it is, and open nothing. */
int actions_are_usual(const void *actions);

#endif
