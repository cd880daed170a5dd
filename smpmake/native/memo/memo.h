/* Results that are remembered: a command's question, what was observed when it was answered, and
 * the giving back of the answer.
 *
 * This part knows nothing of shims or workers, and needs no libc: it makes system calls itself.
 * A shim gives back where nothing is pending, recall/recall.c's program under the guard;
 * trace/run.c's is what writes entries.
 *
 * The store is a folder of the user's own: q/ab/..., a question's entries, the newest first;
 * c/ab/... contents by their hash; s/table, the hashes of files by their stamps; s/seen, questions
 * that came once.  All others are written whole, under another name, and then renamed; whatever is
 * wrong with one makes a miss.
 */
#ifndef SMPMAKE_MEMO_H
#define SMPMAKE_MEMO_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/kernel.h"
#include "base/sha256.h"
#include "base/sum.h"
#include "layout/miss_reasons.h"

/* A system call about a file of the command's own.  Under the guard it goes by libc, as the
 * command's would: so it waits, and is shown and noted, as the command would wait and be. */
#ifdef MEMO_GUARDED
#include <unistd.h>
#define guarded(...) GUARDED_CALL(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define GUARDED_CALL(number, a, b, c, d, e, f, ...)                                                \
	syscall(number, KERNEL_WORD(a), KERNEL_WORD(b), KERNEL_WORD(c), KERNEL_WORD(d),            \
	        KERNEL_WORD(e), KERNEL_WORD(f))
#else
#define guarded kernel
#endif

#define MEMO_MAGIC 0x4f4d454du /* "MEMO" */
#define MEMO_FORMAT 7u
#define MEMO_MOST 8u                        /* entries of a question */
#define MEMO_LARGEST (4u << 20)             /* bytes of a question's file */
#define MEMO_INLINE 4096u                   /* contents up to here lie in the entry itself */
#define MEMO_LEFT_FREE UINT64_C(4294967296) /* of its file system, or else a tenth of that */
#define MEMO_NAMED 512     /* files that words may name: the objects of a large program */
#define MEMO_TICK 12000000 /* ns: three ticks of the slowest usual kernel */

enum memo_mode { MEMO_OFF = 0, MEMO_CHECK = 1, MEMO_ON = 2 };

/* A file of entries begins so. */
struct memo_head {
	uint32_t magic, format;
	unsigned char key[SHA256_SIZE]; /* of the question */
};

/* An entry: this, its facts, its outputs, its texts; a multiple of 8 bytes. */
struct memo_entry {
	uint32_t size;
	uint32_t facts, outputs;
	int32_t status;
	uint64_t check; /* of all but this */
	unsigned char boot[16];
	uint64_t cpu_us;
};

/* What a file is known by without reading it. */
struct memo_stamp {
	uint64_t device, inode, size;
	int64_t modified_ns, changed_ns;
};

enum memo_kind {
	MEMO_IS_ABSENT = 1, /* `more`: errno */
	MEMO_IS_FILE = 2,   /* a regular file of this content and mode */
	MEMO_IS_FOLDER = 3,
	MEMO_IS_LINK = 4,     /* the other text: its target */
	MEMO_IS_NO_LINK = 5,  /* there, and no link */
	MEMO_IS_DEVICE = 6,   /* `more`: its number */
	MEMO_HAS_NAMES = 7,   /* a folder, whose names have this hash */
	MEMO_IS_VARIABLE = 8, /* `more`: whether it is there, with a value of this hash */
	MEMO_LEADS_TO =
	    9 /* the folder of an output, by way of links; the other text: where it is */
};

#define MEMO_NO_FOLLOW 1u /* a link is not followed */
#define MEMO_IS_NAMED 2u  /* its content is in the question */
#define MEMO_TIMED 4u     /* its time of modification matters, too */
#define MEMO_UNSTAMPED 8u /* its stamp is no proof: it was not settled when it was read */
#define MEMO_IS_READ 16u  /* it was opened, and not only looked at */

