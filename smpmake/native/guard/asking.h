/* A question on its way to the server and back. */
#ifndef SMPMAKE_ASKING_H
#define SMPMAKE_ASKING_H

#include "guard.h"

#include <sys/types.h>

/* The name of an open file, by its number or by the digits of that; its length, -1 for none. */
ssize_t name_of(int fd, char *name, size_t size);
ssize_t name_of_open(const char *digits, char *name, size_t size);

/* An absolute name, nothing followed or folded; -1 where there is none. */
int absolute(int dir, const char *path, char *full, size_t size);

/* The same, by the name that our folder had when it was first needed: for notes, of which a job
 * makes thousands.  Who moves about (`guard_moves_about`) is asked each time. */
int absolute_at_first(int dir, const char *path, char *full, size_t size);

/* Where a symbolic link leads, without a look at what is on the way; 0 where that is too long. */
int target_of(const char *link, const char *target, char full[PATH_MAX]);

/* Puts a question and waits for the answer; without a server the answer is to go on.  `elsewhere`
 * gets the path of an answer that has one.  -1 where there is a server that could not be asked. */
int ask(uint32_t kind, const char *path, const char *other, char *elsewhere,
        struct wire_guard_answer *answer);

#endif
