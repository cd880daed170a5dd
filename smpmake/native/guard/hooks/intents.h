/* What a call of libc's is about to do: first the question, then the entry in the undo journal. */
#ifndef SMPMAKE_INTENTS_H
#define SMPMAKE_INTENTS_H

#include <linux/fcntl.h>
#include <linux/fs.h>
#include <string.h>

#include "base/kernel.h"
#include "guard/asking.h"
#include "guard/change/journal.h"
#include "guard/change/notes.h"
#include "guard/pages.h"
#include "guard/view/lookup.h"
#include "guard/view/peers.h"
#include "guard/view/questions.h"
#include "tells.h"

static inline void reads(int dir, const char *path)
{
	if (!guard_quiet() && !is_session(path))
		guard_see(dir, path);
}

static inline void changes(int dir, const char *path)
{
	if (!guard_quiet() && !is_session(path))
		guard_see_change(dir, path);
}

static inline void changes_folder(int dir, const char *path, int makes)
{
	if (!guard_quiet() && !is_session(path))
		guard_see_folder_change(dir, path, makes);
}

static inline void removes(int dir, const char *path)
{
	if (!guard_quiet() && !is_session(path))
		guard_see_removal(dir, path);
}

static inline void moves(int from_dir, const char *from, int to_dir, const char *to)
{
	if (!guard_quiet())
		guard_see_move(from_dir, from, to_dir, to, ASK_MOVE);
}

static inline void walks(const char *path) /* which may go where it walks */
{
	guard_moves_about();
	if (!guard_quiet())
		guard_see_tree(path);
}

static inline void lists(int dir, const char *path)
{
	if (!guard_quiet())
		guard_see_listing(dir, path);
}

/* What fopen's mode means. */
static inline int flags_of(const char *mode)
{
	int both = strchr(mode, '+') != NULL;
	int only = strchr(mode, 'x') != NULL ? O_EXCL : 0;
	if (mode[0] == 'r')
		return both ? O_RDWR : O_RDONLY;
	return (both ? O_RDWR : O_WRONLY) | O_CREAT | only | (mode[0] == 'a' ? O_APPEND : O_TRUNC);
}

#define WRITES(flags) ((flags) & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC))

/* What is made or dated now is to be younger than the results of the commands before, which have
 * finer times than the file system gives. */
static inline void pass_tick(void)
{
	if (guard.board->newest_ns != 0 && guard.trace == NULL)
		guard_pass_tick();
}

/* Whatever it is: a link is not followed. */
static inline int is_there(int dir, const char *path)
{
	struct stat info;
	int before = errno;
	int there =
	    path != NULL && kernel(SYS_newfstatat, dir, path, &info, AT_SYMLINK_NOFOLLOW) == 0;
	errno = before;
	return there;
}

/* Whether some folder lists its names by age, and is to list results before what comes now. */
static inline int lists_by_age(void)
{
	return guard.board->ordered != 0 && guard.trace == NULL && !guard_quiet();
}

/* A name of the foreground's is about to be made: results that were promised before are older. */
static inline void appears(int dir, const char *path)
{
	if (lists_by_age() && !is_there(dir, path)) /* else the call fails, or makes no name */
		guard_see_new_name(dir, path);
}

/* Whether opening a FIFO so may tell its reader something. */
static inline int tells(int flags)
{
	return (flags & O_ACCMODE) == O_WRONLY && !guard.is_part && !guard_quiet();
}

static inline int is_fifo(int dir, const char *path)
{
	struct stat info;
	int before = errno;
	int is = path != NULL && kernel(SYS_newfstatat, dir, path, &info, 0) == 0 &&
	         S_ISFIFO(info.st_mode);
	errno = before;
	return is;
}

enum opening { FOR_READING, FOR_WRITING, MAKING };

static inline enum opening opens(int dir, const char *path, int flags)
{
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return FOR_WRITING;
	if (!WRITES(flags)) {
		reads(dir, path);
		if (!guard_quiet()) /* a folder: tar looks at its time before and behind its listing
		                     */
			guard_see_opening(dir, path, flags & O_DIRECTORY);
		return FOR_READING;
	}
	changes(dir, path);
	if (flags & O_CREAT)
		appears(dir, path);
	if (flags & (O_CREAT | O_TRUNC))
		pass_tick();
	return undo_is_on() && undo_open(dir, path, flags) ? MAKING : FOR_WRITING;
}

/* Whoever is told of changes is to see none that are of commands before. */
static inline void watches(int dir, const char *path)
{
	reads(dir, path);
	if (!guard_quiet())
		guard_see_listing(dir, path);
}

