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

/* The copies, and where those lie for which it has no room. */
static char texts[VARIABLE_SIZE], more_texts[(V_COUNT + 5) * VARIABLE_SIZE] ASIDE;
_Static_assert(sizeof more_texts % 4096 == 0, "more_texts is to be whole pages");

/* How much of each is taken. */
struct taken {
	size_t texts, more;
};

enum variable variable_named(const char *text)
{
	static const a_name names[V_NONE] = {
	    OURS "SOCKET=",  OURS "BOARD=",  OURS "GUARD=",     OURS "SHIMS=",   OURS "BUILD=",
	    OURS "COMMAND=", OURS "TRACE=",  OURS "MEMO=",      OURS "MEMORUN=", OURS "RECALL=",
	    OURS "TREE=",    OURS "CALLER=", OURS "UNGUARDED=", OURS "RECIPE=",  OURS "REAL=",
	    OURS "LINE=",    OURS "LOOKS="};
	const size_t prefix = sizeof OURS - 1;
	int i = 0;
	if (*text != *OURS || strncmp(text, OURS, prefix) != 0)
		return V_NONE;
	for (; i < V_NONE; i++) {
		const char *name = names[i] + prefix;
		if (text[prefix] == *name && strncmp(text + prefix, name, strlen(name)) == 0)
			break;
	}
	return (enum variable)i;
}

/* Where the value in "NAME=value" begins. */
static char *value_of(char *text)
{
	return text + strcspn(text, "=") + 1;
}

static void take_variable(enum variable i, char *text, struct taken *taken)
{
	const char *value = value_of(text);
	size_t size = strlen(text) + 1;
	if (guard.values[i] != NULL || *value == '\0' || size > VARIABLE_SIZE)
		return;
	int fits = size <= sizeof texts - taken->texts;
	char *copy = fits ? texts + taken->texts : more_texts + taken->more;
	*(fits ? &taken->texts : &taken->more) += size;
	guard.variables[i] = memcpy(copy, text, size);
	guard.values[i] = copy + (value - text);
}

/* Those of the session are copied; `said`: the values of the others, by their numbers behind
 * V_COUNT. */
static int read_environment(char **env, char *said[V_NONE - V_COUNT])
{
	struct taken taken = {0, 0};
	for (; *env != NULL; env++) {
		enum variable i = variable_named(*env);
		if (i < V_COUNT)
			take_variable(i, *env, &taken);
		else if (i != V_NONE && said[i - V_COUNT] == NULL)
			said[i - V_COUNT] = value_of(*env);
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
	char *said[V_NONE - V_COUNT] = {NULL};
	if (read_environment(env, said) == 0) {
		looks_begin(said[V_LOOKS - V_COUNT]);
		const struct board *board =
		    mapped(guard.values[V_BOARD], 0, sizeof(struct board), PROT_READ);
		if (board != NULL && board->magic == BOARD_MAGIC &&
		    board->version == BOARD_VERSION) {
			const char *command = guard.values[V_COMMAND];
			int guarded = parent_is_guarded(said[V_CALLER - V_COUNT]);
			guard.board = board;
			guard.active = 1;
			guard.command = command != NULL ? (uint32_t)strtoul(command, NULL, 10) : 0;
			guard.is_part = command != NULL;
			const char *unguarded = said[V_UNGUARDED - V_COUNT];
			if (unguarded != NULL)
				guard.unguarded = (uint32_t)strtoul(unguarded, NULL, 10);
			else if (!guarded)
				guard.unguarded = (uint32_t)kernel(SYS_getppid);
			know_the_program(argv);
			find_interpreter();
			if (guard.values[V_TRACE] != NULL)
				map_trace();
			if (guard.trace != NULL) {
				guard.litter_size = strnlen(guard.trace->litter, TRACE_LITTER);
				if (guard.trace->recipes)
					know_the_recipe(said[V_RECIPE - V_COUNT], argv, env);
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
