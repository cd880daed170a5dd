/* What a command and all that it starts look at and change, as the kernel tells it.
 *
 * Each system call that concerns a file waits until the tracer has noted it (seccomp_unotify(2)).
 * So nothing escapes: not what libc and the loader open for themselves, not a program that takes no
 * guard.  A call that is neither known to be harmless nor understood makes the trace useless.
 */
#ifndef SMPMAKE_MEMOTRACE_H
#define SMPMAKE_MEMOTRACE_H

#include "layout/looks.h"
#include "memo/question.h"

#include <linux/audit.h>

#include <sys/types.h>

#if defined(__x86_64__)
#define TRACE_MACHINE AUDIT_ARCH_X86_64
#else
#define TRACE_MACHINE AUDIT_ARCH_AARCH64
#endif

/* What was seen at a path, before whoever looked went on. */
struct look {
	char *path, *target;
	uint16_t kind, flags;
	int opened;       /* its content may have been read */
	int way;          /* how it was looked at */
	int is_exact;     /* this is what the command itself saw, by its guard's note */
	int is_run;       /* a program, which was started */
	int is_by_top;    /* it was opened by a name that begins with the tree's top */
	int is_canonical; /* a link was looked for by such a name, as realpath(3) does */
	int is_hashed;
	unsigned char hash[SHA256_SIZE]; /* of what it was then: it is young, or was changed */
	struct stat info;
};

struct altered {
	char *path;
	int was_there;
	int is_cut;       /* it was first opened to be written anew */
	int is_kept;      /* what there had been would have stayed, or been in the way */
	int is_temporary; /* made under a name that nobody had, as mkstemp(3) does */
	char *digits;     /* of that name, which a guard has seen drawn; NULL: none */
	enum leaves {
		LEAVES_ANY,
		LEAVES_FILE,
		LEAVES_NONE
	} leaves;     /* as the command itself left it */
	pid_t writer; /* who opened it last to write to it */
	int is_left;  /* the writer has ended, and `left` is what was there */
	struct stat before;
	struct memo_stamp left;
};

#define ASKING 16

struct trace {
	struct memo_question *question;
	int64_t began_ns, ended_ns;
	char home[PATH_MAX]; /* the folder in which all of the command works, with a slash */
	enum memo_why why;   /* it is useless; 0: it is not */
	uint32_t has;        /* what the texts that it reads have, all of them (memo/store.h) */
	int has_unseen;      /* it may have read any variable unseen */
	int is_named;        /* what it made, or said, names its tree */
	int is_bound;        /* it would not be the same in another tree (memo/tree.h) */
	int is_by_top;       /* the last name by which it asked begins with the tree's top, */
	int is_told_of;      /* and is beside or below what its words name */
	struct look *looks;
	size_t look_count, look_room;
	struct altered *altered;
	size_t altered_count, altered_room;
	struct place {
		uint32_t look; /* 1 + which it is; 0: none */
		uint32_t sum;
	} *places; /* of looks by their paths */
	size_t place_count;
	uint32_t drawn; /* random digits that stand in names of temporary files (looks.h) */
	struct located {
		char *path;
		int is_known; /* by what name it was opened */
	} *located;           /* where files lie that it had opened, as it was told */
	size_t located_count, located_room;
	pid_t *at_work; /* programs that have begun and not ended by themselves */
	size_t at_work_count, at_work_room;
	size_t copied; /* a look that may be the guard's, which copies what is about to change */
	pid_t copier;
	struct { /* who asks our server, and at which descriptor */
		pid_t process;
		int fd;
	} asking[ASKING];
	pid_t *guarded; /* processes that have a guard, by its own word */
	size_t guarded_count, guarded_room;
	pid_t *silent; /* processes whose program has not (yet) said that it has a guard */
	size_t silent_count, silent_room;
	struct looks *notes; /* what guards note, or NULL */
	uint64_t taken;      /* bytes of that which are in here */
	char place[64];      /* where guards find it */
};

/* In the process that becomes the command: from here on its calls wait.  The listener, or -1. */
int trace_me(void);
void trace_begin(struct trace *trace, struct memo_question *question);
/* Makes what guards share with us (looks.h); without it all calls wait. */
void trace_share(struct trace *trace);
/* Takes over what they have noted so far. */
void trace_take_notes(struct trace *trace);
/* One call that waits at the listener; 0 where there was none. */
int trace_serve(struct trace *trace, int listener);
/* The name by which another finds what a process has open. */
void trace_name_fd(pid_t process, int fd, char name[64]);
void trace_spoil(struct trace *trace, enum memo_why why);
struct altered *trace_altered(const struct trace *trace, const char *path);
/* The place among the question's named files of what has that path here, or -1. */
int trace_named(const struct trace *trace, const char *path);

/* ------------------------------------------------------------------ looks.c, for calls.c */

/* Room for one more. */
void *trace_grown(void *items, size_t count, size_t *room, size_t size);
/* Where a path was looked at in that way, or NULL. */
struct look *trace_find(const struct trace *trace, const char *path, int way, int flags);
/* The place of a look, NULL where there is no room; `is_new`: there was none. */
struct look *trace_look(struct trace *trace, const char *path, int way, int flags, int *is_new);
/* What `look->info` says, or errno: what it is, and whether that spoils the trace. */
void trace_judge(struct trace *trace, struct look *look, int failed);
int trace_is_of_clock(const char *path);
/* What was changed since then may change again and have the same times. */
int64_t trace_young_ns(const struct trace *trace);
void trace_look_at(struct trace *trace, const char *path, int nofollow, int opens);
void trace_look_at_link(struct trace *trace, const char *path);
/* `keeps`: what is there may stay, or be read; else what is opened is cut to nothing.  NULL where
 * that is no change of the command's; else it is good until the next one. */
struct altered *trace_alter(struct trace *trace, const char *path, int is_opened, int keeps,
                            int is_new);
/* What stands there now, by the call that altered it last.  `writer`: the process that may write to
 * it until it ends, 0 for none. */
void trace_leave(struct altered *one, enum leaves leaves, pid_t writer);
/* A process ends: what it wrote to is as it stays. */
void trace_left(struct trace *trace, pid_t writer);
/* Whether somebody else has been at a file since the command left it so. */
int trace_is_touched(const struct altered *one, const struct memo_stamp *now);
/* It was told that a file that it had opened lies at this path, with no link on the way. */
void trace_locate(struct trace *trace, const char *path);
/* Whether all random digits that were drawn stand in names of temporary files. */
int trace_knows_draws(const struct trace *trace);
int trace_reads_unseen(const struct look *look, uint32_t has);
/* The last look was none of the command's. */
void trace_drop_look(struct trace *trace);
/* Whether a guard needs a path, and the command does not. */
int trace_is_guards(const struct trace *trace, const char *path);
/* One spelling for what is below the folder in which the command works. */
const char *trace_short(const struct trace *trace, const char *path);
/* The same of a name by which the command has asked for a file. */
const char *trace_asked(struct trace *trace, const char *name);

#endif
