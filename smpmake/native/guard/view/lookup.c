/* Looking a name, a file or a folder up on the board. */
#include "lookup.h"
#include "base/kernel.h"
#include "guard/folder.h"
#include "guard/looks.h"
#include "guard/pages.h"

#include <linux/fcntl.h>
#include <string.h>

#define UNKNOWN ~0ull /* with every role */

/* CRC-32 as zlib has it, going on from `crc`. */
static uint32_t crc_of(uint32_t crc, const void *data, size_t size, int fold)
{
	static const uint32_t half[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
	                                  0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
	                                  0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
	                                  0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
	const unsigned char *at = data;
	for (size_t i = 0; i < size; i++) {
		unsigned char c = at[i];
		if (fold && c >= 'A' && c <= 'Z') /* some file systems do not tell the case */
			c = (unsigned char)(c + 32);
		crc ^= c;
		crc = half[crc & 15] ^ (crc >> 4);
		crc = half[crc & 15] ^ (crc >> 4);
	}
	return crc;
}

static uint32_t hash_from(uint32_t crc)
{
	return ~crc > 1 ? ~crc : ~crc + 2; /* 0 and 1 are marks of the table */
}

static uint32_t hash_of(const void *data, size_t size, int fold)
{
	return hash_from(crc_of(0xffffffffu, data, size, fold));
}

/* The key of a file that may not be there: its folder, and what it is called in it. */
struct key {
	uint64_t device, inode;
	const char *name;
	size_t length;
};

static uint32_t hash_of_key(const struct key *k)
{
	uint32_t crc = crc_of(0xffffffffu, k, 2 * sizeof k->device, 0);
	return hash_from(crc_of(crc, k->name, k->length, 1));
}

static uint64_t mixed(uint64_t so_far, uint64_t more)
{
	uint64_t value = (so_far ^ more) * 0x9e3779b97f4a7c15u;
	return value ^ value >> 32;
}

/* Another, of the whole key; smpmake/guard/scoreboard.py computes the same. */
static uint64_t check_of_key(const struct key *k)
{
	uint64_t check = mixed(mixed(k->length, k->device), k->inode), part;
	for (size_t at = 0; at < k->length; at += sizeof part) {
		size_t rest = k->length - at;
		part = 0;
		memcpy(&part, k->name + at, rest < sizeof part ? rest : sizeof part);
		check = mixed(check, part);
	}
	return check;
}

enum keyed { NO_KEY, NO_FOLDER, A_KEY };

static enum keyed key_of(int dir, const char *path, struct key *k)
{
	struct stat info;
	ANY_PAGE(room);
	const char *slash = strrchr(path, '/');
	k->name = slash != NULL ? slash + 1 : path;
	k->length = strlen(k->name);
	if (k->length == 0 || strcmp(k->name, ".") == 0 || strcmp(k->name, "..") == 0)
		return NO_KEY;
	if (slash != NULL)
		room = pages_take(PATH_MAX);
	const char *folder = folder_of(path, room);
	if (folder == NULL)
		return NO_KEY;
	if (noted_stat(dir, folder, &info, 0) != 0)
		return errno == ENOENT || errno == ENOTDIR ? NO_FOLDER : NO_KEY;
	k->device = info.st_dev;
	k->inode = info.st_ino;
	return A_KEY;
}

/* Whether a key's folder was there before anything that has none was pending. */
static int stands(const struct key *k)
{
	const struct board *board = guard.board;
	for (unsigned n = 0; n < BOARD_STANDING && board->standing[n].inode != 0; n++)
		if (board->standing[n].inode == k->inode && board->standing[n].device == k->device)
			return 1;
	return 0;
}

/* What the board has about a hash: a slot, or 0. */
static uint64_t slot_of(uint32_t hash)
{
	const struct board *board = guard.board;
	uint32_t generation = __atomic_load_n(&board->generation, __ATOMIC_ACQUIRE);
	uint32_t last = __atomic_load_n(&board->places, __ATOMIC_RELAXED) - 1;
	if (board->full || last >= BOARD_SLOTS)
		return UNKNOWN;
	for (uint32_t i = 0, at = hash; i <= last; i++, at++) {
		uint64_t slot = __atomic_load_n(&board->slots[at & last], __ATOMIC_RELAXED);
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

int guard_knows(const char *path)
{
	return roles_of_name(path) != 0;
}

/* Whether the board itself tells what the file of a key will be: then `answer` holds that. */
static int tells(const struct key *k, uint32_t hash, struct wire_guard_answer *answer)
{
	uint64_t slot = slot_of(hash);
	const struct promise *p = &guard.board->promises[hash & (BOARD_PROMISES - 1)];
	uint64_t what = __atomic_load_n(&p->what, __ATOMIC_ACQUIRE);
	uint64_t check = __atomic_load_n(&p->check, __ATOMIC_ACQUIRE);
	answer->mtime_ns = __atomic_load_n(&p->mtime_ns, __ATOMIC_ACQUIRE);
	answer->mode = what & 0xffff;
	answer->state = (what >> 16) & 0xff;
	/* The slot says that it is pending still, with one writer; the rest that this is about it.
	 */
	return (slot & 0xff) == ROLE_OUTPUT && owner_of(slot) != OWNER_SEVERAL && what != 0 &&
	       what >> 24 == owner_of(slot) && check == check_of_key(k) &&
	       __atomic_load_n(&p->what, __ATOMIC_ACQUIRE) == what && slot_of(hash) == slot;
}

/* Whether a path leads to nothing where folders of pending outputs are called so: a job that makes
 * such a folder anew may be between two calls. */
static int may_come_back(int dir, const char *path)
{
	struct stat info;
	return guard.board->unknown > 0 && noted_stat(dir, path, &info, 0) < 0 && errno == ENOENT;
}

int is_nothing(int dir, const char *path)
{
	struct stat info;
	return kernel_unseen(SYS_newfstatat, dir, path, &info, AT_SYMLINK_NOFOLLOW) != 0 &&
	       errno == ENOENT;
}

int is_link(int dir, const char *path)
{
	char target[1];
	return noted_readlink(dir, path, target, 1) >= 0;
}

enum output output_at(int dir, const char *path, struct wire_guard_answer *told)
{
	struct key k;
	unsigned roles = roles_of_name(path);
	if (!(roles & ROLE_OUTPUT))
		return roles & ROLE_ABOVE && may_come_back(dir, path) ? OUTPUT_ASK : OUTPUT_NONE;
	enum keyed keyed = key_of(dir, path, &k);
	int anywhere =
	    guard.board->names || (roles & ROLE_ANYWHERE && !(keyed == A_KEY && stands(&k)));
	if (keyed != A_KEY)
		return anywhere || keyed == NO_KEY ? OUTPUT_ASK : OUTPUT_NONE;
	uint32_t hash = hash_of_key(&k);
	if (told != NULL && guard.command == 0 && tells(&k, hash, told))
		return OUTPUT_TOLD;
	if (anywhere || roles_of(hash) & ROLE_OUTPUT)
		return OUTPUT_ASK;
	return is_link(dir, path) ? OUTPUT_ASK : OUTPUT_NONE;
}

int is_kept(int dir, const char *path)
{
	struct key k;
	unsigned roles = roles_of_name(path);
	if (guard.command == 0 || !(roles & ROLE_KEPT))
		return 0;
	enum keyed keyed = key_of(dir, path, &k);
	if (roles & ROLE_ANYWHERE && !(keyed == A_KEY && stands(&k)))
		return 1;
	if (keyed != A_KEY)
		return keyed == NO_KEY;
	uint64_t slot = slot_of(hash_of_key(&k));
	/* Who changes what we are still to write waits for us. */
	int is_ours = owner_of(slot) == (guard.command & OWNER_SEVERAL);
	if (slot == UNKNOWN ||
	    (slot & ROLE_KEPT &&
	     !((slot & 0xff) == ROLE_KEPT ? guard.command > owner_of(slot) : is_ours)))
		return 1;
	return is_link(dir, path);
}

int is_own_output(int dir, const char *path)
{
	struct key k;
	if (guard.trace == NULL || key_of(dir, path, &k) != A_KEY)
		return 0;
	uint64_t check = check_of_key(&k);
	for (int i = 0; i < TRACE_OWN && guard.trace->own[i] != 0; i++)
		if (guard.trace->own[i] == check)
			return 1;
	return 0;
}

int is_own_input(int dir, const char *path)
{
	struct key k;
	const struct trace *trace = guard.trace;
	uint32_t last = trace->places - 1;
	if (last >= TRACE_INPUTS || key_of(dir, path, &k) != A_KEY)
		return 0;
	uint64_t check = check_of_key(&k);
	for (uint64_t at = check; trace->inputs[at & last] != 0; at++)
		if (trace->inputs[at & last] == check)
			return !is_link(dir, path);
	return 0;
}

uint64_t slot_of_file(const struct stat *info)
{
	struct {
		uint64_t device, inode;
	} key = {info->st_dev, info->st_ino};
	return slot_of(hash_of(&key, sizeof key, 0));
}

int is_to_be_replaced(const struct stat *info)
{
	if (guard.board->stale == 0)
		return 0;
	uint64_t slot = slot_of_file(info);
	int is_ours = guard.command != 0 && owner_of(slot) == (guard.command & OWNER_SEVERAL);
	return slot & ROLE_STALE && (slot == UNKNOWN || !is_ours);
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
