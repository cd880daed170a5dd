/* Programs that a guarded process starts: known tools go to their shim, and the guard goes with the
 * rest whatever became of the environment.
 */
#include "exec.h"
#include "intents.h"
#include "kernel.h"
#include "program.h"
#include "tools.h"

#include <errno.h>
#include <linux/fcntl.h>
#include <stdarg.h>
#include <string.h>

#define X_OK 1        /* <unistd.h> stays out, as in hooks.c */
#define EXTRA 12      /* variables that a plan may add */
#define MAX_ENV 16384 /* more than that we do not copy on a stack */
#define TEXT 4096

/* How a program is to be started: made on the stack, because a vfork child has no other place. */
struct plan {
	const char *path;
	char **env;
	char found[PATH_MAX];
	char shim[PATH_MAX];
	char real[PATH_MAX + 16];
	char caller[32], unguarded[40];
	char preload[TEXT], search[TEXT], sanitizer[512];
};

static size_t count_of(char *const *list)
{
	size_t count = 0;
	while (list != NULL && list[count] != NULL)
		count++;
	return count;
}

/* ------------------------------------------------------------------ the environment */

static int is_ours(const char *variable)
{
	static const char *const names[] = {
	    "SOCKET=", "BOARD=",  "GUARD=",     "SHIMS=", "BUILD=", "COMMAND=",
	    "TRACE=",  "CALLER=", "UNGUARDED=", "REAL=",  "LINE=",  NULL};
	if (strncmp(variable, "SMPMAKE_", 8) != 0)
		return 0;
	for (const char *const *name = names; *name != NULL; name++)
		if (strncmp(variable + 8, *name, strlen(*name)) == 0)
			return 1;
	return 0;
}

/* Other people's libraries, with ours before them or taken out. */
static char *preload_text(struct plan *plan, const char *others, int with_ours)
{
	const char *library = guard.values[V_GUARD];
	size_t own = strlen(library);
	char *at = stpcpy(plan->preload, "LD_PRELOAD="), *start = at;
	if (with_ours)
		at = stpcpy(at, library);
	while (others != NULL && *others != '\0') {
		size_t length = strcspn(others, ": ");
		int same = length == own && memcmp(others, library, own) == 0;
		if (length > 0 && !same) {
			if ((size_t)(at - plan->preload) + length + 2 > sizeof plan->preload)
				return NULL;
			if (at > start)
				*at++ = ':';
			at = mempcpy(at, others, length);
		}
		others += length + (others[length] != '\0');
	}
	*at = '\0';
	return at > start ? plan->preload : NULL;
}

/* A program without a guard finds our shims by name instead. */
static char *search_text(struct plan *plan, const char *path)
{
	const char *shims = guard.values[V_SHIMS];
	if (path == NULL || strlen(path) + strlen(shims) + 8 > sizeof plan->search)
		return NULL;
	size_t own = strlen(shims);
	if (strncmp(path, shims, own) == 0 && (path[own] == ':' || path[own] == '\0'))
		return NULL;
	strcpy(stpcpy(stpcpy(stpcpy(plan->search, "PATH="), shims), ":"), path);
	return plan->search;
}

static char *sanitizer_text(struct plan *plan, const char *options)
{
	if (options != NULL && strlen(options) + 48 > sizeof plan->sanitizer)
		return NULL;
	char *at = stpcpy(plan->sanitizer, "ASAN_OPTIONS=verify_asan_link_order=0");
	if (options != NULL)
		strcpy(stpcpy(at, ":"), options);
	return plan->sanitizer;
}

