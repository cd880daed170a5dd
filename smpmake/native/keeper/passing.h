/* Folders that are made for a while, when changes are taken back.
 *
 * Of two processes that work at one moment the one may write down that it removes a folder before
 * the other writes down what it removes from it: then that comes back first.
 */
#ifndef SMPMAKE_PASSING_H
#define SMPMAKE_PASSING_H

/* The folder of a path into `folder`, PATH_MAX bytes; 0 where there is none but the root. */
int folder_of(const char *path, char *folder);

/* Sees to it that there is a folder for a path. */
void passing_folder_of(const char *path);

/* Whether a folder is one of them. */
int passing_is(const char *path);

/* The same; it is the real one from now on. */
int passing_folder_stays(const char *path);

/* Removes those that were made, and leaves no trace in the times of the others.  `left` is called
 * for each that holds what has found no other place. */
void passing_folders_go(void (*left)(const char *path));

#endif
