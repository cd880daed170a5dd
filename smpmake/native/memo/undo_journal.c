#include "undo_journal.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/undo_entry.h"
#include "base/util.h"
#include "layout/board.h"

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

/* Writes an entry down, and where what it speaks of is kept into `kept`, unless that is NULL. Where
 * guards would ask for more room there is none for us: the command runs, and they ask. */
static struct undo_entry *write_down(struct undo_head *head, uint16_t kind, char *path,
                                     const struct statx *was, uint32_t store, char *kept)
{
	static char nothing[] = "/";
	size_t size = journal_size(path, nothing, 0);
	int64_t at = journal_reserve(head, size);
	if (at < 0)
		return NULL;
	char *memory = map_beside("undo/log", (uint64_t)at / UNDO_SEGMENT * UNDO_SEGMENT,
	                          UNDO_SEGMENT, PROT_READ | PROT_WRITE);
	if (memory == NULL)
		return NULL;
	struct undo_entry *entry = (void *)(memory + at % UNDO_SEGMENT);
	journal_fill(entry, (uint64_t)at, size, kind, path, nothing, was);
	entry->store = store;
	journal_finish(entry);
	if (kept != NULL)
		journal_name(head, store, (uint64_t)at, kept);
	return entry;
}

/* A second name in the store keeps what is about to lose its own. */
static int keep_older(struct undo_head *head, char *path, const struct statx *was)
{
	char kept[JOURNAL_NAME];
	uint32_t store = journal_store(head, was);
	/* Of a file with a second name anybody sees how many there are. */
	if (store == 0 || was->stx_nlink != 1 || !journal_affords(head, was->stx_size))
		return -1;
	struct undo_entry *entry = write_down(head, UNDO_GONE, path, was, store, kept);
	if (entry == NULL)
		return -1;
	if (kernel(SYS_linkat, AT_FDCWD, path, AT_FDCWD, kept, 0) == 0)
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

int memo_keep(const char *path, const struct statx *was, const struct statx *made)
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
	if (journal_excepts(head, full))
		return 0;
	if (was != NULL && keep_older(head, full, was) != 0)
		return -1;
	return write_down(head, UNDO_NEW, full, made, 0, NULL) != NULL ? 0 : -1;
}
