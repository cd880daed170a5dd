/* What reaches other processes past files: signals, FIFOs, queues.  Who has the guard asks by
 * itself when it looks; so has everybody that the build has started and that can take one.
 */
#include "tells.h"
#include "base/kernel.h"
#include "guard/asking.h"
#include "guard/guard.h"
#include "guard/pages.h"
#include "guard/view/peers.h"
#include "guard/view/questions.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

/* As getdents64(2) gives it. */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t size;
	uint8_t type;
	char name[];
};

#define NAME_SIZE 64 /* of what lies in /proc/PID */

static const char *in_proc(char room[NAME_SIZE], const char *process, const char *name)
{
	stpcpy(stpcpy(stpcpy(room, "/proc/"), process), name);
	return room;
}

/* Whether a file's text has one of some words, each shorter than `most`; -1 where it is empty. */
static int has_word(int fd, const char *const *words, size_t most, char room[PATH_MAX])
{
	size_t kept = 0;
	int is_empty = 1;
	long got;
	while ((got = kernel(SYS_read, fd, room + kept, PATH_MAX - 1 - kept)) > 0) {
		size_t size = kept + (size_t)got;
		is_empty = 0;
		for (size_t i = kept; i < size; i++) /* an environment's texts end so */
			room[i] = room[i] == '\0' ? '\n' : room[i];
		room[size] = '\0';
		for (const char *const *word = words; *word != NULL; word++)
			if (strstr(room, *word) != NULL)
				return 1;
		kept = size < most ? size : most;
		memmove(room, room + size - kept, kept);
	}
	return is_empty ? -1 : 0;
}

