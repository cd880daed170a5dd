/* smpmake-ahead KNOWN LIST TURN SESSION TOLD MEMORUN CPUS CALLER: runs the checks of a configure
 * script before their turn.
 *
 * KNOWN is the list of an earlier run; where there is none the script's text is read, and the list
 * is what is foretold by that (smpmake.configure).  LIST is that of this run, to which the
 * script's shims add each check when it comes.  A check is a compile of a text, which is confdefs
 * and a body.  The bodies are the earlier run's; confdefs is what it is now, and what the earlier
 * run added since then. smpmake-memo runs each in a folder of its own, which stands in the place of
 * the script's in a namespace of its own, and remembers the result.  The script's shim finds it
 * there if it asks the same, and if all that the compile looked at is so in the script's folder.  A
 * wrong guess costs time of an idle CPU.
 *
 * As many run at once as there are CPUs.  It ends with the build, with its list, or if the script
 * asks nothing for long.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/inherited.h"
#include "base/kernel.h"
#include "base/sum.h"
#include "base/util.h"
#include "layout/board.h"
#include "layout/checks.h"
#include "words.h"

#define MOST_RUNNING 16
#define LEAD 48         /* checks: behind a wrong guess all are for nothing */
#define FORETOLD_LEAD 2 /* for each that runs */
#define NEARBY 64       /* checks that another version of a package may have left out */
#define SILENCE_MS 10000
#define LOOK_MS 50
#define PATIENCE 100 /* looks until who does not end is killed: others may have the CPUs */
#define FEWEST_PROCESSES 1024
#define FEWEST_MISSES 16 /* until it is in vain */
#define FORETOLD_MISSES 48
#define READER_SECONDS 10 /* of CPU time; the longest scripts take two */
#define READER_MEMORY (512u << 20)
#define READER_LIST (64u << 20)

/* Of these it hears: a child's end, and that it is to end. */
static const int heard[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};

struct known {
	const struct check *check;
	struct words words;
	uint64_t body;  /* its sum */
	uint64_t asked; /* that of what was run ahead, 0: nothing */
};

struct running {
	pid_t process;
	char folder[PATH_MAX + 64];
};

static struct {
	struct known *checks;
	size_t room, count, next;     /* the check that the script asks next, as far as known */
	char defined[CHECKS_LARGEST]; /* confdefs */
	size_t defined_size;
	off_t read, heard; /* bytes of what is known, and of LIST */
	size_t came;       /* checks that were in it */
	/* Of these it was not known yet what comes; and how many misses are needed to give up. */
	size_t came_before, missed_before, fewest_missed;
	pid_t reader; /* that foretells what comes; 0: none does any more */
	struct running running[MOST_RUNNING];
	size_t cpus, slots, lead;
	char cwd[PATH_MAX];
	const char *session, *told, *memo;
	char self[24];
	sigset_t mask; /* as the shim has handed them on, and what it has ignored */
	struct sigaction before[sizeof heard / sizeof *heard];
} script;

static const char *words_of(const struct check *check)
{
	return (const char *)(check + 1);
}

static const char *added_of(const struct check *check)
{
	return words_of(check) + check->words;
}

static const char *body_of(const struct check *check)
{
	return added_of(check) + check->added;
}

/* A check in a list, or NULL where there is none, or not all of it. */
static const struct check *check_at(const char *data, size_t size)
{
	const struct check *check = (const void *)data;
	if (size < sizeof *check || check->size > size || check->size % 8 != 0 ||
	    check->words > check->size || check->added > check->size || check->body > check->size ||
	    sizeof *check + (uint64_t)check->words + check->added + check->body > check->size ||
	    check->words == 0 || words_of(check)[check->words - 1] != '\0')
		return NULL;
	return check;
}

/* What a file has from a place on; NULL where it is none of ours. */
static char *read_from(const char *path, off_t from, size_t *size)
{
	struct stat info;
	char *data = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
	    info.st_size >= from) {
		*size = (size_t)(info.st_size - from);
		data = must_alloc(*size + 8);
		if (lseek(fd, from, SEEK_SET) != from || read_all(fd, data, *size) != 0)
			data = NULL;
	}
	if (fd >= 0)
		close(fd);
	return data;
}

