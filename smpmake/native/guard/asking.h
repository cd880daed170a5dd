/* A question on its way to the server and back. */
#ifndef SMPMAKE_ASKING_H
#define SMPMAKE_ASKING_H

#include "guard.h"

/* An absolute name, nothing followed or folded; -1 where there is none. */
int absolute(int dir, const char *path, char *full, size_t size);

/* Puts a question and waits for the answer; without a server the answer is to go on.  `elsewhere`
 * gets the path of an answer that has one. */
void ask(uint32_t kind, const char *path, const char *other, char *elsewhere,
         struct wire_guard_answer *answer);

#endif
