#include "passing.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char **made;
static size_t count;

int folder_of(const char *path, char *folder)
{
	const char *slash = strrchr(path, '/');
	size_t size = slash != NULL ? (size_t)(slash - path) : 0;
	if (size == 0 || size >= PATH_MAX)
		return 0;
	memcpy(folder, path, size);
	folder[size] = '\0';
	return 1;
}

void passing_folder_of(const char *path)
{
	char folder[PATH_MAX];
	struct stat info;
	if (!folder_of(path, folder) || lstat(folder, &info) == 0)
		return;
	passing_folder_of(folder);
	char **more = realloc(made, (count + 1) * sizeof *made);
	if (more == NULL)
		return;
	made = more;
	made[count] = strdup(folder);
	if (made[count] != NULL && mkdir(folder, 0700) == 0)
		count++;
	else
		free(made[count]);
}

int passing_is(const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(made[i], path) == 0)
			return 1;
	return 0;
}

int passing_folder_stays(const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(made[i], path) == 0) {
			free(made[i]);
			memmove(made + i, made + i + 1, (--count - i) * sizeof *made);
			return 1;
		}
	return 0;
}

void passing_folders_go(void (*left)(const char *path))
{
	while (count > 0) {
		char *folder = made[--count], above[PATH_MAX] = "/";
		struct stat info;
		folder_of(folder, above);
		int known = stat(above, &info) == 0;
		if (rmdir(folder) == 0 && known) {
			const struct timespec times[2] = {info.st_atim, info.st_mtim};
			utimensat(AT_FDCWD, above, times, 0);
		} else if (lstat(folder, &info) == 0) {
			left(folder);
		}
		free(folder);
	}
}
