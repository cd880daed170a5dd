/* Whether an entry's facts hold, and the giving back of its answer (memo.h). */
#include "memo.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "guard/kernel.h"
#include "util.h"

#define GROUPS 1024u
#define OUTPUTS 64u

/* ------------------------------------------------------------------ an entry's parts */

const void *memo_behind(const struct memo_output *output)
{
	if (output->flags & MEMO_REMOVED)
		return MEMO_NEXT(output);
	const struct memo_blob *blob = MEMO_NEXT(output);
	return MEMO_NEXT(blob);
}

const struct memo_blob *memo_blob_of(const struct memo_output *output)
{
	return MEMO_NEXT(output);
}

/* Sums have been compared: what is cut or was written by another format ends here all the same. */
static int is_inside(const void *item, const char *end, size_t least)
{
	uint32_t size = 0;
	if ((size_t)(end - (const char *)item) < least)
		return 0;
	memcpy(&size, item, sizeof size);
	return size >= least && size % 8 == 0 && size <= (size_t)(end - (const char *)item);
}

static int is_ended(const void *text, uint32_t size)
{
	return size > 0 && ((const char *)text)[size - 1] == '\0';
}

const struct memo_output *memo_outputs(const struct memo_entry *entry)
{
	const char *end = (const char *)entry + entry->size;
	const void *at = entry + 1;
	if (entry->outputs > OUTPUTS)
		return NULL;
	for (uint32_t i = 0; i < entry->facts; i++) {
		const struct memo_fact *fact = at;
		if (!is_inside(fact, end, sizeof *fact) ||
		    fact->size < sizeof *fact + (uint64_t)fact->path_size + fact->other_size ||
		    !is_ended(fact + 1, fact->path_size) || fact->group >= GROUPS ||
		    !is_ended((const char *)(fact + 1) + fact->path_size, fact->other_size))
			return NULL;
		at = MEMO_NEXT(fact);
	}
	const void *outputs = at;
	for (uint32_t i = 0; i < entry->outputs + 2; i++) {
		const struct memo_output *output = at;
		if (i < entry->outputs) {
			if (!is_inside(output, end, sizeof *output) ||
			    output->size < sizeof *output + (uint64_t)output->path_size ||
			    !is_ended(output + 1, output->path_size))
				return NULL;
			at = MEMO_NEXT(output);
			if (output->flags & MEMO_REMOVED)
				continue;
		}
		const struct memo_blob *blob = at;
		if (!is_inside(blob, end, sizeof *blob) ||
		    (blob->is_inline && blob->size - sizeof *blob < blob->bytes))
			return NULL;
		at = MEMO_NEXT(blob);
	}
	return at == end ? outputs : NULL;
}

/* ------------------------------------------------------------------ facts */

struct groups {
	uint32_t count;
	struct {
		uint32_t group;
		uint64_t device, inode;
	} seen[GROUPS];
};

/* Whether what was one is one, and what was not is not. */
static int is_grouped(struct groups *groups, uint32_t group, const struct stat *info)
{
	for (uint32_t i = 0; i < groups->count; i++) {
		int same =
		    groups->seen[i].device == info->st_dev && groups->seen[i].inode == info->st_ino;
		if (same != (groups->seen[i].group == group))
			return 0;
		if (same)
			return 1;
	}
	if (groups->count == GROUPS)
		return 0;
	groups->seen[groups->count].group = group;
	groups->seen[groups->count].device = info->st_dev;
	groups->seen[groups->count++].inode = info->st_ino;
	return 1;
}

