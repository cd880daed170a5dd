/* An undo journal, cut or written over. */
#include "keeper/undolog.c"

#include "fuzzed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct journal journal = {0};
	char *copy = calloc(1, size + 1); /* as contents_of: a NUL is behind it */
	if (copy == NULL)
		abort();
	if (size > 0)
		memcpy(copy, data, size);
	scan(&journal, copy, size, size > 0 ? data[0] % 64 * 8u : 0, 0);
	for (size_t i = 0; i < journal.count; i++)
		if (strlen(journal.items[i].path) + strlen(journal.items[i].other) > size)
			abort();
	sort(&journal);
	free(journal.items);
	free(copy);
	return 0;
}
