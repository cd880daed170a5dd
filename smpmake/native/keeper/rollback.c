#include "rollback.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/system.h"
#include "base/util.h"
#include "passing.h"
#include "remade.h"
#include "undolog.h"

/* ------------------------------------------------------------------ what is undone */

/* What is known of a command that was promised. */
struct promise {
	uint64_t at;
	int64_t ns; /* when it was issued */
	int issued, ended, stays;
};

/* Where the build is taken back to: a position, and among what was promised there a command. */
struct point {
	uint64_t at;
	uint32_t command;
	int64_t ns; /* and a time */
};

static struct promise *promises(const struct journal *j, uint32_t *most)
{
	*most = 0;
	for (size_t i = 0; i < j->count; i++)
		if (j->items[i].entry->command > *most)
			*most = j->items[i].entry->command;
	struct promise *known = calloc((size_t)*most + 1, sizeof *known);
	if (known == NULL)
		abort();
	for (size_t i = 0; i < j->count; i++) {
		const struct undo_entry *entry = j->items[i].entry;
		struct promise *p = &known[entry->command];
		if (entry->kind == UNDO_ISSUED && !p->issued) {
			p->issued = 1;
			p->at = entry->at;
			p->ns = entry->now_ns;
		}
		p->ended |= entry->kind == UNDO_ENDED;
		p->stays |= entry->kind == UNDO_STAYS;
	}
	return known;
}

/* Where the first unfinished command was issued; behind everything where there is none. */
static struct point first_unfinished(const struct promise *known, uint32_t most)
{
	struct point first = {UINT64_MAX, 0, 0};
	for (uint32_t n = 1; n <= most; n++)
		if (known[n].issued && !known[n].ended && known[n].at < first.at)
			first = (struct point){known[n].at, n, known[n].ns};
	return first;
}

static int is_undone(const struct item *item, const struct promise *known, struct point point)
{
	const struct undo_entry *entry = item->entry;
	const struct promise *p = &known[entry->command];
	if (entry->command == 0 || !p->issued)
		return entry->at >= point.at;
	return (p->at > point.at || (p->at == point.at && entry->command >= point.command)) &&
	       !p->stays;
}

/* ------------------------------------------------------------------ undoing one */

static const char *prefix = ""; /* of complaints, and where they go */
static FILE *hears;
static int failures;     /* steps that came to nothing */
static int64_t since_ns; /* what was made before this is part of what comes back */

static void complain_of(const char *path, const char *why)
{
	fprintf(hears, "%s%s: %s\n", prefix, path, why);
	failures++;
}

/* What was made anew may have the number that another file had. */
static int is_same(const struct undo_entry *entry, const struct stat *info)
{
	if (remade_knows(info))
		return remade_is(info, entry);
	return (info->st_ino == entry->inode && major(info->st_dev) == entry->device >> 32 &&
	        minor(info->st_dev) == (entry->device & 0xffffffffu));
}

static struct timespec spec(int64_t ns)
{
	struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
	if (time.tv_nsec < 0) {
		time.tv_sec--;
		time.tv_nsec += 1000000000;
	}
	return time;
}

static void set_times(const char *path, int64_t accessed, int64_t modified)
{
	const struct timespec times[2] = {spec(accessed), spec(modified)};
	utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

static void set_folder_time(const char *path, int64_t modified)
{
	char folder[PATH_MAX];
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, spec(modified)};
	if (modified == 0 || strchr(path, '/') == NULL || strlen(path) >= PATH_MAX)
		return;
	utimensat(AT_FDCWD, folder_of(path, folder) ? folder : "/", times, 0);
}

static void set_owner_and_mode(const char *path, const struct undo_entry *entry)
{
	if (lchown(path, entry->user, entry->group) != 0)
		errno = 0; /* what was not ours to give we did not change */
	if (!S_ISLNK(entry->mode))
		chmod(path, entry->mode & 07777);
}

static void set_attributes(const char *path, const struct undo_entry *entry)
{
	set_owner_and_mode(path, entry);
	set_times(path, entry->accessed_ns, entry->modified_ns);
}

