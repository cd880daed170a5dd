/* What lies in the system's own folders is nobody's output: guards take no notes of it. */
#ifndef SMPMAKE_FOREIGN_H
#define SMPMAKE_FOREIGN_H

#include <stddef.h>
#include <string.h>

static inline int is_foreign(const char *path)
{
	static const char *const folders[] = {"/usr/", "/lib", "/etc/", "/proc/", "/dev/", "/sys/"};
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return 1;
	return 0;
}

#endif
