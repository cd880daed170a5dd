#include "remade.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One that was made anew: which file it is now, and where. */
struct remade {
	const struct undo_entry *entry;
	dev_t device;
	ino_t inode;
	char *path;
};

static struct remade *list;
static size_t count, room;

static int is_at(const struct remade *one, const struct stat *info)
{
	return one->inode == info->st_ino && one->device == info->st_dev;
}

void remade_note(const char *path, const struct stat *info, const struct undo_entry *entry)
{
	char *name = strdup(path);
	if (name == NULL)
		abort();
	for (size_t i = 0; i < count; i++)
		if (is_at(&list[i], info)) {
			free(list[i].path);
			list[i].path = name;
			list[i].entry = entry;
			return;
		}
	if (count == room) {
		room = room != 0 ? 2 * room : 64;
		list = realloc(list, room * sizeof *list);
		if (list == NULL)
			abort();
	}
	list[count++] = (struct remade){entry, info->st_dev, info->st_ino, name};
}

void remade_gone(const struct stat *info)
{
	for (size_t i = 0; i < count; i++)
		if (is_at(&list[i], info)) {
			free(list[i].path);
			list[i] = list[--count];
			return;
		}
}

int remade_knows(const struct stat *info)
{
	for (size_t i = 0; i < count; i++)
		if (is_at(&list[i], info))
			return 1;
	return 0;
}

int remade_is(const struct stat *info, const struct undo_entry *entry)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].entry->inode == entry->inode &&
		    list[i].entry->device == entry->device && is_at(&list[i], info))
			return 1;
	return 0;
}

/* `path` where it is `from` or lies below: as it is now, to be freed; else NULL. */
static char *moved(const char *path, const char *from, const char *to)
{
	size_t size = strlen(from);
	char name[PATH_MAX];
	if (strncmp(path, from, size) != 0 || (path[size] != '\0' && path[size] != '/') ||
	    snprintf(name, sizeof name, "%s%s", to, path + size) >= (int)sizeof name)
		return NULL;
	return strdup(name);
}

void remade_moved(const char *from, const char *to)
{
	for (size_t i = 0; i < count; i++) {
		char *path = moved(list[i].path, from, to);
		if (path != NULL) {
			free(list[i].path);
			list[i].path = path;
		}
	}
}

/* Longer names first: what is in a folder cannot be reached when that has its mode. */
static int longest_first(const void *a, const void *b)
{
	const struct remade *left = a, *right = b;
	size_t one = strlen(left->path), other = strlen(right->path);
	return one == other ? 0 : one < other ? 1 : -1;
}

void remade_end(void (*finish)(const char *path, const struct undo_entry *entry))
{
	struct stat info;
	if (count > 0)
		qsort(list, count, sizeof *list, longest_first);
	for (size_t i = 0; i < count; i++) {
		if (lstat(list[i].path, &info) == 0 && is_at(&list[i], &info))
			finish(list[i].path, list[i].entry);
		free(list[i].path);
	}
	free(list);
	list = NULL;
	count = room = 0;
}
