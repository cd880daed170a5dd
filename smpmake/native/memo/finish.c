#include "finish.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/util.h"

int memo_is_to_end(void)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
	uint64_t waiting = 0;
	kernel(SYS_rt_sigpending, &waiting, sizeof waiting);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		struct { /* the kernel's */
			uintptr_t handler;
			uint64_t more[3];
		} action = {.handler = 0};
		if (!(waiting >> (signals[i] - 1) & 1))
			continue;
		kernel(SYS_rt_sigaction, signals[i], NULL, &action, sizeof waiting);
		if (action.handler != (uintptr_t)SIG_IGN)
			return 1;
	}
	return 0;
}

void memo_pass_tick(int64_t made_ns)
{
	const struct timespec moment = {0, 500000};
	while (made_ns != 0 && memo_clock() <= made_ns)
		nanosleep(&moment, NULL);
}

int memo_date(int fd)
{
	struct timespec times[2] = {{0, UTIME_OMIT}, {0, 0}};
	return kernel(SYS_clock_gettime, CLOCK_REALTIME, &times[1]) == 0 &&
	               kernel(SYS_utimensat, fd, NULL, times, 0) == 0
	           ? 0
		   : -1;
}

int memo_is_deserted(int fd)
{
	const struct timespec none = {0, 0};
	struct pollfd end = {.fd = fd};
	return kernel(SYS_ppoll, &end, 1, &none, NULL, 0) > 0 && (end.revents & POLLERR) != 0;
}

int memo_tell_text(int fd, const char *text, size_t size)
{
	struct stat before, after;
	long at = kernel(SYS_lseek, fd, 0, SEEK_CUR);
	if (kernel(SYS_fstat, fd, &before) != 0)
		return -1;
	if (write_all(fd, text, size) == 0)
		return 0;
	if (S_ISREG(before.st_mode) && kernel(SYS_fstat, fd, &after) == 0) {
		if (after.st_size > before.st_size)
			kernel(SYS_ftruncate, fd, before.st_size);
		kernel(SYS_lseek, fd, at, SEEK_SET);
	}
	return -1;
}

/* Who would read what is there by now is not run behind it: it prints as much as there is room for,
 * as it would have done behind its work. */
int memo_tell_last(const struct memo_question *q, const struct memo_entry *entry, const char *said,
                   size_t size)
{
	if (memo_tell_text(1, said, size) == 0)
		return 0;
	if (!q->is_changer || entry->outputs == 0)
		return -1;
	write_all(1, said, size);
	return 0;
}
