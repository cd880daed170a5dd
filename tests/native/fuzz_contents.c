/* Files that compilers read: what of them matters beside their hash. */
#include "memostore.c"

#include "fuzzed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct names names = {0};
	char *copy = copy_of(data, size);
	words_in(copy, size);
	look_for_names(&names, copy, size);
	is_runnable(copy, size);
	free(copy);
	return 0;
}
