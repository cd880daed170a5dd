/* The undo journal's part in giving a remembered result back: what guards would write down. */
#ifndef SMPMAKE_MEMOKEEP_H
#define SMPMAKE_MEMOKEEP_H

#include <stdint.h>
#include <sys/stat.h>

/* `board`: where the session's is; beside it lies its journal. */
void memo_keep_by(const char *board);
/* What has been given back has this time: what guards see made next is to be younger. */
void memo_keep_time(int64_t made_ns);
/* See memo_keep in memo.h. */
int memo_keep_in_journal(const char *path, const struct stat *was, const struct stat *made);

#endif
