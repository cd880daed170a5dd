/* What a command that has ended leaves in the store, if that may be kept. */
#ifndef SMPMAKE_MEMOFILE_H
#define SMPMAKE_MEMOFILE_H

#include "memotrace.h"

struct result {
	int status; /* as of wait(2) */
	char *out, *err;
	size_t out_size, err_size;
	uint64_t cpu_us;
};

/* 0, or why it is not kept.  Where it is `known` already the two are compared, and the session is
 * told of a difference. */
enum memo_why memo_keep_result(struct trace *trace, const struct result *result,
                               const struct memo_entry *known);

/* Whether the guards of a job, whose notes those are (NULL: it has none), have shown it anything
 * but what lies on the disk: the kernel's calls do not tell that. */
int memo_was_shown_others(const char *notes);

#endif