/* Reads what the list has now and had not before. */
static int read_known(const char *path)
{
	size_t size = 0, at = 0;
	struct checks_head head;
	const char *data = read_from(path, script.read, &size); /* it stays */
	if (data == NULL)
		return -1;
	if (script.read == 0) {
		if (size < sizeof head)
			return -1;
		memcpy(&head, data, sizeof head);
		if (head.magic != CHECKS_MAGIC)
			return -1;
		at = sizeof head;
	}
	const struct check *check;
	for (; (check = check_at(data + at, size - at)) != NULL; at += check->size) {
		if (script.count == script.room) {
			script.room = script.room * 2 + 256;
			script.checks = realloc(script.checks, script.room * sizeof *script.checks);
			if (script.checks == NULL)
				return -1;
		}
		struct known *known = &script.checks[script.count++];
		*known = (struct known){.check = check};
		known->body = quick_sum(body_of(check), check->body);
		if (split_words(&known->words, words_of(check), check->words, check->source) != 0)
			return -1;
	}
	script.read += (off_t)at;
	return 0;
}

static uint64_t sum_of(char *const *words)
{
	uint64_t sum = 0;
	for (; *words != NULL; words++)
		sum = sum * 31 + quick_sum(*words, strlen(*words));
	return sum;
}

/* ------------------------------------------------------------------ what the script asks */

/* Whether a check asks the same text as one that is known: 2 with the words that are expected now,
 * 1 with others, 0 not. */
static int is_alike(uint64_t body, const struct words *words, const struct known *known)
{
	if (known->body != body || known->check->source == 0)
		return 0;
	struct words expected = words_now(&known->words);
	int is_same = are_same_words(words, &expected);
	free(expected.all);
	return 1 + is_same;
}

/* Which of the known checks has come: one of the next, or of those that were passed by for one with
 * the same text; `count` where it is none of these. */
static size_t place_of(const struct check *check, const struct words *words, int *is_expected)
{
	const uint64_t body = quick_sum(body_of(check), check->body);
	const size_t none = script.count, next = script.next;
	const size_t end = none - next < NEARBY ? none : next + NEARBY;
	const size_t begin = next < NEARBY ? 0 : next - NEARBY;
	size_t alike = none;
	*is_expected = 1;
	for (size_t i = next; i < end; i++) {
		int how = is_alike(body, words, &script.checks[i]);
		if (how == 2)
			return i;
		alike = how == 1 && alike == none ? i : alike;
	}
	*is_expected = 0;
	for (size_t i = next; i > begin && alike == none; i--)
		if (is_alike(body, words, &script.checks[i - 1]))
			alike = i - 1;
	return alike;
}

static void hear(const struct check *check)
{
	int is_expected;
	if (check->added > sizeof script.defined - script.defined_size)
		return;
	memcpy(script.defined + script.defined_size, added_of(check), check->added);
	script.defined_size += check->added;
	struct words words; /* they stay: a change may be learned of them */
	if (check->source == 0 ||
	    split_words(&words, words_of(check), check->words, check->source) != 0)
		return;
	size_t place = place_of(check, &words, &is_expected);
	if (place == script.count)
		return;
	script.next = place + 1;
	if (!is_expected)
		learn_change(&script.checks[place].words, &words);
}

/* Reads what was added to LIST; returns whether anything was, -1 where it is gone or begins anew.
 */
static int hear_all(const char *list)
{
	static char room[sizeof(struct check) + 3 * CHECKS_LARGEST];
	const struct check *check;
	int found = 0;
	struct stat info;
	int fd = open(list, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	int is_other = fstat(fd, &info) != 0 || info.st_size < script.heard;
	while (!is_other) {
		ssize_t got = pread(fd, room, sizeof room, script.heard);
		check = got > 0 ? check_at(room, (size_t)got) : NULL;
		if (check == NULL)
			break;
		hear(check);
		script.heard += check->size;
		script.came++;
		found = 1;
	}
	close(fd);
	return is_other ? -1 : found;
}

/* ------------------------------------------------------------------ one check */

static int put_file(const char *path, const char *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return -1;
	int failed = write_all(fd, data, size);
	close(fd);
	return failed;
}

static void tell(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, text, strlen(text));
		close(fd);
	}
}

