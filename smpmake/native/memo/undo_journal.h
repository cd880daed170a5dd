/* The undo journal's part in giving a remembered result back: what guards would write down. */
#ifndef SMPMAKE_MEMO_UNDO_JOURNAL_H
#define SMPMAKE_MEMO_UNDO_JOURNAL_H

#include <stdint.h>
#include <sys/stat.h>

/* `board`: where the session's is; beside it lies its journal. */
void memo_keep_by(const char *board);
/* What has been given back has this time: what guards see made next is to be younger. */
void memo_keep_time(int64_t made_ns);
/* Called before a path is made (`was` NULL) or replaced or removed.  `made`: the file that will be
 * there, where there is one already.  -1: it cannot be undone, and is not to be done. */
int memo_keep(const char *path, const struct statx *was, const struct statx *made);

#endif
