#include "context.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

#define MAX_DEPTH 16

extern char **environ;

static int same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int resolve(const char *tool, const char *path, const struct stat *self, char *rest, char *real)
{
	int found = -1;
	size_t kept = 0;
	for (const char *at = path;; at++) {
		const char *end = strchrnul(at, ':');
		size_t length = (size_t)(end - at);
		char name[PATH_MAX];
		struct stat file;
		int ours = 0;
		/* An empty entry is the current folder. */
		size_t size = length + strlen(tool) + (length > 0 ? 1 : 2);
		if (size < sizeof name) {
			memcpy(name, at, length);
			strcpy(stpcpy(name + length, length > 0 ? "/" : "./"), tool);
		}
		if (size < sizeof name && stat(name, &file) == 0 && S_ISREG(file.st_mode)) {
			ours = same_file(&file, self);
			if (!ours && found != 0 && access(name, X_OK) == 0) {
				memcpy(real, name, size + 1);
				found = 0;
			}
		}
		if (!ours) {
			if (kept > 0)
				rest[kept++] = ':';
			else if (length == 0)
				rest[kept++] = '.'; /* a leading empty entry must not vanish */
			memcpy(rest + kept, at, length);
			kept += length;
		}
		if (*end == '\0')
			break;
		at = end;
	}
	rest[kept] = '\0';
	return found;
}

static int starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The value of a variable of ours, or NULL. */
static const char *value_if(const char *variable, const char *name)
{
	size_t length = strlen(name), ours = sizeof OURS - 1;
	if (!starts(variable, OURS) || strncmp(variable + ours, name, length) != 0 ||
	    variable[ours + length] != '=')
		return NULL;
	return variable + ours + length + 1;
}

static uint32_t number_in(const char *digits)
{
	return (uint32_t)strtoul(digits, NULL, 10);
}

/* Which process above us has no guard: a guarded one left its number, or ours before it became us.
 */
static uint32_t unguarded_above(const char *known, const char *caller)
{
	if (known != NULL)
		return number_in(known);
	if (caller == NULL || number_in(caller) == (uint32_t)getpid() ||
	    number_in(caller) == (uint32_t)getppid())
		return 0;
	return (uint32_t)getppid();
}

/* "NAME=" and a number. */
static char *numbered(const char *name, uint32_t value)
{
	char *text = must_alloc(40);
	*put_number(stpcpy(text, name), text + 39, value) = '\0';
	return text;
}

int survey(struct context *s)
{
	static const char *const session[] = {"SOCKET",  "BOARD",  "BUILD", "MEMO",
	                                      "MEMORUN", "RECALL", "AHEAD"};
	static const char *const passing[] = {"CALLER", "UNGUARDED", "REAL",
	                                      "DEPTH",  "LINE",      "LOOKS"};
	const char *own[sizeof session / sizeof *session], *come[sizeof passing / sizeof *passing];
	size_t count = 0, n = 0;
	memset(own, 0, sizeof own);
	memset(come, 0, sizeof come);
	while (environ[count] != NULL) {
		s->has_guard |= value_if(environ[count], "GUARD") != NULL;
		count++;
	}
	s->env = must_alloc((count + 4) * sizeof *s->env);
	for (size_t i = 0; i < count; i++) {
		char *variable = environ[i];
		const char *value, *inside = value_if(variable, "COMMAND");
		int keep = 1;
		for (size_t k = 0; k < sizeof session / sizeof *session; k++)
			if ((value = value_if(variable, session[k])) != NULL) {
				own[k] = value;
				keep = s->has_guard;
			}
		for (size_t k = 0; k < sizeof passing / sizeof *passing; k++)
			if ((value = value_if(variable, passing[k])) != NULL) {
				come[k] = value;
				keep = 0;
			}
		if (inside != NULL)
			s->inside = inside;
		if (keep) {
			s->env_bytes += strlen(variable) + 1;
			s->env[n++] = variable;
		}
	}
	s->socket = own[0];
	s->board = own[1];
	s->build = own[2];
	s->memo = (char *)(uintptr_t)own[3];
	s->memo_program = own[4];
	s->recall_program = own[5];
	s->ahead = own[6];
	s->real = come[4] != NULL ? come[4] : come[2];
	s->is_line = come[4] != NULL;
	if (s->has_guard)
		s->unguarded = unguarded_above(come[1], come[0]);
	uint32_t level = come[3] != NULL ? number_in(come[3]) + 1 : 1;
	if (level > MAX_DEPTH)
		return -1;
	s->depth = numbered(OURS "DEPTH=", level);
	s->env_bytes += strlen(s->depth) + 1;
	s->env[n++] = s->depth;
	s->env[n] = NULL;
	return 0;
}

void number(struct context *s, uint32_t command)
{
	size_t n = 0;
	if (!s->has_guard)
		return;
	while (s->env[n] != NULL)
		n++;
	s->is_numbered = command != 0;
	s->env[n] = numbered(OURS "COMMAND=", command);
	s->env[n + 1] = NULL;
}

void replace_path(struct context *s)
{
	for (char **variable = s->env; *variable != NULL; variable++)
		if (starts(*variable, "PATH=")) {
			s->env_bytes = s->env_bytes - strlen(*variable) + strlen(s->path);
			*variable = s->path;
		}
}

/* Whether a program has no loader, and so no guard. */
static int is_static(const char *path)
{
	_Alignas(16) char head[4096];
	const Elf64_Ehdr *elf = (const void *)head;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, head, sizeof head);
	if (fd >= 0)
		close(fd);
	if (size < (ssize_t)sizeof *elf || memcmp(head, ELFMAG, SELFMAG) != 0)
		return 0;
	if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_phentsize != sizeof(Elf64_Phdr) ||
	    elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr) > (size_t)size)
		return 1; /* of another machine: no guard either */
	const Elf64_Phdr *part = (const void *)(head + elf->e_phoff);
	for (int i = 0; i < elf->e_phnum; i++)
		if (part[i].p_type == PT_INTERP)
			return 0;
	return 1;
}

char **driver_environment(const struct context *s, const char *real)
{
	static char nobody[] = OURS "CALLER=0000000000";
	int unguarded = s->has_guard && is_static(real);
	size_t count = 0, n = 0;
	while (environ[count] != NULL)
		count++;
	char **env = must_alloc((count + 4) * sizeof *env);
	for (size_t i = 0; i < count; i++)
		if (value_if(environ[i], "REAL") == NULL && value_if(environ[i], "DEPTH") == NULL &&
		    value_if(environ[i], "LINE") == NULL &&
		    (!unguarded || value_if(environ[i], "CALLER") == NULL))
			env[n++] = environ[i];
	env[n++] = s->depth;
	if (unguarded)
		env[n++] = nobody;
	env[n] = NULL;
	return env;
}
