/* The one name by which a file is reached through no link and no "..", as it is at this moment.
 *
 * Before it is included LOOK_CALL may be defined: how system calls are made.
 */
#ifndef SMPMAKE_CANONICAL_H
#define SMPMAKE_CANONICAL_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/types.h>

#include "kernel.h"

#ifndef LOOK_CALL
#define LOOK_CALL kernel
#endif

#define CANONICAL_LINKS 40 /* one behind the other, as the kernel follows them */

/* The name of what is open, with its NUL; its length, or -1. */
static inline ssize_t canonical_name_of(int fd, char *to)
{
	char name[32], *end = name + sizeof name;
	unsigned number = (unsigned)fd;
	*--end = '\0';
	do
		*--end = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	const char own[] = "/proc/self/fd/";
	end -= sizeof own - 1;
	memcpy(end, own, sizeof own - 1);
	long got = LOOK_CALL(SYS_readlinkat, AT_FDCWD, end, to, PATH_MAX);
	if (got <= 0 || got >= PATH_MAX || *to != '/') {
		errno = got > 0 ? ENAMETOOLONG : errno;
		return -1;
	}
	to[got] = '\0';
	return got;
}

/* The folder of a path, canonically, into `to`; its length, or -1.  Its own name are the first
 * `size` bytes of `room`, the last of which is a slash, or may be overwritten. */
static inline ssize_t canonical_folder(int dir, char *room, size_t size, char *to)
{
	if (size == 0 && dir != AT_FDCWD)
		return canonical_name_of(dir, to);
	if (size == 0) {
		long got = LOOK_CALL(SYS_getcwd, to, PATH_MAX);
		errno = got > 0 && *to != '/' ? ENOENT : errno;
		return got > 0 && *to == '/' ? got - 1 : -1;
	}
	if (size > 1)
		room[size - 1] = '\0';
	int fd = (int)LOOK_CALL(SYS_openat, dir, size > 1 ? room : "/",
	                        O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	ssize_t got = canonical_name_of(fd, to);
	int why = errno;
	kernel(SYS_close, fd);
	errno = why;
	return got;
}

/* The canonical name of what a path names, or would name: the last component's link is followed if
 * `follow` is set.  Both `to` and `room` have PATH_MAX bytes.  -1 and errno: ENOENT or the like
 * where nothing can be there, ENAMETOOLONG, or why the kernel would not tell. */
static inline int canonical(int dir, const char *path, int follow, char *to, char *room)
{
	size_t size = strlen(path);
	errno = ENAMETOOLONG;
	if (size == 0 || size >= PATH_MAX)
		return -1;
	memcpy(room, path, size + 1);
	for (int links = 0; links < CANONICAL_LINKS; links++) {
		while (size > 1 && room[size - 1] == '/') {
			room[--size] = '\0';
			follow = 1;
		}
		const char *slash = strrchr(room, '/');
		size_t before = slash != NULL ? (size_t)(slash - room) + 1 : 0;
		const char *last = room + before;
		size_t length = size - before;
		if (length == 0 || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
			return canonical_folder(dir, room, size + 1, to) > 0 ? 0 : -1;
		ssize_t folder = canonical_folder(dir, room, before, to);
		if (folder < 0)
			return -1;
		if (to[folder - 1] == '/')
			folder--;
		errno = ENAMETOOLONG;
		if ((size_t)folder + length + 2 > PATH_MAX)
			return -1;
		to[folder] = '/';
		memcpy(to + folder + 1, last, length + 1);
		if (!follow)
			return 0;
		long got = LOOK_CALL(SYS_readlinkat, AT_FDCWD, to, room, PATH_MAX);
		if (got <= 0)
			return 0;
		errno = ENAMETOOLONG;
		if (got >= PATH_MAX || (*room != '/' && folder + got + 2 > PATH_MAX))
			return -1;
		if (*room != '/') {
			memmove(room + folder + 1, room, (size_t)got);
			memcpy(room, to, (size_t)folder + 1);
			got += folder + 1;
		}
		room[got] = '\0';
		size = (size_t)got;
		dir = AT_FDCWD;
	}
	errno = ELOOP;
	return -1;
}

#endif
