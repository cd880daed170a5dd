#include "calls.h"
#include "base/kernel.h"
#include "guard/asking.h"
#include "guard/folder.h"
#include "guard/libc.h"
#include "guard/looks.h"
#include "guard/pages.h"
#include "guard/view/view.h"
#include "intents.h"

#include <errno.h>
#include <linux/fcntl.h>
#include <linux/openat2.h>
#include <linux/stat.h>

extern int fileno(void *file);
extern void *fdopen(int fd, const char *mode);
extern int fclose(void *file);

typedef long function(long, long, long, long, long, long);

long call_with(const struct call *call, const char *path)
{
	const long *w = call->words;
	long words[6];
	if (path != NULL) {
		int at = 0; /* of the call's path */
		while (at < 5 && w[at] != (long)call->path)
			at++;
		w = memcpy(words, w, sizeof words);
		words[at] = (long)path;
	}
	if (call->function == NULL)
		return kernel(call->number, w[0], w[1], w[2], w[3], w[4], w[5]);
	return ((function *)(uintptr_t)call->function)(w[0], w[1], w[2], w[3], w[4], w[5]);
}

/* ------------------------------------------------------------------ opening */

/* What is open: of a stream its descriptor, too. */
struct opened {
	int is_stream;
	int fd; /* -1: nothing */
	long result;
};

/* Whether the call opens a file as noted_open does, whose mode says no more than its flags do. */
static int is_noted(const struct call *call, int is_stream)
{
	const char *mode = is_stream ? (const char *)call->words[1] : "r";
	return looks_are_noted() && !WRITES(call->flags) && call->number != SYS_openat2 &&
	       (strcmp(mode, "r") == 0 || strcmp(mode, "rb") == 0) && libc_is_alone();
}

/* A stream of a file that has been opened to be read. */
static long stream_of(int fd)
{
	void *stream = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (fd >= 0 && stream == NULL) {
		int why = errno;
		kernel(SYS_close, fd);
		errno = why;
	}
	return (long)stream;
}

static void try(struct opened *opened, const struct call *call, const char *path)
{
	if (path == NULL && is_noted(call, opened->is_stream)) {
		int fd = noted_open(call->dir, call->path, call->flags);
		opened->result = opened->is_stream ? stream_of(fd) : fd;
	} else {
		opened->result = call_with(call, path);
	}
	if (!opened->is_stream)
		opened->fd = (int)opened->result;
	else
		opened->fd = opened->result != 0 ? fileno((void *)opened->result) : -1;
}

static void fail(struct opened *opened, int why)
{
	if (opened->fd >= 0 && opened->is_stream)
		fclose((void *)opened->result);
	else if (opened->fd >= 0)
		kernel(SYS_close, opened->fd);
	opened->fd = -1;
	opened->result = opened->is_stream ? 0 : -1;
	errno = why;
}

/* Opens what a job is to find where something pending, or kept for it, may be called so; `opened`
 * is what was found there without a question, if anything. */
static SLOW void open_seen(struct opened *opened, const struct call *call, int dir,
                           const char *path)
{
	ANY_PAGE(elsewhere);
	int why = errno;
	enum view view = view_of_named(dir, path, &elsewhere);
	if (opened->fd >= 0 && (view != AS_IT_IS || !is_same(opened->fd, call->dir, call->path)))
		fail(opened, why);
	if (opened->fd < 0 && view == NOT_THERE)
		errno = ENOENT;
	else if (opened->fd < 0)
		try(opened, call, elsewhere);
	if (view != AS_IT_IS)
		return;
	if (opened->fd >= 0)
		view = view_of_opened(opened->fd, dir, path, &elsewhere);
	else if (errno == ENOENT) /* gone meanwhile */
		view = view_of_named(dir, path, &elsewhere);
	if (view != AS_IT_IS)
		fail(opened, ENOENT);
	if (view == ELSEWHERE)
		try(opened, call, elsewhere);
}

