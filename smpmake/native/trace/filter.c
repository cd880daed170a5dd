/* Which system calls wait for the tracer (trace/calls.h). */
#include "calls.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bytes that glibc's heap asks for, and shows to nobody; and the guard, for a temporary name. */
#define RANDOM_OF_MALLOC 8
#define RANDOM_OF_NAMES 6

/* Calls that concern what is open already, memory, or the process itself. */
static const long harmless[] = {
    SYS_close,
    SYS_fstat,
    SYS_mprotect,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_ioctl,
    SYS_pipe2,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getgroups,
    SYS_getpgid,
    SYS_getsid,
    SYS_exit,
    SYS_wait4,
    SYS_waitid,
    SYS_kill,
    SYS_tgkill,
    SYS_flock,
    SYS_fsync,
    SYS_fdatasync,
    SYS_fadvise64,
    SYS_getcwd,
    SYS_umask,
    SYS_fchmod,
    SYS_getrusage,
    SYS_times,
    SYS_sysinfo,
    SYS_prlimit64,
    SYS_prctl,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_rseq,
    SYS_futex,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_clone,
    SYS_clone3,
    SYS_membarrier,
    SYS_mincore,
    SYS_ppoll,
    SYS_pselect6,
    SYS_fgetxattr,
#ifdef SYS_fork /* older machines have these beside */
    SYS_fork,
    SYS_vfork,
    SYS_pipe,
    SYS_poll,
    SYS_select,
    SYS_getpgrp,
    SYS_time,
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_arch_prctl,
#endif
};

/* Calls that read or write what is open, or make a second number for it: of concern where the
 * command has it from who started it. */
static const long users[] = {
    SYS_read,   SYS_write,  SYS_pread64,         SYS_pwrite64,  SYS_readv,
    SYS_writev, SYS_preadv, SYS_lseek,           SYS_ftruncate, SYS_fallocate,
    SYS_dup,    SYS_dup3,   SYS_copy_file_range,
#ifdef SYS_dup2
    SYS_dup2,
#endif
};

#define HARMLESS (sizeof harmless / sizeof *harmless)
#define USERS (sizeof users / sizeof *users)
#define MOST_INHERITED 12 /* who has more is not traced */

static void put(struct sock_filter *filter, unsigned short *at, struct sock_filter one)
{
	filter[(*at)++] = one;
}

#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define TELL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)
#define LOAD(field)                                                                                \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, count)

/* Descriptors beside the standard ones that a command gets: config.log, a make's job server. */
static int find_inherited(int inherited[MOST_INHERITED])
{
	int count = 0;
	for (int fd = 3; fd < 64; fd++) {
		int flags = fcntl(fd, F_GETFD);
		if (flags < 0 || flags & FD_CLOEXEC)
			continue;
		if (count == MOST_INHERITED)
			return -1;
		inherited[count++] = fd;
	}
	return count;
}

/* Of standard input no more is of concern than what is in it. */
static int may_read(long call)
{
	return call != SYS_write && call != SYS_pwrite64 && call != SYS_writev &&
	       call != SYS_lseek && call != SYS_ftruncate && call != SYS_fallocate;
}

/* A call waits where its argument, which is loaded, is one of these, or for a reader
 * standard input. */
static void put_users(struct sock_filter *filter, unsigned short *at, long call,
                      const struct sock_filter *argument, int is_reader, const int *inherited,
                      int count)
{
	const struct sock_filter allow = ALLOW, tell = TELL;
	int first = is_reader ? -1 : 0;
	put(filter, at, (struct sock_filter)SKIP_UNLESS(call, (uint8_t)(2 + 2 * (count - first))));
	put(filter, at, *argument);
	for (int i = first; i < count; i++) {
		put(filter, at, (struct sock_filter)SKIP_UNLESS(i < 0 ? 0 : inherited[i], 1));
		put(filter, at, tell);
	}
	put(filter, at, allow);
}

int trace_me(void)
{
	static struct sock_filter
	    filter[2 * HARMLESS + (USERS + 2) * (5 + 2 * MOST_INHERITED) + 40];
	struct sock_fprog program = {0, filter};
	int inherited[MOST_INHERITED], count = find_inherited(inherited);
	unsigned short at = 0;
	const struct sock_filter allow = ALLOW, tell = TELL, call = LOAD(nr), first = LOAD(args[0]),
	                         second = LOAD(args[1]), fourth = LOAD(args[3]),
	                         fifth = LOAD(args[4]), machine = LOAD(arch),
	                         place = LOAD(instruction_pointer),
	                         high_place = BPF_STMT(
	                             BPF_LD | BPF_W | BPF_ABS,
	                             offsetof(struct seccomp_data, instruction_pointer) + 4);
	if (count < 0)
		return -1;
	put(filter, &at, machine);
	put(filter, &at,
	    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TRACE_MACHINE, 1, 0));
	put(filter, &at, tell);
	put(filter, &at, call);
	for (size_t i = 0; i < USERS; i++) /* the most frequent first */
		put_users(filter, &at, users[i], &first, may_read(users[i]), inherited, count);
	/* gcc asks of a make's job server whether it is there. */
	put_users(filter, &at, SYS_fcntl, &first, 1, inherited, 0);
	put_users(filter, &at, SYS_mmap, &fifth, 1, inherited, count);
	for (size_t i = 0; i < HARMLESS; i++) {
		put(filter, &at, (struct sock_filter)SKIP_UNLESS(harmless[i], 1));
		put(filter, &at, allow);
	}
	/* What a guard notes itself (looks.h). */
	put(filter, &at, place);
	put(filter, &at, (struct sock_filter)SKIP_UNLESS(LOOKS_AT + LOOKS_BEHIND, 3));
	put(filter, &at, high_place);
	put(filter, &at, (struct sock_filter)SKIP_UNLESS(0, 1));
	put(filter, &at, allow);
	put(filter, &at, call);
	/* fstatat(fd, "", ..., AT_EMPTY_PATH) is fstat(fd). */
	put(filter, &at, (struct sock_filter)SKIP_UNLESS(SYS_newfstatat, 6));
	put(filter, &at, first);
	put(filter, &at,
	    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)AT_FDCWD, 3, 0));
	put(filter, &at, fourth);
	put(filter, &at,
	    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 0, 1));
	put(filter, &at, allow);
	put(filter, &at, tell);
	put(filter, &at, (struct sock_filter)SKIP_UNLESS(SYS_getrandom, 5));
	put(filter, &at, second);
	put(filter, &at,
	    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RANDOM_OF_MALLOC, 1, 0));
	put(filter, &at, (struct sock_filter)SKIP_UNLESS(RANDOM_OF_NAMES, 1));
	put(filter, &at, allow);
	put(filter, &at, tell);
	put(filter, &at, tell);
	program.len = at;
	for (int again = 0; again < 2; again++) {
		long listener = syscall(
		    SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		    SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
		if (listener >= 0)
			return (int)listener;
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
			break;
	}
	return -1;
}
