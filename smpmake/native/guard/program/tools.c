#include "tools.h"
#include "base/kernel.h"
#include "guard/guard.h"
#include "guard/looks.h"
#include "guard/pages.h"
#include "guard/view/lookup.h"
#include "program.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const a_name printers[] = {PRINTERS, ""};

int is_among(const char *name, const a_name *names)
{
	while (**names != '\0' && strcmp(*names, name) != 0)
		names++;
	return **names != '\0';
}

/* Programs that are tools with some words, and a part of the build with others: cmake -E copy. */
static const a_name sometimes[] = {SOMETIMES_TOOLS, ""};
static const a_name commands[] = {FILE_COMMANDS, ""};

static int is_build(const char *name, char *const *argv)
{
	if (!is_among(name, sometimes))
		return 0;
	if (argv == NULL || argv[0] == NULL || argv[1] == NULL || argv[2] == NULL)
		return 1;
	return strcmp(argv[1], "-E") != 0 || !is_among(argv[2], commands);
}

/* Whether there is a shim of this name; its path goes to `shim`. */
static int has_shim(const char *name, char shim[SHIM_SIZE])
{
	const char *shims = guard.values[V_SHIMS];
	if (*name == '\0' || strlen(shims) + strlen(name) + 2 > SHIM_SIZE)
		return 0;
	strcpy(stpcpy(stpcpy(shim, shims), "/"), name);
	return kernel_unseen(SYS_faccessat, AT_FDCWD, shim, X_OK) == 0;
}

int reads_makefiles(const char *name)
{
	static const a_name makes[] = {MAKEFILE_TOOLS, ""};
	return is_among(name, makes);
}

int reads_lines(const char *name)
{
	static const a_name shells[] = {SHELLS, ""};
	return is_among(name, shells);
}

int is_tool(void)
{
	enum { UNKNOWN, IT_IS, IT_IS_NOT };
	static int known; /* a shell runs many programs */
	char shim[SHIM_SIZE];
	int is = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (is == UNKNOWN) {
		is = guard.is_part ||
		             (!guard.is_make && !is_among(guard.name, printers) &&
		              !is_among(guard.name, sometimes) && has_shim(guard.name, shim))
		         ? IT_IS
		         : IT_IS_NOT;
		__atomic_store_n(&known, is, __ATOMIC_RELAXED);
	}
	return is == IT_IS;
}

static int prints_into_file(void)
{
	struct stat info;
	return kernel(SYS_fstat, 1, &info) == 0 && S_ISREG(info.st_mode);
}

/* A tool for files that touches nothing pending need not be heard of: it is guarded itself.  (Those
 * that may vouch for something pending are heard of while anything is.)  Nor need one whose result
 * is what it prints, where that goes to no file. */
static int is_unconcerned(const char *name, char *const *argv)
{
	static const a_name all[] = {DISK_TOOLS, ""}, some[] = {QUIET_TOOLS, ""};
	int prints = is_among(name, printers);
	if ((!prints && !is_among(name, guard_quiet() ? all : some)) || argv == NULL)
		return 0;
	if (prints && !prints_into_file())
		return 1;
	for (int i = 1; !guard_quiet() && argv[0] != NULL && argv[i] != NULL; i++)
		if (*argv[i] != '-' && guard_knows(argv[i]))
			return 0;
	return 1;
}

int is_shim(const char *path)
{
	const char *shims = guard.values[V_SHIMS];
	size_t own = strlen(shims);
	return strncmp(path, shims, own) == 0 && path[own] == '/';
}

/* A relative path is not known to mean a tool of the system's; some tools projects build. */
static int is_tools_path(const char *path)
{
	static const a_name built[] = {BUILT_TOOLS, ""};
	const char *slash = strrchr(path, '/');
	return *path == '/' || (slash != NULL && is_among(slash + 1, built));
}

/* Whether a shell's line may print into a file what comes through a pipe or from another. */
static int has_pipe_into_file(const char *line)
{
	if (strchr(line, '>') == NULL)
		return 0;
	for (const char *at = strpbrk(line, "|<"); at != NULL; at = strpbrk(at + 1, "|<")) {
		if (at[1] != *at)
			return 1;
		at++; /* || and << are others */
	}
	return 0;
}

/* Whether a make gives a shell a line that compiles something, has libtool link it or prints by a
 * pipe: it may be understood as a whole. */
static int is_line(const char *name, char *const *argv)
{
	if (!guard.is_make || argv == NULL || argv[0] == NULL)
		return 0;
	if (!reads_lines(name) || argv[1] == NULL || argv[2] == NULL)
		return 0;
	if (strcmp(argv[1], "-c") == 0)
		return argv[3] == NULL &&
		       (strstr(argv[2], " -c ") != NULL ||
		        strstr(argv[2], "--mode=link ") != NULL || has_pipe_into_file(argv[2]));
	const char *slash = strrchr(argv[1], '/');
	return strcmp(slash != NULL ? slash + 1 : argv[1], "libtool") == 0;
}

int goes_to_shim(const char *path, char *const *argv, char *shim, char *real)
{
	ANY_PAGE(folder);
	const char *slash = strrchr(path, '/');
	if (is_shim(path) || slash == NULL)
		return 0;
	const char *name = slash + 1;
	/* One that takes no guard waits by itself for everything. */
	int line = is_line(name, argv) && nature_of(AT_FDCWD, path).takes_guard;
	if (!line && (!is_tools_path(path) || is_build(name, argv)))
		return 0;
	if ((!line && is_unconcerned(name, argv)) || !has_shim(line ? ".line" : name, shim) ||
	    noted_access(AT_FDCWD, path, X_OK) != 0)
		return 0;
	if (*path != '/' &&
	    ((folder = pages_take(PATH_MAX)) == NULL || kernel(SYS_getcwd, folder, PATH_MAX) < 0))
		return 0;
	if ((folder != NULL ? strlen(folder) : 0) + strlen(path) + 2 > PATH_MAX)
		return 0;
	char *at = stpcpy(real, line ? OURS "LINE=" : OURS "REAL=");
	strcpy(folder != NULL ? stpcpy(stpcpy(at, folder), "/") : at, path);
	return 1;
}
