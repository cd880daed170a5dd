/* How a command ends that others stand for: its files' times, its text, a signal that waits. */
#ifndef SMPMAKE_MEMO_FINISH_H
#define SMPMAKE_MEMO_FINISH_H

#include "memo/question.h"

/* Gives a file the time by the exact clock; the kernel takes that of its last tick.  So it is
 * younger than whatever was there before, as behind a compiler, which takes longer than a tick. And
 * nobody is to hear of it within the tick that made it: make compares times. */
int memo_date(int fd);
void memo_pass_tick(int64_t made_ns);

/* Whether a signal waits that ends this process.  Whoever sent it to make as well does not look for
 * what comes later: a compiler removes what it has made, and so do we. */
int memo_is_to_end(void);

/* Whether nobody reads the other end of a pipe: who writes there gets a signal. */
int memo_is_deserted(int fd);

/* Writes what a command has printed; -1 where that failed: then a file is as it was. */
int memo_tell_text(int fd, const char *text, size_t size);
/* The same of an entry's standard output, when its files are there.  -1: the command is to run. */
int memo_tell_last(const struct memo_question *q, const struct memo_entry *entry, const char *said,
                   size_t size);

#endif
