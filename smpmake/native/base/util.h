/* What shim, worker and keeper share: whole reads and writes, strings in blobs, messages.
 *
 * The shim has no libc but bare.c; what only the others need is in system.h. */
#ifndef SMPMAKE_UTIL_H
#define SMPMAKE_UTIL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "layout/wire.h"

/* 0 when all of it arrived or left, -1 at the end of the stream or on an error (errno set). */
int read_all(int fd, void *buffer, size_t size);
int write_all(int fd, const void *buffer, size_t size);

/* Reads one frame's header; -1 on end of stream, error, or anything that is not our frame. */
int read_header(int fd, struct wire_header *header);
int send_frame(int fd, uint16_t type, const void *payload, size_t size);

/* malloc or die: none of these programs can go on without memory. */
void *must_alloc(size_t size);

/* The NUL-ended strings of a blob as a NULL-ended array (pointing into the blob), or NULL when the
 * blob does not end in NUL. */
char **strings_of(char *blob, size_t size);

/* "smpmake: WHO: WHAT: strerror(errno)" on stderr, in one write. */
void complain(const char *who, const char *what);

#define STATUS_CANNOT_RUN 126
#define STATUS_NOT_FOUND 127
/* Says why (errno) a program could not be started; the status that a shell has for that. */
int tell_cannot_run(const char *name, const char *program);

/* Ends this process as one that wait(2) has told of has ended, by the same signal if it was one. */
_Noreturn void end_as(int status);

/* Whether a word is one of some, NULL-ended, or begins as one of them; or ends so. */
int is_among(const char *word, const char *const *names);
int begins_as(const char *word, const char *const *names);
int ends_in(const char *word, const char *end);

/* Whether bytes are a program's, a library's or an object's. */
int is_elf(const char *bytes, size_t size);

/* Whether a tool is one of some, NULL-ended, whatever machine and version it is for:
 * x86_64-linux-gnu-gcc-12 is gcc. */
int is_one_of(const char *tool, const char *const *names);

/* One of clock_gettime(2)'s clocks, in ns, past whatever libc there is. */
int64_t clock_ns(int clock);

/* Put a text, or a number in digits, at `at`, as far as `end`; return what is behind it. */
char *put_text(char *at, const char *end, const char *text);
char *put_number(char *at, const char *end, unsigned long value);
/* Put 16 digits, and a NUL; return where that is. */
char *put_hex(char *at, uint64_t value);

/* How many processes run on this machine, or would if there were a CPU; -1 where nobody tells. */
long count_running(void);

#endif
