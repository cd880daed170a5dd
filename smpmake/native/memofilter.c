/* Which system calls wait for the tracer (memotrace.h). */
#include "memotrace.h"

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
    SYS_write,
    SYS_writev,
    SYS_pwrite64,
    SYS_close,
    SYS_fstat,
    SYS_lseek,
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
    SYS_uname,
    SYS_flock,
    SYS_fsync,
    SYS_fdatasync,
    SYS_ftruncate,
    SYS_fallocate,
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

/* Calls that read what is open, or make a second number for it: of concern where that is standard
 * input. */
static const long readers[] = {
    SYS_read, SYS_pread64, SYS_readv, SYS_preadv, SYS_fcntl, SYS_dup, SYS_dup3, SYS_copy_file_range,
#ifdef SYS_dup2
    SYS_dup2,
#endif
};

#define HARMLESS (sizeof harmless / sizeof *harmless)
#define READERS (sizeof readers / sizeof *readers)

static void put(struct sock_filter *filter, unsigned short *at, struct sock_filter one)
{
	filter[(*at)++] = one;
}

#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define TELL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)
#define LOAD(field)                                                                                \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, count)

int trace_me(void)
{
	static struct sock_filter filter[2 * HARMLESS + 5 * READERS + 40];
	struct sock_fprog program = {0, filter};
	unsigned short at = 0;
	const struct sock_filter allow = ALLOW, tell = TELL, call = LOAD(nr), first = LOAD(args[0]),
	                         second = LOAD(args[1]), fourth = LOAD(args[3]),
	                         fifth = LOAD(args[4]), machine = LOAD(arch),
	                         place = LOAD(instruction_pointer),
	                         high_place = BPF_STMT(
	                             BPF_LD | BPF_W | BPF_ABS,
	                             offsetof(struct seccomp_data, instruction_pointer) + 4);
	put(filter, &at, machine);
	put(filter, &at,
	    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TRACE_MACHINE, 1, 0));
	put(filter, &at, tell);
	put(filter, &at, call);
	for (size_t i = 0; i < READERS; i++) { /* the most frequent first */
		put(filter, &at, (struct sock_filter)SKIP_UNLESS(readers[i], 4));
		put(filter, &at, first);
		put(filter, &at, (struct sock_filter)SKIP_UNLESS(0, 1));
		put(filter, &at, tell);
		put(filter, &at, allow);
	}
	put(filter, &at, (struct sock_filter)SKIP_UNLESS(SYS_mmap, 4));
	put(filter, &at, fifth);
	put(filter, &at, (struct sock_filter)SKIP_UNLESS(0, 1));
	put(filter, &at, tell);
	put(filter, &at, allow);
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
