/* A terminal for a tool whose output would have gone to the user's: it writes what it writes there.
 */
#ifndef SMPMAKE_TERMINAL_H
#define SMPMAKE_TERMINAL_H

#include <stdint.h>

struct terminal {
	int master; /* where we read; not blocking; -1: there is none */
	int slave;  /* where the tool writes */
};

/* Opens a terminal of that size, raw: bytes come out as they went in.  Where none is to be had
 * master is -1. */
void open_terminal(struct terminal *t, uint32_t rows, uint32_t columns);

/* The tool's side is the tool's alone once that has started. */
void leave_slave(struct terminal *t);

/* Somebody whom the tool has left behind may still write there: a process of its own reads that,
 * and ends with them. */
void read_on(const struct terminal *t);

/* Copies what has been written so far; -1 once nobody can write there any more. */
int copy_written(const struct terminal *t, int to);

void close_terminal(struct terminal *t);

#endif
