/* What a worker is told. */
#include "worker/job.c"

#include "fuzzed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct job job = {0};
	char *copy = copy_of(data, size);
	size_t bytes = 0;
	if (parse(copy, size, &job) == 0) {
		for (char **word = job.argv; *word != NULL; word++)
			bytes += strlen(*word);
		for (char **word = job.env; *word != NULL; word++)
			bytes += strlen(*word);
		for (size_t i = 0; i < job.output_count; i++)
			bytes += strlen(job.outputs[i].path) + strlen(job.outputs[i].aside);
		bytes += strlen(job.real) + strlen(job.cwd) + strlen(job.lent);
		if (bytes > size)
			abort();
	}
	forget(&job);
	free(copy);
	return 0;
}
