/* Writing the undo journal, in the processes of the build: what a change would destroy is kept.
 *
 * Each entry is written before its change.  Files that were born after the session began need no
 * copy as long as nothing is pending: to undo them is to remove them.
 */
#include "journal.h"
#include "base/kernel.h"
#include "guard/asking.h"
#include "guard/looks.h"
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/resource.h>

static char nothing[] = "/";

/* Files that this process has made: as long as nothing was promised since, or where it is part of a
 * command itself, to undo them is to remove them.  The last few, by device and inode. */
#define FRESH 8
static struct {
	uint64_t file, issues;
} fresh[FRESH];
static uint32_t next_fresh;

/* One word, so that it is set at once. */
static uint64_t file_of(const struct statx *info)
{
	return info->stx_ino ^ journal_device(info) * 0x9e3779b97f4a7c15u;
}

static uint64_t issues_of(struct undo_head *h)
{
	return guard.is_part ? 0 : __atomic_load_n(&h->issues, __ATOMIC_ACQUIRE);
}

void undo_opened(int fd)
{
	int before = errno;
	struct undo_head *h = undo_head();
	struct statx info;
	if (h != NULL && kernel_unseen(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &info) == 0) {
		uint32_t at = __atomic_fetch_add(&next_fresh, 1, __ATOMIC_RELAXED) % FRESH;
		__atomic_store_n(&fresh[at].file, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&fresh[at].issues, issues_of(h), __ATOMIC_RELEASE);
		__atomic_store_n(&fresh[at].file, file_of(&info), __ATOMIC_RELEASE);
	}
	errno = before;
}

static int is_fresh(const struct change *c)
{
	/* Where nobody knows when a file was made, none is known to be new when this is undone. */
	if (!c->there || c->info.stx_nlink != 1 || !(c->info.stx_mask & STATX_BTIME))
		return 0;
	uint64_t file = file_of(&c->info);
	for (int i = 0; i < FRESH; i++)
		if (__atomic_load_n(&fresh[i].file, __ATOMIC_ACQUIRE) == file)
			return __atomic_load_n(&fresh[i].issues, __ATOMIC_ACQUIRE) ==
			       issues_of(c->head);
	return 0;
}

/* Whether the state before a change may be wanted back. */
static int matters(const struct change *c)
{
	return undo_was_before(c) && !is_fresh(c);
}

/* The same for a name that is removed: older files may have passed through any folder. */
static int matters_as_name(const struct change *c)
{
	return c->there && (S_ISDIR(c->info.stx_mode) || matters(c));
}

/* ------------------------------------------------------------------ contents */

static int copy_all(int from, int to)
{
	long done;
	do
		done = kernel(SYS_copy_file_range, from, NULL, to, NULL, 1 << 30, 0);
	while (done > 0);
	if (done == 0)
		return 0;
	do /* from where that came to: not every file system can do it */
		done = kernel(SYS_sendfile, to, from, NULL, 1 << 30);
	while (done > 0);
	return (int)done;
}

