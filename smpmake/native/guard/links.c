/* The hooks that read links.  A compiler asks realpath(3) for the folder of each header that it
 * looks for, which is most of its system calls; libc makes those itself, where nobody can note them
 * (looks.h).
 */
#include "hooked.h"
#include "intents.h"
#include "looks.h"

#include <errno.h>
#include <linux/fcntl.h>
#include <string.h>

extern char *strdup(const char *text);

static int are_ours(void)
{
	return looks_are_noted() && libc_is_alone();
}

EXPORT ssize_t readlink(const char *path, char *to, size_t size)
{
	reads(AT_FDCWD, path);
	return are_ours() ? noted_readlink(AT_FDCWD, path, to, size)
	                  : LIBC(readlink)(path, to, size);
}

EXPORT ssize_t readlinkat(int dir, const char *path, char *to, size_t size)
{
	reads(dir, path);
	return are_ours() ? noted_readlink(dir, path, to, size)
	                  : LIBC(readlinkat)(dir, path, to, size);
}

/* ------------------------------------------------------------------ realpath */

/* Whether what comes behind a name makes sense for a folder alone: "/", "/." or "/..". */
static int is_of_folder(const char *rest)
{
	size_t slashes = strspn(rest, "/");
	const char *next = rest + slashes;
	size_t size = strcspn(next, "/");
	return slashes > 0 && (size == 0 || (size <= 2 && strncmp(next, "..", size) == 0));
}

/* Whether a name is there, and no link; 0, errno, or -1 for what only libc has an answer to. */
static int look_at_part(char *whole, char *end, int is_folder)
{
	char target[1];
	struct stat info;
	if (noted_readlink(AT_FDCWD, whole, target, 1) >= 0)
		return -1;
	if (errno == EINVAL && is_folder) {
		strcpy(end, "/");
		int failed = noted_stat(AT_FDCWD, whole, &info, 0);
		*end = '\0';
		return failed ? -1 : 0;
	}
	return errno == EINVAL ? 0 : errno == ENOENT || errno == ENOTDIR ? errno : -1;
}

/* Puts the name of a path into a page, where no part of it is a link; as look_at_part. */
static int resolve(const char *path, char *page)
{
	char *end = page;
	if (*path != '/') {
		long size = kernel(SYS_getcwd, page, PATH_MAX);
		if (size <= 0 || *page != '/')
			return -1;
		end = page + size - 1;
	}
	if (end == page + 1)
		end = page; /* of the root */
	while (*(path += strspn(path, "/")) != '\0') {
		size_t size = strcspn(path, "/");
		if (size == 2 && path[0] == '.' && path[1] == '.') {
			while (end > page && *--end != '/')
				continue;
		} else if (size != 1 || *path != '.') {
			if ((size_t)(end - page) + size + 3 > PATH_MAX)
				return -1;
			*end = '/';
			end = mempcpy(end + 1, path, size);
			*end = '\0';
			int failed = look_at_part(page, end, is_of_folder(path + size));
			if (failed)
				return failed;
		}
		path += size;
	}
	strcpy(end, end == page ? "/" : "");
	return 0;
}

EXPORT char *realpath(const char *path, char *to)
{
	int before = errno;
	reads(AT_FDCWD, path);
	if (are_ours() && path != NULL && *path != '\0') {
		ON_PAGE(page);
		int failed = page != NULL ? resolve(path, page) : -1;
		errno = failed > 0 ? failed : before;
		if (failed >= 0 && to != NULL && (failed == 0 || failed == ENOENT)) {
			strcpy(to, page); /* as far as there is something */
			return failed ? NULL : to;
		}
		if (failed >= 0 && to == NULL)
			return failed ? NULL : strdup(page);
	}
	return LIBC(realpath)(path, to);
}
