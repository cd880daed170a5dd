/* Writing the undo journal, in the processes of the build.
 *
 * Each entry is written before its change.  Files that were born after the session began need no
 * copy as long as nothing is pending: to undo them is to remove them.
 */
#include "journal.h"
#include "../undo.h"
#include "asking.h"
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SEGMENTS 1024 /* the journal ends at as many */

/* Found when they are first needed: most processes change nothing.  Set once each, whole. */
static struct undo_head *the_head;
static char *segments[SEGMENTS];

static void *map_file(const char *name, int64_t at, size_t size)
{
	char path[PATH_MAX];
	const char *board = guard.values[V_BOARD];
	size_t folder = (size_t)(strrchr(board, '/') - board);
	memcpy(path, board, folder);
	strcpy(stpcpy(path + folder, "/undo/"), name);
	int fd = (int)kernel(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	void *memory =
	    (void *)kernel(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
	kernel(SYS_close, fd);
	return memory == MAP_FAILED ? NULL : memory;
}

/* The journal's head, or NULL where there is nothing to be written any more. */
static struct undo_head *head(void)
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
		known = map_file("log", (int64_t)(number * UNDO_SEGMENT), UNDO_SEGMENT);
		if (known != NULL)
			__atomic_store_n(&segments[number], known, __ATOMIC_RELEASE);
	}
	return known;
}

static void lose(struct undo_head *h)
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
			lose(h);
			return NULL;
		}
	}
	char *memory = segment(at);
	if (memory == NULL) {
		lose(h);
		return NULL;
	}
	struct undo_entry *entry = (void *)(memory + at % UNDO_SEGMENT);
	__atomic_store_n(&entry->size, (uint32_t)size, __ATOMIC_RELEASE);
	entry->at = at;
	return entry;
}

struct change {
	struct undo_head *head;
	struct statx info;
	int there; /* something is at the path */
	uint16_t kind, flags;
	uint32_t store;
	char path[PATH_MAX];
};

static int64_t ns_of(const struct statx_timestamp *time)
{
	return time->tv_sec * 1000000000 + time->tv_nsec;
}

static int64_t folder_time(char *path)
{
	struct statx info;
	char *slash = strrchr(path, '/'), after = slash[1];
	slash[1] = '\0';
	long failed = kernel(SYS_statx, AT_FDCWD, path, 0, STATX_MTIME, &info);
	slash[1] = after;
	return failed ? 0 : ns_of(&info.stx_mtime);
}

static struct undo_entry *write_down(struct change *c, char *other)
{
	struct timespec now;
	size_t path = strlen(c->path) + 1, second = strlen(other) + 1;
	size_t size = (sizeof(struct undo_entry) + path + second + 7) & ~(size_t)7;
	struct undo_entry *entry = reserve(c->head, size);
	if (entry == NULL)
		return NULL;
	kernel(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &now);
	entry->kind = c->kind;
	entry->flags = c->flags;
	entry->command = guard.command;
	entry->now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	if (c->there) {
		const struct statx *info = &c->info;
		entry->device = (uint64_t)info->stx_dev_major << 32 | info->stx_dev_minor;
		entry->inode = info->stx_ino;
		entry->mode = info->stx_mode;
		entry->user = info->stx_uid;
		entry->group = info->stx_gid;
		entry->bytes = info->stx_size;
		entry->accessed_ns = ns_of(&info->stx_atime);
		entry->modified_ns = ns_of(&info->stx_mtime);
	}
	entry->store = c->store;
	if (c->kind == UNDO_NEW || c->kind == UNDO_GONE || c->kind >= UNDO_MOVE)
		entry->folder_ns = folder_time(c->path);
	if (c->kind >= UNDO_MOVE)
		entry->other_ns = folder_time(other);
	memcpy(entry + 1, c->path, path);
	memcpy((char *)(entry + 1) + path, other, second);
	__atomic_store_n(&entry->mark, UNDO_MARK, __ATOMIC_RELEASE);
	return entry;
}

static char nothing[] = "/";

/* ------------------------------------------------------------------ what is of interest */

static int is_below(const char *path, const char *folder)
{
	size_t size = strlen(folder);
	return size > 0 && strncmp(path, folder, size) == 0 &&
	       (path[size] == '/' || path[size] == '\0');
}

static int is_excepted(const struct undo_head *h, const char *path)
{
	for (int i = 0; i < UNDO_EXCEPT && h->except[i][0] != '\0'; i++)
		if (is_below(path, h->except[i]))
			return 1;
	return 0;
}

/* Looks at what is to be changed; 0 where it is nothing that could be undone. */
static int look(struct change *c, int dir, const char *path, int flags)
{
	c->there = 0;
	c->flags = 0;
	c->store = 0;
	/* What shells redirect to most often needs no journal to be opened. */
	if (path == NULL || *path == '\0' || strncmp(path, "/dev/", 5) == 0 ||
	    (c->head = head()) == NULL)
		return 0;
	if (kernel(SYS_statx, dir, path, flags, STATX_BASIC_STATS | STATX_BTIME, &c->info) == 0)
		c->there = 1;
	else if (errno != ENOENT)
		return 0;
	if (absolute(dir, path, c->path, sizeof c->path) != 0) {
		lose(c->head);
		return 0;
	}
	size_t size = strlen(c->path);
	while (size > 1 && c->path[size - 1] == '/')
		c->path[--size] = '\0';
	return !is_excepted(c->head, c->path);
}

