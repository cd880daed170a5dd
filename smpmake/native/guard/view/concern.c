/* Whether a question has to be put: it has where the board, or the file's age, does not rule out
 * that something pending has to do with a path.
 */
#include "concern.h"
#include "base/kernel.h"
#include "guard/asking.h"
#include "guard/looks.h"
#include "guard/pages.h"
#include "lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define LINKS 40

/* Whether a link's way leads over a name of what has been changed under us. */
static int leads_to_versions(int dir, const char *path)
{
	if (guard.board->versions == 0 || guard.trace == NULL)
		return 0;
	ON_PAGE(link);
	ON_PAGE(target);
	if (link == NULL || target == NULL)
		return 1;
	for (int i = 0; i < LINKS; i++) {
		long size = kernel(SYS_readlinkat, dir, path, target, PATH_MAX - 1);
		if (size < 0)
			return 0;
		target[size] = '\0';
		if (guard_knows(target))
			return 1;
		if (absolute(dir, path, link, PATH_MAX) != 0 || !target_of(link, target, link))
			return 1;
		dir = AT_FDCWD;
		path = link;
	}
	return 0;
}

int is_stale(int dir, const char *path, int *is_link)
{
	struct stat info;
	*is_link = 0;
	/* For ourselves: the program learns it by its own call. */
	if (kernel_unseen(SYS_newfstatat, dir, path, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	*is_link = S_ISLNK(info.st_mode);
	if (*is_link && kernel_unseen(SYS_newfstatat, dir, path, &info, 0) != 0)
		return errno == ENOENT;
	return is_to_be_replaced(&info);
}

int guard_concerns(int dir, const char *path)
{
	int is_link;
	return is_kept(dir, path) || (is_output(dir, path) && !is_own_output(dir, path)) ||
	       is_stale(dir, path, &is_link) || (is_link && leads_to_versions(dir, path));
}
