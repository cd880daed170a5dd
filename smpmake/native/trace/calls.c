#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/util.h"

#define OTHER_CALLS 0x40000000u /* x32's */
#define LINKS 40                /* on the way to a program, as many as the kernel follows */
#define RANDOM_OF_LIBC 32       /* bytes of a key from which more are made, since glibc 2.41 */

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

void trace_name_fd(pid_t process, int fd, char name[64])
{
	const char *end = name + 63;
	char *at = put_number(put_text(name, end, "/proc/"), end, (unsigned long)process);
	*put_number(put_text(at, end, "/fd/"), end, (unsigned long)fd) = '\0';
}

static int link_of(pid_t process, int fd, char room[PATH_MAX])
{
	char name[64];
	trace_name_fd(process, fd, name);
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
		strcpy(room, trace_asked(trace, name));
		return 0;
	}
	if (link_of((pid_t)call->pid, dir, room) != 0 ||
	    strlen(room) + strlen(name) + 2 > PATH_MAX) {
		trace_spoil(trace, MEMO_CALL);
		return -1;
	}
	strcpy(stpcpy(room + strlen(room), "/"), name);
	strcpy(name, trace_short(trace, room));
	strcpy(room, name);
	return 0;
}

/* Nothing can be made where there is no folder. */
static int has_folder(const char *path)
{
	char folder[PATH_MAX];
	return memo_folder_of(path, folder) == 0 && access(folder, F_OK) == 0;
}

static void note_opening(struct trace *trace, pid_t process, const char *path, int flags)
{
	/* A guard reads such links, and opens none: whose file that is only the process knows. */
	if (strncmp(path, LOOKS_OWN, strlen(LOOKS_OWN)) == 0 || strcmp(path, "/proc/self/exe") == 0)
		trace_spoil(trace, MEMO_SPECIAL);
	if (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) {
		if ((flags & O_TMPFILE) == O_TMPFILE) {
			trace_spoil(trace, MEMO_CALL);
			return;
		}
		int makes = flags & O_CREAT && has_folder(path);
		trace_leave(trace_alter(trace, path, 1, !(flags & O_TRUNC) || flags & O_EXCL,
		                        (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)),
		            makes ? LEAVES_FILE : LEAVES_ANY, process);
	} else {
		trace_look_at(trace, path, (flags & O_NOFOLLOW) != 0, !(flags & O_PATH));
	}
}

/* A guard copies what is about to be written to: it opens it so, and then the copy. */
#define COPIES (O_RDONLY | O_CLOEXEC | O_NOATIME)

static void note_copying(struct trace *trace, pid_t process, const char *path, int flags)
{
	int is_last = trace->copied != 0 && trace->copied == trace->look_count;
	if (flags & O_CREAT && is_last && trace->copier == process && trace_is_guards(trace, path))
		trace_drop_look(trace);
	trace->copied = 0;
	if ((flags & ~O_LARGEFILE) == COPIES) {
		size_t before = trace->look_count;
		trace_look_at(trace, path, 0, 1);
		trace->copied = trace->look_count > before ? trace->look_count : 0;
		trace->copier = process;
	}
}

/* A guard moves what is about to be removed to where it is kept. */
static void note_move(struct trace *trace, pid_t process, const char *from, const char *to)
{
	trace_leave(trace_alter(trace, from, 0, !trace_is_guards(trace, to), 0), LEAVES_NONE, 0);
	trace_leave(trace_alter(trace, to, 0, 0, 0), LEAVES_FILE, process);
}

static void note_attributes(struct trace *trace, pid_t process, const char *path)
{
	trace_leave(trace_alter(trace, path, 1, 1, 0), LEAVES_ANY, process);
}

static void note_removal(struct trace *trace, const char *path)
{
	trace_leave(trace_alter(trace, path, 0, 0, 0), LEAVES_NONE, 0);
}

/* Its guard, if it has one, tells us so before its program runs (trace/notes.c).  What the program
 * is shows when all has ended (trace/entry.c), but for what the command has made itself. */
