/* A configure script's checks: listed for its next run, and answered by a run ahead of the script.
 */
#ifndef SMPMAKE_SHIM_CHECKS_H
#define SMPMAKE_SHIM_CHECKS_H

#include "context.h"
#include "memo/question.h"

/* Where a script's list, that of an earlier run and the mark of its run ahead are. */
struct script {
	char list[PATH_MAX], known[PATH_MAX], turn[PATH_MAX];
	int is_listed;
};

/* Lists a check that is about to be answered or run. */
void list_check(struct script *script, const struct memo_question *q, const struct context *s,
                const char *session);

/* Whether a check that nothing answers was being run ahead: then that has ended, and the answer may
 * be there now. */
int is_run_ahead(const struct script *script, const struct memo_question *q,
                 const struct context *s, const char *session);

/* Of a check that nothing answers: has what comes behind it run ahead. */
void run_next_ahead(const struct script *script, const struct context *s, const char *session);

/* Whether an answer was made in this session, ahead of the script: then it has saved nothing. */
int was_run_ahead(const struct script *script, const struct memo_question *q, const char *session);

#endif