/* Whether the state before a change is part of a state that may be wanted back. */
static int was_before(const struct change *c)
{
	int64_t born = ns_of(&c->info.stx_btime);
	if (!c->there)
		return 0;
	if (!(c->info.stx_mask & STATX_BTIME))
		return 1;
	if (guard.trace != NULL)
		return born <= guard.trace->began_ns + UNDO_TICK;
	return !guard_quiet() || born <= c->head->base_ns + UNDO_TICK;
}

/* ------------------------------------------------------------------ contents */

static uint32_t store_of(const struct undo_head *h, const struct statx *info)
{
	uint64_t device = (uint64_t)info->stx_dev_major << 32 | info->stx_dev_minor;
	for (uint32_t i = 0; i < h->stores && i < UNDO_STORES; i++)
		if (h->store[i].device == device)
			return i + 1;
	return 0;
}

static void item(const struct undo_head *h, uint32_t store, uint64_t at, char *to)
{
	char *end = stpcpy(to, h->store[store - 1].path);
	*end++ = '/';
	for (int shift = 60; shift >= 0; shift -= 4)
		*end++ = "0123456789abcdef"[at >> shift & 15];
	*end = '\0';
}

/* Whether as many bytes more may be kept. */
static int is_affordable(struct undo_head *h, uint64_t bytes)
{
	if (__atomic_add_fetch(&h->kept, bytes, __ATOMIC_RELAXED) <= h->budget)
		return 1;
	__atomic_sub_fetch(&h->kept, bytes, __ATOMIC_RELAXED);
	return 0;
}

static int copy_all(int from, int to)
{
	long done;
	while ((done = kernel(SYS_copy_file_range, from, NULL, to, NULL, 1 << 30, 0)) > 0)
		;
	while (done < 0 && (done = kernel(SYS_sendfile, to, from, NULL, 1 << 30)) > 0)
		done = -1;
	return done == 0 ? 0 : -1;
}

