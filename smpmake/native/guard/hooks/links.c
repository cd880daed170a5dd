/* The hooks that read links.  A compiler asks realpath(3) for the folder of each header that it
 * looks for, which is most of its system calls; libc makes those itself, where nobody can note them
 * (looks.h).
 */
#include "guard/looks.h"
#include "hooked.h"
#include "intents.h"

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

#define LINKS 8 /* of one path: with more of them libc says how many are too many */

struct resolving {
	const char *rest;  /* of the path; in `text` once a link was followed */
	char *whole, *end; /* what is resolved, and its end */
	char *text, *target;
	int links;
};

/* What is behind `end` now has been found to be a link. */
static int follow(struct resolving *r, size_t size)
{
	size_t rest = strlen(r->rest) + 1;
	if (r->text == NULL)
		r->text = pages_take(PATH_MAX);
	if (r->text == NULL || ++r->links > LINKS || size + rest > PATH_MAX)
		return -1;
	memmove(r->text + size, r->rest, rest);
	r->rest = memcpy(r->text, r->target, size);
	if (*r->text == '/')
		r->end = r->whole;
	return 0;
}

/* Adds a name that is there, or what it leads to; 0, errno, or -1 for what only libc has an answer
 * to.  The rest of the path is behind it already. */
static int add(struct resolving *r, const char *name, size_t size)
{
	struct stat info;
	if ((size_t)(r->end - r->whole) + size + 3 > PATH_MAX)
		return -1;
	*r->end = '/';
	char *end = mempcpy(r->end + 1, name, size);
	*end = '\0';
	if (r->target == NULL && (r->target = pages_take(PATH_MAX)) == NULL)
		return -1;
	long target = noted_readlink(AT_FDCWD, r->whole, r->target, PATH_MAX);
	if (target > 0)
		return follow(r, (size_t)target);
	if (target == 0)
		return -1;
	int failed = errno == EINVAL ? 0 : errno;
	if (is_of_folder(r->rest)) {
		strcpy(end, "/");
		failed = noted_stat(AT_FDCWD, r->whole, &info, 0) != 0 ? errno : 0;
		*end = '\0';
	}
	if (failed)
		return failed == ENOENT || failed == ENOTDIR ? failed : -1;
	r->end = end;
	return 0;
}

static int resolve(struct resolving *r)
{
	r->end = r->whole;
	if (*r->rest != '/') {
		long size = kernel(SYS_getcwd, r->whole, PATH_MAX);
		if (size <= 0 || *r->whole != '/')
			return -1;
		r->end += size > 2 ? size - 1 : 0; /* of the root none */
	}
	while (*(r->rest += strspn(r->rest, "/")) != '\0') {
		const char *name = r->rest;
		size_t size = strcspn(name, "/");
		int failed = 0;
		r->rest += size;
		if (size == 2 && name[0] == '.' && name[1] == '.')
			while (r->end > r->whole && *--r->end != '/')
				continue;
		else if (size != 1 || *name != '.')
			failed = add(r, name, size);
		if (failed)
			return failed;
	}
	strcpy(r->end, r->end == r->whole ? "/" : "");
	return 0;
}

EXPORT char *realpath(const char *path, char *to)
{
	reads(AT_FDCWD, path);
	if (are_ours() && path != NULL && *path != '\0') {
		ON_PAGE(page);
		struct resolving r = {.rest = path, .whole = page};
		int failed = page != NULL ? resolve(&r) : -1;
		page_give(&r.text);
		page_give(&r.target);
		if (failed > 0)
			errno = failed;
		if (failed >= 0 && to != NULL && (failed == 0 || failed == ENOENT)) {
			strcpy(to, page); /* as far as there is something */
			return failed ? NULL : to;
		}
		if (failed >= 0 && to == NULL)
			return failed ? NULL : strdup(page);
	}
	return LIBC(realpath)(path, to);
}
