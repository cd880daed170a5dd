/* What a guard knows, how it looks a name up, and how it asks.  See guard.h for the rules. */
#include "guard.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const uint64_t nothing[8]; /* the head of a board on which nothing is ever pending */
struct guard guard = {.board = (const struct board *)nothing};

/* ------------------------------------------------------------------ the constructor */

/* The whole "NAME=value", or NULL. */
static char *variable_of(char **env, const char *name)
{
	size_t length = strlen(name);
	for (; *env != NULL; env++)
		if (strncmp(*env, name, length) == 0 && (*env)[length] == '=')
			return *env;
	return NULL;
}

static int copy_variables(char **env)
{
	static const char *const names[V_COUNT] = {
	    "SMPMAKE_SOCKET", "SMPMAKE_BOARD",   "SMPMAKE_GUARD", "SMPMAKE_SHIMS",
	    "SMPMAKE_BUILD",  "SMPMAKE_COMMAND", "SMPMAKE_TRACE"};
	for (int i = 0; i < V_COUNT; i++) {
		const char *text = variable_of(env, names[i]);
		size_t size = text != NULL ? strlen(text) + 1 : 0;
		if (size > strlen(names[i]) + 2 && size <= sizeof guard.variables[i]) {
			memcpy(guard.variables[i], text, size);
			guard.values[i] = guard.variables[i] + strlen(names[i]) + 1;
		} else if (i < V_NEEDED) {
			return -1;
		}
	}
	return strlen(guard.values[V_SOCKET]) < sizeof((struct sockaddr_un *)0)->sun_path ? 0 : -1;
}

static void *mapped(const char *path, size_t size, int protection)
{
	struct stat info;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path,
	                      (protection & PROT_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	void *memory = MAP_FAILED;
	/* A file that is too short would kill us when it is read. */
	if (syscall(SYS_fstat, fd, &info) == 0 && (size_t)info.st_size >= size)
		memory = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
	syscall(SYS_close, fd);
	return memory == MAP_FAILED ? NULL : memory;
}

static int is_among(const char *name, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strcmp(name, *names) == 0)
			return 1;
	return 0;
}

static void find_interpreter(void)
{
	const ElfW(Phdr) *header = (const void *)getauxval(AT_PHDR);
	unsigned long count = getauxval(AT_PHNUM), bias = 0;
	if (header == NULL)
		return;
	for (unsigned long i = 0; i < count; i++)
		if (header[i].p_type == PT_PHDR)
			bias = (unsigned long)header - header[i].p_vaddr;
	for (unsigned long i = 0; i < count; i++)
		if (header[i].p_type == PT_INTERP && header[i].p_filesz <= sizeof guard.interpreter)
			memcpy(guard.interpreter, (const void *)(bias + header[i].p_vaddr),
			       header[i].p_filesz);
}

/* Whether the process that started us has a guard: then it left its number, or that of ours where
 * it became us.  Ours takes its place, for what libc starts for us unseen. */
static int parent_is_guarded(char *caller)
{
	if (caller == NULL) /* the first of the build */
		return 1;
	char *digits = strchr(caller, '=') + 1;
	long number = strtol(digits, NULL, 10);
	pid_t own = (pid_t)syscall(SYS_getpid);
	if (strlen(digits) == CALLER_DIGITS)
		for (int i = CALLER_DIGITS; i-- > 0; own /= 10)
			digits[i] = (char)('0' + own % 10);
	return number == syscall(SYS_getpid) || number == syscall(SYS_getppid);
}

static void know_the_program(char **argv)
{
	static const char *const makes[] = {MAKEFILE_TOOLS, NULL};
	const char *name = argv[0] != NULL ? argv[0] : "";
	const char *slash = strrchr(name, '/');
	name = slash != NULL ? slash + 1 : name;
	guard.is_make = is_among(name, makes);
	if (strlen(name) < sizeof guard.name)
		strcpy(guard.name, name);
}

