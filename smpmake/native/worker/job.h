/* A job as the server sends it to a worker, and its outputs when it has ended. */
#ifndef SMPMAKE_JOB_H
#define SMPMAKE_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "layout/wire.h"

struct output {
	unsigned flags;
	const char *path;
	const char *aside; /* where its stale copy is that was set aside; "": none */
	uint64_t older;    /* the inode that it had before a journaled job, or 0 */
};

struct job {
	struct wire_job fixed;
	struct output *outputs;
	size_t output_count;
	const char *real, *cwd, *lent;
	char **argv, **env;
	const struct wire_limit *limits;
	size_t limit_count;
};

/* Cuts a payload into its parts; -1 when lengths do not add up. */
int parse(char *payload, size_t size, struct job *job);
void forget(struct job *job);

/* In the process that becomes the tool: what its caller has handed on.  TERM is not ignored, since
 * by that we end a tool. */
void hand_on(const struct wire_job *job);

/* Before the job starts: of a journaled one, what its outputs are. */
void note_older(struct job *job);

/* The output that is the job's stdout, or NULL. */
const char *printed_into(const struct job *job);

/* What did not finish does not exist, nor does the stale copy: make would believe it.  But an
 * older output stays that a journaled job has not replaced: if we end it all is undone, and its
 * contents come back, not itself; if it ends by itself the server decides. */
void remove_unfinished(const struct job *job);

/* Gives outputs the time at which their command was issued; returns how many are missing.
 * What is older the tool has not made: it keeps its time, as it would have serially. */
uint32_t finish(const struct job *job);

#endif
