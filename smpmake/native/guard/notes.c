/* What a job reads and writes, noted in its trace. */
#include "notes.h"

#include "asking.h"
#include "kernel.h"
#include "pages.h"

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

/* Room in the trace for a note that names `size` bytes; NULL where there is none. */
static char *note_of(size_t size)
{
	struct trace *trace = guard.trace;
	uint32_t at = __atomic_fetch_add(&trace->used, (uint32_t)size + 2, __ATOMIC_ACQUIRE);
	if (at < sizeof trace->text && size + 2 <= sizeof trace->text - at)
		return trace->text + at;
	__atomic_fetch_add(&trace->lost, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Of a path behind a folder's name, if it has one before it. */
static char *note_behind(char letter, const char *folder, size_t size, const char *path)
{
	size_t length = strlen(path), before = folder != NULL ? size + 1 : 0;
	if (before + length >= PATH_MAX)
		return NULL;
	char *note = note_of(before + length);
	if (note == NULL)
		return NULL;
	if (folder != NULL)
		*(char *)mempcpy(note + 1, folder, size) = '/';
	memcpy(note + 1 + before, path, length + 1);
	__atomic_store_n(note, letter, __ATOMIC_RELEASE);
	return note;
}

static SLOW char *note_from(char letter, int dir, const char *path)
{
	ON_PAGE(full);
	if (full == NULL)
		__atomic_fetch_add(&guard.trace->lost, 1, __ATOMIC_RELAXED);
	else if (absolute(dir, path, full, PATH_MAX) == 0)
		return note_behind(letter, NULL, 0, full);
	return NULL;
}

char *guard_note(char letter, int dir, const char *path)
{
	int before = errno;
	size_t size = 0;
	const char *folder;
	char *note = NULL;
	if (path == NULL || is_inert() || is_foreign(path) || is_session(path))
		return NULL;
	if (*path == '/')
		note = note_behind(letter, NULL, 0, path);
	else if ((folder = home_before(dir, &size)) != NULL)
		note = note_behind(letter, folder, size, path);
	else
		note = note_from(letter, dir, path);
	errno = before;
	return note;
}

/* This very program: the server learns that it takes a guard. */
void guard_note_program(void)
{
	ON_PAGE(program);
	long size = program != NULL
	                ? kernel(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, PATH_MAX - 1)
	                : 0;
	if (size > 0) {
		program[size] = '\0';
		note_behind('p', NULL, 0, program);
	}
}

/* How long this process had to wait for a CPU: nobody can ask for it later, as compilers reap their
 * parts themselves. */
SLOW void guard_note_waiting(void)
{
	char text[96];
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
		uint32_t size = (uint32_t)strlen(note), end = at + size + 1;
		/* Whoever has the room next may be killed before it has filled it. */
		memset(note, 0, size);
		__atomic_compare_exchange_n(&guard.trace->used, &end, at, 0, __ATOMIC_RELEASE,
		                            __ATOMIC_RELAXED);
	}
}
