#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"

int read_all(int fd, void *buffer, size_t size)
{
	char *at = buffer;
	while (size > 0) {
		ssize_t got = read(fd, at, size);
		if (got == 0) {
			errno = ECONNRESET;
			return -1;
		}
		if (got < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		at += got;
		size -= (size_t)got;
	}
	return 0;
}

int write_all(int fd, const void *buffer, size_t size)
{
	const char *at = buffer;
	while (size > 0) {
		ssize_t put = write(fd, at, size);
		if (put < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		at += put;
		size -= (size_t)put;
	}
	return 0;
}

int read_header(int fd, struct wire_header *header)
{
	if (read_all(fd, header, sizeof *header) != 0)
		return -1;
	if (header->magic != WIRE_MAGIC || header->version != WIRE_VERSION ||
	    header->length > WIRE_MAX_PAYLOAD) {
		errno = EPROTO;
		return -1;
	}
	return 0;
}

int send_frame(int fd, uint16_t type, const void *payload, size_t size)
{
	struct wire_header header = {WIRE_MAGIC, WIRE_VERSION, type, (uint32_t)size};
	struct iovec parts[2] = {{&header, sizeof header}, {(void *)(uintptr_t)payload, size}};
	ssize_t put;
	do
		put = writev(fd, parts, 2);
	while (put < 0 && errno == EINTR);
	if (put < 0)
		return -1;
	size_t done = (size_t)put;
	if (done < sizeof header) {
		if (write_all(fd, (char *)&header + done, sizeof header - done) != 0)
			return -1;
		done = sizeof header;
	}
	done -= sizeof header;
	return write_all(fd, (const char *)payload + done, size - done);
}

void *must_alloc(size_t size)
{
	void *memory = malloc(size > 0 ? size : 1);
	if (memory == NULL) {
		complain("memory", "malloc");
		_exit(125);
	}
	return memory;
}

char **strings_of(char *blob, size_t size)
{
	if (size > 0 && blob[size - 1] != '\0')
		return NULL;
	size_t count = 0;
	for (size_t i = 0; i < size; i++)
		count += blob[i] == '\0';
	char **list = must_alloc((count + 1) * sizeof *list);
	size_t n = 0;
	for (char *at = blob; n < count; at += strlen(at) + 1)
		list[n++] = at;
	list[n] = NULL;
	return list;
}

_Noreturn void end_as(int status)
{
	const uint64_t all = ~UINT64_C(0), by_default[4] = {0};
	const struct rlimit none = {0, 0};
	if (WIFSIGNALED(status)) {
		kernel(SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL); /* the core is the other's */
		kernel(SYS_rt_sigaction, WTERMSIG(status), by_default, NULL, sizeof all);
		kernel(SYS_rt_sigprocmask, SIG_UNBLOCK, &all, NULL, sizeof all);
		kernel(SYS_kill, getpid(), WTERMSIG(status));
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

char *put_text(char *at, const char *end, const char *text)
{
	while (at < end && *text != '\0')
		*at++ = *text++;
	return at;
}

char *put_number(char *at, const char *end, unsigned long value)
{
	char digits[21], *digit = digits + sizeof digits;
	*--digit = '\0';
	do
		*--digit = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	return put_text(at, end, digit);
}

void complain(const char *who, const char *what)
{
	const char *const parts[] = {"smpmake: ", who, ": ", what, ": ", strerror(errno), "\n"};
	char line[1024], *at = line;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		at = put_text(at, line + sizeof line, parts[i]);
	(void)!write(2, line, (size_t)(at - line));
}

int tell_cannot_run(const char *name, const char *program)
{
	int why = errno;
	complain(name, program);
	return why == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
}

int64_t clock_ns(int clock)
{
	struct timespec now = {0, 0};
	kernel(SYS_clock_gettime, clock, &now);
	return NS_OF(now);
}

int is_among(const char *word, const char *const *names)
{
	while (*names != NULL && strcmp(*names, word) != 0)
		names++;
	return *names != NULL;
}

int begins_as(const char *word, const char *const *names)
{
	while (*names != NULL && strncmp(word, *names, strlen(*names)) != 0)
		names++;
	return *names != NULL;
}

int ends_in(const char *word, const char *end)
{
	size_t size = strlen(word), length = strlen(end);
	return size >= length && strcmp(word + size - length, end) == 0;
}

int is_elf(const char *bytes, size_t size)
{
	return size >= 4 && memcmp(bytes, "\177ELF", 4) == 0;
}

int is_one_of(const char *tool, const char *const *names)
{
	size_t size = strlen(tool), end = size;
	while (end > 0 && (tool[end - 1] == '.' || (tool[end - 1] >= '0' && tool[end - 1] <= '9')))
		end--;
	if (end < size && end > 0 && tool[end - 1] == '-')
		size = end - 1;
	for (; *names != NULL; names++) {
		size_t length = strlen(*names);
		if (length <= size && memcmp(tool + size - length, *names, length) == 0 &&
		    (length == size || tool[size - length - 1] == '-'))
			return 1;
	}
	return 0;
}

char *put_hex(char *at, uint64_t value)
{
	static const char digits[] = "0123456789abcdef";
	for (int i = 60; i >= 0; i -= 4)
		*at++ = digits[value >> i & 15];
	*at = '\0';
	return at;
}

long count_running(void)
{
	char text[64];
	int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	const char *at = text;
	for (int i = 0; i < 3 && at != NULL; i++)
		at = strchr(at + 1, ' ');
	return at != NULL ? (long)strtoul(at, NULL, 10) : -1;
}
