#ifndef SMPMAKE_PEERS_H
#define SMPMAKE_PEERS_H

/* A process that is part of no command is about to connect: to a server of this machine that may be
 * older than the build it goes when nothing is pending. */
void guard_meets(int fd, const void *address, unsigned size);

#endif
