/* What a job is to find: files as they were when its command was issued, or as commands before it
 * have made them since.  The server keeps what others have changed (smpmake/guard/versions.py).
 */
#include "view.h"
#include "base/kernel.h"
#include "concern.h"
#include "guard/asking.h"
#include "guard/looks.h"
#include "guard/pages.h"
#include "lookup.h"

#include <errno.h>
#include <linux/fcntl.h>
#include <linux/stat.h>
#include <string.h>

#define AGE (STATX_CTIME | STATX_BTIME | STATX_TYPE)
#define MADE_SINCE "made since" /* to be answered by ABSENT, unless a command before us made it */

/* Whether it is we who made a file: our compiler's text for our assembler, what lies in a folder
 * that we have moved. */
static int is_own(int dir, const char *path)
{
	ON_PAGE(full);
	uint32_t used = __atomic_load_n(&guard.trace->used, __ATOMIC_RELAXED);
	const char *note = guard.trace->text, *end;
	if (full == NULL || absolute(dir, path, full, PATH_MAX) != 0)
		return 0;
	end = note + (used < sizeof guard.trace->text ? used : sizeof guard.trace->text);
	while (note < end) {
		size_t size = strnlen(note, (size_t)(end - note));
		if (*note == 'w' && size > 1 && strncmp(full, note + 1, size - 1) == 0 &&
		    (full[size - 1] == '\0' || full[size - 1] == '/'))
			return 1;
		note += size + 1;
	}
	return 0;
}

static enum view seen(int dir, const char *path, const char *how, char **elsewhere)
{
	ON_PAGE(full);
	struct wire_guard_answer answer;
	if (full == NULL)
		ask(ASK_ALL, "/", "", NULL, &answer);
	else if (absolute(dir, path, full, PATH_MAX) != 0)
		return AS_IT_IS;
	else
		ask(ASK_READ, full, how, elsewhere, &answer);
	enum view view = answer.state == GUARD_ABSENT      ? NOT_THERE
	                 : answer.state == GUARD_ELSEWHERE ? ELSEWHERE
	                                                   : AS_IT_IS;
	if (view != AS_IT_IS && guard.trace != NULL)
		__atomic_store_n(&guard.trace->shown, 1, __ATOMIC_RELEASE);
	return view;
}

/* What `path` is to us, by the age of what is there, or is open as `fd`. */
static SLOW enum view look(int fd, int dir, const char *path, char **elsewhere)
{
	struct statx info;
	int64_t issued = guard.trace->issued_ns;
	long failed = fd >= 0 ? kernel_unseen(SYS_statx, fd, "", AT_EMPTY_PATH, AGE, &info)
	                      : kernel(SYS_statx, dir, path, 0, AGE, &info);
	if (failed != 0 || S_ISDIR(info.stx_mode) || NS_OF(info.stx_ctime) < issued ||
	    is_own_input(dir, path) || is_own(dir, path))
		return AS_IT_IS;
	int made = info.stx_mask & STATX_BTIME && NS_OF(info.stx_btime) > issued;
	return seen(dir, path, made ? MADE_SINCE : "", elsewhere);
}

static uint32_t turns(void)
{
	return __atomic_load_n(&guard.board->turns, __ATOMIC_ACQUIRE);
}

struct turn turn_of(const char *path)
{
	struct turn turn = {.number = turns()};
	/* Who only reads a file called so keeps nobody from looking at it. */
	turn.nameless = path != NULL && *path != '\0' && !is_session(path) &&
	                (roles_of_name(path) & ~(ROLE_INPUT | ROLE_OTHERS)) == 0;
	return turn;
}

/* Whether a file is neither younger than our issue nor to be replaced, by what its inode says. */
static int is_settled(const struct stat *info)
{
	return S_ISDIR(info->st_mode) ||
	       (!(guard.trace->watched && NS_OF(info->st_ctim) >= guard.trace->issued_ns) &&
	        !is_to_be_replaced(info));
}

int is_plain(struct turn turn, int found, int fd, int dir, const char *path)
{
	int before = errno;
	struct stat info;
	if (!found && before != ENOENT && before != EACCES)
		return 1; /* it would not help to wait, and a signal comes once */
	int looks_for_links = !found || guard.board->versions > 0;
	int plain = found ? (fd >= 0 ? kernel(SYS_fstat, fd, &info)
	                             : noted_stat(dir, path, &info, 0)) == 0 &&
	                        is_settled(&info)
	                  : before == ENOENT;
	plain = plain && !(looks_for_links && is_link(dir, path)) && turns() == turn.number;
	errno = before;
	return plain;
}

int is_absent(struct turn turn, int dir, const char *path)
{
	int before = errno;
	int absent =
	    is_nothing(dir, path) && turns() == turn.number && noted_absence(OPENS, 0, dir, path);
	errno = before;
	return absent;
}

int look_plainly(struct turn turn, int dir, const char *path, int flags, void *to)
{
	int before = errno;
	const struct stat *info = to;
	if (to == NULL)
		return 1;
	/* Into the caller's own: it may be no memory. */
	int found = noted_stat_as(flags, dir, path, to, flags | AT_SYMLINK_NOFOLLOW) == 0;
	int plain = found ? !S_ISLNK(info->st_mode) && is_settled(info) : errno == ENOENT;
	if (plain && turns() == turn.number) {
		errno = found ? before : ENOENT;
		return found ? 0 : -1;
	}
	errno = before;
	return 1;
}

int is_same(int fd, int dir, const char *path)
{
	struct stat open, now;
	return kernel(SYS_fstat, fd, &open) == 0 && noted_stat(dir, path, &now, 0) == 0 &&
	       open.st_ino == now.st_ino && open.st_dev == now.st_dev;
}

enum view view_of_named(int dir, const char *path, char **elsewhere)
{
	int before = errno;
	enum view view = AS_IT_IS;
	if (path != NULL && *path != '\0' && !is_session(path) && guard_concerns(dir, path))
		view = seen(dir, path, "", elsewhere);
	errno = before;
	return view;
}

enum view view_of(int dir, const char *path, char **elsewhere)
{
	int before = errno;
	enum view view = view_of_named(dir, path, elsewhere);
	if (view == AS_IT_IS && path != NULL && *path != '\0' && guard.trace != NULL &&
	    guard.trace->watched && !is_session(path))
		view = look(-1, dir, path, elsewhere);
	errno = before;
	return view;
}

int finds(int dir, const char *path, char **elsewhere, struct wire_guard_answer *answer)
{
	answer->state = GUARD_ABSENT;
	return view_of(dir, path, elsewhere) != NOT_THERE;
}

enum view view_of_opened(int fd, int dir, const char *path, char **elsewhere)
{
	int before = errno;
	enum view view = AS_IT_IS;
	if (guard.trace != NULL && guard.trace->watched && fd >= 0 && !is_session(path))
		view = look(fd, dir, path, elsewhere);
	errno = before;
	return view;
}
