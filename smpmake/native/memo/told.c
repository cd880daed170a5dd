#include "told.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/util.h"
#include "nearest.h"

/* Where they are told; -1 where there is no such file. */
static int open_told(const struct memo *memo, int how)
{
	char path[PATH_MAX];
	if (*memo->session == '\0' || strlen(memo->session) + sizeof "/memo" > sizeof path)
		return -1;
	strcpy(stpcpy(path, memo->session), "/memo");
	return (int)kernel(SYS_openat, AT_FDCWD, path, how | O_CLOEXEC, 0);
}

void memo_tell(const struct memo *memo, const char *line, size_t size)
{
	int fd = open_told(memo, O_WRONLY | O_APPEND);
	if (fd >= 0) {
		(void)!write(fd, line, size);
		close(fd);
	}
}

char memo_told_last(const struct memo *memo)
{
	char last[32];
	struct stat info;
	int fd = open_told(memo, O_RDONLY);
	int64_t at = fd >= 0 && kernel(SYS_fstat, fd, &info) == 0 ? info.st_size : 0;
	at = at > (int64_t)sizeof last ? at - (int64_t)sizeof last : 0;
	long size = kernel(SYS_pread64, fd, last, sizeof last, at);
	close(fd);
	if (size <= 0)
		return 0;
	long first = size - 1;
	while (first > 0 && last[first - 1] != '\n')
		first--;
	return last[first];
}

const char *memo_tell_why(const struct memo_question *q, enum memo_why why)
{
	char lines[PATH_MAX + 64] = "", *end = lines + sizeof lines - 2, *at = lines;
	int is_of_fact = (why >= MEMO_FILE && why <= MEMO_OUTPUT) || why == MEMO_VARIABLE;
	const char *name = is_of_fact ? q->doubted : why == MEMO_UNKNOWN ? memo_nearest(q) : NULL;
	if (name != NULL && strlen(name) < PATH_MAX && strpbrk(name, "\n\r") == NULL) {
		at = put_number(put_text(at, end, "e "), end, why);
		at = put_text(put_text(put_text(at, end, " "), end, name), end, "\n");
	}
	at = put_number(put_text(at, end, "m "), end, why);
	*at++ = '\n';
	memo_tell(&q->memo, lines, (size_t)(at - lines));
	return name;
}

void memo_tell_number(const struct memo *memo, char letter, uint64_t number)
{
	char line[32] = {letter, ' '};
	char *end = put_number(line + 2, line + sizeof line - 1, number);
	*end++ = '\n';
	memo_tell(memo, line, (size_t)(end - line));
}
