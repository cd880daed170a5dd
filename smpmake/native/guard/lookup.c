/* Looking a name, a file or a folder up on the board. */
#include "lookup.h"

#include <string.h>

#define UNKNOWN ~0ull /* with every role */

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

/* What the board has about a hash: a slot, or 0. */
static uint64_t slot_of(uint32_t hash)
{
	const struct board *board = guard.board;
	uint32_t generation = __atomic_load_n(&board->generation, __ATOMIC_ACQUIRE);
	if (board->full)
		return UNKNOWN;
	for (uint32_t i = 0, at = hash; i < BOARD_SLOTS; i++, at++) {
		uint64_t slot =
		    __atomic_load_n(&board->slots[at & (BOARD_SLOTS - 1)], __ATOMIC_RELAXED);
		if (slot == 0)
			break;
		if (slot >> 32 == hash && (slot & 0xff) != 0)
			return slot;
	}
	return __atomic_load_n(&board->generation, __ATOMIC_ACQUIRE) == generation ? 0 : UNKNOWN;
}

static uint32_t owner_of(uint64_t slot)
{
	return (slot >> 8) & OWNER_SEVERAL;
}

/* The roles that pending commands other than ours gave to a hash. */
static unsigned roles_of(uint32_t hash)
{
	uint64_t slot = slot_of(hash);
	uint32_t own = guard.command & OWNER_SEVERAL;
	if (slot == UNKNOWN)
		return ~0u;
	if (own == 0 || owner_of(slot) != own)
		return slot & 0xff;
	return slot & ROLE_OTHERS ? slot & 0xff & ~ROLE_OUTPUT : 0;
}

unsigned roles_of_name(const char *path)
{
	size_t size = strlen(path);
	while (size > 0 && path[size - 1] == '/')
		size--;
	const char *slash = memrchr(path, '/', size);
	const char *name = slash != NULL ? slash + 1 : path;
	return roles_of(hash_of(name, (size_t)(path + size - name), 1));
}

uint64_t slot_of_file(const struct stat *info)
{
	struct {
		uint64_t device, inode;
	} key = {info->st_dev, info->st_ino};
	return slot_of(hash_of(&key, sizeof key, 0));
}

int folder_time(const struct stat *info, struct wire_guard_answer *answer)
{
	uint64_t slot = slot_of_file(info);
	uint32_t number = owner_of(slot) - OWNER_FOLDERS;
	if ((slot & 0xff) != ROLE_LISTED || number >= BOARD_FOLDERS)
		return 0;
	int64_t newest = __atomic_load_n(&guard.board->folders[number], __ATOMIC_ACQUIRE);
	int64_t changed = NS_OF(info->st_mtim);
	answer->state = GUARD_FOLDER;
	answer->mtime_ns = newest > changed ? newest : changed;
	return slot_of_file(info) == slot; /* else that may be another's by now */
}
