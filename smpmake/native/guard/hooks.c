/* The hooks of hooks.def, but those that run programs (exec.c, shell.c).
 *
 * <fcntl.h> and <stdio.h> stay out: they declare functions that are defined here a little
 * otherwise.
 */
#include "hooks.h"
#include "chain.h"
#include "exec.h"
#include "folder.h"
#include "intents.h"
#include "kernel.h"
#include "view.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/types.h>

struct libc libc;
static int is_alone; /* nobody but libc stands between us and the kernel */

void *find_in_libc(const char *name)
{
	int before = errno;
	void *function = dlsym(RTLD_NEXT, name);
	errno = before;
	return function;
}

#define FIND(name) *(void **)&libc.name = find_in_libc(#name)

__attribute__((constructor(101))) static void find_first(void)
{
	FIND(open);
	FIND(open64);
	FIND(openat);
	FIND(openat64);
	FIND(fopen);
	FIND(fopen64);
	FIND(stat);
	FIND(stat64);
	FIND(lstat);
	FIND(lstat64);
	FIND(fstatat);
	FIND(fstatat64);
	FIND(__xstat);
	FIND(__lxstat);
	FIND(access);
	FIND(faccessat);
	FIND(readlink);
	FIND(opendir);
	FIND(fdopendir);
	FIND(unlink);
	FIND(unlinkat);
	FIND(rename);
	FIND(chmod);
	FIND(mkdir);
	FIND(execve);
	FIND(posix_spawn);
	is_alone = are_libcs((const uintptr_t *)&libc, sizeof libc / sizeof(uintptr_t));
}

/* ------------------------------------------------------------------ what a make is shown */

static int exists(const struct wire_guard_answer *answer)
{
	if (answer->state != GUARD_ABSENT)
		return 0;
	errno = ENOENT;
	return -1;
}

/* struct stat and struct stat64 are one on the machines that we know. */
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "a machine with two kinds of stat");

static int show(void *to, const struct wire_guard_answer *answer)
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
	return exists(answer);
}

static int showx(struct statx *info, const struct wire_guard_answer *answer)
{
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
	return exists(answer);
}

/* ------------------------------------------------------------------ several paths, patterns */

static void walk_all(char *const *paths)
{
	guard_moves_about();
	for (; !guard_quiet() && paths != NULL && *paths != NULL; paths++)
		walks(*paths);
}

/* Everything below the folder that comes before a pattern's first wildcard. */
static SLOW void expand_in(const char *pattern)
{
	char folder[PATH_MAX];
	size_t size = strcspn(pattern, "*?[{~\\"), length = strlen(pattern);
	if (size == length) {
		guard_see(AT_FDCWD, pattern);
		return;
	}
	while (size > 0 && pattern[size - 1] != '/')
		size--;
	if (size >= sizeof folder)
		return;
	memcpy(folder, pattern, size);
	folder[size] = '\0';
	guard_see_tree(folder);
}

#define ALTERNATIVE 512 /* GLOB_ALTDIRFUNC: the caller lists folders itself, as GNU make does */

static inline void expands(const char *pattern, int flags)
{
	if (!guard_quiet() && pattern != NULL && !(flags & ALTERNATIVE))
		expand_in(pattern);
}

/* ------------------------------------------------------------------ what a job finds */

extern int fileno(void *file);
extern int fclose(void *file);

/* Of the two types that an opening returns. */
#define IS_FD(type) (sizeof(type) == sizeof(int))
#define NONE(type) ((type)(intptr_t)(IS_FD(type) ? -1 : 0))
#define FD(type, opened)                                                                           \
	(IS_FD(type) ? (int)(intptr_t)(opened) : fileno((void *)(intptr_t)(opened)))
#define CLOSE(type, opened)                                                                        \
	(IS_FD(type) ? kernel(SYS_close, (int)(intptr_t)(opened))                                  \
	             : fclose((void *)(intptr_t)(opened)))

/* ------------------------------------------------------------------ the hooks */

#define HOOK(type, name, params, args, before)                                                     \
	EXPORT type name params;                                                                   \
	EXPORT type name params                                                                    \
	{                                                                                          \
		before;                                                                            \
		return LIBC(name) args;                                                            \
	}

