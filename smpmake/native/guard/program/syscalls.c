/* libc's syscall(): programs that go past its other functions (Node's statSync does) are asked for
 * the paths that they use all the same.
 */
#include "base/kernel.h"
#include "guard/hooks/calls.h"
#include "guard/hooks/hooked.h"
#include "guard/hooks/intents.h"
#include "guard/looks.h"

#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stdarg.h>

#define P(word) ((const char *)(word))
#define FD(word) ((int)(word))

/* What the call is about to do with its paths; 1 where that has been done already. */
static SLOW int precede(long number, const long word[6])
{
	long a = word[0], b = word[1], c = word[2], d = word[3], e = word[4], f = word[5];
	switch (number) {
	case SYS_readlinkat:
		reads(FD(a), P(b));
		return 0;
	case SYS_chdir:
	case SYS_fchdir:
		guard_moves_about();
		return 0;
	case SYS_getrandom:
		looks_draw();
		return 0;
	case SYS_inotify_add_watch:
		watches(AT_FDCWD, P(b));
		return 0;
	case SYS_fanotify_mark:
		watches(FD(d), P(e));
		return 0;
	case SYS_setitimer:
		arms(is_set(FD(a), P(b)));
		return 0;
	case SYS_timer_settime:
	case SYS_timerfd_settime:
		arms(is_set(0, P(c)));
		return 0;
	case SYS_getdents64:
		lists(FD(a), ".");
		return 0;
	case SYS_truncate:
		cuts(AT_FDCWD, P(a));
		return 0;
	case SYS_ftruncate:
		cuts_open(FD(a));
		return 0;
	case SYS_bind:
		binds(P(b), (unsigned)c);
		return 0;
	case SYS_connect:
		meets(FD(a), P(b), (unsigned)c);
		return 0;
	case SYS_sendto:
		sends(FD(a), P(e), (unsigned)f);
		return 0;
	case SYS_sendmsg:
		sends_message(FD(a), P(b));
		return 0;
	case SYS_sendmmsg:
		sends_messages(FD(a), P(b), (unsigned)c);
		return 0;
	case SYS_kill:
	case SYS_tkill:
	case SYS_rt_sigqueueinfo:
		signals(FD(a), FD(b));
		return 0;
	case SYS_tgkill:
	case SYS_rt_tgsigqueueinfo:
		signals(FD(a), FD(c));
		return 0;
	case SYS_pidfd_send_signal:
		signals_by(FD(a), FD(b));
		return 0;
	case SYS_mq_timedsend:
		writes_queue(FD(a));
		return 0;
	case SYS_msgsnd:
		sends_to_queue(FD(a));
		return 0;
	case SYS_semop:
	case SYS_semtimedop:
		locks(P(b), (size_t)c);
		return 0;
	case SYS_fchmodat:
		touches(FD(a), P(b), 1);
		return 0;
	case SYS_fchownat:
		touches(FD(a), P(b), !(e & AT_SYMLINK_NOFOLLOW));
		return 0;
	case SYS_utimensat:
		if (b != 0)
			touches(FD(a), P(b), !(d & AT_SYMLINK_NOFOLLOW));
		else
			touches_open(FD(a));
		return 0;
	case SYS_fchmod:
	case SYS_fchown:
		touches_open(FD(a));
		return 0;
	case SYS_setxattr:
	case SYS_removexattr:
		marks(AT_FDCWD, P(a), P(b), 1);
		return 0;
	case SYS_lsetxattr:
	case SYS_lremovexattr:
		marks(AT_FDCWD, P(a), P(b), 0);
		return 0;
	case SYS_fsetxattr:
	case SYS_fremovexattr:
		marks_open(FD(a), P(b));
		return 0;
	case SYS_ioctl:
		controls(FD(a), (unsigned long)b);
		return 0;
	case SYS_mkdirat:
		makes_folder(FD(a), P(b));
		return 0;
	case SYS_mknodat:
		makes(FD(a), P(b));
		return 0;
	case SYS_symlinkat:
		aliases(P(a), FD(b), P(c));
		return 0;
	case SYS_linkat:
		links(FD(a), P(b), FD(c), P(d), (int)e);
		return 0;
	case SYS_renameat:
		renames(FD(a), P(b), FD(c), P(d), 0);
		return 0;
	case SYS_renameat2:
		renames(FD(a), P(b), FD(c), P(d), (unsigned)e);
		return 0;
	case SYS_unlinkat:
		return goes(FD(a), P(b), c & AT_REMOVEDIR ? UNDO_FOLDERS : UNDO_FILES);
	case SYS_setuid:
	case SYS_setreuid:
	case SYS_setresuid:
	case SYS_chroot:
	case SYS_pivot_root:
	case SYS_mount:
	case SYS_umount2:
#ifdef SYS_move_mount
	case SYS_move_mount:
	case SYS_open_tree:
	case SYS_fsmount:
#endif
#ifdef SYS_mount_setattr
	case SYS_mount_setattr:
#endif
	case SYS_unshare:
	case SYS_setns:
		leaves("/");
		return 0;
#ifdef SYS_open /* older machines have these beside */
	case SYS_alarm:
		arms(a != 0);
		return 0;
	case SYS_readlink:
		reads(AT_FDCWD, P(a));
		return 0;
	case SYS_getdents:
		lists(FD(a), ".");
		return 0;
	case SYS_chmod:
	case SYS_chown:
	case SYS_utime:
	case SYS_utimes:
		touches(AT_FDCWD, P(a), 1);
		return 0;
	case SYS_lchown:
		touches(AT_FDCWD, P(a), 0);
		return 0;
	case SYS_mkdir:
		makes_folder(AT_FDCWD, P(a));
		return 0;
	case SYS_mknod:
		makes(AT_FDCWD, P(a));
		return 0;
	case SYS_symlink:
		aliases(P(a), AT_FDCWD, P(b));
		return 0;
	case SYS_link:
		links(AT_FDCWD, P(a), AT_FDCWD, P(b), 0);
		return 0;
	case SYS_rename:
		renames(AT_FDCWD, P(a), AT_FDCWD, P(b), 0);
		return 0;
	case SYS_unlink:
		return goes(AT_FDCWD, P(a), UNDO_FILES);
	case SYS_rmdir:
		return goes(AT_FDCWD, P(a), UNDO_FOLDERS);
#endif
	default:
		return 0;
	}
}

