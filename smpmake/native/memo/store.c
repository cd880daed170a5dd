/* The files of the store, and the hashes of others. */
#include "program.h"
#include "question.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/util.h"

/* As getdents64(2) gives it. */
struct listed {
	uint64_t d_ino;
	int64_t d_off;
	uint16_t d_reclen;
	uint8_t d_type;
	char d_name[];
};

#define CHUNK 65536u
#define BEFORE 512u /* bytes of the chunk before, so that words on the border are found */
#define BUCKETS 4096u
#define SLOTS 4u /* of a bucket */
#define TAG_BUCKETS 8192u
#define TAGS 8u /* of a bucket: questions that came once */
#define USED_AGAIN (INT64_C(600) * 1000000000)
#define NO_DISK 0u /* the major numbers of overlayfs and its like, and of loop devices */
#define IN_A_FILE 7u
#define NAMES 1048576u                   /* bytes of a listing */
#define YOUNGEST (INT64_C(20) * 1000000) /* two ticks of the slowest kernel's clock */

int64_t memo_clock(void)
{
	return clock_ns(CLOCK_REALTIME_COARSE);
}

void memo_stamp_of(const struct stat *info, struct memo_stamp *stamp)
{
	*stamp = (struct memo_stamp){
	    .device = info->st_dev,
	    .inode = info->st_ino,
	    .size = (uint64_t)info->st_size,
	    .modified_ns = NS_OF(info->st_mtim),
	    .changed_ns = NS_OF(info->st_ctim),
	};
}

