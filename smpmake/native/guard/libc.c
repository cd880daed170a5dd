/* libc's own functions, found before any hook runs. */
#include "libc.h"
#include "chain.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>

struct libc libc;
int libc_is_alone;

void *find_in_libc(const char *name)
{
	int before = errno;
	void *function = dlsym(RTLD_NEXT, name);
	errno = before;
	return function;
}

/* In the place of what only newer libcs have: who looks whether there is one finds our hook. */
static long none(void)
{
	errno = ENOSYS;
	return -1;
}

void *found_in_libc(const char *name)
{
	void *function = find_in_libc(name);
	return function != NULL ? function : (void *)(uintptr_t)none;
}

#define FIND(name) *(void **)&libc.name = find_in_libc(#name)

__attribute__((constructor(101))) static void find_first(void)
{
	FIND(open);
	FIND(open64);
	FIND(openat);
	FIND(openat64);
	FIND(fopen);
	FIND(fopen64);
	FIND(stat);
	FIND(stat64);
	FIND(lstat);
	FIND(lstat64);
	FIND(fstatat);
	FIND(fstatat64);
	FIND(__xstat);
	FIND(__lxstat);
	FIND(access);
	FIND(faccessat);
	FIND(readlink);
	FIND(opendir);
	FIND(fdopendir);
	FIND(unlink);
	FIND(unlinkat);
	FIND(rename);
	FIND(chmod);
	FIND(mkdir);
	FIND(execve);
	FIND(posix_spawn);
	libc_is_alone = are_libcs((const uintptr_t *)&libc, sizeof libc / sizeof(uintptr_t));
}
