/* Rust's tools start as many processes and threads as their job server has tokens for: without one
 * of ours as many as there are CPUs, beside all that we run. */
#include "tokens.h"
#include "base/kernel.h"
#include "guard/asking.h"
#include "guard/pages.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#define HIGH 500 /* descriptors that scripts do not use, where there may be so many */
#define NAME "CARGO_MAKEFLAGS"
#define VARIABLE NAME "=-j --jobserver-fds=%d,%d --jobserver-auth=%d,%d"

/* Whether a word has cargo's -j: by itself, its number behind it, or behind other letters, of which
 * some take the rest of the word. */
static int is_number(const char *word)
{
	static const char *const takers = "pFZCef";
	if (word[0] != '-')
		return 0;
	if (word[1] == '-')
		return strncmp(word, "--jobs", 6) == 0;
	for (word++; *word != '\0' && strchr(takers, *word) == NULL; word++)
		if (*word == 'j')
			return 1;
	return 0;
}

/* Who has said to cargo how many does not want another number, and it would complain. */
static int has_number(char **argv, char **env)
{
	if (strcmp(guard.name, "cargo") != 0)
		return 0;
	const char *jobs = variable_of(env, "CARGO_BUILD_JOBS");
	if (jobs != NULL && strchr(jobs, '=')[1] != '\0')
		return 1;
	for (; *argv != NULL && strcmp(*argv, "--") != 0; argv++)
		if (is_number(*argv))
			return 1;
	return 0;
}

static int is_fifo(const char *digits)
{
	struct stat info;
	char *end;
	long fd = strtol(digits, &end, 10);
	return end != digits && kernel(SYS_fstat, fd, &info) == 0 && S_ISFIFO(info.st_mode);
}

/* Whether descriptors or a FIFO that are named are there: make names its own also to those to whom
 * it does not pass them. */
static int is_there(const char *named)
{
	char path[PATH_MAX];
	struct stat info;
	if (strncmp(named, "fifo:", 5) == 0) {
		size_t size = strcspn(named + 5, " ");
		if (size >= sizeof path)
			return 0;
		memcpy(path, named + 5, size);
		path[size] = '\0';
		return kernel(SYS_newfstatat, AT_FDCWD, path, &info, 0) == 0 &&
		       S_ISFIFO(info.st_mode);
	}
	const char *comma = strchr(named, ',');
	return comma != NULL && is_fifo(named) && is_fifo(comma + 1);
}

/* Rust's tools look into the first of these that is set, and take what is named last. */
static int has_job_server(char **env)
{
	static const char *const names[] = {NAME, "MAKEFLAGS", "MFLAGS"};
	const char *flags = NULL, *named = NULL;
	for (unsigned n = 0; flags == NULL && n < sizeof names / sizeof *names; n++)
		flags = variable_of(env, names[n]);
	while (flags != NULL && (flags = strstr(flags, "--jobserver-")) != NULL) {
		flags += strcspn(flags, "= ");
		if (*flags == '=')
			named = flags + 1;
	}
	return named != NULL && is_there(named);
}

/* For reading and writing: a process that survives the server finds neither an end nor a broken
 * pipe. Without waiting: there may be a link below that takes tokens until there are none
 * (worker.c). */
static int open_high(const char *fifo)
{
	const int flags = O_RDWR | O_NONBLOCK | O_CLOEXEC;
	int high = -1, fd = (int)kernel(SYS_openat, AT_FDCWD, fifo, flags);
	if (fd < 0)
		return -1;
	for (int from = HIGH; high < 0 && from > 2; from /= 2)
		high = (int)kernel(SYS_fcntl, fd, F_DUPFD, from);
	kernel(SYS_close, fd);
	return high;
}

static int is_this_program(const char *path)
{
	struct stat ours, its;
	return path != NULL && kernel(SYS_newfstatat, AT_FDCWD, "/proc/self/exe", &ours, 0) == 0 &&
	       kernel(SYS_newfstatat, AT_FDCWD, path, &its, 0) == 0 && ours.st_ino == its.st_ino &&
	       ours.st_dev == its.st_dev;
}

/* By which name this program is to be started again, or NULL: the one that was used, but where that
 * is a script's whose interpreter this is. */
static const char *own_path(char *room)
{
	const char *used = (const char *)getauxval(AT_EXECFN);
	if (is_this_program(used))
		return used;
	long size = kernel(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", room, PATH_MAX - 1);
	room[size > 0 ? size : 0] = '\0';
	return is_this_program(room) ? room : NULL;
}

/* Becomes the same program once more, with one variable more: libc forgets what a constructor adds
 * to the environment. */
static void start_again(const char *path, char **argv, char **env, char *variable)
{
	size_t count = 0;
	while (env[count] != NULL)
		count++;
	char *more[count + 2], **end = more;
	for (; *env != NULL; env++)
		if (strncmp(*env, NAME "=", sizeof NAME) != 0)
			*end++ = *env;
	*end++ = variable;
	*end = NULL;
	kernel(SYS_execve, path, argv, more);
}

void guard_borrow(char **argv, char **env)
{
	static const a_name borrowers[] = {"cargo", "rustc", ""};
	int before = errno, ends[2] = {-1, -1};
	char fifo[PATH_MAX + sizeof LENT_BACK], variable[128], room[PATH_MAX];
	struct wire_guard_answer answer = {0};
	ANY_PAGE(named);
	const char *path;
	if (!is_among(guard.name, borrowers) || has_job_server(env) || has_number(argv, env) ||
	    getauxval(AT_BASE) == 0 || /* somebody has called the loader, who would be called */
	    (path = own_path(room)) == NULL)
		return;
	if (ask(ASK_TOKENS, "/", guard.name, &named, &answer) == 0 &&
	    answer.state == GUARD_ELSEWHERE) {
		ends[0] = open_high(named);
		strcpy(stpcpy(fifo, named), LENT_BACK);
		ends[1] = open_high(fifo);
	}
	if (ends[0] >= 0 && ends[1] >= 0) {
		snprintf(variable, sizeof variable, VARIABLE, ends[0], ends[1], ends[0], ends[1]);
		start_again(path, argv, env, variable);
	}
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			kernel(SYS_close, ends[i]);
	errno = before;
}
