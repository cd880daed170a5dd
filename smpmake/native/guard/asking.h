/* A question on its way to the server and back. */
#ifndef SMPMAKE_ASKING_H
#define SMPMAKE_ASKING_H

#include "guard.h"

#include <sys/types.h>

/* Writes a number before `end`; returns where it begins. */
char *digits_before(char *end, unsigned number);

/* A name by which what is open can be opened again, in `room`. */
#define OPEN_NAME_SIZE 32
char *open_name(unsigned fd, char room[OPEN_NAME_SIZE]);

/* The name of an open file, by its number or by the digits of that; its length, -1 for none. */
ssize_t name_of(int fd, char *name, size_t size);
ssize_t name_of_open(const char *digits, char *name, size_t size);

/* An absolute name, nothing followed or folded; -1 where there is none. */
int absolute(int dir, const char *path, char *full, size_t size);

/* From here on this process may be in another folder than before, or the folder be called
 * otherwise. */
void guard_moves_about(void);

/* What is to be put before a relative path to make it absolute: the name that our folder had when
 * it was first needed, NULL where that is not known; for notes, of which a job makes thousands.  A
 * process that moves about is asked each time. */
const char *home_before(int dir, size_t *size);

/* Where a name leads by way of what a process has open, or of its folder (/proc/self/fd/3,
 * /dev/stdin, /proc/self/cwd/x): then that, in `page`, which is given one, becomes the path. */
void follow_process(int *dir, const char **path, char **page);

/* Where a symbolic link leads, without a look at what is on the way; 0 where that is too long. */
int target_of(const char *link, const char *target, char full[PATH_MAX]);

/* Puts a question and waits for the answer; without a server the answer is to go on.  `elsewhere`,
 * where it is NULL, is given a page with the path of an answer that has one.  -1 where there is a
 * server that could not be asked. */
int ask(uint32_t kind, const char *path, const char *other, char **elsewhere,
        struct wire_guard_answer *answer);

/* The same of a path as for openat(2).  Where no memory is left for its name, about everything. */
void ask_about(uint32_t kind, int dir, const char *path, struct wire_guard_answer *answer);

/* Waits until the kernel's clock for files has passed the time of the newest result. */
void guard_pass_tick(void);

#endif
