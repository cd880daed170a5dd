/* libc keeps a spawn's file actions in a list of its own form, which has been the same since glibc
 * 2.29.  Each action is compared with that form when it is added; where it is another, a spawn
 * waits for everything.
 */
#include "actions.h"
#include "base/kernel.h"
#include "hooked.h"
#include "intents.h"

#include <errno.h>
#include <linux/fcntl.h>
#include <string.h>

enum { CLOSES, DUPLICATES, OPENS, GOES_TO, GOES_TO_OPEN };

struct action {
	int kind;
	union {
		struct {
			int fd;
			int copy; /* of DUPLICATES */
		};
		struct {
			int opened; /* as which descriptor */
			char *path;
			int flags;
			mode_t mode;
		};
		char *folder; /* of GOES_TO */
	};
};

struct actions {
	int room, used;
	const struct action *list;
};

_Static_assert(sizeof(struct action) == 32, "a machine with another list of actions");

static int is_other_form;

/* The action that was added last; NULL where there is none that could be it. */
static const struct action *last_of(const struct actions *actions)
{
	if (actions->used > 0 && actions->used <= actions->room && actions->list != NULL)
		return &actions->list[actions->used - 1];
	return NULL;
}

static void compare(int is_same)
{
	if (!is_same)
		__atomic_store_n(&is_other_form, 1, __ATOMIC_RELAXED);
}

EXPORT int posix_spawn_file_actions_addopen(void *actions, int fd, const char *path, int flags,
                                            mode_t mode)
{
	int failed = LIBC(posix_spawn_file_actions_addopen)(actions, fd, path, flags, mode);
	const struct action *a = failed ? NULL : last_of(actions);
	if (!failed)
		compare(a != NULL && a->kind == OPENS && a->fd == fd && a->flags == flags &&
		        a->mode == mode && strcmp(a->path, path) == 0);
	return failed;
}

EXPORT int posix_spawn_file_actions_addchdir_np(void *actions, const char *path)
{
	int failed = LIBC(posix_spawn_file_actions_addchdir_np)(actions, path);
	const struct action *a = failed ? NULL : last_of(actions);
	if (!failed)
		compare(a != NULL && a->kind == GOES_TO && strcmp(a->folder, path) == 0);
	return failed;
}

EXPORT int posix_spawn_file_actions_addfchdir_np(void *actions, int fd)
{
	int failed = LIBC(posix_spawn_file_actions_addfchdir_np)(actions, fd);
	const struct action *a = failed ? NULL : last_of(actions);
	if (!failed)
		compare(a != NULL && a->kind == GOES_TO_OPEN && a->fd == fd);
	return failed;
}

/* The folder that a child goes to, as a descriptor of ours.  Its own may be one that an action
 * before has made: a copy, or a folder that it opens. */
static int folder_of_action(const struct actions *actions, int at, int dir)
{
	int fd = actions->list[at].fd;
	const char *path = NULL;
	if (actions->list[at].kind == GOES_TO)
		path = actions->list[at].folder;
	else
		while (at-- > 0 && path == NULL) {
			const struct action *a = &actions->list[at];
			if (a->kind == DUPLICATES && a->copy == fd)
				fd = a->fd;
			else if (a->kind == OPENS && a->fd == fd)
				path = a->path;
		}
	return (int)kernel(SYS_openat, path != NULL ? dir : fd, path != NULL ? path : ".",
	                   O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int actions_see(const void *given)
{
	const struct actions *actions = given;
	int before = errno, dir = AT_FDCWD;
	if (__atomic_load_n(&is_other_form, __ATOMIC_RELAXED)) {
		leaves("/");
		return dir;
	}
	for (int at = 0; at < actions->used; at++) {
		const struct action *a = &actions->list[at];
		if (a->kind == OPENS) {
			reopens(dir, a->path, a->flags);
		} else if (a->kind == GOES_TO || a->kind == GOES_TO_OPEN) {
			int next = folder_of_action(actions, at, dir);
			if (dir >= 0)
				kernel(SYS_close, dir);
			dir = next >= 0 ? next : AT_FDCWD; /* the spawn will fail */
		}
	}
	errno = before;
	return dir;
}

int actions_are_usual(const void *given)
{
	const struct actions *actions = given;
	for (int at = 0; actions != NULL && at < actions->used; at++)
		if (actions->used > actions->room ||
		    (actions->list[at].kind != CLOSES && actions->list[at].kind != DUPLICATES))
			return 0;
	return 1;
}
