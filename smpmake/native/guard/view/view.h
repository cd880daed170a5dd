/* What a job is to find at a path. */
#ifndef SMPMAKE_VIEW_H
#define SMPMAKE_VIEW_H

#include "guard/guard.h"

enum view {
	AS_IT_IS,
	NOT_THERE,
	ELSEWHERE /* `elsewhere`, which is given a page, says where */
};

/* Before a job looks at a path: waits for who has still to write it. */
enum view view_of(int dir, const char *path, char **elsewhere);
/* The same before it is opened: its age is looked at then. */
enum view view_of_named(int dir, const char *path, char **elsewhere);
/* Of what it has just opened: it may have changed, or come into being, since its issue. */
enum view view_of_opened(int fd, int dir, const char *path, char **elsewhere);

/* Whether there is something at a path; it may be another one, that is kept for us, `elsewhere`. */
int finds(int dir, const char *path, char **elsewhere, struct wire_guard_answer *answer);

/* Most of what a job looks for is nobody's, and not there: then it is to cost little.  `turn_of`
 * says, before the file is opened or looked at, whether nothing on the board that is written is
 * called so, and when that was; `is_plain` afterwards, whether what was found (open as `fd`, or at
 * the path; or `found` is 0, by errno) is what there is to find.  If not, the other calls find out.
 */
struct turn {
	uint32_t number;
	int nameless;
};
struct turn turn_of(const char *path);
int is_plain(struct turn turn, int found, int fd, int dir, const char *path);

/* One system call where most of them are enough.  Whether there is nothing, not even a link that
 * leads nowhere; and a look as fstatat(2), but 1 where it is not plain, or `to` is NULL. */
int is_absent(struct turn turn, int dir, const char *path);
int look_plainly(struct turn turn, int dir, const char *path, int flags, void *to);

/* Whether what is open is what a path leads to now.  If so it stays open: whoever closes a file
 * gives up all the locks that he has on it, and the writer of a pipe would see it end. */
int is_same(int fd, int dir, const char *path);

#endif
