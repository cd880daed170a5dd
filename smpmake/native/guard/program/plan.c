#include "plan.h"
#include "base/kernel.h"
#include "environment.h"
#include "guard/asking.h"
#include "guard/hooks/actions.h"
#include "guard/hooks/intents.h"
#include "guard/looks.h"
#include "guard/pages.h"
#include "program.h"
#include "small_work.h"
#include "tools.h"

#include <errno.h>
#include <linux/fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>

#define X_OK 1    /* <unistd.h> stays out, as in hooks.c */
#define EXTRA 12  /* variables that a plan may add */
#define SMALL 256 /* bytes of variables that have a number, or an option of ours */

/* What becomes of a call, in memory that a child of vfork(2) does not share with a stack. */
struct plan {
	int dir;          /* of relative names, as for openat(2) */
	const char *path; /* what is to be run; NULL: what is open as `dir` */
	char **argv, **env;
	char *at; /* where the next text goes */
	struct rest rest;
	int is_alone; /* nobody is to hear of the program, and no library but ours is in it */
};

static size_t count_of(char *const *list)
{
	size_t count = 0;
	while (list != NULL && list[count] != NULL)
		count++;
	return count;
}

/* ------------------------------------------------------------------ the environment */

/* Whether a plan says it anew, or it is nobody's any more.  A long name of a store passes as it
 * came. */
static int is_ours(const char *variable)
{
	enum variable i = variable_named(variable);
	return i < V_MEMO || (i < V_COUNT ? guard.values[i] != NULL : i < V_LOOKS);
}

/* A text has been written from `plan->at` to its end. */
static char *ended(struct plan *plan, char *end)
{
	char *text = plan->at;
	plan->at = end + 1;
	return text;
}

/* Other people's libraries, with ours before them or taken out. */
static char *preload_text(struct plan *plan, const char *others, int with_ours)
{
	const char *library = guard.values[V_GUARD];
	size_t own = strlen(library);
	char *at = stpcpy(plan->at, "LD_PRELOAD="), *start = at;
	if (with_ours)
		at = stpcpy(at, library);
	while (others != NULL && *others != '\0') {
		size_t length = strcspn(others, ": ");
		int same = length == own && memcmp(others, library, own) == 0;
		if (length > 0 && !same) {
			if (at > start)
				*at++ = ':';
			at = mempcpy(at, others, length);
		}
		others += length + (others[length] != '\0');
	}
	*at = '\0';
	return at > start ? ended(plan, at) : NULL;
}

/* A program without a guard finds our shims by name instead. */
static char *search_text(struct plan *plan, const char *path)
{
	const char *shims = guard.values[V_SHIMS];
	if (path == NULL)
		return NULL;
	size_t own = strlen(shims);
	if (strncmp(path, shims, own) == 0 && (path[own] == ':' || path[own] == '\0'))
		return NULL;
	char *at = stpcpy(stpcpy(plan->at, "PATH="), shims);
	return ended(plan, stpcpy(stpcpy(at, ":"), path));
}

