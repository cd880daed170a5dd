/* The tree in which a command works, and whether its result depends on where that is.
 *
 * The same command in another tree gives the same files if it names this one nowhere, asks for
 * nothing above the top, and leaves the top's name in nothing that it makes.
 */
#ifndef SMPMAKE_MEMO_TREE_H
#define SMPMAKE_MEMO_TREE_H

#include <limits.h>
#include <stddef.h>

#define MEMO_NAMED_PATHS 64

struct memo_tree {
	char folder[PATH_MAX]; /* in which the command works */
	size_t top;            /* bytes of that: the top's name; 0 for one that nobody can search */
	size_t plain;          /* bytes of the top's name that each compiler writes as they are */
	size_t mark, length;   /* letters and digits of those, which are searched first */
	int is_in_words;       /* words name what is in the tree, absolutely */
	const char *named[MEMO_NAMED_PATHS]; /* and lead to this; not what is made */
	size_t told[MEMO_NAMED_PATHS]; /* bytes of each: the folder in which names are expected */
	size_t named_count;
};

/* A folder in a tree: so many bytes of its name are the top's. */
struct memo_place {
	const char *folder;
	size_t top;
};

/* `top`: what the session takes for the top, or NULL; where the command works elsewhere its folder
 * is the top.  0 or -1: there is no folder. */
int memo_find_tree(struct memo_tree *tree, const char *top);

/* Whether bytes name the top: as it is, in wide characters, or as a part of a symbol's name. */
int memo_names_top(const struct memo_tree *tree, const char *bytes, size_t size);

/* Where a text begins to name the top as it is, or NULL. */
const char *memo_top_in(const struct memo_tree *tree, const char *bytes, size_t size);

/* Whether a name that is relative, or one in the tree, leads above the top. */
int memo_is_above(const struct memo_tree *tree, const char *name);

/* Whether words have led to a name in the tree: it is below a folder that they name, or beside a
 * file. */
int memo_is_told_of(const struct memo_tree *tree, const char *name);
void memo_find_told(struct memo_tree *tree); /* before that, and before the command runs */

/* What compilers, assemblers and make write as it is. */
int memo_is_plain(char c);
int memo_is_plain_place(const struct memo_place *place);

/* A name as it is in another tree: in new memory, or the same where it is not in the tree. */
const char *memo_moved(const char *name, const struct memo_place *from,
                       const struct memo_place *to);

/* Whether an absolute name is the top's, or of what is in the tree; or begins so by chance. */
int memo_is_in_tree(const struct memo_tree *tree, const char *name);

/* Whether a content may have names in a form that is not searched: packed, or of fewer bits. */
int memo_may_hide_names(const char *bytes, size_t size);

#endif
