/* What a job reads and writes, noted in its trace. */
#include "notes.h"

#include "base/foreign.h"
#include "base/kernel.h"
#include "guard/asking.h"
#include "guard/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LONGEST_WAIT 10000 /* ms */

/* A whole build's notes wait for more room, unless there will be none: 1 is the usual state. */
static SLOW void wait_for_room(struct trace *trace, uint32_t end)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	for (int i = 0; i < LONGEST_WAIT; i++) {
		if (__atomic_load_n(&trace->recipes, __ATOMIC_ACQUIRE) != 1 ||
		    __atomic_load_n(&trace->room, __ATOMIC_ACQUIRE) >= end)
			return;
		kernel(SYS_nanosleep, &moment, NULL);
	}
}

/* Room in the trace for a note that names `size` bytes; NULL where there is none. */
static char *note_of(size_t size)
{
	struct trace *trace = guard.trace;
	uint32_t at = __atomic_fetch_add(&trace->used, (uint32_t)size + 2, __ATOMIC_ACQUIRE);
	uint32_t room = __atomic_load_n(&trace->room, __ATOMIC_ACQUIRE);
	if (at + size + 2 > room && trace->recipes) {
		wait_for_room(trace, at + (uint32_t)size + 2);
		room = __atomic_load_n(&trace->room, __ATOMIC_ACQUIRE);
	}
	if (at < room && size + 2 <= room - at)
		return (char *)trace + offsetof(struct trace, text) + at;
	__atomic_fetch_add(&trace->lost, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Of a path behind a folder's name, if it has one before it. */
static char *note_behind(char letter, const char *folder, size_t size, const char *path)
{
	size_t length = strlen(path), before = folder != NULL ? size + 1 : 0;
	size_t number = strlen(guard.of_recipe);
	if (before + length >= PATH_MAX)
		return NULL;
	char *note = note_of(number + before + length);
	if (note == NULL)
		return NULL;
	char *at = mempcpy(note + 1, guard.of_recipe, number);
	if (folder != NULL)
		*(char *)mempcpy(at, folder, size) = '/';
	memcpy(at + before, path, length + 1);
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

SLOW void guard_note_folder_of(int dir, const char *path)
{
	ON_PAGE(folder);
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;
	size_t size = slash != NULL ? (size_t)(slash - path) : 0;
	if (path == NULL || folder == NULL || size >= PATH_MAX || slash == path)
		return;
	memcpy(folder, path, size);
	strcpy(folder + size, size != 0 ? "" : ".");
	guard_note('K', dir, folder);
}

void guard_notes_are_of(uint32_t recipe)
{
	char text[sizeof guard.of_recipe], *end = text + sizeof text - 1;
	*end = '\0';
	strcpy(guard.of_recipe, digits_before(end, recipe));
}

void guard_note_number(char letter, uint32_t number, const char *folder)
{
	char text[16], *end = text + sizeof text - 1;
	*end = '\0';
	char *at = digits_before(end, number);
	*--at = '/';
	note_behind(letter, at, (size_t)(end - at), folder != NULL ? folder + 1 : "");
}

/* A number for what a file holds, by FNV-1a; 0 for none. */
static uint64_t sum_of(int fd)
{
	struct stat info;
	uint64_t sum = 0xcbf29ce484222325u;
	ON_PAGE(part);
	if (part == NULL || kernel(SYS_fstat, fd, &info) != 0 || info.st_size > TRACE_SUMMED)
		return 0;
	for (int64_t at = 0, got; at < info.st_size; at += got) {
		got = kernel(SYS_pread64, fd, part, PATH_MAX, at);
		if (got <= 0)
			return 0;
		for (int64_t i = 0; i < got; i++)
			sum = (sum ^ (unsigned char)part[i]) * 0x100000001b3u;
	}
	return sum;
}

void guard_note_contents(int dir, const char *path)
{
	int before = errno;
	char text[24] = "/", *at = text + 1;
	struct stat info;
	ON_PAGE(full);
	int fd = -1;
	if (kernel(SYS_newfstatat, dir, path, &info, 0) == 0 && S_ISREG(info.st_mode))
		fd = (int)kernel(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC);
	uint64_t sum = fd >= 0 ? sum_of(fd) : 0;
	for (int shift = 60; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[sum >> shift & 15];
	if (fd >= 0)
		kernel(SYS_close, fd);
	if (sum != 0 && full != NULL && absolute(dir, path, full, PATH_MAX) == 0)
		note_behind('h', text, strlen(text), full + 1);
	errno = before;
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
		uint32_t at =
		    (uint32_t)(note - ((char *)guard.trace + offsetof(struct trace, text)));
		uint32_t size = (uint32_t)strlen(note), end = at + size + 1;
		/* Whoever has the room next may be killed before it has filled it. */
		memset(note, 0, size);
		__atomic_compare_exchange_n(&guard.trace->used, &end, at, 0, __ATOMIC_RELEASE,
		                            __ATOMIC_RELAXED);
	}
}
