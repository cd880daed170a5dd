/* What shim, worker and keeper share: whole reads and writes, strings in blobs, messages. */
#ifndef SMPMAKE_UTIL_H
#define SMPMAKE_UTIL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire.h"

/* 0 when all of it arrived or left, -1 at the end of the stream or on an error (errno set). */
int read_all(int fd, void *buffer, size_t size);
int write_all(int fd, const void *buffer, size_t size);

/* Reads one frame's header; -1 on end of stream, error, or anything that is not our frame. */
int read_header(int fd, struct wire_header *header);
int send_frame(int fd, uint16_t type, const void *payload, size_t size);

/* malloc or die: none of these programs can go on without memory. */
void *must_alloc(size_t size);

/* The first bytes of a file in a folder, up to `most`, and a NUL; NULL where it cannot be read. */
char *contents_of(const char *folder, const char *name, size_t most, size_t *size);

/* The NUL-ended strings of a blob as a NULL-ended array (pointing into the blob), or NULL when the
 * blob does not end in NUL. */
char **strings_of(char *blob, size_t size);

/* "smpmake: WHO: WHAT: strerror(errno)" on stderr, in one write. */
void complain(const char *who, const char *what);

int64_t monotonic_ns(void);

/* Sends a signal to every descendant of this process (which has to be a subreaper to know them
 * all); returns how many there were. */
int signal_descendants(int signal);

#endif
