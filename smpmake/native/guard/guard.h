/* The guard: preloaded into the processes of a build, it makes whoever touches a result too early
 * wait.
 *
 * Rules of this library, because it lives inside other people's programs: after its constructor no
 * heap, no stdio, no locks, no globals but atomic words; no path on the caller's stack, of which
 * 4 KiB are to be enough; a connection for each question, closed before the answer is used; errno
 * kept; silent and without effect when its variables are missing or the server is gone.
 */
#ifndef SMPMAKE_GUARD_H
#define SMPMAKE_GUARD_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/kernel.h"
#include "layout/board.h"
#include "layout/trace.h"
#include "layout/wire.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER_DIGITS                                                                              \
	10 /* _SMPMAKE_CALLER always has as many, so that it can be changed in place               \
	    */
#define SLOW __attribute__((noinline, cold))
/* Whole pages of zeros that most processes do not touch: they lie in the library's file, before
 * its other data, which are to fit into one page (tests/guard/test_start.py).  Each page that is
 * written to costs every process of a build some microseconds, and so does a mapping for .bss.
 * Of the sections that linkers put before all other data this is one that nobody uses. */
#define ASIDE __attribute__((section(".exception_ranges"), aligned(4096)))

/* The variables by which a session reaches its guards, in this order in `guard.variables`, and
 * those that are for one process alone. */
enum variable {
	V_SOCKET,
	V_BOARD,
	V_GUARD,
	V_SHIMS,
	V_BUILD,
	V_NEEDED, /* without the ones before there is no session */
	V_COMMAND = V_NEEDED,
	V_TRACE,
	V_MEMO, /* from here on nobody needs them but shims, who remember results */
	V_MEMORUN,
	V_RECALL,
	V_TREE,
	V_COUNT,
	V_CALLER = V_COUNT,
	V_UNGUARDED,
	V_RECIPE,
	V_REAL,
	V_LINE,
	V_LOOKS,
	V_NONE
};

#define VARIABLE_SIZE 512 /* as long may one be, with its name and its NUL */

/* What the constructor found; never written again, but for `inert`.  Texts are copies: programs
 * move their environment about. */
struct guard {
	const struct board *board; /* never NULL: without a session it is an empty one */
	struct trace *trace;       /* where this job's reads and writes are noted, or NULL */
	struct looks *looks;       /* where the looks of a command are noted that is traced */
	uint32_t command;          /* what process of which command we are, 0: the driver */
	uint32_t unguarded;        /* the nearest process above without a guard, 0: none */
	int active;                /* there is a session */
	int inert;   /* the kernel may kill us for any system call: we are as if there were none */
	int is_make; /* this program reads makefiles */
	int is_part; /* this process is part of a command */
	int is_linker;
	const char *output;      /* of as and ld: what they are to make, or NULL */
	int lists_names;         /* what it wants of a listing are names: make, a shell's pattern */
	int makes_folders;       /* it makes those that lack, and otherwise does not look at them */
	char name[64];           /* this program's */
	const char *interpreter; /* the dynamic loader that we came with; "": none that we know */
	/* _SMPMAKE_SOCKET=... and so on, and where their values begin; NULL: not set */
	char *variables[V_COUNT];
	const char *values[V_COUNT];
	size_t own_size;    /* of the session's folder, with its slash, in the socket's name */
	size_t litter_size; /* of that in our trace */
	uint32_t recipe;    /* what those are told that we start, where recipes are told apart */
	char of_recipe[12]; /* and the number that our notes have */
};
extern struct guard guard __attribute__((visibility("hidden"))); /* reached without the GOT */

/* Which of them a text "NAME=value" sets, or V_NONE. */
enum variable variable_named(const char *text);
/* The whole "NAME=value" of an environment, or NULL.  Our constructor comes before libc's, whose
 * getenv(3) knows nothing yet. */
char *variable_of(char **env, const char *name);

static inline int is_inert(void)
{
	return __atomic_load_n(&guard.inert, __ATOMIC_RELAXED);
}

static inline int guard_quiet(void)
{
	return __atomic_load_n(&guard.board->pending, __ATOMIC_ACQUIRE) == 0 || is_inert();
}

/* Whether what we do is noted for a whole build, recipe by recipe. */
static inline int notes_recipes(void)
{
	return guard.trace != NULL && guard.trace->recipes;
}

/* Whether a path leads into the session's own folder, where nobody waits for anything and nothing
 * is to be undone: what the clients of an engine write there, temporary files above all.  Or to
 * what they have elsewhere (locks, which many share). */
static inline int is_session(const char *path)
{
	if (path == NULL || guard.own_size == 0)
		return 0;
	return strncmp(path, guard.values[V_SOCKET], guard.own_size) == 0 ||
	       (guard.litter_size != 0 &&
	        strncmp(path, guard.trace->litter, guard.litter_size) == 0);
}

#endif
