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

/* Writes a number before `end`; returns where it begins. */
static char *digits_before(char *end, unsigned number)
{
	do
		*--end = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	return end;
}

ssize_t name_of(int fd, char *name, size_t size)
{
	char digits[12], *end = digits + sizeof digits - 1;
	*end = '\0';
	return name_of_open(digits_before(end, (unsigned)fd), name, size);
}

/* A path behind the `got` bytes of a folder's name in `full`. */
static int behind(ssize_t got, const char *path, char *full, size_t size)
{
	size_t rest = strlen(path) + 1;
	if (got <= 0 || *full != '/' || (size_t)got + 1 + rest > size)
		return -1;
	full[got] = '/';
	memcpy(full + got + 1, path, rest);
	return 0;
}

int absolute(int dir, const char *path, char *full, size_t size)
{
	size_t length = strlen(path);
	if (*path != '/')
		return behind(dir == AT_FDCWD ? kernel(SYS_getcwd, full, size) - 1 /* its NUL */
		                              : name_of(dir, full, size),
		              path, full, size);
	if (length >= size)
		return -1;
	memcpy(full, path, length + 1);
	return 0;
}

/* Our folder's name: nobody else writes while it is BEING_FOUND, nobody ever once it MAY_CHANGE.
 * A child of vfork(2) shares it, and can only spoil it by moving about, which ends its use. */
enum { UNKNOWN, BEING_FOUND, KNOWN, MAY_CHANGE };
static struct {
	int state;
	ssize_t size;
	char name[256];
} home;

void guard_moves_about(void)
{
	__atomic_store_n(&home.state, MAY_CHANGE, __ATOMIC_RELEASE);
}

static SLOW void find_home(void)
{
	int none = UNKNOWN, busy = BEING_FOUND;
	if (__atomic_compare_exchange_n(&home.state, &none, BEING_FOUND, 0, __ATOMIC_ACQUIRE,
	                                __ATOMIC_RELAXED)) {
		home.size = kernel(SYS_getcwd, home.name, sizeof home.name) - 1;
		__atomic_compare_exchange_n(&home.state, &busy, home.size > 0 ? KNOWN : MAY_CHANGE,
		                            0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
}

int absolute_at_first(int dir, const char *path, char *full, size_t size)
{
	if (*path == '/' || dir != AT_FDCWD)
		return absolute(dir, path, full, size);
	if (__atomic_load_n(&home.state, __ATOMIC_ACQUIRE) == UNKNOWN)
		find_home();
	if (__atomic_load_n(&home.state, __ATOMIC_ACQUIRE) != KNOWN || (size_t)home.size >= size)
		return absolute(dir, path, full, size);
	memcpy(full, home.name, (size_t)home.size);
	return behind(home.size, path, full, size);
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
	} else { /* the server has died */
		const struct timespec moment = {.tv_nsec = ENDING_NS};
		memset(answer, 0, sizeof *answer);
		kernel(SYS_nanosleep, &moment, NULL);
	}
	kernel(SYS_close, fd);
	return 0;
}
