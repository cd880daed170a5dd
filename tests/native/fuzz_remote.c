/* What a server of other machines' results answers. */
#include "memo/remote.c"

#define memo_keep keep_nothing
#include "memo/give.c"
#include "stored.h"

int keep_nothing(const char *path, const struct statx *was, const struct statx *made)
{
	(void)path;
	(void)was;
	(void)made;
	return 0;
}

/* Whatever of its facts holds.  The folder has links that lead out of it.  The disk is slow: of the
 * first ones all, which are what the corpus has, then some. */
static int give(const struct memo_entry *entry)
{
	static unsigned count;
	int64_t made_ns = 0;
	if (++count > 200 && count % 64 != 0)
		return 0;
	return put_all(&question, entry, &made_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = stored(data, size);
	static struct contents contents;
	struct making making;
	contents.count = 0;
	begin(&making, &question);
	if (memo_is_of_question(&question, question.scope, copy, size))
		append_foreign(&making, &question, copy, size);
	for (size_t at = sizeof(struct memo_head); at < making.size;) {
		const struct memo_entry *entry = (const void *)(making.data + at);
		each_content(entry, note, &contents);
		give(entry);
		at += entry->size;
	}
	free(making.data);
	return 0;
}
