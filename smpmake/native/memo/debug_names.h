/* The folder's name in the debug information of an object, and the object of another folder.
 */
#ifndef SMPMAKE_MEMO_DEBUG_NAMES_H
#define SMPMAKE_MEMO_DEBUG_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "memo/tree.h"

/* The object that the compiler would have made of the same at the place `to`; `size` becomes its
 * size.  NULL where that is not known for certain. */
char *memo_renamed(const char *bytes, size_t *size, const struct memo_place *from,
                   const struct memo_place *to);

/* Whether an object names the tree, and only so that memo_renamed knows how: what that makes for
 * the same folder is the very object.  -1 where it is another: its compiler has another rule. */
int memo_may_be_renamed(const struct memo_tree *tree, const char *bytes, size_t size);

/* What stands for the compiler of an object; 0 for one whose rule has been proved. */
uint32_t memo_unproved_maker(const char *bytes, size_t size);

#endif