/* Facts of the same `group` were one file or folder when they were observed, others were not. */
struct memo_fact {
	uint32_t size; /* with its texts, a multiple of 8 */
	uint16_t kind, flags;
	uint32_t group, mode;
	uint64_t more;
	struct memo_stamp stamp;
	unsigned char hash[SHA256_SIZE];
	uint32_t path_size, other_size; /* with their NULs */
};

/* Bytes that lie behind this, or in c/. */
struct memo_blob {
	uint32_t size; /* of this with what is inline, a multiple of 8 */
	uint32_t is_inline;
	uint64_t bytes;
	unsigned char hash[SHA256_SIZE];
};

#define MEMO_WAS_THERE 1u  /* a regular file of mode `former` and our own */
#define MEMO_REMOVED 2u    /* there is none afterwards */
#define MEMO_IN_PLACE 4u   /* a file of one name is cut to nothing and written to */
#define MEMO_IS_INPUT 8u   /* what lay there is among the facts */
#define MEMO_WAS_EMPTY 16u /* binutils write over an empty file, and replace any other */

/* An output: this, the path, its blob unless it was removed.  The blobs of stdout and stderr
 * come behind all outputs. */
struct memo_output {
	uint32_t size; /* with the path, a multiple of 8; without the blob */
	uint32_t flags, former, mode;
	uint32_t path_size, reserved;
};

/* What the session has told of its memo. */
struct memo {
	enum memo_mode mode;
	int is_patient; /* a result is remembered when its question comes for the second time */
	int64_t began_ns;
	/* A stamp is believed of a file as old.  Who has a file mapped may write to it for as long
	 * without a new time: until the kernel has written the page back (session/memo.py). */
	int64_t settled_ns;
	uint64_t most_bytes; /* of results that one build may add */
	const char *build;   /* smpmake's own */
	size_t build_size;
	const char *folder;  /* the store */
	const char *session; /* the session's folder, "" for none */
	int64_t now_ns;      /* by the file system's clock */
	unsigned char boot[16];
};

struct memo_named {
	const char *path;
	struct memo_stamp stamp;
	uint32_t mode;
	unsigned char hash[SHA256_SIZE];
};

/* Which variables belong to a question.  Of a command all of whose programs tell the tracer which
 * they ask for, only those that programs see otherwise (question.c); the rest are facts.  Of any
 * other command all do. */
enum memo_scope { MEMO_SOME_VARIABLES = 0, MEMO_ALL_VARIABLES = 1, MEMO_SCOPES = 2 };

/* A command, and its question. */
struct memo_question {
	struct memo memo;
	const char *program;
	char *const *argv, *const *env;
	unsigned char keys[MEMO_SCOPES][SHA256_SIZE];
	enum memo_scope scope; /* of what was found or kept last */
	int one_stream;        /* stdout and stderr are one file */
	int terminals; /* a bit for each of stdout and stderr that is one (1 << fd), of this size */
	struct winsize size;
	int is_guarded; /* its files are written as the command would write them */
	int is_as_job;  /* it is asked of a background job, whose standard streams are a worker's */
	int is_changer; /* it may read what it makes, so that a second run is not the first */
	const char *doubted; /* what is not as it was for the newest result, or NULL */
	int is_young;        /* each command of its program hashes that anew */
	int is_update;       /* an ar that compares times of members and files (`u`) */
	size_t named_count;
	struct memo_named named[MEMO_NAMED];
};

/* The words of trace/run.c's program that runs a command; `known` as there. */
char **memo_words(const char *told, const char *session, const char *known, const char *program,
                  char *const *argv);

/* What OURS "MEMO" says, "MODE:BEGAN:SETTLED:MOST:BUILD:FOLDER"; 0 or -1.  OURS "MEMORUN" and OURS
 * "RECALL" are where trace/run.c's and recall/recall.c's programs are. */
int memo_open(struct memo *memo, const char *told, const char *session);

/* The question of a command that this process would become; 0 or why it has none. */
enum memo_why memo_ask(struct memo_question *q, const char *program, char *const *argv,
                       char *const *env);

/* The value of a variable, or NULL; `size` is that of its name. */
const char *memo_value(char *const *env, const char *name, size_t size);
void memo_hash_value(const char *value, unsigned char hash[SHA256_SIZE]);
/* Whether asking for a variable is no fact: it is in every question, or says nothing. */
int memo_is_no_fact(const char *name);

