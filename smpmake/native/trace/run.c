/* smpmake-memo TOLD SESSION KNOWN PROGRAM WORDS...: runs a command whose result nobody remembers.
 *
 * A shim becomes this, or recall/recall.c's program.  KNOWN says with which entry --memo=check
 * compares: its number, "" for the one that holds now, 0 for none.
 *
 * It is the command's parent, takes its output, notes what it looks at and changes (trace/calls.c),
 * and writes all that into the store (trace/entry.c) before it ends as the command has ended.  It
 * has no guard itself; the command has, if there is one.  Nothing that goes wrong with remembering
 * is the command's business.
 */
#include "ahead.h"
#include "base/terminal.h"
#include "calls.h"
#include "entry.h"
#include "memo/finish.h"
#include "memo/give.h"
#include "memo/remote.h"
#include "memo/told.h"
#include "memo/undo_journal.h"
#include "memo/views.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"

#define STATUS_FAULT 125
#define STRAYS_MS 50 /* how long what was started may take to end behind the command itself */

extern char **environ;

static volatile pid_t child;
static volatile sig_atomic_t is_told; /* that it has stopped or ended */
static volatile sig_atomic_t is_to_end;

/* What others send us is for the command; what a terminal sends it gets, too. */
static void pass_on(int number, siginfo_t *info, void *unused)
{
	(void)unused;
	is_to_end = 1;
	if (info->si_code <= 0 && child > 0)
		kill(child, number);
}

static void wake(int number)
{
	(void)number;
	is_told = 1;
}

static struct sigaction of_children; /* as our caller has handed it on */

