/* What the guards in a command tell its tracer: a memory that they share (trace/notes.c makes it,
 * and guard/looks.c writes it).
 *
 * A call that waits for the tracer costs more than ten times what it costs otherwise.  So a guard
 * makes the looks of its process itself, and notes what the kernel has said.  Such calls come from
 * one place in memory, by which the filter knows them (trace/filter.c): nobody else's code is
 * there, so that whatever was not noted waits as before.
 */
#ifndef SMPMAKE_LOOKS_H
#define SMPMAKE_LOOKS_H

#include <stddef.h>
#include <stdint.h>

/* Where the first page is mapped to be run: below all programs, and what sanitizers use. */
#define LOOKS_AT UINT64_C(0x100000)
#define LOOKS_PAGE 4096u
#define LOOKS_ROOM (1u << 20) /* bytes of notes */
#define LOOKS_PLACES 4096u
#define LOOKS_DIGITS 256u
#define LOOKS_MAGIC 0x4b4f4f4cu

/* Five arguments and the number of a call; behind LOOKS_BEHIND bytes the kernel goes on. */
typedef long looks_call(long a, long b, long c, long d, long e, long number);
#if defined(__x86_64__)
/* endbr64; mov %r9, %rax; mov %rcx, %r10; syscall; ret */
#define LOOKS_CODE {0xf3, 0x0f, 0x1e, 0xfa, 0x4c, 0x89, 0xc8, 0x49, 0x89, 0xca, 0x0f, 0x05, 0xc3}
#define LOOKS_BEHIND 12u
#else
/* bti c; mov x8, x5; svc #0; ret */
#define LOOKS_CODE                                                                                 \
	{0x5f, 0x24, 0x03, 0xd5, 0xe8, 0x03, 0x05, 0xaa,                                           \
	 0x01, 0x00, 0x00, 0xd4, 0xc0, 0x03, 0x5f, 0xd6}
#define LOOKS_BEHIND 12u
#endif

/* What is in this folder leads to the files that a process has opened.  Its program has read such a
 * link if there is a note of it; a guard reads them, too, without one. */
#define LOOKS_OWN "/proc/self/fd/"

/* GUARDS: that the process `inode` has a guard.  WANTS: that a variable was asked for; it has the
 * value behind its name, unless it `failed`. */
enum look_way { LOOKS = 0, READS_LINK = 1, LISTS = 2, OPENS = 3, GUARDS = 4, WANTS = 5 };

/* A note: what was found, and its path behind it.  `size` is written last. */
struct looks_note {
	uint32_t size;  /* with the path and its NUL, a multiple of 8 */
	uint32_t after; /* so many changes by the command were there before */
	uint8_t way;    /* enum look_way */
	uint8_t nofollow;
	uint16_t failed; /* errno; 0: it was there */
	uint32_t mode;   /* the rest is not set where it failed, or a link was read */
	uint64_t device, inode, special, bytes;
	int64_t modified_ns, changed_ns;
};

/* When a file was last changed; some file systems count whole seconds. */
#define LOOKS_AGE(changed_ns) ((changed_ns) + ((changed_ns) % 1000000000 == 0 ? 1000000000 : 0))

struct looks {
	unsigned char code[LOOKS_PAGE];
	uint32_t magic;
	uint32_t changes; /* that the tracer knows of */
	uint32_t useless; /* nothing needs to be noted any more */
	uint32_t lost;    /* there was no room for a note */
	uint32_t random;  /* a program was given random numbers, of whose use nobody knows */
	/* Of numbers drawn one by one (arc4random(3)) the last digit in hex, as LLVM takes it for
	 * the name of a temporary file.  The tracer sees the name, and so what became of them. */
	uint32_t drawn;
	char digits[LOOKS_DIGITS];
	int64_t
	    young_ns;  /* what was changed since then the tracer reads itself, when it is opened */
	uint64_t used; /* bytes; more than there are where there was no room */
	/* Where notes are, by what they say: 1 + their place; a compiler often asks for the same.
	 */
	uint32_t places[LOOKS_PLACES];
	char notes[LOOKS_ROOM];
};

#endif
