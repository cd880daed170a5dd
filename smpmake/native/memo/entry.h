/* A remembered result as it is stored: what was observed, what was made, what was said.
 */
#ifndef SMPMAKE_MEMO_ENTRY_H
#define SMPMAKE_MEMO_ENTRY_H

#include <limits.h>
#include <stdint.h>

#include "memo/store.h"

#define MEMO_MAGIC 0x4f4d454du /* "MEMO" */
#define MEMO_FORMAT 9u
#define MEMO_MOST 8u            /* entries of a question */
#define MEMO_LARGEST (4u << 20) /* bytes of a question's file */
#define MEMO_INLINE 32768u      /* contents up to here lie in the entry itself */

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
	    9,           /* the folder of an output, by way of links; the other text: where it is */
	MEMO_IS_AT = 10, /* a file; the other text: where it lies, whatever links lead there */
	MEMO_WAS_IN =
	    11 /* the folder of the command; `more`: bytes of its tree's top, 0 where it is bound */
};

#define MEMO_NO_FOLLOW 1u /* a link is not followed */
#define MEMO_IS_NAMED 2u  /* its content is in the question */
#define MEMO_TIMED 4u     /* its time of modification matters, too */
#define MEMO_UNSTAMPED 8u /* its stamp is no proof: it was not settled when it was read */
#define MEMO_IS_READ 16u  /* it was opened, and not only looked at */
#define MEMO_UNPROVED 32u /* of MEMO_WAS_IN: it may depend on the tree's name without naming it */
#define MEMO_IS_SAID 64u  /* of MEMO_WAS_IN: messages name files of the tree (memo/messages.h) */

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

#define MEMO_WAS_THERE 1u   /* a regular file of mode `former` and our own */
#define MEMO_REMOVED 2u     /* there is none afterwards */
#define MEMO_IN_PLACE 4u    /* a file of one name is cut to nothing and written to */
#define MEMO_IS_INPUT 8u    /* what lay there is among the facts */
#define MEMO_IS_SEEN 32u    /* whether it is there was asked, as of an input, or is of effect */
#define MEMO_NAMES_TREE 64u /* the tree stands in its debug information, or among prerequisites */
#define MEMO_WAS_EMPTY 16u  /* binutils write over an empty file, and replace any other */

/* An output: this, the path, its blob unless it was removed.  The blobs of stdout and stderr
 * come behind all outputs. */
struct memo_output {
	uint32_t size; /* with the path, a multiple of 8; without the blob */
	uint32_t flags, former, mode;
	uint32_t path_size, reserved;
};

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
/* Where the file lies to which a path leads; 0 or -1. */
int memo_lies_at(const char *path, char place[PATH_MAX]);

#endif
