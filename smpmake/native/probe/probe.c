/* A probe of what this machine's CPUs give together.
 *
 *     smpmake-probe cache|memory MILLISECONDS
 *
 * Works for the given time on 16 KiB (which stays in a CPU's own cache) or on 64 MiB (which does
 * not stay in any), and prints how many rounds of 16 KiB it went through in a second.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "base/util.h"

#define ROUND ((size_t)16 << 10)
#define LARGE ((size_t)64 << 20)

int main(int argc, char **argv)
{
	if (argc != 3 || (strcmp(argv[1], "cache") != 0 && strcmp(argv[1], "memory") != 0)) {
		errno = EINVAL;
		complain("probe", "usage: smpmake-probe cache|memory MILLISECONDS");
		return 125;
	}
	size_t size = strcmp(argv[1], "cache") == 0 ? ROUND : LARGE;
	volatile uint64_t *data = must_alloc(size);
	for (size_t i = 0; i < size / sizeof *data; i++)
		data[i] = i;
	int64_t start = monotonic_ns(), length = (int64_t)atoi(argv[2]) * 1000000, spent;
	uint64_t rounds = 0, sum = 0;
	size_t at = 0;
	do {
		for (int batch = 0; batch < 16; batch++) {
			/* One word a cache line, so that memory and not the adder is measured. */
			for (size_t i = 0; i < ROUND / sizeof *data; i += 8)
				sum += data[at + i]++;
			at = (at + ROUND / sizeof *data) % (size / sizeof *data);
			rounds++;
		}
		spent = monotonic_ns() - start;
	} while (spent < length);
	printf("%.0f %d\n", (double)rounds * 1e9 / (double)spent, (int)(sum & 1));
	return 0;
}
