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

/* Sends a signal to every process of ours that has a variable of this beginning, except this one;
 * returns how many there were.  They need not be descendants. */
int signal_marked(const char *beginning, int signal);

#endif