static int name_of_kept(const struct journal *j, const struct item *item, char *to)
{
	uint32_t store = item->entry->store;
	if (store == 0 || store > UNDO_STORES)
		return -1;
	return snprintf(to, PATH_MAX, "%s/%s%016llx", j->head->store[store - 1].path,
	                item->server ? "s" : "", (unsigned long long)item->number) < PATH_MAX
	           ? 0
		   : -1;
}

static int copy(const char *from, int to)
{
	char buffer[1 << 16];
	ssize_t got;
	int failed = 0, fd = open(from, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (!failed && (got = read(fd, buffer, sizeof buffer)) != 0)
		failed = got < 0 || write_all(to, buffer, (size_t)got) != 0;
	close(fd);
	return failed ? -1 : 0;
}

static int restore_copy(const char *kept, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	int failed = copy(kept, fd);
	close(fd);
	return failed;
}

#define OVERLAYFS 0x794c7630

/* Whether overlayfs says that it is another file: where a file of several names is changed, the
 * name gets a copy, and so a new inode. */
static int is_copied(const struct undo_entry *entry, const char *path, const struct stat *info)
{
	struct statfs disk;
	return (info->st_mode & S_IFMT) == (entry->mode & S_IFMT) && statfs(path, &disk) == 0 &&
	       disk.f_type == OVERLAYFS;
}

static int is_it(const struct item *item, const struct stat *info)
{
	return is_same(item->entry, info) || is_copied(item->entry, item->path, info);
}

/* Whether the build itself had made what an entry is about: nobody writes down that such a file is
 * removed. */
static int is_the_builds(const struct undo_entry *entry)
{
	return entry->born_ns + UNDO_TICK > since_ns;
}

/* What an entry is about is not where it was: a failure, unless the build itself had made it. */
static void misses(const struct item *item, const char *path)
{
	if (!is_the_builds(item->entry))
		complain_of(path, "is not there any more, or is another file");
}

/* Puts older contents that have no place where their owner finds them. */
static void leave_beside(const char *kept, const char *path)
{
	char beside[PATH_MAX];
	struct stat info;
	int number = 0;
	do
		if (snprintf(beside, sizeof beside, "%s.older%d", path, ++number) >=
		    (int)sizeof beside)
			return;
	while (lstat(beside, &info) == 0);
	if (rename(kept, beside) != 0 && restore_copy(kept, beside) != 0) {
		unlink(beside);
		complain_of(path, "its older contents are lost");
		return;
	}
	fprintf(hears, "%s%s: its older contents are in %s\n", prefix, path, beside);
}

/* Whether what stands at a path was made after the entry was written. */
static int is_born_since(const char *path, const struct undo_entry *entry)
{
	struct statx info;
	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME | STATX_CTIME, &info) != 0)
		return 0;
	const struct statx_timestamp *born =
	    info.stx_mask & STATX_BTIME ? &info.stx_btime : &info.stx_ctime;
	int64_t least = entry->now_ns - UNDO_TICK;
	if (born->tv_nsec == 0) /* in whole seconds, perhaps */
		least -= least % 1000000000;
	return NS_OF(*born) >= least;
}

static void undo_new(const struct item *item)
{
	const struct undo_entry *entry = item->entry;
	struct stat info;
	if (lstat(item->path, &info) != 0)
		return; /* it was never made, or has gone again */
	if (entry->inode != 0 ? !is_same(entry, &info) : !is_born_since(item->path, entry))
		return;
	if (entry->flags & UNDO_EMPTY && info.st_size != 0)
		return;
	if ((S_ISDIR(info.st_mode) ? rmdir(item->path) : unlink(item->path)) != 0)
		complain_of(item->path, strerror(errno));
	else if (S_ISDIR(info.st_mode) || info.st_nlink == 1)
		remade_gone(&info); /* whatever comes next may have its number */
}

/* Takes flags (chattr) off a file, and puts others on it. */
static int set_flags(const char *path, unsigned off, unsigned on)
{
	unsigned was = 0;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	int failed = 0;
	if (ioctl(fd, FS_IOC_GETFLAGS, &was) == 0) {
		unsigned flags = (was & ~off) | on;
		failed = flags != was && ioctl(fd, FS_IOC_SETFLAGS, &flags) != 0;
	}
	int why = errno;
	close(fd);
	errno = why;
	return failed ? -1 : 0;
}

