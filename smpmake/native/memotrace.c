#include "memotrace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util.h"

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#else
#define MACHINE AUDIT_ARCH_AARCH64
#endif
#define OTHER_CALLS 0x40000000u /* x32's */
/* Bytes that glibc's heap asks for, and shows to nobody; and the guard, for a temporary name. */
#define RANDOM_OF_MALLOC 8
#define RANDOM_OF_NAMES 6
#define SYNC_WAKE 1u /* SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, Linux 6.6 */

/* ------------------------------------------------------------------ the filter */

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
	static struct sock_filter filter[2 * HARMLESS + 4 * READERS + 32];
	struct sock_fprog program = {0, filter};
	unsigned short at = 0;
	const struct sock_filter allow = ALLOW, tell = TELL, call = LOAD(nr), first = LOAD(args[0]),
	                         second = LOAD(args[1]), fourth = LOAD(args[3]),
	                         fifth = LOAD(args[4]), machine = LOAD(arch);
	put(filter, &at, machine);
	put(filter, &at, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0));
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
	/* fstatat(fd, "", ..., AT_EMPTY_PATH) is fstat(fd). */
	put(filter, &at, (struct sock_filter)SKIP_UNLESS(SYS_newfstatat, 4));
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

/* ------------------------------------------------------------------ what is noted */

void trace_spoil(struct trace *trace, enum memo_why why)
{
	if (trace->why == 0)
		trace->why = why;
}

static void *grown(void *items, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return items;
	*room = *room * 2 + 256;
	items = realloc(items, *room * size);
	if (items == NULL)
		abort();
	return items;
}

void trace_begin(struct trace *trace, const struct memo_question *question)
{
	memset(trace, 0, sizeof *trace);
	trace->question = question;
	trace->began_ns = memo_clock();
	if (getcwd(trace->home, sizeof trace->home - 1) == NULL)
		trace_spoil(trace, MEMO_UNREADABLE);
	if (strcmp(trace->home, "/") != 0)
		strcat(trace->home, "/");
	trace->place_count = 1u << 14;
	trace->places = calloc(trace->place_count, sizeof *trace->places);
	if (trace->places == NULL)
		abort();
}

struct altered *trace_altered(const struct trace *trace, const char *path)
{
	for (size_t i = 0; i < trace->altered_count; i++)
		if (strcmp(trace->altered[i].path, path) == 0)
			return &trace->altered[i];
	return NULL;
}

/* Whether a file is one that the command itself has made, by whatever name. */
static int is_made(const struct trace *trace, const struct stat *info)
{
	for (size_t i = 0; i < trace->altered_count; i++) {
		struct stat made;
		if (stat(trace->altered[i].path, &made) == 0 && made.st_ino == info->st_ino &&
		    made.st_dev == info->st_dev)
			return 1;
	}
	return 0;
}

static int starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* What the guard in a process looks at: the session, where it keeps older contents on other file
 * systems (smpmake/undo/places.py), and the process itself. */
static int is_guards(const struct trace *trace, const char *path)
{
	const char *session = trace->question->memo.session, *kept = path;
	size_t size = strlen(session);
	const char *name = size > 0 ? strrchr(session, '/') + 1 : "";
	while (size > 0 && (kept = strstr(kept, "/.")) != NULL) {
		kept += 2;
		if (starts(kept, name) && kept[strlen(name)] == '/')
			return 1;
	}
	return (size > 0 && starts(path, session) && path[size] == '/') ||
	       strcmp(path, "/proc/self/exe") == 0 || starts(path, "/proc/self/fd/") ||
	       strcmp(path, "/proc/self/schedstat") == 0;
}

/* A new place for a look; NULL where there was one. */
static struct look *new_look(struct trace *trace, const char *path, int way, int flags)
{
	size_t at = memo_sum(path, strlen(path)) + (size_t)way * 3 + (size_t)flags;
	for (;; at++) {
		uint32_t place = trace->places[at % trace->place_count];
		if (place == 0)
			break;
		const struct look *known = &trace->looks[place - 1];
		if (known->way == way && known->flags == flags && strcmp(known->path, path) == 0)
			return NULL;
	}
	if (trace->look_count >= trace->place_count / 2) {
		trace_spoil(trace, MEMO_LARGE);
		return NULL;
	}
	trace->looks =
	    grown(trace->looks, trace->look_count, &trace->look_room, sizeof *trace->looks);
	struct look *look = &trace->looks[trace->look_count++];
	memset(look, 0, sizeof *look);
	look->path = strdup(path);
	look->flags = (uint16_t)flags;
	look->way = way;
	trace->places[at % trace->place_count] = (uint32_t)trace->look_count;
	return look;
}

