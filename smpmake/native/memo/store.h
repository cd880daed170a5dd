/* The store: what the session has told of it, files that are known by their stamps, contents.
 *
 * It is a folder of the user's own: q/a/..., a question's entries, the newest first; c/a/...
 * contents by their hash; s/table, the hashes of files by their stamps; s/seen, questions that came
 * once; s/bound, those whose results name their tree; s/makers, compilers by how many of their
 * objects obey a rule; s/proofs, entries that are proved.  All others are written whole, under
 * another name, and then renamed; whatever is wrong with one makes a miss.
 */
#ifndef SMPMAKE_MEMO_STORE_H
#define SMPMAKE_MEMO_STORE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/kernel.h"
#include "base/sha256.h"
#include "base/sum.h"
#include "memo/tree.h"

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

#define MEMO_LEFT_FREE UINT64_C(4294967296) /* of its file system, or else a tenth of that */
#define MEMO_TICK 12000000                  /* ns: three ticks of the slowest usual kernel */

enum memo_mode { MEMO_OFF = 0, MEMO_CHECK = 1, MEMO_ON = 2 };

/* What a file is known by without reading it. */
struct memo_stamp {
	uint64_t device, inode, size;
	int64_t modified_ns, changed_ns;
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
	const char *folder;           /* the store */
	const char *session;          /* the session's folder, "" for none */
	int64_t now_ns;               /* by the file system's clock */
	const struct memo_tree *tree; /* of the command */
	unsigned char boot[16];
};

/* What OURS "MEMO" says, "MODE:BEGAN:SETTLED:MOST:BUILD:FOLDER"; 0 or -1.  OURS "MEMORUN" and OURS
 * "RECALL" are where trace/run.c's and recall/recall.c's programs are. */
int memo_open(struct memo *memo, const char *told, const char *session);

/* What content has besides its hash. */
#define MEMO_HAS_CLOCK 1u  /* a text that asks the compiler for the date */
#define MEMO_HAS_TIMES 2u  /* a text, or compiled header, by which times of files matter, or may */
#define MEMO_HAS_ONCE 128u /* a text that is included once, or includes others once */
#define MEMO_HAS_OPERATOR 16u /* the same, if a macro is given that word: */
#define MEMO_SAYS_ONCE 32u    /* a text that says "once" */
#define MEMO_HAS_ENVIRON 4u   /* a program or library that names the list of all variables */
#define MEMO_HAS_LIBIBERTY 8u /* a program or library of gcc or binutils */
#define MEMO_HAS_TOP 256u     /* a file that names the top of the command's tree */
#define MEMO_IS_PROGRAM 512u  /* one that is run or mapped to be run: it is not asked that */
#define MEMO_IS_YOUNG 64u     /* too young to be known by its stamp: each command hashes it anew */

/* Whether a file is a header that gcc or clang has compiled, or a syntax tree of clang's. */
int memo_is_compiled(const char *bytes, size_t size);
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
/* "FOLDER/LETTER/a/bcdef..." */
char *memo_place(const struct memo *memo, char letter, const unsigned char hash[SHA256_SIZE],
                 char room[PATH_MAX]);
/* A file of the store that is written in place, by its name there; -1 where there is none. */
int memo_table(const struct memo *memo, const char *name);
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

#endif
