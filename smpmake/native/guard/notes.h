/* A job's notes: what it has read, written and run (struct trace). */
#ifndef SMPMAKE_NOTES_H
#define SMPMAKE_NOTES_H

/* A note of a letter and a path; NULL where there was no room, or no need. */
char *guard_note(char letter, int dir, const char *path);
void guard_unnote(char *note);
void guard_note_program(void);

void guard_note_waiting(void);

#endif
