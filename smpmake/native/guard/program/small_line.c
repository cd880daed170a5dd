/* A line that a make gives a shell, where it is names, quotes, && and > alone:
 *
 *   echo '# dummy' >src/.deps/x.Po-t && mv -f src/.deps/x.Po-t src/.deps/x.Po
 *
 * Of such lines automake's `depfiles` has two for each object, each of which starts a shell.
 */
#include "base/kernel.h"
#include "environment.h"
#include "guard/guard.h"
#include "guard/hooks/intents.h"
#include "guard/looks.h"
#include "guard/pages.h"
#include "program.h"
#include "small_work.h"
#include "tools.h"

#include <linux/fcntl.h>
#include <string.h>

#define X_OK 1       /* <unistd.h> stays out, as in hooks.c */
#define MOST_WORDS 6 /* of one command */
#define MOST_COMMANDS 2

/* What a shell takes as it is, in a word. */
static int is_plain(char c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
	       (c != '\0' && strchr("/_.+-@,:%^", c) != NULL);
}

/* One command of a line. */
struct command {
	char *words[MOST_WORDS + 1];
	int count;
	char *into; /* the file behind ">", which ends it, or NULL */
};

/* Reads a word from `*at` to `*to`, where it goes with its NUL; NULL where there is something that
 * a shell would not take as it is. */
static char *read_word(const char **at, char **to)
{
	char *word = *to;
	while (is_plain(**at) || **at == '\'' || (**at == '#' && *to > word)) {
		if (**at != '\'') {
			*(*to)++ = *(*at)++;
			continue;
		}
		size_t size = strcspn(*at + 1, "'\\\n");
		if ((*at)[1 + size] != '\'')
			return NULL;
		*to = mempcpy(*to, *at + 1, size);
		*at += size + 2;
	}
	*(*to)++ = '\0';
	return strchr(" \t&>", **at) != NULL ? word : NULL; /* also at the end */
}

/* Reads a command, to behind its &&; 0 where it is not one of those that are done here. */
static int read_command(const char **at, char **to, struct command *command)
{
	*command = (struct command){.count = 0};
	for (;;) {
		*at += strspn(*at, " \t");
		if (**at == '\0')
			break;
		if (**at == '&') {
			if (strncmp(*at, "&&", 2) != 0)
				return 0;
			*at += 2;
			return command->count > 0 && (*at)[strspn(*at, " \t")] != '\0';
		}
		int into = **at == '>';
		*at += into;
		*at += into ? strspn(*at, " \t") : 0;
		if (**at == '>' || **at == '&' || **at == '\0' || command->into != NULL ||
		    command->count == MOST_WORDS)
			return 0;
		char *word = read_word(at, to);
		/* A number before it says what is redirected. */
		if (word == NULL || (**at == '>' && strspn(word, "0123456789") == strlen(word)))
			return 0;
		if (into)
			command->into = word;
		else
			command->words[command->count++] = word;
	}
	return command->count > 0;
}

/* Values by which no shell complains of a locale that is not there. */
static int is_known_locale(const char *value)
{
	static const a_name known[] = {"C", "POSIX", "C.UTF-8", "C.utf8", ""};
	return *value == '\0' || is_among(value, known);
}

/* Whether a shell begins with its line, in silence: there are variables by which it does more
 * before.  Where its input is a socket, or sshd has started it, bash reads .bashrc. */
static int begins_plainly(char *const *env)
{
	static const a_name names[] = {"BASH", "SHELLOPTS=", "OPTIND=", "SSH2_CLIENT=", ""};
	struct stat info;
	const char *level = value_in(env, "SHLVL=", 6);
	size_t digits = level != NULL ? strspn(level, "0123456789") : 0;
	int is_deep = digits > 0 && *level != '0';
	if (kernel(SYS_fstat, 0, &info) != 0 || S_ISSOCK(info.st_mode) ||
	    (level != NULL && (digits == 0 || digits > 2 || level[digits] != '\0')) ||
	    (!is_deep && value_in(env, "SSH_CLIENT=", 11) != NULL))
		return 0;
	for (; *env != NULL; env++) {
		for (const a_name *name = names; **name != '\0'; name++)
			if (strncmp(*env, *name, strlen(*name)) == 0)
				return 0;
		const char *value = strchr(*env, '=');
		if (strncmp(*env, "LC_", 3) == 0 && value != NULL && !is_known_locale(value + 1))
			return 0;
	}
	return 1;
}

