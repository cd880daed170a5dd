#include "unasked.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "layout/board.h"

/* The names of configure scripts' checks begin so; and words by which a tool tells of itself. */
static const char *const checks[] = {CHECKS, NULL};
static const char *const asks[] = {ASKS, NULL};

/* Tools, whatever machine and version they are for. */
static const char *const compilers[] = {COMPILERS, NULL};
static const char *const linkers[] = {LINKERS, NULL};
static const char *const inspectors[] = {INSPECTORS, NULL}; /* print what they find */

static const char *const catalogues[] = {MSGFMTS, NULL};

/* A compiler's options whose value is the next word. */
static const char *const valued[] = {VALUED, NULL};

/* Words, by their beginning, by which a compiler has something to link, or writes more. */
static const char *const links[] = {"-l", "-L", "-T", "-Wl,", "-X", "--library", NULL};
static const char *const writes[] = {"-o", "--output", "-M", "-Wp,", "-Wa,", "-X", NULL};

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

int compiler_begins(const char *line)
{
	char word[NAME_MAX + 1];
	size_t size = strcspn(line, " \t");
	if (size >= sizeof word)
		return 0;
	memcpy(word, line, size);
	word[size] = '\0';
	return is_one_of(base_name(word), compilers);
}

/* config.guess asks a compiler about itself by a file in a folder of mktemp's:
 * /tmp/cgXXXXXX/dummy.c */
static int is_guess(const char *word, const char *name)
{
	return name - word >= 10 && strncmp(name, "dummy.", 6) == 0 &&
	       strncmp(name - 10, "/cg", 3) == 0;
}

/* Whether it is run in its place, whatever it does: nobody need hear of it while nothing is at
 * work, and there are hundreds in a row. */
static int is_check(int argc, char *const *argv)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i] + (argv[i][0] == '@'); /* a response file's name */
		const char *name = base_name(word);
		if ((*word != '-' && begins_as(name, checks)) || is_guess(word, name))
			return 1;
	}
	return 0;
}

int is_end(int fd)
{
	struct stat info;
	return fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

/* Whether it may have to wait for who is at the other end of a pipe or FIFO, and that may be one
 * who wants the place.  Of compilers that make a file only messages go to standard output. */
static int meets_others(const char *tool, int argc, char *const *argv)
{
	int makes = 0, prints = is_one_of(tool, inspectors);
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];
		struct stat info;
		if (*word != '-' && stat(word, &info) == 0 && !S_ISREG(info.st_mode) &&
		    !S_ISDIR(info.st_mode))
			return 1;
		makes |= strcmp(word, "-c") == 0 || strcmp(word, "-o") == 0;
		prints |= strcmp(word, "-") == 0 || strcmp(word, "-o-") == 0 ||
		          strncmp(word, "-E", 2) == 0 || strncmp(word, "-M", 2) == 0;
	}
	return is_end(0) || (is_end(1) && (prints || !makes));
}

/* What a compiler's words have it do: TOLD where they name nothing to work on, PRINTED where it
 * preprocesses and writes nothing else. */
static enum unasked compiles(int argc, char *const *argv)
{
	int works = 0, expands = 0, makes = 0;
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];
		if (*word == '@') /* more words are in there */
			return ASKED;
		works |= *word != '-' || word[1] == '\0' || begins_as(word, links);
		expands |= strcmp(word, "-E") == 0;
		makes |= begins_as(word, writes);
		i += is_among(word, valued);
	}
	if (!works)
		return TOLD;
	return expands && !makes ? PRINTED : ASKED;
}

/* Whether a linker is asked about itself, and for which emulation: -m elf_x86_64 --help. */
static int asks_linker(int argc, char *const *argv)
{
	int found = 0;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-m") == 0)
			i++;
		else if (is_among(argv[i], asks))
			found = 1;
		else
			return 0;
	}
	return found;
}

/* Whether msgfmt is asked about a catalogue in which nothing is, and no output is named. */
static int asks_msgfmt(int argc, char *const *argv)
{
	int found = 0;
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];
		if (strcmp(word, "/dev/null") == 0)
			found = 1;
		else if (strncmp(word, "--", 2) != 0 || word[2] == 'o' || strchr(word, '=') != NULL)
			return 0;
	}
	return found;
}

enum unasked runs_unasked(const char *tool, int argc, char *const *argv)
{
	enum unasked does = ASKED;
	if (is_one_of(tool, compilers))
		does = compiles(argc, argv);
	else if (is_one_of(tool, inspectors))
		does = PRINTED;
	if ((argc == 2 && is_among(argv[1], asks)) ||
	    (is_one_of(tool, linkers) && asks_linker(argc, argv)) ||
	    (is_among(tool, catalogues) && asks_msgfmt(argc, argv)))
		does = TOLD;
	if (does == TOLD || (does == PRINTED && is_end(1)))
		return does;
	return is_check(argc, argv) && !meets_others(tool, argc, argv) ? CHECKED : ASKED;
}

/* What the scoreboard begins with. */
struct head {
	uint64_t pending;
	char between[offsetof(struct board, at_work) - sizeof(uint64_t)];
	uint32_t at_work;
};

static void read_board(const char *path, struct head *head)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	head->pending = head->at_work = 1;
	if (fd < 0)
		return;
	if (read(fd, head, sizeof *head) != (ssize_t)sizeof *head)
		head->pending = head->at_work = 1;
	close(fd);
}

int is_idle(const char *board, int wholly)
{
	struct head head;
	read_board(board, &head);
	return head.pending == 0 && (!wholly || head.at_work == 0);
}

int take_place(const char *board)
{
	char path[PATH_MAX];
	const char *slash = strrchr(board, '/');
	size_t folder = slash != NULL ? (size_t)(slash - board) : 0;
	if (slash == NULL || folder + sizeof "/check" > sizeof path)
		return -1;
	strcpy((char *)memcpy(path, board, folder) + folder, "/check");
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	/* Where no shell and no script has its own. */
	int place = fd >= 0 ? fcntl(fd, F_DUPFD, 977) : -1;
	close(fd);
	if (place >= 0 && fcntl(place, F_SETLK, &lock) != 0) {
		close(place);
		place = -1;
	}
	return place;
}