static int copy_to(const char *path, const char *to)
{
	int from = (int)kernel(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOATIME);
	if (from < 0)
		from = (int)kernel(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return -1;
	int fd =
	    (int)kernel(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int failed = fd < 0 || copy_all(from, fd) != 0;
	kernel(SYS_close, from);
	if (fd >= 0)
		kernel(SYS_close, fd);
	return failed ? -1 : 0;
}

/* A change whose undoing would cost too much, or that cannot be undone at all: first everything
 * that was promised becomes final.  A job cannot wait for that. */
void undo_commit(const char *why)
{
	int before = errno;
	struct undo_head *h = undo_is_on() ? head() : NULL;
	struct wire_guard_answer answer;
	char full[PATH_MAX];
	if (h != NULL) {
		if (absolute(AT_FDCWD, why, full, sizeof full) != 0)
			strcpy(full, "/");
		ask(ASK_COMMIT, full, "", NULL, &answer);
	}
	errno = before;
}

/* ------------------------------------------------------------------ the changes */

static SLOW void change_data(struct change *c, int grows)
{
	char name[PATH_MAX];
	struct undo_entry *entry;
	uint64_t size = c->info.stx_size;
	c->kind = UNDO_DATA;
	if (grows)
		c->flags |= UNDO_GREW;
	if (size == 0 || grows) {
		write_down(c, nothing);
		return;
	}
	if (is_affordable(c->head, size)) {
		/* Into the store first, or the entry would speak of what is not there. */
		c->store = store_of(c->head, &c->info);
		c->store = c->store ? c->store : 1;
		entry = write_down(c, nothing);
		if (entry == NULL)
			return;
		item(c->head, c->store, entry->at, name);
		if (copy_to(c->path, name) == 0) {
			__atomic_store_n(&entry->flags, c->flags | UNDO_WHOLE, __ATOMIC_RELEASE);
			return;
		}
		kernel(SYS_unlinkat, AT_FDCWD, name, 0);
	}
	undo_commit(c->path);
}

void undo_open(int dir, const char *path, int flags)
{
	int before = errno;
	struct change c;
	int nofollow = flags & (O_NOFOLLOW | O_EXCL) ? AT_SYMLINK_NOFOLLOW : 0;
	if (look(&c, dir, path, nofollow)) {
		c.flags = nofollow ? 0 : UNDO_FOLLOW;
		if (!c.there && flags & O_CREAT) {
			c.kind = UNDO_NEW;
			write_down(&c, nothing);
		} else if (was_before(&c) && S_ISREG(c.info.stx_mode) && (flags & O_EXCL) == 0 &&
		           (flags & O_TRUNC || (flags & O_ACCMODE) != O_RDONLY)) {
			change_data(&c, (flags & (O_APPEND | O_TRUNC)) == O_APPEND);
		}
	}
	errno = before;
}

void undo_data(int dir, const char *path)
{
	int before = errno;
	struct change c;
	if (look(&c, dir, path, 0) && was_before(&c) && S_ISREG(c.info.stx_mode)) {
		c.flags = UNDO_FOLLOW;
		change_data(&c, 0);
	}
	errno = before;
}

void undo_meta(int dir, const char *path, int follow)
{
	int before = errno;
	struct change c;
	if (look(&c, dir, path, follow ? 0 : AT_SYMLINK_NOFOLLOW) && was_before(&c)) {
		c.kind = UNDO_META;
		c.flags = follow ? UNDO_FOLLOW : 0;
		write_down(&c, nothing);
	}
	errno = before;
}

void undo_meta_of(int fd)
{
	int before = errno;
	char link[32] = "/proc/self/fd/", path[PATH_MAX];
	char digits[12], *digit = digits + sizeof digits;
	*--digit = '\0';
	for (unsigned n = (unsigned)fd; digit == digits + sizeof digits - 1 || n > 0; n /= 10)
		*--digit = (char)('0' + n % 10);
	strcat(link, digit);
	long size = kernel(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
	if (size > 0 && *path == '/') {
		path[size] = '\0';
		undo_meta(AT_FDCWD, path, 0);
	}
	errno = before;
}

void undo_new(int dir, const char *path)
{
	int before = errno;
	struct change c;
	if (look(&c, dir, path, AT_SYMLINK_NOFOLLOW) && !c.there) {
		c.kind = UNDO_NEW;
		write_down(&c, nothing);
	}
	errno = before;
}

void undo_made(const char *path)
{
	int before = errno;
	struct change c;
	if (look(&c, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW) && c.there) {
		c.kind = UNDO_NEW;
		c.there = 0;
		write_down(&c, nothing);
	}
	errno = before;
}

/* A second name: the file is older than it. */
void undo_link(int from_dir, const char *from, int to_dir, const char *to)
{
	int before = errno;
	struct change c;
	if (look(&c, to_dir, to, AT_SYMLINK_NOFOLLOW) && !c.there &&
	    kernel(SYS_statx, from_dir, from, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &c.info) ==
	        0) {
		c.there = 1;
		c.kind = UNDO_NEW;
		write_down(&c, nothing);
	}
	errno = before;
}

/* `moved`: it need not stay, so it goes itself.  Returns whether it has gone. */
static SLOW int change_gone(struct change *c, int moved)
{
	char name[PATH_MAX], text[PATH_MAX];
	struct undo_entry *entry;
	c->kind = UNDO_GONE;
	if (S_ISLNK(c->info.stx_mode)) {
		long size = kernel(SYS_readlinkat, AT_FDCWD, c->path, text, sizeof text - 1);
		if (size > 0) {
			text[size] = '\0';
			write_down(c, text);
		}
		return 0;
	}
	if (S_ISDIR(c->info.stx_mode)) {
		write_down(c, nothing);
		return 0;
	}
	if (!is_affordable(c->head, c->info.stx_size)) {
		undo_commit(c->path);
		return 0;
	}
	uint32_t here = store_of(c->head, &c->info);
	c->store = here ? here : 1;
	entry = write_down(c, nothing);
	if (entry == NULL)
		return 0;
	item(c->head, c->store, entry->at, name);
	if (here && moved && kernel(SYS_renameat, AT_FDCWD, c->path, AT_FDCWD, name) == 0)
		return 1;
	if (here && kernel(SYS_linkat, AT_FDCWD, c->path, AT_FDCWD, name, 0) == 0)
		return 0;
	if (S_ISREG(c->info.stx_mode) && copy_to(c->path, name) != 0)
		undo_commit(c->path);
	return 0;
}

int undo_remove(int dir, const char *path, unsigned kinds)
{
	int before = errno, gone = 0;
	struct change c;
	if (look(&c, dir, path, AT_SYMLINK_NOFOLLOW) && was_before(&c) &&
	    kinds & (S_ISDIR(c.info.stx_mode) ? UNDO_FOLDERS : UNDO_FILES))
		gone = change_gone(&c, 1);
	errno = before;
	return gone;
}

#define EXCHANGES 2u

void undo_move(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	int before = errno;
	struct change source, target;
	if (look(&source, from_dir, from, AT_SYMLINK_NOFOLLOW) && source.there &&
	    look(&target, to_dir, to, AT_SYMLINK_NOFOLLOW)) {
		int same = target.there && target.info.stx_ino == source.info.stx_ino &&
		           target.info.stx_dev_minor == source.info.stx_dev_minor &&
		           target.info.stx_dev_major == source.info.stx_dev_major;
		source.kind = flags & EXCHANGES ? UNDO_SWAP : UNDO_MOVE;
		if (!same && source.kind == UNDO_MOVE && was_before(&target))
			change_gone(&target, 0);
		if (!same && source.head != NULL)
			write_down(&source, target.path);
	}
	errno = before;
}
