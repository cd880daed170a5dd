/* The giving back of an answer by a shim, where nothing is pending. */
#include "give.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/util.h"
#include "finish.h"
#include "other_tree.h"
#include "undo_journal.h"

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

/* Whether nothing may be made any more in the tick of their making.  What a build's processes make
 * next waits for the next one; but nobody compiles what he has written within one tick. */
static int is_exact(const struct memo_question *q)
{
	for (size_t i = 0; i < q->named_count; i++)
		if (q->named[i].stamp.modified_ns + MEMO_TICK > q->memo.now_ns)
			return 1;
	return !q->is_as_job;
}

/* The name in an open folder of what has a path. */
static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

static int make_beside(const struct memo_question *q, const struct memo_entry *entry,
                       const struct memo_output *output, uint32_t number, int64_t *made_ns)
{
	char name[PATH_MAX];
	const char *own;
	struct stat info;
	struct memo_stamp stamp;
	size_t size;
	const char *bytes = memo_output_bytes(&q->memo, entry, output, &size);
	if (bytes == NULL || name_beside((const char *)(output + 1), number, name) != 0)
		return -1;
	if (memo_is_listed(name) || memo_keep(name, NULL, NULL) != 0)
		return -1;
	int folder = memo_open_way(entry, (const char *)(output + 1), &own);
	if (folder == -1)
		return -1;
	int fd = (int)kernel(SYS_openat, folder, last_name(name),
	                     O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	memo_close_way(folder);
	if (fd < 0)
		return -1;
	int failed = write_all(fd, bytes, size) != 0 ||
	             kernel(SYS_fchmod, fd, output->mode & 07777) != 0 || memo_date(fd) != 0 ||
	             kernel(SYS_fstat, fd, &info) != 0 || info.st_mode != output->mode;
	memo_stamp_of(&info, &stamp);
	failed |= kernel(SYS_close, fd) != 0;
	if (!failed && stamp.modified_ns > *made_ns)
		*made_ns = stamp.modified_ns;
	return failed ? -1 : 0;
}

/* Removes what has a path, if there is a way to it. */
static int drop(const struct memo_entry *entry, const char *path)
{
	const char *name;
	int folder = memo_open_way(entry, path, &name), failed = -1;
	if (folder != -1)
		failed = kernel(SYS_unlinkat, folder, name, 0) == 0 ? 0 : -1;
	memo_close_way(folder);
	return failed;
}

static void drop_beside(const struct memo_entry *entry, uint32_t count)
{
	char name[PATH_MAX];
	const struct memo_output *output = memo_outputs(entry);
	for (uint32_t i = 0; i < count; i++, output = memo_behind(output))
		if (!(output->flags & MEMO_REMOVED) &&
		    name_beside((const char *)(output + 1), i, name) == 0)
			drop(entry, name);
}

static int look_at(int folder, const char *name, struct statx *info)
{
	return (int)kernel(SYS_statx, folder, name, AT_SYMLINK_NOFOLLOW,
	                   STATX_BASIC_STATS | STATX_BTIME, info);
}

static int put_in_place(const struct memo_question *q, const struct memo_entry *entry,
                        const struct memo_output *output, uint32_t number)
{
	char name[PATH_MAX];
	const char *path = (const char *)(output + 1), *own;
	struct stat info;
	struct statx was, made;
	int is_removed = (output->flags & MEMO_REMOVED) != 0, failed;
	int folder = memo_open_way(entry, path, &own);
	failed = folder == -1 ||
	         (!is_removed && (name_beside(path, number, name) != 0 ||
	                          look_at(folder, last_name(name), &made) != 0)) ||
	         /* Once more: it may have changed while contents were copied. */
	         !memo_is_former(q, entry, output, &info);
	int is_there = !failed && look_at(folder, own, &was) == 0;
	failed = failed || memo_keep(path, is_there ? &was : NULL, is_removed ? NULL : &made) != 0;
	if (!failed && is_removed)
		failed = kernel(SYS_unlinkat, folder, own, 0) != 0;
	else if (!failed)
		failed = kernel(SYS_renameat, folder, last_name(name), folder, own) != 0;
	memo_close_way(folder);
	return failed ? -1 : 0;
}

static int put_all(const struct memo_question *q, const struct memo_entry *entry, int64_t *made_ns)
{
	const struct memo_output *first = memo_outputs(entry), *output = first;
	uint32_t done = 0;
	for (; done < entry->outputs; done++, output = memo_behind(output))
		if (!(output->flags & MEMO_REMOVED) &&
		    make_beside(q, entry, output, done, made_ns) != 0) {
			drop_beside(entry, done + 1);
			return -1;
		}
	output = first;
	for (uint32_t i = 0; i < entry->outputs; i++, output = memo_behind(output))
		if (put_in_place(q, entry, output, i) != 0) {
			drop_beside(entry, entry->outputs);
			return -1; /* what is there by now the tool makes anew */
		}
	return 0;
}

/* What a compiler does that is told to end. */
static void take_all(const struct memo_entry *entry)
{
	const struct memo_output *output = memo_outputs(entry);
	for (uint32_t i = 0; i < entry->outputs; i++, output = memo_behind(output))
		drop(entry, (const char *)(output + 1));
}

int memo_give(const struct memo_question *q, const struct memo_entry *entry)
{
	const uint64_t all = ~UINT64_C(0);
	uint64_t before = 0;
	int64_t made_ns = 0;
	const struct memo_blob *out = memo_texts(entry), *err = MEMO_NEXT(out);
	size_t sizes[2];
	const char *told[2] = {memo_said(&q->memo, entry, out, &sizes[0]),
	                       memo_said(&q->memo, entry, err, &sizes[1])};
	if (told[0] == NULL || told[1] == NULL)
		return -1;
	/* A signal that ends this process does so before or behind it, not between two files. */
	kernel(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof all);
	int failed = put_all(q, entry, &made_ns);
	if (!failed && memo_is_to_end())
		take_all(entry);
	kernel(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
	if (failed)
		return -1;
	if (is_exact(q))
		memo_pass_tick(made_ns);
	else
		memo_keep_time(made_ns);
	/* Of a full disk or a reader that has gone the tool has its own to say. */
	if (memo_tell_last(q, entry, told[0], sizes[0]) != 0)
		return -1;
	write_all(2, told[1], sizes[1]);
	return entry->status;
}
