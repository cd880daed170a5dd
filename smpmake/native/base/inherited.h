/* What a tool gets from who starts it, beside words, environment, folder, descriptors and limits.
 */
#ifndef SMPMAKE_INHERITED_H
#define SMPMAKE_INHERITED_H

#include <stdint.h>

/* number   of all that a worker does not hand on; never 0.  Processes with one number are alike.
 * ignored  signals that are, as bits: 0 is signal 1; blocked: the same.
 * nice     niceness. */
struct inherited {
	uint64_t number, ignored, blocked;
	int32_t nice;
};

/* Of this process, which has a connection with the server; -1: of it in whichever container and on
 * whichever machine, whose files and network the number leaves out.  That the system does not tell
 * something counts as one more value. */
void look_at_inherited(int server, struct inherited *found);

#endif
