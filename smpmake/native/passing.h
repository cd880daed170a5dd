/* Folders that are made for a while, when changes are taken back.
 *
 * What a command makes for itself and removes again need not be in the journal.  If it moved
 * something through such a folder, the way back leads through it, too.
 */
#ifndef SMPMAKE_PASSING_H
#define SMPMAKE_PASSING_H

/* Sees to it that there is a folder for a path. */
void passing_folder_of(const char *path);

/* Removes those that were made, and leaves no trace in the times of the others. */
void passing_folders_go(void);

#endif
