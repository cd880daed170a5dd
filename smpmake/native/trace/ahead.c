#include "ahead.h"
#include "calls.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

static char mark[PATH_MAX];

int is_ahead(void)
{
	return *mark != '\0' || getenv(OURS "MARKS") != NULL;
}

int begin_ahead(struct memo_question *q)
{
	enum memo_why why;
	const char *marks = getenv(OURS "MARKS");
	const uint32_t self = (uint32_t)getpid();
	const struct sched_param none = {.sched_priority = 0};
	if (strlen(marks) + 24 > sizeof mark)
		return -1;
	memo_put_mark(q, stpcpy(stpcpy(mark, marks), "/"));
	if (memo_find(q, 0, &why) != NULL)
		return -1;
	unsetenv(OURS "MARKS");
	unsetenv(OURS "INHERITED");
	int fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	int failed = write_all(fd, &self, sizeof self);
	close(fd);
	/* The script's own compiles come first. */
	return failed | sched_setscheduler(0, SCHED_IDLE, &none);
}

void end_ahead(const struct trace *trace, int is_kept)
{
	/* Who is told to end removes its temporary files, and its part makes one anew. */
	for (size_t i = 0; i < trace->altered_count && !is_kept; i++)
		if (trace->altered[i].is_temporary)
			unlink(trace->altered[i].path);
	char done[PATH_MAX + 2];
	strcpy(stpcpy(done, mark), "+");
	if (*mark != '\0' && (!is_kept || rename(mark, done) != 0))
		unlink(mark);
}