__attribute__((constructor)) static void stand_guard(int argc, char **argv, char **env)
{
	int before = errno;
	(void)argc;
	if (copy_variables(env) == 0) {
		const struct board *board =
		    mapped(guard.values[V_BOARD], sizeof(struct board), PROT_READ);
		if (board != NULL && board->magic == BOARD_MAGIC &&
		    board->version == BOARD_VERSION) {
			const char *command = guard.values[V_COMMAND];
			const char *unguarded = variable_of(env, "SMPMAKE_UNGUARDED");
			int guarded = parent_is_guarded(variable_of(env, "SMPMAKE_CALLER"));
			guard.board = board;
			guard.active = 1;
			guard.command = command != NULL ? (uint32_t)strtoul(command, NULL, 10) : 0;
			guard.is_part = command != NULL;
			if (unguarded != NULL)
				guard.unguarded =
				    (uint32_t)strtoul(strchr(unguarded, '=') + 1, NULL, 10);
			else if (!guarded)
				guard.unguarded = (uint32_t)syscall(SYS_getppid);
			know_the_program(argv);
			find_interpreter();
			if (guard.values[V_TRACE] != NULL)
				guard.trace = mapped(guard.values[V_TRACE], sizeof(struct trace),
				                     PROT_READ | PROT_WRITE);
		}
	}
	errno = before;
}

/* ------------------------------------------------------------------ looking a name up */

/* CRC-32 as zlib has it, of a name in lower case: some file systems do not tell the case. */
static uint32_t hash_of(const void *name, size_t size, int fold)
{
	static const uint32_t half[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
	                                  0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
	                                  0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
	                                  0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
	const unsigned char *at = name;
	uint32_t crc = 0xffffffffu;
	for (size_t i = 0; i < size; i++) {
		unsigned char c = at[i];
		if (fold && c >= 'A' && c <= 'Z')
			c = (unsigned char)(c + 32);
		crc ^= c;
		crc = half[crc & 15] ^ (crc >> 4);
		crc = half[crc & 15] ^ (crc >> 4);
	}
	crc = ~crc;
	return crc > 1 ? crc : crc + 2; /* 0 and 1 are marks of the table */
}

/* The roles that pending commands other than ours gave to a hash. */
static unsigned roles_of(uint32_t hash)
{
	const struct board *board = guard.board;
	uint32_t generation = __atomic_load_n(&board->generation, __ATOMIC_ACQUIRE);
	uint32_t own = guard.command & 0xffffffu;
	if (board->full)
		return ~0u;
	for (uint32_t i = 0, at = hash; i < BOARD_SLOTS; i++, at++) {
		uint64_t slot =
		    __atomic_load_n(&board->slots[at & (BOARD_SLOTS - 1)], __ATOMIC_RELAXED);
		if (slot == 0)
			break;
		if (slot >> 32 == hash && (slot & 0xff) != 0)
			return own != 0 && ((slot >> 8) & 0xffffffu) == own ? 0 : slot & 0xff;
	}
	return __atomic_load_n(&board->generation, __ATOMIC_ACQUIRE) == generation ? 0 : ~0u;
}

static unsigned roles_of_name(const char *path)
{
	size_t size = strlen(path);
	while (size > 0 && path[size - 1] == '/')
		size--;
	const char *slash = memrchr(path, '/', size);
	const char *name = slash != NULL ? slash + 1 : path;
	return roles_of(hash_of(name, (size_t)(path + size - name), 1));
}

static unsigned roles_of_file(const struct stat *info)
{
	struct {
		uint64_t device, inode;
	} key = {info->st_dev, info->st_ino};
	return roles_of(hash_of(&key, sizeof key, 0));
}

/* ------------------------------------------------------------------ asking */

/* An absolute name, nothing followed or folded; -1 where there is none. */
static int absolute(int dir, const char *path, char *full, size_t size)
{
	size_t length = 0, rest = strlen(path);
	if (*path != '/') {
		ssize_t got;
		if (dir == AT_FDCWD) {
			got = syscall(SYS_getcwd, full, size) - 1; /* counts the NUL */
		} else {
			char link[32] = "/proc/self/fd/";
			char digits[12], *digit = digits + sizeof digits;
			*--digit = '\0';
			for (unsigned n = (unsigned)dir;
			     digit == digits + sizeof digits - 1 || n > 0; n /= 10)
				*--digit = (char)('0' + n % 10);
			strcat(link, digit);
			got = syscall(SYS_readlinkat, AT_FDCWD, link, full, size);
		}
		if (got <= 0 || *full != '/' || (size_t)got + 1 + rest >= size)
			return -1;
		length = (size_t)got;
		full[length++] = '/';
	}
	if (length + rest >= size)
		return -1;
	memcpy(full + length, path, rest + 1);
	return 0;
}

static int transfer(int fd, void *data, size_t size, int sending)
{
	char *at = data;
	while (size > 0) {
		ssize_t done = sending ? syscall(SYS_sendto, fd, at, size, MSG_NOSIGNAL, NULL, 0)
		                       : syscall(SYS_recvfrom, fd, at, size, 0, NULL, NULL);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		at += done;
		size -= (size_t)done;
	}
	return 0;
}

/* A connection; -1 when there is no server any more.  Where only descriptors are short, it waits:
 * to go on unasked would not be safe. */
static int connected(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strcpy(address.sun_path, guard.values[V_SOCKET]);
	while (!guard_quiet()) {
		int fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0) {
			if (syscall(SYS_connect, fd, &address, sizeof address) == 0)
				return fd;
			int why = errno;
			syscall(SYS_close, fd);
			if (why != EINTR && why != EAGAIN && why != ENOMEM)
				return -1;
		}
		const struct timespec moment = {.tv_nsec = 2000000};
		syscall(SYS_nanosleep, &moment, NULL);
	}
	return -1;
}

