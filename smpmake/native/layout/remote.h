/* What smpmake-memo asks its session for, by the socket SESSION/remote: results that other machines
 * remember (memo/remote.h). */
#ifndef SMPMAKE_REMOTE_H
#define SMPMAKE_REMOTE_H

#include <stdint.h>

#define REMOTE_MS 2000               /* all that a command waits for others' results */
#define REMOTE_LARGEST_FILE 0x400000 /* bytes of a question's file: MEMO_LARGEST */
#define REMOTE_LARGEST 0x8000000     /* bytes of one content */
#define REMOTE_CONTENTS 1024         /* contents of a question's file */

enum remote_kind {
	REMOTE_FIND = 1,  /* the file of a question: is answered */
	REMOTE_FETCH = 2, /* a content, which the session puts into the store: is answered */
	REMOTE_USED = 3,  /* a result has been given back */
	REMOTE_STORED = 4 /* a result is in the store now */
};

/* One connection has a FIND for each of a question's keys at most, then FETCHes and one USED; or
 * one STORED. */
struct remote_ask {
	uint32_t kind;
	uint32_t contents; /* of a STORED: so many remote_content lie behind this */
	uint64_t size;     /* of a content; or of the question's file, which lies behind them */
	uint64_t cpu_us;   /* of the command */
	char hash[32];     /* of the question or the content */
	char alike[32];    /* the same of commands that take about as long */
};

struct remote_content {
	char hash[32];
	uint64_t size;
};

/* The answer; of a FIND the file lies behind it. */
struct remote_said {
	uint64_t found; /* 0: it is not to be had; else how many bytes */
};

#endif