/* Whether a program's name is one of those whose results are remembered; whether it may read its
 * standard input, which no word of an assembler's need say. */
int memo_is_of_family(const char *program);
int memo_may_read_input(const char *program, char *const *argv);

/* The newest entry all of whose facts hold, or NULL and why.  `check`: that of the entry that is
 * meant, whatever of its facts holds; 0 for any. */
const struct memo_entry *memo_find(struct memo_question *q, uint64_t check, enum memo_why *why);

/* A question's file, or NULL; whether what it holds is that of the question; the entry at `*at`,
 * which is moved on (NULL at the end, or where it is damaged); what `check` is to be. */
char *memo_entries(const struct memo_question *q, enum memo_scope scope, size_t *size);
int memo_is_of_question(const struct memo_question *q, enum memo_scope scope, const char *data,
                        size_t size);
struct memo_entry *memo_next_entry(char *data, size_t size, size_t *at);
uint64_t memo_check_of(const struct memo_entry *entry);

/* Whether what lies in the place of an output is what lay there, as far as it matters, and may be
 * replaced.  `info`: what lies there; its mode is 0 where nothing does. */
int memo_is_former(const struct memo_question *q, const struct memo_entry *entry,
                   const struct memo_output *output, struct stat *info);

/* Whether a path lies below the folder of the command: it names no folder above on its way. */
int memo_is_below(const char *path);
/* The folder in which an output is, and the output's name there: AT_FDCWD where the path is that
 * name, -1 where there is none.  On the way no link is followed, unless an entry of this machine
 * tells that it led there when the command ran (MEMO_LEADS_TO). */
int memo_open_way(const struct memo_entry *entry, const char *path, const char **name);
void memo_close_way(int fd);
/* Whether links are on that way: then `folder` is how the path names the folder, and `room` where
 * it is; -1 where that cannot be told. */
int memo_leads(const char *path, char folder[PATH_MAX], char room[PATH_MAX]);

/* Whether a command without a result that runs in place is to run unwatched: its question came for
 * the first time, and such results are remembered of those that come again. */
int memo_waits(const struct memo_question *q, enum memo_why why);

/* Makes the files of an entry, writes its texts; the status, or -1 where nothing was done.  The
 * undo journal beside the board of undo_journal.h has it. */
int memo_give(const struct memo_question *q, const struct memo_entry *entry);

/* Gives a file the time by the exact clock; the kernel takes that of its last tick.  So it is
 * younger than whatever was there before, as behind a compiler, which takes longer than a tick. And
 * nobody is to hear of it within the tick that made it: make compares times. */
int memo_date(int fd);
void memo_pass_tick(int64_t made_ns);

/* Whether a signal waits that ends this process.  Whoever sent it to make as well does not look for
 * what comes later: a compiler removes what it has made, and so do we. */
int memo_is_to_end(void);

/* Whether nobody reads the other end of a pipe: who writes there gets a signal. */
int memo_is_deserted(int fd);

/* Writes what a command has printed; -1 where that failed: then a file is as it was. */
int memo_tell_text(int fd, const char *text, size_t size);
/* The same of an entry's standard output, when its files are there.  -1: the command is to run. */
int memo_tell_last(const struct memo_question *q, const struct memo_entry *entry, const char *said,
                   size_t size);

/* Lines for the session: "h MICROSECONDS" for a result that was given back, "m REASON" where it
 * could not be, behind "e REASON NAME" of what is not as it was, if that is known; "r REASON" where
 * others had it, and it was given back in spite of that reason (0: of which nobody was told).
 * trace/run.c's are "s", it is remembered now; "n REASON", it is not; with
 * --memo=check "c", it is as it was, and "d WORDS\tWHAT\tINPUT", it is not. */
void memo_tell(const struct memo *memo, const char *line, size_t size);
/* Of the last of these lines the letter, 0 where there is none.  As long as commands have their
 * results the next one may, too; a build of which nothing is remembered is not to look twice. */
char memo_told_last(const struct memo *memo);
void memo_tell_number(const struct memo *memo, char letter, uint64_t number);

