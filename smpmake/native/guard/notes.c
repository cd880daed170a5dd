/* What a job reads and writes, noted in its trace. */
#include "asking.h"

#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* What lies in the system's own folders is nobody's output. */
static int is_foreign(const char *path)
{
	static const char *const folders[] = {"/usr/", "/lib", "/etc/", "/proc/", "/dev/", "/sys/"};
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return 1;
	return 0;
}

static char *put(struct trace *trace, char letter, const char *path)
{
	uint32_t size = (uint32_t)strlen(path) + 2;
	uint32_t at = __atomic_fetch_add(&trace->used, size, __ATOMIC_RELAXED);
	if (at >= sizeof trace->text || size > sizeof trace->text - at) {
		__atomic_fetch_add(&trace->lost, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	char *note = trace->text + at;
	memcpy(note + 1, path, size - 1);
	__atomic_store_n(note, letter, __ATOMIC_RELEASE);
	return note;
}

char *guard_note(char letter, int dir, const char *path)
{
	int before = errno;
	char *note = NULL;
	char full[PATH_MAX];
	if (path != NULL && !is_foreign(path) && !is_session(path) &&
	    absolute_at_first(dir, path, full, sizeof full) == 0)
		note = put(guard.trace, letter, full);
	errno = before;
	return note;
}

/* This very program: the server learns that it takes a guard. */
void guard_note_program(void)
{
	char program[PATH_MAX];
	long size = kernel(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, sizeof program - 1);
	if (size > 0) {
		program[size] = '\0';
		put(guard.trace, 'p', program);
	}
}

/* How long this process had to wait for a CPU: nobody can ask for it later, as compilers reap their
 * parts themselves. */
__attribute__((destructor)) static void note_waiting(void)
{
	char text[96];
	if (guard.trace == NULL)
		return;
	int before = errno;
	long fd = kernel(SYS_openat, AT_FDCWD, "/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		long size = kernel(SYS_read, fd, text, sizeof text - 1);
		kernel(SYS_close, fd);
		text[size > 0 ? size : 0] = '\0';
		const char *blank = strchr(text, ' '); /* ns that it ran, ns that it waited */
		if (blank != NULL)
			__atomic_fetch_add(&guard.trace->waited_us,
			                   (uint32_t)(strtoull(blank, NULL, 10) / 1000),
			                   __ATOMIC_RELAXED);
	}
	errno = before;
}

void guard_unnote(char *note)
{
	if (note != NULL) {
		uint32_t at = (uint32_t)(note - guard.trace->text);
		uint32_t end = at + (uint32_t)strlen(note) + 1;
		*note = '-';
		__atomic_compare_exchange_n(&guard.trace->used, &end, at, 0, __ATOMIC_RELAXED,
		                            __ATOMIC_RELAXED);
	}
}