/* The folder stands where the script's does, for us and what we start. */
static int take_the_place(const char *folder)
{
	char map[64];
	unsigned uid = geteuid(), gid = getegid();
	if (unshare(CLONE_NEWNS) != 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
			return -1;
		snprintf(map, sizeof map, "%u %u 1", uid, uid);
		tell("/proc/self/setgroups", "deny");
		tell("/proc/self/uid_map", map);
		snprintf(map, sizeof map, "%u %u 1", gid, gid);
		tell("/proc/self/gid_map", map);
	}
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	               mount(folder, script.cwd, NULL, MS_BIND | MS_REC, NULL) != 0 ||
	               chdir(script.cwd) != 0
	           ? -1
		   : 0;
}

static int output(int is_null)
{
	return is_null ? open("/dev/null", O_WRONLY) : memfd_create("output", 0);
}

static _Noreturn void run(const struct check *check, const char *folder, char **words)
{
	int out = output(check->flags & CHECK_OUT_IS_NULL);
	int err =
	    check->flags & CHECK_IS_ONE_STREAM ? out : output(check->flags & CHECK_ERR_IS_NULL);
	size_t count = 0;
	while (words[count] != NULL)
		count++;
	char **all = must_alloc((count + 6) * sizeof *all);
	const char *const before[] = {words[1], script.told, script.session, "0"};
	memcpy(all, before, sizeof before);
	memcpy(all + 4, words, (count + 1) * sizeof *all);
	if (out < 0 || err < 0 || take_the_place(folder) != 0)
		_exit(STATUS_CANNOT_RUN);
	dup2(out, 1);
	dup2(err, 2);
	syscall(SYS_close_range, 3, ~0u, 0);
	for (size_t i = 0; i < sizeof heard / sizeof *heard; i++)
		sigaction(heard[i], &script.before[i], NULL);
	sigprocmask(SIG_SETMASK, &script.mask, NULL);
	execve(script.memo, all, environ);
	_exit(STATUS_CANNOT_RUN);
}

static void empty(const char *folder)
{
	chmod(folder, 0700); /* it may have had the script's mode */
	DIR *listing = opendir(folder);
	const struct dirent *entry;
	while (listing != NULL && (entry = readdir(listing)) != NULL)
		unlinkat(dirfd(listing), entry->d_name,
		         0); /* folders stay: they are nobody's harm */
	if (listing != NULL)
		closedir(listing);
}

static void begin(struct running *place, const struct check *check, char **words,
                  const char *source, const char *text, size_t size)
{
	char path[PATH_MAX + 64 + NAME_MAX];
	struct stat here;
	/* A folder like the script's, with nothing in it but the source. */
	if (stat(script.cwd, &here) != 0)
		return;
	mkdir(place->folder, 0700);
	empty(place->folder);
	if (chmod(place->folder, here.st_mode & 07777) != 0 ||
	    snprintf(path, sizeof path, "%s/%s", place->folder, source) >= (int)sizeof path ||
	    strchr(source, '/') != NULL || put_file(path, text, size) != 0)
		return;
	const pid_t self = getpid();
	place->process = fork();
	if (place->process == 0) {
		/* A group of its own, so that its parts end with it. */
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self)
			_exit(0);
		run(check, place->folder, words);
	}
	if (place->process > 0)
		setpgid(place->process, place->process);
	else
		place->process = 0;
}

/* ------------------------------------------------------------------ all of them */

static void read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
	text[got > 0 ? got : 0] = '\0';
	if (fd >= 0)
		close(fd);
}

static unsigned long number_behind(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	return at != NULL ? strtoul(at + strlen(name), NULL, 10) : 0;
}

/* Whether a CPU has nothing to do, and a twentieth of the memory is free.  What runs now is
 * counted, and we are. */
static int is_idle(size_t running)
{
	char text[512];
	read_text("/proc/meminfo", text, sizeof text);
	if (number_behind(text, "MemAvailable:") < number_behind(text, "MemTotal:") / 20)
		return 0;
	return count_running() - 1 <= (long)(script.cpus > running ? script.cpus : running);
}

