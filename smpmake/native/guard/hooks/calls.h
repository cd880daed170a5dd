/* A call of libc's that opens or looks at a file: what a hook does with it.
 *
 * The calling conventions of Linux pass up to six integers and pointers in registers, however they
 * are declared: that is how one function makes all these calls.
 */
#ifndef SMPMAKE_CALLS_H
#define SMPMAKE_CALLS_H

#include "guard/guard.h"

struct call {
	void *function; /* libc's, or NULL: the system call `number` */
	long number;
	long words[6]; /* its arguments; `path` is one of them */
	int dir;       /* as for openat(2) */
	const char *path;
	int flags; /* as of open(2), or of fstatat(2) */
};

#define WORD(value) ((long)(value))
#define WORDS(...) WORDS_OF(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define WORDS_OF(a, b, c, d, e, f, ...) {WORD(a), WORD(b), WORD(c), WORD(d), WORD(e), WORD(f)}

/* Makes the call, with `path` in the place of its path. */
long call_with(const struct call *call, const char *path);

/* What it returns, as libc does: a descriptor; a stream. */
int open_file(const struct call *call);
void *open_stream(const struct call *call);

/* The same by openat2(2), of which the call has the words alone. */
int open_by_how(struct call *call);

/* How an answer is shown to who looks; `to` is the look's own.  Returns what the look returns. */
typedef int show_answer(void *to, const struct wire_guard_answer *answer);
show_answer show_stat;
show_answer show_statx;
show_answer show_nothing;

/* A look at a file.  `plain`, unless NULL, is what fstatat(2) with the call's flags would fill. */
int look_at(const struct call *call, show_answer *show, void *to, void *plain);

#endif
