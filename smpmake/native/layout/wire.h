/* The frames that shims, workers and the keeper exchange with the server.
 *
 * docs/wire.md describes them; smpmake/protocol/wire.py and keeping.py are the other half.
 * Everything is little-endian and packed as written; blobs follow the fixed part in the order of
 * their lengths.
 */
#ifndef SMPMAKE_WIRE_H
#define SMPMAKE_WIRE_H

#include <stdint.h>

#define WIRE_MAGIC 0x4b4d5053u /* "SPMK" */
#define WIRE_VERSION 5u
/* What our variables begin with; smpmake/variables.py has their names. */
#define OURS "_SMPMAKE_"

#define WIRE_MAX_PAYLOAD (16u << 20)

/* How long whoever waits for a server that dies goes on waiting: its keeper needs less to end all
 * of them, and who went on before that would act on what is not there. */
#define ENDING_NS 300000000

enum wire_type {
	WIRE_INVOKE = 1,    /* shim -> server: a command line, with stdout and stderr beside it */
	WIRE_ANSWER = 2,    /* server -> shim */
	WIRE_JOB = 3,       /* server -> worker: run this */
	WIRE_RESULT = 4,    /* worker -> server */
	WIRE_SIGNAL = 5,    /* server -> worker or keeper: send this to your child */
	WIRE_DRIVER = 6,    /* keeper -> server: the driver started, ended or could not be run */
	WIRE_BYE = 7,       /* server -> keeper: all is well, leave everything alone */
	WIRE_REQUEST = 8,   /* client -> server: a JSON object */
	WIRE_REPLY = 9,     /* server -> client: a JSON object */
	WIRE_QUESTION = 10, /* guard -> server: may I? */
	WIRE_GUARD_ANSWER = 11, /* server -> guard: now you may */
	WIRE_WORKER = 12,       /* worker -> server, once: what it has inherited */
	WIRE_GIVEN = 13         /* shim -> server: a command that had a remembered result */
};

struct wire_header {
	uint32_t magic;
	uint16_t version;
	uint16_t type;
	uint32_t length; /* of the payload */
};

/* Blobs: tool, real, cwd, build (no final NUL); argv, env (each string NUL-ended);
 * limits (an array of wire_limit). */
struct wire_invoke {
	uint32_t parent;
	uint32_t mask;
	uint64_t out_dev, out_ino, err_dev, err_ino; /* zeros where one is closed */
	uint64_t inherited, ignored, blocked;        /* inherited.h */
	int32_t nice;
	uint32_t tool_len, real_len, cwd_len, build_len, argv_len, env_len, limits_len;
	uint32_t unguarded; /* the nearest process above without a guard, 0 where all have one */
	uint32_t line;      /* it is a recipe's line: what a make has started */
};

struct wire_limit {
	uint64_t soft, hard;
};

/* Nobody answers: nothing was pending, and the result is there.  Blobs: reads (each path
 * NUL-ended), and all that INVOKE consists of, without limits and what is inherited. */
struct wire_given {
	int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t user_us, system_us;
	uint32_t reads_len;
	uint32_t reserved;
};

enum wire_action {
	ANSWER_EXIT = 0, /* end as `status` says */
	ANSWER_EXEC = 1  /* become the real tool, with the argv given if there is one */
};

/* Blobs: argv, message (for stderr). */
struct wire_answer {
	uint32_t action;
	int32_t status;     /* as wait(2) gives it */
	uint32_t keep_open; /* the connection stays open across exec: it is the lease on a slot */
	uint32_t argv_len, message_len;
	uint32_t command; /* the number under which its guard asks; 0: none */
};

#define JOB_MERGED_OUTPUT 1u /* stdout and stderr are one file: keep their order */
#define JOB_JOURNALED 2u     /* if it does not finish, what it has changed is undone */
#define JOB_TERMINAL_OUT 4u  /* stdout is a terminal, */
#define JOB_TERMINAL_ERR 8u  /* stderr is one (the same, where both are) */
#define JOB_AWAITED 16u      /* its caller hears how it ends: what it leaves then is the caller's */

/* Behind the name of a job server's FIFO: the one by which tokens come back. */
#define LENT_BACK ".back"

