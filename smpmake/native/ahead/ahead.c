/* smpmake-ahead KNOWN LIST TURN SESSION TOLD MEMORUN CPUS CALLER: runs the checks of a configure
 * script before their turn.
 *
 * KNOWN is the list of an earlier run, LIST that of this one, to which the script's shims add each
 * check when it comes.  A check is a compile of a text, which is confdefs and a body.  The bodies
 * are the earlier run's; confdefs is what it is now, and what the earlier run added since then.
 * smpmake-memo runs each in a folder of its own, which stands in the place of the script's in a
 * namespace of its own, and remembers the result.  The script's shim finds it there if it asks the
 * same, and if all that the compile looked at is so in the script's folder.  A wrong guess costs
 * time of an idle CPU.
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

#define MOST_RUNNING 16
#define LEAD 48   /* checks: behind a wrong guess all are for nothing */
#define NEARBY 64 /* checks that another version of a package may have left out */
#define SILENCE_MS 10000
#define LOOK_MS 50
#define PATIENCE 100 /* looks until who does not end is killed: others may have the CPUs */
#define FEWEST_PROCESSES 1024
#define FEWEST_MISSES 16 /* until it is in vain */
#define MOST_CHANGES 8   /* to compile, to link, to preprocess, and by other macros */

/* Of these it hears: a child's end, and that it is to end. */
static const int heard[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};

struct known {
	const struct check *check;
	char **words;
	size_t count;
	uint64_t body;  /* its sum */
	uint64_t asked; /* that of what was run ahead, 0: nothing */
};

/* What is to be put in the place of what, in words of the earlier run: other flags.  Where there
 * were none they come between the same two words. */
struct change {
	char **old, **new, *before, *behind;
	size_t old_count, new_count;
};

struct running {
	pid_t process;
	char folder[PATH_MAX + 64];
};

static struct {
	struct known *checks;
	size_t count, next;           /* the check that the script asks next, as far as known */
	char defined[CHECKS_LARGEST]; /* confdefs */
	size_t defined_size;
	off_t heard;                         /* bytes of LIST */
	size_t came;                         /* checks that were in it */
	struct change changes[MOST_CHANGES]; /* the newest first */
	struct running running[MOST_RUNNING];
	size_t cpus, slots;
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

static char *read_file(const char *path, size_t *size)
{
	struct stat info;
	char *data = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid()) {
		*size = (size_t)info.st_size;
		data = must_alloc(*size + 8);
		if (read_all(fd, data, *size) != 0)
			data = NULL;
	}
	if (fd >= 0)
		close(fd);
	return data;
}

/* The words of a check, NULL-ended; they stay. */
static char **split(const struct check *check, size_t *count)
{
	char *copy = must_alloc(check->words);
	memcpy(copy, words_of(check), check->words);
	*count = 0;
	for (size_t at = 0; at < check->words; at += strlen(copy + at) + 1)
		(*count)++;
	char **words = must_alloc((*count + 1) * sizeof *words);
	size_t n = 0;
	for (size_t at = 0; at < check->words; at += strlen(copy + at) + 1)
		words[n++] = copy + at;
	words[n] = NULL;
	return words;
}

static int read_known(const char *path)
{
	size_t size = 0, room = 0;
	struct checks_head head;
	const char *data = read_file(path, &size); /* it stays */
	if (data == NULL || size < sizeof head)
		return -1;
	memcpy(&head, data, sizeof head);
	if (head.magic != CHECKS_MAGIC)
		return -1;
	const struct check *check;
	for (size_t at = sizeof head; (check = check_at(data + at, size - at)) != NULL;
	     at += check->size) {
		if (script.count == room) {
			room = room * 2 + 256;
			script.checks = realloc(script.checks, room * sizeof *script.checks);
			if (script.checks == NULL)
				return -1;
		}
		struct known *known = &script.checks[script.count++];
		*known = (struct known){.check = check};
		known->words = split(check, &known->count);
		known->body = quick_sum(body_of(check), check->body);
		if ((size_t)check->source + 1 >= known->count)
			return -1;
	}
	return 0;
}

/* ------------------------------------------------------------------ words */

/* What is different between two commands that ask the same with other flags. */
static void learn_change(const struct known *then, const struct check *now)
{
	size_t old_count = then->count, new_count, first = 0, last = 0;
	char **old = then->words, **new = split(now, &new_count);
	while (first < old_count && first < new_count && strcmp(old[first], new[first]) == 0)
		first++;
	while (last < old_count - first && last < new_count - first &&
	       strcmp(old[old_count - 1 - last], new[new_count - 1 - last]) == 0)
		last++;
	if (first == 0) /* another compiler */
		return;
	memmove(script.changes + 1, script.changes, (MOST_CHANGES - 1) * sizeof *script.changes);
	script.changes[0] = (struct change){old + first,
	                                    new + first,
	                                    old[first - 1],
	                                    old[old_count - last],
	                                    old_count - first - last,
	                                    new_count - first - last};
}

/* Where a change begins in a check's words, -1 where it does not.  The source's name stays. */
static long find_change(const struct change *change, const struct known *known)
{
	char *const *words = known->words;
	const size_t source =
	    (size_t)known->check->source + 1; /* the program's path is before them */
	for (size_t at = 1; at + change->old_count <= known->count; at++) {
		size_t same = 0;
		while (same < change->old_count && strcmp(words[at + same], change->old[same]) == 0)
			same++;
		if (same == change->old_count && (source < at || source >= at + same) &&
		    (same > 0 ||
		     (strcmp(words[at - 1], change->before) == 0 && words[at] != NULL &&
		      change->behind != NULL && strcmp(words[at], change->behind) == 0)))
			return (long)at;
	}
	return -1;
}

