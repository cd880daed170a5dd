/* A job's notes: what it has read, written and run (struct trace). */
#ifndef SMPMAKE_NOTES_H
#define SMPMAKE_NOTES_H

#include <stdint.h>

/* A note of a letter and a path; NULL where there was no room, or no need. */
char *guard_note(char letter, int dir, const char *path);
void guard_unnote(char *note);
void guard_note_program(void);

void guard_note_waiting(void);

/* Of what a file holds that is about to be changed: a number and a path. */
void guard_note_contents(int dir, const char *path);

/* That the folder which a path lies in would have been made. */
void guard_note_folder_of(int dir, const char *path);

/* One of a number, and of a folder's absolute name, or none. */
void guard_note_number(char letter, uint32_t number, const char *folder);

/* From here on notes have the number of a recipe. */
void guard_notes_are_of(uint32_t recipe);

#endif
