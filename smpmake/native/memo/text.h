/* What a source says of which a compiler's answer depends beside contents: the date, and times. */
#ifndef SMPMAKE_MEMOTEXT_H
#define SMPMAKE_MEMOTEXT_H

#include <stddef.h>
#include <stdint.h>

/* Where a reader is that takes a text piece by piece; zeros at its beginning. */
struct reading {
	char within;   /* a comment ('*', '/'), a text in quotes (its quote), 0: code */
	char last;     /* the character before */
	unsigned once; /* how much of that word has come; more than all of it: another word */
	int is_odd;    /* it has what may begin or end comments in a way not followed here */
	int is_there;  /* the word has come, if only in a comment */
};

/* MEMO_HAS_CLOCK and what follows it (store.h).  A piece ends at `size`; up to `before` it is the
 * end of the one before, for what stands on the border. */
uint32_t memo_text_says(struct reading *reading, const char *text, size_t before, size_t size);

#endif
