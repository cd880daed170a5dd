/* Files that compilers read: what of them matters beside their hash. */
#include "memo/program.c"
#include "memo/store.c"
#include "memo/text.c"

#include "fuzzed.h"

#define ROOM 512u

static const char *const planted[] = {"environ",
                                      "__secure_getenv",
                                      "bytes after a total of",
                                      "xmalloc_set_program_name",
                                      "GNU C Library",
                                      "_SMPMAKE_",
                                      "environmen",
                                      "bytes after a totem"};

static int holds(const char *text, size_t size, unsigned i, size_t with_end)
{
	return memmem(text, size, planted[i], strlen(planted[i]) + with_end) != NULL;
}

/* What is found when one name is looked for after the other. */
static uint32_t one_by_one(const char *text, size_t size)
{
	if (holds(text, size, 2, 0) || holds(text, size, 3, 0))
		return MEMO_HAS_LIBIBERTY;
	int is_unseen = holds(text, size, 0, 1) || holds(text, size, 1, 1);
	return is_unseen && !holds(text, size, 4, 0) && !holds(text, size, 5, 0) ? MEMO_HAS_ENVIRON
	                                                                         : 0;
}

/* A program with names in the way of each other, at places that the data choose, whole and cut off.
 */
static void names_are_found(const uint8_t *data, size_t size)
{
	char text[ROOM];
	unsigned found = 0;
	for (size_t i = 0; i < ROOM; i++)
		text[i] = (char)data[i % size];
	for (size_t i = 0; i + 3 <= size && i < 12; i += 3) {
		const char *name = planted[data[i] % 8];
		size_t at = (data[i + 1] + data[i + 2] * 256u) % ROOM;
		size_t length = strlen(name) + (data[i] & 8 ? 1 : 0);
		memcpy(text + at, name, length < ROOM - at ? length : ROOM - at);
	}
	memo_look_for_names(&found, text, ROOM);
	if (memo_names_say(found) != one_by_one(text, ROOM))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = copy_of(data, size);
	struct reading reading = {.within = 0};
	unsigned found = 0;
	size_t half = size / 2;
	memo_text_says(&reading, copy, 0, half);
	memo_text_says(&reading, copy, half, size);
	memo_look_for_names(&found, copy, size);
	memo_is_runnable(copy, size);
	free(copy);
	if (size > 0)
		names_are_found(data, size);
	return 0;
}