/* A folder comes back empty.  What was in it is older, and comes next; its own mode would be in the
 * way, and so would what it inherits. */
static int restore_folder(const struct item *item)
{
	if (!passing_folder_stays(item->path) && mkdir(item->path, 0700) != 0)
		return -1;
	lremovexattr(item->path, "system.posix_acl_access");
	lremovexattr(item->path, "system.posix_acl_default");
	/* Its own flags come back by entries of theirs. */
	set_flags(item->path, FS_COMPR_FL | FS_NODUMP_FL, 0);
	set_times(item->path, item->entry->accessed_ns, item->entry->modified_ns);
	return 0;
}

static int restore_link(const struct item *item)
{
	if (symlink(item->other, item->path) != 0)
		return -1;
	set_attributes(item->path, item->entry);
	return 0;
}

static int restore_file(const struct item *item, const char *kept)
{
	if (rename(kept, item->path) != 0 &&
	    (errno != EXDEV || restore_copy(kept, item->path) != 0))
		return -1;
	set_attributes(item->path, item->entry); /* what was kept may be a copy */
	return 0;
}

static void undo_gone(const struct journal *j, const struct item *item)
{
	const struct undo_entry *entry = item->entry;
	char kept[PATH_MAX] = "";
	struct stat info;
	int is_file = !S_ISDIR(entry->mode) && !S_ISLNK(entry->mode);
	int has_kept = name_of_kept(j, item, kept) == 0 && lstat(kept, &info) == 0;
	if (entry->flags & UNDO_ASIDE && !has_kept)
		return;
	int is_there = lstat(item->path, &info) == 0;
	if (is_there && is_same(entry, &info) && !passing_is(item->path))
		return; /* it was never removed */
	if (is_there && !(S_ISDIR(entry->mode) && passing_is(item->path))) {
		complain_of(item->path, "is there again");
		if (has_kept)
			leave_beside(kept, item->path);
		return;
	}
	passing_folder_of(item->path);
	if (is_file && !has_kept) {
		complain_of(item->path, "its older contents are not there");
		return;
	}
	int failed = S_ISDIR(entry->mode) ? restore_folder(item)
	             : has_kept           ? restore_file(item, kept)
	                                  : restore_link(item);
	if (failed) {
		complain_of(item->path, strerror(errno));
		if (has_kept)
			leave_beside(kept, item->path);
		return;
	}
	if (lstat(item->path, &info) == 0 && (S_ISDIR(entry->mode) || !is_same(entry, &info)))
		remade_note(item->path, &info, entry);
}

static void undo_data(const struct journal *j, const struct item *item)
{
	const struct undo_entry *entry = item->entry;
	char kept[PATH_MAX];
	struct stat info;
	const char *path = item->path;
	int has_copy = entry->flags & UNDO_WHOLE && name_of_kept(j, item, kept) == 0;
	if (entry->bytes > 0 && !(entry->flags & UNDO_GREW) && !has_copy)
		return; /* the change was never made */
	if (lstat(path, &info) != 0 || !is_it(item, &info) || !S_ISREG(info.st_mode)) {
		misses(item, path);
		return;
	}
	if (entry->flags & UNDO_GREW && (uint64_t)info.st_size <= entry->bytes) {
		set_attributes(path, entry);
		return;
	}
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 && chmod(path, 0600) == 0)
		fd = open(path, O_WRONLY | O_CLOEXEC);
	uint64_t size = entry->flags & UNDO_GREW ? entry->bytes : 0;
	if (fd < 0 || ftruncate(fd, (off_t)size) != 0 || (has_copy && copy(kept, fd) != 0)) {
		complain_of(path, strerror(errno));
		if (has_copy)
			leave_beside(kept, path);
	}
	if (fd >= 0)
		close(fd);
	set_attributes(path, entry);
}

