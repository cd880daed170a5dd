/* Who else stands between a program and libc. */
#ifndef SMPMAKE_CHAIN_H
#define SMPMAKE_CHAIN_H

#include <stddef.h>
#include <stdint.h>

/* Whether all these functions are libc's own: others may be of another preload (fakeroot), or of a
 * library that stands before libc, and have another idea of files.  Zeros do not count. */
int are_libcs(const uintptr_t functions[], size_t count);

/* The function of a name that comes next after ours, as dlsym(3) finds it, but without its locks:
 * a thread may need it while another one waits for that thread in a constructor.  NULL where only
 * dlsym can say: there is none as far as libc, or it is no plain function. */
void *next_in_chain(const char *name);

#endif