/* What a recipe has looked for in vain. */
static void note_absence(int dir, const char *path)
{
	if (notes_recipes() && (errno == ENOENT || errno == ENOTDIR))
		guard_note('v', dir, path);
}

/* What it has looked at, or for: a make looks at everything that its rules name, and only for what
 * it is to run does it ask by access(2).  Of what is there only a shell's tests say that it was to
 * be there. */
static void note_look(int result, int dir, const char *path, int is_access)
{
	if (!notes_recipes() || (guard.is_make && !is_access))
		return;
	if (result != 0)
		note_absence(dir, path);
	else if (guard.lists_names && !guard.is_make)
		guard_note('t', dir, path);
}

/* What a job opens to read it. */
static void open_as_job(struct opened *opened, const struct call *call, int dir, const char *path)
{
	char *note = guard_note('r', dir, path);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* the server looks at notes */
	struct turn turn = turn_of(path);
	int is_plainly = 0;
	if (turn.nameless && libc_is_alone() && is_absent(turn, call->dir, call->path)) {
		fail(opened, ENOENT);
		is_plainly = 1;
	} else if (turn.nameless) {
		try(opened, call, NULL);
		is_plainly = is_plain(turn, opened->fd >= 0, opened->fd, call->dir, call->path);
	}
	if (!is_plainly)
		open_seen(opened, call, dir, path);
	if (opened->fd < 0) {
		guard_unnote(note);
		note_absence(dir, path);
	}
}

static void open_otherwise(struct opened *opened, const struct call *call, int dir,
                           const char *path)
{
	struct folder folder;
	enum opening aim = opens(dir, path, call->flags);
	if (WRITES(call->flags))
		notes_new(dir, path);
	/* Before it is there: who lists its folder may be told of it. */
	char *note = guard.trace != NULL ? guard_note(letter_of(call->flags), dir, path) : NULL;
	folder_before(&folder, call->flags & O_CREAT, dir, path);
	try(opened, call, NULL);
	folder_after(&folder, dir, path);
	if (aim == MAKING && !opened->is_stream && opened->fd >= 0)
		undo_opened(opened->fd);
	if (opened->fd >= 0 && tells(call->flags))
		guard_opens_fifo(opened->fd); /* now its reader has it open, too */
	if (opened->fd < 0) {
		guard_unnote(note);
		note_absence(dir, path);
	}
}

static void open_it(struct opened *opened, const struct call *call)
{
	ANY_PAGE(page);
	int dir = call->dir;
	const char *path = call->path;
	opened->fd = -1;
	int is_nobodys =
	    guard.trace == NULL && guard_quiet() && !(WRITES(call->flags) && undo_is_on());
	if (is_nobodys || is_inert()) {
		try(opened, call, NULL);
		return;
	}
	if (!(call->flags & O_NOFOLLOW))
		follow_process(&dir, &path, &page);
	if (guard.trace != NULL && !WRITES(call->flags))
		open_as_job(opened, call, dir, path);
	else
		open_otherwise(opened, call, dir, path);
}

int open_file(const struct call *call)
{
	struct opened opened = {.is_stream = 0};
	open_it(&opened, call);
	return opened.fd;
}

int open_by_how(struct call *call)
{
	const struct open_how *how = (const struct open_how *)call->words[2];
	const char *path = (const char *)call->words[1];
	if (how != NULL && path != NULL && how->resolve & RESOLVE_IN_ROOT) {
		path += strspn(path, "/");
		call->words[1] = (long)(*path != '\0' ? path : ".");
	}
	call->dir = (int)call->words[0];
	call->path = (const char *)call->words[1];
	call->flags = how != NULL ? (int)how->flags : 0;
	return open_file(call);
}

void *open_stream(const struct call *call)
{
	struct opened opened = {.is_stream = 1};
	open_it(&opened, call);
	return (void *)opened.result;
}

/* ------------------------------------------------------------------ what a make is shown */

int show_nothing(void *unused, const struct wire_guard_answer *answer)
{
	(void)unused;
	if (answer->state != GUARD_ABSENT)
		return 0;
	errno = ENOENT;
	return -1;
}

