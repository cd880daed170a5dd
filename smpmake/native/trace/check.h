/* --memo=check: a remembered result beside a fresh one.
 */
#ifndef SMPMAKE_CHECK_H
#define SMPMAKE_CHECK_H

#include "calls.h"

/* Tells the session that they are the same, or the first difference. */
void compare(const struct trace *trace, const struct memo_entry *known,
             const struct memo_entry *fresh);

#endif
