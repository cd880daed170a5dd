/* A command's question. */
#include "question.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/inherited.h"
#include "base/kernel.h"
#include "base/util.h"
#include "finish.h"
#include "layout/wire.h"

#define LIMITS 16
#define NULL_DEVICE 0x103 /* /dev/null */

/* ------------------------------------------------------------------ what the session has told */

int memo_open(struct memo *memo, const char *told, const char *session)
{
	static const struct {
		const char *name;
		enum memo_mode mode;
		int is_patient;
	} modes[] = {{"check", MEMO_CHECK, 0}, {"on", MEMO_ON, 0}, {"auto", MEMO_ON, 1}};
	struct stat info;
	const char *end = told != NULL ? strchrnul(told, ':') : "";
	memset(memo, 0, sizeof *memo);
	memo->session = session;
	for (size_t i = 0; i < sizeof modes / sizeof *modes && told != NULL; i++)
		if (strlen(modes[i].name) == (size_t)(end - told) &&
		    strncmp(told, modes[i].name, (size_t)(end - told)) == 0) {
			memo->mode = modes[i].mode;
			memo->is_patient = modes[i].is_patient;
		}
	if (memo->mode == MEMO_OFF || *end == '\0')
		return -1;
	memo->began_ns = (int64_t)strtoul(end + 1, NULL, 10);
	end = strchrnul(end + 1, ':');
	if (*end == '\0')
		return -1;
	memo->settled_ns = (int64_t)strtoul(end + 1, NULL, 10);
	end = strchrnul(end + 1, ':');
	if (*end == '\0')
		return -1;
	memo->most_bytes = strtoul(end + 1, NULL, 10);
	end = strchrnul(end + 1, ':');
	memo->build = *end != '\0' ? end + 1 : end;
	end = strchrnul(memo->build, ':');
	memo->build_size = (size_t)(end - memo->build);
	memo->folder = *end != '\0' ? end + 1 : "";
	memo->now_ns = memo_clock();
	int fd = (int)kernel(SYS_openat, AT_FDCWD, "/proc/sys/kernel/random/boot_id",
	                     O_RDONLY | O_CLOEXEC, 0);
	char boot[36];
	if (fd < 0)
		return -1;
	long size = read(fd, boot, sizeof boot);
	close(fd);
	if (size != (long)sizeof boot)
		return -1;
	/* "8-4-4-4-12" digits: the 16 bytes that they are. */
	for (size_t i = 0, n = 0; i < sizeof boot && n < 32; i++) {
		if (boot[i] == '-')
			continue;
		int digit = boot[i] <= '9' ? boot[i] - '0' : boot[i] - 'a' + 10;
		memo->boot[n / 2] = (unsigned char)(memo->boot[n / 2] << 4 | (digit & 15));
		n++;
	}
	/* Closed to others, our own, and short enough for what is put behind it. */
	return *memo->folder == '/' && strlen(memo->folder) + 80 < PATH_MAX &&
	               kernel(SYS_newfstatat, AT_FDCWD, memo->folder, &info, AT_SYMLINK_NOFOLLOW) ==
	                   0 &&
	               S_ISDIR(info.st_mode) && (info.st_mode & 077) == 0 &&
	               info.st_uid == (uid_t)kernel(SYS_geteuid)
	           ? 0
		   : -1;
}

char **memo_words(const char *told, const char *session, const char *known, const char *program,
                  char *const *argv)
{
	const char *const before[] = {argv[0], told, session, known, program};
	const size_t own = sizeof before / sizeof *before;
	size_t count = 0;
	while (argv[count] != NULL)
		count++;
	char **words = must_alloc((own + count + 1) * sizeof *words);
	memcpy(words, before, sizeof before);
	memcpy(words + own, argv, (count + 1) * sizeof *words);
	return words;
}

/* ------------------------------------------------------------------ its parts */

static void add(struct sha256 *sum, const void *data, size_t size)
{
	uint64_t length = size;
	sha256_add(sum, &length, sizeof length);
	sha256_add(sum, data, size);
}

static void add_text(struct sha256 *sum, const char *text)
{
	add(sum, text, strlen(text));
}