/* The words of an earlier check as they would be now, in new memory, and which names the source. */
static char **words_now(const struct known *known, uint32_t *source)
{
	const struct change *change = script.changes, *end = change + MOST_CHANGES;
	long found = -1;
	*source = known->check->source;
	for (; change < end && change->before != NULL; change++)
		if ((found = find_change(change, known)) >= 0)
			break;
	size_t at = found >= 0 ? (size_t)found : known->count, rest = at, more = 0;
	if (found >= 0) {
		rest += change->old_count;
		more = change->new_count;
		if ((size_t)*source + 1 >= rest)
			*source += (uint32_t)(more - change->old_count);
	}
	char **now = must_alloc((at + more + known->count - rest + 1) * sizeof *now);
	memcpy(now, known->words, at * sizeof *now);
	if (more > 0)
		memcpy(now + at, change->new, more * sizeof *now);
	memcpy(now + at + more, known->words + rest, (known->count - rest + 1) * sizeof *now);
	return now;
}

static uint64_t sum_of(char *const *words)
{
	uint64_t sum = 0;
	for (; *words != NULL; words++)
		sum = sum * 31 + quick_sum(*words, strlen(*words));
	return sum;
}

static int is_as_words(const struct check *check, char *const *words)
{
	const char *at = words_of(check), *end = at + check->words;
	for (; *words != NULL && at < end; words++, at += strlen(at) + 1)
		if (strcmp(*words, at) != 0)
			return 0;
	return *words == NULL && at == end;
}

/* ------------------------------------------------------------------ what the script asks */

/* Where in the earlier run the check is that has come: it asked the same text, with the words that
 * are expected now, or in any case one of the next; `count` where it is none of those. */
static size_t place_of(const struct check *check, int *is_expected)
{
	const uint64_t body = quick_sum(body_of(check), check->body);
	size_t alike = script.count;
	*is_expected = 1;
	for (size_t i = script.next; i < script.count && i < script.next + NEARBY; i++) {
		const struct known *known = &script.checks[i];
		uint32_t source;
		if (known->body != body || known->check->source == 0)
			continue;
		char **words = words_now(known, &source);
		int is_same = is_as_words(check, words);
		free(words);
		if (is_same)
			return i;
		alike = alike == script.count ? i : alike;
	}
	*is_expected = 0;
	return alike;
}

static void hear(const struct check *check)
{
	int is_expected;
	if (check->added > sizeof script.defined - script.defined_size)
		return;
	memcpy(script.defined + script.defined_size, added_of(check), check->added);
	script.defined_size += check->added;
	if (check->source == 0)
		return;
	size_t place = place_of(check, &is_expected);
	if (place == script.count)
		return;
	script.next = place + 1;
	if (!is_expected)
		learn_change(&script.checks[place], check);
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
	uint32_t source;
	struct running *place = script.running;
	char **words = words_now(known, &source);
	uint64_t sum = (quick_sum(text, size) ^ sum_of(words)) | 1;
	int is_new = known->asked != sum, may_begin = is_new && is_idle(*running);
	while (place->process != 0)
		place++;
	if (may_begin) {
		known->asked = sum;
		begin(place, known->check, words, words[source + 1], text, size);
		*running += place->process != 0;
	}
	free(words);
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
	     running < script.slots && i < script.count && i < script.next + LEAD; i++) {
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
	for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
		for (size_t i = 0; i < script.slots; i++)
			if (script.running[i].process == ended) {
				script.running[i].process = 0;
				/* Nobody may have a place of his own here. */
				if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_CANNOT_RUN)
					script.next = script.count;
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

/* Whether most checks that came had no answer: shims add a byte to TURN for each of these. */
static int is_in_vain(const char *turn)
{
	struct stat info;
	size_t missed = stat(turn, &info) == 0 ? (size_t)info.st_size - strlen(script.self) : 0;
	return missed > FEWEST_MISSES && missed > script.came / 2;
}

static void follow(const char *list, const char *turn)
{
	struct pollfd changes = {.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .events = POLLIN};
	int found;
	if (changes.fd < 0 || inotify_add_watch(changes.fd, list, IN_MODIFY | IN_DELETE_SELF) < 0)
		return;
	int64_t heard_ns = clock_ns(CLOCK_MONOTONIC);
	while ((found = hear_all(list)) >= 0 && !is_to_end && !is_in_vain(turn)) {
		int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		struct timespec look = {0, LOOK_MS * 1000000};
		char events[4096];
		heard_ns = found ? now_ns : heard_ns;
		if (reap() == 0 && (script.next >= script.count ||
		                    now_ns - heard_ns > SILENCE_MS * INT64_C(1000000)))
			return;
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
	const char *list = argv[2], *turn = argv[3];
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
	if (getrlimit(RLIMIT_NPROC, &processes) != 0 || processes.rlim_cur < FEWEST_PROCESSES)
		script.slots = 0; /* they are the script's */
	if (script.slots > 0 && stand_alone(marks, number) == 0 && read_known(argv[1]) == 0)
		follow(list, turn);
	end_all();
	for (size_t i = 0; i < script.slots; i++) {
		empty(script.running[i].folder);
		rmdir(script.running[i].folder);
	}
	if (!is_in_vain(turn)) /* or nobody tries again in this session */
		unlink(turn);
	return 0;
}
