/* libc's syscall(): programs that go past its other functions (Node's statSync does) are asked for
 * the paths that they use all the same.
 */
#include "exec.h"
#include "intents.h"
#include "kernel.h"

#include <linux/openat2.h>
#include <stdarg.h>

#define P(word) ((const char *)(word))
#define FD(word) ((int)(word))

/* What the call is about to do with its paths; 1 where that has been done already. */
static SLOW int precede(long number, long a, long b, long c, long d, long e)
{
	switch (number) {
	case SYS_openat:
		opens(FD(a), P(b), FD(c));
		return 0;
	case SYS_openat2:
		if (c != 0)
			opens(FD(a), P(b), (int)((const struct open_how *)c)->flags);
		return 0;
	case SYS_newfstatat:
	case SYS_statx:
	case SYS_faccessat:
	case SYS_faccessat2:
	case SYS_readlinkat:
		reads(FD(a), P(b));
		return 0;
	case SYS_chdir:
	case SYS_fchdir:
		guard_moves_about();
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
	case SYS_mkdirat:
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
	case SYS_unshare:
	case SYS_setns:
		leaves("/");
		return 0;
#ifdef SYS_open /* older machines have these beside */
	case SYS_open:
		opens(AT_FDCWD, P(a), FD(b));
		return 0;
	case SYS_creat:
		opens(AT_FDCWD, P(a), O_CREAT | O_WRONLY | O_TRUNC);
		return 0;
	case SYS_stat:
	case SYS_lstat:
	case SYS_access:
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

EXPORT long syscall(long number, ...)
{
	va_list list;
	long word[6];
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		word[i] = va_arg(list, long);
	va_end(list);
	if (guard.active) {
		if (number == SYS_execve)
			return execve(P(word[0]), (char *const *)word[1], (char *const *)word[2]);
		if (precede(number, word[0], word[1], word[2], word[3], word[4]))
			return 0;
	}
	return kernel(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}
