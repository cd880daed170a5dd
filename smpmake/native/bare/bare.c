/* The few functions of libc that the shim calls, so that it need not start one.
 *
 * A build starts a shim for each command, and most of its time was libc's start: it asks what the
 * CPU can do, which a virtual machine answers slowly.  Names, types and results are libc's (a shim
 * is linked with that where this cannot be used); of each only what the shim uses is here.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/kernel.h"

#define ARENA (64u << 10)

#ifdef __GLIBC__ /* its names for two types */
#define RESOURCE __rlimit_resource_t
#define ADDRESS __CONST_SOCKADDR_ARG
#define POINTER(address) (address).__sockaddr__
#else
#define RESOURCE int
#define ADDRESS const struct sockaddr *
#define POINTER(address) (address)
#endif

int main(int argc, char **argv);
__attribute__((noreturn, used)) void bare_start(uintptr_t *stack);

char **environ;
static int number_of_error;

int *__errno_location(void)
{
	return &number_of_error;
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n"
        "\tcall bare_start\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tmov x30, #0\n\tmov x0, sp\n"
        "\tb bare_start\n");
#endif

/* The kernel puts the number of arguments, these, NULL, the environment and NULL there. */
void bare_start(uintptr_t *stack)
{
	int argc = (int)stack[0];
	char **argv = (char **)(stack + 1);
	environ = argv + argc + 1;
	_exit(main(argc, argv));
}

/* ------------------------------------------------------------------ memory and words */

char *getenv(const char *name)
{
	size_t length = strlen(name);
	for (char **variable = environ; *variable != NULL; variable++)
		if (strncmp(*variable, name, length) == 0 && (*variable)[length] == '=')
			return *variable + length + 1;
	return NULL;
}

/* Never given back: the shim lives as long as one question takes. */
void *malloc(size_t size)
{
	static _Alignas(16) char arena[ARENA];
	static size_t used;
	size = (size + 15) & ~(size_t)15;
	if (size <= sizeof arena - used) {
		used += size;
		return arena + used - size;
	}
	long memory =
	    kernel(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == -1 ? NULL : (void *)memory;
}

char *strerror(int number)
{
	static const struct {
		int number;
		char text[40];
	} known[] = {
	    {ENOENT, "No such file or directory"},
	    {EACCES, "Permission denied"},
	    {EPERM, "Operation not permitted"},
	    {ENOEXEC, "Exec format error"},
	    {E2BIG, "Argument list too long"},
	    {ELOOP, "Too many levels of symbolic links"},
	    {ENOMEM, "Cannot allocate memory"},
	    {ENOTDIR, "Not a directory"},
	    {EISDIR, "Is a directory"},
	    {ETXTBSY, "Text file busy"},
	    {ENAMETOOLONG, "File name too long"},
	    {EIO, "Input/output error"},
	    {EPROTO, "Protocol error"},
	    {ECONNRESET, "Connection reset by peer"},
	};
	static char other[] = "Unknown error 0000";
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].number == number)
			return (char *)(uintptr_t)known[i].text;
	for (char *digit = other + sizeof other - 2; *digit != ' '; digit--, number /= 10)
		*digit = (char)('0' + number % 10);
	return other;
}

/* ------------------------------------------------------------------ system calls */

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