enum { LOOKS = 0, READS_LINK = 1, LISTS = 2, OPENS = 3 };

/* One spelling for what is below the folder in which the command works. */
static const char *short_of(const struct trace *trace, const char *path)
{
	size_t size = strlen(trace->home);
	if (size > 1 && strncmp(path, trace->home, size) == 0 && path[size] != '\0' &&
	    path[size] != '/')
		path += size;
	while (starts(path, "./") && path[2] != '\0' && path[2] != '/')
		path += 2;
	return path;
}

int trace_named(const struct trace *trace, const char *path)
{
	const struct memo_question *q = trace->question;
	for (size_t i = 0; i < q->named_count; i++)
		if (strcmp(short_of(trace, q->named[i].path), path) == 0)
			return (int)i;
	return -1;
}

/* Only the date needs these; the time of day alone is nothing that a compiler tells of. */
static int is_of_clock(const char *path)
{
	return strcmp(path, "/etc/localtime") == 0 || strstr(path, "/zoneinfo") != NULL;
}

static void look_at(struct trace *trace, const char *path, int nofollow, int opens)
{
	struct memo_stamp stamp;
	if (is_of_clock(path))
		trace_spoil(trace, MEMO_CLOCK);
	if (is_guards(trace, path) || trace_altered(trace, path) != NULL)
		return;
	struct look *look =
	    new_look(trace, path, opens ? OPENS : LOOKS, nofollow ? MEMO_NO_FOLLOW : 0);
	if (look == NULL)
		return;
	struct stat *info = &look->info;
	if ((nofollow ? lstat(path, info) : stat(path, info)) != 0) {
		look->kind = MEMO_IS_ABSENT;
		info->st_rdev = (dev_t)errno;
		if (errno != ENOENT && errno != ENOTDIR)
			trace_spoil(trace, MEMO_ERROR);
		return;
	}
	look->opened = opens;
	if (S_ISREG(info->st_mode)) {
		look->kind = MEMO_IS_FILE;
		memo_stamp_of(info, &stamp);
		if (is_made(trace, info)) {
			look->kind = 0;
			return;
		}
		if (trace_named(trace, path) >= 0)
			look->flags |= MEMO_IS_NAMED;
		else if (stamp.changed_ns >= trace->began_ns - MEMO_TICK)
			trace_spoil(trace, MEMO_YOUNG);
	} else if (S_ISDIR(info->st_mode)) {
		look->kind = MEMO_IS_FOLDER;
	} else if (S_ISLNK(info->st_mode)) {
		char target[PATH_MAX];
		ssize_t size = readlink(path, target, sizeof target - 1);
		look->kind = MEMO_IS_LINK;
		look->target = strndup(target, size > 0 ? (size_t)size : 0);
	} else if (strcmp(path, "/dev/null") == 0 || strcmp(path, "/dev/zero") == 0) {
		look->kind = MEMO_IS_DEVICE;
	} else {
		trace_spoil(trace,
		            strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0
		                ? MEMO_RANDOM
				: MEMO_SPECIAL);
	}
	if (starts(path, "/proc/") || starts(path, "/sys/"))
		trace_spoil(trace, MEMO_SPECIAL);
	if (opens && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0)
		trace_spoil(trace, MEMO_ERROR);
}

static void look_at_link(struct trace *trace, const char *path)
{
	char target[PATH_MAX];
	if (is_guards(trace, path) || trace_altered(trace, path) != NULL)
		return;
	struct look *look = new_look(trace, path, READS_LINK, MEMO_NO_FOLLOW);
	if (look == NULL)
		return;
	ssize_t size = readlink(path, target, sizeof target);
	if (size >= 0) {
		look->kind = MEMO_IS_LINK;
		look->target = strndup(target, (size_t)size);
	} else if (errno == EINVAL) {
		look->kind = MEMO_IS_NO_LINK;
	} else {
		look->kind = MEMO_IS_ABSENT;
		look->info.st_rdev = (dev_t)errno;
		if (errno != ENOENT && errno != ENOTDIR)
			trace_spoil(trace, MEMO_ERROR);
	}
}

