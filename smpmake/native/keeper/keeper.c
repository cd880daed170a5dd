/* The keeper runs the driver for the server, and cleans up should the server be killed.
 *
 *     smpmake-keeper CONTROL ALIVE NOFILE BLOCKED FOLDER COMMAND [ARG ...]
 *
 * CONTROL is the connection to the server; ALIVE the read end of a pipe whose other end all workers
 * hold; NOFILE the driver's own soft limit of descriptors, BLOCKED its signal mask as bits (0 is
 * signal 1); FOLDER the session's folder.  At a
 * terminal the driver stays in the foreground process group, as if the keeper were not there. Where
 * there is none it has a group of its own: what it sends to that (kill -TERM 0) is not for us.
 *
 *     smpmake-keeper CONTROL ALIVE NOFILE BLOCKED FOLDER
 *
 * only watches over a server that has no driver.
 *
 *     smpmake-keeper clean DESCRIPTOR FOLDER
 *
 * undoes and removes what a session left whose processes were all killed: in the open folder,
 * whatever is at its path by now.
 *
 *     smpmake-keeper undo FOLDER all|stop
 *
 * undoes what the undo journal says (rollback.h); complaints go to stdout, and it ends with 1 where
 * something could not be undone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "base/util.h"
#include "rollback.h"

#define GRACE_MS 2000

static void nothing(int signal)
{
	(void)signal;
}

static int ignores_children; /* as the driver will */

/* What the user ignores (nohup) the driver ignores too; the rest is for the driver, not for us. */
static void stand_signals(void)
{
	struct sigaction children;
	sigaction(SIGCHLD, NULL, &children);
	ignores_children = children.sa_handler == SIG_IGN;
	signal(SIGCHLD, SIG_DFL); /* or nobody tells us that the driver has ended */
	const int quiet[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++) {
		struct sigaction action;
		if (sigaction(quiet[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			continue;
		memset(&action, 0, sizeof action);
		action.sa_handler = nothing;
		action.sa_flags = SA_RESTART;
		sigaction(quiet[i], &action, NULL);
	}
}

/* glibc's own signals, which its posix_spawn leaves ignored and its sigaction does not touch. */
static void default_hidden_signals(void)
{
	/* the kernel's struct: handler, flags, restorer, mask */
	const unsigned long none[4] = {0};
	for (int number = 32; number < SIGRTMIN; number++)
		syscall(SYS_rt_sigaction, number, none, NULL, 8);
}

static int tell(int control, uint32_t event, int status, const struct rusage *usage)
{
	struct wire_driver message = {.event = event, .status = status};
	if (usage != NULL) {
		message.user_us =
		    (uint64_t)usage->ru_utime.tv_sec * 1000000 + (uint64_t)usage->ru_utime.tv_usec;
		message.system_us =
		    (uint64_t)usage->ru_stime.tv_sec * 1000000 + (uint64_t)usage->ru_stime.tv_usec;
		message.max_rss_kib = (uint64_t)usage->ru_maxrss;
	}
	return send_frame(control, WIRE_DRIVER, &message, sizeof message);
}

static int has_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static pid_t start(char **command, rlim_t descriptors, const sigset_t *mask, int *error)
{
	volatile int trouble = 0;
	int alone = !has_terminal();
	pid_t pid = vfork();
	if (pid == 0) {
		struct rlimit limit;
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (alone)
			setpgid(0, 0);
		if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
			limit.rlim_cur = descriptors;
			setrlimit(RLIMIT_NOFILE, &limit);
		}
		if (ignores_children)
			signal(SIGCHLD, SIG_IGN);
		sigprocmask(SIG_SETMASK, mask, NULL);
		execvp(command[0], command);
		trouble = errno;
		_exit(127);
	}
	*error = pid < 0 ? errno : trouble;
	if (pid > 0 && trouble != 0)
		waitpid(pid, NULL, 0);
	return pid > 0 && trouble == 0 ? pid : -1;
}

static void reap_all(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Ends everything below us: TERM, a while, KILL.  One look could miss what is forked behind it;
 * nobody is left to fork after two. */
static void end_descendants(void)
{
	int64_t deadline = monotonic_ns() + (int64_t)GRACE_MS * 1000000;
	signal_descendants(SIGTERM);
	for (int seen_none = 0; seen_none < 2;) {
		int late = monotonic_ns() > deadline;
		reap_all();
		seen_none = signal_descendants(late ? SIGKILL : 0) == 0 ? seen_none + 1 : 0;
		poll(NULL, 0, seen_none ? 0 : 10);
	}
}

/* Ends what is left of jobs whose workers were killed as well: nobody's descendants.  An assembler
 * would go on, and write its output behind the undoing. */
static void end_lost_jobs(const char *folder)
{
	char beginning[PATH_MAX];
	int64_t deadline = monotonic_ns() + (int64_t)GRACE_MS * 1000000;
	if (snprintf(beginning, sizeof beginning, OURS "TRACE=%s/", folder) >=
	    (int)sizeof beginning)
		return;
	for (int seen_none = 0; seen_none < 2 && monotonic_ns() < deadline;) {
		seen_none = signal_marked(beginning, SIGKILL) == 0 ? seen_none + 1 : 0;
		poll(NULL, 0, 1);
	}
}

/* Removes what is in the working folder.  What says how to undo goes first and the lock last: if we
 * are killed on the way, the next session removes the rest, and does nothing else with it. */
static void empty_folder(void)
{
	unlink("undo/head");
	DIR *entries = opendir(".");
	for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
		const char *name = entry->d_name;
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, "lock") != 0)
			remove_tree(name);
	}
	if (entries != NULL)
		closedir(entries);
	unlink("lock");
}

