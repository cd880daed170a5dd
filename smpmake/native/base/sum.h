/* A quick number for some bytes: for tables, and against damage.  SHA-256 is for what must hold. */
#ifndef SMPMAKE_SUM_H
#define SMPMAKE_SUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t quick_sum(const void *data, size_t size)
{
	const unsigned char *at = data;
	uint64_t sum = size * UINT64_C(0x9e3779b97f4a7c15), word;
	for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
		memcpy(&word, at, sizeof word);
		sum = (sum ^ word) * UINT64_C(0xff51afd7ed558ccd);
		sum ^= sum >> 32;
	}
	for (; size > 0; size--, at++)
		sum = (sum ^ *at) * UINT64_C(0x100000001b3);
	return sum;
}

#endif
