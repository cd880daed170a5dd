/* The hooks of hooks.def, but those that run programs (exec.c, shell.c).
 *
 * <fcntl.h> and <stdio.h> stay out: they declare functions that are defined here a little
 * otherwise.
 */
#include "base/kernel.h"
#include "calls.h"
#include "guard/folder.h"
#include "guard/libc.h"
#include "guard/looks.h"
#include "guard/pages.h"
#include "guard/program/environment.h"
#include "intents.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/fcntl.h>
#include <string.h>
#include <sys/types.h>

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
	size_t size = strcspn(pattern, "*?[{~\\"), length = strlen(pattern);
	if (size == length) {
		guard_see(AT_FDCWD, pattern);
		return;
	}
	while (size > 0 && pattern[size - 1] != '/')
		size--;
	ON_PAGE(folder);
	if (folder == NULL || size >= PATH_MAX) {
		guard_see_everything("/");
		return;
	}
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

/* ------------------------------------------------------------------ listing */

extern int dirfd(void *folder);
extern int closedir(void *folder);
extern long telldir(void *folder);

/* The folder that was opened last, and so has been asked about, and what was pending then.  Threads
 * spoil it for each other, and ask once more. */
struct listing {
	void *folder;
	uint64_t pending;
	int64_t newest_ns;
};
static struct listing last_listing;

static struct listing listing_of(void *folder)
{
	return (struct listing){
	    folder,
	    __atomic_load_n(&guard.board->pending, __ATOMIC_ACQUIRE),
	    __atomic_load_n(&guard.board->undeclared_ns, __ATOMIC_RELAXED),
	};
}

static void note_listing(void *folder)
{
	if (folder != NULL)
		last_listing = listing_of(folder);
}

/* What is read from the beginning: more may be pending in it than when it was opened. */
static SLOW void lists_later(void *folder)
{
	const struct listing now = listing_of(folder);
	if (memcmp(&now, &last_listing, sizeof now) != 0)
		guard_see_folder(dirfd(folder));
}

static inline void lists_on(void *folder)
{
	if (!guard_quiet() && telldir(folder) == 0)
		lists_later(folder);
}

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
		struct folder folder;                                                              \
		before;                                                                            \
		folder_before(&folder, 1, dir, path);                                              \
		type made = LIBC(name) args;                                                       \
		folder_after(&folder, dir, path);                                                  \
		return made;                                                                       \
	}

#define CALL(name, args, of, named, as)                                                            \
	{.function = (void *)(uintptr_t)LIBC(name),                                                \
	 .words = WORDS args,                                                                      \
	 .dir = of,                                                                                \
	 .path = named,                                                                            \
	 .flags = (int)(as)}

#define LOOK(name, params, args, dir, path, show, to, plain, flags)                                \
	EXPORT int name params;                                                                    \
	EXPORT int name params                                                                     \
	{                                                                                          \
		const struct call call = CALL(name, args, dir, path, flags);                       \
		return look_at(&call, show, to, plain);                                            \
	}

#define OPEN(name, params, args, dir, path, how)                                                   \
	EXPORT int name params;                                                                    \
	EXPORT int name params                                                                     \
	{                                                                                          \
		const struct call call = CALL(name, args, dir, path, how);                         \
		return open_file(&call);                                                           \
	}

#define STREAM(name, params, args, dir, path, how)                                                 \
	EXPORT void *name params;                                                                  \
	EXPORT void *name params                                                                   \
	{                                                                                          \
		const struct call call = CALL(name, args, dir, path, how);                         \
		return open_stream(&call);                                                         \
	}

#define TEMP(name, params, args, tail, flags)                                                      \
	EXPORT int name params;                                                                    \
	EXPORT int name params                                                                     \
	{                                                                                          \
		struct folder folder;                                                              \
		folder_before(&folder, 1, AT_FDCWD, path);                                         \
		int made = undo_is_on() ? undo_temporary(path, tail, flags, 0) : LIBC(name) args;  \
		folder_after(&folder, AT_FDCWD, path);                                             \
		if (guard.trace != NULL && made >= 0)                                              \
			guard_note('w', AT_FDCWD, path);                                           \
		return made;                                                                       \
	}

#define GONE(type, name, params, args, dir, path, kinds)                                           \
	EXPORT type name params;                                                                   \
	EXPORT type name params                                                                    \
	{                                                                                          \
		struct folder folder;                                                              \
		folder_before(&folder, 1, dir, path);                                              \
		type gone = goes(dir, path, kinds) ? 0 : LIBC(name) args;                          \
		folder_after(&folder, dir, path);                                                  \
		return gone;                                                                       \
	}

#define OWN(type, name, params)

#include "hooks.def"

/* Of glibc 2.43; before that somebody may find this one, who looks whether there is any. */
EXPORT int openat2(int dir, const char *path, const struct open_how *how, size_t size);
EXPORT int openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
	struct call call = {.function = find_in_libc("openat2"),
	                    .number = SYS_openat2,
	                    .words = WORDS(dir, path, how, size)};
	return open_by_how(&call);
}

EXPORT char *mkdtemp(char *path);
EXPORT char *mkdtemp(char *path)
{
	if (!undo_is_on())
		return LIBC(mkdtemp)(path);
	return undo_temporary(path, 0, 0, 1) == 0 ? path : NULL;
}

EXPORT void *opendir(const char *path);
EXPORT void *opendir(const char *path)
{
	void *folder = LIBC(opendir)(path);
	note_listing(folder);
	if (folder == NULL || guard_quiet())
		return folder;
	ANY_PAGE(elsewhere);
	if (!guard.lists_names) {
		guard_see_folder(dirfd(folder));
	} else if (guard_names(dirfd(folder), &elsewhere)) {
		void *shown = LIBC(opendir)(elsewhere);
		if (shown != NULL) {
			closedir(folder);
			note_listing(shown);
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
	void *folder = LIBC(fdopendir)(fd);
	note_listing(folder);
	return folder;
}

static SLOW void load(const char *path)
{
	const char *const none[] = {NULL, NULL}, *const bare[] = {path, NULL};
	const char *search = value_in(environ, "LD_LIBRARY_PATH=", 16);
	if (strchr(path, '/') != NULL) {
		guard_see_libraries(path, search, none);
		return;
	}
	ON_PAGE(program);
	if (program == NULL) {
		guard_see_everything("/");
		return;
	}
	long size = kernel(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, PATH_MAX - 1);
	program[size > 0 ? size : 0] = '\0';
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
