/* What an entry says in another tree than the one in which it was made.
 */
#ifndef SMPMAKE_MEMO_OTHER_TREE_H
#define SMPMAKE_MEMO_OTHER_TREE_H

#include "memo/question.h"

/* Of an entry that may come from another tree: where it was made, or NULL. */
const struct memo_fact *memo_origin(const struct memo_entry *entry);
/* Whether it does, and this is another tree: both folders. */
int memo_is_elsewhere(const struct memo *memo, const struct memo_entry *entry,
                      struct memo_place *then, struct memo_place *now);
/* What has a path in that tree: the path in this one, in `room`; any other as it is. */
const char *memo_placed(const struct memo_tree *tree, const struct memo_fact *origin,
                        const char *path, char room[PATH_MAX]);

/* The bytes of an output as they are to be in the folder of now. */
const char *memo_output_bytes(const struct memo *memo, const struct memo_entry *entry,
                              const struct memo_output *output, size_t *size);

/* What it printed, of one of its two texts, as it is to be said in the folder of now; or NULL. */
const char *memo_said(const struct memo *memo, const struct memo_entry *entry,
                      const struct memo_blob *blob, size_t *size);

/* Whether an entry of another tree is to be given back only if what the compiler makes of the text
 * has nothing of the tree's name (recall/proof.c); from now on it is not. */
int memo_wants_proof(const struct memo_question *q, const struct memo_entry *entry);
void memo_note_proof(const struct memo_question *q, const struct memo_entry *entry);

/* An object obeys the rule by which it can be made for another folder, or does not.  Whether its
 * compiler's have always done so, and often enough, where that is not proved. */
void memo_note_maker(const struct memo *memo, const char *bytes, size_t size, int obeys);
int memo_believes_maker(const struct memo *memo, const char *bytes, size_t size);

#endif
