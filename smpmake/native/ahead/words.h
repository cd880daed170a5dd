/* The words of checks, and how those of this run differ from those that are known: other flags,
 * other libraries. */
#ifndef SMPMAKE_AHEAD_WORDS_H
#define SMPMAKE_AHEAD_WORDS_H

#include <stddef.h>

/* A program's path, what it is called, its words, NULL.  `source`: the place of the source's name;
 * 0: there is none. */
struct words {
	char **all;
	size_t count, source;
};

/* Words that lie behind each other, each with its NUL, in new memory; -1 where the source is none
 * of them.  `source`: the number of its word as main() has them, 0 for none. */
int split_words(struct words *words, const char *text, size_t size, size_t source);

/* What differs between two commands that ask the same. */
void learn_change(const struct words *then, const struct words *now);

/* Known words as they would be now, in new memory, which is `all`. */
struct words words_now(const struct words *known);

int are_same_words(const struct words *one, const struct words *other);

#endif
