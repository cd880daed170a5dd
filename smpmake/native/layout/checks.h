/* A configure script's checks in their order: its shims list them (shim/checks.c), and when it runs
 * again ahead/ahead.c runs them before their turn.
 *
 * The session's folder has the list that grows, s/ of the store those of earlier runs, by the
 * package's name: another version and other flags ask much the same.
 */
#ifndef SMPMAKE_CHECKS_H
#define SMPMAKE_CHECKS_H

#include <stdint.h>

#define CHECKS_MAGIC 0x316b6863u
#define READER_FILE "reader.py"   /* in the session's folder: reads a script that nobody knows */
#define CHECKS_LARGEST (1u << 18) /* bytes of a source, or of confdefs: what is larger waits */

struct checks_head {
	uint32_t magic;
	uint32_t known; /* bytes of confdefs that the checks so far have told of */
};

#define CHECK_IS_PREFIXED 1u   /* the source begins with confdefs, which is not in `body` */
#define CHECK_IS_ONE_STREAM 2u /* 1 and 2 are one file */
#define CHECK_OUT_IS_NULL 4u   /* /dev/null, and no file */
#define CHECK_ERR_IS_NULL 8u

/* A check: this, its words, what confdefs has got since the one before, its source. */
struct check {
	uint32_t size; /* a multiple of 8 */
	uint32_t flags;
	uint32_t words;  /* bytes; the program's path comes first, each has its NUL */
	uint32_t added;  /* bytes */
	uint32_t body;   /* bytes */
	uint32_t source; /* the word that names the source; 0: only a run in its turn can tell */
};

#endif
