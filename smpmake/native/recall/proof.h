/* Whether a compiler's result depends on the tree's name without naming it: by the length of a
 * file's name, say, or a sum of its letters.
 */
#ifndef SMPMAKE_PROOF_H
#define SMPMAKE_PROOF_H

#include "memo/question.h"

/* Whether the command's preprocessor leaves nothing of the tree's name in the text, nor anything by
 * which the compiler would put it in. */
int is_proved(const struct memo_question *q);

#endif
