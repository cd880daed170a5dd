/* The shim stands on PATH under a tool's name.
 *
 * It hands its whole invocation to the server and does what the answer says: leave at once (the
 * work is done later, or was refused) or become the real tool.  Without a server, or with any
 * trouble at all, it becomes the real tool: our faults cost speed, never the build.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "util.h"

#define MAX_DEPTH 16
#define STATUS_FAULT 125
#define STATUS_CANNOT_RUN 126
#define STATUS_NOT_FOUND 127

extern char **environ;

/* The environment that the real tool gets: PATH without the folders in which we stand under this
 * name, of the session no more than a guard needs, and a depth that stops two shims from calling
 * each other. */
struct surroundings {
	const char *socket; /* NULL: no session */
	const char *board;  /* the session's count of pending jobs */
	const char *build;
	const char *real;   /* the tool's path, where a guard sent us */
	const char *inside; /* the command of whose tool we are a part: none of our business */
	int has_guard;      /* this session has one */
	uint32_t unguarded; /* the nearest process above us without one, 0: none */
	char *path;         /* "PATH=...", or NULL when there is none */
	char *depth;
	char **env;
	size_t env_bytes;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

static int same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Walks PATH: folders that hold us under `tool` are left out of `rest`; the first executable
 * `tool` that is not us goes to `real`.  Returns 0 when there is one. */
static int resolve(const char *tool, const char *path, const struct stat *self, char *rest,
                   char *real)
{
	int found = -1;
	size_t kept = 0;
	for (const char *at = path;; at++) {
		const char *end = strchrnul(at, ':');
		size_t length = (size_t)(end - at);
		char name[PATH_MAX];
		struct stat file;
		int ours = 0;
		/* An empty entry is the current folder. */
		int size = snprintf(name, sizeof name, "%.*s%s%s", (int)length, at,
		                    length > 0 ? "/" : "./", tool);
		if (size > 0 && size < (int)sizeof name && stat(name, &file) == 0 &&
		    S_ISREG(file.st_mode)) {
			ours = same_file(&file, self);
			if (!ours && found != 0 && access(name, X_OK) == 0) {
				memcpy(real, name, (size_t)size + 1);
				found = 0;
			}
		}
		if (!ours) {
			if (kept > 0)
				rest[kept++] = ':';
			else if (length == 0)
				rest[kept++] = '.'; /* a leading empty entry must not vanish */
			memcpy(rest + kept, at, length);
			kept += length;
		}
		if (*end == '\0')
			break;
		at = end;
	}
	rest[kept] = '\0';
	return found;
}

static int starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The value of a variable of ours, or NULL. */
static const char *value_if(const char *variable, const char *name)
{
	size_t length = strlen(name);
	if (!starts(variable, "SMPMAKE_") || strncmp(variable + 8, name, length) != 0 ||
	    variable[8 + length] != '=')
		return NULL;
	return variable + 8 + length + 1;
}

/* Which process above us has no guard: a guarded one left its number, or ours before it became us.
 */
static uint32_t unguarded_above(const char *known, const char *caller)
{
	if (known != NULL)
		return (uint32_t)strtoul(known, NULL, 10);
	if (caller == NULL || atoi(caller) == getpid() || atoi(caller) == getppid())
		return 0;
	return (uint32_t)getppid();
}

static int survey(struct surroundings *s)
{
	static const char *const session[] = {"SOCKET", "BOARD", "BUILD"};
	static const char *const passing[] = {"CALLER", "UNGUARDED", "REAL", "DEPTH"};
	const char *own[sizeof session / sizeof *session], *come[sizeof passing / sizeof *passing];
	size_t count = 0, n = 0;
	memset(own, 0, sizeof own);
	memset(come, 0, sizeof come);
	while (environ[count] != NULL) {
		s->has_guard |= value_if(environ[count], "GUARD") != NULL;
		count++;
	}
	s->env = must_alloc((count + 3) * sizeof *s->env);
	for (size_t i = 0; i < count; i++) {
		char *variable = environ[i];
		const char *value, *inside = value_if(variable, "COMMAND");
		int keep = 1;
		for (size_t k = 0; k < sizeof session / sizeof *session; k++)
			if ((value = value_if(variable, session[k])) != NULL) {
				own[k] = value;
				keep = s->has_guard;
			}
		for (size_t k = 0; k < sizeof passing / sizeof *passing; k++)
			if ((value = value_if(variable, passing[k])) != NULL) {
				come[k] = value;
				keep = 0;
			}
		if (inside != NULL)
			s->inside = inside;
		if (keep) {
			s->env_bytes += strlen(variable) + 1;
			s->env[n++] = variable;
		}
	}
	s->socket = own[0];
	s->board = own[1];
	s->build = own[2];
	s->real = come[2];
	if (s->has_guard)
		s->unguarded = unguarded_above(come[1], come[0]);
	int level = come[3] != NULL ? atoi(come[3]) + 1 : 1;
	if (level > MAX_DEPTH)
		return -1;
	s->depth = must_alloc(32);
	s->env_bytes += (size_t)snprintf(s->depth, 32, "SMPMAKE_DEPTH=%d", level) + 1;
	s->env[n++] = s->depth;
	s->env[n] = NULL;
	return 0;
}

/* The tool's guard will ask under the command's number. */
static void number(struct surroundings *s, uint32_t command)
{
	size_t n = 0;
	if (!s->has_guard || command == 0)
		return;
	while (s->env[n] != NULL)
		n++;
	s->env[n] = must_alloc(40);
	snprintf(s->env[n], 40, "SMPMAKE_COMMAND=%u", command);
	s->env[n + 1] = NULL;
}

static void replace_path(struct surroundings *s)
{
	for (char **variable = s->env; *variable != NULL; variable++)
		if (starts(*variable, "PATH=")) {
			s->env_bytes = s->env_bytes - strlen(*variable) + strlen(s->path);
			*variable = s->path;
		}
}

static int become(const char *real, char **argv, char **env)
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

/* Makes that we stand for because they need options of us.  Their commands are the build's. */
static const char *const make_tools[] = {MAKE_TOOLS, NULL};

/* Whether a program has no loader, and so no guard. */
static int is_static(const char *path)
{
	_Alignas(16) char head[4096];
	const Elf64_Ehdr *elf = (const void *)head;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, head, sizeof head);
	if (fd >= 0)
		close(fd);
	if (size < (ssize_t)sizeof *elf || memcmp(head, ELFMAG, SELFMAG) != 0)
		return 0;
	if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_phentsize != sizeof(Elf64_Phdr) ||
	    elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr) > (size_t)size)
		return 1; /* of another machine: no guard either */
	const Elf64_Phdr *part = (const void *)(head + elf->e_phoff);
	for (int i = 0; i < elf->e_phnum; i++)
		if (part[i].p_type == PT_INTERP)
			return 0;
	return 1;
}