/* Runs a check with this text, unless it was; -1 where no CPU is idle. */
static int run_one(struct known *known, const char *text, size_t size, size_t *running)
{
	struct running *place = script.running;
	struct words words = words_now(&known->words);
	uint64_t sum = (quick_sum(text, size) ^ sum_of(words.all)) | 1;
	int is_new = known->asked != sum, may_begin = is_new && is_idle(*running);
	while (place->process != 0)
		place++;
	if (may_begin) {
		known->asked = sum;
		begin(place, known->check, words.all, words.all[words.source], text, size);
		*running += place->process != 0;
	}
	free(words.all);
	return is_new && !may_begin ? -1 : 0;
}

static void run_some(void)
{
	static char text[2 * CHECKS_LARGEST];
	size_t size = script.defined_size, running = 0;
	memcpy(text, script.defined, size);
	for (size_t i = 0; i < script.slots; i++)
		running += script.running[i].process != 0;
	for (size_t i = script.next;
	     running < script.slots && i < script.count && i < script.next + script.lead; i++) {
		struct known *known = &script.checks[i];
		const struct check *check = known->check;
		if (size + check->added > CHECKS_LARGEST || check->body > CHECKS_LARGEST)
			return;
		memcpy(text + size, added_of(check), check->added);
		size += check->added;
		if (check->source == 0)
			continue;
		int is_prefixed = (check->flags & CHECK_IS_PREFIXED) != 0;
		size_t all = is_prefixed ? size + check->body : check->body;
		const char *whole = is_prefixed ? text : body_of(check);
		if (is_prefixed)
			memcpy(text + size, body_of(check), check->body);
		if (run_one(known, whole, all, &running) != 0)
			return;
	}
}

static size_t reap(void)
{
	size_t running = 0;
	int status;
	for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
		if (ended == script.reader)
			script.reader = 0;
		for (size_t i = 0; i < script.slots; i++)
			if (script.running[i].process == ended) {
				script.running[i].process = 0;
				/* Nobody may have a place of his own here. */
				if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_CANNOT_RUN)
					script.next = script.count;
			}
	}
	for (size_t i = 0; i < script.slots; i++)
		running += script.running[i].process != 0;
	return running;
}

static volatile sig_atomic_t is_to_end;

static void wake(int number)
{
	is_to_end |= number != SIGCHLD;
}

/* Who is told to end removes its temporary files. */
static void end_all(void)
{
	struct timespec moment = {0, LOOK_MS * 1000000};
	if (script.reader > 0)
		kill(script.reader, SIGKILL);
	for (int i = 0; i < PATIENCE && reap() > 0; i++) {
		for (size_t k = 0; k < script.slots; k++)
			if (script.running[k].process != 0)
				kill(-script.running[k].process, SIGTERM);
		ppoll(NULL, 0, &moment, &script.mask);
	}
	for (size_t k = 0; k < script.slots; k++)
		if (script.running[k].process != 0)
			kill(-script.running[k].process, SIGKILL);
}

/* A guard tells what its process looks at.  It is not to ask the session, nor to write down for it
 * what these commands change: their session is this folder, in which nothing is pending. */
static int stand_alone(const char *folder, const char *inherited)
{
	static const char *const kept[] = {
	    OURS "TREE=", OURS "GUARD=", OURS "SHIMS=", OURS "BUILD=", OURS "COMMAND=", NULL};
	static const struct {
		uint64_t pending;
		uint32_t magic, version;
	} head = {0, BOARD_MAGIC, BOARD_VERSION};
	char path[PATH_MAX + 16];
	for (char **variable = environ; *variable != NULL;) {
		char *name = strndup(*variable, strcspn(*variable, "="));
		if (strncmp(name, OURS, sizeof OURS - 1) == 0 && !begins_as(*variable, kept))
			unsetenv(name);
		else
			variable++;
		free(name);
	}
	snprintf(path, sizeof path, "%s/socket", folder);
	setenv(OURS "SOCKET", path, 1);
	snprintf(path, sizeof path, "%s/board", folder);
	setenv(OURS "BOARD", path, 1);
	setenv(OURS "MARKS", folder, 1);
	setenv(OURS "INHERITED", inherited, 1);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int failed = fd < 0 || ftruncate(fd, sizeof(struct board)) != 0 ||
	             pwrite(fd, &head, sizeof head, 0) != sizeof head;
	close(fd);
	return failed ? -1 : 0;
}

