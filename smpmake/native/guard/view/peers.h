#ifndef SMPMAKE_PEERS_H
#define SMPMAKE_PEERS_H

#include <stdint.h>

/* A process that is part of no command is about to connect, or sends something: to a server of this
 * machine that may be older than the build it goes when nothing is pending. */
void guard_meets(int fd, const void *address, unsigned size, int sends);
void guard_sends_message(int fd, const void *message);
void guard_sends_messages(int fd, const void *messages, unsigned count);

/* Whether a time, in ns since 1970, is before the build began. */
int is_before_build(int64_t time);

#endif
