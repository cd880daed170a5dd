/* Which file systems may be believed. */
#include "store.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include "base/kernel.h"

/* Whether this kernel is as new as that on which leases on overlayfs were tried. */
static int is_new_kernel(void)
{
	struct utsname name;
	if (kernel(SYS_uname, &name) != 0)
		return 0;
	char *end;
	long major = strtol(name.release, &end, 10);
	long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
	return major > 6 || (major == 6 && minor >= 18);
}

static int near_of(const char *path)
{
	static const uint64_t leased[] = {0xef53, 0x58465342, 0x9123683e}; /* ext4, XFS, Btrfs */
	static const uint64_t others[] = {0xf2f52010, 0x2fc12fc1};         /* F2FS, ZFS */
	const uint64_t tmpfs = 0x01021994, overlayfs = 0x794c7630;
	struct statfs system;
	if (kernel(SYS_statfs, path, &system) != 0)
		return 0;
	uint64_t type = (uint64_t)(uint32_t)system.f_type;
	for (size_t i = 0; i < sizeof leased / sizeof *leased; i++)
		if (type == leased[i])
			return MEMO_NEAR_BY_LEASE;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (type == others[i])
			return MEMO_NEAR_ON_DISK;
	if (type == overlayfs)
		return is_new_kernel() ? MEMO_NEAR_BY_LEASE : MEMO_NEAR_ON_DISK;
	return type == tmpfs ? MEMO_NEAR_IN_MEMORY : 0;
}

/* Another computer may change what lies on a network's file system, and its times come late. */
int memo_near_at(uint64_t device, const char *path)
{
	static struct {
		uint64_t device;
		int is_near;
	} known[8];
	static size_t count;
	for (size_t i = 0; i < count; i++)
		if (known[i].device == device)
			return known[i].is_near;
	int near = near_of(path);
	if (count < sizeof known / sizeof *known) {
		known[count].device = device;
		known[count++].is_near = near;
	}
	return near;
}

/* How long a path is without its last name. */
static size_t above(const char *path, size_t size)
{
	while (size > 1 && path[size - 1] == '/')
		size--;
	while (size > 0 && path[size - 1] != '/')
		size--;
	while (size > 1 && path[size - 1] == '/')
		size--;
	return size;
}

/* The same of the folder in which a name is, or is looked for. */
int memo_near_above(const char *path)
{
	static struct {
		const char *path;
		size_t size;
		int is_near;
	} known[256];
	char folder[PATH_MAX];
	struct stat info;
	int near = -1;
	const size_t first = above(path, strlen(path));
	size_t at = quick_sum(path, first) % (sizeof known / sizeof *known);
	if (known[at].path != NULL && known[at].size == first &&
	    memcmp(known[at].path, path, first) == 0)
		return known[at].is_near;
	for (size_t size = first; near < 0; size = above(path, size)) {
		memcpy(folder, path, size);
		strcpy(folder + size, size == 0 ? "." : "");
		if (kernel(SYS_newfstatat, AT_FDCWD, folder, &info, 0) == 0)
			near = memo_near_at(info.st_dev, folder);
		else if (size <= 1)
			near = 0;
	}
	known[at].path = path;
	known[at].size = first;
	known[at].is_near = near;
	return near;
}
