/* What concerns remembering in the notes of a job's guards (layout/trace.h). */
#ifndef SMPMAKE_MEMOVIEWS_H
#define SMPMAKE_MEMOVIEWS_H

#include <stdint.h>

#include "layout/miss_reasons.h"

/* Whether the guards of a job, whose notes those are (NULL: it has none), have shown it anything
 * but what lies on the disk: the kernel's calls do not tell that. */
int memo_was_shown_others(const char *notes);

/* A result was given back in a job, which took that much CPU time when it was made. */
void memo_note_given(const char *notes, uint64_t saved_us);
/* None was; `doubted` is what kept it from that, or NULL. */
void memo_note_missed(const char *notes, enum memo_why why, const char *doubted);

#endif