static void note_silent(struct trace *trace, pid_t process, const char *path)
{
	struct look *look = trace_find(trace, path, OPENS, 0);
	if (look == NULL || look->kind != MEMO_IS_FILE || trace_altered(trace, path) != NULL)
		trace->has_unseen = 1;
	else
		look->is_run = 1;
	/* Nobody knows what a silent program before it has asked for. */
	for (size_t i = 0; i < trace->silent_count; i++)
		trace->has_unseen |= trace->silent[i] == process;
	trace->silent = trace_grown(trace->silent, trace->silent_count, &trace->silent_room,
	                            sizeof *trace->silent);
	trace->silent[trace->silent_count++] = process;
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
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t size = fd >= 0 ? read(fd, head, sizeof head) : -1;
	if (fd >= 0)
		close(fd);
	if (size < 0) /* not there: the caller tries the next */
		return;
	if (strncmp(path, "/proc/", 6) == 0) { /* another's */
		trace_spoil(trace, MEMO_SPECIAL);
		return;
	}
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
		trace_look_at(trace, loader, 0, 1);
	note_silent(trace, process, path);
	for (size_t i = 0; i < trace->at_work_count; i++)
		if (trace->at_work[i] == process)
			return;
	trace->at_work = trace_grown(trace->at_work, trace->at_work_count, &trace->at_work_room,
	                             sizeof *trace->at_work);
	trace->at_work[trace->at_work_count++] = process;
}

/* The loader looks for libraries beside the file to which links lead ($ORIGIN), and so do programs
 * by /proc/self/exe: the same program in another folder is another. */
static void note_links(struct trace *trace, const char *path)
{
	char at[PATH_MAX], target[PATH_MAX], rest[PATH_MAX], *end = at;
	int links = 0;
	strcpy(at, path);
	while (*end != '\0') {
		end = strchrnul(end + 1, '/');
		strcpy(rest, end);
		*end = '\0';
		ssize_t size = readlink(at, target, sizeof target - 1);
		if (size < 0) {
			strcpy(end, rest);
			continue;
		}
		target[size] = '\0';
		trace_look_at_link(trace, at);
		const char *slash = strrchr(at, '/');
		size_t folder = *target == '/' || slash == NULL ? 0 : (size_t)(slash - at) + 1;
		if (++links > LINKS || folder + strlen(target) + strlen(rest) >= sizeof at) {
			trace_spoil(trace, MEMO_CALL);
			return;
		}
		strcpy(stpcpy(at + folder, target), rest);
		end = at;
	}
}

/* Where in `guarded` the process of a thread is, from `at` on. */
static size_t guard_of(const struct trace *trace, size_t at, pid_t thread)
{
	while (at < trace->guarded_count && syscall(SYS_tgkill, trace->guarded[at], thread, 0) != 0)
		at++;
	return at;
}

/* Its process becomes another program, or none. */
static void forget_guard(struct trace *trace, pid_t thread)
{
	size_t at = 0;
	while ((at = guard_of(trace, at, thread)) < trace->guarded_count)
		trace->guarded[at] = trace->guarded[--trace->guarded_count];
}

/* Of newer libcs every process asks for so many bytes, from which libc makes names of temporary
 * files and the like; of a program that wants some its guard hears (hooks.def). */
static void note_random(struct trace *trace, pid_t thread, uint64_t size)
{
	if (size != RANDOM_OF_LIBC || guard_of(trace, 0, thread) == trace->guarded_count)
		trace_spoil(trace, MEMO_RANDOM);
}

static void note_link(struct trace *trace, pid_t process, const char *path)
{
	/* A guard looks where what it has open lies, and notes when its program does. */
	if (strncmp(path, LOOKS_OWN, strlen(LOOKS_OWN)) == 0 &&
	    guard_of(trace, 0, process) == trace->guarded_count)
		trace_spoil(trace, MEMO_SPECIAL);
	else
		trace_look_at_link(trace, path);
}

