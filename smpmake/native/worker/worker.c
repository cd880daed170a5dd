/* A worker holds one slot: it starts a real tool, waits for it and tells the server how it went.
 *
 *     smpmake-worker SOCKET ALIVE
 *
 * SOCKET is the connection to the server, ALIVE a descriptor that only has to stay open as long as
 * the worker lives (-1: none).  When the server goes away the worker ends its tool, removes what
 * that tool had not finished, and leaves.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/inherited.h"
#include "base/system.h"
#include "base/terminal.h"
#include "base/util.h"
#include "job.h"

#define JOB_TERMINAL (JOB_TERMINAL_OUT | JOB_TERMINAL_ERR)
#define LENT_READ 3
#define LENT_WRITE 4
#define GRACE_MS 2000 /* between TERM and KILL: gcc removes its temporary files on TERM */

struct worker {
	int server, children; /* connection; signalfd of SIGCHLD */
	int out, err;         /* where a tool's output is caught */
	int null;
	struct terminal terminal; /* the running tool's */
	int told_to_end;          /* the server had the running tool signalled */
	struct wire_limit own[RLIM_NLIMITS];
};

static void nothing(int signal)
{
	(void)signal;
}

/* A handler, not SIG_IGN: exec resets handlers, so the tool starts with default signals. */
static void stand_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	for (int i = 1; i < 32; i++)
		sigaction(i, &action, NULL);
	action.sa_handler = nothing;
	action.sa_flags = SA_RESTART;
	const int quiet[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++)
		sigaction(quiet[i], &action, NULL);
}

static int catcher(const char *name)
{
	return memfd_create(name, MFD_CLOEXEC);
}

static void prepare(struct worker *w)
{
	sigset_t set;
	stand_signals();
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	w->children = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	setpgid(0, 0); /* Ctrl-C is for the driver; the server decides about us */
	for (int i = 0; i < (int)RLIM_NLIMITS; i++) {
		struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
		getrlimit(i, &limit);
		w->own[i] = (struct wire_limit){limit.rlim_cur, limit.rlim_max};
	}
	w->out = catcher("stdout");
	w->err = catcher("stderr");
	w->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* A FIFO at a descriptor that none of ours has.  A read of it never waits, as of make's own: lto1
 * of gcc 13 and newer takes tokens until it is told that there are none. */
static int open_high(const char *fifo)
{
	int fd = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LENT_WRITE + 1);
}

/* Opens a job server's FIFOs where MAKEFLAGS says that they are; what was there exec closes. */
static void open_lent(const char *fifo)
{
	char back[PATH_MAX];
	size_t length = strlen(fifo);
	if (length + sizeof LENT_BACK > sizeof back)
		return;
	memcpy(back, fifo, length);
	memcpy(back + length, LENT_BACK, sizeof LENT_BACK);
	int from = open_high(fifo), to = open_high(back);
	if (from >= 0 && to >= 0 && dup2(from, LENT_READ) >= 0)
		dup2(to, LENT_WRITE);
}

static void take_limits(const struct worker *w, const struct job *job)
{
	for (size_t i = 0; i < job->limit_count; i++) {
		const struct wire_limit *want = &job->limits[i];
		if (memcmp(want, &w->own[i], sizeof *want) == 0)
			continue;
		const struct rlimit limit = {want->soft, want->hard};
		setrlimit((int)i, &limit);
	}
}