/* How a file is opened, for its note; a new file is only written to. */
static inline char letter_of(int flags)
{
	if (!WRITES(flags))
		return 'r';
	if (!notes_recipes() || flags & (O_TRUNC | O_EXCL))
		return 'w';
	return flags & O_APPEND ? 'a' : flags & O_RDWR ? 'R' : 'w';
}

/* A note that is made only where recipes are told apart. */
static inline void notes(char letter, int dir, const char *path)
{
	if (notes_recipes())
		guard_note(letter, dir, path);
}

/* A name that is about to come, or to mean something else than before. */
static inline void notes_new(int dir, const char *path)
{
	if (guard.makes_folders)
		guard_note_folder_of(dir, path);
	if (notes_recipes() && is_there(dir, path))
		guard_note_contents(dir, path);
	else
		notes('n', dir, path);
}

/* What will be opened by others, or in the place of something open: whatever comes of it. */
static inline void reopens(int dir, const char *path, int flags)
{
	ANY_PAGE(led);
	follow_process(&dir, &path, &led);
	opens(dir, path, flags);
	if (tells(flags) && is_fifo(dir, path))
		guard_see_everything("/");
	if (WRITES(flags))
		notes_new(dir, path);
	if (guard.trace != NULL)
		guard_note(letter_of(flags), dir, path);
}

static inline void cuts(int dir, const char *path)
{
	changes(dir, path);
	notes('R', dir, path);
	if (undo_is_on())
		undo_data(dir, path);
}

static inline void cuts_open(int fd)
{
	if (undo_is_on())
		undo_data_of(fd);
}

static inline void journals(int dir, const char *path, int follow)
{
	if (undo_is_on())
		undo_meta(dir, path, follow);
}

static inline void touches(int dir, const char *path, int follow)
{
	changes_folder(dir, path, 0);
	notes('r', dir, path); /* it is to be there */
	journals(dir, path, follow);
}

/* One of its extended attributes: an access control list is one. */
static inline void marks(int dir, const char *path, const char *name, int follow)
{
	changes_folder(dir, path, 0);
	if (undo_is_on())
		undo_attribute(dir, path, name, follow);
}

static inline void marks_open(int fd, const char *name)
{
	if (!guard_quiet())
		guard_see_change_of(fd);
	if (undo_is_on())
		undo_attribute_of(fd, name);
}

/* Flags are the only thing that ioctl(2) changes and nobody else. */
static inline void controls(int fd, unsigned long request)
{
	if ((request == FS_IOC_SETFLAGS || request == FS_IOC_FSSETXATTR) && undo_is_on())
		undo_flags_of(fd);
}

/* Its time, too, to what the caller says, or to now. */
static inline void dates(int dir, const char *path, int follow)
{
	changes(dir, path);
	pass_tick();
	journals(dir, path, follow);
}

static inline void touches_open(int fd)
{
	if (!guard_quiet())
		guard_see_change_of(fd);
	if (undo_is_on())
		undo_meta_of(fd);
}

static inline void comes(int dir, const char *path)
{
	if (undo_is_on())
		undo_new(dir, path);
}

static inline void makes(int dir, const char *path)
{
	changes(dir, path);
	appears(dir, path);
	pass_tick();
	comes(dir, path);
}

static inline void makes_folder(int dir, const char *path)
{
	changes_folder(dir, path, 1);
	appears(dir, path);
	pass_tick();
	if (notes_recipes())
		notes(is_there(dir, path) ? 'K' : 'k', dir, path);
	comes(dir, path);
}

/* 1 where it is gone by then. */
static inline int goes(int dir, const char *path, unsigned kinds)
{
	removes(dir, path);
	if (notes_recipes() && is_there(dir, path)) {
		guard_note_contents(dir, path);
		guard_note('d', dir, path);
	} else {
		notes('x', dir, path);
	}
	return undo_is_on() && undo_remove(dir, path, kinds);
}

/* The file that libc has for a shared object or a semaphore; NULL where the name is none. */
static inline const char *shared_path(const char *name, const char *prefix, char *page)
{
	if (page == NULL || name == NULL)
		return NULL;
	name += strspn(name, "/");
	if (*name == '\0' || strlen(name) > NAME_MAX || strchr(name, '/') != NULL)
		return NULL;
	strcpy(stpcpy(stpcpy(page, "/dev/shm/"), prefix), name);
	return page;
}

