/* What a compiler says of files of a tree, as it says it in another.
 */
#ifndef SMPMAKE_MEMO_MESSAGES_H
#define SMPMAKE_MEMO_MESSAGES_H

#include <stddef.h>

struct memo_place;

/* The text with another tree's names where a line tells of which file it speaks; in new memory, its
 * size in `*size`.  Names at other places stay.  NULL where a top has characters that compilers may
 * write in another way. */
char *memo_renamed_messages(const char *text, size_t *size, const struct memo_place *from,
                            const struct memo_place *to);

#endif