/* In the child, between vfork and exec: system calls only. */
static int become(const struct worker *w, const struct job *job)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (chdir(job->cwd) != 0)
		return errno;
	umask(job->fixed.mask);
	const struct terminal *t = &w->terminal;
	uint32_t flags = t->master >= 0 ? job->fixed.flags : job->fixed.flags & ~JOB_TERMINAL;
	int out = flags & JOB_TERMINAL_OUT ? t->slave : w->out;
	int err = flags & JOB_TERMINAL_ERR ? t->slave : flags & JOB_MERGED_OUTPUT ? out : w->err;
	if (dup2(w->null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		return errno;
	const char *printed = printed_into(job);
	if (printed != NULL) {
		int file = open(printed, O_WRONLY | O_TRUNC | O_CLOEXEC);
		if (file < 0 || dup2(file, 1) < 0)
			return errno;
	}
	if (job->lent[0] != '\0')
		open_lent(job->lent); /* without it the tool does its work alone */
	take_limits(w,
	            job); /* last: they are the tool's, and a few descriptors are too few for us */
	hand_on(&job->fixed);
	execve(job->real, job->argv, job->env);
	return errno;
}

static pid_t start(const struct worker *w, const struct job *job, int *error)
{
	volatile int trouble = 0;
	pid_t pid = vfork();
	if (pid == 0) {
		trouble = become(w, job);
		_exit(127);
	}
	*error = pid < 0 ? errno : trouble;
	if (pid > 0 && trouble != 0)
		waitpid(pid, NULL, 0);
	return pid > 0 && trouble == 0 ? pid : -1;
}

/* Reaps whatever ended; 1 when `tool` was among it. */
static int reap(pid_t tool, int *status, struct rusage *usage)
{
	struct rusage any;
	int how, done = 0;
	for (pid_t pid; (pid = wait4(-1, &how, WNOHANG, &any)) > 0;)
		if (pid == tool) {
			*status = how;
			*usage = any;
			done = 1;
		}
	return done;
}

static void drain_children(const struct worker *w)
{
	struct signalfd_siginfo info;
	while (read(w->children, &info, sizeof info) > 0)
		;
}

/* Ends what a tool that is dead itself has left: an assembler would go on and write its output. */
static void end_orphans(const struct worker *w, pid_t tool)
{
	struct rusage usage;
	int status;
	kill(-tool, SIGKILL);
	while (signal_descendants(SIGKILL) > 0) {
		struct pollfd child = {.fd = w->children, .events = POLLIN};
		poll(&child, 1, 10);
		drain_children(w);
		reap(0, &status, &usage);
	}
}

/* A signal that ends a tool, also one that does not hear this one. */
static int ending(const struct job *job, int number)
{
	return (job->fixed.ignored | job->fixed.blocked) >> (number - 1) & 1 ? SIGKILL : number;
}

/* The server is gone: end the tool, gently first, with all that it started.
 *
 * We may be killed at any moment too.  So the group is stopped and its outputs are removed before
 * it is told to end: an assembler that dies of TERM would leave half an object, and nobody else
 * would know. */
static void abandon(const struct worker *w, const struct job *job, pid_t tool)
{
	struct rusage usage;
	int status;
	int64_t deadline = monotonic_ns() + (int64_t)GRACE_MS * 1000000;
	kill(-tool, SIGSTOP);
	remove_unfinished(job);
	kill(-tool, ending(job, SIGTERM));
	kill(-tool, SIGCONT);
	for (int gone = 0; !gone;) {
		int64_t left = (deadline - monotonic_ns()) / 1000000;
		if (left <= 0)
			break;
		struct pollfd child = {.fd = w->children, .events = POLLIN};
		poll(&child, 1, (int)left);
		drain_children(w);
		gone = reap(tool, &status, &usage);
	}
	end_orphans(w, tool);
	remove_unfinished(job);
	_exit(0);
}

static void pass_signal(struct worker *w, const struct job *job, pid_t tool)
{
	struct wire_header header;
	struct wire_signal order;
	if (read_header(w->server, &header) != 0 || header.type != WIRE_SIGNAL ||
	    header.length != sizeof order || read_all(w->server, &order, sizeof order) != 0)
		abandon(w, job, tool);
	w->told_to_end = 1;
	kill(-tool, ending(job, order.signal));
}

static void wait_for(struct worker *w, const struct job *job, pid_t tool, int *status,
                     struct rusage *usage)
{
	struct pollfd all[3] = {{.fd = w->server, .events = POLLIN},
	                        {.fd = w->children, .events = POLLIN},
	                        {.fd = w->terminal.master, .events = POLLIN}};
	int to = job->fixed.flags & JOB_TERMINAL_OUT ? w->out : w->err;
	for (;;) {
		if (poll(all, 3, -1) < 0)
			continue;
		if (all[2].revents && copy_written(&w->terminal, to) != 0)
			all[2].fd = -1;
		if (all[1].revents) {
			drain_children(w);
			if (reap(tool, status, usage))
				break;
		}
		if (all[0].revents)
			pass_signal(w, job, tool);
	}
	if (w->terminal.master >= 0 && copy_written(&w->terminal, to) == 0)
		read_on(&w->terminal);
}

static size_t caught(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	/* A frame has a bound; the head of an output says what is wrong. */
	const off_t bound = WIRE_MAX_PAYLOAD / 2 - 4096;
	return size < 0 ? 0 : (size_t)(size < bound ? size : bound);
}

static void empty(int *fd, int shared)
{
	if (shared) { /* something that the tool left behind still writes there */
		close(*fd);
		*fd = catcher("output");
	} else if (lseek(*fd, 0, SEEK_CUR) != 0) {
		(void)!ftruncate(*fd, 0);
		lseek(*fd, 0, SEEK_SET);
	}
}

static uint64_t microseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static int report(struct worker *w, struct wire_result *result, const struct rusage *usage)
{
	result->user_us = microseconds(usage->ru_utime);
	result->system_us = microseconds(usage->ru_stime);
	result->max_rss_kib = (uint64_t)usage->ru_maxrss;
	result->minor_faults = (uint64_t)usage->ru_minflt;
	result->major_faults = (uint64_t)usage->ru_majflt;
	result->voluntary = (uint64_t)usage->ru_nvcsw;
	result->involuntary = (uint64_t)usage->ru_nivcsw;
	result->out_len = (uint32_t)caught(w->out);
	result->err_len = (uint32_t)caught(w->err);
	size_t size = sizeof *result + result->out_len + result->err_len;
	char *payload = must_alloc(size);
	memcpy(payload, result, sizeof *result);
	char *at = payload + sizeof *result;
	(void)!pread(w->out, at, result->out_len, 0);
	(void)!pread(w->err, at + result->out_len, result->err_len, 0);
	int sent = send_frame(w->server, WIRE_RESULT, payload, size);
	free(payload);
	return sent;
}

static int run(struct worker *w, struct job *job)
{
	struct wire_result result = {.id = job->fixed.id, .wait_status = -1};
	struct rusage usage;
	memset(&usage, 0, sizeof usage);
	w->told_to_end = 0;
	note_older(job);
	w->terminal = (struct terminal){-1, -1};
	if (job->fixed.flags & JOB_TERMINAL)
		open_terminal(&w->terminal, job->fixed.rows, job->fixed.columns);
	result.start_ns = monotonic_ns();
	pid_t tool = start(w, job, &result.error);
	leave_slave(&w->terminal);
	if (tool > 0)
		wait_for(w, job, tool, &result.wait_status, &usage);
	result.end_ns = monotonic_ns();
	close_terminal(&w->terminal);
	if (tool > 0 && result.wait_status == 0)
		result.missing = finish(job);
	else if (tool > 0 && (WIFSIGNALED(result.wait_status) || w->told_to_end)) {
		end_orphans(w, tool);
		if (w->told_to_end || (job->fixed.flags & JOB_AWAITED) == 0)
			remove_unfinished(job);
	}
	int sent = report(w, &result, &usage);
	int left_behind = tool > 0 && kill(-tool, 0) == 0;
	empty(&w->out, left_behind);
	empty(&w->err, left_behind);
	return sent;
}

static int tell_inherited(int server)
{
	struct inherited own;
	look_at_inherited(server, &own);
	const struct wire_worker told = {.inherited = own.number, .nice = own.nice};
	return send_frame(server, WIRE_WORKER, &told, sizeof told);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		errno = EINVAL;
		complain("worker", "is started by smpmake, with two arguments");
		return 125;
	}
	struct worker w = {.server = atoi(argv[1])};
	fcntl(w.server, F_SETFD, FD_CLOEXEC);
	fcntl(atoi(argv[2]), F_SETFD, FD_CLOEXEC);
	if (tell_inherited(w.server) != 0)
		return 0;
	prepare(&w);
	for (;;) {
		struct wire_header header;
		struct job job = {0};
		if (read_header(w.server, &header) != 0)
			return 0;
		char *payload = must_alloc(header.length);
		if (read_all(w.server, payload, header.length) != 0)
			return 0;
		if (header.type == WIRE_JOB) {
			if (parse(payload, header.length, &job) != 0) {
				errno = EPROTO;
				complain("worker", "job");
				return 125;
			}
			if (run(&w, &job) != 0)
				return 0;
			forget(&job);
		} /* a signal that came too late has nobody to go to */
		free(payload);
	}
}
