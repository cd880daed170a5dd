/* The constructor: what the process is, and what it is part of. */
#include "base/kernel.h"
#include "guard/change/notes.h"
#include "guard/guard.h"
#include "guard/looks.h"
#include "guard/pages.h"
#include "tokens.h"
#include "tools.h"
#include "words.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <unistd.h>

/* What is said to this process alone, beside the variables of the session. */
struct said {
	char *caller, *unguarded, *recipe, *looks; /* the values */
};

/* The copies, and where there is room for those that are too long for it. */
static char texts[VARIABLE_SIZE], long_texts[V_COUNT + 1][VARIABLE_SIZE] ASIDE;
_Static_assert(sizeof long_texts % 4096 == 0, "long_texts is to be whole pages");

/* What stands behind a name and its "=". */
static char *value_behind(char *variable, const char *name)
{
	size_t length = strlen(name);
	return strncmp(variable, name, length) == 0 && variable[length] == '='
	           ? variable + length + 1
		   : NULL;
}

/* A copy of it, if it is one of those. */
static void take_variable(char *variable, size_t *used)
{
	static const a_name names[V_COUNT] = {OURS "SOCKET", OURS "BOARD", OURS "GUARD",
	                                      OURS "SHIMS",  OURS "BUILD", OURS "COMMAND",
	                                      OURS "TRACE"};
	for (int i = 0; i < V_COUNT; i++) {
		const char *value = value_behind(variable, names[i]);
		if (value == NULL)
			continue;
		size_t size = strlen(variable) + 1;
		if (guard.values[i] != NULL || *value == '\0' || size > VARIABLE_SIZE)
			return;
		char *copy = long_texts[i];
		if (size <= sizeof texts - *used) {
			copy = texts + *used;
			*used += size;
		}
		guard.variables[i] = memcpy(copy, variable, size);
		guard.values[i] = copy + (value - variable);
		return;
	}
}

/* One look at each: there are many that are not ours. */
static int read_environment(char **env, struct said *said)
{
	size_t used = 0;
	for (; *env != NULL; env++) {
		if (**env != *OURS || strncmp(*env, OURS, sizeof OURS - 1) != 0)
			continue;
		char *value;
		if (said->caller == NULL && (value = value_behind(*env, OURS "CALLER")) != NULL)
			said->caller = value;
		else if (said->unguarded == NULL &&
		         (value = value_behind(*env, OURS "UNGUARDED")) != NULL)
			said->unguarded = value;
		else if (said->recipe == NULL &&
		         (value = value_behind(*env, OURS "RECIPE")) != NULL)
			said->recipe = value;
		else if (said->looks == NULL && (value = value_behind(*env, OURS "LOOKS")) != NULL)
			said->looks = value;
		else
			take_variable(*env, &used);
	}
	for (int i = 0; i < V_NEEDED; i++)
		if (guard.values[i] == NULL)
			return -1;
	const char *socket = guard.values[V_SOCKET], *slash = strrchr(socket, '/');
	guard.own_size = slash != NULL ? (size_t)(slash - socket) + 1 : 0;
	return strlen(socket) < sizeof((struct sockaddr_un *)0)->sun_path ? 0 : -1;
}

static void find_interpreter(void)
{
	const ElfW(Phdr) *header = (const void *)getauxval(AT_PHDR);
	unsigned long count = getauxval(AT_PHNUM), bias = 0;
	guard.interpreter = "";
	for (unsigned long i = 0; header != NULL && i < count; i++)
		if (header[i].p_type == PT_PHDR)
			bias = (unsigned long)header - header[i].p_vaddr;
		else if (header[i].p_type == PT_INTERP)
			guard.interpreter = (const char *)(bias + header[i].p_vaddr);
}

static void put_digits(char *to, uint32_t number)
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
	long number = strtol(caller, NULL, 10);
	pid_t own = (pid_t)kernel(SYS_getpid);
	if (number == own)
		return 1;
	if (strlen(caller) == CALLER_DIGITS)
		put_digits(caller, (uint32_t)own);
	return number == kernel(SYS_getppid);
}

/* Whether a program is one of some tools, for whatever machine. */
static int is_any_of(const char *name, const a_name *tools)
{
	size_t size = strlen(name);
	for (; **tools != '\0'; tools++) {
		size_t length = strlen(*tools);
		if (size >= length && strcmp(name + size - length, *tools) == 0 &&
		    (size == length || name[size - length - 1] == '-'))
			return 1;
	}
	return 0;
}

