/* What a job is to find at a path. */
#ifndef SMPMAKE_VIEW_H
#define SMPMAKE_VIEW_H

#include "guard.h"

enum view {
	AS_IT_IS,
	NOT_THERE,
	ELSEWHERE /* `elsewhere`, of PATH_MAX, says where */
};

/* Before a job looks at a path: waits for who has still to write it. */
enum view view_of(int dir, const char *path, char *elsewhere);
/* The same before it is opened: its age is looked at then. */
enum view view_of_named(int dir, const char *path, char *elsewhere);
/* Of what it has just opened: it may have changed, or come into being, since its issue. */
enum view view_of_opened(int fd, int dir, const char *path, char *elsewhere);

/* Whether a link's way leads over a name of what has been changed under us. */
int leads_to_versions(int dir, const char *path);

#endif
