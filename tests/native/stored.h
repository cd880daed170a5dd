/* A question's file as it may lie in a store, or come from a server. */
#ifndef STORED_H
#define STORED_H

#include "fuzzed.h"
#include "memo/question.h"

static char *words[] = {"gcc", "-c", "a.c", "-o", "sub/a.o", NULL};
static char *variables[] = {"LANG=C", "TMPDIR=/tmp", NULL};
static struct memo_question question = {
    .program = "/usr/bin/gcc",
    .argv = words,
    .env = variables,
    .one_stream = 1,
};

/* The store is the folder that the environment names. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	question.memo.folder = getenv("FUZZED_STORE");
	question.memo.session = "";
	question.memo.build = "fuzzed";
	question.memo.tree = &question.tree;
	if (question.memo.folder == NULL || memo_find_tree(&question.tree, NULL) != 0)
		abort();
	return 0;
}

/* What is wrong behind a right head and right sums is looked for.  It ends where its memory ends,
 * which is never given back: programs that end soon keep pointers to what they have read. */
static inline char *stored(const uint8_t *data, size_t size)
{
	static char *room;
	if (room == NULL && (room = malloc(MEMO_LARGEST)) == NULL)
		abort();
	char *copy = room + MEMO_LARGEST - MEMO_PADDED(size);
	memcpy(copy, data, size);
	struct memo_head *head = (void *)copy;
	size_t at = sizeof *head;
	if (size < sizeof *head)
		return copy;
	head->magic = MEMO_MAGIC;
	head->format = MEMO_FORMAT;
	memset(head->key, 0, sizeof head->key);
	while (size - at >= sizeof(struct memo_entry)) {
		struct memo_entry *entry = (void *)(copy + at);
		if (entry->size < sizeof *entry || entry->size > size - at || entry->size % 8 != 0)
			break;
		entry->check = memo_check_of(entry);
		at += entry->size;
	}
	return copy;
}

#endif
