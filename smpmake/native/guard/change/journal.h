/* What the hooks write into the undo journal (../undo.h) before they change something. */
#ifndef SMPMAKE_JOURNAL_H
#define SMPMAKE_JOURNAL_H

#include "guard/guard.h"

static inline int undo_is_on(void)
{
	return guard.board->journal != 0 && !is_inert();
}

/* `path` is about to be opened for writing; 1 where that makes it: then undo_opened follows. */
int undo_open(int dir, const char *path, int flags);
void undo_opened(int fd);
/* Its contents are about to be cut. */
void undo_data(int dir, const char *path);
void undo_data_of(int fd);
/* Its mode, owner or times are about to be changed. */
void undo_meta(int dir, const char *path, int follow);
void undo_meta_of(int fd);
/* One of its extended attributes is about to be changed, or removed; its flags are. */
void undo_attribute(int dir, const char *path, const char *name, int follow);
void undo_attribute_of(int fd, const char *name);
void undo_flags_of(int fd);
/* A name is about to be made. */
void undo_new(int dir, const char *path);
/* What mkostemps and mkdtemp do, each name being written down before it is tried. */
int undo_temporary(char *path, int tail, int flags, int is_folder);
void undo_link(int from_dir, const char *from, int to_dir, const char *to, int flags);
/* It is about to be removed; 1 where it is gone by then, because it was moved into a store. */
#define UNDO_FILES 1u
#define UNDO_FOLDERS 2u
#define UNDO_KEPT_THERE 4u /* never moved */
int undo_remove(int dir, const char *path, unsigned kinds);
void undo_move(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
/* What comes cannot be undone: waits until everything promised before is final. */
void undo_commit(const char *why);

#endif