static void set_handlers(sigset_t *before)
{
	static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};
	struct sigaction action = {.sa_flags = SA_SIGINFO}, old;
	sigset_t block;
	action.sa_sigaction = pass_on;
	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
		if (sigaction(passed[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
			sigaddset(&block, passed[i]);
			sigaction(passed[i], &action, NULL);
		}
	action = (struct sigaction){.sa_handler = wake};
	sigaction(SIGCHLD, &action, &of_children);
	sigprocmask(SIG_BLOCK, &block, before);
}

/* ------------------------------------------------------------------ the command's process */

static void become(const struct trace *trace, const char *program, char **argv,
                   const sigset_t *mask, const int out[2], const int pipes[2][2])
{
	char go;
	if (trace->notes != NULL)
		setenv(OURS "LOOKS", trace->place, 1);
	else
		unsetenv(OURS "LOOKS");
	dup2(out[0], 1);
	dup2(out[1], 2);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int listener = trace_me();
	write_all(pipes[0][1], &listener, sizeof listener);
	if (read(pipes[1][0], &go, 1) != 1)
		_exit(STATUS_CANNOT_RUN);
	sigaction(SIGCHLD, &of_children, NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execve(program, argv, environ);
	_exit(tell_cannot_run(argv[0], program));
}

/* Starts it; returns the listener, -1 where its calls do not wait for us. */
static int start(const struct trace *trace, const char *program, char **argv, const sigset_t *mask,
                 const int out[2])
{
	int pipes[2][2], listener = -1;
	if (pipe2(pipes[0], O_CLOEXEC) != 0 || pipe2(pipes[1], O_CLOEXEC) != 0)
		return -1;
	child = fork();
	if (child == 0)
		become(trace, program, argv, mask, out, (const int (*)[2])pipes);
	close(pipes[0][1]);
	close(pipes[1][0]);
	if (child > 0 && read_all(pipes[0][0], &listener, sizeof listener) == 0 && listener >= 0) {
		int process = (int)syscall(SYS_pidfd_open, child, 0);
		listener = process >= 0 ? (int)syscall(SYS_pidfd_getfd, process, listener, 0) : -1;
		if (listener < 0) { /* its calls would wait for ever */
			kill(child, SIGKILL);
			waitpid(child, NULL, 0);
			child = -1;
		}
		if (process >= 0)
			close(process);
		if (listener >= 0) /* the two take turns: on one CPU, without a detour */
			syscall(SYS_ioctl, listener, 0x40082104ul, 1ul);
	}
	(void)!write(pipes[1][1], "", 1);
	close(pipes[0][0]);
	close(pipes[1][1]);
	return listener;
}

/* ------------------------------------------------------------------ while it runs */

/* Whether it has ended; where it has stopped so do we, and it goes on when we do. */
static int has_ended(int *status, struct rusage *used)
{
	if (!is_told)
		return 0;
	is_told = 0;
	while (wait4(child, status, WNOHANG | WUNTRACED, used) == child) {
		if (!WIFSTOPPED(*status))
			return 1;
		kill(getpid(), SIGSTOP);
		kill(child, SIGCONT);
	}
	return 0;
}

/* `terminal`: what it writes to, if that is one, and is copied to `out`. */
static void attend(struct trace *trace, int listener, const struct terminal *terminal, int out,
                   int *status, struct rusage *used)
{
	sigset_t none;
	sigprocmask(SIG_SETMASK, NULL, &none);
	sigemptyset(&none);
	struct pollfd both[2] = {{.fd = listener, .events = POLLIN},
	                         {.fd = terminal->master, .events = POLLIN}};
	struct pollfd wait = both[0];
	while (!has_ended(status, used)) {
		both[0].revents = both[1].revents = 0;
		ppoll(both, 2, NULL, &none);
		if (both[0].revents & POLLIN)
			trace_serve(trace, listener);
		else if (both[0].revents & (POLLHUP | POLLERR))
			both[0].fd = -1;
		if (both[1].revents && copy_written(terminal, out) != 0)
			both[1].fd = -1;
	}
	if (both[1].fd >= 0 && copy_written(terminal, out) == 0)
		trace_spoil(trace, MEMO_LEFT);
	wait.fd = listener;
	while (listener >= 0 && poll(&wait, 1, STRAYS_MS) > 0 && !(wait.revents & POLLHUP))
		trace_serve(trace, listener);
	if (listener >= 0 && !(wait.revents & POLLHUP)) {
		trace_spoil(trace, MEMO_LEFT);
		if (fork() == 0) { /* their calls still wait for somebody */
			for (int fd = 0; fd < 3; fd++)
				close(fd);
			while (poll(&wait, 1, -1) > 0 && !(wait.revents & POLLHUP))
				trace_serve(trace, listener);
			_exit(0);
		}
	}
}

static char *all_of(int fd, size_t *size)
{
	off_t end = lseek(fd, 0, SEEK_END);
	char *text = malloc((size_t)end + 1);
	*size = end > 0 && text != NULL ? (size_t)end : 0;
	for (size_t at = 0; at < *size;) {
		ssize_t got = pread(fd, text + at, *size - at, (off_t)at);
		if (got <= 0)
			break;
		at += (size_t)got;
	}
	return text;
}

/* Whether a second run would be as the first: who changes what it reads (`ar q`) would read what it
 * has made. */
static int may_repeat(const struct trace *trace)
{
	if (trace->question->is_changer)
		return trace->why == 0 && trace->altered_count == 0;
	for (size_t i = 0; i < trace->altered_count; i++)
		if (trace_find(trace, trace->altered[i].path, OPENS, 0) != NULL)
			return 0;
	return 1;
}

/* The status, or -1 where others have no result either.  A shim has sent us: nothing is pending. */
static int give_of_others(struct memo_question *q)
{
	char board[PATH_MAX];
	enum memo_why why = 0;
	const struct memo_entry *entry = memo_find_others(q, &why);
	if (entry == NULL)
		return -1;
	strcpy(stpcpy(board, q->memo.session), "/board"); /* a socket's name is short */
	memo_keep_by(board);
	int status = memo_give(q, entry);
	if (status >= 0)
		memo_tell_hit(&q->memo, entry->cpu_us);
	memo_leave_others(q, status >= 0 ? entry : NULL, why);
	return status;
}

int main(int argc, char **argv)
{
	static struct memo_question question;
	static struct trace trace;
	const struct memo_entry *known = NULL;
	struct result result = {.status = 0};
	struct rusage used;
	enum memo_why why;
	sigset_t mask;
	int status = 0;
	if (argc < 6)
		return STATUS_CANNOT_RUN;
	const char *program = argv[4];
	char **words = argv + 5;
	if (memo_open(&question.memo, argv[1], argv[2]) != 0 ||
	    memo_ask(&question, program, words, environ) != 0)
		goto plainly;
	if (is_ahead() && begin_ahead(&question) != 0)
		return 0;
	if (question.memo.mode == MEMO_CHECK && strcmp(argv[3], "0") != 0)
		known = memo_find(&question, strtoull(argv[3], NULL, 10), &why);
	/* What has a guard has asked others already (recall/recall.c). */
	if (question.memo.mode == MEMO_ON && *argv[3] == '\0' &&
	    (status = give_of_others(&question)) >= 0)
		return status;
	int out[2] = {memfd_create("out", MFD_CLOEXEC), -1};
	out[1] = question.one_stream ? out[0] : memfd_create("err", MFD_CLOEXEC);
	if (out[0] < 0 || out[1] < 0)
		goto plainly;
	struct terminal terminal = {-1, -1};
	int written[2] = {out[0], out[1]}, of_terminal = question.terminals & 1 << 2 ? 1 : 0;
	if (question.terminals != 0) {
		open_terminal(&terminal, question.size.ws_row, question.size.ws_col);
		if (terminal.master < 0)
			goto plainly;
		for (int fd = 1; fd <= 2; fd++)
			if (question.terminals & 1 << fd)
				written[fd - 1] = terminal.slave;
	}
	set_handlers(&mask);
	trace_begin(&trace, &question);
	trace_share(&trace);
	int listener = start(&trace, program, words, &mask, written);
	leave_slave(&terminal);
	if (child <= 0) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
		sigaction(SIGCHLD, &of_children, NULL);
		goto plainly;
	}
	if (listener < 0)
		trace_spoil(&trace, MEMO_UNTRACED);
	attend(&trace, listener, &terminal, out[of_terminal], &status, &used);
	/* No file's time is behind it: newer kernels give files finer times than memo_clock's. */
	trace.ended_ns = clock_ns(CLOCK_REALTIME);
	if (is_to_end)
		trace_spoil(&trace, MEMO_KILLED);
	trace_take_notes(&trace);
	result.status = status;
	result.out = all_of(out[0], &result.out_size);
	result.err = question.one_stream ? result.out : all_of(out[1], &result.err_size);
	result.cpu_us = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
	                (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
	if (memo_was_shown_others(getenv(OURS "TRACE")))
		trace_spoil(&trace, MEMO_OLDER);
	why = memo_keep_result(&trace, &result, known);
	if (why != 0)
		memo_tell_number(&question.memo, 'n', why);
	else if (is_ahead())
		memo_tell(&question.memo, "a\n", 2);
	/* The command itself would have been told of a full disk or a reader that has gone. */
	int is_lost = (result.out_size > 0 && memo_is_deserted(1)) ||
	              (result.err_size > 0 && memo_is_deserted(2));
	if (WIFEXITED(status) && (is_lost || memo_tell_text(1, result.out, result.out_size) != 0)) {
		if (may_repeat(&trace)) {
			sigprocmask(SIG_SETMASK, &mask, NULL);
			sigaction(SIGCHLD, &of_children, NULL);
			goto plainly;
		}
		write_all(1, result.out, result.out_size);
	}
	if (!question.one_stream)
		write_all(2, result.err, result.err_size);
	if (why == 0 && question.memo.mode == MEMO_ON)
		memo_offer(&question);
	end_ahead(&trace, why == 0);
	end_as(status);
plainly:
	if (is_ahead()) { /* its script runs it in its turn */
		end_ahead(&trace, 0);
		return STATUS_FAULT;
	}
	execve(program, words, environ);
	return tell_cannot_run(words[0], program);
}
