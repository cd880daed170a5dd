/* Files that compilers and archivers write, and what they print: whether to keep them. */
#include "trace/check.c"
#include "trace/content.c"
#include "trace/entry.c"

#include "fuzzed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = copy_of(data, size);
	is_dated_archive(copy, size);
	tells_of_state(copy, size);
	free(without_names(copy, size));
	free(copy);
	return 0;
}
