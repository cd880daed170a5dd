/* The constructor: what the process is, and what it is part of. */
#include "guard.h"
#include "kernel.h"
#include "notes.h"
#include "pages.h"
#include "tokens.h"
#include "tools.h"
#include "words.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <unistd.h>

static int copy_variables(char **env)
{
	static const char *const names[V_COUNT] = {OURS "SOCKET", OURS "BOARD", OURS "GUARD",
	                                           OURS "SHIMS",  OURS "BUILD", OURS "COMMAND",
	                                           OURS "TRACE",  OURS "RECIPE"};
	for (int i = 0; i < V_COUNT; i++) {
		const char *text = variable_of(env, names[i]);
		size_t size = text != NULL ? strlen(text) + 1 : 0;
		if (size > strlen(names[i]) + 2 && size <= sizeof guard.variables[i]) {
			memcpy(guard.variables[i], text, size);
			guard.values[i] = guard.variables[i] + strlen(names[i]) + 1;
		} else if (i < V_NEEDED) {
			return -1;
		}
	}
	const char *socket = guard.values[V_SOCKET], *slash = strrchr(socket, '/');
	guard.own_size = slash != NULL ? (size_t)(slash - socket) + 1 : 0;
	return strlen(socket) < sizeof((struct sockaddr_un *)0)->sun_path ? 0 : -1;
}

static void find_interpreter(void)
{
	const ElfW(Phdr) *header = (const void *)getauxval(AT_PHDR);
	unsigned long count = getauxval(AT_PHNUM), bias = 0;
	if (header == NULL)
		return;
	for (unsigned long i = 0; i < count; i++)
		if (header[i].p_type == PT_PHDR)
			bias = (unsigned long)header - header[i].p_vaddr;
	for (unsigned long i = 0; i < count; i++)
		if (header[i].p_type == PT_INTERP && header[i].p_filesz <= sizeof guard.interpreter)
			memcpy(guard.interpreter, (const void *)(bias + header[i].p_vaddr),
			       header[i].p_filesz);
}

static void put_digits(char *to, unsigned number)
{
	for (int i = CALLER_DIGITS; i-- > 0; number /= 10)
		to[i] = (char)('0' + number % 10);
}

/* Whether the process that started us has a guard: then it left its number, or that of ours where
 * it became us.  Ours takes its place, for what libc starts for us unseen. */
static int parent_is_guarded(char *caller)
{
	if (caller == NULL) /* the first of the build */
		return 1;
	char *digits = strchr(caller, '=') + 1;
	long number = strtol(digits, NULL, 10);
	pid_t own = (pid_t)kernel(SYS_getpid);
	if (strlen(digits) == CALLER_DIGITS)
		put_digits(digits, (unsigned)own);
	return number == kernel(SYS_getpid) || number == kernel(SYS_getppid);
}

static void know_the_program(char **argv)
{
	static const char *const readers[] = {"sh", "dash", "bash", "ksh", "mksh", "zsh", NULL};
	const char *name = argv[0] != NULL ? argv[0] : "";
	const char *slash = strrchr(name, '/');
	name = slash != NULL ? slash + 1 : name;
	guard.is_make = reads_makefiles(name);
	guard.lists_names = guard.is_make || is_among(name, readers) ||
	                    (!guard.is_part && strncmp(name, "python", 6) == 0);
	if (strlen(name) < sizeof guard.name)
		strcpy(guard.name, name);
}

/* The file of a whole build is as long as it may ever be, and has room for a part of that. */
static void map_trace(void)
{
	guard.trace =
	    mapped(guard.values[V_TRACE], 0, sizeof(struct trace), PROT_READ | PROT_WRITE);
	if (guard.trace == NULL || !guard.trace->recipes)
		return;
	struct trace *whole =
	    mapped(guard.values[V_TRACE], 0, TRACE_LONGEST, PROT_READ | PROT_WRITE);
	if (whole == NULL) /* a limit of memory */
		__atomic_fetch_add(&guard.trace->lost, 1, __ATOMIC_RELAXED);
	kernel(SYS_munmap, guard.trace, sizeof(struct trace));
	guard.trace = whole;
}

/* Which recipe this process is part of.  What a make starts is told that it is a recipe's first
 * process, by the number 0; whoever that is hands its own on. */
static void know_the_recipe(char **argv, char **env)
{
	char *variable = variable_of(env, OURS "RECIPE"), *digits;
	unsigned own = (unsigned)kernel(SYS_getpid), number;
	ON_PAGE(folder);
	if (variable == NULL || guard.values[V_RECIPE] == NULL || folder == NULL)
		return;
	digits = strchr(variable, '=') + 1;
	number = (unsigned)strtoul(digits, NULL, 10);
	snprintf(guard.recipe, sizeof guard.recipe, "%u", number != 0 ? number : own);
	if (number == 0)
		guard_note_number('c', (unsigned)kernel(SYS_getppid), NULL);
	if (guard.is_make && kernel(SYS_getcwd, folder, PATH_MAX) > 0) {
		guard_note_number('m', own, folder);
		snprintf(guard.recipe, sizeof guard.recipe, "%u", own);
		part_words(own, argv, env);
	}
	number = guard.is_make ? 0 : number != 0 ? number : own;
	if (strlen(digits) == CALLER_DIGITS)
		put_digits(digits, number);
	if (strlen(guard.values[V_RECIPE]) == CALLER_DIGITS)
		put_digits(guard.variables[V_RECIPE] + sizeof OURS "RECIPE=" - 1, number);
}

__attribute__((constructor)) static void stand_guard(int argc, char **argv, char **env)
{
	int before = errno;
	(void)argc;
	if (copy_variables(env) == 0) {
		const struct board *board =
		    mapped(guard.values[V_BOARD], 0, sizeof(struct board), PROT_READ);
		if (board != NULL && board->magic == BOARD_MAGIC &&
		    board->version == BOARD_VERSION) {
			const char *command = guard.values[V_COMMAND];
			const char *unguarded = variable_of(env, OURS "UNGUARDED");
			int guarded = parent_is_guarded(variable_of(env, OURS "CALLER"));
			guard.board = board;
			guard.active = 1;
			guard.command = command != NULL ? (uint32_t)strtoul(command, NULL, 10) : 0;
			guard.is_part = command != NULL;
			if (unguarded != NULL)
				guard.unguarded =
				    (uint32_t)strtoul(strchr(unguarded, '=') + 1, NULL, 10);
			else if (!guarded)
				guard.unguarded = (uint32_t)kernel(SYS_getppid);
			know_the_program(argv);
			find_interpreter();
			if (guard.values[V_TRACE] != NULL)
				map_trace();
			if (guard.trace != NULL) {
				guard.litter_size = strnlen(guard.trace->litter, TRACE_LITTER);
				if (guard.trace->recipes)
					know_the_recipe(argv, env);
				guard_note_program();
			}
			guard_borrow(argv, env);
		}
	}
	errno = before;
}
