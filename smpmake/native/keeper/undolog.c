#include "undolog.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "base/util.h"

static void add(struct journal *j, const struct undo_entry *entry, uint64_t number, int server)
{
	const char *path = (const char *)(entry + 1);
	if (j->count == j->room) {
		j->room = j->room * 2 + 1024;
		j->items = realloc(j->items, j->room * sizeof *j->items);
		if (j->items == NULL)
			abort();
	}
	j->items[j->count++] = (struct item){entry, number, server, path, path + strlen(path) + 1};
}

/* Whether both texts end within the entry. */
static int is_whole(const struct undo_entry *entry)
{
	const char *texts = (const char *)(entry + 1);
	size_t size = entry->size - sizeof *entry;
	const char *end = memchr(texts, '\0', size);
	return end != NULL && memchr(end + 1, '\0', size - (size_t)(end + 1 - texts)) != NULL;
}

/* Whole entries only: a process may have been killed while it wrote one. */
static void scan(struct journal *j, const char *data, size_t size, size_t at, int server)
{
	while (at + sizeof(struct undo_entry) <= size) {
		const struct undo_entry *entry = (const void *)(data + at);
		if (entry->size < sizeof *entry || entry->size % 8 != 0 ||
		    entry->size > size - at) {
			at += 8;
			continue;
		}
		if (entry->mark == UNDO_MARK && is_whole(entry))
			add(j, entry, at, server);
		at += entry->size;
	}
}

/* Newest first; at one position what the server wrote is the older. */
static int newest_first(const void *a, const void *b)
{
	const struct item *left = a, *right = b;
	if (left->entry->at != right->entry->at)
		return left->entry->at < right->entry->at ? 1 : -1;
	if (left->server != right->server)
		return left->server ? 1 : -1;
	return left->entry < right->entry ? 1 : -1;
}

static void sort(struct journal *j)
{
	if (j->count > 0)
		qsort(j->items, j->count, sizeof *j->items, newest_first);
}

static int open_in(const char *folder, const char *name)
{
	char path[PATH_MAX];
	return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path
	           ? open(path, O_WRONLY | O_CLOEXEC)
		   : -1;
}

int undo_load(struct journal *j, const char *folder)
{
	size_t size;
	memset(j, 0, sizeof *j);
	j->head = (void *)contents_of(folder, "undo/head", sizeof *j->head, &size);
	if (j->head == NULL || size < sizeof *j->head || j->head->magic != UNDO_MAGIC ||
	    j->head->version != UNDO_VERSION || j->head->lost)
		return -1;
	char *log = contents_of(folder, "undo/log", j->head->used, &size);
	if (log != NULL)
		scan(j, log, size, j->head->start, 0);
	char *server = contents_of(folder, "undo/server", SIZE_MAX - 1, &size);
	if (server != NULL)
		scan(j, server, size, 0, 1);
	sort(j);
	j->log = open_in(folder, "undo/log");
	j->server = open_in(folder, "undo/server");
	return 0;
}

void undo_is_done(const struct journal *j, const struct item *item)
{
	const uint16_t nothing = UNDO_NOTHING;
	const off_t at = (off_t)(item->number + offsetof(struct undo_entry, kind));
	/* Without it, what is done twice may be complained of. */
	ssize_t done = pwrite(item->server ? j->server : j->log, &nothing, sizeof nothing, at);
	(void)done;
}
