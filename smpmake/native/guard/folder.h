/* The folder of an entry that a job makes or removes. */
#ifndef SMPMAKE_FOLDER_H
#define SMPMAKE_FOLDER_H

#include "guard.h"

struct folder {
	int64_t changed_ns;
	char path[PATH_MAX]; /* "": its time does not matter */
};

/* Around the call that changes it, in a job: a folder is to have the time at which the last command
 * was issued that has changed it, and not that at which the job came to it. */
void folder_before(struct folder *folder, int dir, const char *path);
void folder_after(const struct folder *folder);

/* The call, with the folder's time kept where it is a job's. */
#define WITH_FOLDER(matters, dir, path, call)                                                      \
	do {                                                                                       \
		struct folder folder;                                                              \
		int keep = guard.trace != NULL && (matters) && !is_session(path);                  \
		if (keep)                                                                          \
			folder_before(&folder, dir, path);                                         \
		call;                                                                              \
		if (keep)                                                                          \
			folder_after(&folder);                                                     \
	} while (0)

#endif
