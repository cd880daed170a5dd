/* The shim stands on PATH under a tool's name.
 *
 * It hands its whole invocation to the server and does what the answer says: leave at once (the
 * work is done later, or was refused) or become the real tool.  Without a server, or with any
 * trouble at all, it becomes the real tool: our faults cost speed, never the build.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context.h"
#include "guard/board.h"
#include "invocation.h"
#include "memo.h"
#include "memokeep.h"
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

/* Programs that are tools with some words, and a part of the build with others: cmake -E copy. */
static const char *const sometimes[] = {SOMETIMES_TOOLS, NULL};
static const char *const file_commands[] = {FILE_COMMANDS, NULL};

static int is_build(const char *tool, int argc, char *const *argv)
{
	return is_among(tool, sometimes) &&
	       (argc < 3 || strcmp(argv[1], "-E") != 0 || !is_among(argv[2], file_commands));
}

/* The names of configure scripts' checks begin so; and words by which a tool tells of itself. */
static const char *const checks[] = {CHECKS, NULL};
static const char *const asks[] = {ASKS, NULL};

/* Tools, whatever machine they are for, that print what they find. */
static const char *const inspectors[] = {INSPECTORS, NULL};

/* config.guess asks a compiler about itself by a file in a folder of mktemp's:
 * /tmp/cgXXXXXX/dummy.c */
static int is_guess(const char *word, const char *name)
{
	return name - word >= 10 && strncmp(name, "dummy.", 6) == 0 &&
	       strncmp(name - 10, "/cg", 3) == 0;
}

/* Whether it is run in its place, whatever it does: nobody need hear of it while nothing is at
 * work, and there are hundreds in a row. */
static int is_check(int argc, char *const *argv)
{
	for (int i = 1; i < argc; i++) {
		const char *name = base_name(argv[i]);
		for (const char *const *check = checks; *argv[i] != '-' && *check != NULL; check++)
			if (strncmp(name, *check, strlen(*check)) == 0)
				return 1;
		if (is_guess(argv[i], name))
			return 1;
	}
	return 0;
}

static int is_end(int fd)
{
	struct stat info;
	return fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

static int ends_in(const char *text, const char *end)
{
	size_t size = strlen(text), length = strlen(end);
	return size >= length && strcmp(text + size - length, end) == 0;
}

/* Whether it may have to wait for who is at the other end of a pipe or FIFO, and that may be one
 * who wants the place.  Of compilers that make a file only messages go to standard output. */
static int meets_others(const char *tool, int argc, char *const *argv)
{
	int makes = 0, prints = 0;
	for (const char *const *name = inspectors; *name != NULL; name++)
		prints |= ends_in(tool, *name);
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];
		struct stat info;
		if (*word != '-' && stat(word, &info) == 0 && !S_ISREG(info.st_mode) &&
		    !S_ISDIR(info.st_mode))
			return 1;
		makes |= strcmp(word, "-c") == 0 || strcmp(word, "-o") == 0;
		prints |= strcmp(word, "-") == 0 || strcmp(word, "-o-") == 0 ||
		          strncmp(word, "-E", 2) == 0 || strncmp(word, "-M", 2) == 0;
	}
	return is_end(0) || (is_end(1) && (prints || !makes));
}

/* What the scoreboard begins with. */
struct head {
	uint64_t pending;
	char between[offsetof(struct board, at_work) - sizeof(uint64_t)];
	uint32_t at_work;
};

static void read_board(const char *path, struct head *head)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	head->pending = head->at_work = 1;
	if (fd < 0)
		return;
	if (read(fd, head, sizeof *head) != (ssize_t)sizeof *head)
		head->pending = head->at_work = 1;
	close(fd);
}

/* Takes the one place for a tool that nobody has heard of; -1 where it is taken.  The lock goes
 * with the process: it is kept across exec, and what the tool starts does not have it. */
