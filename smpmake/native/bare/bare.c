/* The few functions of libc that the shim and the recorder call, so that they need not start one.
 *
 * A build starts a shim for each command, and most of its time was libc's start: it asks what the
 * CPU can do, which a virtual machine answers slowly.  Names, types and results are libc's (they
 * are linked with that where this cannot be used); of each only what they use is here.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/kernel.h"

#define ARENA (64u << 10)

int main(int argc, char **argv);
__attribute__((noreturn, used)) void bare_start(uintptr_t *stack);

char **environ;
static int number_of_error;

int *__errno_location(void)
{
	return &number_of_error;
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n"
        "\tcall bare_start\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tmov x30, #0\n\tmov x0, sp\n"
        "\tb bare_start\n");
#endif

/* The kernel puts the number of arguments, these, NULL, the environment and NULL there. */
void bare_start(uintptr_t *stack)
{
	int argc = (int)stack[0];
	char **argv = (char **)(stack + 1);
	environ = argv + argc + 1;
	_exit(main(argc, argv));
}

/* ------------------------------------------------------------------ variables */

/* Where a variable stands, or the NULL that ends them all. */
static char **place_of(const char *name)
{
	size_t length = strlen(name);
	char **variable = environ;
	while (*variable != NULL &&
	       (strncmp(*variable, name, length) != 0 || (*variable)[length] != '='))
		variable++;
	return variable;
}

char *getenv(const char *name)
{
	const char *variable = *place_of(name);
	return variable != NULL ? (char *)(uintptr_t)(variable + strlen(name) + 1) : NULL;
}

int unsetenv(const char *name)
{
	for (char **variable = place_of(name); *variable != NULL; variable = place_of(name))
		do
			variable[0] = variable[1];
		while (*++variable != NULL);
	return 0;
}

/* It is replaced, whatever it is. */
int setenv(const char *name, const char *value, int replaces)
{
	size_t count = 0;
	(void)replaces;
	unsetenv(name);
	while (environ[count] != NULL)
		count++;
	char **all = malloc((count + 2) * sizeof *all);
	char *one = malloc(strlen(name) + strlen(value) + 2);
	if (all == NULL || one == NULL)
		return -1;
	stpcpy(stpcpy(stpcpy(one, name), "="), value);
	memcpy(all, environ, count * sizeof *all);
	all[count] = one;
	all[count + 1] = NULL;
	environ = all;
	return 0;
}

/* ------------------------------------------------------------------ memory */

/* What a block begins with. */
struct block {
	_Alignas(16) size_t size; /* without this */
};

static void *map(size_t size)
{
	long memory =
	    kernel(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == -1 ? NULL : (void *)memory;
}

/* Only what is large is given back: these programs live as long as one command.  So all of it is
 * zeros. */
void *malloc(size_t size)
{
	static _Alignas(16) char first[ARENA];
	static char *arena = first;
	static size_t used;
	struct block *block;
	if (size > SIZE_MAX / 2)
		return NULL;
	size_t wanted = ((size + 15) & ~(size_t)15) + sizeof *block;
	if (wanted >= ARENA) {
		block = map(wanted);
	} else {
		if (wanted > ARENA - used) {
			char *next = map(ARENA);
			if (next == NULL)
				return NULL;
			arena = next;
			used = 0;
		}
		block = (void *)(arena + used);
		used += wanted;
	}
	if (block == NULL)
		return NULL;
	block->size = wanted - sizeof *block;
	return block + 1;
}

void free(void *memory)
{
	struct block *block = memory;
	if (memory != NULL && (--block)->size + sizeof *block >= ARENA)
		kernel(SYS_munmap, block, block->size + sizeof *block);
}

void *calloc(size_t count, size_t size)
{
	return size != 0 && count > SIZE_MAX / size ? NULL : malloc(count * size);
}

void *realloc(void *memory, size_t size)
{
	size_t before = memory != NULL ? ((struct block *)memory)[-1].size : 0;
	if (size <= before)
		return memory;
	void *other = malloc(size);
	if (other != NULL && memory != NULL) {
		memcpy(other, memory, before < size ? before : size);
		free(memory);
	}
	return other;
}

char *strndup(const char *text, size_t most)
{
	size_t size = strnlen(text, most);
	char *copy = malloc(size + 1);
	if (copy != NULL)
		*(char *)mempcpy(copy, text, size) = '\0';
	return copy;
}

_Noreturn void abort(void)
{
	kernel(SYS_kill, kernel(SYS_getpid), SIGABRT);
	_exit(128 + SIGABRT);
}

char *strdup(const char *text)
{
	return strndup(text, SIZE_MAX - 1);
}