static void note_end(struct trace *trace, pid_t process)
{
	forget_guard(trace, process);
	trace_left(trace, process);
	for (size_t i = 0; i < trace->at_work_count; i++)
		if (trace->at_work[i] == process)
			trace->at_work[i] = trace->at_work[--trace->at_work_count];
}

/* It uses what the command was started with, unless it has opened another file by that number. */
static void note_using(struct trace *trace, pid_t process, int fd)
{
	char theirs[PATH_MAX] = "", ours[PATH_MAX] = "", name[64];
	trace_name_fd(process, fd, name);
	ssize_t size = readlink(name, theirs, sizeof theirs - 1);
	trace_name_fd(getpid(), fd, name);
	ssize_t own = readlink(name, ours, sizeof ours - 1);
	if (size < 0 || own < 0 || (strcmp(theirs, ours) == 0 && strcmp(ours, "/dev/null") != 0))
		trace_spoil(trace, MEMO_INPUT);
}

static int is_folder(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* ------------------------------------------------------------------ a guard's questions */

static int is_asking(const struct trace *trace, pid_t process, int fd)
{
	for (size_t i = 0; i < ASKING; i++)
		if (trace->asking[i].process == process && trace->asking[i].fd == fd)
			return 1;
	return 0;
}

/* Nobody else than our own server is told anything. */
static void note_connection(struct trace *trace, const struct seccomp_notif *call)
{
	struct sockaddr_un address;
	pid_t process = (pid_t)call->pid;
	int fd = (int)call->data.args[0];
	uint64_t size = call->data.args[2];
	struct iovec to = {&address, size < sizeof address ? size : sizeof address};
	struct iovec from = {(void *)(uintptr_t)call->data.args[1], to.iov_len}; // NOLINT
	memset(&address, 0, sizeof address);
	(void)!process_vm_readv(process, &to, 1, &from, 1, 0);
	address.sun_path[sizeof address.sun_path - 1] = '\0';
	if (address.sun_family != AF_UNIX || !trace_is_guards(trace, address.sun_path)) {
		trace_spoil(trace, MEMO_SPECIAL);
		return;
	}
	size_t free = 0;
	for (size_t i = 0; i < ASKING; i++)
		if (trace->asking[i].process == process || trace->asking[free].process != 0)
			free = i; /* a guard asks one thing at a time */
	trace->asking[free].process = process;
	trace->asking[free].fd = fd;
}

/* What path_of makes of no name: statx(fd, "", AT_EMPTY_PATH) is fstat(fd). */
static int is_folder_itself(const char *path)
{
	return *path == '\0' || path[strlen(path) - 1] == '/';
}

#define A(n) (call->data.args[n])
#define FD(n) ((int)call->data.args[n])

static void note(struct trace *trace, const struct seccomp_notif *call)
{
	char path[PATH_MAX], other[PATH_MAX];
	pid_t process = (pid_t)call->pid;
#define AT(dir, n) (path_of(trace, call, dir, A(n), path) == 0)
	if (call->data.arch != TRACE_MACHINE || (uint32_t)call->data.nr & OTHER_CALLS) {
		trace_spoil(trace, MEMO_CALL);
		return;
	}
	switch (call->data.nr) {
	case SYS_openat:
		if (AT(FD(0), 1) && strcmp(path, trace->place) != 0) {
			note_copying(trace, process, path, FD(2));
			note_opening(trace, process, path, FD(2));
		}
		return;
	case SYS_newfstatat:
		if (AT(FD(0), 1))
			trace_look_at(trace, path, (FD(3) & AT_SYMLINK_NOFOLLOW) != 0, 0);
		return;
	case SYS_statx:
		if (AT(FD(0), 1) && !(FD(2) & AT_EMPTY_PATH && is_folder_itself(path)))
			trace_look_at(trace, path, (FD(2) & AT_SYMLINK_NOFOLLOW) != 0, 0);
		return;
	case SYS_faccessat:
	case SYS_faccessat2:
		if (AT(FD(0), 1))
			trace_look_at(trace, path, 0, 0);
		return;
	case SYS_readlinkat:
		if (AT(FD(0), 1))
			note_link(trace, process, path);
		return;
	case SYS_execve:
		forget_guard(trace, process);
		if (AT(AT_FDCWD, 0)) {
			trace_look_at(trace, path, 0, 1);
			note_links(trace, path);
			note_program(trace, process, path);
		}
		return;
	case SYS_unlinkat:
		if (FD(2) == 0 && AT(FD(0), 1))
			note_removal(trace, path);
		else
			trace_spoil(trace, MEMO_CALL);
		return;
	case SYS_fchmodat:
		if (AT(FD(0), 1))
			note_attributes(trace, process, path);
		return;
	case SYS_renameat:
	case SYS_renameat2:
		if (call->data.nr == SYS_renameat2 && FD(4) != 0)
			trace_spoil(trace, MEMO_CALL);
		if (path_of(trace, call, FD(2), A(3), other) == 0 && AT(FD(0), 1))
			note_move(trace, process, path, other);
		return;
	case SYS_linkat:
		if (path_of(trace, call, FD(2), A(3), other) == 0 && AT(FD(0), 1) &&
		    trace_is_guards(trace, other))
			trace_alter(trace, path, 0, 0, 0);
		else
			trace_spoil(trace, MEMO_CALL);
		return;
	case SYS_getdents64:
		if (link_of(process, FD(0), path) == 0) {
			int is_new;
			struct look *look = trace_look(trace, path, LISTS, 0, &is_new);
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
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_lseek:
	case SYS_ftruncate:
	case SYS_fallocate:
		note_using(trace, process, FD(0));
		return;
	case SYS_mmap:
		note_using(trace, process, FD(4));
		return;
	case SYS_getrandom:
		note_random(trace, process, A(1));
		return;
	case SYS_socket: /* by itself it reaches nobody */
		if (A(0) != AF_UNIX)
			trace_spoil(trace, MEMO_SPECIAL);
		return;
	case SYS_connect:
		note_connection(trace, call);
		return;
	case SYS_sendmsg:
	case SYS_sendto:
	case SYS_recvfrom:
		if (!is_asking(trace, process, FD(0)))
			trace_spoil(trace, MEMO_SPECIAL);
		return;
	case SYS_utimensat: /* a guard's, of a folder in which a job makes files */
		if (A(1) == 0 || !AT(FD(0), 1) || !is_folder(path))
			trace_spoil(trace, MEMO_CALL);
		return;
#ifdef SYS_open /* older machines have these beside */
	case SYS_open:
		if (AT(AT_FDCWD, 0))
			note_opening(trace, process, path, FD(1));
		return;
	case SYS_creat:
		if (AT(AT_FDCWD, 0))
			note_opening(trace, process, path, O_WRONLY | O_CREAT | O_TRUNC);
		return;
	case SYS_stat:
	case SYS_access:
		if (AT(AT_FDCWD, 0))
			trace_look_at(trace, path, 0, 0);
		return;
	case SYS_lstat:
		if (AT(AT_FDCWD, 0))
			trace_look_at(trace, path, 1, 0);
		return;
	case SYS_readlink:
		if (AT(AT_FDCWD, 0))
			note_link(trace, process, path);
		return;
	case SYS_unlink:
		if (AT(AT_FDCWD, 0))
			note_removal(trace, path);
		return;
	case SYS_chmod:
		if (AT(AT_FDCWD, 0))
			note_attributes(trace, process, path);
		return;
	case SYS_rename:
		if (path_of(trace, call, AT_FDCWD, A(1), other) == 0 && AT(AT_FDCWD, 0))
			note_move(trace, process, path, other);
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
	trace_take_notes(trace); /* what its process has looked at before */
	if (trace->why == 0 || call.data.nr == SYS_exit_group)
		note(trace, &call);
	struct seccomp_notif_resp answer = {.id = call.id,
	                                    .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0 || errno == ENOENT;
}
