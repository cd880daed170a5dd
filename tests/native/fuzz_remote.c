/* What a server of other machines' results answers. */
#include "memoremote.c"

#include "stored.h"

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
		at += entry->size;
	}
	free(making.data);
	return 0;
}