/* Blobs: outputs, real, cwd (NUL-ended), argv, env, limits, lent (NUL-ended, empty: none). */
struct wire_job {
	uint64_t id;
	int64_t issued_ns;         /* about that: the mtime that timed outputs get */
	uint64_t ignored, blocked; /* signals, as bits: 0 is signal 1 */
	int32_t nicer;             /* niceness to add to the worker's */
	uint32_t mask;
	uint32_t flags;
	uint32_t outputs_len, real_len, cwd_len, argv_len, env_len, limits_len;
	uint32_t rows, columns; /* of the terminal, where it has one */
	uint32_t lent_len;      /* the FIFO of a job server; another has LENT_BACK behind it */
};

/* What a worker's own tools inherit (inherited.h), before the user has had it changed. */
struct wire_worker {
	uint64_t inherited;
	int32_t nice;
	uint32_t reserved;
};

/* One output in the blob: a byte of flags, the path, NUL, where its stale copy is that was set
 * aside (empty: none), NUL.  Paths are absolute. */
#define OUTPUT_TIMED 1u   /* gets the time of issue */
#define OUTPUT_MADE 2u    /* made by this job: goes if the job does not finish */
#define OUTPUT_PRINTED 4u /* is the job's stdout; it is there, and empty */
#define OUTPUT_PERHAPS 8u /* the tool may not make it */
#define OUTPUT_BEHIND 16u /* is a link that stays: what it leads to gets the time */

/* Blobs: out, err. */
struct wire_result {
	uint64_t id;
	int32_t wait_status;      /* as wait(2) gives it; -1 when the tool could not be started */
	int32_t error;            /* then errno, else 0 */
	int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t user_us, system_us, max_rss_kib, minor_faults, major_faults, voluntary,
	    involuntary;
	uint32_t missing; /* outputs made by this job that are not there although it succeeded */
	uint32_t out_len, err_len;
	uint32_t reserved;
};

/* What a guarded process is about to do to `path`. */
enum wire_question_kind {
	ASK_READ = 1,       /* open, look at or run it */
	ASK_WRITE = 2,      /* make, change or remove it */
	ASK_LIST = 3,       /* list the folder */
	ASK_TREE = 4,       /* walk, move or remove the folder with all below it */
	ASK_MOVE = 5,       /* rename it to the second path */
	ASK_STAT = 6,       /* a make looks at it, and is told what a serial build would show */
	ASK_ALL = 7,        /* run it, a program that takes no guard */
	ASK_LINK = 8,       /* make the second path a link to it */
	ASK_NAMES = 9,      /* a make lists the folder */
	ASK_ALIAS = 10,     /* make the second path a symbolic link to it */
	ASK_ROOM = 11,      /* write more into the undo journal than there is room for */
	ASK_COMMIT = 12,    /* change the path in a way that cannot be undone */
	ASK_REMOVE = 13,    /* remove it: what is there is not written to */
	ASK_LIBRARIES = 14, /* load it with its libraries; the other text: its folder,
	                       LD_LIBRARY_PATH, more names */
	ASK_TOKENS = 15,    /* run it, which can use a job server: GUARD_ELSEWHERE has its FIFO */
	ASK_FOLDER = 16     /* make the folder, or change what it is but for its entries */
};

/* Blobs: build, path, second path.  Paths are absolute, but not canonical. */
struct wire_question {
	uint32_t kind;
	uint32_t pid;
	uint32_t command; /* the command that the process belongs to; 0: the driver */
	uint32_t build_len, path_len, other_len;
};

enum guard_answer_state {
	GUARD_GO_ON = 0,
	GUARD_FILE = 1,      /* the path is a regular file with this mode and time */
	GUARD_ABSENT = 2,    /* there is no such file */
	GUARD_ELSEWHERE = 3, /* look at this other path */
	GUARD_AGAIN = 4,     /* ask once more */
	GUARD_FOLDER = 5     /* the path is a folder of this time */
};

/* Blob: the other path (no final NUL). */
struct wire_guard_answer {
	uint32_t state;
	uint32_t mode;
	int64_t mtime_ns;
	uint32_t path_len;
	uint32_t reserved;
};

struct wire_signal {
	int32_t signal;
};

enum wire_driver_event {
	DRIVER_STARTED = 1,
	DRIVER_ENDED = 2,
	DRIVER_FAILED = 3,
	DRIVER_ALONE = 4 /* after a KILL: nothing is left of what the driver started */
};

struct wire_driver {
	uint32_t event;
	int32_t status; /* STARTED: pid; ENDED: wait status; FAILED: errno */
	uint64_t user_us, system_us, max_rss_kib;
};

#endif