/* Whether a compiler's part that is found by PATH is a script, or could be told to be another: one
 * that does something besides would do it once more. */
static int has_odd_parts(void)
{
	static const char *const parts[] = {COMPILERS_PARTS, NULL};
	const char *at = getenv("PATH"), *shims = getenv(OURS "SHIMS");
	char path[PATH_MAX], begin[4];
	if (at == NULL || getenv("COMPILER_PATH") != NULL || getenv("GCC_EXEC_PREFIX") != NULL)
		return 1;
	for (size_t size; *at != '\0'; at += size + (at[size] == ':')) {
		size = strcspn(at, ":");
		if (shims != NULL && strncmp(at, shims, size) == 0 && shims[size] == '\0')
			continue;
		if (*at != '/')
			return 1;
		for (size_t i = 0; parts[i] != NULL; i++) {
			int fd = snprintf(path, sizeof path, "%.*s/%s", (int)size, at, parts[i]) <
			                 (int)sizeof path
			             ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
			             : -1;
			ssize_t got = fd >= 0 ? read(fd, begin, sizeof begin) : 0;
			if (fd >= 0)
				close(fd);
			if (got != 0 && !is_elf(begin, got > 0 ? (size_t)got : 0))
				return 1;
		}
	}
	return 0;
}

/* These come while it waits. */
static void hear_signals(void)
{
	struct sigaction action = {.sa_handler = wake};
	sigset_t these;
	sigemptyset(&these);
	for (size_t i = 0; i < sizeof heard / sizeof *heard; i++)
		sigaddset(&these, heard[i]);
	sigprocmask(SIG_BLOCK, &these, &script.mask);
	for (size_t i = 0; i < sizeof heard / sizeof *heard; i++)
		sigaction(heard[i], &action, &script.before[i]);
}

/* Checks that had no answer: shims add a byte to TURN for each of these. */
static size_t count_missed(const char *turn)
{
	struct stat info;
	return stat(turn, &info) == 0 ? (size_t)info.st_size - strlen(script.self) : 0;
}

static void begin_to_count(const char *turn)
{
	script.missed_before = count_missed(turn);
	script.came_before = script.came;
}

/* Whether most checks that came had no answer. */
static int is_in_vain(const char *turn)
{
	size_t missed = count_missed(turn) - script.missed_before;
	return missed > script.fewest_missed && missed > (script.came - script.came_before) / 4 * 3;
}

static void limit(int which, rlim_t most)
{
	struct rlimit limit;
	if (kernel(SYS_prlimit64, 0, which, NULL, &limit) == 0 && limit.rlim_cur > most) {
		limit.rlim_cur = most;
		kernel(SYS_prlimit64, 0, which, &limit, NULL);
	}
}

/* Has the script's text read: what it is going to ask comes into a list, bit by bit. */
static int begin_foretelling(const char *reader, const char *path)
{
	const struct sched_param none = {.sched_priority = 0};
	char program[PATH_MAX];
	char *words[] = {(char *)(uintptr_t)reader,
	                 (char *)(uintptr_t)"-IB",
	                 program,
	                 script.cwd,
	                 (char *)(uintptr_t)path,
	                 NULL};
	snprintf(program, sizeof program, "%s/" READER_FILE, script.session);
	/* Guesses of guesses are seldom right. */
	script.lead = FORETOLD_LEAD * script.slots;
	script.fewest_missed = FORETOLD_MISSES;
	script.reader = fork();
	if (script.reader == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sched_setscheduler(0, SCHED_IDLE, &none);
		limit(RLIMIT_CPU, READER_SECONDS);
		limit(RLIMIT_AS, READER_MEMORY);
		limit(RLIMIT_FSIZE, READER_LIST);
		limit(RLIMIT_CORE, 0);
		unsetenv("LD_PRELOAD");
		sigprocmask(SIG_SETMASK, &script.mask, NULL);
		execv(reader, words);
		_exit(STATUS_CANNOT_RUN);
	}
	return script.reader > 0 ? 0 : -1;
}

