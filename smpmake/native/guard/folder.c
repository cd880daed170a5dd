/* The times of folders in which jobs make and remove entries: as their commands were issued. */
#include "folder.h"
#include "asking.h"
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

void folder_before(struct folder *folder, int dir, const char *path)
{
	int before = errno;
	struct stat info;
	folder->path[0] = '\0';
	if (path != NULL && absolute(dir, path, folder->path, sizeof folder->path) == 0) {
		char *slash = strrchr(folder->path, '/');
		slash[slash == folder->path] = '\0';
		/* Everybody's folders, /tmp among them, have no time that matters. */
		if (kernel(SYS_newfstatat, AT_FDCWD, folder->path, &info, 0) != 0 ||
		    info.st_mode & S_ISVTX)
			folder->path[0] = '\0';
		else
			folder->changed_ns = NS_OF(info.st_mtim);
	}
	errno = before;
}

void folder_after(const struct folder *folder)
{
	int before = errno;
	struct stat info;
	int64_t to = guard.trace->issued_ns;
	if (folder->path[0] != '\0' &&
	    kernel(SYS_newfstatat, AT_FDCWD, folder->path, &info, 0) == 0 &&
	    NS_OF(info.st_mtim) != folder->changed_ns) {
		to = to > folder->changed_ns ? to : folder->changed_ns;
		const struct timespec times[] = {
		    {.tv_nsec = UTIME_OMIT},
		    {.tv_sec = to / 1000000000, .tv_nsec = to % 1000000000}};
		kernel(SYS_utimensat, AT_FDCWD, folder->path, times, 0);
	}
	errno = before;
}