static void add_number(struct sha256 *sum, uint64_t number)
{
	add(sum, &number, sizeof number);
}

static int starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int is_in(const char *text, const char *part)
{
	for (; *text != '\0'; text++)
		if (starts(text, part))
			return 1;
	return 0;
}

/* ------------------------------------------------------------------ the program */

enum family { NO_FAMILY, READER, ARCHIVER, INDEXER, CHANGER };

static enum family family_of(const char *name)
{
	static const char *const readers[] = {REMEMBERED, NULL};
	static const char *const archivers[] = {REMEMBERED_ARCHIVERS, NULL};
	static const char *const indexers[] = {REMEMBERED_INDEXERS, NULL};
	static const char *const changers[] = {REMEMBERED_CHANGERS, NULL};
	return is_one_of(name, readers)     ? READER
	       : is_one_of(name, archivers) ? ARCHIVER
	       : is_one_of(name, indexers)  ? INDEXER
	       : is_one_of(name, changers)  ? CHANGER
	                                    : NO_FAMILY;
}

int memo_is_of_family(const char *program)
{
	const char *slash = strrchr(program, '/');
	return family_of(slash != NULL ? slash + 1 : program) != NO_FAMILY;
}

int memo_may_read_input(const char *program, char *const *argv)
{
	static const char *const readers[] = {REMEMBERED_READ_INPUT, NULL};
	const char *slash = strrchr(program, '/'), *name = slash != NULL ? slash + 1 : program;
	if (family_of(name) == ARCHIVER)
		return argv[1] == NULL || is_in(argv[1], "M");
	return is_one_of(name, readers);
}

/* The file that will be run, wherever links lead: what starts a compiler under its name and
 * remembers results itself is called otherwise. */