#define ENTRY(type, name, params, args, dir, path, before)                                         \
	EXPORT type name params;                                                                   \
	EXPORT type name params                                                                    \
	{                                                                                          \
		type made;                                                                         \
		before;                                                                            \
		WITH_FOLDER(1, dir, path, made = LIBC(name) args);                                 \
		return made;                                                                       \
	}

#define LOOK(type, name, params, args, dir, path, shown, to, flags)                                \
	EXPORT type name params;                                                                   \
	EXPORT type name params                                                                    \
	{                                                                                          \
		struct wire_guard_answer answer;                                                   \
		char elsewhere[PATH_MAX];                                                          \
		if (guard_quiet())                                                                 \
			return LIBC(name) args;                                                    \
		if (guard.trace != NULL && !guard.is_make) {                                       \
			struct turn turn = turn_of(path);                                          \
			if (turn.nameless) {                                                       \
				type found =                                                       \
				    is_alone ? look_plainly(turn, dir, path, flags, to) : 1;       \
				if (found <= 0)                                                    \
					return found;                                              \
				found = LIBC(name) args;                                           \
				if (is_plain(turn, found == 0, -1, dir, path))                     \
					return found;                                              \
			}                                                                          \
		}                                                                                  \
		if (guard.is_make ? guard_pretends(dir, path, &answer)                             \
		                  : !finds(dir, &path, elsewhere, &answer))                        \
			return shown;                                                              \
		type result = LIBC(name) args;                                                     \
		if (result != 0 && guard.trace != NULL && errno == ENOENT &&                       \
		    view_of_named(dir, path, elsewhere) == ELSEWHERE) { /* gone meanwhile */       \
			path = elsewhere;                                                          \
			result = LIBC(name) args;                                                  \
		}                                                                                  \
		if (result == 0 && guard_folder(dir, path, &answer))                               \
			(void)(shown);                                                             \
		return result;                                                                     \
	}

#define OPEN(type, name, params, args, dir, path, how, failed)                                     \
	EXPORT type name params;                                                                   \
	EXPORT type name params                                                                    \
	{                                                                                          \
		if (guard.trace != NULL && !WRITES(how)) {                                         \
			char elsewhere[PATH_MAX];                                                  \
			char *note = guard_note('r', dir, path);                                   \
			__atomic_thread_fence(__ATOMIC_SEQ_CST); /* the server looks at notes */   \
			type found = NONE(type);                                                   \
			struct turn turn = turn_of(path);                                          \
			if (turn.nameless) {                                                       \
				if (is_alone && is_absent(turn, dir, path)) {                      \
					guard_unnote(note);                                        \
					errno = ENOENT;                                            \
					return NONE(type);                                         \
				}                                                                  \
				found = LIBC(name) args;                                           \
				int is = !(found failed);                                          \
				if (is_plain(turn, is, is ? FD(type, found) : -1, dir, path)) {    \
					if (!is)                                                   \
						guard_unnote(note);                                \
					return found;                                              \
				}                                                                  \
			}                                                                          \
			enum view view = view_of_named(dir, path, elsewhere);                      \
			if (!(found failed) &&                                                     \
			    (view != AS_IT_IS || !is_same(FD(type, found), dir, path))) {          \
				CLOSE(type, found);                                                \
				found = NONE(type);                                                \
			}                                                                          \
			if (found failed) {                                                        \
				errno = view == NOT_THERE ? ENOENT : errno;                        \
				if (view == ELSEWHERE)                                             \
					path = elsewhere;                                          \
				if (view != NOT_THERE)                                             \
					found = LIBC(name) args;                                   \
			}                                                                          \
			if (found failed && view == AS_IT_IS && errno == ENOENT)                   \
				view = view_of_named(dir, path, elsewhere); /* gone meanwhile */   \
			else if (found failed)                                                     \
				view = AS_IT_IS;                                                   \
			else if (view == AS_IT_IS)                                                 \
				view = view_of_opened(FD(type, found), dir, path, elsewhere);      \
			else                                                                       \
				view = AS_IT_IS;                                                   \
			if (view != AS_IT_IS) {                                                    \
				if (!(found failed))                                               \
					CLOSE(type, found);                                        \
				found = NONE(type);                                                \
				errno = ENOENT;                                                    \
				path = elsewhere;                                                  \
				if (view == ELSEWHERE)                                             \
					found = LIBC(name) args;                                   \
			}                                                                          \
			if (found failed)                                                          \
				guard_unnote(note);                                                \
			return found;                                                              \
		}                                                                                  \
		enum opening aim = opens(dir, path, how);                                          \
		/* Before it is there: who lists its folder may be told of it. */                  \
		char *note = guard.trace != NULL                                                   \
		                 ? guard_note(aim == FOR_READING ? 'r' : 'w', dir, path)           \
		                 : NULL;                                                           \
		type opened;                                                                       \
		WITH_FOLDER((how) & O_CREAT, dir, path, opened = LIBC(name) args);                 \
		if (aim == MAKING && sizeof(type) == sizeof(int) && !(opened failed))              \
			undo_opened((int)(intptr_t)opened);                                        \
		if (opened failed)                                                                 \
			guard_unnote(note);                                                        \
		return opened;                                                                     \
	}