static char *sanitizer_text(struct plan *plan, const char *options)
{
	char *at = stpcpy(plan->at, "ASAN_OPTIONS=verify_asan_link_order=0");
	if (options != NULL)
		at = stpcpy(stpcpy(at, ":"), options);
	return ended(plan, at);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

/* What a make is asked for, whoever has taken it out of its environment: behind its letters, if it
 * begins with some.  NULL: nothing is missing. */
static char *flags_text(struct plan *plan, const char *flags)
{
	static const a_name makes[] = {GNU_MAKES, ""};
	const char *name = plan->argv != NULL ? plan->argv[0] : NULL;
	if (!notes_recipes() || name == NULL)
		return NULL;
	if (!is_among(last_part(name), makes) ||
	    (flags != NULL && strstr(flags, CHECK_FLAGS) != NULL))
		return NULL;
	flags = flags != NULL ? flags : "";
	size_t first = strcspn(flags, " ");
	char *at = stpcpy(plan->at, "MAKEFLAGS=");
	if (first > 0 && (*flags == '-' || memchr(flags, '=', first) != NULL))
		first = 0;
	at = stpcpy(mempcpy(at, flags, first), CHECK_FLAGS);
	if (flags[first] != '\0')
		at = stpcpy(stpcpy(at, flags[first] != ' ' ? " " : ""), flags + first);
	return ended(plan, at);
}

static char *number_text(struct plan *plan, const char *name, uint32_t number)
{
	put_number(plan->at, name, number);
	return ended(plan, plan->at + strlen(plan->at));
}

/* `real`: a variable for a shim, or NULL. */
static void plan_environment(struct plan *plan, char *const *env, struct nature nature, int tool,
                             char *real)
{
	const char *others = value_in(env, "LD_PRELOAD=", 11);
	char *preload = preload_text(plan, others, nature.takes_guard || nature.has_no_loader);
	char *search =
	    nature.takes_guard || tool ? NULL : search_text(plan, value_in(env, "PATH=", 5));
	char *sanitizer =
	    nature.checks_order ? sanitizer_text(plan, value_in(env, "ASAN_OPTIONS=", 13)) : NULL;
	char *flags = flags_text(plan, value_in(env, "MAKEFLAGS=", 10));
	size_t n = 0;
	for (; env != NULL && *env != NULL; env++)
		if (!is_ours(*env) && strncmp(*env, "LD_PRELOAD=", 11) != 0 &&
		    !(search != NULL && strncmp(*env, "PATH=", 5) == 0) &&
		    !(sanitizer != NULL && strncmp(*env, "ASAN_OPTIONS=", 13) == 0) &&
		    !(flags != NULL && strncmp(*env, "MAKEFLAGS=", 10) == 0))
			plan->env[n++] = *env;
	for (int i = 0; i < V_COUNT; i++)
		if (guard.values[i] != NULL)
			plan->env[n++] = guard.variables[i];
	if (tool && guard.values[V_COMMAND] == NULL)
		plan->env[n++] = (char *)(uintptr_t)OURS "COMMAND=0";
	if (preload != NULL)
		plan->env[n++] = preload;
	if (search != NULL)
		plan->env[n++] = search;
	if (sanitizer != NULL)
		plan->env[n++] = sanitizer;
	if (flags != NULL)
		plan->env[n++] = flags;
	if (notes_recipes())
		plan->env[n++] = number_text(plan, OURS "RECIPE=", guard.recipe);
	plan->env[n++] = number_text(
	    plan, OURS "CALLER=", nature.takes_guard ? (uint32_t)kernel(SYS_getpid) : 0);
	if (guard.unguarded != 0)
		plan->env[n++] = number_text(plan, OURS "UNGUARDED=", guard.unguarded);
	if (real != NULL)
		plan->env[n++] = real;
	plan->env[n] = NULL;
}

/* ------------------------------------------------------------------ the plan */

/* A build inside the build has a keeper, which has no loader. */
static int is_our_own(const char *path)
{
	return strcmp(last_part(path), "smpmake-keeper") == 0;
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
		if (length + strlen(name) + 3 < PATH_MAX) {
			char *at = mempcpy(plan->at, path, length);
			at = stpcpy(stpcpy(at, length > 0 ? "/" : "./"), name);
			reads(plan->dir, plan->at);
			if (noted_stat(plan->dir, plan->at, &info, 0) == 0 &&
			    S_ISREG(info.st_mode) && noted_access(plan->dir, plan->at, X_OK) == 0) {
				errno = before;
				return ended(plan, at);
			}
		}
		path += length;
		if (*path == '\0')
			break;
	}
	errno = before;
	return NULL;
}

/* Whether the loader only tells what a program would load, as ldd(1) asks it: that changes nothing,
 * and our library is not to be among it. */
static int only_tells(struct nature nature, const char *name, char *const *argv, char *const *env)
{
	const char *asked = argv != NULL && argv[0] != NULL ? argv[1] : NULL;
	const char *traced = value_in(env, "LD_TRACE_LOADED_OBJECTS=", 24);
	int is_loader = strcmp(name, guard.interpreter) == 0 || /* or glibc's for other programs */
	                strncmp(last_part(name), "ld-linux", 8) == 0;
	return ((is_loader || nature.takes_guard) && traced != NULL && *traced != '\0') ||
	       (is_loader && asked != NULL &&
	        (strcmp(asked, "--verify") == 0 || strcmp(asked, "--list") == 0 ||
	         strcmp(asked, "--version") == 0));
}

