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
 * behind.  Shown: not 0, it was shown another file than lies at a path, or none.
 * Given: the CPU time of results that were given back in its place (recall/recall.c).
 *
 * Missed: why none was (miss_reasons.h), 0 if one was, or nobody looked; doubted: by what, a path,
 * a word or the like, "" where that is not known.
 *
 * Litter: how paths begin of files that are no part of the build; "" for none.
 *
 * Recipes: not 0, the file is that of a whole build (`smpmake check`; 2: it gets no more room),
 * `text` goes on beyond the structure, and there are `room` bytes of it, more and more.  Behind
 * each letter stands the number of a recipe: its first process, which a make started.  These
 * letters come besides: R opened to be read and changed, a written to at its end, d removed, x to
 * be removed and not there, n about to come, h about to change: a slash, a number of what it held,
 * its path, s a new link, k a new folder, K one that was to be made and was there, t looked at by a
 * shell, v looked for in vain, c a recipe's first process: a slash and its parent's number, m a
 * make: a slash, its own number and its folder. */
#define TRACE_SIZE (1u << 18)
#define TRACE_OWN 8
#define TRACE_INPUTS 1024u
#define TRACE_LITTER 32
#define TRACE_DOUBTED 248
#define TRACE_LONGEST (1u << 31)  /* of a whole build's */
#define CHECK_FLAGS "p --debug=j" /* what makes are asked for, in MAKEFLAGS */
#define TRACE_SUMMED (1 << 20)    /* bytes of the longest file whose contents have a number */
struct trace {
	uint32_t used;
	uint32_t lost; /* notes that found no room */
	int64_t began_ns, issued_ns, older_ns;
	uint32_t watched, waited_us, asks_own, places;
	uint32_t room, recipes;
	uint32_t shown, given_us;
	char litter[TRACE_LITTER];
	uint32_t missed, reserved;
	char doubted[TRACE_DOUBTED];
	uint64_t own[TRACE_OWN];
	uint64_t inputs[TRACE_INPUTS];
	char text[TRACE_SIZE - 72 - TRACE_LITTER - TRACE_DOUBTED - 8 * (TRACE_OWN + TRACE_INPUTS)];
};

#endif
