/* The scoreboard: a file of the session that the server writes and every guard maps.
 *
 * It holds no paths, only the names of what matters while commands are pending: the last component
 * of each pending output, of each file that a pending command reads, of the folders above them.  A
 * name that is not here cannot be concerned, in whatever spelling its folder is given.  Of one that
 * is here the key tells, made of the folder itself and the name, whether it is the very file; then
 * it is a question for the server, which knows paths.  smpmake/guard/scoreboard.py is the writer.
 */
#ifndef SMPMAKE_BOARD_H
#define SMPMAKE_BOARD_H

#include <stdint.h>

#define BOARD_MAGIC 0x44524f42u /* "BORD" */
#define BOARD_VERSION 15u
#define BOARD_SLOTS 131072u
#define BOARD_FOLDERS 4096u
#define BOARD_PROMISES 16384u
#define BOARD_STANDING 16u

/* A slot: hash of the name (32 bits), the command that put it there, or is the
 * only one to write it (24), roles (8).  Hash and
 * roles 0: free, and the end of a chain.  A hash of 1 with no roles: was used. */
#define ROLE_OUTPUT 1u /* a pending output is called so; or key of one (its folder, its name) */
#define ROLE_INPUT 2u  /* a pending command reads a file called so */
#define ROLE_ABOVE 4u  /* a folder above an operand is called so */
#define ROLE_LISTED 8u /* key of a folder (device, inode) that pending outputs will appear in */
#define ROLE_STALE 16u /* key of a file that a pending command will replace */
/* Of a file called so pending commands are to find an older version, or none; or key of one, then
 * the owner says which: commands below that number. */
#define ROLE_KEPT 32u
#define ROLE_OTHERS 64u    /* all roles but ROLE_OUTPUT are others' than the command's */
#define ROLE_ANYWHERE 128u /* a file called so has no key: its folder is not there, or may go */
#define OWNER_SEVERAL 0xffffffu
#define OWNER_FOLDERS 0xffe000u /* from here on: numbers of folders below, that are listed */

/* What a make may be told of a pending output without a question: where the key's hash leads, the
 * last one that came there.  `what`: mode (16 bits), GUARD_FILE or GUARD_ABSENT (8), the command
 * as in the slot (24); 0: nothing. */
struct promise {
	uint64_t what;
	uint64_t check; /* another hash of the key */
	int64_t mtime_ns;
};

struct board {
	uint64_t pending; /* commands that have not ended; 0: nothing below matters */
	uint32_t magic;
	uint32_t version;
	uint32_t full;       /* the table does not hold everything: ask always */
	uint32_t generation; /* changes when slots move: what was read meanwhile counts as a hit */
	int64_t
	    undeclared_ns;  /* newest issue of a pending command that may read unnamed files; 0 */
	int64_t newest_ns;  /* the time that the newest of all results has, or will have */
	uint32_t stale;     /* how many ROLE_STALE there are */
	uint32_t unknown;   /* folders of pending outputs that do not exist yet */
	uint32_t journal;   /* what is changed is written into the undo journal (../undo.h) */
	uint32_t libraries; /* pending outputs that are called as shared libraries are */
	uint32_t versions;  /* names of files that were changed, or made, under pending commands */
	uint32_t names;     /* folders of pending outputs may have become others: keys are void */
	uint32_t turns;     /* how often ROLE_STALE or ROLE_KEPT were given or taken */
	uint32_t at_work;   /* commands that hold a slot, and slots that are lent */
	uint32_t places;    /* slots in use, a power of two: whoever looks touches few pages */
	uint32_t blind;     /* pending commands of which nobody knows what they read, or look for */
	uint64_t ordered;   /* folders that list names by age, and in which results are pending */
	uint64_t slots[BOARD_SLOTS];
	int64_t
	    folders[BOARD_FOLDERS]; /* newest issue (ns) of what will change a folder's entries */
	struct promise promises[BOARD_PROMISES];
	/* Folders of programs that were there before anything was pending, by device and inode: no
	 * output of ROLE_ANYWHERE lies there.  Zeros end them. */
	struct {
		uint64_t device, inode;
	} standing[BOARD_STANDING];
};

#endif
