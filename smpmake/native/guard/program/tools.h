/* Which programs are known tools, and which of them go to their shims. */
#ifndef SMPMAKE_TOOLS_H
#define SMPMAKE_TOOLS_H

/* A name in a list, which "" ends.  Not a pointer: the loader would have to fill that in, in every
 * process. */
typedef char a_name[32];

int is_among(const char *name, const a_name *names);

/* What a tool starts is its own business: gcc's assembler is no command of the build.  A known tool
 * that is no command of ours came here past its shim: a program without a guard started it.  A make
 * that we stand for (wmake) is none: what it starts is the build. */
int is_tool(void);

/* Whether programs of that name read makefiles; or are shells to which makes give their lines. */
int reads_makefiles(const char *name);
int reads_lines(const char *name);

/* A shim that was found on PATH, where a program above us has no guard. */
int is_shim(const char *path);

/* Whether a known tool is called by its path and is to be heard of: the shim's path goes to `shim`,
 * a variable that says what it stands for to `real` (16 more). */
#define SHIM_SIZE 768 /* the variable of the shims' folder is not so long */
int goes_to_shim(const char *path, char *const *argv, char *shim, char *real);

#endif
