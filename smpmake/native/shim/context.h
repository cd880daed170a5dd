/* What a shim finds around it, and what the real tool gets of that. */
#ifndef SMPMAKE_CONTEXT_H
#define SMPMAKE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* The environment that the real tool gets: PATH without the folders in which we stand under this
 * name, of the session no more than a guard needs, and a depth that stops two shims from calling
 * each other. */
struct context {
	const char *socket; /* NULL: no session */
	const char *board;  /* the session's count of pending jobs */
	const char *build;
	const char *real;   /* the tool's path, where a guard sent us */
	int is_line;        /* what a make has started, whatever it is */
	const char *inside; /* the command of whose tool we are a part: none of our business */
	int has_guard;      /* this session has one */
	uint32_t unguarded; /* the nearest process above us without one, 0: none */
	char *path;         /* "PATH=...", or NULL when there is none */
	char *depth;
	char **env;
	size_t env_bytes;
	char *memo; /* how results are remembered (memo/store.h); NULL: they are not */
	const char *memo_program;   /* what runs a command to remember its result */
	const char *recall_program; /* what first looks whether it is remembered, under the guard */
	/* OURS "AHEAD", "CPUS:PROGRAM": what runs checks of configure ahead; NULL: nothing does */
	const char *ahead;
	int is_numbered; /* the tool is one of the server's commands, and guarded */
};

/* Walks PATH: folders that hold us under `tool` are left out of `rest`; the first executable
 * `tool` that is not us goes to `real`.  Returns 0 when there is one. */
int resolve(const char *tool, const char *path, const struct stat *self, char *rest, char *real);

/* Fills them from our environment; -1 (and no depth) where shims call each other. */
int survey(struct context *s);

/* The tool's guard will ask under the command's number, 0 the driver's own; and what it starts is a
 * part of it. */
void number(struct context *s, uint32_t command);

/* PATH becomes s->path. */
void replace_path(struct context *s);

/* A driver's environment is as it came, so that its commands find us; where it has no guard, what
 * it starts is to know that. */
char **driver_environment(const struct context *s, const char *real);

#endif
