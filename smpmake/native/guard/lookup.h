/* Looking a name, a file or a folder up on the board. */
#ifndef SMPMAKE_LOOKUP_H
#define SMPMAKE_LOOKUP_H

#include "guard.h"

#include <sys/stat.h>

/* The roles that pending commands other than ours gave to the last component of a path. */
unsigned roles_of_name(const char *path);

/* The slot of a file or folder, or 0; its roles are the lowest bits, all where nothing is known. */
uint64_t slot_of_file(const struct stat *info);

/* Whether the board itself tells what time a folder will have, that is looked at so often. */
int folder_time(const struct stat *info, struct wire_guard_answer *answer);

#endif