/* Whether the process may write a file of that size: more would be its death. */
static int may_write(uint64_t size)
{
	struct rlimit limit;
	return kernel(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0 ||
	       limit.rlim_cur == RLIM_INFINITY || size < limit.rlim_cur;
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

/* Whether somebody else has removed what a change was to be about, after it was looked at; then who
 * did has written that down. */
static int has_gone(const char *path)
{
	struct statx info;
	return kernel_unseen(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &info) !=
	           0 &&
	       (errno == ENOENT || errno == ENOTDIR);
}

/* A change whose undoing would cost too much, or that cannot be undone at all: first everything
 * that was promised becomes final.  A job cannot wait for that. */
void undo_commit(const char *why)
{
	int before = errno;
	struct wire_guard_answer answer;
	ON_PAGE(full);
	int known = full != NULL && absolute(AT_FDCWD, why, full, PATH_MAX) == 0;
	if (ask(ASK_COMMIT, known ? full : "/", "", NULL, &answer) != 0 && undo_head() != NULL)
		undo_lose(undo_head());
	errno = before;
}

/* ------------------------------------------------------------------ what a copy has not */

/* Flags that chattr(1) sets, and a new file has not. */
#define SET_FLAGS (STATX_ATTR_COMPRESSED | STATX_ATTR_NODUMP | STATX_ATTR_APPEND)

/* The flags of what is open; -1 where its file system has none. */
static long flags_of_open(int fd)
{
	unsigned flags = 0;
	return kernel(SYS_ioctl, fd, FS_IOC_GETFLAGS, &flags) == 0 ? (long)flags : -1;
}

static SLOW void change_flags(struct change *c)
{
	int fd = (int)kernel_unseen(SYS_openat, AT_FDCWD, c->path,
	                            O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	long flags = fd >= 0 ? flags_of_open(fd) : -1;
	if (fd >= 0)
		kernel(SYS_close, fd);
	if (flags >= 0)
		undo_write_flags(c, (uint64_t)flags);
}

/* Attributes and flags of what is about to be removed, and will be made anew. */
static SLOW void keep_attributes(struct change *c)
{
	ON_PAGE(names);
	long size = names != NULL ? kernel_unseen(SYS_llistxattr, c->path, names, PATH_MAX) : 0;
	if (size < 0 && errno == ERANGE)
		undo_lose(c->head);
	for (char *name = names; size > 0 && name < names + size; name += strlen(name) + 1)
		undo_write_attribute(c, name);
	if (c->info.stx_attributes & SET_FLAGS)
		change_flags(c);
	c->flags = 0;
}

/* ------------------------------------------------------------------ the changes */

/* Returns whether there still is something to be changed. */
static SLOW int change_data(struct change *c, int grows)
{
	char name[JOURNAL_NAME];
	struct undo_entry *entry;
	uint64_t size = c->info.stx_size;
	c->kind = UNDO_DATA;
	if (grows)
		c->flags |= UNDO_GREW;
	if (size == 0 || grows) {
		undo_write(c, nothing);
		return 1;
	}
	if (may_write(size) && journal_affords(c->head, size)) {
		/* The entry's place is the copy's name; it speaks of it once that is whole. */
		c->store = journal_store(c->head, &c->info);
		c->store = c->store ? c->store : 1;
		entry = undo_write(c, nothing);
		if (entry == NULL)
			return 1;
		journal_name(c->head, c->store, entry->at, name);
		if (copy_to(c->path, name) == 0) {
			__atomic_store_n(&entry->flags, c->flags | UNDO_WHOLE, __ATOMIC_RELEASE);
			return 1;
		}
		kernel(SYS_unlinkat, AT_FDCWD, name, 0);
		if (has_gone(c->path))
			return 0; /* an entry that is not whole undoes nothing */
	}
	undo_commit(c->path);
	return 1;
}

int undo_open(int dir, const char *path, int flags)
{
	int before = errno, is_new = 0;
	CHANGE(c);
	int nofollow = flags & (O_NOFOLLOW | O_EXCL) ? AT_SYMLINK_NOFOLLOW : 0;
	if (undo_look(&c, dir, path, nofollow)) {
		if (c.there && matters(&c) && S_ISREG(c.info.stx_mode) && (flags & O_EXCL) == 0 &&
		    (flags & O_TRUNC || (flags & O_ACCMODE) != O_RDONLY))
			c.there = change_data(&c, (flags & (O_APPEND | O_TRUNC)) == O_APPEND);
		if (!c.there && flags & O_CREAT) {
			c.kind = UNDO_NEW;
			is_new = undo_write(&c, nothing) != NULL;
		}
	}
	errno = before;
	return is_new;
}

void undo_data(int dir, const char *path)
{
	int before = errno;
	CHANGE(c);
	if (undo_look(&c, dir, path, 0) && matters(&c) && S_ISREG(c.info.stx_mode))
		change_data(&c, 0);
	errno = before;
}

void undo_meta(int dir, const char *path, int follow)
{
	int before = errno;
	CHANGE(c);
	if (undo_look(&c, dir, path, follow ? 0 : AT_SYMLINK_NOFOLLOW) && matters(&c)) {
		c.kind = UNDO_META;
		undo_write(&c, nothing);
	}
	errno = before;
}

void undo_attribute(int dir, const char *path, const char *name, int follow)
{
	int before = errno;
	CHANGE(c);
	if (name != NULL && undo_look(&c, dir, path, follow ? 0 : AT_SYMLINK_NOFOLLOW) &&
	    matters(&c)) {
		c.kind = UNDO_META; /* an ACL is a mode, too */
		undo_write(&c, nothing);
		ON_PAGE(copy);
		if (copy != NULL && strlen(name) < PATH_MAX)
			undo_write_attribute(&c, strcpy(copy, name));
	}
	errno = before;
}

void undo_attribute_of(int fd, const char *name)
{
	int before = errno;
	ON_PAGE(path);
	if (path != NULL && name_of(fd, path, PATH_MAX) > 0)
		undo_attribute(AT_FDCWD, path, name, 0);
	errno = before;
}

/* Also of a file that the build has made: some keep it from being removed. */
void undo_flags_of(int fd)
{
	int before = errno;
	ON_PAGE(path);
	CHANGE(c);
	long flags = flags_of_open(fd);
	if (flags >= 0 && path != NULL && name_of(fd, path, PATH_MAX) > 0 &&
	    undo_look(&c, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW) && c.there)
		undo_write_flags(&c, (uint64_t)flags);
	errno = before;
}

void undo_meta_of(int fd)
{
	int before = errno;
	ON_PAGE(path);
	if (path != NULL && name_of(fd, path, PATH_MAX) > 0)
		undo_meta(AT_FDCWD, path, 0);
	errno = before;
}

void undo_data_of(int fd)
{
	int before = errno;
	ON_PAGE(path);
	if (path != NULL && name_of(fd, path, PATH_MAX) > 0)
		undo_data(AT_FDCWD, path);
	errno = before;
}

void undo_new(int dir, const char *path)
{
	int before = errno;
	CHANGE(c);
	if (undo_look(&c, dir, path, AT_SYMLINK_NOFOLLOW) && !c.there) {
		c.kind = UNDO_NEW;
		undo_write(&c, nothing);
	}
	errno = before;
}

#define TRIES 100

int undo_temporary(char *path, int tail, int flags, int is_folder)
{
	static const char letters[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789__";
	size_t size = strlen(path);
	int before = errno;
	if (tail < 0 || size < (size_t)tail + 6 ||
	    memcmp(path + size - (size_t)tail - 6, "XXXXXX", 6) != 0) {
		errno = EINVAL;
		return -1;
	}
	for (int tries = 0; tries < TRIES; tries++) {
		unsigned char any[6] = {0};
		kernel(SYS_getrandom, any, sizeof any, 0);
		for (int i = 0; i < 6; i++)
			path[size - (size_t)tail - 6 + (size_t)i] = letters[any[i] & 63];
		undo_new(AT_FDCWD, path);
		const int how = (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL;
		long made = is_folder ? kernel(SYS_mkdirat, AT_FDCWD, path, 0700)
		                      : kernel(SYS_openat, AT_FDCWD, path, how, 0600);
		if (made >= 0)
			errno = before;
		if (made >= 0 && !is_folder)
			undo_opened((int)made);
		if (made >= 0 || errno != EEXIST)
			return (int)made;
	}
	errno = EEXIST;
	return -1;
}

/* A second name: the file is older than it. */
void undo_link(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	int before = errno;
	CHANGE(c);
	int how = (flags & AT_EMPTY_PATH) | (flags & AT_SYMLINK_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW);
	if (undo_look(&c, to_dir, to, AT_SYMLINK_NOFOLLOW) && !c.there &&
	    kernel_unseen(SYS_statx, from_dir, from, how, STATX_BASIC_STATS | STATX_BTIME,
	                  &c.info) == 0) {
		c.there = 1;
		c.kind = UNDO_NEW;
		undo_write(&c, nothing);
	}
	errno = before;
}

/* `moved`: it need not stay, so it goes itself.  Returns whether it has gone. */
static SLOW int change_gone(struct change *c, int moved)
{
	char name[JOURNAL_NAME];
	struct undo_entry *entry;
	c->kind = UNDO_GONE;
	uint32_t here = journal_store(c->head, &c->info);
	int is_link = S_ISLNK(c->info.stx_mode);
	if (is_link && (c->info.stx_nlink == 1 || !here)) { /* its text is enough */
		ON_PAGE(text);
		long size = text != NULL
		                ? kernel(SYS_readlinkat, AT_FDCWD, c->path, text, PATH_MAX - 1)
		                : -1;
		if (size > 0) {
			text[size] = '\0';
			undo_write(c, text);
		}
		return 0;
	}
	if (S_ISDIR(c->info.stx_mode) || !here)
		keep_attributes(c);
	c->kind = UNDO_GONE;
	if (S_ISDIR(c->info.stx_mode)) {
		undo_write(c, nothing);
		return 0;
	}
	if (!journal_affords(c->head, c->info.stx_size)) {
		undo_commit(c->path);
		return 0;
	}
	c->store = here ? here : 1;
	entry = undo_write(c, nothing);
	if (entry == NULL)
		return 0;
	journal_name(c->head, c->store, entry->at, name);
	if (here && moved && kernel(SYS_renameat, AT_FDCWD, c->path, AT_FDCWD, name) == 0)
		return 1;
	if (here && kernel(SYS_linkat, AT_FDCWD, c->path, AT_FDCWD, name, 0) == 0)
		return 0;
	if (has_gone(c->path)) {
		/* Whoever has removed it has its entry. */
		__atomic_store_n(&entry->kind, UNDO_NOTHING, __ATOMIC_RELEASE);
		return 0;
	}
	if (S_ISREG(c->info.stx_mode) &&
	    (!may_write(c->info.stx_size) || copy_to(c->path, name) != 0))
		undo_commit(c->path);
	return 0;
}

int undo_remove(int dir, const char *path, unsigned kinds)
{
	int before = errno, gone = 0;
	CHANGE(c);
	if (undo_look(&c, dir, path, AT_SYMLINK_NOFOLLOW) && matters_as_name(&c) &&
	    kinds & (S_ISDIR(c.info.stx_mode) ? UNDO_FOLDERS : UNDO_FILES))
		gone = change_gone(&c, !(kinds & UNDO_KEPT_THERE));
	errno = before;
	return gone;
}

void undo_move(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	int before = errno;
	CHANGE(source);
	CHANGE(target);
	if (undo_look_anywhere(&source, from_dir, from, AT_SYMLINK_NOFOLLOW) && source.there &&
	    undo_look_anywhere(&target, to_dir, to, AT_SYMLINK_NOFOLLOW) &&
	    !(undo_is_excepted(&source) && undo_is_excepted(&target))) {
		/* It fails, or both are one file already. */
		int in_vain = target.there &&
		              (flags & RENAME_NOREPLACE ||
		               (target.info.stx_ino == source.info.stx_ino &&
		                journal_device(&target.info) == journal_device(&source.info)));
		source.kind = flags & RENAME_EXCHANGE ? UNDO_SWAP : UNDO_MOVE;
		if (!in_vain) {
			if (source.kind == UNDO_MOVE && matters_as_name(&target))
				change_gone(&target, 0);
			/* For layers of file systems, which no build is. */
			if (flags & RENAME_WHITEOUT)
				undo_commit(source.path);
			undo_write(&source, target.path);
		}
	}
	errno = before;
}
