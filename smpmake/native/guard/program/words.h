/* What a make says of itself. */
#ifndef SMPMAKE_WORDS_H
#define SMPMAKE_WORDS_H

/* Has what this make says of its jobs and rules go to a file of the session's, called by the
 * make's number.  One that tells nothing is not asked. */
void part_words(unsigned pid, char **argv, char **env);

#endif