static void plan_environment(struct plan *plan, char *const *env, struct nature nature, int tool,
                             int shimmed)
{
	const char *others = value_in(env, "LD_PRELOAD=", 11);
	char *preload = preload_text(plan, others, nature.takes_guard);
	char *search =
	    nature.takes_guard || tool ? NULL : search_text(plan, value_in(env, "PATH=", 5));
	char *sanitizer =
	    nature.checks_order ? sanitizer_text(plan, value_in(env, "ASAN_OPTIONS=", 13)) : NULL;
	size_t n = 0;
	for (; env != NULL && *env != NULL; env++)
		if (!is_ours(*env) && strncmp(*env, "LD_PRELOAD=", 11) != 0 &&
		    !(search != NULL && strncmp(*env, "PATH=", 5) == 0) &&
		    !(sanitizer != NULL && strncmp(*env, "ASAN_OPTIONS=", 13) == 0))
			plan->env[n++] = *env;
	for (int i = 0; i < V_COUNT; i++)
		if (guard.values[i] != NULL)
			plan->env[n++] = guard.variables[i];
	if (tool && guard.values[V_COMMAND] == NULL)
		plan->env[n++] = (char *)(uintptr_t)"SMPMAKE_COMMAND=0";
	if (preload != NULL)
		plan->env[n++] = preload;
	if (search != NULL)
		plan->env[n++] = search;
	if (sanitizer != NULL)
		plan->env[n++] = sanitizer;
	put_number(plan->caller,
	           "SMPMAKE_CALLER=", nature.takes_guard ? (uint32_t)kernel(SYS_getpid) : 0);
	plan->env[n++] = plan->caller;
	if (guard.unguarded != 0) {
		put_number(plan->unguarded, "SMPMAKE_UNGUARDED=", guard.unguarded);
		plan->env[n++] = plan->unguarded;
	}
	if (shimmed)
		plan->env[n++] = plan->real;
	plan->env[n] = NULL;
}

/* ------------------------------------------------------------------ the plan */

/* A build inside the build has a keeper, which has no loader. */
static int is_our_own(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strcmp(slash != NULL ? slash + 1 : path, "smpmake-keeper") == 0;
}

/* Other people's libraries among those that are to be preloaded. */
static const char *others_of(const char *preload)
{
	const char *library = guard.values[V_GUARD];
	size_t own = strlen(library);
	if (preload == NULL || strncmp(preload, library, own) != 0)
		return preload;
	return preload + own + (preload[own] != '\0');
}

static SLOW void see_libraries(const char *path, char *const *env)
{
	const char *const more[] = {others_of(value_in(env, "LD_PRELOAD=", 11)),
	                            value_in(env, "LD_AUDIT=", 9)};
	guard_see_libraries(path, value_in(env, "LD_LIBRARY_PATH=", 16), more);
}

/* Decides what to run for `path` in `env`, into a plan whose `env` has room. */
static SLOW void make_plan(struct plan *plan, int dir, const char *path, char *const *argv,
                           char *const *env)
{
	int before = errno;
	int tool = is_tool();
	plan->path = path;
	reads(dir, path);
	if (dir == AT_FDCWD && !tool && goes_to_shim(path, argv, plan->shim, plan->real)) {
		plan_environment(plan, env, (struct nature){.takes_guard = 1}, 0, 1);
		plan->path = plan->shim;
	} else if (!tool && is_shim(path)) {
		/* It asks for itself: nothing is to be waited for here. */
		plan_environment(plan, env, (struct nature){.takes_guard = 1}, 0, 0);
	} else {
		struct nature nature = nature_of(path);
		if (is_our_own(path)) /* it hands the guard on */
			nature.takes_guard = 1;
		if (!nature.takes_guard && !tool)
			leaves(path);
		if (!nature.takes_guard && guard.trace != NULL)
			guard_note('u', dir, path);
		if (guard.board->libraries != 0 && dir == AT_FDCWD)
			see_libraries(path, env);
		plan_environment(plan, env, nature, tool, 0);
	}
	errno = before;
}

/* The program that a name without a slash means, as execvp finds it; NULL: let libc say so. */
static const char *search_for(struct plan *plan, const char *name)
{
	const char *path = value_in(environ, "PATH=", 5);
	int before = errno;
	if (*name == '\0' || strchr(name, '/') != NULL)
		return name;
	for (path = path != NULL ? path : "/bin:/usr/bin";; path++) {
		size_t length = strcspn(path, ":");
		struct stat info;
		if (length + strlen(name) + 3 < sizeof plan->found) {
			char *at = mempcpy(plan->found, path, length);
			strcpy(stpcpy(at, length > 0 ? "/" : "./"), name);
			reads(AT_FDCWD, plan->found);
			if (kernel(SYS_newfstatat, AT_FDCWD, plan->found, &info, 0) == 0 &&
			    S_ISREG(info.st_mode) &&
			    kernel(SYS_faccessat, AT_FDCWD, plan->found, X_OK) == 0) {
				errno = before;
				return plan->found;
			}
		}
		path += length;
		if (*path == '\0')
			break;
	}
	errno = before;
	return NULL;
}

