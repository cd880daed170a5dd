/* The questions that a guard puts to the server. */
#ifndef SMPMAKE_QUESTIONS_H
#define SMPMAKE_QUESTIONS_H

#include "guard/guard.h"

/* Each returns when the caller may go on; `dir` is as for openat(2). */
void guard_see(int dir, const char *path);
void guard_see_change(int dir, const char *path);
/* A compiler drops search folders that are not there, or that it may not read.  `makes`: a folder
 * is made; else what is there is changed but for its contents. */
void guard_see_folder_change(int dir, const char *path, int makes);
/* What is open is changed but for its contents. */
void guard_see_change_of(int fd);
void guard_see_removal(int dir, const char *path);
void guard_see_move(int from_dir, const char *from, int to_dir, const char *to, int kind);
void guard_see_alias(const char *target, int dir, const char *path);
void guard_see_folder(int fd);
void guard_see_opening(int dir, const char *path, int folder);
void guard_see_tree(const char *path);
void guard_see_listing(int dir, const char *path);
/* A name is made where others, still to come, are older. */
void guard_see_new_name(int dir, const char *path);
void guard_see_everything(const char *program);

/* Before a program is started, or a library loaded. */
void guard_see_libraries(const char *path, const char *search, const char *const more[2]);

/* For a make: whether the server gives the answer itself; then `answer` holds it. */
int guard_pretends(int dir, const char *path, struct wire_guard_answer *answer);
/* For who wants names alone: a folder that holds the names of the one open as `fd`, pending ones
 * included; its path is given a page. */
int guard_names(int fd, char **elsewhere);

/* Whether a folder is to be shown with the time that it will have; then `answer` holds that. */
int guard_folder(int dir, const char *path, struct wire_guard_answer *answer);

#endif
