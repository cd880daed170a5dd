/* The shim stands on PATH under a tool's name.
 *
 * It hands its whole invocation to the server and does what the answer says: leave at once (the
 * work is done later, or was refused) or become the real tool.  Without a server, or with any
 * trouble at all, it becomes the real tool: our faults cost speed, never the build.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "context.h"
#include "invocation.h"
#include "remember.h"
#include "unasked.h"

#define STATUS_FAULT 125

/* Commands whose only work is on the disk: with nothing pending nobody needs to hear of them. */
static const char *const disk_tools[] = {DISK_TOOLS, NULL};

/* Tools whose result is what they print: of concern where that goes to a file. */
static const char *const printers[] = {PRINTERS, NULL};

static int prints_into_file(void)
{
	struct stat info;
	return fstat(1, &info) == 0 && S_ISREG(info.st_mode);
}

/* Makes that we stand for because they need options of us.  Their commands are the build's. */
static const char *const make_tools[] = {MAKE_TOOLS, NULL};

/* Programs that are tools with some words, and a part of the build with others: cmake -E copy. */
static const char *const sometimes[] = {SOMETIMES_TOOLS, NULL};
static const char *const file_commands[] = {FILE_COMMANDS, NULL};

static int is_build(const char *tool, int argc, char *const *argv)
{
	return is_among(tool, sometimes) &&
	       (argc < 3 || strcmp(argv[1], "-E") != 0 || !is_among(argv[2], file_commands));
}

/* Whether the tool may be run at once, and nobody need hear of it: nothing is pending.  What is
 * more than work for the disk needs that nothing is at work, and the place. */
static enum unasked goes_ahead(const char *tool, int prints, int argc, char *const *argv,
                               struct context *s)
{
	enum unasked does = ASKED;
	int place = -1;
	if (s->board == NULL)
		return ASKED;
	if (prints || is_among(tool, disk_tools))
		return is_idle(s->board, 0) ? PRINTED : ASKED;
	if (!s->is_line && !is_among(tool, make_tools))
		does = runs_unasked(tool, argc, argv);
	if (does == ASKED)
		return ASKED;
	int takes = does == CHECKED || !is_end(1);
	if (takes && (place = take_place(s->board)) < 0)
		return ASKED;
	if (!is_idle(s->board, 1)) {
		close(place);
		return ASKED;
	}
	number(s, 0); /* what it starts is a part of it, for which there is no second place */
	return does;
}

int main(int argc, char **argv)
{
	struct context s = {0};
	struct stat self;
	char real[PATH_MAX];
	if (argc < 1 || argv[0] == NULL)
		return STATUS_FAULT;
	const char *tool = base_name(argv[0]);
	if (survey(&s) == 0 && s.real != NULL)
		tool = base_name(s.real);
	if (s.depth == NULL) {
		errno = ELOOP;
		complain(tool, "shims call each other; is another wrapper of this name on PATH?");
		return STATUS_CANNOT_RUN;
	}
	const char *path = getenv("PATH");
	if (path == NULL)
		path = "/usr/local/bin:/usr/bin:/bin";
	char *rest = must_alloc(strlen(path) + 7);
	memcpy(rest, "PATH=", 5);
	int found =
	    stat("/proc/self/exe", &self) == 0 && resolve(tool, path, &self, rest + 5, real) == 0;
	if (s.real != NULL && strlen(s.real) < sizeof real) {
		strcpy(real, s.real);
		found = 1;
	}
	if (!found) {
		errno = ENOENT;
		complain(tool, "no such tool on PATH behind smpmake's shim");
		return STATUS_NOT_FOUND;
	}
	s.path = rest;
	replace_path(&s);
	/* gcc looks for its parts beside a folder in argv[0], and beside us there are none. */
	if (s.real == NULL && strchr(argv[0], '/') != NULL)
		argv[0] = real;
	if (s.socket == NULL || s.socket[0] == '\0')
		return execute(real, argv, s.env);
	if (s.inside != NULL) /* a guard has sent us for what may be remembered */
		return s.real != NULL ? run_in_place(real, argv, &s) : execute(real, argv, s.env);
	if (is_build(tool, argc, argv))
		return execute(real, argv, driver_environment(&s, real));
	int prints = is_among(tool, printers);
	if (prints && !prints_into_file())
		return execute(real, argv, s.env);
	enum unasked does = goes_ahead(tool, prints, argc, argv, &s);
	if (does != ASKED)
		return does == PRINTED ? execute(real, argv, s.env) : remember(real, argv, &s);
	if (s.is_line && has_result(argv, &s))
		return execute(real, argv, driver_environment(&s, real));
	int status = give_back(tool, real, argv, &s);
	if (status >= 0)
		return status;
	int connection = open_connection(s.socket);
	if (connection < 0)
		return execute(real, argv, s.env);
	if (send_invocation(connection, tool, real, argv, &s) == 0)
		hear(connection, &argv, &s);
	/* What we do not understand of a line is a matter of the commands in it. */
	if (is_among(tool, make_tools) || s.is_line)
		return execute(real, argv, driver_environment(&s, real));
	return s.is_numbered ? run_in_place(real, argv, &s) : execute(real, argv, s.env);
}
