/* What a file says of the program in it. */
#ifndef SMPMAKE_PROGRAM_H
#define SMPMAKE_PROGRAM_H

struct nature {
	int takes_guard;
	int has_no_loader; /* it takes none, and hands on to its children what it is not told of */
	int is_program;    /* no script, and it could be read */
	int checks_order;  /* a sanitizer that wants to be the first library */
};

/* Follows "#!" to the program that will really run, and waits for all that the kernel opens on the
 * way but `path` itself; relative names are of `dir`.  smpmake/disk/elf.py gives the same answers.
 */
struct nature nature_of(int dir, const char *path);

#endif
