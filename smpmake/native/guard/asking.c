#include "asking.h"
#include "base/kernel.h"
#include "folder.h"
#include "looks.h"
#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/vfs.h>
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

char *digits_before(char *end, unsigned number)
{
	do
		*--end = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	return end;
}

char *open_name(unsigned fd, char room[OPEN_NAME_SIZE])
{
	char digits[12], *end = digits + sizeof digits - 1;
	*end = '\0';
	strcpy(stpcpy(room, "/proc/self/fd/"), digits_before(end, fd));
	return room;
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
	char name[4096 - 2 * sizeof(ssize_t)];
} home ASIDE;

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

const char *home_before(int dir, size_t *size)
{
	if (dir != AT_FDCWD)
		return NULL;
	if (__atomic_load_n(&home.state, __ATOMIC_ACQUIRE) == UNKNOWN)
		find_home();
	if (__atomic_load_n(&home.state, __ATOMIC_ACQUIRE) != KNOWN)
		return NULL;
	*size = (size_t)home.size;
	return home.name;
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

/* ------------------------------------------------------------------ by way of a process */

#define PROC_MAGIC 0x9fa0 /* of statfs(2) */

static int starts(const char *path, const char *prefix)
{
	return strncmp(path, prefix, strlen(prefix)) == 0;
}

/* Whether the last component of a path is called as an open file's number is, or as the streams of
 * /dev. */
static int may_be_open_file(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	size_t digits = strspn(name, "0123456789");
	return (digits > 0 && name[digits] == '\0') ||
	       (starts(name, "std") && (strcmp(name, "stdin") == 0 || strcmp(name, "stdout") == 0 ||
	                                strcmp(name, "stderr") == 0));
}

/* Whether a path leads through a process's folder, or its root. */
static int is_by_folder(const char *path)
{
	return path[0] == '/' && path[1] == 'p' && starts(path, "/proc/") &&
	       (strstr(path, "/cwd/") != NULL || strstr(path, "/root/") != NULL);
}

/* Where an open file's number, or a stream's name, in a folder of the kernel's leads; to `room`. */
static int led_by_number(int folder, const char *number, char *room)
{
	struct statfs system;
	struct stat info;
	if (kernel_unseen(SYS_fstatfs, folder, &system) != 0 || system.f_type != PROC_MAGIC)
		return 0;
	long size = kernel_unseen(SYS_readlinkat, folder, number, room, PATH_MAX - 1);
	room[size > 0 ? size : 0] = '\0';
	/* A pipe has no name, nor has a file that has been removed ("... (deleted)"). */
	return *room == '/' && kernel_unseen(SYS_newfstatat, AT_FDCWD, room, &info, 0) == 0;
}

static SLOW int led(int dir, const char *path, char *room)
{
	ON_PAGE(other);
	char number[16];
	int is_open = may_be_open_file(path);
	/* /dev/stdin is a link like others, to one. */
	if (is_open && starts(path, "/dev/std")) {
		long size = kernel_unseen(SYS_readlinkat, dir, path, room, PATH_MAX - 1);
		room[size > 0 ? size : 0] = '\0';
		path = room;
	}
	const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
	const char *folder = folder_of(path, other);
	if (folder == NULL || (is_open && strlen(name) >= sizeof number))
		return 0;
	long fd = kernel_unseen(SYS_openat, dir, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	int is = is_open ? led_by_number((int)fd, strcpy(number, name), room)
	                 : absolute((int)fd, name, room, PATH_MAX) == 0 && !starts(room, "/proc/");
	kernel_unseen(SYS_close, fd);
	return is;
}

/* Most names do not, as their last letter says. */
static int may_lead(const char *path)
{
	size_t size = strlen(path);
	char last = size > 0 ? path[size - 1] : '\0';
	int may = (last >= '0' && last <= '9') || last == 'n' || last == 't' || last == 'r';
	return (may && may_be_open_file(path)) || is_by_folder(path);
}

void follow_process(int *dir, const char **path, char **page)
{
	int before = errno;
	if (*path == NULL || !may_lead(*path))
		return;
	*page = pages_take(PATH_MAX);
	if (*page != NULL && led(*dir, *path, *page)) {
		*dir = AT_FDCWD;
		*path = *page;
	}
	errno = before;
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

SLOW int ask(uint32_t kind, const char *path, const char *other, char **elsewhere,
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
		if (answer->state == GUARD_ELSEWHERE && elsewhere != NULL && *elsewhere == NULL)
			*elsewhere = pages_take(PATH_MAX);
		if (answer->state == GUARD_ELSEWHERE &&
		    (elsewhere == NULL || *elsewhere == NULL || answer->path_len >= PATH_MAX ||
		     transfer(fd, *elsewhere, answer->path_len, 0) != 0))
			answer->state = GUARD_GO_ON;
		else if (answer->state == GUARD_ELSEWHERE)
			(*elsewhere)[answer->path_len] = '\0';
	} else { /* the server has died */
		const struct timespec moment = {.tv_nsec = ENDING_NS};
		memset(answer, 0, sizeof *answer);
		kernel(SYS_nanosleep, &moment, NULL);
	}
	kernel(SYS_close, fd);
	return 0;
}

SLOW void ask_about(uint32_t kind, int dir, const char *path, struct wire_guard_answer *answer)
{
	ON_PAGE(full);
	if (full == NULL)
		ask(ASK_ALL, "/", "", NULL, answer);
	else if (absolute(dir, path, full, PATH_MAX) == 0)
		ask(kind, full, "", NULL, answer);
	else
		memset(answer, 0, sizeof *answer); /* no such folder, or too long for any call */
}

#define LONGEST_TICK 20000000 /* ns: a time that is farther off is of another clock */

SLOW void guard_pass_tick(void)
{
	const struct timespec moment = {0, 500000};
	int before = errno;
	for (;;) {
		struct timespec now;
		int64_t newest = __atomic_load_n(&guard.board->newest_ns, __ATOMIC_ACQUIRE);
		kernel(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &now);
		if (NS_OF(now) > newest || newest - NS_OF(now) > LONGEST_TICK)
			break;
		kernel(SYS_nanosleep, &moment, NULL);
	}
	errno = before;
}