/* Decides how to run what is at a path, of `dir`, that takes no shim.  `name` is its own. */
static void plan_itself(struct plan *plan, char *const *env, int dir, const char *path,
                        const char *name)
{
	int tool = is_tool();
	struct nature nature = nature_of(dir, path);
	if (is_our_own(name)) /* it hands the guard on */
		nature.takes_guard = 1;
	if (!tool && only_tells(nature, name, plan->argv, env)) {
		nature.takes_guard = nature.has_no_loader = 0;
		guard_see_everything(name);
	} else if (!nature.takes_guard && !tool) {
		leaves(name);
	}
	if (!nature.takes_guard && guard.trace != NULL)
		guard_note('u', AT_FDCWD, name);
	if (guard.board->libraries != 0)
		see_libraries(name, env);
	const char *others = others_of(value_in(env, "LD_PRELOAD=", 11));
	plan->is_alone = nature.takes_guard && nature.is_program && !tool && guard_quiet() &&
	                 guard.trace == NULL && guard.looks == NULL &&
	                 (others == NULL || *others == '\0');
	plan_environment(plan, env, nature, tool, NULL);
}

/* Whether a shell that is part of a job, as libtool is, runs a tool whose result may be remembered:
 * the shim sees to that.  What tools start themselves is part of their own results. */
static int may_be_remembered(void)
{
	return guard.trace != NULL && !guard.trace->recipes && guard.is_part &&
	       reads_lines(guard.name) && guard.values[V_RECALL] != NULL;
}

static SLOW void make_plan(struct plan *plan, char *const *env)
{
	const struct nature guarded = {.takes_guard = 1};
	int before = errno, tool = is_tool(), dir = plan->dir;
	const char *path = plan->path;
	char opened[OPEN_NAME_SIZE], *shim = plan->at, *real = plan->at + SHIM_SIZE;
	ANY_PAGE(name);
	if (path == NULL) {
		path = open_name((unsigned)dir, opened);
		dir = AT_FDCWD;
	}
	reads(dir, path);
	if (dir != AT_FDCWD && *path != '/')
		name = pages_take(PATH_MAX);
	if (name != NULL && absolute(dir, path, name, PATH_MAX) != 0)
		strcpy(name, "/");
	if (plan->path != NULL && name == NULL && (!tool || may_be_remembered()) &&
	    goes_to_shim(path, plan->argv, shim, real)) {
		plan->path = shim;
		plan->at = real + strlen(real) + 1;
		plan_environment(plan, env, guarded, 0, real);
	} else if (!tool && is_shim(path)) {
		/* It asks for itself: nothing is to be waited for here. */
		plan_environment(plan, env, guarded, 0, NULL);
	} else {
		int at = AT_FDCWD;
		const char *file = path;
		if (plan->path == NULL)
			follow_process(&at, &file, &name);
		plan_itself(plan, env, dir, path, name != NULL ? name : file);
	}
	errno = before;
}

/* ------------------------------------------------------------------ the call */

static size_t text_size(const char *text)
{
	return text != NULL ? strlen(text) : 0;
}

/* As much as a plan may need. */
static size_t size_of_plan(const struct program *program)
{
	char *const *env = program->env;
	size_t pointers = count_of(env) + V_COUNT + EXTRA + program->listed + 1;
	size_t texts = text_size(value_in(env, "LD_PRELOAD=", 11)) +
	               text_size(value_in(env, "PATH=", 5)) +
	               text_size(value_in(env, "ASAN_OPTIONS=", 13)) +
	               text_size(value_in(env, "MAKEFLAGS=", 10)) + 2 * VARIABLE_SIZE + SMALL;
	return pointers * sizeof(char *) + texts + SHIM_SIZE + 2 * PATH_MAX + 64;
}

/* Where the program's words are, if they came as a list. */
static void collect(struct plan *plan, const struct program *program)
{
	char **words = (char **)plan->at;
	for (size_t i = 0; i < program->listed; i++)
		words[i] =
		    i == 0 ? (char *)(uintptr_t)program->first : va_arg(*program->list, char *);
	words[program->listed] = NULL;
	plan->argv = words;
	plan->at += (program->listed + 1) * sizeof *words;
}

