/* What is to be asked about, and the questions. */
#include "questions.h"
#include "base/kernel.h"
#include "concern.h"
#include "guard/asking.h"
#include "guard/folder.h"
#include "guard/pages.h"
#include "lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ns; more than a turn of the clock that tells us the time: files may have finer ones. */
#define MOMENT 20000000

/* ------------------------------------------------------------------ the questions */

void guard_see(int dir, const char *path)
{
	int before = errno;
	ANY_PAGE(led);
	follow_process(&dir, &path, &led);
	if (path != NULL && *path != '\0' && guard_concerns(dir, path)) {
		struct wire_guard_answer answer;
		ask_about(ASK_READ, dir, path, &answer);
	}
	errno = before;
}

/* The newest issue of a command that may read what it has not named, and is not to see what we do:
 * those that were issued after a job are. */
static int64_t newest_undeclared(void)
{
	int64_t newest = __atomic_load_n(&guard.board->undeclared_ns, __ATOMIC_RELAXED);
	return guard.trace != NULL && newest > guard.trace->older_ns ? guard.trace->older_ns
	                                                             : newest;
}

/* Whether a file that is made now may bear the time at which a command was issued: then that cannot
 * tell that it is to see none. */
static int is_of_the_same_moment(int64_t issued)
{
	struct timespec now;
	return kernel(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &now) != 0 ||
	       NS_OF(now) - issued < MOMENT;
}

/* Whether pending commands may still read a file though nothing here says so: it was there when the
 * newest of them was issued, and has not changed since, or it has another name; or it is new, and
 * may be found by who does not look at its age.  Jobs say at their issue what they make.  What is
 * written to is what a link leads to; what is not there cannot be removed. */
static int may_be_read(int dir, const char *path, uint32_t kind)
{
	int through = kind == ASK_WRITE;
	int64_t newest = newest_undeclared();
	struct stat info;
	for (int flags = AT_SYMLINK_NOFOLLOW;; flags = 0) {
		if (kernel(SYS_newfstatat, dir, path, &info, flags) != 0)
			return kind != ASK_REMOVE && newest != 0 &&
			       ((guard.trace == NULL && guard.board->blind > 0) ||
			        is_of_the_same_moment(newest));
		if (S_ISREG(info.st_mode) && info.st_nlink > 1)
			return 1;
		int link = S_ISLNK(info.st_mode);
		if (NS_OF(info.st_ctim) <= newest && (S_ISREG(info.st_mode) || link))
			return 1;
		if (!through || !link)
			return 0;
	}
}

/* Whether a file, or what else is of that type, shows by its age, whatever its name, that pending
 * commands are not to see it. */
static int is_born_since(int dir, const char *path, unsigned type, int64_t issued)
{
	struct statx info;
	return kernel(SYS_statx, dir, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_BTIME, &info) ==
	           0 &&
	       (info.stx_mode & S_IFMT) == type && info.stx_mask & STATX_BTIME &&
	       NS_OF(info.stx_btime) > issued;
}

/* Whether pending commands have said that they read or write what a change is about.  What we make
 * anew concerns nobody, but for those who look for what they have not named and are told of no age.
 * What was there before us may be an earlier command's work, which others are still to find. */
