/* Who else stands between a program and libc. */
#ifndef SMPMAKE_CHAIN_H
#define SMPMAKE_CHAIN_H

/* The function of a name that comes next after ours, as dlsym(3) finds it, but without its locks:
 * a thread may need it while another one waits for that thread in a constructor.  NULL where only
 * dlsym can say: there is none as far as libc, or it is no plain function. */
void *next_in_chain(const char *name);

/* Whether libc is the next who has that name, or nobody as far as libc: others may be another
 * preload (fakeroot), or a library that stands before libc, and have another idea of files. */
int is_next_of_libc(const char *name);

#endif