static enum memo_why add_program(struct memo_question *q, struct sha256 *sum, enum family *family)
{
	char link[40], path[PATH_MAX];
	char magic[4] = "";
	struct stat info;
	struct memo_stamp stamp;
	unsigned char hash[SHA256_SIZE];
	uint32_t has;
	int fd =
	    (int)guarded(SYS_openat, AT_FDCWD, q->program, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return MEMO_UNREADABLE;
	*put_number(stpcpy(link, "/proc/self/fd/"), link + sizeof link - 1, (unsigned long)fd) =
	    '\0';
	long size = kernel(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
	int failed = size <= 0 || kernel(SYS_fstat, fd, &info) != 0 || !S_ISREG(info.st_mode) ||
	             read(fd, magic, sizeof magic) != (ssize_t)sizeof magic;
	close(fd);
	if (failed)
		return MEMO_UNREADABLE;
	path[size] = '\0';
	*family = family_of(strrchr(path, '/') + 1);
	if (*family == NO_FAMILY)
		return MEMO_NO_FAMILY;
	if (memcmp(magic, "\177ELF", 4) != 0)
		return MEMO_SCRIPT;
	if (!memo_near_at(info.st_dev, path))
		return MEMO_DISTANT;
	memo_stamp_of(&info, &stamp);
	if (stamp.changed_ns >= q->memo.began_ns)
		return MEMO_FRESH;
	if (memo_content(&q->memo, path, &stamp, hash, &has) != 0)
		return MEMO_UNREADABLE;
	q->is_young = (has & MEMO_IS_YOUNG) != 0;
	add_text(sum, q->program);
	add_text(sum, path);
	add(sum, hash, sizeof hash);
	return 0;
}

/* ------------------------------------------------------------------ the words */

/* What depends on more than files and words, or writes down what no second run would. */
static int is_unanswerable(const char *word)
{
	static const char *const whole[] = {"-",         "-v",     "-###",   "-Q",    "--coverage",
	                                    "-coverage", "native", "-time",  "-load", "hip",
	                                    "cuda",      "-xhip",  "-xcuda", NULL};
	static const char *const begun[] = {"@",
	                                    "-fprofile",
	                                    "-fauto-profile",
	                                    "-fplugin",
	                                    "-specs",
	                                    "--specs",
	                                    "-wrapper",
	                                    "-save-temps",
	                                    "--save-temps",
	                                    "-time=",
	                                    "-ftime",
	                                    "-fmem-report",
	                                    "-ftest-cov",
	                                    "-fbranch-p",
	                                    "-fmodules",
	                                    "-fcrash",
	                                    "-flto",
	                                    "-index-store",
	                                    "-dumpdir",
	                                    "-Wl,@",
	                                    "-Wa,@",
	                                    "-preserve-d",
	                                    "--preserve-dat",
	                                    "-gembed-source",
	                                    "-finput-charset",
	                                    "-fcondition-cov",
	                                    "-fpath-cov",
	                                    "-fproc-stat",
	                                    "-fpass-plugin",
	                                    "-ast-dump",
	                                    "--config",
	                                    "-gmodules",
	                                    "-fgpu-rdc",
	                                    "-fcuda-rdc",
	                                    "-fcs-profile",
	                                    "-fdump-",
	                                    NULL};
	static const char *const inside[] = {"build-id=uuid", "/dev/fd/", "/dev/std",
	                                     "/proc/",        "=sarif",   NULL};
	/* Of options, with one dash or two: they tell when inputs have changed (gold), when and how
	 * long a tool ran. */
	static const char *const told[] = {"-incremental", "-stats", "-statistics", "-time-trace",
	                                   NULL};
	for (size_t i = 0; inside[i] != NULL; i++)
		if (is_in(word, inside[i]))
			return 1;
	for (size_t i = 0; *word == '-' && told[i] != NULL; i++)
		if (is_in(word, told[i]))
			return 1;
	/* gcc takes --X for -fX. */
	for (size_t i = 0; starts(word, "--") && begun[i] != NULL; i++)
		if (starts(begun[i], "-f") && starts(word + 2, begun[i] + 2))
			return 1;
	return is_among(word, whole) || begins_as(word, begun) || ends_in(word, "=native") ||
	       ends_in(word, ".cu") || ends_in(word, ".hip");
}

/* Whether a tool is told to keep or to show times.  Whether an archive has times in it shows when
 * it is made (trace/entry.c). */
static int is_dated(enum family family, char *const *argv)
{
	const char *first = argv[0] != NULL && argv[1] != NULL ? argv[1] : "";
	if (family == ARCHIVER || family == INDEXER)
		for (size_t i = 2; *first != '\0' && argv[i] != NULL; i++)
			if (*argv[i] == '-')
				return 1;
	if (family == ARCHIVER)
		return is_in(first, "U") || is_in(first, "o") ||
		       (is_in(first, "t") && is_in(first, "v"));
	if (family == INDEXER)
		return *first == '-' && strcmp(first, "-D") != 0;
	for (; family == CHANGER && *argv != NULL; argv++)
		if (strcmp(*argv, "-p") == 0)
			return 1;
	return 0;
}

/* What compilers make another name of is the tree's top, wherever that is. */
static int is_map(const struct memo_question *q, const char *word, const char *top)
{
	static const char *const maps[] = {
	    "-ffile-prefix-map=",  "-fdebug-prefix-map=",     "-fmacro-prefix-map=",
	    "--debug-prefix-map=", "-Wa,--debug-prefix-map=", NULL};
	const char *rest = top + q->tree.top;
	const char *equals =
	    memmem(q->tree.folder, q->tree.top, "=", 1); /* which of two ends it? */
	return equals == NULL && begins_as(word, maps) &&
	       strchr(word, '=') + 1 == strchr(word, '/') && strchr(word, '/') == top &&
	       (*rest == '=' || *rest == '/') && memo_top_in(&q->tree, rest, strlen(rest)) == NULL;
}

/* What compilers make of the name of a file, and not of its content; of a part of that, too.  For
 * Windows clang puts a sum of the source's name into those of anonymous namespaces. */
static int is_of_place(const char *word)
{
	/* clang-format off */
	static const char *const begun[] = {
	    "-funique-internal", "-fopenmp-targets", "-foffload", "--offload", "-fuse-cuid", "-cuid",
	    "-gno-as", "-finstrument-functions-exclude", "-fsanitize-ign", "-fsanitize-blacklist",
	    "-fsanitize-coverage-", "-fsanitize-system", "-fsanitize-undefined-strip", "-fxray-",
	    "-fsave-optimization", "-foptimization-record", "-fpseudo-probe", NULL};
	/* clang-format on */
	return begins_as(word, begun) || is_in(word, "hwaddress") || is_in(word, "-windows") ||
	       is_in(word, "-win32") || is_in(word, "-uefi");
}

/* Whether a map may be one of a folder above, whose names in this tree become others. */
static int is_other_map(const struct memo_question *q, const char *word)
{
	const char *old = strchr(word, '='), *end = old != NULL ? strchr(old + 1, '=') : NULL;
	if (!is_in(word, "prefix-map"))
		return 0;
	return !starts(word, "-f") || end == NULL || strchr(end + 1, '=') != NULL ||
	       strncmp(q->tree.folder, old + 1, (size_t)(end - old) - 1) == 0;
}

/* Whether a word names a folder above the tree, and not what else is in that: tools may ask whether
 * a name lies below. */
static int names_folder_above(const struct memo_question *q, const char *word)
{
	const char *folder = q->tree.folder;
	for (const char *at = strchr(word, '/'); at != NULL; at = strchr(at + 1, '/')) {
		size_t size = 0;
		while (size < q->tree.top && at[size] == folder[size])
			size++;
		size -= at[size - 1] == '/' && size > 1;
		/* strchr finds the end, too */
		if (size > 1 && size < q->tree.top && folder[size] == '/' &&
		    strchr("=:,;\"')", at[size + (at[size] == '/')]) != NULL)
			return 1;
	}
	return 0;
}

/* Whether a word is a path in the tree, by itself or behind an option. */
static int is_path(const struct memo_question *q, const char *word, const char *top)
{
	static const char *const options[] = {"",           "-I",       "-isystem", "-iquote",
	                                      "-idirafter", "-include", "-imacros", "-L",
	                                      "-o",         "-MF",      "-MT",      "-MQ"};
	const char *rest = top + q->tree.top;
	size_t i = 0;
	while (i < sizeof options / sizeof *options &&
	       (strlen(options[i]) != (size_t)(top - word) || !starts(word, options[i])))
		i++;
	if (i == sizeof options / sizeof *options || (*rest != '/' && *rest != '\0') ||
	    memo_top_in(&q->tree, rest, strlen(rest)) != NULL)
		return 0;
	while (*rest != '\0' && memo_is_plain(*rest))
		rest++;
	return *rest == '\0';
}

/* What names the tree has another name for it in the question of another. */
static void add_word(struct memo_question *q, struct sha256 *sum, const char *word, int is_output)
{
	const char *top = memo_top_in(&q->tree, word, strlen(word));
	int is_named = top != NULL && is_path(q, word, top);
	q->is_bound |= is_of_place(word) || names_folder_above(q, word);
	q->is_bound |= is_other_map(q, word) && !(top != NULL && is_map(q, word, top));
	if (top == NULL || !(is_named || is_map(q, word, top))) {
		q->is_bound |= top != NULL;
		add_text(sum, word);
		return;
	}
	q->is_mapped = 1;
	q->tree.is_in_words |= is_named;
	if (is_named && !is_output && q->tree.named_count < MEMO_NAMED_PATHS)
		q->tree.named[q->tree.named_count++] = top;
	else
		q->is_bound |= is_named && !is_output;
	add_text(sum, top + q->tree.top);
	add(sum, word, (size_t)(top - word));
	add_number(sum, 0);
}

/* What a word names is hashed here, so that two sources of one name are two questions. */
static enum memo_why add_named(struct memo_question *q, struct sha256 *sum, const char *word)
{
	struct stat info;
	uint32_t has;
	struct memo_named *named = &q->named[q->named_count];
	if (guarded(SYS_newfstatat, AT_FDCWD, word, &info, 0) != 0 || !S_ISREG(info.st_mode))
		return 0;
	if (q->named_count == MEMO_NAMED)
		return MEMO_WORDS;
	if (!memo_near_at(info.st_dev, word))
		return MEMO_DISTANT;
	named->path = word;
	named->mode = info.st_mode;
	memo_stamp_of(&info, &named->stamp);
	if (memo_content(&q->memo, word, &named->stamp, named->hash, &has) != 0)
		return MEMO_UNREADABLE;
	if (has & MEMO_HAS_CLOCK)
		return MEMO_CLOCK;
	q->is_bound |= (has & MEMO_HAS_TOP) != 0;
	add_word(q, sum, word, 0);
	add(sum, named->hash, sizeof named->hash);
	q->named_count++;
	return 0;
}

/* Behind these a compiler names what it makes: an older one that lies there is no input. */
static const char *const outputs[] = {"-o", "-MF", "-MT", "-MQ", NULL};

static int names_output(enum family family, const char *word)
{
	return family == READER && is_among(word, outputs);
}

static enum memo_why add_words(struct memo_question *q, struct sha256 *sum, enum family family)
{
	enum memo_why why = 0;
	size_t count = 0;
	if (is_dated(family, q->argv))
		return MEMO_WORDS;
	for (; q->argv[count] != NULL; count++) {
		const char *word = q->argv[count];
		if (count > 0 && is_unanswerable(word))
			return MEMO_WORDS;
		if (is_in(word, "__DATE__") || is_in(word, "__TIME__") ||
		    is_in(word, "__TIMESTAMP__"))
			return MEMO_CLOCK;
		int is_output = begins_as(word, outputs) ||
		                (count > 0 && is_among(q->argv[count - 1], outputs));
		add_word(q, sum, word, is_output);
	}
	add_number(sum, count);
	for (size_t i = 1; i < count && why == 0; i++)
		if (*q->argv[i] != '-' && !names_output(family, q->argv[i - 1]))
			why = add_named(q, sum, q->argv[i]);
	return why;
}

/* ------------------------------------------------------------------ what it inherits */

const char *memo_value(char *const *env, const char *name, size_t size)
{
	for (; *env != NULL; env++)
		if (strncmp(*env, name, size) == 0 && (*env)[size] == '=')
			return *env + size + 1;
	return NULL;
}

static const char *value_of(char *const *env, const char *name)
{
	return memo_value(env, name, strlen(name));
}

void memo_hash_value(const char *value, unsigned char hash[SHA256_SIZE])
{
	struct sha256 sum;
	sha256_begin(&sum);
	sha256_add(&sum, value, strlen(value));
	sha256_end(&sum, hash);
}

/* Whether a name is one of some, which may end in "*". */
static int is_named(const char *name, size_t size, const char *const *names)
{
	for (; *names != NULL; names++) {
		if (**names != *name)
			continue;
		size_t length = strlen(*names);
		int is_begun = (*names)[length - 1] == '*';
		if (is_begun ? size >= length - 1 && strncmp(name, *names, length - 1) == 0
		             : size == length && strncmp(name, *names, length) == 0)
			return 1;
	}
	return 0;
}

/* What smpmake, make and shells set anew for each command.  A gcc looks into MAKEFLAGS for make's
 * pipe, of which a result without -flto does not depend. */
static int is_passing(const char *name, size_t size)
{
	static const char *const names[] = {
	    OURS "*",    "SMPMAKE_*",     "MAKEFLAGS",    "MFLAGS",
	    "MAKELEVEL", "MAKEOVERRIDES", "MAKE_TERMOUT", "MAKE_TERMERR",
	    "_",         "SHLVL",         "OLDPWD",       "LD_PRELOAD",
	    NULL};
	return is_named(name, size, names);
}

/* Names that say where and by whom a build was started, and change from run to run.  They are only
 * left out of the question with all variables, of whose programs nobody knows what they ask for: no
 * compiler asks for these. */
static int is_of_session(const char *name, size_t size)
{
	/* clang-format off */
	static const char *const names[] = {
	    "SSH_*", "XDG_SESSION_*", "XDG_RUNTIME_DIR", "DBUS_*", "DISPLAY", "XAUTHORITY",
	    "WINDOWID", "TERM_SESSION_ID", "TMUX", "TMUX_PANE", "STY", "INVOCATION_ID",
	    "JOURNAL_STREAM", "SYSTEMD_*", "SESSION_MANAGER", "GITHUB_*", "RUNNER_*", "GITLAB_*",
	    "CI_*", "BUILDKITE_*", "JENKINS_*", "HOSTNAME", NULL};
	/* clang-format on */
	return is_named(name, size, names);
}

/* What is read without getenv(3), so that no guard hears of it: by the loader, by libc inside
 * (`objdump -d libc.so.6` shows its own calls of getenv), and by the runtimes of compilers that
 * were built with sanitizers.
 *
 * What compilers ask for is not here: CPATH, COMPILER_PATH, TERM and the like.  A program without
 * a guard may read them unseen, and then all variables belong to the question. */
static int is_read_unseen(const char *name, size_t size)
{
	/* clang-format off */
	static const char *const names[] = {
	    "LD_*", "GLIBC_TUNABLES", "MALLOC_*", "LC_*", "LANG", "LANGUAGE", "LOCPATH", "NLSPATH",
	    "OUTPUT_CHARSET", "TZ", "TMPDIR", "PATH", "PWD", "HOME", "POSIXLY_CORRECT", "IFS",
	    "MSGVERB", "SEV_LEVEL", "GETCONF_DIR", "GMON_*", "ARGP_HELP_FMT", "DATEMSK",
	    "ASAN_OPTIONS", "HWASAN_OPTIONS", "LSAN_OPTIONS", "MSAN_OPTIONS", "TSAN_OPTIONS",
	    "UBSAN_OPTIONS", NULL};
	/* clang-format on */
	return is_named(name, size, names);
}

int memo_is_no_fact(const char *name)
{
	size_t size = strlen(name);
	return is_passing(name, size) || is_read_unseen(name, size);
}

int memo_counts(const char *variable)
{
	size_t size = strcspn(variable, "=");
	return !is_passing(variable, size) && is_read_unseen(variable, size);
}

/* Of two of a name one program takes the first and another the last. */
static int is_repeated(char *const *env, const char *variable)
{
	size_t size = strcspn(variable, "=");
	for (; *env != variable; env++)
		if (**env == *variable && strncmp(*env, variable, size) == 0 &&
		    (*env)[size] == variable[size])
			return 1;
	return 0;
}

int memo_first_scope(const struct memo_question *q)
{
	return q->is_bound ? MEMO_ONLY_HERE : 0;
}

char *memo_put_mark(const struct memo_question *q, char *at)
{
	return put_hex(at, quick_sum(q->keys[memo_first_scope(q)], SHA256_SIZE));
}

/* Of PWD, and of a HOME that is in the tree (debhelper makes one), what is below the top; NULL of
 * any other.  A program that takes PWD for its folder asks whether it is that, and what one finds
 * in HOME is looked at again. */
static const char *below_top(const struct memo_question *q, const char *variable)
{
	const char *value = strchr(variable, '=');
	if (value == NULL || q->tree.top == 0 ||
	    (!starts(variable, "PWD=") && !starts(variable, "HOME=")) ||
	    strncmp(++value, q->tree.folder, q->tree.top) != 0)
		return NULL;
	const char *below = value + q->tree.top;
	return *below == '/' || *below == '\0' ? below : NULL;
}

static enum memo_why add_variables(struct memo_question *q, struct sha256 sums[MEMO_SCOPES])
{
	static const char *const refused[] = {"DEPENDENCIES_OUTPUT=",
	                                      "SUNPRO_DEPENDENCIES=",
	                                      "TZDIR=",
	                                      "LD_AUDIT=",
	                                      "LD_DEBUG",
	                                      "LD_PROFILE",
	                                      "LD_SHOW_AUXV",
	                                      "LD_TRACE",
	                                      "TZ=:",
	                                      "TZ=/",
	                                      "MALLOC_TRACE=",
	                                      "GCONV_PATH=",
	                                      "CC_PRINT_",
	                                      "CC_LOG_DIAGNOSTICS",
	                                      "CCC_OVERRIDE_OPTIONS=",
	                                      "CCC_ADD_ARGS=",
	                                      NULL};
	const char *preload = value_of(q->env, "LD_PRELOAD");
	const char *guard = value_of(q->env, OURS "GUARD");
	uint64_t total[MEMO_SCOPES][SHA256_SIZE / 8];
	uint64_t one[SHA256_SIZE / 8], known[SHA256_SIZE / 8];
	/* What else is preloaded may answer for the system: clocks, owners. */
	if (preload != NULL && *preload != '\0' && (guard == NULL || strcmp(preload, guard) != 0))
		return MEMO_ENVIRONMENT;
	memset(total, 0, sizeof total);
	/* Whatever their order is. */
	for (char *const *variable = q->env; *variable != NULL; variable++) {
		size_t size = strcspn(*variable, "=");
		if (begins_as(*variable, refused) || is_repeated(q->env, *variable))
			return MEMO_ENVIRONMENT;
		if (is_passing(*variable, size))
			continue;
		int is_unseen = is_read_unseen(*variable, size);
		const char *below = below_top(q, *variable);
		memo_hash_value(*variable, (unsigned char *)one);
		if (below != NULL) {
			struct sha256 sum;
			sha256_begin(&sum);
			sha256_add(&sum, *variable, size + 1);
			sha256_add(&sum, below, strlen(below));
			sha256_end(&sum, (unsigned char *)known);
		}
		/* It leads to files of this tree wherever the command is. */
		if (below == NULL && memo_top_in(&q->tree, *variable, strlen(*variable)) != NULL) {
			q->is_bound |= is_unseen;
			q->is_told = 1;
		}
		for (int scope = 0; scope < MEMO_SCOPES; scope++) {
			if (!(scope & MEMO_ALL_VARIABLES ? !is_of_session(*variable, size)
			                                 : is_unseen))
				continue;
			int is_known = below != NULL && !(scope & MEMO_ONLY_HERE);
			for (size_t i = 0; i < SHA256_SIZE / 8; i++)
				total[scope][i] += is_known ? known[i] : one[i];
		}
	}
	for (uint64_t scope = 0; scope < MEMO_SCOPES; scope++) {
		add_number(&sums[scope], scope);
		add(&sums[scope], total[scope], sizeof total[scope]);
	}
	return 0;
}

int memo_is_null(const struct stat *info)
{
	return S_ISCHR(info->st_mode) && info->st_rdev == NULL_DEVICE;
}

/* Whether 1 and 2 write to one place, each behind the other: -1 where that cannot be told. */
static int is_one_stream(const struct memo_question *q, const struct stat *out,
                         const struct stat *err)
{
	if (out->st_dev != err->st_dev || out->st_ino != err->st_ino)
		return 0;
	if (!S_ISREG(out->st_mode) || q->is_as_job)
		return 1;
	long self = kernel(SYS_getpid);
	if (kernel(SYS_kcmp, self, self, 0, 1, 2) == 0)
		return 1;
	return kernel(SYS_fcntl, 1, F_GETFL) & kernel(SYS_fcntl, 2, F_GETFL) & O_APPEND ? 1 : -1;
}

/* What a worker gives a job: nothing to read, a terminal where that is one, and files for all else
 * that it prints. */
static void stand_in(struct stat info[3])
{
	struct winsize size;
	info[0].st_mode = S_IFCHR;
	info[0].st_rdev = NULL_DEVICE;
	for (int fd = 1; fd < 3; fd++)
		if (!S_ISCHR(info[fd].st_mode) || memo_is_null(&info[fd]) ||
		    kernel(SYS_ioctl, fd, TIOCGWINSZ, &size) != 0)
			info[fd].st_mode = S_IFREG;
}

/* On a terminal messages have colours, and are cut: its size counts, and TERM does.  gcc asks
 * standard input how wide its texts may be. */
static enum memo_why add_streams(struct memo_question *q, const struct stat info[3],
                                 struct sha256 *sum)
{
	for (int fd = 0; fd < 3; fd++) {
		if (S_ISCHR(info[fd].st_mode) && !memo_is_null(&info[fd])) {
			struct winsize size = {0, 0, 0, 0};
			int is_terminal = kernel(SYS_ioctl, fd, TIOCGWINSZ, &size) == 0;
			if (fd > 0 && !is_terminal)
				return MEMO_TERMINAL;
			if (q->is_as_job) /* of that only rows and columns are told */
				size.ws_xpixel = size.ws_ypixel = 0;
			if (fd > 0) {
				q->terminals |= 1 << fd;
				q->size = size;
			}
			add(sum, &size, sizeof size);
		}
		if (fd > 0 && memo_is_deserted(fd))
			return MEMO_STREAMS;
		add_number(sum, memo_is_null(&info[fd]) ? 0 : info[fd].st_mode & S_IFMT);
	}
	int one = is_one_stream(q, &info[1], &info[2]);
	if (one < 0)
		return MEMO_STREAMS;
	if (q->terminals == (1 << 1 | 1 << 2) && !one)
		return MEMO_TERMINAL;
	q->one_stream = one;
	add_number(sum, (uint64_t)one);
	return 0;
}

/* Another tree has the same below its top; who is given another name for it in PWD has that in the
 * question. */
static void add_folder(const struct memo_question *q, struct sha256 sums[MEMO_SCOPES])
{
	for (int scope = 0; scope < MEMO_SCOPES; scope++) {
		const char *folder = q->tree.folder;
		if (scope & MEMO_ONLY_HERE) {
			add_number(&sums[scope], q->is_mapped ? q->tree.top : 0);
			add_text(&sums[scope], folder);
		} else {
			add_text(&sums[scope], folder + q->tree.top);
		}
	}
}

/* What runs a check ahead of its script has other rights than that, in a namespace of its own: it
 * tells what the script's are. */
static void add_surroundings(const struct memo_question *q, struct sha256 *sum)
{
	const char *told = value_of(q->env, OURS "INHERITED");
	struct inherited inherited;
	long mask = kernel(SYS_umask, 077);
	kernel(SYS_umask, mask);
	add_number(sum, (uint64_t)mask);
	for (long which = 0; which < LIMITS; which++) {
		struct rlimit limit = {0, 0};
		kernel(SYS_prlimit64, 0, which, NULL, &limit);
		add_number(sum, limit.rlim_cur);
		add_number(sum, limit.rlim_max);
	}
	look_at_inherited(-1, &inherited);
	add_number(sum, told != NULL ? strtoul(told, NULL, 10) : inherited.number);
	add_number(sum, inherited.ignored);
	add_number(sum, inherited.blocked);
}

/* It would be that of the files in which its output is caught, too. */
static int has_limit(void)
{
	struct rlimit limit = {0, 0};
	kernel(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit);
	return limit.rlim_cur != RLIM_INFINITY;
}

/* ------------------------------------------------------------------ all of it */

enum memo_why memo_ask(struct memo_question *q, const char *program, char *const *argv,
                       char *const *env)
{
	struct sha256 sum, sums[MEMO_SCOPES];
	struct stat streams[3];
	enum family family = NO_FAMILY;
	q->program = program;
	q->argv = argv;
	q->env = env;
	q->named_count = 0;
	q->terminals = 0;
	q->memo.tree = &q->tree;
	q->is_mapped = q->is_told = 0;
	if (memo_find_tree(&q->tree, value_of(env, OURS "TREE")) != 0)
		return MEMO_UNREADABLE;
	q->is_bound = q->tree.top == 0;
	sha256_begin(&sum);
	add_number(&sum, MEMO_FORMAT);
	add(&sum, q->memo.build, q->memo.build_size);
	/* Of a closed one a file of ours would take the number, and what the command prints. */
	for (int fd = 0; fd < 3; fd++)
		if (kernel(SYS_fstat, fd, &streams[fd]) != 0)
			return MEMO_STREAMS;
	if (q->is_as_job)
		stand_in(streams);
	enum memo_why why = add_program(q, &sum, &family);
	q->is_changer = family != READER;
	/* One that writes no times says that it ignores `u`, and compares all the same. */
	q->is_update =
	    family == ARCHIVER && argv[0] != NULL && argv[1] != NULL && is_in(argv[1], "u");
	if (why == 0)
		why = add_words(q, &sum, family);
	if (why == 0)
		why = add_streams(q, streams, &sum);
	if (why == 0 && has_limit())
		why = MEMO_LIMIT;
	if (why == 0)
		add_surroundings(q, &sum);
	for (int scope = 0; scope < MEMO_SCOPES; scope++)
		sums[scope] = sum;
	add_folder(q, sums);
	if (why == 0)
		why = add_variables(q, sums);
	for (int scope = 0; scope < MEMO_SCOPES; scope++)
		sha256_end(&sums[scope], q->keys[scope]);
	return why;
}