/* Completes the call; 0 where it is libc's to say why not. */
static int prepare(struct plan *plan, const struct program *program)
{
	size_t count = count_of(program->env) + V_COUNT + EXTRA;
	plan->env = (char **)plan->at;
	plan->at += count * sizeof *plan->env;
	if (program->actions != NULL)
		plan->dir = actions_see(program->actions);
	if (program->searches)
		plan->path = search_for(plan, plan->path);
	if (program->searches && plan->path == NULL)
		return 0;
	make_plan(plan, program->env);
	return 1;
}

/* ------------------------------------------------------------------ small work */

/* POSIX_SPAWN_RESETIDS, which changes nothing where ids are one, _SETSIGDEF, _SETSIGMASK and
 * _USEVFORK: <spawn.h> stays out, as the hooks are declared otherwise there. */
#define USUAL_FLAGS (1 | 4 | 8 | 64)

/* Whether a program's work can be done without it.  A spawn's folder, group and rights are the
 * caller's then; attributes begin with their flags in each libc. */
static int may_work(const struct plan *plan, const struct program *program)
{
	const short *flags = program->attributes;
	int is_usual = program->is_exec || (program->tells_pid && program->call.words[0] != 0 &&
	                                    (flags == NULL || (*flags & ~USUAL_FLAGS) == 0) &&
	                                    actions_are_usual(program->actions));
	return is_usual && plan->is_alone && plan->path != NULL &&
	       may_do_small_work(plan->argv, program->env) &&
	       kernel(SYS_faccessat, AT_FDCWD, plan->path, X_OK) == 0;
}

static enum small do_work(struct plan *plan, const struct program *program)
{
	if (program->is_exec && prints_files(plan->path))
		return print_files(plan->argv, &plan->rest);
	return is_shells_line(plan->path, plan->argv) ? do_small_line(plan->argv[2], program->env)
	                                              : do_small_work(plan->path, plan->argv);
}

/* Makes a child of whom nothing is left to do; 0, or why not.  A handler of its end knows it. */
static __attribute__((noinline)) int make_ended_child(int *pid)
{
	uint64_t all = ~(uint64_t)0, mask;
	kernel(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof all);
	/* It has our memory, and our stack: it makes one system call. */
	long child = kernel(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD);
	if (child == 0)
		kernel(SYS_exit_group, 0);
	int why = child < 0 ? errno : 0;
	if (child > 0)
		*pid = (int)child;
	kernel(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof all);
	return why;
}

long start_program(const struct program *program)
{
	struct call call = program->call;
	size_t size = size_of_plan(program);
	int is_known = guard.active && !is_inert() && (call.path != NULL || call.dir >= 0);
	if (program->list == NULL && !is_known)
		return call_with(&call, NULL);
	char *memory = pages_take(size);
	if (memory == NULL) {
		leaves("/");
		errno = ENOMEM;
		return program->list != NULL ? -1 : call_with(&call, NULL);
	}
	struct plan plan = {.dir = call.dir,
	                    .path = call.path,
	                    .argv = (char **)(uintptr_t)program->argv,
	                    .at = memory};
	if (program->list != NULL)
		collect(&plan, program);
	int before = errno, is_planned = is_known && prepare(&plan, program);
	call.words[program->argv_at] = (long)plan.argv;
	if (is_planned)
		call.words[program->env_at] = (long)plan.env;
	if (is_planned && may_work(&plan, program) && do_work(&plan, program) == DONE) {
		pages_give(memory, size); /* which may be those of a parent, who was vforked */
		if (program->is_exec)
			kernel(SYS_exit_group, 0);
		int why = make_ended_child((int *)call.words[0]);
		errno = before;
		return why;
	}
	errno = before;
	if (plan.rest.words[0] != NULL)
		call.words[program->argv_at] = (long)plan.rest.words;
	struct held_at_exec *held = program->is_exec && is_known ? pages_leave(memory, size) : NULL;
	long result = call_with(&call, is_planned ? plan.path : NULL);
	int after = errno;
	int why = result < 0 ? after : program->is_exec ? 0 : (int)result;
	if (is_planned && (why == ENOENT || why == ENOTDIR))
		notes('v', plan.dir, plan.path);
	pages_keep(held);
	pages_give(memory, size);
	if (program->actions != NULL && plan.dir >= 0)
		kernel(SYS_close, plan.dir);
	errno = after;
	return result;
}