/* Room for a plan and its environment in the caller's frame; `call` uses `plan`, or the arguments
 * as they came where there is no session. */
#define PLANNED(dir, name, searches, given, call, plain)                                           \
	do {                                                                                       \
		size_t count = count_of(given);                                                    \
		if (!guard.active || (name) == NULL || count > MAX_ENV)                            \
			return plain;                                                              \
		char *room[count + V_COUNT + EXTRA];                                               \
		struct plan plan;                                                                  \
		plan.env = room;                                                                   \
		const char *what = (searches) ? search_for(&plan, name) : (name);                  \
		if (what == NULL)                                                                  \
			return plain;                                                              \
		make_plan(&plan, dir, what, argv, given);                                          \
		return call;                                                                       \
	} while (0)

EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
	PLANNED(AT_FDCWD, path, 0, env, LIBC(execve)(plan.path, argv, plan.env),
	        LIBC(execve)(path, argv, env));
}

EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

EXPORT int execvpe(const char *path, char *const argv[], char *const env[])
{
	PLANNED(AT_FDCWD, path, 1, env, LIBC(execvpe)(plan.path, argv, plan.env),
	        LIBC(execvpe)(path, argv, env));
}

EXPORT int execvp(const char *path, char *const argv[])
{
	return execvpe(path, argv, environ);
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags)
{
	PLANNED(dir, path, 0, env,
	        plan.path == path ? LIBC(execveat)(dir, path, argv, plan.env, flags)
	                          : LIBC(execve)(plan.path, argv, plan.env),
	        LIBC(execveat)(dir, path, argv, env, flags));
}

EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
	/* Nothing is looked up: what is open has been waited for. */
	PLANNED(fd, ".", 0, env, LIBC(fexecve)(fd, argv, plan.env), LIBC(fexecve)(fd, argv, env));
}

EXPORT int posix_spawn(int *pid, const char *path, const void *actions, const void *attributes,
                       char *const argv[], char *const env[])
{
	PLANNED(AT_FDCWD, path, 0, env,
	        LIBC(posix_spawn)(pid, plan.path, actions, attributes, argv, plan.env),
	        LIBC(posix_spawn)(pid, path, actions, attributes, argv, env));
}

EXPORT int posix_spawnp(int *pid, const char *path, const void *actions, const void *attributes,
                        char *const argv[], char *const env[])
{
	PLANNED(AT_FDCWD, path, 1, env,
	        LIBC(posix_spawnp)(pid, plan.path, actions, attributes, argv, plan.env),
	        LIBC(posix_spawnp)(pid, path, actions, attributes, argv, env));
}

/* Collects the words of an execl into `words` (of at least the count that came). */
static size_t words_after(va_list list)
{
	size_t count = 1;
	while (va_arg(list, char *) != NULL)
		count++;
	return count;
}

#define LISTED(first)                                                                              \
	va_list list;                                                                              \
	va_start(list, first);                                                                     \
	size_t words = (first) != NULL ? words_after(list) : 0;                                    \
	va_end(list);                                                                              \
	char *argv[words + 1];                                                                     \
	va_start(list, first);                                                                     \
	argv[0] = (char *)(uintptr_t)(first);                                                      \
	for (size_t i = 1; i <= words; i++)                                                        \
	argv[i] = va_arg(list, char *)

EXPORT int execl(const char *path, const char *first, ...)
{
	LISTED(first);
	va_end(list);
	return execve(path, argv, environ);
}

EXPORT int execlp(const char *path, const char *first, ...)
{
	LISTED(first);
	va_end(list);
	return execvpe(path, argv, environ);
}

EXPORT int execle(const char *path, const char *first, ...)
{
	LISTED(first);
	char *const *env = va_arg(list, char *const *);
	va_end(list);
	return execve(path, argv, env);
}