static void follow(const char *known, const char *list, const char *turn)
{
	struct pollfd changes = {.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .events = POLLIN};
	int found;
	if (changes.fd < 0 || inotify_add_watch(changes.fd, list, IN_MODIFY | IN_DELETE_SELF) < 0)
		return;
	int64_t heard_ns = clock_ns(CLOCK_MONOTONIC);
	(void)hear_all(list);
	begin_to_count(turn);
	while ((found = hear_all(list)) >= 0 && !is_to_end && !is_in_vain(turn)) {
		int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		struct timespec look = {0, LOOK_MS * 1000000};
		char events[4096];
		heard_ns = found ? now_ns : heard_ns;
		int is_foretold = script.reader > 0;
		if (reap() == 0 && !is_foretold &&
		    (script.next >= script.count ||
		     now_ns - heard_ns > SILENCE_MS * INT64_C(1000000)))
			return;
		if (is_foretold) {
			(void)read_known(known);
			begin_to_count(turn);
		}
		run_some();
		ppoll(&changes, 1, &look, &script.mask);
		while (read(changes.fd, events, sizeof events) > 0)
			;
	}
}

int main(int argc, char **argv)
{
	if (argc != 9 || getcwd(script.cwd, sizeof script.cwd) == NULL)
		return STATUS_CANNOT_RUN;
	const char *list = argv[2], *turn = argv[3], *reader = getenv(OURS "READER");
	char number[24];
	struct inherited inherited;
	script.session = argv[4];
	script.told = argv[5];
	script.memo = argv[6];
	/* It has ended when somebody else is our parent: who dies with the build. */
	while (getppid() == (pid_t)strtol(argv[8], NULL, 10))
		sched_yield();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	hear_signals();
	(void)!chdir("/");
	look_at_inherited(-1, &inherited);
	snprintf(number, sizeof number, "%lu", (unsigned long)inherited.number);
	syscall(SYS_close_range, 0, ~0u, 0);
	for (int fd = 0; fd < 3; fd++)
		(void)!open("/dev/null", O_RDWR);
	script.cpus = strtoul(argv[7], NULL, 10);
	script.slots = script.cpus < MOST_RUNNING ? script.cpus : MOST_RUNNING;
	script.lead = LEAD;
	script.fewest_missed = FEWEST_MISSES;
	char marks[PATH_MAX];
	snprintf(marks, sizeof marks, "%s/ahead", script.session);
	mkdir(marks, 0700);
	for (size_t i = 0; i < script.slots; i++)
		snprintf(script.running[i].folder, sizeof script.running[i].folder, "%s/%d.%zu",
		         marks, (int)getpid(), i);
	script.heard = sizeof(struct checks_head);
	*put_number(script.self, script.self + sizeof script.self - 1, (unsigned long)getpid()) =
	    '\0';
	tell(turn, script.self);
	struct rlimit processes;
	if (getrlimit(RLIMIT_NPROC, &processes) != 0 || processes.rlim_cur < FEWEST_PROCESSES ||
	    has_odd_parts())
		script.slots = 0; /* they are the script's */
	/* Its place is that of a variable which goes. */
	reader = reader != NULL ? strdup(reader) : NULL;
	char foretold[PATH_MAX + 64];
	snprintf(foretold, sizeof foretold, "%s/foretold-%s", marks, script.self);
	if (script.slots > 0 && stand_alone(marks, number) == 0) {
		if (read_known(argv[1]) == 0)
			follow(argv[1], list, turn);
		else if (reader != NULL && begin_foretelling(reader, foretold) == 0)
			follow(foretold, list, turn);
	}
	end_all();
	unlink(foretold);
	for (size_t i = 0; i < script.slots; i++) {
		empty(script.running[i].folder);
		rmdir(script.running[i].folder);
	}
	if (!is_in_vain(turn)) /* or nobody tries again in this session */
		unlink(turn);
	return 0;
}
