/* What a command that has ended leaves in the store, if that may be kept. */
#ifndef SMPMAKE_MEMOFILE_H
#define SMPMAKE_MEMOFILE_H

#include "calls.h"

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

#endif
