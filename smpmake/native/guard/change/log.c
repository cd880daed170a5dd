/* The undo journal's file, as the processes of the build write it: mapped memory, entries that are
 * put at its end by one atomic addition.
 */
#include "log.h"
#include "base/kernel.h"
#include "guard/asking.h"
#include "guard/looks.h"

#define CANONICAL_CALL kernel_unseen
#include "base/canonical.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SEGMENTS 1024 /* the journal ends at as many */

static char nothing[] = "/";

/* Found when they are first needed: most processes change nothing.  Set once each, whole. */
static struct undo_head *the_head;
static char *segments[SEGMENTS] ASIDE;

static void *map_file(const char *name, uint64_t at, size_t size)
{
	char path[VARIABLE_SIZE + 16];
	const char *board = guard.values[V_BOARD];
	size_t folder = (size_t)(strrchr(board, '/') - board);
	memcpy(path, board, folder);
	strcpy(stpcpy(path + folder, "/undo/"), name);
	return mapped(path, at, size, PROT_READ | PROT_WRITE);
}

struct undo_head *undo_head(void)
{
	struct undo_head *known = __atomic_load_n(&the_head, __ATOMIC_ACQUIRE);
	if (known == NULL) {
		known = map_file("head", 0, sizeof *known);
		if (known == NULL)
			return NULL;
		__atomic_store_n(&the_head, known, __ATOMIC_RELEASE);
	}
	return known->lost ? NULL : known;
}

static char *segment(uint64_t at)
{
	uint64_t number = at / UNDO_SEGMENT;
	if (number >= SEGMENTS)
		return NULL;
	char *known = __atomic_load_n(&segments[number], __ATOMIC_ACQUIRE);
	if (known == NULL) {
		known = map_file("log", number * UNDO_SEGMENT, UNDO_SEGMENT);
		if (known != NULL)
			__atomic_store_n(&segments[number], known, __ATOMIC_RELEASE);
	}
	return known;
}