static int is_claimed(int dir, const char *path, unsigned roles)
{
	struct stat info;
	if (!is_own_output(dir, path))
		return (roles_of_name(path) & roles) != 0 || is_output(dir, path);
	return guard.trace->asks_own ||
	       (kernel(SYS_newfstatat, dir, path, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
	        !is_born_since(dir, path, S_IFREG, guard.trace->began_ns));
}

static void see_change(uint32_t kind, int dir, const char *path, unsigned roles)
{
	int before = errno, is_link;
	ANY_PAGE(led);
	follow_process(&dir, &path, &led);
	if (path != NULL && *path != '\0' &&
	    (roles == ~0u || is_claimed(dir, path, roles) || may_be_read(dir, path, kind) ||
	     is_stale(dir, path, &is_link))) {
		struct wire_guard_answer answer;
		ask_about(kind, dir, path, &answer);
	}
	errno = before;
}

void guard_see_change(int dir, const char *path)
{
	see_change(ASK_WRITE, dir, path, ROLE_INPUT);
}

void guard_see_folder_change(int dir, const char *path, int makes)
{
	int before = errno;
	struct stat info;
	struct wire_guard_answer answer;
	int there = path != NULL && kernel(SYS_newfstatat, dir, path, &info, 0) == 0;
	if (path != NULL && newest_undeclared() != 0 &&
	    (makes ? !there : there && S_ISDIR(info.st_mode)))
		ask_about(ASK_FOLDER, dir, path, &answer);
	else
		see_change(ASK_WRITE, dir, path, ROLE_INPUT);
	errno = before;
}

void guard_see_change_of(int fd)
{
	ON_PAGE(name);
	int before = errno;
	if (name == NULL)
		guard_see_everything("/");
	else if (name_of(fd, name, PATH_MAX) > 0)
		guard_see_folder_change(AT_FDCWD, name, 0);
	errno = before;
}

void guard_see_removal(int dir, const char *path)
{
	const unsigned roles = ROLE_INPUT | ROLE_ABOVE;
	int before = errno;
	struct stat info;
	int64_t newest = newest_undeclared();
	/* A compiler drops search folders that are not there, and has none that is younger.  In one
	 * that a job removes later commands may have outputs. */
	int searched = path != NULL && newest != 0 &&
	               kernel(SYS_newfstatat, dir, path, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
	               S_ISDIR(info.st_mode) &&
	               (guard.trace != NULL || !is_born_since(dir, path, S_IFDIR, newest));
	errno = before;
	see_change(ASK_REMOVE, dir, path, searched ? ~0u : roles);
}

static SLOW void ask_about_two(uint32_t kind, int from_dir, const char *from, int to_dir,
                               const char *to)
{
	ON_PAGE(full);
	ON_PAGE(other);
	struct wire_guard_answer answer;
	if (full == NULL || other == NULL)
		ask(ASK_ALL, "/", "", NULL, &answer);
	else if (absolute(from_dir, from, full, PATH_MAX) == 0 &&
	         absolute(to_dir, to, other, PATH_MAX) == 0)
		ask(kind, full, other, NULL, &answer);
}

/* Whether a job gives what it has just made the name of an output that is not there: as if it had
 * made that (see_change). */
static int makes_output(int from_dir, const char *from, int to_dir, const char *to)
{
	return guard.trace != NULL && !guard.trace->asks_own && is_own_output(to_dir, to) &&
	       is_nothing(to_dir, to) && roles_of_name(from) == 0 &&
	       is_born_since(from_dir, from, S_IFREG, guard.trace->began_ns) &&
	       !may_be_read(to_dir, to, ASK_WRITE);
}

void guard_see_move(int from_dir, const char *from, int to_dir, const char *to, int kind)
{
	const unsigned roles = ROLE_INPUT | ROLE_ABOVE;
	int before = errno;
	int64_t newest = newest_undeclared();
	if (from != NULL && to != NULL &&
	    !(kind == ASK_MOVE && makes_output(from_dir, from, to_dir, to)) &&
	    ((roles_of_name(from) | roles_of_name(to)) & roles || is_output(from_dir, from) ||
	     is_output(to_dir, to) || may_be_read(from_dir, from, ASK_MOVE) ||
	     may_be_read(to_dir, to, ASK_MOVE) ||
	     (newest != 0 && !is_born_since(from_dir, from, S_IFREG, newest))))
		ask_about_two((uint32_t)kind, from_dir, from, to_dir, to);
	errno = before;
}

/* A symbolic link: what it leads to has an age of its own, and may be a folder; where that is
 * pending, the board is to know the link's name, too. */
void guard_see_alias(const char *target, int dir, const char *path)
{
	int before = errno;
	ON_PAGE(link);
	ON_PAGE(full);
	struct wire_guard_answer answer;
	if (link == NULL || full == NULL) {
		ask(ASK_ALL, "/", "", NULL, &answer);
	} else if (target != NULL && path != NULL && absolute(dir, path, link, PATH_MAX) == 0 &&
	           target_of(link, target, full)) {
		if (newest_undeclared() != 0)
			ask(ASK_WRITE, link, full, NULL, &answer);
		else
			see_change(ASK_WRITE, dir, path, ROLE_INPUT);
		if (roles_of_name(target) & ROLE_OUTPUT)
			ask(ASK_ALIAS, full, link, NULL, &answer);
	}
	errno = before;
}

static int is_listed(const struct stat *info)
{
	return guard.board->unknown > 0 || slot_of_file(info) & ROLE_LISTED;
}

/* Whether a path may lead to a folder that something pending lies in or below. */
static int may_be_above(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	int dots = *name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
	return dots || (roles_of_name(path) & ROLE_ABOVE) != 0;
}

int guard_folder(int dir, const char *path, struct wire_guard_answer *answer)
{
	int before = errno, shown = 0;
	struct stat info;
	if (guard.trace == NULL && path != NULL && may_be_above(path) &&
	    kernel(SYS_newfstatat, dir, path, &info, 0) == 0 && S_ISDIR(info.st_mode) &&
	    is_listed(&info)) {
		if (!folder_time(&info, answer))
			ask_about(ASK_STAT, dir, path, answer);
		shown = answer->state == GUARD_FOLDER;
	}
	errno = before;
	return shown;
}

void guard_see_opening(int dir, const char *path, int folder)
{
	if (path != NULL && !guard.is_make && (folder || may_be_above(path)))
		guard_see_listing(dir, path);
}

void guard_see_folder(int fd)
{
	int before = errno;
	struct stat info;
	struct wire_guard_answer answer;
	if (kernel(SYS_fstat, fd, &info) == 0 && is_listed(&info))
		ask_about(ASK_LIST, fd, ".", &answer);
	errno = before;
}

void guard_see_listing(int dir, const char *path)
{
	int before = errno;
	struct stat info;
	struct wire_guard_answer answer;
	if (path != NULL && kernel(SYS_newfstatat, dir, path, &info, 0) == 0 && is_listed(&info))
		ask_about(ASK_LIST, dir, path, &answer);
	errno = before;
}

void guard_see_new_name(int dir, const char *path)
{
	ON_PAGE(room);
	const char *folder = path != NULL && !is_session(path) ? folder_of(path, room) : NULL;
	if (folder != NULL)
		guard_see_listing(*path == '/' ? AT_FDCWD : dir, folder);
}

void guard_see_tree(const char *path)
{
	int before = errno;
	struct wire_guard_answer answer;
	if (path != NULL)
		ask_about(ASK_TREE, AT_FDCWD, *path != '\0' ? path : ".", &answer);
	errno = before;
}

void guard_see_everything(const char *program)
{
	int before = errno;
	struct wire_guard_answer answer;
	ask_about(ASK_ALL, AT_FDCWD, program, &answer);
	errno = before;
}

/* What lies in the system's folders needs only what lies there, if nobody says otherwise. */
static int is_systems(const char *path)
{
	static const char *const folders[] = {"/usr/", "/bin/", "/sbin/", "/lib"};
	for (unsigned n = 0; n < sizeof folders / sizeof *folders; n++)
		if (strncmp(path, folders[n], strlen(folders[n])) == 0)
			return strncmp(path, "/usr/local/", 11) != 0;
	return 0;
}

static SLOW void ask_libraries(const char *path, const char *const texts[3])
{
	const size_t size = 3 * PATH_MAX; /* of what is told */
	ON_PAGE(full);
	char *told = pages_take(size);
	struct wire_guard_answer answer;
	if (full == NULL || told == NULL)
		ask(ASK_ALL, "/", "", NULL, &answer);
	else if (absolute(AT_FDCWD, path, full, PATH_MAX) == 0 &&
	         absolute(AT_FDCWD, ".", told, PATH_MAX) == 0) {
		char *at = told + strlen(told);
		for (int i = 0; i < 3; i++) {
			at = stpcpy(at, i < 2 ? "\n" : ":");
			if (texts[i] != NULL && strlen(texts[i]) + 2 < (size_t)(told + size - at))
				at = stpcpy(at, texts[i]);
		}
		do
			ask(ASK_LIBRARIES, full, told, NULL, &answer);
		while (answer.state == GUARD_AGAIN);
	}
	if (told != NULL)
		pages_give(told, size);
}

void guard_see_libraries(const char *path, const char *search, const char *const more[2])
{
	int before = errno;
	const char *const texts[] = {search, more[0], more[1]};
	int told = 0;
	for (int i = 0; i < 3; i++)
		told |= texts[i] != NULL && *texts[i] != '\0';
	if (told || !is_systems(path))
		ask_libraries(path, texts);
	errno = before;
}

int guard_pretends(int dir, const char *path, struct wire_guard_answer *answer)
{
	int before = errno, answered = 0, is_link;
	enum output known = OUTPUT_NONE;
	if (path != NULL && *path != '\0' &&
	    ((known = output_at(dir, path, answer)) != OUTPUT_NONE ||
	     is_stale(dir, path, &is_link))) {
		if (known != OUTPUT_TOLD)
			ask_about(ASK_STAT, dir, path, answer);
		answered = answer->state == GUARD_FILE || answer->state == GUARD_ABSENT;
	}
	errno = before;
	return answered;
}

int guard_names(int fd, char **elsewhere)
{
	int before = errno;
	struct stat info;
	struct wire_guard_answer answer = {0};
	ON_PAGE(full);
	if (kernel(SYS_fstat, fd, &info) == 0 && (guard.trace != NULL || is_listed(&info)) &&
	    full != NULL && absolute(fd, ".", full, PATH_MAX) == 0)
		ask(ASK_NAMES, full, "", elsewhere, &answer);
	errno = before;
	return answer.state == GUARD_ELSEWHERE;
}
