#include "looks.h"

#include "base/sum.h"

#include <errno.h>
#include <linux/fcntl.h>
#include <sys/mman.h>

/* Both as in <fcntl.h>. */
#define HARMLESS (O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_LARGEFILE)

long looks_unseen(long number, long a, long b, long c, long d, long e)
{
	if (!looks_are_noted())
		return kernel(number, a, b, c, d, e);
	long result = ((looks_call *)(uintptr_t)LOOKS_AT)(a, b, c, d, e, number);
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

void *mapped(const char *path, uint64_t at, size_t size, int protection)
{
	struct stat info;
	int fd = (int)kernel_unseen(SYS_openat, AT_FDCWD, path,
	                            (protection & PROT_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	void *memory = MAP_FAILED;
	/* A file that is too short would kill us when it is read. */
	if (kernel(SYS_fstat, fd, &info) == 0 && (uint64_t)info.st_size >= at + size)
		memory = (void *)kernel(SYS_mmap, NULL, size, protection, MAP_SHARED, fd, at);
	kernel(SYS_close, fd);
	return memory == MAP_FAILED ? NULL : memory;
}

/* What of the system tells of itself: the tracer has rules for that. */
static int is_strange(const char *path)
{
	return strncmp(path, "/proc", 5) == 0 || strncmp(path, "/dev", 4) == 0 ||
	       strncmp(path, "/sys", 4) == 0;
}

/* A link that says where a file lies which the process has opened. */
static int is_own_file(const char *path)
{
	return strncmp(path, LOOKS_OWN, strlen(LOOKS_OWN)) == 0;
}

/* Whether what a call finds can be noted; the note that is begun so. */
static int begin(struct looks_note *note, int way, int nofollow, int dir, const char *path)
{
	if (!looks_are_noted() || path == NULL || *path == '\0' ||
	    (dir != AT_FDCWD && *path != '/') ||
	    (is_strange(path) && !(way == READS_LINK && is_own_file(path))))
		return 0;
	const struct looks *looks = guard.looks;
	if (__atomic_load_n(&looks->used, __ATOMIC_RELAXED) > LOOKS_ROOM - 4 * (uint64_t)PATH_MAX)
		return 0;
	*note = (struct looks_note){
	    .after = __atomic_load_n(&looks->changes, __ATOMIC_ACQUIRE),
	    .way = (uint8_t)way,
	    .nofollow = (uint8_t)nofollow,
	};
	return 1;
}

static void put(struct looks_note *note, const struct stat *info)
{
	note->mode = info->st_mode;
	note->device = info->st_dev;
	note->inode = info->st_ino;
	note->special = info->st_rdev;
	note->bytes = (uint64_t)info->st_size;
	note->modified_ns = NS_OF(info->st_mtim);
	note->changed_ns = NS_OF(info->st_ctim);
}

#define SAID(note) ((const char *)(note) + offsetof(struct looks_note, way))
#define SAID_SIZE (sizeof(struct looks_note) - offsetof(struct looks_note, way))

/* Whether a note that was written here says the same. */
static int is_said(const struct looks *looks, uint32_t place, const struct looks_note *note,
                   const char *path, size_t length, const char *target, size_t target_size)
{
	const struct looks_note *said = (const void *)(looks->notes + place - 1);
	const char *text = (const char *)(said + 1);
	return place != 0 && memcmp(SAID(said), SAID(note), SAID_SIZE) == 0 &&
	       strncmp(text, path, length) == 0 &&
	       strncmp(text + length, target, target_size) == 0 &&
	       text[length + target_size] == '\0';
}

static void end(const struct looks_note *note, const char *path, const char *target,
                size_t target_size)
{
	struct looks *looks = guard.looks;
	size_t length = strlen(path) + 1;
	size_t size = (sizeof *note + length + target_size + 1 + 7) & ~(size_t)7;
	if (__atomic_load_n(&looks->useless, __ATOMIC_RELAXED))
		return;
	uint64_t sum = quick_sum(path, length) + note->way + note->nofollow * 2u;
	uint32_t *place = &looks->places[sum % LOOKS_PLACES];
	if (note->way != GUARDS && is_said(looks, __atomic_load_n(place, __ATOMIC_ACQUIRE), note,
	                                   path, length, target, target_size))
		return;
	uint64_t at = __atomic_fetch_add(&looks->used, size, __ATOMIC_RELAXED);
	if (at + size > LOOKS_ROOM) {
		__atomic_store_n(&looks->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	struct looks_note *to = (void *)(looks->notes + at);
	memcpy((char *)to + sizeof to->size, (const char *)note + sizeof note->size,
	       sizeof *note - sizeof note->size);
	memcpy(to + 1, path, length);
	memcpy((char *)(to + 1) + length, target, target_size);
	__atomic_store_n(&to->size, (uint32_t)size, __ATOMIC_RELEASE);
	__atomic_store_n(place, (uint32_t)at + 1, __ATOMIC_RELEASE);
}

/* That this process has a guard, which hears of what its program asks libc for. */
static void note_guard(void)
{
	const struct looks_note note = {.way = GUARDS, .inode = (uint64_t)kernel(SYS_getpid)};
	end(&note, "", "", 0);
}

void looks_ask(const char *name, const char *value)
{
	const struct looks_note note = {.way = WANTS, .failed = value == NULL ? ENOENT : 0};
	if (guard.looks != NULL && name != NULL)
		end(&note, name, value != NULL ? value : "", value != NULL ? strlen(value) : 0);
}

void looks_begin(const char *place)
{
	struct looks *looks = MAP_FAILED;
	void *code = MAP_FAILED;
	if (place == NULL)
		return;
	int fd = (int)kernel(SYS_openat, AT_FDCWD, place, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	looks = (void *)kernel(SYS_mmap, NULL, sizeof *looks, PROT_READ | PROT_WRITE, MAP_SHARED,
	                       fd, 0);
	if (looks != MAP_FAILED && looks->magic == LOOKS_MAGIC)
		code = (void *)kernel(SYS_mmap, LOOKS_AT, LOOKS_PAGE, PROT_READ | PROT_EXEC,
		                      MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
	kernel(SYS_close, fd);
	/* Older kernels take the address for a wish. */
	if ((uintptr_t)code == LOOKS_AT) {
		guard.looks = looks;
		note_guard();
	}
}

/* Whether a call that failed has found nothing, and not something else that a note cannot say. */
static int is_absent(struct looks_note *note)
{
	note->failed = (uint16_t)errno;
	return errno == ENOENT || errno == ENOTDIR;
}

/* Whether it is for its output's sake that the program looks at a file, and not to read it: as is
 * about to replace that, unless it is an input, and so is ld if it finds one.  Where it finds none
 * ld may have looked for a library. */
static int is_about_output(const char *path, int failed)
{
	return guard.output != NULL && path != NULL && strcmp(path, guard.output) == 0 &&
	       !(guard.is_linker && failed);
}

int noted_stat(int dir, const char *path, struct stat *info, int flags)
{
	if (flags == 0 && is_about_output(path, 0)) {
		int failed = noted_stat_as(0, dir, path, info, AT_SYMLINK_NOFOLLOW);
		if (failed ? errno == ENOENT : !S_ISLNK(info->st_mode))
			return failed;
	}
	return noted_stat_as(flags, dir, path, info, flags);
}

int noted_absence(enum look_way way, int nofollow, int dir, const char *path)
{
	struct looks_note note;
	if (!looks_are_noted())
		return 1;
	if (!begin(&note, way, nofollow, dir, path))
		return 0;
	note.failed = ENOENT;
	end(&note, path, "", 0);
	return 1;
}

int noted_stat_as(int as, int dir, const char *path, struct stat *info, int flags)
{
	struct looks_note note;
	if (!(flags & ~AT_SYMLINK_NOFOLLOW) &&
	    begin(&note, LOOKS, (as & AT_SYMLINK_NOFOLLOW) != 0, dir, path)) {
		int failed = (int)kernel_unseen(SYS_newfstatat, dir, path, info, flags);
		if (failed ? is_absent(&note) : !S_ISLNK(info->st_mode)) {
			if (!failed)
				put(&note, info);
			note.nofollow |= flags != 0 && is_about_output(path, failed);
			end(&note, path, "", 0);
			return failed;
		}
	}
	return (int)kernel(SYS_newfstatat, dir, path, info, flags);
}

int noted_access(int dir, const char *path, int mode)
{
	struct looks_note note;
	struct stat info;
	int before = errno;
	if (begin(&note, LOOKS, 0, dir, path)) {
		int failed = (int)kernel_unseen(SYS_newfstatat, dir, path, &info, 0);
		if (failed && is_absent(&note)) {
			end(&note, path, "", 0);
			return failed;
		}
		if (!failed && kernel_unseen(SYS_faccessat, dir, path, mode) == 0) {
			put(&note, &info);
			end(&note, path, "", 0);
			return 0;
		}
		errno = before;
	}
	return (int)kernel(SYS_faccessat, dir, path, mode);
}

int noted_open(int dir, const char *path, int flags)
{
	struct looks_note note;
	struct stat info;
	if (!(flags & ~HARMLESS) && begin(&note, OPENS, 0, dir, path)) {
		int fd = (int)kernel_unseen(SYS_openat, dir, path, flags);
		if (fd < 0 && is_absent(&note)) {
			end(&note, path, "", 0);
			return fd;
		}
		/* Only a file is opened once more: that would end a FIFO for who writes to it. */
		if (fd >= 0 && kernel(SYS_fstat, fd, &info) == 0 &&
		    (!S_ISREG(info.st_mode) ||
		     LOOKS_AGE(NS_OF(info.st_ctim)) < guard.looks->young_ns)) {
			put(&note, &info);
			end(&note, path, "", 0);
			return fd;
		}
		if (fd >= 0)
			kernel(SYS_close, fd);
	}
	return (int)kernel(SYS_openat, dir, path, flags);
}

long noted_readlink(int dir, const char *path, char *to, size_t size)
{
	struct looks_note note;
	if (begin(&note, READS_LINK, 1, dir, path)) {
		long got = kernel_unseen(SYS_readlinkat, dir, path, to, size);
		int is_no_link = got < 0 && errno == EINVAL && size > 0;
		if (got < 0 && (is_absent(&note) || is_no_link)) {
			end(&note, path, "", 0);
			return got;
		}
		if (got >= 0 && (size_t)got < size) {
			end(&note, path, to, (size_t)got);
			return got;
		}
	}
	return kernel(SYS_readlinkat, dir, path, to, size);
}
