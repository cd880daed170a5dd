/* Memory for paths.  It is not the caller's stack: that may be a small thread's, or a signal
 * handler's.
 *
 * The pages are the library's own, a bit tells of each whether it is taken, and nobody waits for
 * one: where none is left the kernel is asked for more.  So whoever never gives a page back (a
 * thread that was cancelled, a handler that left by longjmp, after fork(2) the threads of the
 * parent) costs that page, and nothing else.
 */
#ifndef SMPMAKE_PAGES_H
#define SMPMAKE_PAGES_H

#include <limits.h>
#include <stddef.h>

/* Memory of that size, its contents unknown; NULL where there is none at all. */
void *pages_take(size_t size);
void pages_give(void *pages, size_t size);

/* What is held while this process becomes another program.  A child of vfork(2) never comes back
 * from that, and has its parent's memory: there the kernel gives the pages back.  What is returned
 * is for `pages_keep`, where the program could not be started. */
struct held_at_exec;
struct held_at_exec *pages_leave(void *pages, size_t size);
void pages_keep(struct held_at_exec *held);

static inline void page_give(char **page)
{
	if (*page != NULL)
		pages_give(*page, PATH_MAX);
}

/* A variable that leads to PATH_MAX bytes until it ends, or is NULL; and one that does so once it
 * has been given some. */
#define ANY_PAGE(name) char *name __attribute__((cleanup(page_give))) = NULL
#define ON_PAGE(name) char *name __attribute__((cleanup(page_give))) = pages_take(PATH_MAX)

#endif
