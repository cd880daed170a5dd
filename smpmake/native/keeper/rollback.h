/* Undoing by the undo journal (undo.h). */
#ifndef SMPMAKE_ROLLBACK_H
#define SMPMAKE_ROLLBACK_H

enum undo_extent {
	UNDO_ALL, /* to the beginning */
	UNDO_STOP /* to where the first command was issued that has not succeeded */
};

/* Undoes what the journal in a session's folder says; complaints go to stdout, a line each. Returns
 * how many steps came to nothing: then the tree is not what it was, and what has no place in it
 * any more lies beside its place.  It may be done again, from whatever point it came to. */
int take_back(const char *folder, enum undo_extent extent);

/* The same for a session that has been killed, to UNDO_STOP; complaints are the user's. */
void take_back_of_the_dead(const char *folder);

/* Removes a folder with all that is in it. */
void remove_tree(const char *path);

/* Removes what the journal kept outside of the session's folder. */
void forget_stores(const char *folder);

#endif