void undo_lose(struct undo_head *h)
{
	__atomic_store_n(&h->lost, 1, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------ an entry */

/* Room for an entry; NULL where there is none. */
static struct undo_entry *reserve(struct undo_head *h, size_t size)
{
	uint64_t at;
	do
		at = __atomic_fetch_add(&h->used, size, __ATOMIC_ACQ_REL);
	while (at % UNDO_SEGMENT + size > UNDO_SEGMENT);
	while (at + size > __atomic_load_n(&h->room, __ATOMIC_ACQUIRE)) {
		struct wire_guard_answer answer;
		uint64_t before = h->room;
		ask(ASK_ROOM, "/", "", NULL, &answer);
		if (__atomic_load_n(&h->room, __ATOMIC_ACQUIRE) == before) {
			undo_lose(h);
			return NULL;
		}
	}
	char *memory = segment(at);
	if (memory == NULL) {
		undo_lose(h);
		return NULL;
	}
	struct undo_entry *entry = (void *)(memory + at % UNDO_SEGMENT);
	__atomic_store_n(&entry->size, (uint32_t)size, __ATOMIC_RELEASE);
	entry->at = at;
	return entry;
}

static int64_t folder_time(char *path)
{
	struct statx info;
	char *slash = strrchr(path, '/'), after = slash[1];
	slash[1] = '\0';
	long failed = kernel_unseen(SYS_statx, AT_FDCWD, path, 0, STATX_MTIME, &info);
	slash[1] = after;
	return failed ? 0 : NS_OF(info.stx_mtime);
}

/* The word that has the bit of a file. */
static uint64_t *older_word(const struct change *c, uint64_t *bit)
{
	uint64_t hash = c->info.stx_ino * 0x9e3779b97f4a7c15u >> 32;
	*bit = UINT64_C(1) << (hash & 63);
	return &c->head->older[(hash >> 6) % UNDO_OLDER];
}

static void note_older(const struct change *c)
{
	uint64_t bit, *word = older_word(c, &bit);
	if (!(c->info.stx_mask & STATX_BTIME) ||
	    NS_OF(c->info.stx_btime) > c->head->base_ns + UNDO_TICK)
		return;
	if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_RELEASE);
}

/* An entry that is whole but for its mark, with room for a value behind its texts. */
static struct undo_entry *undo_fill(struct change *c, char *other, size_t value)
{
	struct timespec now;
	size_t path = strlen(c->path) + 1, second = strlen(other) + 1;
	size_t size = (sizeof(struct undo_entry) + path + second + value + 7) & ~(size_t)7;
	struct undo_entry *entry = reserve(c->head, size);
	if (entry == NULL)
		return NULL;
	kernel(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &now);
	entry->kind = c->kind;
	entry->flags = c->flags;
	entry->command = guard.command;
	entry->now_ns = NS_OF(now);
	entry->process = (uint32_t)kernel(SYS_getpid);
	entry->parent = (uint32_t)kernel(SYS_getppid);
	if (c->there) {
		const struct statx *info = &c->info;
		note_older(c);
		entry->device = device_of(info);
		entry->inode = info->stx_ino;
		entry->mode = info->stx_mode;
		entry->user = info->stx_uid;
		entry->group = info->stx_gid;
		entry->bytes = info->stx_size;
		entry->accessed_ns = NS_OF(info->stx_atime);
		entry->modified_ns = NS_OF(info->stx_mtime);
		entry->born_ns =
		    info->stx_mask & STATX_BTIME ? NS_OF(info->stx_btime) : NS_OF(info->stx_ctime);
	}
	entry->store = c->store;
	int moves = c->kind == UNDO_MOVE || c->kind == UNDO_SWAP;
	if (c->kind == UNDO_NEW || c->kind == UNDO_GONE || moves)
		entry->folder_ns = folder_time(c->path);
	if (moves)
		entry->other_ns = folder_time(other);
	memcpy(entry + 1, c->path, path);
	memcpy((char *)(entry + 1) + path, other, second);
	return entry;
}

static void undo_finish(struct undo_entry *entry)
{
	__atomic_store_n(&entry->mark, UNDO_MARK, __ATOMIC_RELEASE);
}

struct undo_entry *undo_write(struct change *c, char *other)
{
	struct undo_entry *entry = undo_fill(c, other, 0);
	if (entry != NULL)
		undo_finish(entry);
	return entry;
}

void undo_write_attribute(struct change *c, char *name)
{
	long size = kernel_unseen(SYS_lgetxattr, c->path, name, NULL, 0);
	int is_absent = size < 0 && errno == ENODATA;
	if (size < 0 && !is_absent)
		return; /* there can be none */
	c->kind = UNDO_XATTR;
	c->flags = is_absent ? UNDO_ABSENT : 0;
	struct undo_entry *entry = undo_fill(c, name, is_absent ? 0 : (size_t)size);
	if (entry == NULL)
		return;
	char *value = (char *)(entry + 1) + strlen(c->path) + strlen(name) + 2;
	entry->bytes = is_absent ? 0 : (uint64_t)size;
	if (!is_absent && kernel_unseen(SYS_lgetxattr, c->path, name, value, size) != size)
		entry->kind =
		    UNDO_NOTHING; /* somebody changes it at this moment, and writes that down */
	undo_finish(entry);
}

void undo_write_flags(struct change *c, uint64_t flags)
{
	c->kind = UNDO_FLAGS;
	struct undo_entry *entry = undo_fill(c, nothing, 0);
	if (entry == NULL)
		return;
	entry->bytes = flags;
	undo_finish(entry);
}

/* ------------------------------------------------------------------ what is of interest */

static int is_below(const char *path, const char *folder)
{
	size_t size = strlen(folder);
	return size > 0 && strncmp(path, folder, size) == 0 &&
	       (path[size] == '/' || path[size] == '\0');
}

int undo_is_excepted(const struct change *c)
{
	for (int i = 0; i < UNDO_EXCEPT && c->head->except[i][0] != '\0'; i++)
		if (is_below(c->path, c->head->except[i]))
			return 1;
	return 0;
}

static int starts(const char *path, const char *prefix)
{
	return strncmp(path, prefix, strlen(prefix)) == 0;
}

/* The system's own devices; what shells redirect to most often. */
static int is_device(const char *path)
{
	return starts(path, "/dev/") && !starts(path, "/dev/shm/") && !starts(path, "/dev/fd/") &&
	       !starts(path, "/dev/std");
}

/* Whether a path is no file's own name: what is meant has none. */
static int has_no_name(const char *path)
{
	return (starts(path, "/dev/") && !starts(path, "/dev/shm/")) || starts(path, "/proc/");
}

/* Whether a name cannot be had because nothing can be there, nor come. */
static int is_impossible(int why)
{
	return why == ENOENT || why == ENOTDIR || why == ELOOP || why == EACCES;
}

/* Whether a canonical name is one in a folder that has been removed. */
static int is_removed(char *path)
{
	static const char mark[] = " (deleted)";
	struct statx info;
	char *slash = strrchr(path, '/');
	size_t size = (size_t)(slash - path);
	if (size < sizeof mark || memcmp(slash - sizeof mark + 1, mark, sizeof mark - 1) != 0)
		return 0;
	*slash = '\0'; /* or it is called so */
	int is_there = kernel_unseen(SYS_statx, AT_FDCWD, path, 0, STATX_TYPE, &info) == 0;
	*slash = '/';
	return !is_there;
}

int undo_look_anywhere(struct change *c, int dir, const char *path, int flags)
{
	ANY_PAGE(led);
	ANY_PAGE(room);
	const char *given = path;
	int follow = !(flags & AT_SYMLINK_NOFOLLOW);
	c->there = 0;
	c->flags = 0;
	c->store = 0;
	if (path == NULL || *path == '\0' || is_device(path) || strlen(path) >= PATH_MAX ||
	    (c->head = undo_head()) == NULL)
		return 0;
	room = pages_take(PATH_MAX);
	if (c->path == NULL)
		c->path = pages_take(PATH_MAX);
	if (room == NULL || c->path == NULL) {
		undo_lose(c->head);
		return 0;
	}
	if (kernel_unseen(SYS_statx, dir, path, flags, STATX_BASIC_STATS | STATX_BTIME, &c->info) ==
	    0)
		c->there = 1;
	else if (errno != ENOENT)
		return 0;
	follow_process(&dir, &path, &led);
	if (path == given && has_no_name(path))
		return 0;
	if (canonical(dir, path, follow, c->path, room) != 0) {
		if (!is_impossible(errno))
			undo_lose(c->head);
		return 0;
	}
	return !is_device(c->path) && !is_removed(c->path);
}

int undo_look(struct change *c, int dir, const char *path, int flags)
{
	return !is_session(path) && undo_look_anywhere(c, dir, path, flags) && !undo_is_excepted(c);
}

static int is_born_before(const struct change *c)
{
	if (!(c->info.stx_mask & STATX_BTIME))
		return 1;
	int64_t born = NS_OF(c->info.stx_btime);
	if (guard.trace != NULL)
		return born <= guard.trace->began_ns;
	return !guard_quiet() || born <= c->head->base_ns + UNDO_TICK;
}

int undo_was_before(const struct change *c)
{
	uint64_t bit;
	if (!c->there)
		return 0;
	const uint64_t *word = older_word(c, &bit);
	return is_born_before(c) || (__atomic_load_n(word, __ATOMIC_ACQUIRE) & bit) != 0;
}
