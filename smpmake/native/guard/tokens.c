/* Rust's tools start as many processes and threads as their job server has tokens for: without one
 * of ours as many as there are CPUs, beside all that we run. */
#include "tokens.h"
#include "asking.h"
#include "kernel.h"
#include "tools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define HIGH 500 /* descriptors that scripts do not use */
#define VARIABLE "CARGO_MAKEFLAGS=-j --jobserver-fds=%d,%d --jobserver-auth=%d,%d"

/* Who has said how many does not want another number, and cargo would complain. */
static int has_number(char **argv)
{
	for (; *argv != NULL && strcmp(*argv, "--") != 0; argv++)
		if (strncmp(*argv, "-j", 2) == 0 || strncmp(*argv, "--jobs", 6) == 0)
			return 1;
	return 0;
}

static int has_job_server(void)
{
	static const char *const names[] = {"CARGO_MAKEFLAGS", "MAKEFLAGS", "MFLAGS"};
	for (unsigned n = 0; n < sizeof names / sizeof *names; n++) {
		const char *flags = getenv(names[n]);
		if (flags != NULL && strstr(flags, "--jobserver-") != NULL)
			return 1;
	}
	return 0;
}

/* For reading and writing: who survives the server finds neither an end nor a broken pipe. */
static int open_high(const char *fifo)
{
	int fd = (int)kernel(SYS_openat, AT_FDCWD, fifo, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -1;
	int high = (int)kernel(SYS_fcntl, fd, F_DUPFD, HIGH);
	kernel(SYS_close, fd);
	return high;
}

/* Becomes the same program once more, with one variable more: libc forgets what a constructor adds
 * to the environment. */
static void start_again(char **argv, char **env, char *variable)
{
	size_t count = 0;
	while (env[count] != NULL)
		count++;
	char *more[count + 2];
	memcpy(more, env, count * sizeof *env);
	more[count] = variable;
	more[count + 1] = NULL;
	kernel(SYS_execve, (const char *)getauxval(AT_EXECFN), argv, more);
}

void guard_borrow(char **argv, char **env)
{
	static const char *const borrowers[] = {"cargo", "rustc", NULL};
	int before = errno, ends[2] = {-1, -1};
	char fifo[PATH_MAX + sizeof LENT_BACK], variable[128];
	struct wire_guard_answer answer = {0};
	if (!is_among(guard.name, borrowers) || has_job_server() || has_number(argv) ||
	    getauxval(AT_BASE) == 0) /* somebody has called the loader, who would be called */
		return;
	if (ask(ASK_TOKENS, "/", guard.name, fifo, &answer) == 0 &&
	    answer.state == GUARD_ELSEWHERE) {
		ends[0] = open_high(fifo);
		strcat(fifo, LENT_BACK);
		ends[1] = open_high(fifo);
	}
	if (ends[0] >= 0 && ends[1] >= 0) {
		snprintf(variable, sizeof variable, VARIABLE, ends[0], ends[1], ends[0], ends[1]);
		start_again(argv, env, variable);
	}
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			kernel(SYS_close, ends[i]);
	errno = before;
}
