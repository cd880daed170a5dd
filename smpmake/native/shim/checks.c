#include "checks.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/sum.h"
#include "base/util.h"
#include "layout/checks.h"
#include "unasked.h"

#define LOOK_MS 100
#define MOST_LOOKS 100

/* "It was created by GNU coreutils configure 9.1, which was": the package, without its version. */
static size_t find_package(char *text, size_t size, const char **name)
{
	static const char before[] = "It was created by ", behind[] = " configure ";
	text[size] = '\0';
	char *at = memmem(text, size, before, sizeof before - 1);
	char *line = at != NULL ? strchrnul(at, '\n') : NULL;
	if (line == NULL || *line == '\0')
		return 0;
	at += sizeof before - 1;
	char *end = memmem(at, (size_t)(line - at), behind, sizeof behind - 1);
	*name = at;
	return end != NULL ? (size_t)(end - at) : 0;
}

/* A file of the folder in which the script works; -1 where it is larger or none. */
static long read_here(const char *name, char *room, size_t most)
{
	struct stat info;
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	long size = -1;
	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
	    (uint64_t)info.st_size <= most && read_all(fd, room, (size_t)info.st_size) == 0)
		size = info.st_size;
	if (fd >= 0)
		close(fd);
	return size;
}

static int find_script(struct script *script, const struct memo_question *q, const char *session)
{
	char head[1024];
	struct stat info;
	const char *name = NULL;
	int log = open("config.log", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = log >= 0 && fstat(log, &info) == 0 && S_ISREG(info.st_mode)
	                  ? read(log, head, sizeof head - 1)
	                  : -1;
	if (log >= 0)
		close(log);
	size_t size = got > 0 ? find_package(head, (size_t)got, &name) : 0;
	if (size == 0 || strlen(session) + 80 > PATH_MAX)
		return -1;
	const char *folder = q->tree.folder;
	char *at =
	    put_hex(stpcpy(stpcpy(script->list, session), "/checks-"), quick_sum(name, size));
	put_hex(stpcpy(at, "-"), quick_sum(folder, strlen(folder)));
	at = stpcpy(stpcpy(script->known, q->memo.folder), "/s/checks-");
	put_hex(at, quick_sum(name, size));
	put_hex(stpcpy(stpcpy(script->turn, session), "/ahead-"),
	        quick_sum(folder, strlen(folder)));
	return 0;
}

/* A linker's word behind a comma may be any. */
static int is_more_of_linker(const char *word)
{
	static const char path[] = "-Wl,-rpath";
	return strncmp(word, path, sizeof path - 1) == 0 &&
	       strchr(word + sizeof path - (word[sizeof path - 1] == '\0'), ',') != NULL;
}

/* Whether a command may write elsewhere than into the folder where it works, as far as its words
 * tell: they name another folder, and not for what is to be read there. */
static int writes_elsewhere(char *const *argv)
{
	static const char *const readers[] = {
	    "-I", "-L", "-D", "-U", "-isystem", "-iquote", "-idirafter", "-Wl,-rpath", NULL};
	static const char *const alone[] = {"-I", "-L", "-isystem", "-iquote", "-idirafter", NULL};
	for (size_t i = 1; argv[i] != NULL; i++)
		if (is_more_of_linker(argv[i]) ||
		    (strchr(argv[i], '/') != NULL && !begins_as(argv[i], readers) &&
		     !is_among(argv[i - 1], alone)))
			return 1;
	return 0;
}

/* Which word is the only file that the command names, and a check's source; 0: none. */
static uint32_t find_source(const struct memo_question *q)
{
	const char *name = q->named_count == 1 ? q->named[0].path : "";
	uint32_t i = 1;
	if (strncmp(name, "conftest", 8) != 0 || strchr(name, '/') != NULL ||
	    strchr(name, '.') == NULL || writes_elsewhere(q->argv))
		return 0;
	while (q->argv[i] != name)
		i++;
	return i;
}

static uint32_t streams_of(const struct memo_question *q)
{
	uint32_t flags = q->one_stream ? CHECK_IS_ONE_STREAM : 0;
	for (int fd = 0; fd < 3; fd++) {
		struct stat info;
		memset(&info, 0, sizeof info);
		fstat(fd, &info);
		int is_null = memo_is_null(&info);
		if (fd == 0 ? !is_null : !is_null && !S_ISREG(info.st_mode))
			return UINT32_MAX;
		if (is_null && fd > 0)
			flags |= fd == 1 ? CHECK_OUT_IS_NULL : CHECK_ERR_IS_NULL;
	}
	return flags;
}

static char *put_words(char *at, const char *end, const struct memo_question *q)
{
	const char *word = q->program;
	for (size_t i = 0; word != NULL; word = q->argv[i++]) {
		size_t size = strlen(word) + 1;
		if (size > (size_t)(end - at))
			return NULL;
		memcpy(at, word, size);
		at += size;
	}
	return at;
}

void list_check(struct script *script, const struct memo_question *q, const struct context *s,
                const char *session)
{
	static char defined[CHECKS_LARGEST], source[CHECKS_LARGEST];
	static char room[sizeof(struct check) + 3 * CHECKS_LARGEST];
	struct checks_head head = {.magic = 0};
	struct stat info;
	if (s->ahead == NULL || !s->has_guard)
		return;
	long known = find_script(script, q, session) == 0
	                 ? read_here("confdefs.h", defined, sizeof defined)
	                 : -1;
	if (known < 0)
		return;
	int fd = (int)kernel(SYS_openat, AT_FDCWD, script->list,
	                     O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || fstat(fd, &info) != 0)
		return;
	kernel(SYS_pread64, fd, &head, sizeof head, 0);
	/* The script begins once more. */
	if (head.magic != CHECKS_MAGIC || head.known > (uint64_t)known) {
		kernel(SYS_ftruncate, fd, 0);
		info.st_size = sizeof head;
		head = (struct checks_head){.magic = CHECKS_MAGIC};
	}
	struct check *check = (void *)room;
	memset(check, 0, sizeof *check);
	check->flags = streams_of(q);
	check->source = check->flags != UINT32_MAX ? find_source(q) : 0;
	long size =
	    check->source != 0 ? read_here(q->argv[check->source], source, sizeof source) : 0;
	char *at = put_words((char *)(check + 1), room + CHECKS_LARGEST, q);
	if (size >= 0 && at != NULL) {
		const char *body = source;
		check->words = (uint32_t)(at - (char *)(check + 1));
		check->added = (uint32_t)known - head.known;
		memcpy(at, defined + head.known, check->added);
		at += check->added;
		if (check->source != 0 && size >= known &&
		    memcmp(source, defined, (size_t)known) == 0) {
			check->flags |= CHECK_IS_PREFIXED;
			body += known;
			size -= known;
		}
		memcpy(at, body, (size_t)size);
		check->body = (uint32_t)size;
		at += size;
		while ((at - room) % 8 != 0)
			*at++ = '\0';
		check->size = (uint32_t)(at - room);
		head.known = (uint32_t)known;
		kernel(SYS_pwrite64, fd, &head, sizeof head, 0);
		script->is_listed =
		    kernel(SYS_pwrite64, fd, room, check->size, info.st_size) == check->size;
	}
	close(fd);
}

/* Nobody's child, as a daemon is: the tool that we become is not to find one that it has not made.
 */
static void begin_ahead(const struct script *script, const struct context *s, const char *session)
{
	char number[24], slots[24];
	const char *program = strchr(s->ahead, ':');
	size_t size = program != NULL ? (size_t)(program++ - s->ahead) : sizeof slots;
	if (size >= sizeof slots)
		return;
	memcpy(slots, s->ahead, size);
	slots[size] = '\0';
	char *words[] = {(char *)(uintptr_t)program,
	                 (char *)(uintptr_t)script->known,
	                 (char *)(uintptr_t)script->list,
	                 (char *)(uintptr_t)script->turn,
	                 (char *)(uintptr_t)session,
	                 s->memo,
	                 (char *)(uintptr_t)s->memo_program,
	                 slots,
	                 number,
	                 NULL};
	long child = kernel(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0);
	if (child == 0) {
		*put_number(number, number + sizeof number - 1, (unsigned long)kernel(SYS_getpid)) =
		    '\0';
		if (kernel(SYS_clone, 17, 0, 0, 0, 0) == 0)
			execve(program, words, s->env);
		kernel(SYS_exit_group, 0);
	}
	if (child > 0)
		kernel(SYS_wait4, child, NULL, 0, NULL);
}

/* Whether more runs than there are CPUs: then a process that takes what others leave may not end.
 */
static int is_busy(const struct context *s)
{
	long running = count_running();
	return running < 0 || (unsigned long)running > strtoul(s->ahead, NULL, 10) + 1;
}

static int runs(uint32_t process, const char *program)
{
	char link[40] = "/proc/", path[PATH_MAX];
	char *at = put_number(link + 6, link + sizeof link - 5, process);
	strcpy(at, "/exe");
	ssize_t size = kernel(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
	path[size > 0 ? size : 0] = '\0';
	return strcmp(path, program) == 0;
}

/* Waits for the process whose number a mark holds; 0 where there is none. */
static int wait_for(const char *mark, const struct context *s)
{
	uint32_t process = 0;
	int fd = open(mark, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, &process, sizeof process) : -1;
	if (fd >= 0)
		close(fd);
	if (got != (ssize_t)sizeof process || process == 0)
		return 0;
	struct pollfd end = {.fd = (int)kernel(SYS_pidfd_open, process, 0), .events = POLLIN};
	if (end.fd >= 0 && !runs(process, s->memo_program)) { /* its number is another's */
		close(end.fd);
		return 0;
	}
	struct timespec look = {0, LOOK_MS * 1000000};
	long ended = end.fd < 0;
	for (int i = 0; i < MOST_LOOKS && ended == 0 && (i == 0 || !is_busy(s)); i++)
		ended = kernel(SYS_ppoll, &end, 1, &look, NULL, 0);
	if (ended == 0) /* we do its work */
		kernel(SYS_pidfd_send_signal, end.fd, 15 /* SIGTERM */, NULL, 0);
	if (end.fd >= 0)
		close(end.fd);
	return 1;
}

static void put_mark(char mark[PATH_MAX], const struct memo_question *q, const char *session)
{
	memo_put_mark(q, stpcpy(stpcpy(mark, session), "/ahead/"));
}

int was_run_ahead(const struct script *script, const struct memo_question *q, const char *session)
{
	char mark[PATH_MAX];
	if (!script->is_listed)
		return 0;
	put_mark(mark, q, session);
	strcpy(mark + strlen(mark), "+");
	return access(mark, F_OK) == 0;
}

int is_run_ahead(const struct script *script, const struct memo_question *q,
                 const struct context *s, const char *session)
{
	char mark[PATH_MAX];
	if (!script->is_listed)
		return 0;
	put_mark(mark, q, session);
	return wait_for(mark, s);
}

void run_next_ahead(const struct script *script, const struct context *s, const char *session)
{
	struct stat info;
	if (!script->is_listed)
		return;
	int fd = open(script->turn, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd >= 0) { /* it is at work, and has missed one */
		(void)!write(fd, "\n", 1);
		close(fd);
		return;
	}
	if (stat(script->known, &info) != 0 && getenv(OURS "READER") == NULL)
		return;
	fd = (int)kernel(SYS_openat, AT_FDCWD, script->turn,
	                 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	close(fd);
	begin_ahead(script, s, session);
}
