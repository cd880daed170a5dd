/* What a session is told of each command (smpmake/session/memo.py).
 */
#ifndef SMPMAKE_MEMO_TOLD_H
#define SMPMAKE_MEMO_TOLD_H

#include "memo/question.h"

/* Lines for the session: "h MICROSECONDS" for a result that was given back, "m REASON" where it
 * could not be, behind "e REASON NAME" of what is not as it was, if that is known; "r REASON" where
 * others had it, and it was given back in spite of that reason (0: of which nobody was told).
 * trace/run.c's are "s", it is remembered now; "a", and was run ahead of its script; "n REASON",
 * it is not; with
 * --memo=check "c", it is as it was, and "d WORDS\tWHAT\tINPUT", it is not. */
void memo_tell(const struct memo *memo, const char *line, size_t size);
/* Of the last of these lines the letter, 0 where there is none.  As long as commands have their
 * results the next one may, too; a build of which nothing is remembered is not to look twice. */
char memo_told_last(const struct memo *memo);
void memo_tell_number(const struct memo *memo, char letter, uint64_t number);

const char *memo_tell_why(const struct memo_question *q, enum memo_why why);

static inline void memo_tell_hit(const struct memo *memo, uint64_t saved_us)
{
	memo_tell_number(memo, 'h', saved_us);
}

#endif
