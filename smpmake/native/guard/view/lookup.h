/* Looking a name, a file or a folder up on the board. */
#ifndef SMPMAKE_LOOKUP_H
#define SMPMAKE_LOOKUP_H

#include "guard/guard.h"

#include <sys/stat.h>

/* The roles that pending commands other than ours gave to the last component of a path. */
unsigned roles_of_name(const char *path);

/* Whether anything pending has to do with a name like this. */
int guard_knows(const char *path);

/* Whether what a path names is the very output of a pending command other than ours, or may be; or
 * a folder of outputs that is not there. For a make `told` is given: where the board itself says
 * what that will be it holds it. */
enum output { OUTPUT_NONE, OUTPUT_ASK, OUTPUT_TOLD };
enum output output_at(int dir, const char *path, struct wire_guard_answer *told);

static inline int is_output(int dir, const char *path)
{
	return output_at(dir, path, NULL) != OUTPUT_NONE;
}

/* Whether we are a command that is to find an older version of what a path names, or none, or may
 * be. */
int is_kept(int dir, const char *path);

/* Whether we are a job that has said that it writes what a path names.  Who has said that it reads
 * or writes it, too, and was issued before us, has ended before we were started; all others wait
 * for us. */
int is_own_output(int dir, const char *path);

/* Whether we are a job that has said that it reads what a path names: who was issued before us and
 * writes that has ended before we were started, and who would change it waits, or keeps it. */
int is_own_input(int dir, const char *path);

/* Whether what is called so is a link: to a file that the board has by another name, perhaps. */
int is_link(int dir, const char *path);

/* Whether there is nothing at a path, not even a link that leads nowhere. */
int is_nothing(int dir, const char *path);

/* The slot of a file or folder, or 0; its roles are the lowest bits, all where nothing is known. */
uint64_t slot_of_file(const struct stat *info);

/* Whether a file is an older one that a pending command other than ours will replace. */
int is_to_be_replaced(const struct stat *info);

/* Whether the board itself tells what time a folder will have, that is looked at so often. */
int folder_time(const struct stat *info, struct wire_guard_answer *answer);

#endif
