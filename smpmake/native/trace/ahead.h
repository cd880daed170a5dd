/* A check that is run before its script asks for it (ahead/ahead.c). */
#ifndef SMPMAKE_TRACE_AHEAD_H
#define SMPMAKE_TRACE_AHEAD_H

#include "calls.h"

/* Whether we run one. */
int is_ahead(void);
/* From now on the script's shim waits for us; -1 where that is not needed, as it has a result. */
int begin_ahead(struct memo_question *q);
void end_ahead(const struct trace *trace, int is_kept);

#endif
