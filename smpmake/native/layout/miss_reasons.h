/* Why a command was run although results are remembered.  `smpmake memo` shows each comment as the
 * reason (hatch_layout.py).
 */
#ifndef SMPMAKE_MISS_REASONS_H
#define SMPMAKE_MISS_REASONS_H

/* Up to 15 it has no question, up to 31 nothing that is remembered holds; else it ran, and its
 * result is not to be kept. */
enum memo_why {
	MEMO_NO_FAMILY = 1,   /* smpmake remembers no results of this program */
	MEMO_SCRIPT = 2,      /* the program, or a part of it, is a script */
	MEMO_FRESH = 3,       /* the program is younger than the build */
	MEMO_WORDS = 4,       /* its words ask for what changes from run to run */
	MEMO_TERMINAL = 5,    /* it writes to a device, or to two terminals */
	MEMO_STREAMS = 6,     /* smpmake cannot tell its standard streams apart */
	MEMO_ENVIRONMENT = 7, /* a variable leads to what smpmake cannot check */
	MEMO_UNREADABLE = 8,  /* smpmake could not read a file that it names */
	MEMO_STORE = 9,       /* smpmake could not use the store */
	MEMO_LIMIT = 10,      /* a limit is set on the size of files */

	MEMO_UNKNOWN = 16,  /* no result of this command was remembered yet */
	MEMO_FILE = 17,     /* a file that it reads has changed */
	MEMO_APPEARED = 18, /* a file is there now that was not */
	MEMO_FOLDER = 19,   /* a folder or link has changed */
	MEMO_OUTPUT = 20,   /* another file, or none, was in the place of its output */
	MEMO_DAMAGED = 21,  /* the entry was damaged */
	MEMO_UNDO = 22,     /* smpmake could not put its files in place */
	MEMO_BAD_NEWS = 23, /* it failed the last time: smpmake runs it again before it says so */
	MEMO_VARIABLE = 24, /* a variable that it asks for has changed */
	MEMO_BOUND = 25,    /* another tree has its result, which names that tree
	                       (-ffile-prefix-map=TREE=. takes the name out) */

	MEMO_UNTRACED = 32, /* the system does not let smpmake trace it */
	MEMO_CALL = 33,     /* it made a system call that smpmake does not follow */
	MEMO_ERROR = 34,    /* it could not look at a file, though the file may be there */
	MEMO_YOUNG = 35,    /* it read a file that had just been written */
	MEMO_CHANGED = 36,  /* a file changed while it ran */
	MEMO_CLOCK = 37,    /* it asked for the date */
	MEMO_RANDOM = 38,   /* it asked for random numbers */
	MEMO_SPECIAL = 39,  /* it used a device, a socket or /proc */
	MEMO_INPUT = 40,    /* it read its standard input */
	MEMO_FORMER = 41,   /* it wrote to a link, or to what is no file of yours alone */
	MEMO_FAILED = 42,   /* it failed, and may succeed the next time */
	MEMO_KILLED = 43,   /* a signal ended it, or a part of it */
	MEMO_LEFT = 44,     /* it left a process behind */
	MEMO_LARGE =
	    45, /* it made over 64 files or a large one, or the store or its disk is full */
	MEMO_ONLY_CHECKED = 46, /* --memo=check runs everything */
	MEMO_DISTANT = 47, /* a file lies on a file system whose times smpmake does not trust */
	MEMO_OLDER = 48,   /* it read an older file than the one that lies there now */
	MEMO_REASONS = 49
};

#endif
