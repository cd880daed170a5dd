/* configure scripts start thousands of rm, mv and mkdir, each for some microseconds of work and
 * half a millisecond of the loader's.  A process that is about to become one does the work and
 * ends.  Only the usual is done here: names of files, the options of scripts, nothing to be told.
 */
#include "small_work.h"
#include "base/kernel.h"
#include "guard/hooks/intents.h"
#include "tools.h"

#include <linux/fcntl.h>
#include <string.h>
#include <sys/resource.h>

#define W_OK 2 /* <unistd.h> stays out, as in hooks.c */

/* The options of a command, letters all, and its names. */
struct words {
	int is_forced, has_options;
	char *const *names;
	int count;
};

/* 0 where there is another option than `known`, or one behind a name. */
static int read_words(char *const *argv, const char *known, struct words *words)
{
	*words = (struct words){.names = argv + 1};
	for (; words->names[0] != NULL && *words->names[0] == '-'; words->names++) {
		const char *letters = words->names[0] + 1;
		if (*letters == '\0' || letters[strspn(letters, known)] != '\0')
			return 0;
		words->has_options = 1;
		words->is_forced |= strchr(letters, 'f') != NULL;
	}
	while (words->names[words->count] != NULL)
		if (*words->names[words->count++] == '-')
			return 0;
	return 1;
}

/* The kernel takes more in any case (MAX_ARG_STRLEN, ARG_MAX). */
#define MOST_TEXT 100000u

/* Bytes of words and variables; too many where the loader is told something by them. */
static size_t size_of_texts(char *const *argv, char *const *env)
{
	size_t size = 0;
	for (; *argv != NULL; argv++)
		size += strlen(*argv) + 1 + sizeof *argv;
	for (; *env != NULL; env++) {
		if (strncmp(*env, "LD_", 3) == 0 && strncmp(*env, "LD_PRELOAD=", 11) != 0)
			return MOST_TEXT;
		size += strlen(*env) + 1 + sizeof *env;
	}
	return size;
}

static int is_unlimited(int which, rlim_t least)
{
	struct rlimit limit;
	return kernel(SYS_prlimit64, 0, which, NULL, &limit) == 0 && limit.rlim_cur >= least;
}

int may_do_small_work(char *const *argv, char *const *env)
{
	static const a_name makes[] = {GNU_MAKES, ""};
	return argv != NULL && argv[0] != NULL && env != NULL &&
	       (reads_lines(guard.name) || is_among(guard.name, makes)) &&
	       kernel(SYS_getuid) == kernel(SYS_geteuid) &&
	       kernel(SYS_getgid) == kernel(SYS_getegid) &&
	       is_unlimited(RLIMIT_AS, RLIM_INFINITY) && is_unlimited(RLIMIT_DATA, RLIM_INFINITY) &&
	       is_unlimited(RLIMIT_FSIZE, RLIM_INFINITY) && is_unlimited(RLIMIT_STACK, 1 << 20) &&
	       size_of_texts(argv, env) < MOST_TEXT;
}

int is_of_process(const char *name)
{
	static const a_name places[] = {"/proc/", "/dev/", "/sys/", ""};
	for (const a_name *place = places; **place != '\0'; place++)
		if (strncmp(name, *place, strlen(*place)) == 0)
			return 1;
	return 0;
}

enum found { NOTHING, FILE_OR_LINK, FOLDER, UNUSUAL };

static enum found look(const char *name, int flags, struct stat *info)
{
	if (is_of_process(name))
		return UNUSUAL;
	if (kernel(SYS_newfstatat, AT_FDCWD, name, info, flags) != 0)
		return errno == ENOENT && *name != '\0' ? NOTHING : UNUSUAL;
	if (S_ISREG(info->st_mode) || S_ISLNK(info->st_mode))
		return FILE_OR_LINK;
	return S_ISDIR(info->st_mode) ? FOLDER : UNUSUAL;
}

/* Whether nobody is asked before it is removed or replaced. */
static int is_free(const struct words *words, const char *name)
{
	return words->is_forced || kernel(SYS_faccessat, AT_FDCWD, name, W_OK) == 0;
}

