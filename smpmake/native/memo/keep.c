#include "keep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/canonical.h"
#include "base/kernel.h"
#include "base/util.h"
#include "layout/board.h"
#include "layout/undo.h"

#define ITEM_SIZE (sizeof((struct undo_store *)0)->path + 24)

static const char *folder_of_board;

void memo_keep_by(const char *board)
{
	folder_of_board = board;
}

static void *map_beside(const char *name, uint64_t at, size_t size, int protection)
{
	char path[PATH_MAX];
	size_t folder = (size_t)(strrchr(folder_of_board, '/') - folder_of_board);
	if (folder + strlen(name) + 2 > sizeof path)
		return NULL;
	memcpy(path, folder_of_board, folder);
	strcpy(stpcpy(path + folder, "/"), name);
	int fd = (int)kernel(SYS_openat, AT_FDCWD, path,
	                     (protection & PROT_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	long memory = kernel(SYS_mmap, 0, size, protection, MAP_SHARED, fd, at);
	close(fd);
	return memory == -1 ? NULL : (void *)memory;
}

static int64_t ns_of(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* As statx(2) tells it. */
static uint64_t device_of(const struct stat *info)
{
	uint64_t device = info->st_dev;
	uint64_t major = (device >> 8 & 0xfff) | (device >> 32 & ~UINT64_C(0xfff));
	uint64_t minor = (device & 0xff) | (device >> 12 & 0xffffff00);
	return major << 32 | minor;
}

static int is_below(const char *path, const char *folder)
{
	size_t size = strlen(folder);
	return size > 0 && strncmp(path, folder, size) == 0 &&
	       (path[size] == '/' || path[size] == '\0');
}

static uint32_t store_of(const struct undo_head *head, uint64_t device)
{
	for (uint32_t i = 0; i < head->stores && i < UNDO_STORES; i++)
		if (head->store[i].device == device)
			return i + 1;
	return 0;
}

/* Where guards would ask for more room, there is none for us: the command runs, and they ask. */
static struct undo_entry *reserve(struct undo_head *head, size_t size)
{
	uint64_t at, used = __atomic_load_n(&head->used, __ATOMIC_ACQUIRE);
	do {
		at = used;
		if (at % UNDO_SEGMENT + size > UNDO_SEGMENT)
			at = (at / UNDO_SEGMENT + 1) * UNDO_SEGMENT;
		if (at + size > __atomic_load_n(&head->room, __ATOMIC_ACQUIRE))
			return NULL;
	} while (!__atomic_compare_exchange_n(&head->used, &used, at + size, 0, __ATOMIC_ACQ_REL,
	                                      __ATOMIC_ACQUIRE));
	char *memory = map_beside("undo/log", at / UNDO_SEGMENT * UNDO_SEGMENT, UNDO_SEGMENT,
	                          PROT_READ | PROT_WRITE);
	if (memory == NULL)
		return NULL;
	struct undo_entry *entry = (void *)(memory + at % UNDO_SEGMENT);
	__atomic_store_n(&entry->size, (uint32_t)size, __ATOMIC_RELEASE);
	entry->at = at;
	return entry;
}

static struct undo_entry *write_down(struct undo_head *head, uint16_t kind, char *path,
                                     const struct stat *was, uint32_t store)
{
	static const char nothing[] = "/";
	struct timespec now = {0, 0};
	struct stat folder;
	size_t length = strlen(path) + 1;
	size_t size = (sizeof(struct undo_entry) + length + sizeof nothing + 7) & ~(size_t)7;
	struct undo_entry *entry = reserve(head, size);
	if (entry == NULL)
		return NULL;
	kernel(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &now);
	entry->kind = kind;
	entry->now_ns = ns_of(&now);
	entry->process = (uint32_t)kernel(SYS_getpid);
	entry->parent = (uint32_t)kernel(SYS_getppid);
	if (was != NULL) {
		entry->device = device_of(was);
		entry->inode = was->st_ino;
		entry->mode = was->st_mode;
		entry->user = was->st_uid;
		entry->group = was->st_gid;
		entry->bytes = (uint64_t)was->st_size;
		entry->accessed_ns = ns_of(&was->st_atim);
		entry->modified_ns = ns_of(&was->st_mtim);
		entry->born_ns = ns_of(&was->st_ctim);
	}
	entry->store = store;
	char *slash = strrchr(path, '/'), after = slash[1];
	slash[1] = '\0';
	if (kernel(SYS_newfstatat, AT_FDCWD, path, &folder, 0) == 0)
		entry->folder_ns = ns_of(&folder.st_mtim);
	slash[1] = after;
	memcpy(entry + 1, path, length);
	memcpy((char *)(entry + 1) + length, nothing, sizeof nothing);
	__atomic_store_n(&entry->mark, UNDO_MARK, __ATOMIC_RELEASE);
	return entry;
}

/* A second name in the store keeps what is about to lose its own. */
static int keep_older(struct undo_head *head, char *path, const struct stat *was)
{
	char name[ITEM_SIZE];
	uint32_t store = store_of(head, device_of(was));
	uint64_t bytes = (uint64_t)was->st_size;
	/* Of a file with a second name anybody sees how many there are. */
	if (store == 0 || was->st_nlink != 1)
		return -1;
	if (__atomic_add_fetch(&head->kept, bytes, __ATOMIC_RELAXED) > head->budget) {
		__atomic_sub_fetch(&head->kept, bytes, __ATOMIC_RELAXED);
		return -1;
	}
	struct undo_entry *entry = write_down(head, UNDO_GONE, path, was, store);
	if (entry == NULL)
		return -1;
	char *at = stpcpy(name, head->store[store - 1].path);
	*at++ = '/';
	for (int shift = 60; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[entry->at >> shift & 15];
	*at = '\0';
	if (kernel(SYS_linkat, AT_FDCWD, path, AT_FDCWD, name, 0) == 0)
		return 0;
	__atomic_store_n(&entry->kind, UNDO_NOTHING, __ATOMIC_RELEASE); /* it stays */
	return -1;
}

static struct board *board;

static int has_board(void)
{
	if (board == NULL)
		board =
		    map_beside("board", 0, offsetof(struct board, slots), PROT_READ | PROT_WRITE);
	return board != NULL;
}

void memo_keep_time(int64_t made_ns)
{
	if (!has_board())
		return;
	int64_t newest = __atomic_load_n(&board->newest_ns, __ATOMIC_ACQUIRE);
	while (newest < made_ns &&
	       !__atomic_compare_exchange_n(&board->newest_ns, &newest, made_ns, 0,
	                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
}

int memo_keep_in_journal(const char *path, const struct stat *was, const struct stat *made)
{
	static struct undo_head *head;
	static int known;
	char full[PATH_MAX], room[PATH_MAX];
	if (!known) {
		if (!has_board())
			return -1;
		known = 1;
		if (board->journal != 0)
			head = map_beside("undo/head", 0, sizeof *head, PROT_READ | PROT_WRITE);
		if (board->journal != 0 && head == NULL)
			return -1;
	}
	if (head == NULL || head->lost)
		return 0;
	if (canonical(AT_FDCWD, path, 0, full, room) != 0)
		return -1;
	for (int i = 0; i < UNDO_EXCEPT && head->except[i][0] != '\0'; i++)
		if (is_below(full, head->except[i]))
			return 0;
	if (was != NULL && keep_older(head, full, was) != 0)
		return -1;
	return write_down(head, UNDO_NEW, full, made, 0) != NULL ? 0 : -1;
}
