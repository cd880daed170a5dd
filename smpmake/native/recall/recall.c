/* smpmake-recall PROGRAM WORDS...: stands for a command of a build whose result may be remembered;
 * its own name is the command's.
 *
 * Worker and shim start this in the place of a tool, where other commands may be pending.  The
 * guard is with it as with the tool, and takes it for that: each look at a file waits for who has
 * still to write it and finds what the command is to find, each change is journaled.  So giving a
 * result back is running the command, only quicker, and nobody else need know of it.  Where
 * nothing is remembered it becomes what runs and traces the tool (trace/run.c).
 */
#include "memo/finish.h"
#include "memo/other_tree.h"
#include "memo/told.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/util.h"
#include "memo/remote.h"
#include "memo/views.h"
#include "proof.h"

extern char **environ;

/* Past the guard: the tool's process is what the worker or the shim would have started. */
static int become(const char *program, char **argv)
{
	kernel(SYS_execve, program, argv, environ);
	return tell_cannot_run(argv[0], program);
}

/* What the command would read is noted as read by it, though a look at it was enough. */
static void open_inputs(const struct memo_question *q, const struct memo_entry *entry)
{
	char room[PATH_MAX];
	const struct memo_fact *fact = MEMO_FIRST_FACT(entry);
	for (uint32_t i = 0; i < entry->facts; i++, fact = MEMO_NEXT(fact)) {
		const char *path =
		    memo_placed(&q->tree, memo_origin(entry), (const char *)(fact + 1), room);
		if (fact->kind != MEMO_IS_FILE || !(fact->flags & MEMO_IS_READ) || is_foreign(path))
			continue;
		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0)
			close(fd);
	}
}

/* ------------------------------------------------------------------ its files */

/* `is_job`: its files get another time. */
static int write_output(int folder, const char *name, const struct memo_output *output,
                        const char *bytes, size_t size, int is_job)
{
	struct stat info;
	int is_there = fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
	int is_cut = is_there && (output->flags & MEMO_IN_PLACE) != 0;
	/* What the command reads itself stays as it is until there is room for what comes. */
	int is_kept = is_cut && output->flags & MEMO_IS_INPUT;
	if (is_there && !is_cut && unlinkat(folder, name, 0) != 0)
		return -1;
	int fd = openat(folder, name,
	                O_WRONLY | O_CLOEXEC | O_NOFOLLOW |
	                    (is_kept  ? 0
	                     : is_cut ? O_TRUNC
	                              : O_CREAT | O_EXCL),
	                output->mode & 07777);
	if (fd < 0)
		return -1;
	int failed =
	    (is_kept && size > 0 && fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)size) != 0) ||
	    write_all(fd, bytes, size) != 0 || (is_kept && ftruncate(fd, (off_t)size) != 0) ||
	    fstat(fd, &info) != 0;
	if (!failed && info.st_mode != output->mode)
		failed = fchmod(fd, output->mode & 07777) != 0 || fstat(fd, &info) != 0 ||
		         info.st_mode != output->mode;
	failed |= !is_job && memo_date(fd) != 0;
	failed |= close(fd) != 0;
	if (failed && !is_cut)
		unlinkat(folder, name, 0);
	return failed ? -1 : 0;
}

/* `bytes`: what is to be in it; NULL: it is removed. */
static int change(const struct memo_entry *entry, const struct memo_output *output,
                  const char *bytes, size_t size, int is_job)
{
	const char *name;
	int folder = memo_open_way(entry, (const char *)(output + 1), &name), failed = -1;
	if (folder != -1)
		failed = bytes == NULL ? unlinkat(folder, name, 0)
		                       : write_output(folder, name, output, bytes, size, is_job);
	memo_close_way(folder);
	return failed;
}

/* As the command itself makes its files: in place, in the order of their names.  -1: the command
 * finds no more than its own files, half written. */
static int write_outputs(const struct memo_question *q, const struct memo_entry *entry, int is_job)
{
	const struct memo_output *output = memo_outputs(entry);
	const char **bytes = must_alloc((entry->outputs + 1) * sizeof *bytes);
	size_t *sizes = must_alloc((entry->outputs + 1) * sizeof *sizes);
	struct stat info;
	for (uint32_t i = 0; i < entry->outputs; i++, output = memo_behind(output)) {
		bytes[i] = output->flags & MEMO_REMOVED
		               ? ""
		               : memo_output_bytes(&q->memo, entry, output, &sizes[i]);
		if (bytes[i] == NULL || !memo_is_former(q, entry, output, &info) ||
		    memo_is_listed((const char *)(output + 1)))
			return -1;
	}
	/* A signal ends the command itself without a half file; nothing waits any more. */
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	output = memo_outputs(entry);
	int failed = 0;
	for (uint32_t i = 0; i < entry->outputs && !failed; i++, output = memo_behind(output))
		failed = change(entry, output, output->flags & MEMO_REMOVED ? NULL : bytes[i],
		                sizes[i], is_job);
	output = memo_outputs(entry);
	int is_to_end = !failed && memo_is_to_end();
	for (uint32_t i = 0; i < entry->outputs && is_to_end; i++, output = memo_behind(output))
		change(entry, output, NULL, 0, is_job);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return failed != 0 ? -1 : 0;
}

