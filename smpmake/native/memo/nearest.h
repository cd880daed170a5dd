/* The command before this one of the same program, folder and files: what is another now? */
#ifndef SMPMAKE_MEMO_NEAREST_H
#define SMPMAKE_MEMO_NEAREST_H

#include "memo/question.h"

/* The word, file or variable by which a question that nobody has asked differs from the last one of
 * its kind, or NULL.  From now on this question is the last one. */
const char *memo_nearest(const struct memo_question *q);

#endif