/* Puts a question and waits for the answer; without a server the answer is to go on. */
static SLOW void ask(uint32_t kind, const char *path, const char *other, char *elsewhere,
                     struct wire_guard_answer *answer)
{
	struct {
		struct wire_header header;
		struct wire_question fixed;
	} __attribute__((packed)) head;
	struct wire_header reply;
	memset(answer, 0, sizeof *answer);
	int fd = connected();
	if (fd < 0)
		return;
	head.fixed = (struct wire_question){
	    .kind = kind,
	    .pid = (uint32_t)syscall(SYS_getpid),
	    .command = guard.command,
	    .build_len = (uint32_t)strlen(guard.values[V_BUILD]),
	    .path_len = (uint32_t)strlen(path),
	    .other_len = (uint32_t)strlen(other),
	};
	uint32_t texts = head.fixed.build_len + head.fixed.path_len + head.fixed.other_len;
	head.header = (struct wire_header){WIRE_MAGIC, WIRE_VERSION, WIRE_QUESTION,
	                                   (uint32_t)sizeof head.fixed + texts};
	struct iovec parts[] = {{&head, sizeof head},
	                        {(void *)(uintptr_t)guard.values[V_BUILD], head.fixed.build_len},
	                        {(void *)(uintptr_t)path, head.fixed.path_len},
	                        {(void *)(uintptr_t)other, head.fixed.other_len}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 4};
	ssize_t sent;
	do
		sent = syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	/* A socket takes at least this much at once, or nothing. */
	if (sent == (ssize_t)(sizeof head + texts) && transfer(fd, &reply, sizeof reply, 0) == 0 &&
	    reply.magic == WIRE_MAGIC && reply.type == WIRE_GUARD_ANSWER &&
	    reply.length >= sizeof *answer && transfer(fd, answer, sizeof *answer, 0) == 0) {
		if (answer->state == GUARD_ELSEWHERE &&
		    (elsewhere == NULL || answer->path_len >= PATH_MAX ||
		     transfer(fd, elsewhere, answer->path_len, 0) != 0))
			answer->state = GUARD_GO_ON;
		else if (answer->state == GUARD_ELSEWHERE)
			elsewhere[answer->path_len] = '\0';
	} else {
		memset(answer, 0, sizeof *answer);
	}
	syscall(SYS_close, fd);
}