/* struct stat and struct stat64 are one on the machines that we know. */
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "a machine with two kinds of stat");

int show_stat(void *to, const struct wire_guard_answer *answer)
{
	struct stat *info = to;
	const struct timespec changed = {answer->mtime_ns / 1000000000,
	                                 answer->mtime_ns % 1000000000};
	if (answer->state == GUARD_FOLDER) {
		if (S_ISDIR(info->st_mode))
			info->st_mtim = changed;
		return 0;
	}
	memset(info, 0, sizeof *info);
	info->st_mode = S_IFREG | answer->mode;
	info->st_nlink = 1;
	info->st_size = 1;
	info->st_blksize = 4096;
	info->st_atim = info->st_ctim = info->st_mtim = changed;
	return show_nothing(to, answer);
}

int show_statx(void *to, const struct wire_guard_answer *answer)
{
	struct statx *info = to;
	const struct statx_timestamp changed = {.tv_sec = answer->mtime_ns / 1000000000,
	                                        .tv_nsec =
	                                            (uint32_t)(answer->mtime_ns % 1000000000)};
	if (answer->state == GUARD_FOLDER) {
		if (S_ISDIR(info->stx_mode))
			info->stx_mtime = changed;
		return 0;
	}
	memset(info, 0, sizeof *info);
	info->stx_mask = STATX_BASIC_STATS;
	info->stx_mode = (uint16_t)(S_IFREG | answer->mode);
	info->stx_nlink = 1;
	info->stx_size = 1;
	info->stx_blksize = 4096;
	info->stx_atime = info->stx_ctime = info->stx_mtime = changed;
	return show_nothing(to, answer);
}

/* ------------------------------------------------------------------ looking */

/* The look itself. */
static int look_with(const struct call *call, void *plain, const char *elsewhere)
{
	if (elsewhere == NULL && looks_are_noted() && libc_is_alone()) {
		if (plain != NULL)
			return noted_stat(call->dir, call->path, plain, call->flags);
		if (call->function == (void *)(uintptr_t)libc.access)
			return noted_access(call->dir, call->path, (int)call->words[1]);
	}
	return (int)call_with(call, elsewhere);
}

/* The look once something may be pending, or kept, of that name. */
static SLOW int look_seen(const struct call *call, int dir, const char *path, show_answer *show,
                          void *to, void *plain)
{
	struct wire_guard_answer answer;
	ANY_PAGE(elsewhere);
	if (guard.is_make ? guard_pretends(dir, path, &answer)
	                  : !finds(dir, path, &elsewhere, &answer))
		return show(to, &answer);
	int result = look_with(call, plain, elsewhere);
	if (result != 0 && elsewhere == NULL && guard.trace != NULL && errno == ENOENT &&
	    view_of_named(dir, path, &elsewhere) == ELSEWHERE) /* gone meanwhile */
		result = look_with(call, plain, elsewhere);
	if (result == 0 && elsewhere == NULL && guard_folder(dir, path, &answer))
		show(to, &answer);
	return result;
}

int look_at(const struct call *call, show_answer *show, void *to, void *plain)
{
	ANY_PAGE(page);
	int dir = call->dir;
	const char *path = call->path;
	if (guard_quiet()) {
		int result = look_with(call, plain, NULL);
		note_look(result, dir, path, show == show_nothing);
		return result;
	}
	if (!(call->flags & AT_SYMLINK_NOFOLLOW))
		follow_process(&dir, &path, &page);
	if (guard.trace != NULL && !guard.is_make) {
		struct turn turn = turn_of(path);
		int found = turn.nameless && libc_is_alone()
		                ? look_plainly(turn, call->dir, call->path, call->flags, plain)
		                : 1;
		if (found <= 0)
			return found;
		if (turn.nameless) {
			found = look_with(call, plain, NULL);
			if (is_plain(turn, found == 0, -1, call->dir, call->path))
				return found;
		}
	}
	return look_seen(call, dir, path, show, to, plain);
}
