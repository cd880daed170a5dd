/* What a make says of its jobs (--debug=j) and of its rules (-p), for `smpmake check`, which asks
 * for both in MAKEFLAGS: it goes to a file of the session's, and all else to where it would go.
 *
 * make prints by stdio, into a stream that is a variable.
 */
#include "words.h"
#include "base/kernel.h"
#include "environment.h"
#include "guard/guard.h"
#include "guard/libc.h"
#include "tools.h"

#include <asm/termbits.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define HIGH 600 /* a descriptor that nobody else uses */

static struct {
	int aside;      /* the file's descriptor */
	int in_rules;   /* from their first line to their last */
	int is_behind;  /* and an empty line */
	int is_partial; /* the line before had no end, and went this way: */
	int was_aside;
} words;

static int starts(const char *line, size_t size, const char *with)
{
	size_t length = strlen(with);
	return size >= length && memcmp(line, with, length) == 0;
}

static int is_of_jobs(const char *line, size_t size)
{
	static const a_name beginnings[] = {"Putting child 0x",
	                                    "Live child 0x",
	                                    "Reaping winning child 0x",
	                                    "Reaping losing child 0x",
	                                    "Removing child 0x",
	                                    "Got a SIGCHLD; ",
	                                    "Obtained token for child 0x",
	                                    "Released token for child 0x",
	                                    "Need a job token; we ",
	                                    "Jobserver client (",
	                                    "Jobserver setup (",
	                                    ""};
	for (const a_name *with = beginnings; **with != '\0'; with++)
		if (starts(line, size, *with))
			return 1;
	return 0;
}

/* With -p make puts "# " before its words about folders. */
static int is_of_folders(const char *line, size_t size)
{
	return !words.in_rules && starts(line, size, "# ") &&
	       (memmem(line, size, ": Entering directory '", 22) != NULL ||
	        memmem(line, size, ": Leaving directory '", 21) != NULL);
}

static int goes_aside(const char *line, size_t size)
{
	if (words.is_partial)
		return words.was_aside;
	if (words.in_rules) {
		words.is_behind = starts(line, size, "# Finished Make data base on ");
		words.in_rules = !words.is_behind;
		return 1;
	}
	int is_behind = words.is_behind && size == 1;
	words.is_behind = 0;
	if (is_behind)
		return 1;
	words.in_rules =
	    starts(line, size, "# GNU Make ") || starts(line, size, "# Make data base, printed on");
	return words.in_rules || is_of_jobs(line, size);
}

static int put_all(int fd, const char *text, size_t size)
{
	while (size > 0) {
		long done = kernel(SYS_write, fd, text, size);
		if (done < 0 && errno != EINTR)
			return -1;
		text += done > 0 ? done : 0;
		size -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

/* 0 tells stdio that it could not be written: errno says why. */
static ssize_t put(void *unused, const char *text, size_t size)
{
	const char *end = text + size, *from = text;
	(void)unused;
	while (text < end) {
		const char *line = text, *stop = memchr(text, '\n', (size_t)(end - text));
		text = stop != NULL ? stop + 1 : end;
		int aside = goes_aside(line, (size_t)(text - line));
		words.is_partial = stop == NULL;
		words.was_aside = aside;
		if (!aside && is_of_folders(line, (size_t)(text - line))) {
			if (put_all(1, from, (size_t)(line - from)) != 0)
				return 0;
			from = line + 2;
		}
		if (!aside)
			continue;
		if (put_all(1, from, (size_t)(line - from)) != 0)
			return 0;
		put_all(words.aside, line, (size_t)(text - line));
		from = text;
	}
	return put_all(1, from, (size_t)(end - from)) == 0 ? (ssize_t)size : 0;
}

static void put_list(char *const *list)
{
	for (; *list != NULL; list++)
		put_all(words.aside, *list, strlen(*list) + 1);
	put_all(words.aside, "", 1);
}

static int open_aside(unsigned pid)
{
	char path[VARIABLE_SIZE + 32], *at = path;
	at = mempcpy(at, guard.values[V_SOCKET], guard.own_size);
	put_number(at, "make-", pid);
	int fd = (int)kernel(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
	                     0600);
	if (fd < 0)
		return -1;
	int high = (int)kernel(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH);
	if (high >= 0)
		kernel(SYS_close, fd);
	return high >= 0 ? high : fd;
}

/* Whether this make can be asked, and prints its rules as comments of something else. */
static int tells(char *const *argv)
{
	static const a_name names[] = {GNU_MAKES, ""};
	if (!is_among(guard.name, names))
		return 0;
	for (; *argv != NULL; argv++)
		if (strcmp(*argv, "-v") == 0 || strcmp(*argv, "--version") == 0)
			return 0;
	return 1;
}

/* Takes back what a make was asked for. */
static void unask(char **env)
{
	char *flags = variable_of(env, "MAKEFLAGS");
	char *said = flags != NULL ? strstr(flags, CHECK_FLAGS) : NULL;
	if (said != NULL)
		memmove(said, said + strlen(CHECK_FLAGS), strlen(said + strlen(CHECK_FLAGS)) + 1);
}

void part_words(unsigned pid, char **argv, char **env)
{
	if (!tells(argv)) {
		unask(env);
		return;
	}
	const cookie_io_functions_t functions = {.write = put};
	struct termios terminal;
	/* Found by their names: no other process of a build is to look for them at its start. */
	FILE *(*opener)(void *, const char *, cookie_io_functions_t);
	int (*buffer)(FILE *, char *, int, size_t);
	*(void **)&opener = find_in_libc("fopencookie");
	*(void **)&buffer = find_in_libc("setvbuf");
	FILE **standard = dlsym(RTLD_DEFAULT, "stdout");
	if (opener == NULL || buffer == NULL || standard == NULL ||
	    kernel(SYS_fcntl, 1, F_GETFD) < 0 || (words.aside = open_aside(pid)) < 0)
		return;
	FILE *stream = opener(NULL, "w", functions);
	if (stream == NULL)
		return;
	put_all(words.aside, "\0begin\n", 7); /* and how to start this make once more */
	put_list(argv);
	put_list(env);
	stream->_fileno = 1; /* make asks whether it is a terminal, or closed */
	if (kernel(SYS_ioctl, 1, TCGETS, &terminal) == 0)
		buffer(stream, NULL, _IOLBF, BUFSIZ);
	*standard = stream;
}
