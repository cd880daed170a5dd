/* How a program or library may read variables of which no guard hears: by `environ`, or by the name
 * of secure_getenv(3) from before glibc 2.17. */
#ifndef SMPMAKE_MEMO_PROGRAM_H
#define SMPMAKE_MEMO_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/* By its head: one that is run or mapped to be run, and no object file. */
int memo_is_runnable(const char *text, size_t size);
/* Looks for the names that tell.  `found`: which were found, 0 at first. */
void memo_look_for_names(unsigned *found, const char *text, size_t size);
/* MEMO_HAS_LIBIBERTY, MEMO_HAS_ENVIRON or 0, from all of a file. */
uint32_t memo_names_say(unsigned found);

#endif
