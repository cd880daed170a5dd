/* Who else stands between a program and libc. */
#ifndef SMPMAKE_CHAIN_H
#define SMPMAKE_CHAIN_H

#include <stddef.h>
#include <stdint.h>

/* Whether all these functions are libc's own: others may be of another preload (fakeroot), or of a
 * library that stands before libc, and have another idea of files.  Zeros do not count. */
int are_libcs(const uintptr_t functions[], size_t count);

#endif
