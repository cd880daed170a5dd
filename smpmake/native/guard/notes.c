/* What a job reads and writes, noted in its trace. */
#include "asking.h"

#include <errno.h>
#include <string.h>

/* What lies in the system's own folders is nobody's output. */
static int is_foreign(const char *path)
{
	static const char *const folders[] = {"/usr/", "/lib", "/etc/", "/proc/", "/dev/", "/sys/"};
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return 1;
	return 0;
}

void guard_note(char letter, int dir, const char *path)
{
	int before = errno;
	char full[PATH_MAX];
	if (path != NULL && !is_foreign(path) && absolute(dir, path, full, sizeof full) == 0) {
		struct trace *trace = guard.trace;
		uint32_t size = (uint32_t)strlen(full) + 2;
		uint32_t at = __atomic_fetch_add(&trace->used, size, __ATOMIC_RELAXED);
		if (at < sizeof trace->text && size <= sizeof trace->text - at) {
			trace->text[at] = letter;
			memcpy(trace->text + at + 1, full, size - 1);
		} else {
			__atomic_fetch_add(&trace->lost, 1, __ATOMIC_RELAXED);
		}
	}
	errno = before;
}
