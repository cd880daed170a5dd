/* Which tools a shim may run at once: the server, whatever it would say, has none of them as a job.
 */
#ifndef SMPMAKE_UNASKED_H
#define SMPMAKE_UNASKED_H

enum unasked {
	ASKED = 0, /* the server must hear of it */
	CHECKED,   /* a configure script's check: it is at work, and so needs the place */
	TOLD, /* tells of itself alone: needs the place, too, where it does not print into a pipe */
	PRINTED /* only prints, into a pipe: such a command takes no slot (promise P6) */
};

/* What a tool's words say.  `tool` is its name without a folder. */
enum unasked runs_unasked(const char *tool, int argc, char *const *argv);

/* Whether standard input (0) or output (1) is a pipe, a FIFO or a socket. */
int is_end(int fd);

/* Whether nothing is pending, and, where that is asked, nothing at work.  `board` is the
 * scoreboard's file. */
int is_idle(const char *board, int wholly);

/* Takes the one place for a tool that nobody has heard of; -1 where it is taken.  The lock goes
 * with the process: it is kept across exec, and what the tool starts does not have it. */
int take_place(const char *board);

/* Whether the first word of a shell's line is a compiler's name. */
int compiler_begins(const char *line);

const char *base_name(const char *path);

#endif
