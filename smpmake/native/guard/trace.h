/* What a job was seen to do: a file a slot, in which its guards note it; smpmake/guard/traces.py
 * reads it.
 */
#ifndef SMPMAKE_TRACE_H
#define SMPMAKE_TRACE_H

#include <stdint.h>

/* A job's notes: `used` bytes of text, each a letter (r read, w written, u a program without a
 * guard, p one that has it) and an absolute path, NUL-ended.
 * Began: when the job was about to be started, by a clock that no file's time is ahead of.  Issued:
 * when its command was.  Older: when the newest of those was that were issued before, and may read
 * what they have not named; 0 for none.  Watched: what was made later it does not find unasked.
 * Waited: for a CPU, all the processes that have left.  Own: what the job has said that it writes,
 * by check_of_key; it asks about changes to that only if told so.  Inputs: what it has said that it
 * reads, in as many places as are used, a power of two; each lies where its lowest bits say, or
 * behind.  Litter: how paths begin of files that are no part of the build; "" for none.
 * Recipes: the file is that of a whole build, `text` goes on beyond the structure, and there are
 * `room` bytes of it, more and more.  Each letter is followed by the number of a recipe, the first
 * process that a make started for it.  Letters besides: R opened to be read and written, a written
 * at its end, d removed, n about to come, v looked for in vain, t
 * looked at, k a folder that was made, K one that was there
 * already, s a link's path (both), and three whose text begins with a number and a slash: c a
 * recipe's first process, by its parent; m a make by its own, with its folder. */
#define TRACE_SIZE (1u << 18)
#define TRACE_OWN 8
#define TRACE_INPUTS 1024u
#define TRACE_LITTER 32
#define TRACE_LONGEST (1u << 31) /* of a whole build's */
struct trace {
	uint32_t used;
	uint32_t lost; /* notes that found no room */
	int64_t began_ns, issued_ns, older_ns;
	uint32_t watched, waited_us, asks_own, places;
	uint32_t room, recipes;
	char litter[TRACE_LITTER];
	uint64_t own[TRACE_OWN];
	uint64_t inputs[TRACE_INPUTS];
	char text[TRACE_SIZE - 56 - TRACE_LITTER - 8 * (TRACE_OWN + TRACE_INPUTS)];
};

#endif
