/* What the undoing had to make anew: folders, symbolic links, files of which only a copy is left;
 * and folders whose mode comes back last, when everything is in them.
 *
 * The journal names what a change was about by its inode.  What was made anew has another one, so
 * that older entries about it would be taken for another file's.
 */
#ifndef SMPMAKE_REMADE_H
#define SMPMAKE_REMADE_H

#include <sys/stat.h>

#include "layout/undo.h"

/* At `path` stands, as that file, what `entry` is about, which lives on.  A file that is known
 * already has the fields of this entry from now on, the older one. */
void remade_note(const char *path, const struct stat *info, const struct undo_entry *entry);

/* A file is not there any more. */
void remade_gone(const struct stat *info);

/* Whether a file is one of them. */
int remade_knows(const struct stat *info);

/* Whether a file is the one that `entry` is about, made anew. */
int remade_is(const struct stat *info, const struct undo_entry *entry);

/* A path has become another: what was noted at it or below is there now. */
void remade_moved(const char *from, const char *to);

/* Calls `finish` for each, with its path of now, what is in a folder before the folder; forgets
 * all. */
void remade_end(void (*finish)(const char *path, const struct undo_entry *entry));

#endif
