/* The hooks by which a program asks for variables: a remembered result depends on those that it has
 * asked for (trace/notes.c).
 */
#include "guard/looks.h"
#include "hooked.h"

EXPORT char *getenv(const char *name)
{
	char *value = LIBC(getenv)(name);
	looks_ask(name, value);
	return value;
}

EXPORT char *secure_getenv(const char *name)
{
	char *value = LIBC(secure_getenv)(name);
	looks_ask(name, value);
	return value;
}

/* Whether what was there stays is a question, too. */
EXPORT int setenv(const char *name, const char *value, int replace)
{
	if (!replace)
		getenv(name);
	return LIBC(setenv)(name, value, replace);
}
