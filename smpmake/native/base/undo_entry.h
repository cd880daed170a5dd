/* An entry of the undo journal (layout/undo.h) in the making, as guards and shims make it.  Whoever
 * includes this has mapped the journal's head, and the segment of its log in which the entry is.
 */
#ifndef SMPMAKE_UNDO_ENTRY_H
#define SMPMAKE_UNDO_ENTRY_H

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "canonical.h"
#include "kernel.h"
#include "layout/undo.h"

/* Bytes of the name of what a store keeps. */
#define JOURNAL_NAME (sizeof((struct undo_store *)0)->path + 24)

static inline uint64_t journal_device(const struct statx *info)
{
	return (uint64_t)info->stx_dev_major << 32 | info->stx_dev_minor;
}

/* The store on the file system of a file, one more than its index; 0: there is none. */
static inline uint32_t journal_store(const struct undo_head *h, const struct statx *info)
{
	uint64_t device = journal_device(info);
	for (uint32_t i = 0; i < h->stores && i < UNDO_STORES; i++)
		if (h->store[i].device == device)
			return i + 1;
	return 0;
}

/* Where a store keeps what the entry at that position speaks of. */
static inline void journal_name(const struct undo_head *h, uint32_t store, uint64_t at, char *to)
{
	char *end = stpcpy(to, h->store[store - 1].path);
	*end++ = '/';
	for (int shift = 60; shift >= 0; shift -= 4)
		*end++ = "0123456789abcdef"[at >> shift & 15];
	*end = '\0';
}

/* Whether as many bytes more may be kept; they are counted then. */
static inline int journal_affords(struct undo_head *h, uint64_t bytes)
{
	if (__atomic_add_fetch(&h->kept, bytes, __ATOMIC_RELAXED) <= h->budget)
		return 1;
	__atomic_sub_fetch(&h->kept, bytes, __ATOMIC_RELAXED);
	return 0;
}

/* Whether a canonical name is nobody's result. */
static inline int journal_excepts(const struct undo_head *h, const char *path)
{
	for (int i = 0; i < UNDO_EXCEPT && h->except[i][0] != '\0'; i++) {
		size_t size = strlen(h->except[i]);
		if (strncmp(path, h->except[i], size) == 0 &&
		    (path[size] == '/' || path[size] == '\0'))
			return 1;
	}
	return 0;
}

/* The position of room for as many bytes; -1: the log is full, and whoever asks the server for more
 * asks again. */
static inline int64_t journal_reserve(struct undo_head *h, size_t size)
{
	uint64_t at, used = __atomic_load_n(&h->used, __ATOMIC_ACQUIRE);
	do {
		at = used;
		if (at % UNDO_SEGMENT + size > UNDO_SEGMENT)
			at = (at / UNDO_SEGMENT + 1) * UNDO_SEGMENT;
		if (at + size > __atomic_load_n(&h->room, __ATOMIC_ACQUIRE))
			return -1;
	} while (!__atomic_compare_exchange_n(&h->used, &used, at + size, 0, __ATOMIC_ACQ_REL,
	                                      __ATOMIC_ACQUIRE));
	return (int64_t)at;
}

/* Bytes of an entry with its texts and a value behind them. */
static inline size_t journal_size(const char *path, const char *other, size_t value)
{
	return (sizeof(struct undo_entry) + strlen(path) + strlen(other) + 2 + value + 7) &
	       ~(size_t)7;
}

/* When the folder of a canonical name was last changed. */
static inline int64_t journal_folder_time(char *path)
{
	struct statx info;
	char *slash = strrchr(path, '/'), after = slash[1];
	slash[1] = '\0';
	long failed = LOOK_CALL(SYS_statx, AT_FDCWD, path, 0, STATX_MTIME, &info);
	slash[1] = after;
	return failed ? 0 : NS_OF(info.stx_mtime);
}

/* Fills the entry at a position but for its mark.  size: journal_size's; was: what is there, or
 * will be; NULL: nothing. */
static inline void journal_fill(struct undo_entry *entry, uint64_t at, size_t size, uint16_t kind,
                                char *path, char *other, const struct statx *was)
{
	struct timespec now = {0, 0};
	size_t length = strlen(path) + 1;
	__atomic_store_n(&entry->size, (uint32_t)size, __ATOMIC_RELEASE);
	entry->at = at;
	kernel(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &now);
	entry->kind = kind;
	entry->now_ns = NS_OF(now);
	entry->process = (uint32_t)kernel(SYS_getpid);
	entry->parent = (uint32_t)kernel(SYS_getppid);
	if (was != NULL) {
		entry->device = journal_device(was);
		entry->inode = was->stx_ino;
		entry->mode = was->stx_mode;
		entry->user = was->stx_uid;
		entry->group = was->stx_gid;
		entry->bytes = was->stx_size;
		entry->accessed_ns = NS_OF(was->stx_atime);
		entry->modified_ns = NS_OF(was->stx_mtime);
		entry->born_ns =
		    was->stx_mask & STATX_BTIME ? NS_OF(was->stx_btime) : NS_OF(was->stx_ctime);
	}
	int moves = kind == UNDO_MOVE || kind == UNDO_SWAP;
	if (kind == UNDO_NEW || kind == UNDO_GONE || moves)
		entry->folder_ns = journal_folder_time(path);
	if (moves)
		entry->other_ns = journal_folder_time(other);
	memcpy(entry + 1, path, length);
	strcpy((char *)(entry + 1) + length, other);
}

static inline void journal_finish(struct undo_entry *entry)
{
	__atomic_store_n(&entry->mark, UNDO_MARK, __ATOMIC_RELEASE);
}

#endif
