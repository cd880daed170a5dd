#include "remember.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/kernel.h"
#include "base/util.h"
#include "checks.h"
#include "invocation.h"
#include "memo/give.h"
#include "memo/other_tree.h"
#include "memo/told.h"
#include "memo/undo_journal.h"
#include "unasked.h"

int execute(const char *real, char **argv, char **env)
{
	execve(real, argv, env);
	return tell_cannot_run(argv[0], real);
}

/* The folder of the session, in which its socket is; "" where nothing is remembered. */
static const char *session_of(const struct context *s)
{
	static char session[PATH_MAX];
	const char *slash = strrchr(s->socket, '/');
	size_t size = slash != NULL ? (size_t)(slash - s->socket) : 0;
	if (s->memo == NULL || s->memo_program == NULL || size >= sizeof session)
		return "";
	memcpy(session, s->socket, size);
	session[size] = '\0';
	return session;
}

int remember(const char *real, char **argv, const struct context *s)
{
	static struct memo_question question;
	const char *session = session_of(s);
	if (*session == '\0')
		return execute(real, argv, s->env);
	enum memo_why why = MEMO_STORE;
	if (memo_open(&question.memo, s->memo, session) == 0)
		why = memo_ask(&question, real, argv, s->env);
	if (why != 0) {
		memo_tell_why(&question, why);
		return execute(real, argv, s->env);
	}
	memo_keep_by(s->board);
	const struct memo_entry *entry = NULL;
	static struct script script;
	list_check(&script, &question, s, session);
	if (question.memo.mode == MEMO_CHECK)
		why = MEMO_ONLY_CHECKED;
	else
		entry = memo_find(&question, 0, &why);
	if (entry == NULL && is_run_ahead(&script, &question, s, session))
		entry = memo_find(&question, 0, &why);
	if (entry == NULL && question.memo.mode == MEMO_ON)
		run_next_ahead(&script, s, session);
	if (entry != NULL) {
		int status = memo_give(&question, entry);
		if (status >= 0) {
			int is_ours = was_run_ahead(&script, &question, session);
			memo_tell_hit(&question.memo, is_ours ? 0 : entry->cpu_us);
			return status;
		}
		why = MEMO_UNDO;
	}
	memo_tell_why(&question, why);
	if (memo_waits(&question, why))
		return execute(real, argv, s->env);
	execve(s->memo_program, memo_words(s->memo, session, "", real, argv), s->env);
	return execute(real, argv, s->env);
}

/* ------------------------------------------------------------------ a command of the build */

static uint64_t microseconds(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

/* What the command read of what is not the system's, nor ours, as its guards would have noted it.
 */
static char *reads_of(const struct memo_question *q, const struct memo_entry *entry,
                      const struct context *s, uint32_t *size)
{
	char room[PATH_MAX];
	const struct memo_fact *fact = MEMO_FIRST_FACT(entry);
	const size_t ours = (size_t)(strrchr(s->memo_program, '/') - s->memo_program) + 1;
	char *reads = must_alloc(entry->size + entry->facts * q->tree.top), *at = reads;
	for (uint32_t i = 0; i < entry->facts; i++, fact = MEMO_NEXT(fact)) {
		const char *path =
		    memo_placed(&q->tree, memo_origin(entry), (const char *)(fact + 1), room);
		if (fact->kind == MEMO_IS_FILE && fact->flags & MEMO_IS_READ && !is_foreign(path) &&
		    strncmp(path, s->memo_program, ours) != 0)
			at = stpcpy(at, path) + 1;
	}
	*size = (uint32_t)(at - reads);
	return reads;
}

static void tell_server(const struct memo_question *q, const char *tool, const char *real,
                        char **argv, const struct context *s, const struct memo_entry *entry,
                        int64_t start_ns)
{
	struct rusage used;
	struct wire_given given = {.start_ns = start_ns};
	char *reads = reads_of(q, entry, s, &given.reads_len);
	int connection = open_connection(s->socket);
	if (connection < 0)
		return;
	memset(&used, 0, sizeof used);
	kernel(SYS_getrusage, RUSAGE_SELF, &used);
	given.user_us = microseconds(&used.ru_utime);
	given.system_us = microseconds(&used.ru_stime);
	given.end_ns = clock_ns(CLOCK_MONOTONIC);
	send_given(connection, tool, real, argv, s, &given, reads);
}

/* Whether a command of the session had its result, by what was told of it. */
static int is_hit(char told)
{
	return told == 'h' || told == 'r';
}

int give_back(const char *tool, const char *real, char **argv, const struct context *s)
{
	static struct memo_question question; /* large: zeros, which no file has to hold */
	const char *session = session_of(s);
	enum memo_why why = 0;
	if (*session == '\0' || s->board == NULL || !s->has_guard || s->is_line ||
	    !memo_is_of_family(real) || memo_may_read_input(real, argv) || !is_idle(s->board, 0))
		return -1;
	int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	if (memo_open(&question.memo, s->memo, session) != 0 || question.memo.mode != MEMO_ON)
		return -1;
	question.is_as_job = 1;
	char last = memo_told_last(&question.memo);
	if ((last != 0 && !is_hit(last)) || memo_ask(&question, real, argv, s->env) != 0)
		return -1;
	memo_keep_by(s->board);
	const struct memo_entry *entry = memo_find(&question, 0, &why);
	/* A failure is repeated before it is told: that is for the server. */
	if (entry == NULL || entry->status != 0)
		return -1;
	int status = memo_give(&question, entry);
	if (status < 0)
		return -1;
	memo_tell_hit(&question.memo, entry->cpu_us);
	tell_server(&question, tool, real, argv, s, entry, start_ns);
	return status;
}

int has_result(char *const *argv, const struct context *s)
{
	struct memo memo;
	const char *session = session_of(s);
	return *session != '\0' && s->board != NULL && s->has_guard && argv[1] != NULL &&
	       strcmp(argv[1], "-c") == 0 && argv[2] != NULL && compiler_begins(argv[2]) &&
	       is_idle(s->board, 0) && memo_open(&memo, s->memo, session) == 0 &&
	       memo.mode == MEMO_ON && is_hit(memo_told_last(&memo));
}

int run_in_place(const char *real, char **argv, const struct context *s)
{
	size_t count = 0;
	if (s->memo == NULL || s->recall_program == NULL || !memo_is_of_family(real))
		return execute(real, argv, s->env);
	while (argv[count] != NULL)
		count++;
	char **words = must_alloc((count + 2) * sizeof *words);
	words[0] = argv[0];
	words[1] = (char *)(uintptr_t)real;
	memcpy(words + 2, argv + 1, count * sizeof *words);
	execve(s->recall_program, words, s->env);
	return execute(real, argv, s->env);
}