static int is_same_content(const struct memo_question *q, const struct memo_entry *entry,
                           const struct memo_fact *fact, const struct stat *info)
{
	const char *path = (const char *)(fact + 1);
	struct memo_stamp stamp;
	unsigned char hash[SHA256_SIZE];
	uint32_t has;
	memo_stamp_of(info, &stamp);
	if (info->st_mode != fact->mode || stamp.size != fact->stamp.size)
		return 0;
	if (fact->flags & MEMO_TIMED && stamp.modified_ns != fact->stamp.modified_ns)
		return 0;
	if (fact->flags & MEMO_IS_NAMED)
		for (size_t i = 0; i < q->named_count; i++)
			if (strcmp(q->named[i].path, path) == 0)
				return memcmp(q->named[i].hash, fact->hash, SHA256_SIZE) == 0;
	if (!(fact->flags & (MEMO_IS_NAMED | MEMO_IN_MEMORY)) &&
	    memo_same_stamp(&stamp, &fact->stamp) &&
	    stamp.changed_ns < q->memo.now_ns - MEMO_SETTLED &&
	    memcmp(entry->boot, q->memo.boot, sizeof entry->boot) == 0)
		return 1;
	return memo_content(&q->memo, path, &stamp, hash, &has) == 0 &&
	       memcmp(hash, fact->hash, SHA256_SIZE) == 0;
}

/* 0, or why it does not hold. */
static enum memo_why doubt(const struct memo_question *q, const struct memo_entry *entry,
                           const struct memo_fact *fact, struct groups *groups)
{
	const char *path = (const char *)(fact + 1), *other = path + fact->path_size;
	int flags = fact->flags & MEMO_NO_FOLLOW ? AT_SYMLINK_NOFOLLOW : 0;
	struct stat info;
	char target[PATH_MAX];
	unsigned char hash[SHA256_SIZE];
	long size;
	if (fact->kind == MEMO_IS_LINK || fact->kind == MEMO_IS_NO_LINK) {
		size = kernel(SYS_readlinkat, AT_FDCWD, path, target, sizeof target);
		if (fact->kind == MEMO_IS_NO_LINK)
			return size < 0 && errno == EINVAL ? 0 : MEMO_FOLDER;
		return size >= 0 && (size_t)size + 1 == fact->other_size &&
		               memcmp(target, other, (size_t)size) == 0
		           ? 0
			   : MEMO_FOLDER;
	}
	if (fact->kind == MEMO_HAS_NAMES)
		return memo_names(path, hash) == 0 && memcmp(hash, fact->hash, sizeof hash) == 0
		           ? 0
			   : MEMO_FOLDER;
	if (kernel(SYS_newfstatat, AT_FDCWD, path, &info, flags) != 0)
		return fact->kind == MEMO_IS_ABSENT && (uint64_t)errno == fact->more ? 0
		       : fact->kind == MEMO_IS_FOLDER                                ? MEMO_FOLDER
		                                                                     : MEMO_FILE;
	switch (fact->kind) {
	case MEMO_IS_ABSENT:
		return MEMO_APPEARED;
	case MEMO_IS_DEVICE:
		return S_ISCHR(info.st_mode) && info.st_rdev == fact->more &&
		               info.st_mode == fact->mode
		           ? 0
			   : MEMO_FILE;
	case MEMO_IS_FOLDER:
		return S_ISDIR(info.st_mode) && info.st_mode == fact->mode &&
		               is_grouped(groups, fact->group, &info)
		           ? 0
			   : MEMO_FOLDER;
	case MEMO_IS_FILE:
		return S_ISREG(info.st_mode) && is_grouped(groups, fact->group, &info) &&
		               is_same_content(q, entry, fact, &info)
		           ? 0
			   : MEMO_FILE;
	default:
		return MEMO_DAMAGED;
	}
}