/* Whether what an entry is about is there to be given its fields back. */
static int finds(const struct item *item, struct stat *info)
{
	if (lstat(item->path, info) == 0 && is_it(item, info))
		return 1;
	misses(item, item->path);
	return 0;
}

static void undo_meta(const struct item *item)
{
	struct stat info;
	if (!finds(item, &info))
		return;
	set_attributes(item->path, item->entry);
	if (S_ISDIR(info.st_mode)) { /* what is older changes what is in it */
		chmod(item->path, (item->entry->mode & 07777) | 0700);
		remade_note(item->path, &info, item->entry);
	}
}

static void undo_attribute(const struct item *item)
{
	const struct undo_entry *entry = item->entry;
	const char *value = item->other + strlen(item->other) + 1;
	struct stat info;
	if (!finds(item, &info))
		return;
	int failed = entry->flags & UNDO_ABSENT
	                 ? lremovexattr(item->path, item->other) != 0 && errno != ENODATA
	                 : lsetxattr(item->path, item->other, value, entry->bytes, 0) != 0;
	if (failed && errno != EPERM) /* what was not ours to set we did not change */
		complain_of(item->path, strerror(errno));
}

#define IN_THE_WAY (FS_APPEND_FL | FS_IMMUTABLE_FL)

/* Those that keep older changes from being undone come back last. */
static void undo_flags(const struct item *item)
{
	struct stat info;
	unsigned flags = (unsigned)item->entry->bytes & ~(unsigned)IN_THE_WAY;
	if (finds(item, &info) && set_flags(item->path, ~0u, flags) != 0)
		complain_of(item->path, strerror(errno));
}

/* Whether no older entry that is undone, too, has other flags of the same file. */
static int is_oldest(const struct journal *j, size_t at, const struct promise *known,
                     struct point point)
{
	const struct undo_entry *entry = j->items[at].entry;
	for (size_t i = at + 1; i < j->count; i++) {
		const struct undo_entry *older = j->items[i].entry;
		if (older->kind == UNDO_FLAGS && older->inode == entry->inode &&
		    older->device == entry->device && is_undone(&j->items[i], known, point))
			return 0;
	}
	return 1;
}

static void keep_from_change(const struct item *item)
{
	struct stat info;
	if (finds(item, &info) &&
	    set_flags(item->path, 0, (unsigned)item->entry->bytes & IN_THE_WAY) != 0)
		complain_of(item->path, strerror(errno));
}

#define ASIDE "\1" /* what no path begins with */

static void undo_move(const struct item *item, unsigned flags)
{
	struct stat info;
	int is_gone = lstat(item->other, &info) != 0;
	if (is_gone || !is_same(item->entry, &info)) {
		int is_there = lstat(item->path, &info) == 0;
		if (is_there && is_same(item->entry, &info))
			return; /* it was never moved */
		if (!(is_there && is_gone && flags == RENAME_EXCHANGE &&
		      is_the_builds(item->entry)))
			misses(item, item->other);
		else if (rename(item->path, item->other) == 0) /* the other half */
			remade_moved(item->path, item->other);
		else
			complain_of(item->path, strerror(errno));
		return;
	}
	passing_folder_of(item->path);
	if (passing_is(item->path) && rmdir(item->path) == 0)
		passing_folder_stays(item->path);
	if (lstat(item->path, &info) != 0)
		flags = RENAME_NOREPLACE; /* what it was exchanged with the build had made, too */
	/* not by its function, which not every libc has */
	if (syscall(SYS_renameat2, AT_FDCWD, item->other, AT_FDCWD, item->path, flags) != 0 &&
	    (errno != EINVAL || rename(item->other, item->path) != 0)) {
		complain_of(item->other, strerror(errno));
		return;
	}
	if (flags == RENAME_EXCHANGE) {
		remade_moved(item->path, ASIDE);
		remade_moved(item->other, item->path);
		remade_moved(ASIDE, item->other);
	} else {
		remade_moved(item->other, item->path);
	}
}

