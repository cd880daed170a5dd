/* Files that compilers read: what of them matters beside their hash. */
#include "memo/store.c"
#include "memo/text.c"

#include "fuzzed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct names names = {0};
	char *copy = copy_of(data, size);
	struct reading reading = {.within = 0};
	size_t half = size / 2;
	memo_text_says(&reading, copy, 0, half);
	memo_text_says(&reading, copy, half, size);
	look_for_names(&names, copy, size);
	is_runnable(copy, size);
	free(copy);
	return 0;
}