/* Whether what lies in the place of an output is what lay there. */
static int is_former(const struct memo_output *output, struct stat *info)
{
	const char *path = (const char *)(output + 1);
	if (kernel(SYS_newfstatat, AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT && !(output->flags & MEMO_WAS_THERE);
	return output->flags & MEMO_WAS_THERE && S_ISREG(info->st_mode) &&
	       info->st_mode == output->former && info->st_nlink == 1 &&
	       info->st_uid == (uid_t)kernel(SYS_geteuid) &&
	       info->st_gid == (gid_t)kernel(SYS_getegid);
}

static enum memo_why doubt_of_entry(const struct memo_question *q, const struct memo_entry *entry)
{
	static struct groups groups;
	const struct memo_fact *fact = MEMO_FIRST_FACT(entry);
	const struct memo_output *output = memo_outputs(entry);
	struct stat info;
	enum memo_why why = 0;
	if (output == NULL)
		return MEMO_DAMAGED;
	for (uint32_t i = 0; i < entry->outputs; i++, output = memo_behind(output))
		if (!is_former(output, &info))
			return MEMO_OUTPUT;
	groups.count = 0;
	for (uint32_t i = 0; i < entry->facts && why == 0; i++, fact = MEMO_NEXT(fact))
		why = doubt(q, entry, fact, &groups);
	return why;
}

const struct memo_entry *memo_find(const struct memo_question *q, enum memo_why *why)
{
	char place[PATH_MAX];
	size_t size;
	*why = MEMO_UNKNOWN;
	char *data = memo_read(memo_place(&q->memo, 'q', q->key, place), MEMO_LARGEST, &size, 1);
	if (data == NULL)
		return NULL;
	*why = MEMO_DAMAGED;
	const struct memo_head *head = (const void *)data;
	if (size < sizeof *head || head->magic != MEMO_MAGIC || head->format != MEMO_FORMAT ||
	    memcmp(head->key, q->key, SHA256_SIZE) != 0)
		return NULL;
	for (size_t at = sizeof *head; size - at >= sizeof(struct memo_entry);) {
		const struct memo_entry *entry = (const void *)(data + at);
		size_t head_size = offsetof(struct memo_entry, check) + sizeof entry->check;
		if (entry->size < sizeof *entry || entry->size % 8 != 0 || entry->size > size - at)
			return NULL;
		if (entry->check !=
		    memo_sum((const char *)entry + head_size, entry->size - head_size))
			return NULL;
		enum memo_why doubts = doubt_of_entry(q, entry);
		if (doubts == 0)
			return entry;
		if (at == sizeof *head) /* of the newest */
			*why = doubts;
		at += entry->size;
	}
	return NULL;
}

/* ------------------------------------------------------------------ giving back */

/* ".NAME" beside an output; -1 where that is too long. */
static int name_beside(const char *path, uint32_t number, char room[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
	if (folder + 48 > PATH_MAX)
		return -1;
	memcpy(room, path, folder);
	char *at = stpcpy(room + folder, ".smpmake-"), *end = room + PATH_MAX - 1;
	at = put_number(at, end, (unsigned long)getpid());
	*at++ = '-';
	*put_number(at, end, number) = '\0';
	return 0;
}

static int make_beside(const struct memo_question *q, const struct memo_output *output,
                       uint32_t number, int64_t *made_ns)
{
	char name[PATH_MAX];
	struct stat info;
	struct memo_stamp stamp;
	const struct memo_blob *blob = memo_blob_of(output);
	const char *bytes = memo_bytes(&q->memo, blob);
	if (bytes == NULL || name_beside((const char *)(output + 1), number, name) != 0)
		return -1;
	char *at = strrchr(name, '.'), first = *at;
	*at = '\0';
	int is_listed = memo_has_list(*name != '\0' ? name : ".");
	*at = first;
	if (is_listed)
		return -1;
	int fd =
	    (int)kernel(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	int failed = write_all(fd, bytes, blob->bytes) != 0 ||
	             kernel(SYS_fchmod, fd, output->mode & 07777) != 0 ||
	             kernel(SYS_fstat, fd, &info) != 0 || info.st_mode != output->mode;
	memo_stamp_of(&info, &stamp);
	failed |= kernel(SYS_close, fd) != 0;
	if (!failed && stamp.changed_ns > *made_ns)
		*made_ns = stamp.changed_ns;
	return failed ? -1 : 0;
}

static void drop_beside(const struct memo_output *output, uint32_t count)
{
	char name[PATH_MAX];
	for (uint32_t i = 0; i < count; i++, output = memo_behind(output))
		if (!(output->flags & MEMO_REMOVED) &&
		    name_beside((const char *)(output + 1), i, name) == 0)
			kernel(SYS_unlinkat, AT_FDCWD, name, 0);
}

static int put_in_place(const struct memo_output *output, uint32_t number, memo_keep *keep)
{
	char name[PATH_MAX];
	const char *path = (const char *)(output + 1);
	struct stat info;
	/* Once more: it may have changed while contents were copied. */
	if (!is_former(output, &info) ||
	    keep(path, output->flags & MEMO_WAS_THERE ? &info : NULL) != 0)
		return -1;
	if (output->flags & MEMO_REMOVED)
		return kernel(SYS_unlinkat, AT_FDCWD, path, 0) == 0 ? 0 : -1;
	name_beside(path, number, name);
	return kernel(SYS_renameat, AT_FDCWD, name, AT_FDCWD, path) == 0 ? 0 : -1;
}

/* Nobody is to hear of a file within the tick of the clock that made it: make compares times. */
static void pass_tick(int64_t made_ns)
{
	const struct timespec moment = {0, 500000};
	while (made_ns != 0 && memo_clock() <= made_ns)
		nanosleep(&moment, NULL);
}

/* Nor is a file to be as old as what it is made of: no compiler is as quick. */
static void pass_sources(const struct memo_question *q)
{
	int64_t newest_ns = 0, now_ns = memo_clock();
	for (size_t i = 0; i < q->named_count; i++) {
		int64_t changed_ns = q->named[i].stamp.changed_ns;
		if (changed_ns > newest_ns && changed_ns < now_ns + MEMO_TICK)
			newest_ns = changed_ns;
	}
	pass_tick(newest_ns);
}

static int put_all(const struct memo_question *q, const struct memo_entry *entry, memo_keep *keep,
                   int64_t *made_ns)
{
	const struct memo_output *first = memo_outputs(entry), *output = first;
	uint32_t done = 0;
	for (; done < entry->outputs; done++, output = memo_behind(output))
		if (!(output->flags & MEMO_REMOVED) && make_beside(q, output, done, made_ns) != 0) {
			drop_beside(first, done + 1);
			return -1;
		}
	output = first;
	for (uint32_t i = 0; i < entry->outputs; i++, output = memo_behind(output))
		if (put_in_place(output, i, keep) != 0) {
			drop_beside(first, entry->outputs);
			return -1; /* what is there by now the tool makes anew */
		}
	return 0;
}

int memo_give(const struct memo_question *q, const struct memo_entry *entry, memo_keep *keep)
{
	const struct memo_output *output = memo_outputs(entry);
	const uint64_t all = ~UINT64_C(0);
	uint64_t before = 0;
	int64_t made_ns = 0;
	for (uint32_t i = 0; i < entry->outputs; i++)
		output = memo_behind(output);
	const struct memo_blob *out = (const void *)output, *err = MEMO_NEXT(out);
	const char *told[2] = {memo_bytes(&q->memo, out), memo_bytes(&q->memo, err)};
	if (told[0] == NULL || told[1] == NULL)
		return -1;
	if (entry->outputs > 0)
		pass_sources(q);
	/* A signal that ends this process does so before or behind it, not between two files. */
	kernel(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
	int failed = put_all(q, entry, keep, &made_ns);
	kernel(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
	if (failed)
		return -1;
	pass_tick(made_ns);
	/* Of a full disk or a reader that has gone the tool has its own to say. */
	if (memo_tell_text(1, told[0], out->bytes) != 0)
		return -1;
	write_all(2, told[1], err->bytes);
	return entry->status;
}
