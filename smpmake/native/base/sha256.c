/* SHA-256 (FIPS 180-4), by the CPU's own instructions where it has them. */
#include "sha256.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t table[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turned(uint32_t word, int by)
{
	return word >> by | word << (32 - by);
}

static uint32_t big_endian(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* One of 64 steps; eight of them bring the eight words back to their places. */
#define STEP(a, b, c, d, e, f, g, h, i)                                                            \
	do {                                                                                       \
		uint32_t one = h + table[i] + w[i] + (g ^ (e & (f ^ g))) +                         \
		               (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25));                     \
		d += one;                                                                          \
		h = one + (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) +                         \
		    ((a & b) | (c & (a | b)));                                                     \
	} while (0)

static void mix_plainly(uint32_t state[8], const unsigned char *at, size_t blocks)
{
	for (; blocks > 0; blocks--, at += 64) {
		uint32_t w[64];
		uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
		uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
		for (int i = 0; i < 16; i++)
			w[i] = big_endian(at + 4 * i);
		for (int i = 16; i < 64; i++) {
			uint32_t x = w[i - 15], y = w[i - 2];
			w[i] = w[i - 16] + w[i - 7] + (turned(x, 7) ^ turned(x, 18) ^ x >> 3) +
			       (turned(y, 17) ^ turned(y, 19) ^ y >> 10);
		}
		for (int i = 0; i < 64; i += 8) {
			STEP(a, b, c, d, e, f, g, h, i);
			STEP(h, a, b, c, d, e, f, g, i + 1);
			STEP(g, h, a, b, c, d, e, f, i + 2);
			STEP(f, g, h, a, b, c, d, e, i + 3);
			STEP(e, f, g, h, a, b, c, d, i + 4);
			STEP(d, e, f, g, h, a, b, c, i + 5);
			STEP(c, d, e, f, g, h, a, b, i + 6);
			STEP(b, c, d, e, f, g, h, a, i + 7);
		}
		const uint32_t mixed[8] = {a, b, c, d, e, f, g, h};
		for (int i = 0; i < 8; i++)
			state[i] += mixed[i];
	}
}

#if defined(__x86_64__)
#define SHA_BIT (1u << 29)

/* Asking is slow in a virtual machine: once a process. */
static int has_instructions(void)
{
	static int known; /* 0: not asked yet, 1: no, 2: yes */
	unsigned a = 0, b = 0, c = 0, d = 0;
	if (known == 0)
		known = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & SHA_BIT) ? 2 : 1;
	return known == 2;
}

__attribute__((target("sha,sse4.1,ssse3"))) static void
mix_by_instructions(uint32_t state[8], const unsigned char *at, size_t blocks)
{
	const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
	__m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
	__m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
	__m128i one = _mm_alignr_epi8(low, high, 8);    /* ABEF */
	__m128i two = _mm_blend_epi16(high, low, 0xf0); /* CDGH */
	for (; blocks > 0; blocks--, at += 64) {
		__m128i w[4], before = one, other = two;
		for (int i = 0; i < 4; i++)
			w[i] = _mm_shuffle_epi8(
			    _mm_loadu_si128((const __m128i *)(at + 16 * (size_t)i)), order);
		for (int i = 0; i < 16; i++) {
			__m128i now = w[i & 3];
			__m128i sum = _mm_add_epi32(
			    now, _mm_loadu_si128((const __m128i *)(table + 4 * (size_t)i)));
			two = _mm_sha256rnds2_epu32(two, one, sum);
			one = _mm_sha256rnds2_epu32(one, two, _mm_shuffle_epi32(sum, 0x0e));
			__m128i next = _mm_sha256msg1_epu32(now, w[(i + 1) & 3]);
			next =
			    _mm_add_epi32(next, _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4));
			w[i & 3] = _mm_sha256msg2_epu32(next, w[(i + 3) & 3]);
		}
		one = _mm_add_epi32(one, before);
		two = _mm_add_epi32(two, other);
	}
	low = _mm_shuffle_epi32(one, 0x1b);
	high = _mm_shuffle_epi32(two, 0xb1);
	_mm_storeu_si128((__m128i *)state, _mm_blend_epi16(low, high, 0xf0));
	_mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(high, low, 8));
}
#endif

static void mix(struct sha256 *sum, const unsigned char *at, size_t blocks)
{
#if defined(__x86_64__)
	if (!sum->plain && has_instructions()) {
		mix_by_instructions(sum->state, at, blocks);
		return;
	}
#endif
	mix_plainly(sum->state, at, blocks);
}

void sha256_begin(struct sha256 *sum)
{
	static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	memcpy(sum->state, first, sizeof first);
	sum->size = 0;
	sum->plain = 0;
}

void sha256_add(struct sha256 *sum, const void *data, size_t size)
{
	const unsigned char *at = data;
	size_t held = sum->size % 64;
	sum->size += size;
	if (held > 0) {
		size_t more = 64 - held < size ? 64 - held : size;
		memcpy(sum->rest + held, at, more);
		at += more;
		size -= more;
		if (held + more < 64)
			return;
		mix(sum, sum->rest, 1);
	}
	if (size >= 64)
		mix(sum, at, size / 64);
	memcpy(sum->rest, at + size / 64 * 64, size % 64);
}

void sha256_end(struct sha256 *sum, unsigned char digest[SHA256_SIZE])
{
	unsigned char end[72] = {0x80};
	uint64_t bits = sum->size * 8;
	size_t pad = 64 - (sum->size + 8) % 64;
	for (int i = 0; i < 8; i++)
		end[pad + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(sum, end, pad + 8);
	for (int i = 0; i < 32; i++)
		digest[i] = (unsigned char)(sum->state[i / 4] >> (24 - 8 * (i % 4)));
}
