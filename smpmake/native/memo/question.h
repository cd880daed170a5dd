/* A command's question, and the entry that answers it.
 *
 * This room knows nothing of shims or workers, and needs no libc: it makes system calls itself.  A
 * shim gives back where nothing is pending, recall/recall.c's program under the guard;
 * trace/run.c's is what writes entries.
 */
#ifndef SMPMAKE_MEMO_QUESTION_H
#define SMPMAKE_MEMO_QUESTION_H

#include <sys/ioctl.h>

#include "layout/miss_reasons.h"
#include "memo/entry.h"

#define MEMO_NAMED 512 /* files that words may name: the objects of a large program */

struct memo_named {
	const char *path;
	struct memo_stamp stamp;
	uint32_t mode;
	unsigned char hash[SHA256_SIZE];
};

/* What belongs to a question, of these two each.  Of a command all of whose programs tell the
 * tracer which variables they ask for, only those that programs see otherwise (question.c); the
 * rest are facts.  Of any other command all do.  And the tree, unless the result is the same in
 * another. */
enum memo_scope {
	MEMO_ALL_VARIABLES = 1,
	MEMO_ONLY_HERE = 2,
	MEMO_SCOPES = 4,
};

/* A command, and its question. */
struct memo_question {
	struct memo memo;
	const char *program;
	char *const *argv, *const *env;
	unsigned char keys[MEMO_SCOPES][SHA256_SIZE];
	int scope; /* of what was found or kept last: enum memo_scope */
	struct memo_tree tree;
	int is_bound;   /* its result is not the same in another tree */
	int is_told;    /* a variable names the tree */
	int is_mapped;  /* its words have another name for the tree */
	int one_stream; /* stdout and stderr are one file */
	int terminals; /* a bit for each of stdout and stderr that is one (1 << fd), of this size */
	struct winsize size;
	int is_guarded; /* its files are written as the command would write them */
	int is_as_job;  /* it is asked of a background job, whose standard streams are a worker's */
	int is_changer; /* it may read what it makes, so that a second run is not the first */
	const char *doubted; /* what is not as it was for the newest result, or NULL */
	int may_prove;       /* an entry may be found that wants a proof */
	int is_young;        /* each command of its program hashes that anew */
	int is_update;       /* an ar that compares times of members and files (`u`) */
	size_t named_count;
	struct memo_named named[MEMO_NAMED];
};

/* The words of trace/run.c's program that runs a command; `known` as there. */
char **memo_words(const char *told, const char *session, const char *known, const char *program,
                  char *const *argv);

/* The question of a command that this process would become; 0 or why it has none. */
enum memo_why memo_ask(struct memo_question *q, const char *program, char *const *argv,
                       char *const *env);

/* Whether a file is /dev/null. */
int memo_is_null(const struct stat *info);

/* The first scope that an entry may have. */
int memo_first_scope(const struct memo_question *q);

/* Puts the name of the file by which others see that a question is at work. */
char *memo_put_mark(const struct memo_question *q, char *at);

/* The value of a variable, or NULL; `size` is that of its name. */
const char *memo_value(char *const *env, const char *name, size_t size);
void memo_hash_value(const char *value, unsigned char hash[SHA256_SIZE]);
/* Whether asking for a variable is no fact: it is in every question, or says nothing. */
int memo_is_no_fact(const char *name);
/* Whether "NAME=VALUE" is in every question. */
int memo_counts(const char *variable);

/* Whether a program's name is one of those whose results are remembered; whether it may read its
 * standard input, which no word of an assembler's need say. */
int memo_is_of_family(const char *program);
int memo_may_read_input(const char *program, char *const *argv);

/* The newest entry all of whose facts hold, or NULL and why.  `check`: that of the entry that is
 * meant, whatever of its facts holds; 0 for any. */
const struct memo_entry *memo_find(struct memo_question *q, uint64_t check, enum memo_why *why);

/* A question's file, or NULL; whether what it holds is that of the question; the entry at `*at`,
 * which is moved on (NULL at the end, or where it is damaged); what `check` is to be. */
char *memo_entries(const struct memo_question *q, int scope, size_t *size);
int memo_is_of_question(const struct memo_question *q, int scope, const char *data, size_t size);
struct memo_entry *memo_next_entry(char *data, size_t size, size_t *at);
uint64_t memo_check_of(const struct memo_entry *entry);

/* Whether what lies in the place of an output is what lay there, as far as it matters, and may be
 * replaced.  `info`: what lies there; its mode is 0 where nothing does. */
int memo_is_former(const struct memo_question *q, const struct memo_entry *entry,
                   const struct memo_output *output, struct stat *info);

/* Whether a question is in a table of the store's; with `puts` it is from now on. */
int memo_is_tagged(const struct memo_question *q, const char *table, int puts);

/* Whether a command without a result that runs in place is to run unwatched: its question came for
 * the first time, and such results are remembered of those that come again. */
int memo_waits(const struct memo_question *q, enum memo_why why);

#endif