static int file_has_word(const char *process, const char *name, const char *const *words)
{
	char path[NAME_SIZE];
	ON_PAGE(room);
	int fd =
	    (int)kernel(SYS_openat, AT_FDCWD, in_proc(path, process, name), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH;
	int has = room != NULL && has_word(fd, words, 32, room);
	kernel(SYS_close, fd);
	return has;
}

/* Whether a process has the guard, or will have it as soon as it is a tool; or is part of a job: to
 * wait for that would be to wait for ourselves.  One that is gone reads nothing any more. */
static int is_guarded(const char *process)
{
	static const char *const maps[] = {"/smpmake-guard.so\n", "/smpmake-shim\n", NULL};
	static const char *const numbers[] = {OURS "COMMAND=", NULL};
	return file_has_word(process, "/maps", maps) || file_has_word(process, "/environ", numbers);
}

static int is_guarded_pid(int pid)
{
	char digits[12], *end = digits + sizeof digits - 1;
	*end = '\0';
	return pid == (int)kernel(SYS_getpid) || is_guarded(digits_before(end, (unsigned)pid));
}

/* Whether it only ends or stops whom it reaches, or does nothing. */
static int says_nothing(int signal)
{
	return signal == 0 || signal == SIGKILL || signal == SIGSTOP;
}

void guard_signals(int pid, int signal)
{
	int before = errno;
	int own_group = pid == 0 || (pid < -1 && -pid == (int)kernel(SYS_getpgid, 0));
	if (!guard.is_part && !says_nothing(signal) && !own_group &&
	    (pid == -1 || !is_guarded_pid(pid < 0 ? -pid : pid)))
		guard_see_everything("/");
	errno = before;
}

void guard_signals_by(int pidfd, int signal)
{
	int before = errno, pid = 0;
	char info[512], name[OPEN_NAME_SIZE + 4], digits[OPEN_NAME_SIZE];
	strcpy(stpcpy(name, "/proc/self/fdinfo/"),
	       open_name((unsigned)pidfd, digits) + strlen("/proc/self/fd/"));
	int fd = (int)kernel(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
	long size = fd >= 0 ? kernel(SYS_read, fd, info, sizeof info - 1) : 0;
	info[size > 0 ? size : 0] = '\0';
	const char *at = strstr(info, "\nPid:\t");
	for (at = at != NULL ? at + 6 : ""; *at >= '0' && *at <= '9'; at++)
		pid = pid * 10 + *at - '0';
	if (fd >= 0)
		kernel(SYS_close, fd);
	errno = before;
	if (pid > 0) /* else it has ended */
		guard_signals(pid, signal);
}

/* ------------------------------------------------------------------ who reads */

/* Whether a process has a file open to read it; -1 where we may not know. */
static int reads_it(const char *process, const struct stat *file, char room[PATH_MAX])
{
	char path[NAME_SIZE];
	struct stat info;
	int is = 0;
	long size;
	int fd = (int)kernel(SYS_openat, AT_FDCWD, in_proc(path, process, "/fd"),
	                     O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? -1 : 0;
	while (!is && (size = kernel(SYS_getdents64, fd, room, PATH_MAX)) > 0)
		for (long at = 0; at < size && !is; at += ((struct entry *)(room + at))->size) {
			const char *name = ((struct entry *)(room + at))->name;
			is = *name != '.' && kernel(SYS_newfstatat, fd, name, &info, 0) == 0 &&
			     info.st_dev == file->st_dev && info.st_ino == file->st_ino &&
			     kernel(SYS_newfstatat, fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
			     info.st_mode & S_IRUSR;
		}
	kernel(SYS_close, fd);
	return is;
}

/* Who reads a file, besides us. */
struct readers {
	int guarded, strangers;
	int hidden; /* processes of which we may not know */
};

static SLOW struct readers readers_of(const struct stat *file)
{
	struct readers found = {0, 0, 0};
	ON_PAGE(names);
	ON_PAGE(room);
	char digits[12], *own = digits + sizeof digits - 1;
	long size;
	int fd = (int)kernel(SYS_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*own = '\0';
	own = digits_before(own, (unsigned)kernel(SYS_getpid));
	while (fd >= 0 && names != NULL && room != NULL &&
	       (size = kernel(SYS_getdents64, fd, names, PATH_MAX)) > 0)
		for (long at = 0; at < size; at += ((struct entry *)(names + at))->size) {
			const char *name = ((struct entry *)(names + at))->name;
			if (*name < '0' || *name > '9' || strcmp(name, own) == 0)
				continue;
			int reads = reads_it(name, file, room);
			found.hidden += reads < 0;
			if (reads <= 0)
				continue;
			if (is_guarded(name))
				found.guarded++;
			else
				found.strangers++;
		}
	if (fd >= 0)
		kernel(SYS_close, fd);
	return found;
}

#define LOOKS 100 /* for a reader that has just been woken: its descriptor comes a moment later */

/* Whether somebody without the guard reads a file. */
static SLOW int has_strange_reader(const struct stat *file)
{
	const struct timespec moment = {0, 2000000};
	struct readers found = readers_of(file);
	for (int i = 0; i < LOOKS && found.guarded + found.strangers == 0; i++) {
		kernel(SYS_nanosleep, &moment, NULL);
		found = readers_of(file);
	}
	return found.strangers > 0 || (found.guarded == 0 && found.hidden > 0);
}

void guard_opens_fifo(int fd)
{
	int before = errno;
	struct stat info;
	if (!guard.is_part && kernel(SYS_fstat, fd, &info) == 0 && S_ISFIFO(info.st_mode) &&
	    has_strange_reader(&info))
		guard_see_everything("/");
	errno = before;
}

void guard_writes_queue(int fd)
{
	int before = errno;
	struct stat info;
	if (!guard.is_part && kernel(SYS_fstat, fd, &info) == 0 && has_strange_reader(&info))
		guard_see_everything("/");
	errno = before;
}

/* ------------------------------------------------------------------ System V's */

static int locked; /* semaphores that this process has taken */

void guard_sends(int id)
{
	int before = errno;
	struct msqid_ds queue;
	if (!guard.is_part && __atomic_load_n(&locked, __ATOMIC_RELAXED) == 0 &&
	    kernel(SYS_msgctl, id, IPC_STAT, &queue) == 0 &&
	    is_before_build(((int64_t)queue.msg_ctime + 1) * 1000000000)) /* at its second's end */
		guard_see_everything("/");
	errno = before;
}

void guard_locks(const void *steps, size_t count)
{
	const struct sembuf *step = steps;
	for (size_t i = 0; i < count; i++) {
		int has = __atomic_load_n(&locked, __ATOMIC_RELAXED) - step[i].sem_op;
		__atomic_store_n(&locked, has > 0 ? has : 0, __ATOMIC_RELAXED);
	}
}