static SLOW void ask_about(uint32_t kind, int dir, const char *path,
                           struct wire_guard_answer *answer)
{
	char full[PATH_MAX];
	if (absolute(dir, path, full, sizeof full) == 0)
		ask(kind, full, "", NULL, answer);
	else
		memset(answer, 0, sizeof *answer); /* no such folder, or too long for any call */
}

/* Whether the path leads, by a link of another name, to an older file that a pending command will
 * replace, or already has removed. */
static int is_stale(int dir, const char *path)
{
	struct stat info;
	char target[1];
	if (guard.board->stale == 0)
		return 0;
	if (syscall(SYS_newfstatat, dir, path, &info, 0) == 0)
		return (roles_of_file(&info) & ROLE_STALE) != 0;
	return errno == ENOENT && syscall(SYS_readlinkat, dir, path, target, 1) >= 0;
}

void guard_see(int dir, const char *path)
{
	int before = errno;
	if (path != NULL && *path != '\0' &&
	    (roles_of_name(path) & ROLE_OUTPUT || is_stale(dir, path))) {
		struct wire_guard_answer answer;
		ask_about(ASK_READ, dir, path, &answer);
	}
	errno = before;
}

/* Whether a file is called as headers are (headers.py has the same rule). */
static int could_hide(const char *path)
{
	static const char *const others[] = {".inc", ".inl", ".ipp", ".tcc",
	                                     ".tpp", ".txx", ".def"};
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash != NULL ? slash : path, '.');
	if (dot == NULL)
		return 0;
	if (dot[1] == 'h' || dot[1] == 'H')
		return strlen(dot) <= 5;
	for (unsigned n = 0; n < sizeof others / sizeof *others; n++)
		if (strcmp(dot, others[n]) == 0)
			return 1;
	return 0;
}

/* Whether pending commands may still read a file though nothing here says so: it could be a header
 * (it was there when the newest of them was issued, and has not changed since), or is new and could
 * hide one, or it has another name. */
static int may_be_read(int dir, const char *path)
{
	int64_t newest = __atomic_load_n(&guard.board->undeclared_ns, __ATOMIC_RELAXED);
	struct stat info;
	if (syscall(SYS_newfstatat, dir, path, &info, AT_SYMLINK_NOFOLLOW) != 0)
		return newest != 0 && could_hide(path);
	if (S_ISREG(info.st_mode) && info.st_nlink > 1)
		return 1;
	return (int64_t)info.st_ctim.tv_sec * 1000000000 + info.st_ctim.tv_nsec <= newest &&
	       (S_ISREG(info.st_mode) || S_ISLNK(info.st_mode));
}

void guard_see_change(int dir, const char *path, unsigned roles)
{
	int before = errno;
	if (path != NULL && *path != '\0' &&
	    (roles_of_name(path) & roles || may_be_read(dir, path) || is_stale(dir, path))) {
		struct wire_guard_answer answer;
		ask_about(ASK_WRITE, dir, path, &answer);
	}
	errno = before;
}

static SLOW void ask_about_two(uint32_t kind, int from_dir, const char *from, int to_dir,
                               const char *to)
{
	char full[PATH_MAX], other[PATH_MAX];
	struct wire_guard_answer answer;
	if (absolute(from_dir, from, full, sizeof full) == 0 &&
	    absolute(to_dir, to, other, sizeof other) == 0)
		ask(kind, full, other, NULL, &answer);
}

void guard_see_move(int from_dir, const char *from, int to_dir, const char *to, int kind)
{
	const unsigned roles = ROLE_OUTPUT | ROLE_INPUT | ROLE_ABOVE;
	int before = errno;
	if (from != NULL && to != NULL &&
	    ((roles_of_name(from) | roles_of_name(to)) & roles || may_be_read(from_dir, from) ||
	     may_be_read(to_dir, to)))
		ask_about_two((uint32_t)kind, from_dir, from, to_dir, to);
	errno = before;
}

/* A symbolic link of another name will lead to what is pending: the board is to know that name too.
 */
