/* A job's notes: what it has read, written and run (struct trace). */
#ifndef SMPMAKE_NOTES_H
#define SMPMAKE_NOTES_H

/* A note of a letter and a path; NULL where there was no room, or no need. */
char *guard_note(char letter, int dir, const char *path);
void guard_unnote(char *note);
void guard_note_program(void);

/* Of what a file holds that is about to be changed: a number and a path. */
void guard_note_contents(int dir, const char *path);

/* One of a number, and of a folder's absolute name, or none. */
void guard_note_number(char letter, unsigned number, const char *folder);

#endif
