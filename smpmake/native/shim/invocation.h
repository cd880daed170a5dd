/* A shim's words with the server. */
#ifndef SMPMAKE_INVOCATION_H
#define SMPMAKE_INVOCATION_H

#include "context.h"
#include "layout/wire.h"

/* A connection, out of the way of what a build may use; -1: none. */
int open_connection(const char *name);

/* Tells the server of our whole invocation; 0 when all of it has left. */
int send_invocation(int connection, const char *tool, const char *real, char **argv,
                    const struct context *s);

/* Tells it of one whose result has been given back, and what that has read: nobody answers. */
void send_given(int connection, const char *tool, const char *real, char **argv,
                const struct context *s, const struct wire_given *given, const char *reads);

/* Hears the answer: ends this process, or returns where it is to become the real tool; then *argv
 * may have been replaced. */
void hear(int connection, char ***argv, struct context *s);

#endif
