/* What fuzz targets share.  Each includes the source that it is about, so as to reach its parts. */
#ifndef FUZZED_H
#define FUZZED_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* A copy of just that size: whoever reads behind it is found. */
static inline char *copy_of(const uint8_t *data, size_t size)
{
	char *copy = malloc(size > 0 ? size : 1);
	if (copy == NULL)
		abort();
	if (size > 0)
		memcpy(copy, data, size);
	return copy;
}

#endif