static inline void shares(const char *name, const char *prefix, int flags)
{
	ANY_PAGE(page);
	if (!undo_is_on())
		return;
	page = pages_take(PATH_MAX);
	undo_open(AT_FDCWD, shared_path(name, prefix, page), flags);
}

static inline void unshares(const char *name, const char *prefix)
{
	ANY_PAGE(page);
	if (!undo_is_on())
		return;
	page = pages_take(PATH_MAX);
	undo_remove(AT_FDCWD, shared_path(name, prefix, page), UNDO_FILES | UNDO_KEPT_THERE);
}

/* Whether a rename cannot be, since something is in the way that is nobody's to remove.  mv(1)
 * tries that first. */
static inline int fails(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	return flags & RENAME_NOREPLACE && is_there(to_dir, to) && is_there(from_dir, from);
}

static inline void renames(int from_dir, const char *from, int to_dir, const char *to,
                           unsigned flags)
{
	int in_vain = !guard_quiet() && fails(from_dir, from, to_dir, to, flags);
	if (!in_vain || guard_knows(to))
		moves(from_dir, from, to_dir, to);
	guard_moves_about();
	if (lists_by_age() && !in_vain)
		guard_see_new_name(to_dir, to);
	if (notes_recipes() && is_there(from_dir, from)) {
		notes('r', from_dir, from);
		notes('d', from_dir, from);
	}
	notes_new(to_dir, to);
	if (guard.trace != NULL)
		guard_note('w', to_dir, to);
	if (undo_is_on())
		undo_move(from_dir, from, to_dir, to, flags);
}

static inline void links(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	ANY_PAGE(led);
	int dir = from_dir;
	const char *file = from;
	if (flags & AT_SYMLINK_FOLLOW)
		follow_process(&dir, &file, &led);
	if (!guard_quiet())
		guard_see_move(dir, file, to_dir, to, ASK_LINK);
	appears(to_dir, to);
	notes('r', dir, file);
	notes_new(to_dir, to);
	if (guard.trace != NULL)
		guard_note('w', to_dir, to);
	if (undo_is_on())
		undo_link(from_dir, from, to_dir, to, flags);
}

static inline void aliases(const char *target, int dir, const char *path)
{
	if (!guard_quiet())
		guard_see_alias(target, dir, path);
	appears(dir, path);
	pass_tick();
	if (notes_recipes() && !is_there(dir, path))
		notes('s', dir, path);
	if (undo_is_on())
		undo_new(dir, path);
}

/* A socket's name. */
static inline void binds(const void *address, unsigned size)
{
	const struct {
		unsigned short family;
		char path[108];
	} *name = address;
	if (address != NULL && size > sizeof name->family && name->family == 1 && *name->path)
		makes(AT_FDCWD, name->path);
}

/* Whether a timer is set to go off, and by the clock, not by the time that this process runs.  Both
 * kinds have the time between two first, then that until the first, of two words each. */
static inline int is_set(int which, const void *timer)
{
	const long *words = timer;
	return which == 0 && words != NULL && (words[2] | words[3]) != 0;
}

/* A limit of time. */
static inline void arms(int is_set)
{
	if (is_set && !guard_quiet())
		guard_see_everything("/");
}

static inline void meets(int fd, const void *address, unsigned size)
{
	if (!guard_quiet())
		guard_meets(fd, address, size, 0);
}

static inline void sends(int fd, const void *address, unsigned size)
{
	if (address != NULL && !guard_quiet())
		guard_meets(fd, address, size, 1);
}

static inline void sends_messages(int fd, const void *messages, unsigned count)
{
	if (!guard_quiet())
		guard_sends_messages(fd, messages, count);
}

static inline void sends_message(int fd, const void *message)
{
	if (!guard_quiet())
		guard_sends_message(fd, message);
}

static inline void signals(int pid, int signal)
{
	if (!guard_quiet())
		guard_signals(pid, signal);
}

static inline void signals_by(int pidfd, int signal)
{
	if (!guard_quiet())
		guard_signals_by(pidfd, signal);
}

static inline void writes_queue(int fd)
{
	if (!guard_quiet())
		guard_writes_queue(fd);
}

static inline void sends_to_queue(int id)
{
	if (!guard_quiet())
		guard_sends(id);
}

static inline void locks(const void *steps, size_t count)
{
	if (steps != NULL)
		guard_locks(steps, count);
}

/* From here on this process, or the program `what`, cannot ask, or means other files by its paths.
 */
static inline void leaves(const char *what)
{
	guard_moves_about();
	if (undo_is_on())
		undo_commit(what);
	else if (!guard_quiet())
		guard_see_everything(what);
}

#endif
