#include "invocation.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/inherited.h"
#include "base/util.h"

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

int open_connection(const char *name)
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

/* The descriptor to send for stdout or stderr: itself, or /dev/null where it is closed.  That is
 * said to be no file at all: a closed one is nobody's output. */
static int standing_in(int fd, struct stat *info)
{
	if (fstat(fd, info) == 0)
		return fd;
	memset(info, 0, sizeof *info);
	return out_of_the_way(open("/dev/null", O_WRONLY | O_CLOEXEC));
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

/* `fds`: two, or NULL. */
static int send_with_descriptors(int connection, struct iovec *parts, int count, const int *fds)
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
	if (fds != NULL) {
		struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
		memcpy(CMSG_DATA(rights), fds, 2 * sizeof(int));
	} else {
		message.msg_control = NULL;
		message.msg_controllen = 0;
	}
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

/* What is known of a command line, behind what only one of the two frames has: `before`. */
static int send_words(int connection, uint16_t type, const struct iovec before[2],
                      struct wire_invoke *fixed, const char *tool, const char *real, char **argv,
                      const struct context *s, const struct wire_limit *limits, const int *fds)
{
	char cwd[PATH_MAX];
	size_t argv_bytes = 0, size = 0;
	if (getcwd(cwd, sizeof cwd) == NULL)
		return -1;
	for (char **word = argv; *word != NULL; word++)
		argv_bytes += strlen(*word) + 1;
	const char *build = s->build != NULL ? s->build : "";
	fixed->parent = (uint32_t)getppid();
	fixed->tool_len = (uint32_t)strlen(tool);
	fixed->real_len = (uint32_t)strlen(real);
	fixed->cwd_len = (uint32_t)strlen(cwd);
	fixed->build_len = (uint32_t)strlen(build);
	fixed->argv_len = (uint32_t)argv_bytes;
	fixed->env_len = (uint32_t)s->env_bytes;
	fixed->unguarded = s->unguarded;
	fixed->line = (uint32_t)s->is_line;
	struct wire_header header = {WIRE_MAGIC, WIRE_VERSION, type, 0};
	struct iovec parts[] = {
	    {&header, sizeof header},
	    before[0],
	    before[1],
	    {fixed, sizeof *fixed},
	    {(void *)(uintptr_t)tool, fixed->tool_len},
	    {(void *)(uintptr_t)real, fixed->real_len},
	    {cwd, fixed->cwd_len},
	    {(void *)(uintptr_t)build, fixed->build_len},
	    {joined(argv, argv_bytes), argv_bytes},
	    {joined(s->env, s->env_bytes), s->env_bytes},
	    {(void *)(uintptr_t)limits, fixed->limits_len},
	};
	const size_t count = sizeof parts / sizeof *parts;
	for (size_t i = 1; i < count; i++)
		size += parts[i].iov_len;
	if (size > WIRE_MAX_PAYLOAD)
		return -1;
	header.length = (uint32_t)size;
	return send_with_descriptors(connection, parts, (int)count, fds);
}

int send_invocation(int connection, const char *tool, const char *real, char **argv,
                    const struct context *s)
{
	static const struct iovec nothing[2];
	struct stat out, err;
	struct wire_limit limits[RLIM_NLIMITS];
	struct inherited inherited;
	const int fds[2] = {standing_in(1, &out), standing_in(2, &err)};
	if (fds[0] < 0 || fds[1] < 0)
		return -1;
	for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
		struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
		getrlimit(i, &limit);
		limits[i] = (struct wire_limit){limit.rlim_cur, limit.rlim_max};
	}
	mode_t mask = umask(0);
	umask(mask);
	look_at_inherited(connection, &inherited);
	struct wire_invoke fixed = {
	    .mask = mask,
	    .out_dev = out.st_dev,
	    .out_ino = out.st_ino,
	    .err_dev = err.st_dev,
	    .err_ino = err.st_ino,
	    .inherited = inherited.number,
	    .ignored = inherited.ignored,
	    .blocked = inherited.blocked,
	    .nice = inherited.nice,
	    .limits_len = sizeof limits,
	};
	return send_words(connection, WIRE_INVOKE, nothing, &fixed, tool, real, argv, s, limits,
	                  fds);
}

void send_given(int connection, const char *tool, const char *real, char **argv,
                const struct context *s, const struct wire_given *given, const char *reads)
{
	const struct iovec before[2] = {
	    {(void *)(uintptr_t)given, sizeof *given},
	    {(void *)(uintptr_t)reads, given->reads_len},
	};
	struct wire_invoke fixed = {.mask = 0};
	(void)send_words(connection, WIRE_GIVEN, before, &fixed, tool, real, argv, s, NULL, NULL);
}

void hear(int connection, char ***argv, struct context *s)
{
	struct wire_header header;
	struct wire_answer answer;
	if (read_header(connection, &header) != 0) {
		/* So a line is left to itself.  Else the server has died. */
		const struct timespec moment = {.tv_nsec = ENDING_NS};
		if (!s->is_line)
			nanosleep(&moment, NULL);
		return;
	}
	if (header.type != WIRE_ANSWER || header.length < sizeof answer ||
	    read_all(connection, &answer, sizeof answer) != 0)
		return;
	size_t rest = header.length - sizeof answer;
	if (rest != (size_t)answer.argv_len + answer.message_len)
		return;
	char *blobs = must_alloc(rest);
	if (read_all(connection, blobs, rest) != 0)
		return;
	if (answer.action == ANSWER_EXIT)
		write_all(1, blobs, answer.argv_len);
	write_all(2, blobs + answer.argv_len, answer.message_len);
	if (answer.action == ANSWER_EXIT)
		end_as(answer.status);
	if (answer.argv_len > 0) {
		char **words = strings_of(blobs, answer.argv_len);
		if (words != NULL)
			*argv = words;
	}
	if (answer.command != 0)
		number(s, answer.command);
	if (answer.keep_open)
		fcntl(connection, F_SETFD, 0);
}
