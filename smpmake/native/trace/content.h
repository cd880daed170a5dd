/* What an output holds: whether a second run would make it again, in this tree or in another.
 */
#ifndef SMPMAKE_CONTENT_H
#define SMPMAKE_CONTENT_H

#include "calls.h"

/* Whether the name of a temporary file stands in what stays. */
int has_digits(const struct trace *trace, const char *bytes, size_t size);

/* Why it would not be made again, 0 if it would. */
enum memo_why why_of_content(const struct trace *trace, const char *bytes, size_t size);

/* Whether it names the tree in which it was made; 0 where it would be the same in another, 1 where
 * it can be made for another, or else -1. */
int names_tree(const struct memo_question *q, const char *bytes, size_t size);
int says_tree(const struct memo_question *q, const char *text, size_t size); /* what it printed */

#endif
