#include "asking.h"
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

ssize_t name_of_open(const char *digits, char *name, size_t size)
{
	char link[32] = "/proc/self/fd/";
	strcat(link, digits);
	ssize_t length = kernel(SYS_readlinkat, AT_FDCWD, link, name, size - 1);
	if (length <= 0 || *name != '/')
		return -1;
	name[length] = '\0';
	return length;
}

ssize_t name_of(int fd, char *name, size_t size)
{
	char digits[12], *digit = digits + sizeof digits;
	*--digit = '\0';
	for (unsigned n = (unsigned)fd; digit == digits + sizeof digits - 1 || n > 0; n /= 10)
		*--digit = (char)('0' + n % 10);
	return name_of_open(digit, name, size);
}

int absolute(int dir, const char *path, char *full, size_t size)
{
	size_t length = 0, rest = strlen(path);
	if (*path != '/') {
		ssize_t got = dir == AT_FDCWD ? kernel(SYS_getcwd, full, size) - 1 /* its NUL */
		                              : name_of(dir, full, size);
		if (got <= 0 || *full != '/' || (size_t)got + 1 + rest >= size)
			return -1;
		length = (size_t)got;
		full[length++] = '/';
	}
	if (length + rest >= size)
		return -1;
	memcpy(full + length, path, rest + 1);
	return 0;
}

int target_of(const char *link, const char *target, char full[PATH_MAX])
{
	size_t folder = *target == '/' ? 0 : (size_t)(strrchr(link, '/') - link) + 1;
	if (folder + strlen(target) >= PATH_MAX)
		return 0;
	memmove(full, link, folder);
	strcpy(full + folder, target);
	return 1;
}

static int transfer(int fd, void *data, size_t size, int sending)
{
	char *at = data;
	while (size > 0) {
		ssize_t done = sending ? kernel(SYS_sendto, fd, at, size, MSG_NOSIGNAL, NULL, 0)
		                       : kernel(SYS_recvfrom, fd, at, size, 0, NULL, NULL);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		at += done;
		size -= (size_t)done;
	}
	return 0;
}

#define GONE -1
#define SHORT -2

/* A connection; GONE when there is no server any more.  Where only descriptors are short, it waits:
 * to go on unasked would not be safe.  SHORT where nothing comes that could end the waiting. */
static int connected(uint32_t kind)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strcpy(address.sun_path, guard.values[V_SOCKET]);
	while (kind >= ASK_ROOM || !guard_quiet()) {
		int fd = (int)kernel(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0) {
			if (kernel(SYS_connect, fd, &address, sizeof address) == 0)
				return fd;
			int why = errno;
			kernel(SYS_close, fd);
			if (why != EINTR && why != EAGAIN && why != ENOMEM)
				return GONE;
		} else if (kind >= ASK_ROOM && (guard.is_part || guard_quiet())) {
			return SHORT;
		}
		const struct timespec moment = {.tv_nsec = 2000000};
		kernel(SYS_nanosleep, &moment, NULL);
	}
	return GONE;
}

SLOW int ask(uint32_t kind, const char *path, const char *other, char *elsewhere,
             struct wire_guard_answer *answer)
{
	struct {
		struct wire_header header;
		struct wire_question fixed;
	} __attribute__((packed)) head;
	struct wire_header reply;
	memset(answer, 0, sizeof *answer);
	int fd = connected(kind);
	if (fd < 0)
		return fd == SHORT ? -1 : 0;
	head.fixed = (struct wire_question){
	    .kind = kind,
	    .pid = (uint32_t)kernel(SYS_getpid),
	    .command = guard.command,
	    .build_len = (uint32_t)strlen(guard.values[V_BUILD]),
	    .path_len = (uint32_t)strlen(path),
	    .other_len = (uint32_t)strlen(other),
	};
	uint32_t texts = head.fixed.build_len + head.fixed.path_len + head.fixed.other_len;
	head.header = (struct wire_header){WIRE_MAGIC, WIRE_VERSION, WIRE_QUESTION,
	                                   (uint32_t)sizeof head.fixed + texts};
	struct iovec parts[] = {{&head, sizeof head},
	                        {(void *)(uintptr_t)guard.values[V_BUILD], head.fixed.build_len},
	                        {(void *)(uintptr_t)path, head.fixed.path_len},
	                        {(void *)(uintptr_t)other, head.fixed.other_len}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 4};
	ssize_t sent;
	do
		sent = kernel(SYS_sendmsg, fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	/* A socket takes at least this much at once, or nothing. */
	if (sent == (ssize_t)(sizeof head + texts) && transfer(fd, &reply, sizeof reply, 0) == 0 &&
	    reply.magic == WIRE_MAGIC && reply.type == WIRE_GUARD_ANSWER &&
	    reply.length >= sizeof *answer && transfer(fd, answer, sizeof *answer, 0) == 0) {
		if (answer->state == GUARD_ELSEWHERE &&
		    (elsewhere == NULL || answer->path_len >= PATH_MAX ||
		     transfer(fd, elsewhere, answer->path_len, 0) != 0))
			answer->state = GUARD_GO_ON;
		else if (answer->state == GUARD_ELSEWHERE)
			elsewhere[answer->path_len] = '\0';
	} else {
		memset(answer, 0, sizeof *answer);
	}
	kernel(SYS_close, fd);
	return 0;
}