static void undo_one(const struct journal *j, const struct item *item)
{
	switch (item->entry->kind) {
	case UNDO_NEW:
		undo_new(item);
		break;
	case UNDO_GONE:
		undo_gone(j, item);
		break;
	case UNDO_DATA:
		undo_data(j, item);
		break;
	case UNDO_META:
		undo_meta(item);
		break;
	case UNDO_MOVE:
		undo_move(item, RENAME_NOREPLACE);
		break;
	case UNDO_SWAP:
		undo_move(item, RENAME_EXCHANGE);
		break;
	case UNDO_XATTR:
		undo_attribute(item);
		break;
	case UNDO_FLAGS:
		undo_flags(item);
		break;
	}
	set_folder_time(item->path, item->entry->folder_ns);
	set_folder_time(item->other, item->entry->other_ns);
}

/* Of a folder that was made again: only when everything is in it. */
static void set_mode_of_folder(const char *path, const struct undo_entry *entry)
{
	if (S_ISDIR(entry->mode))
		set_owner_and_mode(path, entry);
}

/* The folder of a result that stays is as young as that: its time may have been noted before the
 * result was made. */
static void date_folder_of(const char *path)
{
	char folder[PATH_MAX];
	struct stat info, above;
	if (lstat(path, &info) != 0 || S_ISDIR(info.st_mode) || !folder_of(path, folder))
		return;
	if (stat(folder, &above) != 0 || above.st_mode & S_ISVTX ||
	    above.st_mtim.tv_sec > info.st_mtim.tv_sec ||
	    (above.st_mtim.tv_sec == info.st_mtim.tv_sec &&
	     above.st_mtim.tv_nsec >= info.st_mtim.tv_nsec))
		return;
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, info.st_mtim};
	utimensat(AT_FDCWD, folder, times, 0);
}

static void left_over(const char *path)
{
	complain_of(path, "was removed in this build, and holds what has found no other place");
}

void take_back_of_the_dead(const char *folder)
{
	prefix = "smpmake: could not be undone: ";
	hears = stderr;
	take_back(folder, UNDO_STOP);
}

int take_back(const char *folder, enum undo_extent extent)
{
	struct journal j;
	uint32_t most;
	if (undo_load(&j, folder) != 0)
		return 0;
	signal(SIGXFSZ, SIG_IGN); /* one file that may not be so large is no end of the others */
	struct promise *known = promises(&j, &most);
	struct point point = {0, 0, 0};
	if (extent == UNDO_STOP)
		point = first_unfinished(known, most);
	hears = hears != NULL ? hears : stdout;
	since_ns = extent == UNDO_ALL ? j.head->base_ns : point.ns;
	for (size_t i = 0; i < j.count; i++) {
		const struct item *item = &j.items[i];
		uint16_t kind = item->entry->kind;
		if (kind == UNDO_NOTHING || kind >= UNDO_ISSUED || !is_undone(item, known, point))
			continue;
		undo_one(&j, item);
		if (kind != UNDO_FLAGS)
			undo_is_done(&j, item);
	}
	passing_folders_go(left_over);
	for (size_t i = 0; i < j.count; i++) {
		const struct item *item = &j.items[i];
		if (item->entry->kind != UNDO_FLAGS || !is_undone(item, known, point))
			continue;
		if (item->entry->bytes & IN_THE_WAY && is_oldest(&j, i, known, point))
			keep_from_change(item);
		undo_is_done(&j, item);
	}
	for (size_t i = 0; i < j.count && extent == UNDO_STOP; i++) {
		const struct undo_entry *entry = j.items[i].entry;
		if (entry->kind == UNDO_NEW && entry->command != 0 &&
		    !is_undone(&j.items[i], known, point))
			date_folder_of(j.items[i].path);
	}
	remade_end(set_mode_of_folder);
	return failures;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info;
	(void)kind;
	(void)walk;
	remove(path);
	return 0;
}

void remove_tree(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void forget_stores(const char *folder)
{
	size_t size;
	struct undo_head *head = (void *)contents_of(folder, "undo/head", sizeof *head, &size);
	if (head == NULL || size < sizeof *head || head->magic != UNDO_MAGIC)
		return;
	for (uint32_t i = 0; i < head->stores && i < UNDO_STORES; i++)
		remove_tree(head->store[i].path);
}
