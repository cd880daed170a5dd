/* The hooks that start programs: known tools go to their shim, and the guard goes with the rest
 * whatever became of the environment.
 */
#include "environment.h"
#include "guard/hooks/hooked.h"
#include "plan.h"

#include <errno.h>
#include <linux/fcntl.h>
#include <stdarg.h>
#include <string.h>

#define FUNCTION(name) (void *)(uintptr_t)LIBC(name)

/* By a function that has the parameters of execve(2). */
static int become(void *function, int searches, const char *path, char *const argv[],
                  char *const env[])
{
	const struct program program = {.call = {.function = function,
	                                         .words = WORDS(path, argv, env),
	                                         .dir = AT_FDCWD,
	                                         .path = path},
	                                .searches = searches,
	                                .is_exec = 1,
	                                .argv_at = 1,
	                                .env_at = 2,
	                                .argv = argv,
	                                .env = env};
	return (int)start_program(&program);
}

EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
	return become(FUNCTION(execve), 0, path, argv, env);
}

EXPORT int execv(const char *path, char *const argv[])
{
	return become(FUNCTION(execve), 0, path, argv, environ);
}

EXPORT int execvpe(const char *path, char *const argv[], char *const env[])
{
	return become(FUNCTION(execvpe), 1, path, argv, env);
}

EXPORT int execvp(const char *path, char *const argv[])
{
	return become(FUNCTION(execvpe), 1, path, argv, environ);
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags)
{
	int is_open = path != NULL && *path == '\0' && flags & AT_EMPTY_PATH;
	const struct program program = {.call = {.function = FUNCTION(execveat),
	                                         .words = WORDS(dir, path, argv, env, flags),
	                                         .dir = dir,
	                                         .path = is_open ? NULL : path},
	                                .is_exec = 1,
	                                .argv_at = 2,
	                                .env_at = 3,
	                                .argv = argv,
	                                .env = env};
	return (int)start_program(&program);
}

EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
	const struct program program = {
	    .call = {.function = FUNCTION(fexecve), .words = WORDS(fd, argv, env), .dir = fd},
	    .is_exec = 1,
	    .argv_at = 1,
	    .env_at = 2,
	    .argv = argv,
	    .env = env};
	return (int)start_program(&program);
}

/* By a function that has the parameters of posix_spawn(3). */
static int spawn(void *function, int searches, int tells_pid, int *pid, const char *path,
                 const void *actions, const void *attributes, char *const argv[], char *const env[])
{
	const struct program program = {
	    .call = {.function = function,
	             .words = WORDS(pid, path, actions, attributes, argv, env),
	             .dir = AT_FDCWD,
	             .path = path},
	    .searches = searches,
	    .argv_at = 4,
	    .env_at = 5,
	    .actions = actions,
	    .attributes = attributes,
	    .tells_pid = tells_pid,
	    .argv = argv,
	    .env = env};
	return (int)start_program(&program);
}

EXPORT int posix_spawn(int *pid, const char *path, const void *actions, const void *attributes,
                       char *const argv[], char *const env[])
{
	return spawn(FUNCTION(posix_spawn), 0, 1, pid, path, actions, attributes, argv, env);
}

EXPORT int posix_spawnp(int *pid, const char *path, const void *actions, const void *attributes,
                        char *const argv[], char *const env[])
{
	return spawn(FUNCTION(posix_spawnp), 1, 1, pid, path, actions, attributes, argv, env);
}

/* The next two are of glibc 2.39.  Before that somebody may find ours, who looks whether there are
 * any, and is told the same as on a kernel that has no such descriptors. */
EXPORT int pidfd_spawn(int *pidfd, const char *path, const void *actions, const void *attributes,
                       char *const argv[], char *const env[])
{
	void *function = find_in_libc("pidfd_spawn");
	if (function == NULL)
		return ENOSYS;
	return spawn(function, 0, 0, pidfd, path, actions, attributes, argv, env);
}

EXPORT int pidfd_spawnp(int *pidfd, const char *path, const void *actions, const void *attributes,
                        char *const argv[], char *const env[])
{
	void *function = find_in_libc("pidfd_spawnp");
	if (function == NULL)
		return ENOSYS;
	return spawn(function, 1, 0, pidfd, path, actions, attributes, argv, env);
}

/* ------------------------------------------------------------------ words one by one */

/* How many words there are, which NULL ends. */
static size_t count_words(const char *first, va_list list)
{
	size_t count = first != NULL;
	while (first != NULL && va_arg(list, char *) != NULL)
		count++;
	return count;
}

static int become_listed(void *function, int searches, const char *path, const char *first,
                         va_list *list, size_t listed, char *const env[])
{
	const struct program program = {.call = {.function = function,
	                                         .words = WORDS(path, 0, env),
	                                         .dir = AT_FDCWD,
	                                         .path = path},
	                                .searches = searches,
	                                .is_exec = 1,
	                                .argv_at = 1,
	                                .env_at = 2,
	                                .env = env,
	                                .first = first,
	                                .list = list,
	                                .listed = listed};
	return (int)start_program(&program);
}

EXPORT int execl(const char *path, const char *first, ...)
{
	va_list list;
	va_start(list, first);
	size_t listed = count_words(first, list);
	va_end(list);
	va_start(list, first);
	int failed = become_listed(FUNCTION(execve), 0, path, first, &list, listed, environ);
	va_end(list);
	return failed;
}

EXPORT int execlp(const char *path, const char *first, ...)
{
	va_list list;
	va_start(list, first);
	size_t listed = count_words(first, list);
	va_end(list);
	va_start(list, first);
	int failed = become_listed(FUNCTION(execvpe), 1, path, first, &list, listed, environ);
	va_end(list);
	return failed;
}

EXPORT int execle(const char *path, const char *first, ...)
{
	va_list list;
	va_start(list, first);
	size_t listed = count_words(first, list);
	char *const *env = va_arg(list, char *const *);
	va_end(list);
	va_start(list, first);
	int failed = become_listed(FUNCTION(execve), 0, path, first, &list, listed, env);
	va_end(list);
	return failed;
}
