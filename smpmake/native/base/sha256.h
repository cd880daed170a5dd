/* SHA-256, for programs without libc too. */
#ifndef SMPMAKE_SHA256_H
#define SMPMAKE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32u

struct sha256 {
	uint32_t state[8];
	uint64_t size; /* bytes so far */
	unsigned char rest[64];
	int plain; /* the CPU's own instructions are not to be used */
};

void sha256_begin(struct sha256 *sum);
void sha256_add(struct sha256 *sum, const void *data, size_t size);
void sha256_end(struct sha256 *sum, unsigned char digest[SHA256_SIZE]);

#endif