static void look_at_folder_of(struct trace *trace, const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t size = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
	memcpy(folder, path, size);
	strcpy(folder + size, size == 0 ? "." : "");
	look_at(trace, folder, 0, 0);
	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0 && errno != ENOENT &&
	    errno != ENOTDIR)
		trace_spoil(trace, MEMO_ERROR);
}

/* What has been looked at and is about to change: its content is known now or never. */
static void hash_before(struct trace *trace, const char *path)
{
	struct memo_stamp stamp;
	uint32_t has;
	for (size_t i = 0; i < trace->look_count; i++) {
		struct look *look = &trace->looks[i];
		if (look->kind != MEMO_IS_FILE || strcmp(look->path, path) != 0)
			continue;
		memo_stamp_of(&look->info, &stamp);
		look->is_hashed =
		    memo_content(&trace->question->memo, path, &stamp, look->hash, &has) == 0;
		if (!look->is_hashed)
			trace_spoil(trace, MEMO_CHANGED);
		if (look->opened && has & MEMO_HAS_CLOCK)
			trace_spoil(trace, MEMO_CLOCK);
	}
}

/* `keeps`: what is there may stay, or be read. */
static void alter(struct trace *trace, const char *path, int is_opened, int keeps, int is_new)
{
	if (is_guards(trace, path) || strcmp(path, "/dev/null") == 0 ||
	    trace_altered(trace, path) != NULL)
		return;
	look_at_folder_of(trace, path);
	struct altered one = {.path = strdup(path)};
	if (lstat(path, &one.before) == 0) {
		const struct stat *before = &one.before;
		one.was_there = 1;
		if (!S_ISREG(before->st_mode) || before->st_nlink != 1 ||
		    before->st_uid != geteuid() || is_made(trace, before))
			trace_spoil(trace, MEMO_FORMER);
		if (is_opened && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
			trace_spoil(trace, MEMO_ERROR);
		if (keeps)
			look_at(trace, path, 0, 1);
		hash_before(trace, path);
	} else if (errno != ENOENT) {
		trace_spoil(trace, MEMO_ERROR);
	} else if (is_new) {
		one.is_temporary = 1;
	}
	trace->altered = grown(trace->altered, trace->altered_count, &trace->altered_room,
	                       sizeof *trace->altered);
	trace->altered[trace->altered_count++] = one;
}

/* ------------------------------------------------------------------ calls */

/* A text in another process; -1 where it cannot be read, or is too long. */
static int text_of(pid_t process, uint64_t address, char room[PATH_MAX])
{
	const size_t page = 4096;
	size_t size = 0;
	while (size < PATH_MAX) {
		size_t piece = page - (address + size) % page;
		piece = piece < PATH_MAX - size ? piece : PATH_MAX - size;
		struct iovec to = {room + size, piece};
		struct iovec from = {(void *)(uintptr_t)(address + size), piece}; // NOLINT
		ssize_t got = process_vm_readv(process, &to, 1, &from, 1, 0);
		if (got <= 0)
			return -1;
		if (memchr(room + size, '\0', (size_t)got) != NULL)
			return 0;
		size += (size_t)got;
	}
	return -1;
}

static int link_of(pid_t process, int fd, char room[PATH_MAX])
{
	char name[64];
	snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)process, fd);
	ssize_t size = readlink(name, room, PATH_MAX - 1);
	room[size > 0 ? size : 0] = '\0';
	return size > 0 && *room == '/' ? 0 : -1;
}

/* The path that a call means, relative to the folder in which all of the command works. */
static int path_of(struct trace *trace, const struct seccomp_notif *call, int dir, uint64_t address,
                   char room[PATH_MAX])
{
	char name[PATH_MAX];
	if (text_of((pid_t)call->pid, address, name) != 0) {
		trace_spoil(trace, MEMO_CALL);
		return -1;
	}
	if (dir == AT_FDCWD || *name == '/') {
		strcpy(room, short_of(trace, name));
		return 0;
	}
	if (link_of((pid_t)call->pid, dir, room) != 0 ||
	    strlen(room) + strlen(name) + 2 > PATH_MAX) {
		trace_spoil(trace, MEMO_CALL);
		return -1;
	}
	strcpy(stpcpy(room + strlen(room), "/"), name);
	strcpy(name, short_of(trace, room));
	strcpy(room, name);
	return 0;
}

