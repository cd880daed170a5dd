/* system() and popen(): libc starts their shell itself, with `environ`.  If that has lost us, the
 * shell is told by its command's own text to become one that has us.
 */
#include "base/kernel.h"
#include "environment.h"
#include "guard/hooks/hooked.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define LONGEST 131072 /* an argument of execve(2) may have so many bytes, its NUL included */

static int is_intact(void)
{
	const char *preload = value_in(environ, "LD_PRELOAD=", 11);
	if (!guard.active || is_inert())
		return 1;
	if (preload == NULL || strstr(preload, guard.values[V_GUARD]) == NULL)
		return 0;
	for (int i = 0; i < V_COUNT; i++) {
		if (guard.values[i] == NULL)
			continue;
		size_t name = (size_t)(guard.values[i] - guard.variables[i]);
		const char *value = value_in(environ, guard.variables[i], name);
		if (value == NULL || strcmp(value, guard.values[i]) != 0)
			return 0;
	}
	return 1;
}

/* A text that a shell takes as one word, whatever is in it. */
static char *quoted(char *at, const char *text)
{
	*at++ = '\'';
	for (; *text != '\0'; text++)
		if (*text == '\'')
			at = stpcpy(at, "'\\''");
		else
			*at++ = *text;
	*at++ = '\'';
	*at = '\0';
	return at;
}

static size_t quoted_size(const char *text)
{
	size_t size = 2;
	for (; *text != '\0'; text++)
		size += *text == '\'' ? 4 : 1;
	return size;
}

static size_t repaired_size(const char *command, const char *others)
{
	size_t size = quoted_size(guard.values[V_GUARD]) + quoted_size(command) + 128;
	if (others != NULL)
		size += quoted_size(others) + 1;
	for (int i = 0; i < V_COUNT; i++)
		if (guard.values[i] != NULL)
			size += quoted_size(guard.variables[i]) + 1;
	return size;
}

/* A second shell, because the first opens the command's redirections without a guard. */
static void repair(char *to, const char *command, const char *others)
{
	char caller[32];
	put_number(caller, OURS "CALLER=", (uint32_t)kernel(SYS_getpid));
	char *at = stpcpy(stpcpy(stpcpy(to, "export "), caller), " LD_PRELOAD=");
	at = quoted(at, guard.values[V_GUARD]);
	if (others != NULL && *others != '\0')
		at = quoted(stpcpy(at, ":"), others);
	for (int i = 0; i < V_COUNT; i++)
		if (guard.values[i] != NULL) {
			size_t name = (size_t)(guard.values[i] - guard.variables[i]);
			*at++ = ' ';
			at = quoted(mempcpy(at, guard.variables[i], name), guard.values[i]);
		}
	at = quoted(stpcpy(at, "; exec /bin/sh -c "), command);
	strcpy(at, " sh");
}

/* The command for a guarded shell, or the command itself where there is no room; `size` is what
 * `discard` is to take. */
static const char *repaired(const char *command, size_t *size)
{
	int before = errno;
	const char *others = value_in(environ, "LD_PRELOAD=", 11);
	char *text = MAP_FAILED;
	*size = repaired_size(command, others);
	if (*size <= LONGEST)
		text =
		    mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = before;
	if (text == MAP_FAILED) {
		*size = 0;
		return command;
	}
	repair(text, command, others);
	return text;
}

static void discard(const char *text, size_t size)
{
	int before = errno;
	if (size > 0)
		munmap((void *)(uintptr_t)text, size);
	errno = before;
}

EXPORT int system(const char *command)
{
	if (command == NULL || is_intact())
		return LIBC(system)(command);
	size_t size;
	const char *text = repaired(command, &size);
	int status = LIBC(system)(text);
	discard(text, size);
	return status;
}

EXPORT void *popen(const char *command, const char *mode)
{
	if (command == NULL || is_intact())
		return LIBC(popen)(command, mode);
	size_t size;
	const char *text = repaired(command, &size);
	void *stream = LIBC(popen)(text, mode);
	discard(text, size);
	return stream;
}
