/* The guard: preloaded into the processes of a build, it makes whoever touches a result too early
 * wait.
 *
 * Rules of this library, because it lives inside other people's programs: after its constructor no
 * heap, no stdio, no locks, no globals but atomic words (log.c, asking.c, pages.c); no path on the
 * caller's stack, of which 4 KiB are to be enough; a connection for each question, closed before
 * the answer is used; errno kept; silent and without effect when its variables are missing or the
 * server is gone.
 */
#ifndef SMPMAKE_GUARD_H
#define SMPMAKE_GUARD_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "../wire.h"
#include "board.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER_DIGITS                                                                              \
	10 /* _SMPMAKE_CALLER always has as many, so that it can be changed in place               \
	    */
#define SLOW __attribute__((noinline, cold))

/* The variables by which a session reaches its guards, in this order in `guard.variables`. */
enum variable {
	V_SOCKET,
	V_BOARD,
	V_GUARD,
	V_SHIMS,
	V_BUILD,
	V_NEEDED, /* without the ones before there is no session */
	V_COMMAND = V_NEEDED,
	V_TRACE,
	V_COUNT
};

/* What the constructor found; never written again, but for `inert`.  Texts are copies: programs
 * move their environment about. */
struct guard {
	const struct board *board; /* never NULL: without a session it is an empty one */
	struct trace *trace;       /* where this job's reads and writes are noted, or NULL */
	uint32_t command;          /* what process of which command we are, 0: the driver */
	uint32_t unguarded;        /* the nearest process above without a guard, 0: none */
	int active;                /* there is a session */
	int inert;   /* the kernel may kill us for any system call: we are as if there were none */
	int is_make; /* this program reads makefiles */
	int is_part; /* this process is part of a command */
	int lists_names;       /* what it wants of a listing are names: make, a shell's pattern */
	char name[64];         /* this program's */
	char interpreter[128]; /* the dynamic loader that we came with */
	/* _SMPMAKE_SOCKET=... and so on, and where their values begin; NULL: not set */
	char variables[V_COUNT][512];
	const char *values[V_COUNT];
	size_t own_size;    /* of the session's folder, with its slash, in the socket's name */
	size_t litter_size; /* of that in our trace */
};
extern struct guard guard __attribute__((visibility("hidden"))); /* reached without the GOT */

/* A job's notes: `used` bytes of text, each a letter (r read, w written, u a program without a
 * guard, p one that has it) and an absolute path, NUL-ended.
 * Began: when the job was about to be started, by a clock that no file's time is ahead of.  Issued:
 * when its command was.  Older: when the newest of those was that were issued before, and may read
 * what they have not named; 0 for none.  Watched: what was made later it does not find unasked.
 * Waited: for a CPU, all the processes that have left.  Own: what the job has said that it writes,
 * by check_of_key; it asks about changes to that only if told so.  Inputs: what it has said that it
 * reads, in as many places as are used, a power of two; each lies where its lowest bits say, or
 * behind.  Litter: how paths begin of files that are no part of the build; "" for none. */
#define TRACE_SIZE (1u << 18)
#define TRACE_OWN 8
#define TRACE_INPUTS 1024u
#define TRACE_LITTER 32
struct trace {
	uint32_t used;
	uint32_t lost; /* notes that found no room */
	int64_t began_ns, issued_ns, older_ns;
	uint32_t watched, waited_us, asks_own, places;
	char litter[TRACE_LITTER];
	uint64_t own[TRACE_OWN];
	uint64_t inputs[TRACE_INPUTS];
	char text[TRACE_SIZE - 48 - TRACE_LITTER - 8 * (TRACE_OWN + TRACE_INPUTS)];
};

/* Part of a file, shared with all who map it; NULL where it is not there, or too short. */
void *mapped(const char *path, uint64_t at, size_t size, int protection);

/* The whole "NAME=value" of an environment, or NULL.  Our constructor comes before libc's, whose
 * getenv(3) knows nothing yet. */
char *variable_of(char **env, const char *name);

/* Of a timespec, or a time of statx(2). */
#define NS_OF(time) ((int64_t)(time).tv_sec * 1000000000 + (time).tv_nsec)

static inline int is_inert(void)
{
	return __atomic_load_n(&guard.inert, __ATOMIC_RELAXED);
}

static inline int guard_quiet(void)
{
	return __atomic_load_n(&guard.board->pending, __ATOMIC_ACQUIRE) == 0 || is_inert();
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

/* From here on this process may be in another folder than before, or the folder be called
 * otherwise. */
void guard_moves_about(void);

/* The questions.  Each returns when the caller may go on; `dir` is as for openat(2). */
void guard_see(int dir, const char *path);
void guard_see_change(int dir, const char *path);
/* A compiler drops search folders that are not there, or that it may not read.  `makes`: a folder
 * is made; else what is there is changed but for its contents. */
void guard_see_folder_change(int dir, const char *path, int makes);
/* What is open is changed but for its contents. */
void guard_see_change_of(int fd);
void guard_see_removal(int dir, const char *path);
void guard_see_move(int from_dir, const char *from, int to_dir, const char *to, int kind);
void guard_see_alias(const char *target, int dir, const char *path);
void guard_see_folder(int fd);
void guard_see_opening(int dir, const char *path, int folder);
void guard_see_tree(const char *path);
void guard_see_listing(int dir, const char *path);
void guard_see_everything(const char *program);

/* Before a program is started, or a library loaded. */
void guard_see_libraries(const char *path, const char *search, const char *const more[2]);

/* For a make: whether the server gives the answer itself; then `answer` holds it. */
int guard_pretends(int dir, const char *path, struct wire_guard_answer *answer);
/* For who wants names alone: a folder that holds the names of the one open as `fd`, pending ones
 * included; its path is given a page. */
int guard_names(int fd, char **elsewhere);

/* Whether a folder is to be shown with the time that it will have; then `answer` holds that. */
int guard_folder(int dir, const char *path, struct wire_guard_answer *answer);

/* Whether anything pending has to do with a name like this. */
int guard_knows(const char *path);

/* Whether a question about a path that is to be read has to be put. */
int guard_concerns(int dir, const char *path);

/* A note of a letter and a path; NULL where there was no room, or no need. */
char *guard_note(char letter, int dir, const char *path);
void guard_unnote(char *note);
void guard_note_program(void);

static inline void reads(int dir, const char *path)
{
	if (!guard_quiet() && !is_session(path))
		guard_see(dir, path);
}

static inline void changes(int dir, const char *path)
{
	if (!guard_quiet() && !is_session(path))
		guard_see_change(dir, path);
}

static inline void changes_folder(int dir, const char *path, int makes)
{
	if (!guard_quiet() && !is_session(path))
		guard_see_folder_change(dir, path, makes);
}

static inline void removes(int dir, const char *path)
{
	if (!guard_quiet() && !is_session(path))
		guard_see_removal(dir, path);
}

static inline void moves(int from_dir, const char *from, int to_dir, const char *to)
{
	if (!guard_quiet())
		guard_see_move(from_dir, from, to_dir, to, ASK_MOVE);
}

static inline void walks(const char *path) /* which may go where it walks */
{
	guard_moves_about();
	if (!guard_quiet())
		guard_see_tree(path);
}

static inline void lists(int dir, const char *path)
{
	if (!guard_quiet())
		guard_see_listing(dir, path);
}

#endif
