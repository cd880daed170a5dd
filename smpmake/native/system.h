/* What worker and keeper ask the system for: files, processes, the time. */
#ifndef SMPMAKE_SYSTEM_H
#define SMPMAKE_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/* The first bytes of a file in a folder, up to `most`, and a NUL; NULL where it cannot be read. */
char *contents_of(const char *folder, const char *name, size_t most, size_t *size);

int64_t monotonic_ns(void);

/* Sends a signal to every descendant of this process (which has to be a subreaper to know them
 * all); returns how many there were. */
int signal_descendants(int signal);

/* An input for a tool of which nobody knows whether it reads it; -1 if there is none to be had. */
int open_input(void);

/* Whether it has been read; in doubt it has.  Closes it. */
uint32_t is_read(int input);

#endif
