/* Where an output lies: the way to its folder. */
#include "entry.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <unistd.h>

#include "base/canonical.h"
#include "base/kernel.h"
#include "base/util.h"

#define FOLDER (O_PATH | O_DIRECTORY | O_CLOEXEC)

int memo_is_below(const char *path)
{
	if (*path == '/' || *path == '\0')
		return 0;
	for (const char *at = path; at != NULL; at = strchr(at, '/')) {
		at += *at == '/';
		if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
			return 0;
	}
	return 1;
}

/* Name by name, where the kernel is older than openat2(2), or a filter refuses it.  ELOOP for a
 * link, as there. */
static int step_by_step(char *path)
{
	int at = (int)kernel(SYS_openat, AT_FDCWD, *path == '/' ? "/" : ".", FOLDER, 0);
	char *name = path;
	while (at >= 0 && *name != '\0') {
		char *end = strchrnul(name, '/'), after = *end;
		struct stat info;
		*end = '\0';
		int next =
		    *name == '\0' ? at : (int)kernel(SYS_openat, at, name, FOLDER | O_NOFOLLOW, 0);
		int why = errno;
		if (next < 0 && kernel(SYS_newfstatat, at, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISLNK(info.st_mode))
			why = ELOOP;
		*end = after;
		if (next != at)
			close(at);
		errno = why;
		at = next;
		name = end + (after != '\0');
	}
	return at;
}

static int open_without_links(char *path)
{
	const struct open_how how = {.flags = FOLDER,
	                             .resolve = RESOLVE_NO_SYMLINKS |
	                                        (memo_is_below(path) ? RESOLVE_BENEATH : 0u)};
	int fd = (int)kernel(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
	if (fd >= 0 || errno == ELOOP || errno == ENOENT || errno == ENOTDIR || errno == EACCES)
		return fd;
	return step_by_step(path);
}

static int open_through_links(const char *folder, char room[PATH_MAX])
{
	int fd = (int)kernel(SYS_openat, AT_FDCWD, folder, FOLDER, 0);
	if (fd >= 0 && canonical_name_of(fd, room) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int memo_lies_at(const char *path, char place[PATH_MAX])
{
	int fd = (int)kernel(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
	int failed = fd < 0 || canonical_name_of(fd, place) < 0;
	if (fd >= 0)
		close(fd);
	return failed ? -1 : 0;
}

/* What another machine has seen says nothing of this one's links (memo/remote.c). */
static int is_foreign(const struct memo_entry *entry)
{
	static const unsigned char none[sizeof entry->boot];
	return memcmp(entry->boot, none, sizeof none) == 0;
}

int memo_leads(const char *path, char folder[PATH_MAX], char room[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	if (slash == NULL || memo_folder_of(path, folder) != 0)
		return 0;
	int fd = open_without_links(folder), is_link = fd < 0 && errno == ELOOP;
	if (is_link)
		fd = open_through_links(folder, room);
	if (fd >= 0)
		close(fd);
	return is_link ? (fd >= 0 ? 1 : -1) : 0;
}

int memo_open_way(const struct memo_entry *entry, const char *path, const char **name)
{
	char folder[PATH_MAX], room[PATH_MAX];
	const char *slash = strrchr(path, '/');
	*name = slash != NULL ? slash + 1 : path;
	if (slash == NULL)
		return AT_FDCWD;
	errno = ENAMETOOLONG;
	if (memo_folder_of(path, folder) != 0)
		return -1;
	int fd = open_without_links(folder);
	if (fd >= 0 || errno != ELOOP || is_foreign(entry))
		return fd;
	const struct memo_fact *fact = MEMO_FIRST_FACT(entry);
	for (uint32_t i = 0; i < entry->facts; i++, fact = MEMO_NEXT(fact)) {
		const char *from = (const char *)(fact + 1), *to = from + fact->path_size;
		if (fact->kind != MEMO_LEADS_TO || strcmp(from, folder) != 0)
			continue;
		fd = open_through_links(folder, room);
		if (fd < 0 || strcmp(room, to) == 0)
			return fd;
		close(fd);
	}
	errno = ELOOP;
	return -1;
}

void memo_close_way(int fd)
{
	int before = errno;
	if (fd >= 0)
		close(fd);
	errno = before;
}
