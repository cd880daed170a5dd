/* An object whose debug information gets another folder: it may come from a server. */
#include "fuzzed.h"
#include "memo/debug_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct memo_tree tree = {
	    .folder = "/w/tree", .top = 7, .plain = 7, .mark = 3, .length = 4};
	char *copy = copy_of(data, size);
	size_t again = size;
	const struct memo_place here = {tree.folder, tree.top}, there = {"/another/folder", 8};
	memo_renamed(copy, &again, &here, &there);
	memo_may_be_renamed(&tree, copy, size);
	memo_may_hide_names(copy, size);
	free(copy);
	return 0;
}
