/* The times of folders in which jobs make and remove entries: as their commands were issued. */
#include "folder.h"
#include "base/kernel.h"
#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

const char *folder_of(const char *path, char *room)
{
	const char *slash = strrchr(path, '/');
	size_t size = slash == path ? 1 : (size_t)(slash - path);
	if (slash == NULL)
		return ".";
	if (room == NULL || size >= PATH_MAX)
		return NULL;
	memcpy(room, path, size);
	room[size] = '\0';
	return room;
}

void folder_before(struct folder *folder, int may, int dir, const char *path)
{
	int before = errno;
	struct stat info;
	folder->matters = 0;
	if (!may || guard.trace == NULL || guard.trace->recipes || is_inert() || path == NULL ||
	    is_session(path))
		return;
	ON_PAGE(room);
	const char *name = folder_of(path, room);
	/* Everybody's folders, /tmp among them, have no time that matters. */
	if (name != NULL && kernel(SYS_newfstatat, dir, name, &info, 0) == 0 &&
	    !(info.st_mode & S_ISVTX))
		*folder = (struct folder){1, info.st_dev, info.st_ino, NS_OF(info.st_mtim)};
	errno = before;
}

void folder_after(const struct folder *folder, int dir, const char *path)
{
	int before = errno;
	struct stat info;
	if (!folder->matters)
		return;
	ON_PAGE(room);
	const char *name = folder_of(path, room);
	int64_t to = guard.trace->issued_ns;
	if (name != NULL && kernel(SYS_newfstatat, dir, name, &info, 0) == 0 &&
	    info.st_ino == folder->inode && info.st_dev == folder->device &&
	    NS_OF(info.st_mtim) != folder->changed_ns) {
		to = to > folder->changed_ns ? to : folder->changed_ns;
		const struct timespec times[] = {
		    {.tv_nsec = UTIME_OMIT},
		    {.tv_sec = to / 1000000000, .tv_nsec = to % 1000000000}};
		kernel(SYS_utimensat, dir, name, times, 0);
	}
	errno = before;
}