#define TEMP(name, params, args, tail, flags)                                                      \
	EXPORT int name params;                                                                    \
	EXPORT int name params                                                                     \
	{                                                                                          \
		int made;                                                                          \
		WITH_FOLDER(1, AT_FDCWD, path,                                                     \
		            made = undo_is_on() ? undo_temporary(path, tail, flags, 0)             \
		                                : LIBC(name) args);                                \
		if (guard.trace != NULL && made >= 0)                                              \
			guard_note('w', AT_FDCWD, path);                                           \
		return made;                                                                       \
	}

#define GONE(type, name, params, args, dir, path, kinds)                                           \
	EXPORT type name params;                                                                   \
	EXPORT type name params                                                                    \
	{                                                                                          \
		type gone;                                                                         \
		WITH_FOLDER(1, dir, path, gone = goes(dir, path, kinds) ? 0 : LIBC(name) args);    \
		return gone;                                                                       \
	}

#define OWN(type, name, params)

#include "hooks.def"
#undef HOOK
#undef ENTRY
#undef LOOK
#undef OPEN
#undef TEMP
#undef GONE
#undef OWN

EXPORT char *mkdtemp(char *path);
EXPORT char *mkdtemp(char *path)
{
	if (!undo_is_on())
		return LIBC(mkdtemp)(path);
	return undo_temporary(path, 0, 0, 1) == 0 ? path : NULL;
}

extern int dirfd(void *folder);
extern int closedir(void *folder);

EXPORT void *opendir(const char *path);
EXPORT void *opendir(const char *path)
{
	void *folder = LIBC(opendir)(path);
	if (folder == NULL || guard_quiet())
		return folder;
	char elsewhere[PATH_MAX];
	if (!guard.lists_names) {
		guard_see_folder(dirfd(folder));
	} else if (guard_names(dirfd(folder), elsewhere)) {
		void *shown = LIBC(opendir)(elsewhere);
		if (shown != NULL) {
			closedir(folder);
			return shown;
		}
		guard_see_folder(dirfd(folder));
	}
	return folder;
}

EXPORT void *fdopendir(int fd);
EXPORT void *fdopendir(int fd)
{
	if (!guard_quiet())
		guard_see_folder(fd);
	return LIBC(fdopendir)(fd);
}

static SLOW void load(const char *path)
{
	const char *const none[] = {NULL, NULL}, *const bare[] = {path, NULL};
	const char *search = value_in(environ, "LD_LIBRARY_PATH=", 16);
	char program[PATH_MAX];
	long size = kernel(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, PATH_MAX - 1);
	program[size > 0 ? size : 0] = '\0';
	if (strchr(path, '/') != NULL)
		guard_see_libraries(path, search, none);
	else
		guard_see_libraries(program, search, bare);
}

static void loads(const char *path)
{
	reads(AT_FDCWD, path);
	if (path != NULL && guard.board->libraries != 0 && !guard_quiet())
		load(path);
}

/* dlopen looks at who calls it: these must end in a jump, not in a call. */
EXPORT void *dlopen(const char *path, int flags)
{
	loads(path);
	return LIBC(dlopen)(path, flags);
}

EXPORT void *dlmopen(long space, const char *path, int flags)
{
	loads(path);
	return LIBC(dlmopen)(space, path, flags);
}
