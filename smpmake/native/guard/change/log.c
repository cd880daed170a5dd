/* The undo journal's file, as the processes of the build write it: mapped memory, entries that are
 * put at its end by one atomic addition.
 */
#include "log.h"
#include "base/kernel.h"
#include "guard/asking.h"
#include "guard/looks.h"

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

/* Room for an entry, and its position; NULL where there is none. */
static struct undo_entry *reserve(struct undo_head *h, size_t size, int64_t *at)
{
	for (int asked = 0; (*at = journal_reserve(h, size)) < 0; asked++) {
		struct wire_guard_answer answer;
		uint64_t before = __atomic_load_n(&h->room, __ATOMIC_ACQUIRE);
		ask(ASK_ROOM, "/", "", NULL, &answer);
		/* The first time it may have grown for somebody else just before. */
		if (asked > 0 && __atomic_load_n(&h->room, __ATOMIC_ACQUIRE) == before) {
			undo_lose(h);
			return NULL;
		}
	}
	char *memory = segment((uint64_t)*at);
	if (memory == NULL) {
		undo_lose(h);
		return NULL;
	}
	return (void *)(memory + *at % UNDO_SEGMENT);
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
	int64_t at;
	size_t size = journal_size(c->path, other, value);
	struct undo_entry *entry = reserve(c->head, size, &at);
	if (entry == NULL)
		return NULL;
	if (c->there)
		note_older(c);
	journal_fill(entry, (uint64_t)at, size, c->kind, c->path, other,
	             c->there ? &c->info : NULL);
	entry->flags = c->flags;
	entry->command = guard.command;
	entry->store = c->store;
	return entry;
}

struct undo_entry *undo_write(struct change *c, char *other)
{
	struct undo_entry *entry = undo_fill(c, other, 0);
	if (entry != NULL)
		journal_finish(entry);
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
	journal_finish(entry);
}

void undo_write_flags(struct change *c, uint64_t flags)
{
	c->kind = UNDO_FLAGS;
	struct undo_entry *entry = undo_fill(c, nothing, 0);
	if (entry == NULL)
		return;
	entry->bytes = flags;
	journal_finish(entry);
}

/* ------------------------------------------------------------------ what is of interest */

int undo_is_excepted(const struct change *c)
{
	return journal_excepts(c->head, c->path);
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
