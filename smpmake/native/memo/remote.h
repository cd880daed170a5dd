/* Results that other machines remember.
 *
 * smpmake-memo asks its session for them (layout/remote.h); the session talks to the server
 * (smpmake/session/memo_remote.py).  It knows nothing of entries: what comes from there is judged
 * here, and written into the store; what goes there is made here.
 */
#ifndef SMPMAKE_MEMO_REMOTE_H
#define SMPMAKE_MEMO_REMOTE_H

#include "layout/remote.h"
#include "question.h"

/* Where no entry of this machine holds: one of others that does, all of whose contents are here
 * now; NULL: there is none.  `why`: what was wrong with ours. */
const struct memo_entry *memo_find_others(struct memo_question *q, enum memo_why *why);

/* What became of it: it was given back, or (NULL) was not.  `why` as above, where the session has
 * been told of that miss; else 0. */
void memo_leave_others(const struct memo_question *q, const struct memo_entry *given,
                       enum memo_why why);

/* What has just been stored others may have, too. */
void memo_offer(const struct memo_question *q);

#endif
