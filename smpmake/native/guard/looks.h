/* Looks of a process whose command is traced, noted here instead of by the tracer (../looks.h). */
#ifndef SMPMAKE_GUARD_LOOKS_H
#define SMPMAKE_GUARD_LOOKS_H

#include "base/kernel.h"
#include "guard.h"
#include "layout/looks.h"

/* `place` is what the tracer has said, or NULL. */
void looks_begin(const char *place);

static inline int looks_are_noted(void)
{
	return guard.looks != NULL && !is_inert();
}

/* These are the system calls of their names for looking and reading alone.  What cannot be noted
 * the tracer is told of, as it is of any other call. */
int noted_stat(int dir, const char *path, struct stat *info, int flags);
/* Noted as if it had the flags `as`: what is no link is the same by either name. */
int noted_stat_as(int as, int dir, const char *path, struct stat *info, int flags);
/* That an opening or a look finds nothing; 0 where that cannot be noted. */
int noted_absence(enum look_way way, int nofollow, int dir, const char *path);
int noted_access(int dir, const char *path, int mode);
int noted_open(int dir, const char *path, int flags);
long noted_readlink(int dir, const char *path, char *to, size_t size);

/* The program is about to be given random numbers.  libc's own, for the names of temporary files
 * and for its heap, do not come by here. */
static inline void looks_draw(void)
{
	if (guard.looks != NULL)
		__atomic_store_n(&guard.looks->random, 1, __ATOMIC_RELAXED);
}

/* The same, of a number of its own: see looks.h. */
static inline void looks_draw_digit(uint32_t number)
{
	struct looks *looks = guard.looks;
	if (looks == NULL)
		return;
	uint32_t at = __atomic_fetch_add(&looks->drawn, 1, __ATOMIC_RELAXED);
	if (at >= LOOKS_DIGITS)
		looks_draw();
	else
		__atomic_store_n(&looks->digits[at], "0123456789abcdef"[number & 15],
		                 __ATOMIC_RELEASE);
}

/* The program has asked for a variable, and has been told that value, or NULL.  The tracer cannot
 * see that by itself: what there is no room for makes the trace useless. */
void looks_ask(const char *name, const char *value);

/* What the tracer need not know: calls about the session's own files. */
#define kernel_unseen(...) UNSEEN_CALL(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define UNSEEN_CALL(number, a, b, c, d, e, ...)                                                    \
	looks_unseen(number, KERNEL_WORD(a), KERNEL_WORD(b), KERNEL_WORD(c), KERNEL_WORD(d),       \
	             KERNEL_WORD(e))
/* Part of such a file, shared with all who map it; NULL where it is not there, or too short. */
void *mapped(const char *path, uint64_t at, size_t size, int protection);
long looks_unseen(long number, long a, long b, long c, long d, long e);

#endif
