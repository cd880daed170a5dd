/* Undoing by the undo journal (undo.h). */
#ifndef SMPMAKE_TAKEBACK_H
#define SMPMAKE_TAKEBACK_H

enum undo_extent {
	UNDO_ALL, /* to the beginning */
	UNDO_STOP /* to where the first command was issued that has not succeeded */
};

/* Undoes what the journal in a session's folder says; complaints go to stdout, a line each.  It may
 * be done again, from whatever point it came to. */
void take_back(const char *folder, enum undo_extent extent);

/* Removes a folder with all that is in it. */
void remove_tree(const char *path);

/* Removes what the journal kept outside of the session's folder. */
void forget_stores(const char *folder);

#endif