int memo_same_stamp(const struct memo_stamp *a, const struct memo_stamp *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* Whether a device's file system stays until the next boot: the root's, unless it is no disk of its
 * own but overlayfs, or lies in a file. */
static int stays(uint64_t device)
{
	static struct stat root;
	if (root.st_dev == 0 && kernel(SYS_newfstatat, AT_FDCWD, "/", &root, 0) != 0)
		return 0;
	return device == root.st_dev && major(device) != NO_DISK && major(device) != IN_A_FILE;
}

static int is_older(const struct memo *memo, const struct memo_stamp *stamp, int64_t than_ns)
{
	int may_be_chosen = stamp->changed_ns % 1000000000 == 0; /* no kernel's clock shows that */
	return stamp->changed_ns < memo->now_ns - than_ns &&
	       (!may_be_chosen || stays(stamp->device));
}

int memo_is_settled(const struct memo *memo, const struct memo_stamp *stamp)
{
	return is_older(memo, stamp, memo->settled_ns);
}

char *memo_place(const struct memo *memo, char letter, const unsigned char hash[SHA256_SIZE],
                 char room[PATH_MAX])
{
	static const char digits[] = "0123456789abcdef";
	char *at = stpcpy(room, memo->folder);
	*at++ = '/';
	*at++ = letter;
	*at++ = '/';
	for (size_t i = 0; i < SHA256_SIZE; i++) {
		*at++ = digits[hash[i] >> 4];
		if (i == 0) /* few folders: to make one takes longer than to make a file */
			*at++ = '/';
		*at++ = digits[hash[i] & 15];
	}
	*at = '\0';
	return room;
}

/* What was not used for longest goes first; ten minutes are exact enough. */
static void note_use(int fd, const struct stat *info)
{
	int64_t used_ns = (int64_t)info->st_mtim.tv_sec * 1000000000;
	if (used_ns < memo_clock() - USED_AGAIN)
		kernel(SYS_utimensat, fd, NULL, NULL, 0);
}

char *memo_read(const char *path, size_t most, size_t *size, int is_stored)
{
	struct stat info;
	char *data = NULL;
	int fd = (int)kernel(SYS_openat, AT_FDCWD, path,
	                     O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return NULL;
	if (kernel(SYS_fstat, fd, &info) == 0 && S_ISREG(info.st_mode) &&
	    (size_t)info.st_size <= most && info.st_uid == (uid_t)kernel(SYS_geteuid)) {
		*size = (size_t)info.st_size;
		data = malloc(*size + 8);
		if (data != NULL && read_all(fd, data, *size) != 0)
			data = NULL;
		if (is_stored)
			note_use(fd, &info);
	}
	close(fd);
	return data;
}

static void make_folder_of(const char *path)
{
	char folder[PATH_MAX];
	strcpy(folder, path);
	for (int up = 0; up < 2; up++)
		*strrchr(folder, '/') = '\0';
	kernel(SYS_mkdirat, AT_FDCWD, folder, 0700);
	strcpy(folder, path);
	*strrchr(folder, '/') = '\0';
	kernel(SYS_mkdirat, AT_FDCWD, folder, 0700);
}

/* A build is not to fail for what is remembered of it: a tenth of a file system stays free. */
static int has_room(int fd, size_t size)
{
	struct statfs system;
	if (kernel(SYS_fstatfs, fd, &system) != 0)
		return 0;
	uint64_t block = (uint64_t)system.f_bsize, least = system.f_blocks * block / 10;
	least = least < MEMO_LEFT_FREE ? least : MEMO_LEFT_FREE;
	return system.f_bavail * block >= least + size;
}

/* Nor is one build to write without end: the store is cleaned when it is over.  How much it has
 * stored is the size of a file in which there is nothing. */
static int is_too_much(const struct memo *memo, size_t size)
{
	char path[PATH_MAX];
	struct stat info;
	if (*memo->session == '\0' || strlen(memo->session) + sizeof "/stored" > sizeof path)
		return 0;
	strcpy(stpcpy(path, memo->session), "/stored");
	int fd = (int)kernel(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return 1;
	int failed = kernel(SYS_fstat, fd, &info) != 0 ||
	             (uint64_t)info.st_size + size > memo->most_bytes ||
	             kernel(SYS_ftruncate, fd, info.st_size + (off_t)size) != 0;
	close(fd);
	return failed;
}

int memo_write(const struct memo *memo, const char *path, const void *data, size_t size)
{
	char name[PATH_MAX];
	char *at = stpcpy(stpcpy(name, memo->folder), "/new-");
	*put_number(at, name + sizeof name - 1, (unsigned long)getpid()) = '\0';
	kernel(SYS_unlinkat, AT_FDCWD, name, 0); /* of one of our number that was killed */
	int fd = (int)kernel(SYS_openat, AT_FDCWD, name,
	                     O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -1;
	int failed =
	    !has_room(fd, size) || is_too_much(memo, size) || write_all(fd, data, size) != 0;
	failed |= kernel(SYS_close, fd) != 0;
	if (!failed && kernel(SYS_renameat, AT_FDCWD, name, AT_FDCWD, path) != 0) {
		make_folder_of(path);
		failed = kernel(SYS_renameat, AT_FDCWD, name, AT_FDCWD, path) != 0;
	}
	if (failed)
		kernel(SYS_unlinkat, AT_FDCWD, name, 0);
	return failed ? -1 : 0;
}

/* ------------------------------------------------------------------ contents */

/* What is known of a stamp: a slot of s/table, which is no more than a shortcut. */
struct known {
	unsigned char boot[16];
	struct memo_stamp stamp;
	uint64_t tree; /* of which MEMO_HAS_TOP is said; 0 for programs, of which it is not */
	unsigned char hash[SHA256_SIZE];
	uint64_t has, sum;
};

/* Who writes beyond a limit gets a signal. */
int memo_table(const struct memo *memo, const char *name)
{
	int table = -1;
	char path[PATH_MAX];
	struct stat info;
	struct rlimit limit = {0, 0};
	if (kernel(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0 ||
	    limit.rlim_cur != RLIM_INFINITY)
		return table;
	strcpy(stpcpy(path, memo->folder), name);
	for (int tries = 0; tries < 2; tries++) {
		const int how = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
		table = (int)kernel(SYS_openat, AT_FDCWD, path, how, 0600);
		if (table >= 0 && kernel(SYS_fstat, table, &info) == 0 && S_ISREG(info.st_mode) &&
		    info.st_uid == (uid_t)kernel(SYS_geteuid)) {
			note_use(table, &info);
			return table;
		}
		if (table >= 0)
			close(table);
		table = -1;
		if (tries == 0 && errno == ENOENT)
			make_folder_of(path);
		else
			kernel(SYS_unlinkat, AT_FDCWD, path, 0);
	}
	return table;
}

/* Opened once. */
static int table_of(const struct memo *memo)
{
	static int table = -2;
	if (table == -2)
		table = memo_table(memo, "/s/table");
	return table;
}

int memo_is_tagged(const struct memo_question *q, const char *table, int puts)
{
	uint64_t tags[TAGS], key[2];
	int fd = memo_table(&q->memo, table);
	if (fd < 0)
		return 0;
	memcpy(key, q->keys[memo_first_scope(q)], sizeof key);
	int64_t at = (int64_t)(key[0] % TAG_BUCKETS * sizeof tags);
	memset(tags, 0, sizeof tags);
	kernel(SYS_pread64, fd, tags, sizeof tags, at);
	uint64_t place = 0;
	while (place < TAGS && tags[place] != key[1] && tags[place] != 0)
		place++;
	int was_there = place < TAGS && tags[place] == key[1];
	if (place == TAGS) /* of a full bucket any goes */
		place = key[0] / TAG_BUCKETS % TAGS;
	if (!was_there && puts)
		kernel(SYS_pwrite64, fd, &key[1], sizeof key[1],
		       at + (int64_t)(place * sizeof key[1]));
	close(fd);
	return was_there;
}

int memo_waits(const struct memo_question *q, enum memo_why why)
{
	return q->memo.is_patient && why == MEMO_UNKNOWN && !memo_is_tagged(q, "/s/seen", 1);
}

/* Other versions have other uses for `has`. */
static uint64_t sum_of(const struct known *known)
{
	return quick_sum(known, offsetof(struct known, sum)) + MEMO_FORMAT;
}

/* Looks a stamp up; -1 where it is unknown.  `at`: where it is to be written. */
static int look_up(int table, struct known *known, int64_t *at)
{
	struct known bucket[SLOTS];
	const struct known *slot = bucket;
	uint64_t number = quick_sum(known, offsetof(struct known, hash));
	*at = (int64_t)(number % BUCKETS * sizeof bucket);
	memset(bucket, 0, sizeof bucket);
	kernel(SYS_pread64, table, bucket, sizeof bucket, *at);
	for (; slot < bucket + SLOTS && slot->sum != 0; slot++)
		if (memcmp(slot, known, offsetof(struct known, hash)) == 0 &&
		    slot->sum == sum_of(slot)) {
			*known = *slot;
			return 0;
		}
	if (slot == bucket + SLOTS) /* of a full one any goes */
		slot = bucket + number / BUCKETS % SLOTS;
	*at += (slot - bucket) * (int64_t)sizeof *slot;
	return -1;
}

int memo_is_compiled(const char *bytes, size_t size)
{
	return size >= 4 && (memcmp(bytes, "CPCH", 4) == 0 || memcmp(bytes, "gpch", 4) == 0);
}

static int hash_all(const struct memo *memo, int fd, unsigned char hash[SHA256_SIZE], uint32_t *has)
{
	static char room[BEFORE + CHUNK];
	struct sha256 sum;
	size_t before = 0;
	ssize_t got;
	int is_text = 1, is_program = 0, is_compiled_header = 0;
	unsigned names = 0;
	struct reading reading = {.within = 0};
	*has = 0;
	sha256_begin(&sum);
	while ((got = read(fd, room + before, CHUNK)) > 0) {
		size_t all = before + (size_t)got;
		sha256_add(&sum, room + before, (size_t)got);
		if (before == 0)
			is_program = memo_is_runnable(room, (size_t)got);
		if (before == 0)
			is_text = memcmp(room, "\177ELF", got < 4 ? (size_t)got : 4) != 0 &&
			          memcmp(room, "!<arch>", got < 7 ? (size_t)got : 7) != 0;
		/* clang compares the times of what was compiled into it. */
		is_compiled_header |= before == 0 && memo_is_compiled(room, (size_t)got);
		if (!is_text && !is_program)
			is_compiled_header |= memmem(room, all, "__clangast", 10) != NULL;
		if (is_text)
			*has |= memo_text_says(&reading, room, before, all);
		if (is_program)
			memo_look_for_names(&names, room, all);
		else if (memo_top_in(memo->tree, room, all) != NULL)
			*has |= MEMO_HAS_TOP;
		size_t keep = all < BEFORE ? all : BEFORE;
		for (size_t i = 0; i < keep; i++)
			room[i] = room[all - keep + i];
		before = keep;
	}
	sha256_end(&sum, hash);
	if (is_compiled_header)
		*has |= MEMO_HAS_TIMES;
	if (is_program)
		*has |= MEMO_IS_PROGRAM | memo_names_say(names);
	return got == 0 ? 0 : -1;
}

/* Whether nobody can change a file but by opening it from now on: nobody has it open for writing,
 * or has a mapping to write by.  A read lease is granted only then.  While it is held an opener is
 * held up, and its holder gets a signal: one that is ignored.  Only the owner may ask, and root.
 *
 * Where this is true a change gives the file other times than it has, if those are older than a
 * tick: so it does on these, and on overlayfs from this kernel on; before, a mapping there is of
 * another file than the lease. */
static int is_final(int fd, const char *path, uint64_t device)
{
	int near = memo_near_at(device, path);
	if (near != MEMO_NEAR_BY_LEASE || kernel(SYS_fcntl, fd, F_SETSIG, SIGURG) != 0 ||
	    kernel(SYS_fcntl, fd, F_SETLEASE, F_RDLCK) != 0)
		return 0;
	return kernel(SYS_fcntl, fd, F_SETLEASE, F_UNLCK) == 0;
}

int memo_content(const struct memo *memo, const char *path, const struct memo_stamp *stamp,
                 unsigned char hash[SHA256_SIZE], uint32_t *has)
{
	struct known known = {.stamp = *stamp};
	struct memo_stamp now;
	struct stat info;
	int64_t at[2] = {0, 0};
	/* What is known of a younger one was found by a lease. */
	int may_be_known = is_older(memo, stamp, YOUNGEST) &&
	                   memo_near_at(stamp->device, path) >= MEMO_NEAR_ON_DISK;
	int table = may_be_known ? table_of(memo) : -1;
	const uint64_t trees[2] = {quick_sum(memo->tree->folder, memo->tree->top) | 1, 0};
	memcpy(known.boot, memo->boot, sizeof known.boot);
	for (int i = 0; i < 2 && table >= 0; i++) {
		known.tree = trees[i];
		if (look_up(table, &known, &at[i]) == 0) {
			memcpy(hash, known.hash, SHA256_SIZE);
			*has = (uint32_t)known.has;
			return 0;
		}
	}
	int fd = (int)guarded(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	int failed = kernel(SYS_fstat, fd, &info) != 0;
	memo_stamp_of(&info, &now);
	failed = failed || !memo_same_stamp(&now, stamp);
	int is_known = !failed && may_be_known &&
	               (memo_is_settled(memo, stamp) || is_final(fd, path, stamp->device));
	failed = failed || hash_all(memo, fd, hash, has) != 0 || kernel(SYS_fstat, fd, &info) != 0;
	memo_stamp_of(&info, &now);
	failed = failed || !memo_same_stamp(&now, stamp);
	close(fd);
	if (!failed && is_known && table >= 0) {
		memcpy(known.hash, hash, SHA256_SIZE);
		int is_program = (*has & MEMO_IS_PROGRAM) != 0;
		known.tree = trees[is_program];
		known.has = *has;
		known.sum = sum_of(&known);
		kernel(SYS_pwrite64, table, &known, sizeof known, at[is_program]);
	}
	if (!is_known)
		*has |= MEMO_IS_YOUNG;
	return failed ? -1 : 0;
}

int memo_names(const char *path, unsigned char hash[SHA256_SIZE])
{
	uint64_t total[SHA256_SIZE / 8], one[SHA256_SIZE / 8];
	char *room = malloc(NAMES);
	int fd = (int)guarded(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	long got = -1;
	memset(total, 0, sizeof total);
	while (fd >= 0 && room != NULL && (got = guarded(SYS_getdents64, fd, room, NAMES)) > 0)
		for (long at = 0; at < got;) {
			const struct listed *entry = (const void *)(room + at);
			struct sha256 sum;
			sha256_begin(&sum);
			sha256_add(&sum, entry->d_name, strlen(entry->d_name) + 1);
			sha256_add(&sum, &entry->d_type, 1);
			sha256_end(&sum, (unsigned char *)one);
			for (size_t i = 0; i < SHA256_SIZE / 8; i++)
				total[i] += one[i];
			at += entry->d_reclen;
		}
	if (fd >= 0)
		close(fd);
	memcpy(hash, total, SHA256_SIZE);
	return got == 0 ? 0 : -1;
}

int memo_has_list(const char *folder)
{
	return kernel(SYS_getxattr, folder, "system.posix_acl_default", NULL, 0) > 0;
}

int memo_folder_of(const char *path, char room[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t size = slash == NULL ? 0 : (size_t)(slash - path) + 1;
	if (size >= PATH_MAX)
		return -1;
	memcpy(room, path, size);
	strcpy(room + size, size == 0 ? "." : "");
	return 0;
}

int memo_is_listed(const char *path)
{
	char folder[PATH_MAX];
	return memo_folder_of(path, folder) != 0 || memo_has_list(folder);
}

const char *memo_bytes(const struct memo *memo, const struct memo_blob *blob)
{
	char place[PATH_MAX];
	struct sha256 sum;
	unsigned char hash[SHA256_SIZE];
	size_t size;
	if (blob->is_inline)
		return (const char *)(blob + 1);
	char *data = memo_read(memo_place(memo, 'c', blob->hash, place), SIZE_MAX / 2, &size, 1);
	if (data == NULL || size != blob->bytes)
		return NULL;
	sha256_begin(&sum);
	sha256_add(&sum, data, size);
	sha256_end(&sum, hash);
	return memcmp(hash, blob->hash, SHA256_SIZE) == 0 ? data : NULL;
}