/* -r alone asks, as no option does. */
static enum small removes_names(char *const *argv)
{
	struct words words;
	struct stat info;
	if (!read_words(argv, "frR", &words) || (!words.is_forced && words.count != 1))
		return LEFT;
	for (int i = 0; i < words.count; i++) {
		const char *name = words.names[i];
		enum found found = look(name, AT_SYMLINK_NOFOLLOW, &info);
		if (found == NOTHING && words.is_forced)
			continue;
		if (found != FILE_OR_LINK || !is_free(&words, name) ||
		    (!goes(AT_FDCWD, name, UNDO_FILES) &&
		     kernel(SYS_unlinkat, AT_FDCWD, name, 0) != 0))
			return LEFT;
	}
	return DONE;
}

static int is_of_folder(const char *name)
{
	size_t size = strlen(name);
	return size == 0 || name[size - 1] == '/';
}

static enum small moves_file(char *const *argv)
{
	struct words words;
	struct stat info;
	if (!read_words(argv, "f", &words) || words.count != 2)
		return LEFT;
	const char *from = words.names[0], *to = words.names[1];
	if (is_of_folder(from) || is_of_folder(to) ||
	    look(from, AT_SYMLINK_NOFOLLOW, &info) != FILE_OR_LINK || !S_ISREG(info.st_mode))
		return LEFT;
	const ino_t inode = info.st_ino;
	const dev_t device = info.st_dev;
	enum found found = look(to, AT_SYMLINK_NOFOLLOW, &info);
	int is_another = found == FILE_OR_LINK && S_ISREG(info.st_mode) &&
	                 (info.st_ino != inode || info.st_dev != device);
	if (found != NOTHING && (!is_another || !is_free(&words, to)))
		return LEFT;
	renames(AT_FDCWD, from, AT_FDCWD, to, 0);
	return kernel(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to) == 0 ? DONE : LEFT;
}

/* -p needs no other folder than the last to be made. */
static enum small makes_folders(char *const *argv)
{
	struct words words;
	struct stat info;
	if (!read_words(argv, "p", &words) || words.count != 1)
		return LEFT;
	const char *name = words.names[0];
	enum found found = look(name, 0, &info);
	if (found == FOLDER)
		return words.has_options ? DONE : LEFT;
	if (found != NOTHING || look(name, AT_SYMLINK_NOFOLLOW, &info) != NOTHING)
		return LEFT;
	makes_folder(AT_FDCWD, name);
	return kernel(SYS_mkdirat, AT_FDCWD, name, 0777) == 0 ? DONE : LEFT;
}

/* The name of a tool of the system's; NULL where a path is no such. */
static const char *name_of_systems(const char *path)
{
	static const a_name places[] = {"/usr/bin/", "/bin/", ""};
	for (const a_name *place = places; **place != '\0'; place++) {
		size_t size = strlen(*place);
		if (strncmp(path, *place, size) == 0 && strchr(path + size, '/') == NULL)
			return path + size;
	}
	return NULL;
}

int is_shells_line(const char *path, char *const *argv)
{
	const char *name = name_of_systems(path);
	/* By another name it may be another shell: -sh, rbash. */
	return name != NULL && reads_lines(name) &&
	       (strcmp(argv[0], path) == 0 || strcmp(argv[0], name) == 0) && argv[1] != NULL &&
	       strcmp(argv[1], "-c") == 0 && argv[2] != NULL && argv[3] == NULL;
}

int prints_files(const char *path)
{
	static const a_name printers[] = {FILE_PRINTERS, ""};
	const char *tool = name_of_systems(path);
	return tool != NULL && is_among(tool, printers);
}

enum small do_small_work(const char *path, char *const *argv)
{
	static const a_name removers[] = {REMOVERS, ""}, movers[] = {MOVERS, ""},
	                    makers[] = {FOLDER_MAKERS, ""};
	const char *tool = name_of_systems(path);
	if (tool == NULL)
		return LEFT;
	if (is_among(tool, removers))
		return removes_names(argv);
	if (is_among(tool, movers))
		return moves_file(argv);
	return is_among(tool, makers) ? makes_folders(argv) : LEFT;
}