static void know_the_program(char **argv)
{
	static const a_name replacing[] = {REMEMBERED_REPLACE, ""};
	static const a_name linkers[] = {REMEMBERED_REPLACE_WHERE_FOUND, ""};
	static const a_name readers[] = {"sh", "dash", "bash", "ksh", "mksh", "zsh", ""};
	const char *name = argv[0] != NULL ? argv[0] : "";
	const char *slash = strrchr(name, '/');
	name = slash != NULL ? slash + 1 : name;
	guard.is_make = reads_makefiles(name);
	guard.is_linker = is_any_of(name, linkers);
	if (is_any_of(name, replacing))
		for (; *argv != NULL && guard.output == NULL; argv++)
			guard.output = strcmp(*argv, "-o") == 0 ? argv[1] : NULL;
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
	long whole =
	    kernel(SYS_mremap, guard.trace, sizeof(struct trace), TRACE_LONGEST, MREMAP_MAYMOVE);
	if (whole == -1) { /* a limit of memory */
		__atomic_fetch_add(&guard.trace->lost, 1, __ATOMIC_RELAXED);
		kernel(SYS_munmap, guard.trace, sizeof(struct trace));
	}
	guard.trace = whole != -1 ? (struct trace *)whole : NULL;
}

/* Whether this is install(1) with -D, alone or among others in a word. */
static int makes_folders(char **argv)
{
	static const a_name installers[] = {INSTALLERS, ""};
	if (!is_among(guard.name, installers))
		return 0;
	for (char **word = argv + 1; *word != NULL && strcmp(*word, "--") != 0; word++)
		if ((*word)[0] == '-' && (*word)[1] != '-' &&
		    (*word)[1 + strcspn(*word + 1, "DgmotS")] == 'D')
			return 1;
	return 0;
}

/* Which recipe this process is part of.  What a make starts is told that it is a recipe's first
 * process, by the number 0; whoever that is hands its own on. */
static void know_the_recipe(char *digits, char **argv, char **env)
{
	uint32_t own = (uint32_t)kernel(SYS_getpid), number;
	ON_PAGE(folder);
	if (digits == NULL || folder == NULL)
		return;
	number = (uint32_t)strtoul(digits, NULL, 10);
	guard_notes_are_of(number != 0 ? number : own);
	if (number == 0)
		guard_note_number('c', (uint32_t)kernel(SYS_getppid), NULL);
	if (guard.is_make && kernel(SYS_getcwd, folder, PATH_MAX) > 0) {
		guard_note_number('m', own, folder);
		guard_notes_are_of(own);
		part_words(own, argv, env);
	}
	guard.makes_folders = makes_folders(argv);
	guard.recipe = guard.is_make ? 0 : number != 0 ? number : own;
	if (strlen(digits) == CALLER_DIGITS)
		put_digits(digits, guard.recipe);
}

void guard_begin(int argc, char **argv, char **env);
/* By DT_INIT (hatch_build.py): a table of constructors would lie on a page that nobody needs. */
void guard_begin(int argc, char **argv, char **env)
{
	int before = errno;
	(void)argc;
	struct said said = {.caller = NULL};
	if (read_environment(env, &said) == 0) {
		looks_begin(said.looks);
		const struct board *board =
		    mapped(guard.values[V_BOARD], 0, sizeof(struct board), PROT_READ);
		if (board != NULL && board->magic == BOARD_MAGIC &&
		    board->version == BOARD_VERSION) {
			const char *command = guard.values[V_COMMAND];
			int guarded = parent_is_guarded(said.caller);
			guard.board = board;
			guard.active = 1;
			guard.command = command != NULL ? (uint32_t)strtoul(command, NULL, 10) : 0;
			guard.is_part = command != NULL;
			if (said.unguarded != NULL)
				guard.unguarded = (uint32_t)strtoul(said.unguarded, NULL, 10);
			else if (!guarded)
				guard.unguarded = (uint32_t)kernel(SYS_getppid);
			know_the_program(argv);
			find_interpreter();
			if (guard.values[V_TRACE] != NULL)
				map_trace();
			if (guard.trace != NULL) {
				guard.litter_size = strnlen(guard.trace->litter, TRACE_LITTER);
				if (guard.trace->recipes)
					know_the_recipe(said.recipe, argv, env);
				guard_note_program();
			}
			guard_borrow(argv, env);
		}
	}
	errno = before;
}

void guard_end(void);
/* By DT_FINI. */
void guard_end(void)
{
	if (guard.trace != NULL && !guard.trace->recipes && !is_inert())
		guard_note_waiting();
}
