/* A dependency file that names the tree, and that of another tree.
 */
#ifndef SMPMAKE_MEMO_DEPS_H
#define SMPMAKE_MEMO_DEPS_H

#include <stddef.h>

#include "memo/tree.h"

/* The file that the compiler would have written of the same at the place `to`; `size` becomes its
 * size.  NULL where that is not known for certain. */
char *memo_renamed_deps(const char *text, size_t *size, const struct memo_place *from,
                        const struct memo_place *to);

#endif