void guard_see_alias(const char *target, int dir, const char *path)
{
	int before = errno;
	char link[PATH_MAX], full[PATH_MAX];
	struct wire_guard_answer answer;
	if (target != NULL && path != NULL && roles_of_name(target) & ROLE_OUTPUT &&
	    absolute(dir, path, link, sizeof link) == 0) {
		size_t folder = (size_t)(strrchr(link, '/') - link);
		if (*target == '/')
			ask(ASK_ALIAS, target, link, NULL, &answer);
		else if (folder + strlen(target) + 2 < sizeof full) {
			memcpy(full, link, folder);
			full[folder] = '/';
			strcpy(full + folder + 1, target);
			ask(ASK_ALIAS, full, link, NULL, &answer);
		}
	}
	errno = before;
}

static int is_listed(const struct stat *info)
{
	return guard.board->unknown > 0 || roles_of_file(info) & ROLE_LISTED;
}

void guard_see_folder(int fd)
{
	int before = errno;
	struct stat info;
	struct wire_guard_answer answer;
	if (syscall(SYS_fstat, fd, &info) == 0 && is_listed(&info))
		ask_about(ASK_LIST, fd, ".", &answer);
	errno = before;
}

void guard_see_listing(int dir, const char *path)
{
	int before = errno;
	struct stat info;
	struct wire_guard_answer answer;
	if (path != NULL && syscall(SYS_newfstatat, dir, path, &info, 0) == 0 && is_listed(&info))
		ask_about(ASK_LIST, dir, path, &answer);
	errno = before;
}

void guard_see_tree(const char *path)
{
	int before = errno;
	struct wire_guard_answer answer;
	if (path != NULL)
		ask_about(ASK_TREE, AT_FDCWD, *path != '\0' ? path : ".", &answer);
	errno = before;
}

int guard_knows(const char *path)
{
	return roles_of_name(path) != 0;
}

void guard_see_everything(const char *program)
{
	int before = errno;
	struct wire_guard_answer answer;
	ask_about(ASK_ALL, AT_FDCWD, program, &answer);
	errno = before;
}

int guard_pretends(int dir, const char *path, struct wire_guard_answer *answer)
{
	int before = errno, answered = 0;
	if (path != NULL && *path != '\0' && roles_of_name(path) & ROLE_OUTPUT) {
		ask_about(ASK_STAT, dir, path, answer);
		answered = answer->state == GUARD_FILE || answer->state == GUARD_ABSENT;
	}
	errno = before;
	return answered;
}

int guard_names(int fd, char *elsewhere)
{
	int before = errno;
	struct stat info;
	struct wire_guard_answer answer = {0};
	char full[PATH_MAX];
	if (syscall(SYS_fstat, fd, &info) == 0 && is_listed(&info) &&
	    absolute(fd, ".", full, sizeof full) == 0)
		ask(ASK_NAMES, full, "", elsewhere, &answer);
	errno = before;
	return answer.state == GUARD_ELSEWHERE;
}

/* ------------------------------------------------------------------ a job's notes */

/* What lies in the system's own folders is nobody's output. */
static int is_foreign(const char *path)
{
	static const char *const folders[] = {"/usr/", "/lib", "/etc/", "/proc/", "/dev/", "/sys/"};
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return 1;
	return 0;
}

void guard_note(char letter, int dir, const char *path)
{
	int before = errno;
	char full[PATH_MAX];
	if (path != NULL && !is_foreign(path) && absolute(dir, path, full, sizeof full) == 0) {
		struct trace *trace = guard.trace;
		uint32_t size = (uint32_t)strlen(full) + 2;
		uint32_t at = __atomic_fetch_add(&trace->used, size, __ATOMIC_RELAXED);
		if (at < sizeof trace->text && size <= sizeof trace->text - at) {
			trace->text[at] = letter;
			memcpy(trace->text + at + 1, full, size - 1);
		} else {
			__atomic_fetch_add(&trace->lost, 1, __ATOMIC_RELAXED);
		}
	}
	errno = before;
}
