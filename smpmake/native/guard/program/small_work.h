/* The work of small tools, done by who would become one of them, or start it. */
#ifndef SMPMAKE_SMALL_WORK_H
#define SMPMAKE_SMALL_WORK_H

#include <stddef.h>

/* Whether this process may do the work of a program that it is about to start: exec would change
 * nothing but the program, and neither the kernel nor the loader would have anything to say.  So
 * are shells and makes, whose rights are those that they began with.
 *
 * argv, env   the program's */
int may_do_small_work(char *const *argv, char *const *env);

/* What became of a command.  LEFT: it is to run; what was done by then is what it would have done
 * first, and need not find any more.  DONE: it would have ended in silence and with status 0, and
 * all that it would do is done. */
enum small { LEFT, DONE };

/* A tool of that path with these words. */
enum small do_small_work(const char *path, char *const *argv);

/* A shell's line, of which every command is such a tool or an `echo` into a file. */
enum small do_small_line(const char *line, char *const *env);

/* Whether what has a path is a shell of the system's, and its words are -c and a line. */
int is_shells_line(const char *path, char *const *argv);

/* Whether a name may mean something else to another process. */
int is_of_process(const char *name);

/* Makes a file, or cuts it, and writes bytes to it. */
enum small print_into(const char *name, const char *bytes, size_t size);

/* The words with which a program is to run for what could not be finished; none: its own. */
struct rest {
	char *words[2];
};

/* Whether what has a path is the system's `cat`; and its work, where all that it reads is there and
 * it prints into a file. */
int prints_files(const char *path);
enum small print_files(char *const *argv, struct rest *rest);

#endif
