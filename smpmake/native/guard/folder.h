/* The folder of an entry that a job makes or removes. */
#ifndef SMPMAKE_FOLDER_H
#define SMPMAKE_FOLDER_H

#include "guard.h"

struct folder {
	int matters; /* its time does */
	uint64_t device, inode;
	int64_t changed_ns;
};

/* Around a call that changes it, where that `may` be: in a job a folder is to have the time at
 * which the last command was issued that has changed it, and not that at which the job came to it.
 */
void folder_before(struct folder *folder, int may, int dir, const char *path);
void folder_after(const struct folder *folder, int dir, const char *path);

/* The name of the folder of what a path names, which is to be looked up where that is: a part of
 * the path, copied to `room`, of PATH_MAX; NULL where it is longer. */
const char *folder_of(const char *path, char *room);

#endif
