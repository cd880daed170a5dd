/* libc's names for system calls, for who has no libc (bare/bare.c). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/kernel.h"

#define SIGNALS sizeof(uint64_t) /* what the kernel reads of a set */

#ifdef __GLIBC__ /* its names for two types */
#define RESOURCE __rlimit_resource_t
#define ADDRESS __CONST_SOCKADDR_ARG
#define POINTER(address) (address).__sockaddr__
#else
#define RESOURCE int
#define ADDRESS const struct sockaddr *
#define POINTER(address) (address)
#endif

/* ------------------------------------------------------------------ files */

_Noreturn void _exit(int status)
{
	for (;;)
		kernel(SYS_exit_group, status);
}

ssize_t read(int fd, void *buffer, size_t size)
{
	return kernel(SYS_read, fd, buffer, size);
}

ssize_t write(int fd, const void *buffer, size_t size)
{
	return kernel(SYS_write, fd, buffer, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	return kernel(SYS_writev, fd, parts, count);
}

int open(const char *path, int flags, ...)
{
	return (int)kernel(SYS_openat, AT_FDCWD, path, flags, 0);
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	return (int)kernel(SYS_nanosleep, wanted, left);
}

int close(int fd)
{
	return (int)kernel(SYS_close, fd);
}

int fcntl(int fd, int command, ...)
{
	va_list more;
	va_start(more, command);
	uintptr_t value = command == F_SETLK ? (uintptr_t)va_arg(more, struct flock *)
	                                     : (uintptr_t)va_arg(more, int);
	va_end(more);
	return (int)kernel(SYS_fcntl, fd, command, value);
}

int stat(const char *restrict path, struct stat *restrict info)
{
	return (int)kernel(SYS_newfstatat, AT_FDCWD, path, info, 0);
}

int fstat(int fd, struct stat *info)
{
	return (int)kernel(SYS_fstat, fd, info);
}

int access(const char *path, int mode)
{
	return (int)kernel(SYS_faccessat, AT_FDCWD, path, mode);
}

char *getcwd(char *buffer, size_t size)
{
	if (kernel(SYS_getcwd, buffer, size) < 0)
		return NULL;
	if (*buffer == '/')
		return buffer;
	errno = ENOENT; /* it has no name any more */
	return NULL;
}

mode_t umask(mode_t mask)
{
	return (mode_t)kernel(SYS_umask, mask);
}

pid_t getpid(void)
{
	return (pid_t)kernel(SYS_getpid);
}

pid_t getppid(void)
{
	return (pid_t)kernel(SYS_getppid);
}

int getrlimit(RESOURCE resource, struct rlimit *limit)
{
	return (int)kernel(SYS_prlimit64, 0, resource, NULL, limit);
}

int execve(const char *path, char *const argv[], char *const env[])
{
	return (int)kernel(SYS_execve, path, argv, env);
}

int socket(int domain, int type, int protocol)
{
	return (int)kernel(SYS_socket, domain, type, protocol);
}

int connect(int fd, ADDRESS address, socklen_t size)
{
	return (int)kernel(SYS_connect, fd, POINTER(address), size);
}

ssize_t send(int fd, const void *buffer, size_t size, int flags)
{
	return kernel(SYS_sendto, fd, buffer, size, flags, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	return kernel(SYS_sendmsg, fd, message, flags);
}

int lstat(const char *restrict path, struct stat *restrict info)
{
	return (int)kernel(SYS_newfstatat, AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW);
}

/* By the rights that the process is used with. */
int faccessat(int folder, const char *path, int mode, int flags)
{
	long failed = kernel(SYS_faccessat2, folder, path, mode, flags);
	if (failed != 0 && errno == ENOSYS) /* before Linux 5.8 */
		failed = kernel(SYS_faccessat, folder, path, mode);
	return (int)failed;
}

ssize_t readlink(const char *restrict path, char *restrict text, size_t size)
{
	return kernel(SYS_readlinkat, AT_FDCWD, path, text, size);
}

int unlink(const char *path)
{
	return (int)kernel(SYS_unlinkat, AT_FDCWD, path, 0);
}

int rename(const char *from, const char *to)
{
	return (int)kernel(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int dup2(int from, int to)
{
	return from == to ? to : (int)kernel(SYS_dup3, from, to, 0);
}

int pipe2(int ends[2], int flags)
{
	return (int)kernel(SYS_pipe2, ends, flags);
}

off_t lseek(int fd, off_t by, int from)
{
	return kernel(SYS_lseek, fd, by, from);
}

ssize_t pread(int fd, void *buffer, size_t size, off_t at)
{
	return kernel(SYS_pread64, fd, buffer, size, at);
}

int ftruncate(int fd, off_t size)
{
	return (int)kernel(SYS_ftruncate, fd, size);
}

int memfd_create(const char *name, unsigned int flags)
{
	return (int)kernel(SYS_memfd_create, name, flags);
}

void *mmap(void *at, size_t size, int rights, int flags, int fd, off_t from)
{
	return (void *)kernel(SYS_mmap, at, size, rights, flags, fd, from);
}

int munmap(void *memory, size_t size)
{
	return (int)kernel(SYS_munmap, memory, size);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list more;
	va_start(more, request);
	void *value = va_arg(more, void *);
	va_end(more);
	return (int)kernel(SYS_ioctl, fd, request, value);
}

int poll(struct pollfd *all, nfds_t count, int ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
	return (int)kernel(SYS_ppoll, all, count, ms < 0 ? NULL : &left, NULL, 0);
}

int ppoll(struct pollfd *all, nfds_t count, const struct timespec *wait, const sigset_t *mask)
{
	struct timespec left = wait != NULL ? *wait : (struct timespec){0, 0};
	return (int)kernel(SYS_ppoll, all, count, wait != NULL ? &left : NULL, mask, SIGNALS);
}

/* The kernel's own form of it has fewer letters, and no speeds. */
struct terminal_modes {
	tcflag_t input, output, control, local;
	cc_t line, letters[19];
};

int tcgetattr(int fd, struct termios *modes)
{
	struct terminal_modes own;
	if (kernel(SYS_ioctl, fd, TCGETS, &own) != 0)
		return -1;
	*modes = (struct termios){.c_iflag = own.input,
	                          .c_oflag = own.output,
	                          .c_cflag = own.control,
	                          .c_lflag = own.local,
	                          .c_line = own.line};
	memcpy(modes->c_cc, own.letters, sizeof own.letters);
	return 0;
}

int tcsetattr(int fd, int when, const struct termios *modes)
{
	struct terminal_modes own = {.input = modes->c_iflag,
	                             .output = modes->c_oflag,
	                             .control = modes->c_cflag,
	                             .local = modes->c_lflag,
	                             .line = modes->c_line};
	memcpy(own.letters, modes->c_cc, sizeof own.letters);
	return (int)kernel(SYS_ioctl, fd, TCSETS + when, &own);
}

/* ------------------------------------------------------------------ processes */

pid_t fork(void)
{
	return (pid_t)kernel(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

pid_t wait4(pid_t process, int *status, int flags, struct rusage *used)
{
	return (pid_t)kernel(SYS_wait4, process, status, flags, used);
}

pid_t waitpid(pid_t process, int *status, int flags)
{
	return wait4(process, status, flags, NULL);
}

int kill(pid_t process, int number)
{
	return (int)kernel(SYS_kill, process, number);
}

uid_t geteuid(void)
{
	return (uid_t)kernel(SYS_geteuid);
}

gid_t getegid(void)
{
	return (gid_t)kernel(SYS_getegid);
}

int prctl(int what, ...)
{
	unsigned long values[4];
	va_list more;
	va_start(more, what);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		values[i] = va_arg(more, unsigned long);
	va_end(more);
	return (int)kernel(SYS_prctl, what, values[0], values[1], values[2], values[3]);
}

int sched_setscheduler(pid_t process, int policy, const struct sched_param *wanted)
{
	return (int)kernel(SYS_sched_setscheduler, process, policy, wanted);
}

ssize_t process_vm_readv(pid_t process, const struct iovec *to, unsigned long count,
                         const struct iovec *from, unsigned long others, unsigned long flags)
{
	return kernel(SYS_process_vm_readv, process, to, count, from, others, flags);
}

long syscall(long number, ...)
{
	long values[6];
	va_list more;
	va_start(more, number);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		values[i] = va_arg(more, long);
	va_end(more);
	return kernel(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

/* ------------------------------------------------------------------ signals */

int sigemptyset(sigset_t *set)
{
	memset(set, 0, sizeof *set);
	return 0;
}

int sigaddset(sigset_t *set, int number)
{
	*(uint64_t *)(void *)set |= UINT64_C(1) << (number - 1);
	return 0;
}

int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict before)
{
	return (int)kernel(SYS_rt_sigprocmask, how, set, before, SIGNALS);
}

/* The kernel's own form of it. */
struct action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

#ifdef __x86_64__ /* whose kernel does not end a handler by itself */
#define RESTORED 0x04000000
void bare_restore(void);
__asm__("bare_restore:\n\tmov $15, %eax\n\tsyscall\n");
#else
#define RESTORED 0
#define bare_restore NULL
#endif

int sigaction(int number, const struct sigaction *restrict wanted,
              struct sigaction *restrict before)
{
	struct action given, was = {.mask = 0};
	if (wanted != NULL)
		given = (struct action){wanted->sa_handler, (unsigned)wanted->sa_flags | RESTORED,
		                        bare_restore,
		                        *(const uint64_t *)(const void *)&wanted->sa_mask};
	if (kernel(SYS_rt_sigaction, number, wanted != NULL ? &given : NULL, &was, SIGNALS) != 0)
		return -1;
	if (before != NULL) {
		*before =
		    (struct sigaction){.sa_flags = (int)(was.flags & ~(unsigned long)RESTORED)};
		before->sa_handler = was.handler;
		memcpy(&before->sa_mask, &was.mask, sizeof was.mask);
	}
	return 0;
}
