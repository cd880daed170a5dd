/* Why a command was run although results are remembered; smpmake/session/memo.py has a sentence for
 * each.
 */
#ifndef SMPMAKE_MEMOWHY_H
#define SMPMAKE_MEMOWHY_H

enum memo_why {
	/* It has no question. */
	MEMO_NO_FAMILY = 1,   /* its program is of no family whose results are kept */
	MEMO_SCRIPT = 2,      /* the program is a script */
	MEMO_FRESH = 3,       /* the program is younger than the build */
	MEMO_WORDS = 4,       /* its words ask for what changes from run to run */
	MEMO_TERMINAL = 5,    /* it writes to a device, or to two terminals */
	MEMO_STREAMS = 6,     /* its standard streams cannot be told apart, or are strange */
	MEMO_ENVIRONMENT = 7, /* a variable leads to what cannot be checked */
	MEMO_UNREADABLE = 8,  /* something that it names could not be read */
	MEMO_STORE = 9,       /* the store cannot be used */
	MEMO_LIMIT = 10,      /* files may not become as large as they like */
	/* Nothing that is remembered holds. */
	MEMO_UNKNOWN = 16,  /* nobody has asked this before */
	MEMO_FILE = 17,     /* a file that it read is another */
	MEMO_APPEARED = 18, /* a name is there that was not */
	MEMO_FOLDER = 19,   /* a folder, link or listing is another */
	MEMO_OUTPUT = 20,   /* what lies in the place of an output is another */
	MEMO_DAMAGED = 21,  /* the entry is damaged */
	MEMO_UNDO = 22,     /* what it replaces could not be kept for an undoing */
	MEMO_BAD_NEWS = 23, /* it would end the build: it is run, to be sure */
	MEMO_VARIABLE = 24, /* a variable that it asked for is another */
	/* It ran and its result is not to be kept. */
	MEMO_UNTRACED = 32,     /* the system allows no tracing */
	MEMO_CALL = 33,         /* it made a system call that cannot be followed */
	MEMO_ERROR = 34,        /* a file could not be looked at, for another reason than absence */
	MEMO_YOUNG = 35,        /* it read a file that had just been changed */
	MEMO_CHANGED = 36,      /* a file changed while it ran */
	MEMO_CLOCK = 37,        /* it asked for the date, or a text that it read does */
	MEMO_RANDOM = 38,       /* it asked for random numbers */
	MEMO_SPECIAL = 39,      /* it used a device, /proc, a socket or the like */
	MEMO_INPUT = 40,        /* it read its standard input */
	MEMO_FORMER = 41,       /* it wrote to what is no plain file of its own */
	MEMO_FAILED = 42,       /* it failed in a way that may not last */
	MEMO_KILLED = 43,       /* a signal ended it, or a part of it */
	MEMO_LEFT = 44,         /* it left a process behind */
	MEMO_LARGE = 45,        /* its result is too large, or there was no room for it */
	MEMO_DISTANT = 47,      /* a file lies where times are not to be trusted: a network's */
	MEMO_ONLY_CHECKED = 46, /* --memo=check: everything is run */
	MEMO_OLDER = 48,        /* the guard showed it an older file than the one that lies there */
	MEMO_REASONS = 49
};

#endif