void memo_tell_why(const struct memo_question *q, enum memo_why why);

static inline void memo_tell_hit(const struct memo *memo, uint64_t saved_us)
{
	memo_tell_number(memo, 'h', saved_us);
}

/* ------------------------------------------------------------------ for trace/run.c */

/* What content has besides its hash. */
#define MEMO_HAS_CLOCK 1u     /* a text that asks the compiler for the date */
#define MEMO_HAS_TIMES 2u     /* a text by which times of files matter, or may */
#define MEMO_HAS_ONCE 128u    /* a text that is included once, or includes others once */
#define MEMO_HAS_OPERATOR 16u /* the same, if a macro is given that word: */
#define MEMO_SAYS_ONCE 32u    /* a text that says "once" */
#define MEMO_HAS_ENVIRON 4u   /* a program or library that names the list of all variables */
#define MEMO_HAS_LIBIBERTY 8u /* a program or library of gcc or binutils */
#define MEMO_IS_YOUNG 64u     /* too young to be known by its stamp: each command hashes it anew */

void memo_stamp_of(const struct stat *info, struct memo_stamp *stamp);
int memo_same_stamp(const struct memo_stamp *a, const struct memo_stamp *b);
/* Whether a file that has this stamp now has had its content since then.  It has if the stamp is
 * old enough, and of a clock that ran: what is in an image has times that the image's maker chose,
 * and the next image may have the same. */
int memo_is_settled(const struct memo *memo, const struct memo_stamp *stamp);
/* The hash of a regular file's content; -1 where it cannot be read, or is no longer `stamp`. */
int memo_content(const struct memo *memo, const char *path, const struct memo_stamp *stamp,
                 unsigned char hash[SHA256_SIZE], uint32_t *has);
/* Of a folder's names, whatever their order. */
int memo_names(const char *path, unsigned char hash[SHA256_SIZE]);
/* The folder in which a path is, with a slash behind it, or "."; -1 where it is too long. */
int memo_folder_of(const char *path, char room[PATH_MAX]);
/* Whether a folder has an access control list that new files get: their mode is not the umask's.
 * The other: whether the folder has one in which a path is. */
int memo_has_list(const char *folder);
int memo_is_listed(const char *path);
/* "FOLDER/LETTER/ab/cdef..." */
char *memo_place(const struct memo *memo, char letter, const unsigned char hash[SHA256_SIZE],
                 char room[PATH_MAX]);
/* Whole files, written under another name; -1 where that is not possible. */
int memo_write(const struct memo *memo, const char *path, const void *data, size_t size);
/* All of a regular file of our own, or NULL; of a stored one it is noted that it was used. */
char *memo_read(const char *path, size_t most, size_t *size, int is_stored);
/* Whether times are to be trusted where a path is, which is on that device: no other computer
 * changes it. */
#define MEMO_NEAR_IN_MEMORY 1 /* they are, but a mapping that is made later need not change any */
#define MEMO_NEAR_ON_DISK 2
#define MEMO_NEAR_BY_LEASE 3 /* and a lease tells who can still change a file (memo/store.c) */
int memo_near_at(uint64_t device, const char *path);
/* The same of the folder in which a name is, or is looked for; the path has to stay in memory. */
int memo_near_above(const char *path);
int64_t memo_clock(void);

#define MEMO_PADDED(size) (((size) + 7) & ~(size_t)7)
#define MEMO_FIRST_FACT(entry) ((const struct memo_fact *)((entry) + 1))
#define MEMO_NEXT(item) ((const void *)((const char *)(item) + (item)->size))
/* NULL where an entry's parts do not add up. */
const struct memo_output *memo_outputs(const struct memo_entry *entry);
const struct memo_blob *memo_blob_of(const struct memo_output *output);
/* What it printed: the blob of stdout, behind which that of stderr is. */
const struct memo_blob *memo_texts(const struct memo_entry *entry);
const void *memo_behind(const struct memo_output *output);
/* A blob's bytes, checked; NULL where they are not to be had. */
const char *memo_bytes(const struct memo *memo, const struct memo_blob *blob);

#endif
