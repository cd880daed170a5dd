/* Reading the undo journal (undo.h) that guards and server have written. */
#ifndef SMPMAKE_UNDOLOG_H
#define SMPMAKE_UNDOLOG_H

#include <stddef.h>

#include "layout/undo.h"

struct item {
	const struct undo_entry *entry;
	uint64_t number; /* of what is kept: the entry's place in its file */
	int server;
	const char *path, *other;
};

struct journal {
	struct undo_head *head;
	struct item *items;
	size_t count, room;
	int log, server; /* their files */
};

/* The journal in a session's folder, newest entry first; -1 where nothing can be undone by it. */
int undo_load(struct journal *j, const char *folder);

/* It has been undone: whoever begins once more, because this process was killed, passes over it. */
void undo_is_done(const struct journal *j, const struct item *item);

#endif