/* ------------------------------------------------------------------ all of it */

/* The status, or -1 where the command is to run. */
static int give(const struct memo_question *q, const struct memo_entry *entry, int is_job)
{
	const struct memo_blob *out = memo_texts(entry), *err = MEMO_NEXT(out);
	size_t said_size, complained_size;
	const char *said = memo_said(&q->memo, entry, out, &said_size);
	const char *complained = memo_said(&q->memo, entry, err, &complained_size);
	if (said == NULL || complained == NULL)
		return -1;
	open_inputs(q, entry);
	if (write_outputs(q, entry, is_job) != 0)
		return -1;
	if (!is_job && entry->outputs > 0)
		memo_pass_tick(memo_clock());
	if (memo_tell_last(q, entry, said, said_size) != 0)
		return -1;
	write_all(2, complained, complained_size);
	return entry->status;
}

/* `notes`: of the job, NULL for none. */
static void tell_why(const struct memo_question *q, enum memo_why why, const char *notes)
{
	const char *doubted = memo_tell_why(q, why);
	if (notes != NULL)
		memo_note_missed(notes, why, doubted);
}

/* Whether nothing but what was looked at can make a difference to the result; it may take the
 * command's own preprocessor to say so. */
static int is_sure(const struct memo_question *q, const struct memo_entry *entry)
{
	if (!memo_wants_proof(q, entry))
		return 1;
	if (!is_proved(q))
		return 0;
	memo_note_proof(q, entry);
	return 1;
}

static int runs_traced(const struct memo *memo, const char *known, const char *program,
                       char **words)
{
	const char *tracer = getenv(OURS "MEMORUN"), *told = getenv(OURS "MEMO");
	if (tracer != NULL)
		kernel(SYS_execve, tracer, memo_words(told, memo->session, known, program, words),
		       environ);
	return become(program, words);
}

int main(int argc, char **argv)
{
	static struct memo_question question = {.is_guarded = 1, .may_prove = 1};
	struct memo *memo = &question.memo;
	char session[PATH_MAX] = "", known[24] = "0";
	const char *socket = getenv(OURS "SOCKET");
	const char *slash = socket != NULL ? strrchr(socket, '/') : NULL;
	const char *notes = getenv(OURS "TRACE");
	/* What a job starts, as a script does, is no job: a worker's own process leads its group.
	 */
	int is_job = notes != NULL && getpgrp() == getpid();
	if (argc < 2)
		return STATUS_CANNOT_RUN;
	const char *program = argv[1];
	char **words = argv + 1;
	words[0] = argv[0];
	if (slash == NULL || (size_t)(slash - socket) >= sizeof session ||
	    syscall(GUARD_IS_HERE) != 1)
		return become(program, words);
	memcpy(session, socket, (size_t)(slash - socket));
	enum memo_why why = MEMO_STORE;
	if (memo_open(memo, getenv(OURS "MEMO"), session) == 0)
		why = memo_ask(&question, program, words, environ);
	if (why != 0) {
		tell_why(&question, why, is_job ? notes : NULL);
		return become(program, words);
	}
	const struct memo_entry *entry = memo_find(&question, 0, &why), *of_others = NULL;
	if (entry == NULL && memo->mode == MEMO_ON)
		entry = of_others = memo_find_others(&question, &why);
	if (entry != NULL && memo->mode == MEMO_ON && !is_sure(&question, entry)) {
		if (of_others != NULL)
			memo_leave_others(&question, NULL, 0);
		entry = of_others = NULL;
		why = MEMO_FOLDER;
	}
	if (memo->mode == MEMO_CHECK) {
		why = MEMO_ONLY_CHECKED;
		if (entry != NULL)
			*put_number(known, known + sizeof known - 1, entry->check) = '\0';
	} else if (entry != NULL && is_job && entry->status != 0) {
		why = MEMO_BAD_NEWS;
	} else if (entry != NULL) {
		int status = give(&question, entry, is_job);
		if (status >= 0) {
			memo_tell_hit(memo, entry->cpu_us);
			if (of_others != NULL)
				memo_leave_others(&question, of_others, 0);
			if (is_job)
				memo_note_given(notes, entry->cpu_us);
			return status;
		}
		why = MEMO_UNDO;
		if (of_others != NULL)
			memo_leave_others(&question, NULL, 0);
	}
	tell_why(&question, why, is_job ? notes : NULL);
	if (question.is_young && memo_waits(&question, why))
		return become(program, words);
	return runs_traced(memo, known, program, words);
}
