/* What `echo` and `cat` print into files.  A check of configure is a here-document behind what is
 * known. */
#include "base/kernel.h"
#include "guard/hooks/intents.h"
#include "guard/pages.h"
#include "small_work.h"

#include <linux/fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <string.h>
#include <sys/statfs.h>

#define ROOM ((size_t)64 << 10) /* as much does not block a pipe, or wait for one */
#define FIONREAD 0x541b         /* <sys/ioctl.h> stays out, as in hooks.c */
#define SEEK_SET 0
#define SEEK_CUR 1

/* Whether a file is one that the kernel makes up for who asks, or that acts when it is written. */
static int is_made_up(int fd)
{
	struct statfs system;
	return kernel(SYS_fstatfs, fd, &system) != 0 || system.f_type == PROC_SUPER_MAGIC ||
	       system.f_type == SYSFS_MAGIC || system.f_type == CGROUP_SUPER_MAGIC ||
	       system.f_type == CGROUP2_SUPER_MAGIC;
}

enum small print_into(const char *name, const char *bytes, size_t size)
{
	struct stat info;
	int is_there = kernel(SYS_newfstatat, AT_FDCWD, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
	if (is_of_process(name) || (is_there ? !S_ISREG(info.st_mode) : errno != ENOENT))
		return LEFT;
	enum opening how = opens(AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC);
	int fd =
	    (int)kernel(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return LEFT;
	if (how == MAKING)
		undo_opened(fd);
	int failed = is_made_up(fd) || kernel(SYS_write, fd, bytes, size) != (long)size;
	return kernel(SYS_close, fd) != 0 || failed ? LEFT : DONE;
}

/* ------------------------------------------------------------------ cat */

/* What is to be printed, all of which is there before anything is. */
struct text {
	char *bytes;
	size_t size;
	struct stat output;
};

/* Reads to the end of what is open; -1 where there is no room, or no end. */
static int read_to_end(struct text *text, int fd)
{
	for (;;) {
		long got = kernel(SYS_read, fd, text->bytes + text->size, ROOM - text->size);
		if (got <= 0)
			return got == 0 && text->size < ROOM ? 0 : -1;
		text->size += (size_t)got;
	}
}

/* Whether it is a file, and not the one that is written. */
static int is_another_file(const struct text *text, int fd)
{
	struct stat info;
	return kernel(SYS_fstat, fd, &info) == 0 && S_ISREG(info.st_mode) && !is_made_up(fd) &&
	       (info.st_ino != text->output.st_ino || info.st_dev != text->output.st_dev);
}

static int read_file(struct text *text, const char *name)
{
	if (is_of_process(name))
		return -1;
	opens(AT_FDCWD, name, O_RDONLY);
	int fd = (int)kernel(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int failed = fd < 0 || !is_another_file(text, fd) || read_to_end(text, fd) != 0;
	if (fd >= 0)
		kernel(SYS_close, fd);
	return failed;
}

/* Standard input, if all of it is there: a child of vfork(2) that waits keeps its parent, who may
 * be the one to write it. */
static int read_input(struct text *text)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	struct stat info;
	int there = 0;
	if (kernel(SYS_fstat, 0, &info) != 0)
		return -1;
	if (S_ISFIFO(info.st_mode)) {
		struct timespec now = {0, 0};
		if (kernel(SYS_ppoll, &input, 1, &now, NULL, 0) < 0 || !(input.revents & POLLHUP) ||
		    kernel(SYS_ioctl, 0, FIONREAD, &there) != 0 || there < 0 ||
		    text->size + (size_t)there >= ROOM)
			return -1;
		return read_to_end(text, 0);
	}
	long at = kernel(SYS_lseek, 0, 0, SEEK_CUR);
	if (at < 0 || !is_another_file(text, 0))
		return -1;
	if (read_to_end(text, 0) == 0)
		return 0;
	kernel(SYS_lseek, 0, at, SEEK_SET);
	return -1;
}

/* Has `cat` itself print what could not be printed, and say why not. */
static void hand_over(struct rest *rest, char *name, const char *bytes, size_t size)
{
	int fd = (int)kernel(SYS_memfd_create, "rest", 0);
	if (fd < 0 || kernel(SYS_write, fd, bytes, size) != (long)size)
		kernel(SYS_exit_group, 1);
	kernel(SYS_lseek, fd, 0, SEEK_SET);
	if (fd != 0) {
		kernel(SYS_dup3, fd, 0, 0);
		kernel(SYS_close, fd);
	}
	rest->words[0] = name;
	rest->words[1] = NULL;
}

enum small print_files(char *const *argv, struct rest *rest)
{
	char *const *names = argv + 1;
	struct text text = {.size = 0};
	int failed = 0, count = 0;
	if (kernel(SYS_fstat, 1, &text.output) != 0 || !S_ISREG(text.output.st_mode))
		return LEFT;
	for (; names[count] != NULL; count++) /* options; and input is read last, as it is once */
		if (*names[count] == '-' && (names[count][1] != '\0' || names[count + 1] != NULL))
			return LEFT;
	if ((text.bytes = pages_take(ROOM)) == NULL)
		return LEFT;
	for (int i = 0; i < count && !failed; i++)
		failed = *names[i] == '-' ? read_input(&text) : read_file(&text, names[i]);
	if (count == 0)
		failed = read_input(&text);
	size_t done = 0;
	while (!failed && done < text.size) {
		long got = kernel(SYS_write, 1, text.bytes + done, text.size - done);
		if (got > 0)
			done += (size_t)got;
		else if (got == 0 || errno != EINTR)
			failed = 1;
		if (failed)
			hand_over(rest, argv[0], text.bytes + done, text.size - done);
	}
	pages_give(text.bytes, ROOM);
	return failed ? LEFT : DONE;
}
