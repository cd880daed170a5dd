/* The giving back of a result: its files, and what it said.
 */
#ifndef SMPMAKE_MEMO_GIVE_H
#define SMPMAKE_MEMO_GIVE_H

#include "memo/question.h"

/* Makes the files of an entry, writes its texts; the status, or -1 where nothing was done.  The
 * undo journal beside the board of undo_journal.h has it. */
int memo_give(const struct memo_question *q, const struct memo_entry *entry);

#endif
