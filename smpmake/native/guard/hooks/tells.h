#ifndef SMPMAKE_TELLS_H
#define SMPMAKE_TELLS_H

#include <stddef.h>

/* A process that is part of no command tells others something; those that have no guard might then
 * look at what is pending: to them it goes when nothing is. */

/* By a signal: to a process, a group where the number is negative, or a thread. */
void guard_signals(int pid, int signal);
void guard_signals_by(int pidfd, int signal);

/* By a FIFO that it has opened to write, or a queue of messages. */
void guard_opens_fifo(int fd);
void guard_writes_queue(int fd);

/* By a queue of messages of System V's.  Whoever has a semaphore of theirs does not wait: a job may
 * need it, too (fakeroot's). */
void guard_sends(int id);

/* Takes semaphores, or gives them back. */
void guard_locks(const void *steps, size_t count);

#endif