/* ------------------------------------------------------------------ seccomp(2) */

/* From here on the kernel may kill whoever makes a system call that the program itself never does.
 */
static long confine(long number, const long word[6])
{
	int was = is_inert();
	if (!was)
		leaves("/");
	__atomic_store_n(&guard.inert, 1, __ATOMIC_RELAXED);
	long result = kernel(number, word[0], word[1], word[2], word[3], word[4], word[5]);
	if (result != 0)
		__atomic_store_n(&guard.inert, was, __ATOMIC_RELAXED);
	return result;
}

/* Whether a call confines the process, and does not only ask what could be done. */
static int confines(long number, const long word[6])
{
	if (number == SYS_prctl)
		return word[0] == PR_SET_SECCOMP &&
		       (word[1] == SECCOMP_MODE_STRICT ||
		        (word[1] == SECCOMP_MODE_FILTER && word[2] != 0));
	return number == SYS_seccomp && (word[0] == SECCOMP_SET_MODE_STRICT ||
	                                 (word[0] == SECCOMP_SET_MODE_FILTER && word[2] != 0));
}

EXPORT int prctl(int option, ...)
{
	va_list list;
	long word[6] = {option};
	va_start(list, option);
	for (int i = 1; i < 5; i++)
		word[i] = va_arg(list, long);
	va_end(list);
	if (guard.active && confines(SYS_prctl, word))
		return (int)confine(SYS_prctl, word);
	return (int)kernel(SYS_prctl, word[0], word[1], word[2], word[3], word[4]);
}

/* ------------------------------------------------------------------ any call */

/* Whether the call opens a file; then it is completed, but for its words. */
static int is_opening(struct call *call)
{
	const long *word = call->words;
	call->dir = AT_FDCWD;
	call->path = P(word[0]);
	switch (call->number) {
#ifdef SYS_open
	case SYS_open:
		call->flags = FD(word[1]);
		return 1;
	case SYS_creat:
		call->flags = O_CREAT | O_WRONLY | O_TRUNC;
		return 1;
#endif
	case SYS_openat:
		call->flags = FD(word[2]);
		break;
	default:
		return 0;
	}
	call->dir = FD(word[0]);
	call->path = P(word[1]);
	return 1;
}

/* A look at a file, which is completed by where it is, and made. */
static int look(struct call *call, int is_at, int flags, show_answer *how, long to, long plain)
{
	call->dir = is_at ? FD(call->words[0]) : AT_FDCWD;
	call->path = P(call->words[is_at]);
	call->flags = flags;
	return look_at(call, how, (void *)to, (void *)plain);
}

/* Whether the call looks at a file; then that has been done. */
static int is_look(struct call *call, long *result)
{
	const long *word = call->words;
	switch (call->number) {
	case SYS_newfstatat:
		*result = look(call, 1, FD(word[3]), show_stat, word[2], word[2]);
		return 1;
	case SYS_statx:
		*result = look(call, 1, FD(word[2]), show_statx, word[4], 0);
		return 1;
	case SYS_faccessat:
		*result = look(call, 1, 0, show_nothing, 0, 0);
		return 1;
	case SYS_faccessat2:
		*result = look(call, 1, FD(word[3]), show_nothing, 0, 0);
		return 1;
#ifdef SYS_open
	case SYS_stat:
		*result = look(call, 0, 0, show_stat, word[1], word[1]);
		return 1;
	case SYS_lstat:
		*result = look(call, 0, AT_SYMLINK_NOFOLLOW, show_stat, word[1], word[1]);
		return 1;
	case SYS_access:
		*result = look(call, 0, 0, show_nothing, 0, 0);
		return 1;
#endif
	default:
		return 0;
	}
}

EXPORT long syscall(long number, ...)
{
	va_list list;
	struct call call = {.number = number};
	long *word = call.words, result;
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		word[i] = va_arg(list, long);
	va_end(list);
	if (guard.active && confines(number, word))
		return confine(number, word);
	if (guard.active && !is_inert()) {
		if (number == GUARD_IS_HERE)
			return 1;
		if (number == SYS_openat2)
			return open_by_how(&call);
		if (is_opening(&call))
			return open_file(&call);
		if (is_look(&call, &result))
			return result;
		if (number == SYS_execveat)
			return execveat(FD(word[0]), P(word[1]), (char *const *)word[2],
			                (char *const *)word[3], FD(word[4]));
		if (number == SYS_execve)
			return execve(P(word[0]), (char *const *)word[1], (char *const *)word[2]);
		if (precede(number, word))
			return 0;
	}
	return kernel(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}