/* The program that a shell finds by a name, into `path`; 0 where that is a script, or takes no
 * guard. */
static int find(const char *name, char *const *env, char *path)
{
	const char *folders = value_in(env, "PATH=", 5), *shims = guard.values[V_SHIMS];
	if (strlen(name) >= 64)
		return 0; /* it is no tool's */
	if (strchr(name, '/') != NULL)
		strcpy(path, name);
	for (; strchr(name, '/') == NULL; folders++) {
		size_t size = folders != NULL ? strcspn(folders, ":") : 0;
		if (size == 0 || *folders != '/' || size + 66 > PATH_MAX / MOST_COMMANDS)
			return 0;
		strcpy(stpcpy((char *)mempcpy(path, folders, size), "/"), name);
		int is_shims = strncmp(folders, shims, size) == 0 && shims[size] == '\0';
		if (!is_shims && kernel(SYS_faccessat, AT_FDCWD, path, X_OK) == 0)
			break;
		folders += size;
		if (*folders == '\0')
			return 0;
	}
	struct nature nature = nature_of(AT_FDCWD, path);
	return nature.takes_guard && nature.is_program;
}

static int is_echo(const struct command *command)
{
	return strcmp(command->words[0], "echo") == 0;
}

/* `echo` prints its words, which lie behind each other, with blanks between them. */
static enum small do_echo(const struct command *command)
{
	char *const *words = command->words;
	if (command->into == NULL || command->count < 2 || *words[1] == '-')
		return LEFT;
	char *end = words[1];
	for (int i = 1; i < command->count; i++) {
		end = words[i] + strlen(words[i]);
		*end++ = i + 1 < command->count ? ' ' : '\n';
	}
	return print_into(command->into, words[1], (size_t)(end - words[1]));
}

/* Whether it may be done again, when another has been tried behind it, by a shell that begins anew:
 * of two commands the state is the same then. */
static int is_repeatable(const struct command *command)
{
	static const a_name removers[] = {REMOVERS, ""}, makers[] = {FOLDER_MAKERS, ""};
	const char *slash = strrchr(command->words[0], '/');
	const char *name = slash != NULL ? slash + 1 : command->words[0];
	const char *option = command->count > 1 ? command->words[1] : "";
	return is_echo(command) || (is_among(name, removers) && strcmp(option, "-f") == 0) ||
	       (is_among(name, makers) && strcmp(option, "-p") == 0);
}

enum small do_small_line(const char *line, char *const *env)
{
	ON_PAGE(texts);
	ON_PAGE(paths);
	char *to = texts;
	struct command commands[MOST_COMMANDS];
	size_t count = 0;
	if (texts == NULL || paths == NULL || strlen(line) >= PATH_MAX / 2 || !begins_plainly(env))
		return LEFT;
	/* In a folder that has been removed a shell says so first. */
	if (kernel(SYS_getcwd, texts, PATH_MAX) <= 0 || *texts != '/')
		return LEFT;
	do {
		if (count == MOST_COMMANDS || !read_command(&line, &to, &commands[count]))
			return LEFT;
	} while (count++, *line != '\0');
	if (count > 1 && !is_repeatable(&commands[0]))
		return LEFT;
	for (size_t i = 0; i < count; i++) {
		char *path = paths + i * (PATH_MAX / MOST_COMMANDS);
		if (!is_echo(&commands[i]) &&
		    (commands[i].into != NULL || !find(commands[i].words[0], env, path)))
			return LEFT;
	}
	for (size_t i = 0; i < count; i++) {
		char *path = paths + i * (PATH_MAX / MOST_COMMANDS);
		if ((is_echo(&commands[i]) ? do_echo(&commands[i])
		                           : do_small_work(path, commands[i].words)) == LEFT)
			return LEFT;
	}
	return DONE;
}
