/* libc's own functions, found when a hook first needs them. */
#include "libc.h"
#include "chain.h"

#include <dlfcn.h>
#include <errno.h>

struct libc libc;

void *find_in_libc(const char *name)
{
	int before = errno;
	void *function = next_in_chain(name);
	if (function == NULL)
		function = dlsym(RTLD_NEXT, name);
	errno = before;
	return function;
}

/* In the place of what only newer libcs have: who looks whether there is one finds our hook. */
static long none(void)
{
	errno = ENOSYS;
	return -1;
}

void *found_in_libc(void *place, const char *name)
{
	void *function = find_in_libc(name);
	if (function == NULL)
		function = (void *)(uintptr_t)none;
	__atomic_store_n((void **)place, function, __ATOMIC_RELAXED);
	return function;
}

/* Those by which a job opens files and looks at them, which it need not do by way of libc. */
static int compare(void)
{
	static const char names[][12] = {
	    "open",   "open64",    "openat",   "openat64", "fopen",      "fopen64", "stat",
	    "stat64", "lstat",     "lstat64",  "fstatat",  "fstatat64",  "__xstat", "__lxstat",
	    "access", "faccessat", "readlink", "opendir",  "fdopendir",  "unlink",  "unlinkat",
	    "rename", "chmod",     "mkdirat",  "execve",   "posix_spawn"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!is_next_of_libc(names[i]))
			return 0;
	return 1;
}

int libc_is_alone(void)
{
	enum { UNKNOWN, ALONE, NOT_ALONE };
	static int known;
	int is = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (is == UNKNOWN) {
		is = compare() ? ALONE : NOT_ALONE;
		__atomic_store_n(&known, is, __ATOMIC_RELAXED);
	}
	return is == ALONE;
}