static int take_place(const char *board)
{
	char path[PATH_MAX];
	const char *slash = strrchr(board, '/');
	size_t folder = slash != NULL ? (size_t)(slash - board) : 0;
	if (slash == NULL || folder + sizeof "/check" > sizeof path)
		return -1;
	strcpy((char *)memcpy(path, board, folder) + folder, "/check");
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	/* Where no shell and no script has its own. */
	int place = fd >= 0 ? fcntl(fd, F_DUPFD, 977) : -1;
	close(fd);
	if (place >= 0 && fcntl(place, F_SETLK, &lock) != 0) {
		close(place);
		place = -1;
	}
	return place;
}

/* Whether the tool may be run at once, and nobody need hear of it. */
static int runs_unasked(const char *tool, int prints, int argc, char *const *argv,
                        struct context *s)
{
	struct head head;
	int disk = prints || is_among(tool, disk_tools);
	int check = !disk && !s->is_line && !is_among(tool, make_tools) &&
	            ((argc == 2 && is_among(argv[1], asks)) ||
	             (is_check(argc, argv) && !meets_others(tool, argc, argv)));
	if (s->board == NULL || !(disk || check))
		return 0;
	int place = check ? take_place(s->board) : -1;
	if (check && place < 0)
		return 0;
	read_board(s->board, &head);
	if (head.pending != 0 || (check && head.at_work != 0)) {
		close(place);
		return 0;
	}
	if (check) /* what it starts is a part of it, for which there is no second place */
		number(s, 0);
	return 1;
}

/* A check's result, where it is remembered; else it runs, and is remembered if it may be. */
static int remember(const char *real, char **argv, struct context *s)
{
	static struct memo_question question;
	char session[PATH_MAX];
	const char *slash = strrchr(s->socket, '/');
	size_t size = slash != NULL ? (size_t)(slash - s->socket) : 0;
	size_t count = 0;
	if (s->memo == NULL || s->memo_program == NULL || size >= sizeof session)
		return execute(real, argv, s->env);
	memcpy(session, s->socket, size);
	session[size] = '\0';
	enum memo_why why = MEMO_STORE;
	if (memo_open(&question.memo, s->memo, session) == 0)
		why = memo_ask(&question, real, argv, s->env);
	if (why != 0) {
		memo_tell_why(&question.memo, why);
		return execute(real, argv, s->env);
	}
	memo_keep_by(s->board);
	const struct memo_entry *entry = NULL;
	if (question.memo.mode == MEMO_CHECK)
		why = MEMO_ONLY_CHECKED;
	else
		entry = memo_find(&question, &why);
	if (entry != NULL) {
		int status = memo_give(&question, entry, memo_keep_in_journal);
		if (status >= 0) {
			memo_tell_hit(&question.memo, entry->cpu_us);
			return status;
		}
		why = MEMO_UNDO;
	}
	memo_tell_why(&question.memo, why);
	while (argv[count] != NULL)
		count++;
	char **words = must_alloc((count + 5) * sizeof *words);
	words[0] = words[4] = argv[0];
	words[1] = s->memo;
	words[2] = session;
	words[3] = (char *)(uintptr_t)real;
	memcpy(words + 4, argv, (count + 1) * sizeof *words);
	execve(s->memo_program, words, s->env);
	return execute(real, argv, s->env);
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
		return execute(real, argv, s.env);
	if (is_build(tool, argc, argv))
		return execute(real, argv, driver_environment(&s, real));
	int prints = is_among(tool, printers);
	if (prints && !prints_into_file())
		return execute(real, argv, s.env);
	if (runs_unasked(tool, prints, argc, argv, &s))
		return is_among(tool, disk_tools) ? execute(real, argv, s.env)
		                                  : remember(real, argv, &s);
	int connection = open_connection(s.socket);
	if (connection < 0)
		return execute(real, argv, s.env);
	int status = -1;
	if (send_invocation(connection, tool, real, argv, &s) == 0)
		status = hear(connection, &argv, &s);
	/* What we do not understand of a line is a matter of the commands in it. */
	if (status < 0 && (is_among(tool, make_tools) || s.is_line))
		return execute(real, argv, driver_environment(&s, real));
	return status >= 0 ? status : execute(real, argv, s.env);
}
