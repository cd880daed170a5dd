/* The undo journal: what the processes of a build are about to change, written down before.
 *
 * Guards write it (guard/change/journal.c), so does the server, into a file of its own in the same
 * form (smpmake/undo/journal.py); keeper (rollback.c) undoes by it, newest first, also when every
 * process of the build has been killed.  It lies in the session's folder: undo/head, undo/log,
 * undo/server.
 *
 * A position is a count of bytes in the log: an order over everything that guards wrote down.  What
 * the server writes stands before what guards write at the same position.
 *
 * Names are canonical when an entry is written.  When it is undone all later changes have been
 * undone, so the name leads there again.  For that every folder that is removed has its entry, also
 * one that the build itself has made: older files may have passed through it.
 *
 * Where nothing can be undone guards write nothing, and the server writes what concerns promises
 * alone: what is to be made, which older targets it has set aside (GONE), which files say that a
 * command is done (NEW, META).  These entries have the command's number, and UNDO_STAYS follows
 * when it has ended: so it is exactly what has not ended that is undone.
 */
#ifndef SMPMAKE_UNDO_H
#define SMPMAKE_UNDO_H

#include <stdint.h>

#define UNDO_MAGIC 0x4f444e55u
#define UNDO_VERSION 3u
#define UNDO_MARK 0x59525445u   /* an entry that was written to its end */
#define UNDO_SEGMENT (1u << 20) /* no entry crosses a multiple of it */
#define UNDO_TICK 12000000      /* ns: file times are as coarse as a tick of the kernel's */
#define UNDO_STORES 4           /* the first is in the session's folder */
#define UNDO_EXCEPT 6
#define UNDO_OLDER 512

/* Where contents are kept that a change would destroy: a folder on each file system. */
struct undo_store {
	uint64_t device;
	char path[504];
};

struct undo_head {
	uint32_t magic, version;
	uint64_t used;   /* position of the next entry */
	uint64_t room;   /* the log's size */
	uint64_t start;  /* what stands before is final */
	int64_t base_ns; /* when `start` was; a file born later needs no copy to be undone */
	uint64_t kept;   /* bytes of contents in the stores */
	uint64_t budget; /* and how many there may be */
	uint32_t lost;   /* something could not be written down: nothing is to be undone */
	uint32_t stores;
	struct undo_store store[UNDO_STORES];
	char except[UNDO_EXCEPT][256]; /* folders whose files are nobody's results; "": none */
	uint64_t issues;               /* how many commands have been promised */
	/* Bits by the inodes of older files that were changed: overlayfs copies these, and then
	 * says that they have just been born. */
	uint64_t older[UNDO_OLDER];
};

enum undo_kind {
	UNDO_NOTHING = 0, /* it has been undone, or its change was never made */
	UNDO_NEW = 1,     /* path: a name that was not there is made */
	UNDO_GONE =
	    2, /* path: is removed or replaced; contents are kept, a link's text is `other` */
	UNDO_DATA = 3,  /* path: contents are changed in place; `bytes` of them are kept */
	UNDO_META = 4,  /* path: mode, owner or times are changed */
	UNDO_MOVE = 5,  /* path is renamed to `other` */
	UNDO_SWAP = 6,  /* path and `other` are exchanged */
	UNDO_XATTR = 7, /* path: its attribute `other` is changed; the older value is behind the
	                   texts, `bytes` long */
	UNDO_FLAGS = 8, /* path: its flags (chattr) are changed; the older ones are `bytes` */
	/* by the server alone */
	UNDO_ISSUED = 9, /* `command` was promised */
	UNDO_ENDED = 10, /* `command` has succeeded */
	UNDO_STAYS = 11  /* what `command` made is to stay, though it was issued later */
};

#define UNDO_ABSENT 1u /* XATTR: there was none of that name */
#define UNDO_GREW 2u   /* DATA: only appended to, so that cutting it off is enough */
#define UNDO_WHOLE 4u  /* DATA: all of the contents have been kept */
#define UNDO_EMPTY 8u  /* NEW: it goes only as long as nothing is in it */
#define UNDO_ASIDE 16u /* GONE: a worker that ends the command removes what is kept, too */

struct undo_entry {
	uint32_t size; /* with its texts, a multiple of 8; the first that is written */
	uint32_t mark; /* the last */
	uint64_t at;   /* position */
	uint16_t kind, flags;
	uint32_t command;       /* of whose process, one more than its number; 0: the driver's */
	int64_t now_ns;         /* when it was written, by the file system's clock */
	uint64_t device, inode; /* of what was at `path` */
	uint32_t mode, user, group;
	uint32_t store; /* which keeps contents, one more than its index; 0: none */
	uint64_t bytes;
	int64_t accessed_ns, modified_ns;
	int64_t born_ns; /* when it was made, or later: where that is not known, its last change */
	int64_t folder_ns, other_ns; /* when the folders of path and `other` were last changed */
	uint32_t process, parent;    /* whose change it is; 0: the server's */
	                             /* path, NUL, other, NUL, an attribute's value */
};

#endif
