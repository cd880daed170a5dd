/* The shim stands on PATH under a tool's name.
 *
 * It hands its whole invocation to the server and does what the answer says: leave at once (the
 * work is done later, or was refused) or become the real tool.  Without a server, or with any
 * trouble at all, it becomes the real tool: our faults cost speed, never the build.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context.h"
#include "invocation.h"
#include "util.h"

#define STATUS_FAULT 125
#define STATUS_CANNOT_RUN 126
#define STATUS_NOT_FOUND 127

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

static int execute(const char *real, char **argv, char **env)
{
	execve(real, argv, env);
	int why = errno;
	complain(argv[0], real);
	return why == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
}

/* Becomes the real tool, of which a recipe's line may be made. */
static int become(const char *real, char **argv, struct context *s)
{
	keep_notes(s);
	return execute(real, argv, s->env);
}

static int is_among(const char *tool, const char *const *names)
{
	while (*names != NULL && strcmp(*names, tool) != 0)
		names++;
	return *names != NULL;
}

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

static int nothing_pending(const char *board)
{
	int fd = open(board, O_RDONLY | O_CLOEXEC);
	uint64_t pending = 1;
	if (fd < 0)
		return 0;
	if (read(fd, &pending, sizeof pending) != (ssize_t)sizeof pending)
		pending = 1;
	close(fd);
	return pending == 0;
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
	if (s.socket == NULL || s.socket[0] == '\0' || s.inside != NULL)
		return become(real, argv, &s);
	int prints = is_among(tool, printers);
	if (prints && !prints_into_file())
		return become(real, argv, &s);
	if (s.board != NULL && (prints || is_among(tool, disk_tools)) && nothing_pending(s.board))
		return become(real, argv, &s);
	int connection = open_connection(s.socket);
	if (connection < 0)
		return become(real, argv, &s);
	int status = -1;
	int sent = send_invocation(connection, tool, real, argv, &s) == 0;
	if (s.is_line) /* a line has notes of its own, or none */
		s.notes = 0;
	if (sent)
		status = hear(connection, &argv, &s);
	/* What we do not understand of a line is a matter of the commands in it. */
	if (status < 0 && (is_among(tool, make_tools) || s.is_line))
		return execute(real, argv, driver_environment(&s, real));
	return status >= 0 ? status : become(real, argv, &s);
}