/* A driver's environment is as it came, so that its commands find us; where it has no guard, what
 * it starts is to know that. */
static char **driver_environment(const struct surroundings *s, const char *real)
{
	static char nobody[] = "SMPMAKE_CALLER=0000000000";
	int unguarded = s->has_guard && is_static(real);
	size_t count = 0, n = 0;
	while (environ[count] != NULL)
		count++;
	char **env = must_alloc((count + 3) * sizeof *env);
	for (size_t i = 0; i < count; i++)
		if (value_if(environ[i], "REAL") == NULL && value_if(environ[i], "DEPTH") == NULL &&
		    (!unguarded || value_if(environ[i], "CALLER") == NULL))
			env[n++] = environ[i];
	env[n++] = s->depth;
	if (unguarded)
		env[n++] = nobody;
	env[n] = NULL;
	return env;
}

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

/* Descriptors as high as these are nobody's: a build may have closed 0, 1 or 2, or use 3 itself. */
static int out_of_the_way(int fd)
{
	if (fd < 0)
		return -1;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, 200);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static int open_connection(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(name) >= sizeof address.sun_path)
		return -1;
	memcpy(address.sun_path, name, strlen(name) + 1);
	int fd = out_of_the_way(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return -1;
	while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		if (errno != EINTR) {
			close(fd);
			return -1;
		}
	return fd;
}

/* The descriptor to send for stdout or stderr: itself, or /dev/null where it is closed. */
static int standing_in(int fd, struct stat *info)
{
	if (fstat(fd, info) == 0)
		return fd;
	int null = out_of_the_way(open("/dev/null", O_WRONLY | O_CLOEXEC));
	if (null >= 0)
		fstat(null, info);
	return null;
}

/* Like write_all, but a server that went away is an error, not a SIGPIPE. */
static int send_quietly(int connection, const char *at, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(connection, at, size, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -1;
		at += sent;
		size -= (size_t)sent;
	}
	return 0;
}

static int send_with_descriptors(int connection, struct iovec *parts, int count, const int fds[2])
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} control;
	memset(&control, 0, sizeof control);
	struct msghdr message = {.msg_iov = parts,
	                         .msg_iovlen = (size_t)count,
	                         .msg_control = control.space,
	                         .msg_controllen = sizeof control.space};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
	rights->cmsg_level = SOL_SOCKET;
	rights->cmsg_type = SCM_RIGHTS;
	rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(rights), fds, 2 * sizeof(int));
	ssize_t sent;
	do
		sent = sendmsg(connection, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -1;
	for (int i = 0; i < count; i++) {
		size_t part = parts[i].iov_len;
		if ((size_t)sent >= part) {
			sent -= (ssize_t)part;
			continue;
		}
		if (send_quietly(connection, (char *)parts[i].iov_base + sent,
		                 part - (size_t)sent) != 0)
			return -1;
		sent = 0;
	}
	return 0;
}

