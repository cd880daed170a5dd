/* System calls of our own, past libc: its `syscall` is one of the hooks. */
#ifndef SMPMAKE_KERNEL_H
#define SMPMAKE_KERNEL_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

/* As syscall(2): -1 and errno where it failed.  Arguments may be numbers or pointers. */
#define kernel(...) KERNEL_CALL(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define KERNEL_CALL(number, a, b, c, d, e, f, ...)                                                 \
	kernel_call(number, KERNEL_WORD(a), KERNEL_WORD(b), KERNEL_WORD(c), KERNEL_WORD(d),        \
	            KERNEL_WORD(e), KERNEL_WORD(f))
#define KERNEL_WORD(value) ((long)(value))

/* Of a timespec, or a time of statx(2), in ns. */
#define NS_OF(time) ((int64_t)(time).tv_sec * 1000000000 + (time).tv_nsec)

/* libc's syscall() of this number is 1 where a guard is at work in the process; else ENOSYS. */
#define GUARD_IS_HERE 0x534d504bL

static inline long kernel_call(long number, long a, long b, long c, long d, long e, long f)
{
	long result;
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
	                 : "+r"(x0)
	                 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
	                 : "memory");
	result = x0;
#else
#error "this machine's system calls are not known here"
#endif
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

#endif