static void note_opening(struct trace *trace, const char *path, int flags)
{
	if (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) {
		if ((flags & O_TMPFILE) == O_TMPFILE)
			trace_spoil(trace, MEMO_CALL);
		else
			alter(trace, path, 1, !(flags & (O_TRUNC | O_EXCL)),
			      (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL));
	} else {
		look_at(trace, path, (flags & O_NOFOLLOW) != 0, !(flags & O_PATH));
	}
}

/* A guard moves what is about to be removed to where it is kept. */
static void note_move(struct trace *trace, const char *from, const char *to)
{
	alter(trace, from, 0, !is_guards(trace, to), 0);
	alter(trace, to, 0, 0, 0);
}

/* The kernel opens a program's loader without a call. */
static void note_program(struct trace *trace, pid_t process, const char *path)
{
	char head[4096], *loader = NULL;
	struct {
		unsigned char ident[16];
		uint16_t type, machine;
		uint32_t version;
		uint64_t entry, parts;
		uint64_t sections;
		uint32_t flags;
		uint16_t size, part_size, part_count;
	} elf;
	struct {
		uint32_t type, flags;
		uint64_t offset, address, physical, size, memory, align;
	} part;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, head, sizeof head) : -1;
	if (fd >= 0)
		close(fd);
	if (size < 0) /* not there: the caller tries the next */
		return;
	if (size < (ssize_t)sizeof elf || memcmp(head, "\177ELF\2", 5) != 0) {
		trace_spoil(trace, MEMO_SCRIPT);
		return;
	}
	memcpy(&elf, head, sizeof elf);
	for (size_t i = 0; i < elf.part_count; i++) {
		uint64_t at = elf.parts + i * sizeof part;
		if (elf.part_size != sizeof part || at + sizeof part > (size_t)size) {
			trace_spoil(trace, MEMO_CALL);
			return;
		}
		memcpy(&part, head + at, sizeof part);
		if (part.type != 3) /* PT_INTERP */
			continue;
		if (part.offset + part.size > (size_t)size || part.size == 0 ||
		    head[part.offset + part.size - 1] != '\0')
			trace_spoil(trace, MEMO_CALL);
		else
			loader = head + part.offset;
	}
	if (loader != NULL)
		look_at(trace, loader, 0, 1);
	for (size_t i = 0; i < trace->at_work_count; i++)
		if (trace->at_work[i] == process)
			return;
	trace->at_work = grown(trace->at_work, trace->at_work_count, &trace->at_work_room,
	                       sizeof *trace->at_work);
	trace->at_work[trace->at_work_count++] = process;
}

static void note_end(struct trace *trace, pid_t process)
{
	for (size_t i = 0; i < trace->at_work_count; i++)
		if (trace->at_work[i] == process)
			trace->at_work[i] = trace->at_work[--trace->at_work_count];
}

static void note_reading(struct trace *trace, pid_t process)
{
	char theirs[PATH_MAX] = "", ours[PATH_MAX] = "", name[64];
	snprintf(name, sizeof name, "/proc/%d/fd/0", (int)process);
	ssize_t size = readlink(name, theirs, sizeof theirs - 1);
	ssize_t own = readlink("/proc/self/fd/0", ours, sizeof ours - 1);
	if (size < 0 || own < 0 || (strcmp(theirs, ours) == 0 && strcmp(ours, "/dev/null") != 0))
		trace_spoil(trace, MEMO_INPUT);
}

#define A(n) (call->data.args[n])
#define FD(n) ((int)call->data.args[n])