static char *joined(char **list, size_t size)
{
	char *blob = must_alloc(size), *at = blob;
	for (; *list != NULL; list++)
		at = stpcpy(at, *list) + 1;
	return blob;
}

static int send_invocation(int connection, const char *tool, const char *real, char **argv,
                           const struct surroundings *s)
{
	char cwd[PATH_MAX];
	struct stat out, err;
	struct wire_limit limits[RLIM_NLIMITS];
	size_t argv_bytes = 0;
	if (getcwd(cwd, sizeof cwd) == NULL)
		return -1;
	const int fds[2] = {standing_in(1, &out), standing_in(2, &err)};
	if (fds[0] < 0 || fds[1] < 0)
		return -1;
	for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
		struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
		getrlimit(i, &limit);
		limits[i] = (struct wire_limit){limit.rlim_cur, limit.rlim_max};
	}
	for (char **word = argv; *word != NULL; word++)
		argv_bytes += strlen(*word) + 1;
	mode_t mask = umask(0);
	umask(mask);
	const char *build = s->build != NULL ? s->build : "";
	struct wire_invoke fixed = {
	    .parent = (uint32_t)getppid(),
	    .mask = mask,
	    .out_dev = out.st_dev,
	    .out_ino = out.st_ino,
	    .err_dev = err.st_dev,
	    .err_ino = err.st_ino,
	    .tool_len = (uint32_t)strlen(tool),
	    .real_len = (uint32_t)strlen(real),
	    .cwd_len = (uint32_t)strlen(cwd),
	    .build_len = (uint32_t)strlen(build),
	    .argv_len = (uint32_t)argv_bytes,
	    .env_len = (uint32_t)s->env_bytes,
	    .limits_len = sizeof limits,
	    .unguarded = s->unguarded,
	};
	size_t size = sizeof fixed + fixed.tool_len + fixed.real_len + fixed.cwd_len +
	              fixed.build_len + argv_bytes + s->env_bytes + sizeof limits;
	if (size > WIRE_MAX_PAYLOAD)
		return -1;
	struct wire_header header = {WIRE_MAGIC, WIRE_VERSION, WIRE_INVOKE, (uint32_t)size};
	struct iovec parts[] = {
	    {&header, sizeof header},
	    {&fixed, sizeof fixed},
	    {(void *)(uintptr_t)tool, fixed.tool_len},
	    {(void *)(uintptr_t)real, fixed.real_len},
	    {cwd, fixed.cwd_len},
	    {(void *)(uintptr_t)build, fixed.build_len},
	    {joined(argv, argv_bytes), argv_bytes},
	    {joined(s->env, s->env_bytes), s->env_bytes},
	    {limits, sizeof limits},
	};
	return send_with_descriptors(connection, parts, sizeof parts / sizeof *parts, fds);
}

/* Asks the server.  Returns the status to leave with, or -1 to become the real tool; then *argv may
 * have been replaced. */
static int ask(int connection, char ***argv, struct surroundings *s)
{
	struct wire_header header;
	struct wire_answer answer;
	if (read_header(connection, &header) != 0 || header.type != WIRE_ANSWER ||
	    header.length < sizeof answer || read_all(connection, &answer, sizeof answer) != 0)
		return -1;
	size_t rest = header.length - sizeof answer;
	if (rest != (size_t)answer.argv_len + answer.message_len)
		return -1;
	char *blobs = must_alloc(rest);
	if (read_all(connection, blobs, rest) != 0)
		return -1;
	if (answer.message_len > 0)
		(void)!write(2, blobs + answer.argv_len, answer.message_len);
	if (answer.action == ANSWER_EXIT)
		return answer.status & 0xff;
	if (answer.argv_len > 0) {
		char **words = strings_of(blobs, answer.argv_len);
		if (words != NULL)
			*argv = words;
	}
	number(s, answer.command);
	if (answer.keep_open)
		fcntl(connection, F_SETFD, 0);
	return -1;
}

int main(int argc, char **argv)
{
	struct surroundings s = {0};
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
		return become(real, argv, s.env);
	if (s.board != NULL && is_among(tool, disk_tools) && nothing_pending(s.board))
		return become(real, argv, s.env);
	int connection = open_connection(s.socket);
	if (connection < 0)
		return become(real, argv, s.env);
	int status = -1;
	if (send_invocation(connection, tool, real, argv, &s) == 0)
		status = ask(connection, &argv, &s);
	if (status < 0 && is_among(tool, make_tools))
		return become(real, argv, driver_environment(&s, real));
	return status >= 0 ? status : become(real, argv, s.env);
}