static int is_at(int folder, const char *path)
{
	struct stat held, found;
	return fstat(folder, &held) == 0 && lstat(path, &found) == 0 &&
	       held.st_ino == found.st_ino && held.st_dev == found.st_dev;
}

/* The folder is entered first: others may write where it lies, and put another thing under its
 * path. It then goes out of the way, as a named server may come to its place meanwhile. */
static void clean(int folder, const char *path)
{
	char gone[PATH_MAX];
	if (fchdir(folder) != 0)
		return;
	take_back_of_the_dead(".");
	forget_stores(".");
	if (is_at(folder, path) &&
	    snprintf(gone, sizeof gone, "%s.gone", path) < (int)sizeof gone &&
	    rename(path, gone) == 0)
		path = gone;
	empty_folder();
	if (is_at(folder, path))
		rmdir(path);
}

static int open_folder(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Whether it is for us to clean up: not if the next session or server does, or has the folder. */
static int has_lock(int folder)
{
	static int lock = -1;
	if (lock < 0)
		lock = openat(folder, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	return lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0;
}

/* The tokens of a job server that the server held: a count, a byte each, and behind them where they
 * came from (session/jobserver.py).  A pipe's path leads to a descriptor that we have from make. */
#define TOKENS_PATH 4096
static void give_back_tokens(const char *folder)
{
	size_t size;
	uint32_t count;
	char *text = contents_of(folder, "tokens", TOKENS_PATH * 2, &size);
	if (text == NULL || size <= TOKENS_PATH)
		return;
	memcpy(&count, text, sizeof count);
	int fd = open(text + TOKENS_PATH, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && count <= TOKENS_PATH - sizeof count)
		write_all(fd, text + sizeof count, count);
	free(text);
}

static void server_died(int alive, const char *path)
{
	char byte;
	ssize_t got;
	int folder = open_folder(path), ours = has_lock(folder);
	end_descendants();
	do /* until the last worker has left */
		got = read(alive, &byte, 1);
	while (got > 0 || (got < 0 && errno == EINTR));
	end_lost_jobs(path);
	give_back_tokens(path);
	/* A server that is being killed may hold its lock a moment longer than its connection. */
	for (int tries = 0; !ours && tries < 100; tries++) {
		poll(NULL, 0, 10);
		ours = has_lock(folder);
	}
	if (ours)
		clean(folder, path);
	_exit(125);
}

/* Reaps what has ended, and tells how the driver did. */
static void reap(int control, pid_t *driver)
{
	struct rusage usage;
	int status;
	for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;)
		if (pid == *driver) {
			*driver = -1;
			tell(control, DRIVER_ENDED, status, &usage);
		}
}

/* Kills everything below us, also what is forked meanwhile; the driver's end is told as ever. */
static void kill_all(int control, pid_t *driver)
{
	for (int seen_none = 0; seen_none < 2;) { /* see end_descendants */
		seen_none = signal_descendants(SIGKILL) == 0 ? seen_none + 1 : 0;
		reap(control, driver);
		if (seen_none == 0)
			poll(NULL, 0, 1);
	}
	tell(control, DRIVER_ALONE, 0, NULL);
}

/* One message of the server: a signal for the driver's whole family, or that all is well. */
static void hear(int control, int alive, const char *folder, pid_t *driver)
{
	struct wire_header header;
	struct wire_signal order;
	if (read_header(control, &header) != 0)
		server_died(alive, folder);
	if (header.type == WIRE_BYE)
		_exit(0);
	if (header.type != WIRE_SIGNAL || header.length != sizeof order ||
	    read_all(control, &order, sizeof order) != 0)
		server_died(alive, folder);
	/* To all of them, as a terminal would: a shell does not pass signals on. */
	if (order.signal == SIGKILL)
		kill_all(control, driver);
	else
		signal_descendants(order.signal);
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "clean") == 0) {
		clean(atoi(argv[2]), argv[3]);
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "undo") == 0) {
		return take_back(argv[2], strcmp(argv[3], "all") == 0 ? UNDO_ALL : UNDO_STOP) != 0;
	}
	if (argc < 6) {
		errno = EINVAL;
		complain("keeper", "is started by smpmake");
		return 125;
	}
	int control = atoi(argv[1]), alive = atoi(argv[2]), error = 0;
	const char *folder = argv[5];
	/* The driver is the first of its build, unless it takes no guard itself. */
	const char *caller = getenv(OURS "CALLER");
	if (caller != NULL && strtol(caller, NULL, 10) != 0)
		unsetenv(OURS "CALLER");
	fcntl(control, F_SETFD, FD_CLOEXEC);
	fcntl(alive, F_SETFD, FD_CLOEXEC);
	if (!has_terminal())
		setpgid(0, 0); /* who kills the server's group is not to kill who cleans up */
	stand_signals();
	default_hidden_signals();
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int children = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	pid_t driver = -1;
	if (argc > 6) {
		unsigned long long blocked = strtoull(argv[4], NULL, 10);
		sigemptyset(&set);
		for (int i = 1; blocked != 0; i++, blocked >>= 1)
			if (blocked & 1)
				sigaddset(&set, i);
		driver = start(argv + 6, (rlim_t)strtoull(argv[3], NULL, 10), &set, &error);
		if (driver < 0)
			tell(control, DRIVER_FAILED, error, NULL);
		else
			tell(control, DRIVER_STARTED, driver, NULL);
	}
	struct pollfd both[2] = {{.fd = control, .events = POLLIN},
	                         {.fd = children, .events = POLLIN}};
	for (;;) {
		if (poll(both, 2, -1) < 0)
			continue;
		if (both[1].revents) {
			struct signalfd_siginfo info;
			while (read(children, &info, sizeof info) > 0)
				;
			reap(control, &driver);
		}
		if (both[0].revents)
			hear(control, alive, folder, &driver);
	}
}