static void note(struct trace *trace, const struct seccomp_notif *call)
{
	char path[PATH_MAX], other[PATH_MAX];
	pid_t process = (pid_t)call->pid;
#define AT(dir, n) (path_of(trace, call, dir, A(n), path) == 0)
	if (call->data.arch != MACHINE || (uint32_t)call->data.nr & OTHER_CALLS) {
		trace_spoil(trace, MEMO_CALL);
		return;
	}
	switch (call->data.nr) {
	case SYS_openat:
		if (AT(FD(0), 1))
			note_opening(trace, path, FD(2));
		return;
	case SYS_newfstatat:
		if (AT(FD(0), 1))
			look_at(trace, path, (FD(3) & AT_SYMLINK_NOFOLLOW) != 0, 0);
		return;
	case SYS_statx:
		if (AT(FD(0), 1) && (*path != '\0' && path[strlen(path) - 1] != '/'))
			look_at(trace, path, (FD(2) & AT_SYMLINK_NOFOLLOW) != 0, 0);
		return;
	case SYS_faccessat:
	case SYS_faccessat2:
		if (AT(FD(0), 1))
			look_at(trace, path, 0, 0);
		return;
	case SYS_readlinkat:
		if (AT(FD(0), 1))
			look_at_link(trace, path);
		return;
	case SYS_execve:
		if (AT(AT_FDCWD, 0)) {
			look_at(trace, path, 0, 1);
			note_program(trace, process, path);
		}
		return;
	case SYS_unlinkat:
		if (FD(2) == 0 && AT(FD(0), 1))
			alter(trace, path, 0, 0, 0);
		else
			trace_spoil(trace, MEMO_CALL);
		return;
	case SYS_fchmodat:
		if (AT(FD(0), 1))
			alter(trace, path, 0, 1, 0);
		return;
	case SYS_renameat:
	case SYS_renameat2:
		if (call->data.nr == SYS_renameat2 && FD(4) != 0)
			trace_spoil(trace, MEMO_CALL);
		if (path_of(trace, call, FD(2), A(3), other) == 0 && AT(FD(0), 1))
			note_move(trace, path, other);
		return;
	case SYS_linkat:
		if (path_of(trace, call, FD(2), A(3), other) == 0 && AT(FD(0), 1) &&
		    is_guards(trace, other))
			alter(trace, path, 0, 0, 0);
		else
			trace_spoil(trace, MEMO_CALL);
		return;
	case SYS_getdents64:
		if (link_of(process, FD(0), path) == 0) {
			struct look *look = new_look(trace, path, LISTS, 0);
			if (look != NULL)
				look->kind = MEMO_HAS_NAMES;
		} else {
			trace_spoil(trace, MEMO_CALL);
		}
		return;
	case SYS_exit_group:
		note_end(trace, process);
		return;
	case SYS_read:
	case SYS_readv:
	case SYS_pread64:
	case SYS_preadv:
	case SYS_fcntl:
	case SYS_dup:
	case SYS_dup3:
#ifdef SYS_dup2
	case SYS_dup2:
#endif
	case SYS_copy_file_range:
	case SYS_mmap:
		note_reading(trace, process);
		return;
	case SYS_getrandom:
		trace_spoil(trace, MEMO_RANDOM);
		return;
	case SYS_socket:
	case SYS_connect:
		trace_spoil(trace, MEMO_SPECIAL);
		return;
#ifdef SYS_open /* older machines have these beside */
	case SYS_open:
		if (AT(AT_FDCWD, 0))
			note_opening(trace, path, FD(1));
		return;
	case SYS_creat:
		if (AT(AT_FDCWD, 0))
			note_opening(trace, path, O_WRONLY | O_CREAT | O_TRUNC);
		return;
	case SYS_stat:
	case SYS_access:
		if (AT(AT_FDCWD, 0))
			look_at(trace, path, 0, 0);
		return;
	case SYS_lstat:
		if (AT(AT_FDCWD, 0))
			look_at(trace, path, 1, 0);
		return;
	case SYS_readlink:
		if (AT(AT_FDCWD, 0))
			look_at_link(trace, path);
		return;
	case SYS_unlink:
		if (AT(AT_FDCWD, 0))
			alter(trace, path, 0, 0, 0);
		return;
	case SYS_chmod:
		if (AT(AT_FDCWD, 0))
			alter(trace, path, 0, 1, 0);
		return;
	case SYS_rename:
		if (path_of(trace, call, AT_FDCWD, A(1), other) == 0 && AT(AT_FDCWD, 0))
			note_move(trace, path, other);
		return;
#endif
	default:
		trace_spoil(trace, MEMO_CALL);
	}
}

int trace_serve(struct trace *trace, int listener)
{
	struct seccomp_notif call;
	memset(&call, 0, sizeof call);
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
		return 0;
	if (trace->why == 0 || call.data.nr == SYS_exit_group)
		note(trace, &call);
	struct seccomp_notif_resp answer = {.id = call.id,
	                                    .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0 || errno == ENOENT;
}
