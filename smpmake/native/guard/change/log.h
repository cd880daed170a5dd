/* An entry of the undo journal (layout/undo.h), and the change of which it speaks. */
#ifndef SMPMAKE_LOG_H
#define SMPMAKE_LOG_H

#include <linux/stat.h>

#include "guard/guard.h"
#include "guard/looks.h"
#include "guard/pages.h"

#define LOOK_CALL kernel_unseen
#include "base/undo_entry.h"

struct change {
	struct undo_head *head;
	struct statx info;
	int there; /* something is at the path */
	uint16_t kind, flags;
	uint32_t store;
	char *path; /* a page's */
};

static inline void change_end(struct change *c)
{
	page_give(&c->path);
}

/* A variable that gives its page back when it ends. */
#define CHANGE(name) struct change name __attribute__((cleanup(change_end))) = {.path = NULL}

/* The journal's head, or NULL where there is nothing to be written any more. */
struct undo_head *undo_head(void);
/* Looks at what is to be changed; 0 where it is nothing that could be undone. */
int undo_look(struct change *c, int dir, const char *path, int flags);
/* The same, also where files are nobody's results: what comes from there, or goes there, is not. */
int undo_look_anywhere(struct change *c, int dir, const char *path, int flags);
int undo_is_excepted(const struct change *c);
/* Whether the state before the change is part of a state that may be wanted back. */
int undo_was_before(const struct change *c);
/* Writes it down; NULL where there is no room. */
struct undo_entry *undo_write(struct change *c, char *other);
/* The value that an attribute of it has now; and its flags. */
void undo_write_attribute(struct change *c, char *name);
void undo_write_flags(struct change *c, uint64_t flags);
/* From now on nothing can be undone, until the server says otherwise. */
void undo_lose(struct undo_head *h);

#endif
