#include "pages.h"
#include "base/kernel.h"
#include "guard.h"

#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define PAGES 64u /* bits of a word */
#define HELD 8

static char memory[PAGES][PATH_MAX] ASIDE;
static uint64_t taken;

/* The pages of a child of vfork(2) that becomes another program.  The kernel clears `alive` when
 * the child no longer uses our memory (set_tid_address(2)); then they are to be given back. */
struct held_at_exec {
	int alive;
	void *pages;
	size_t size;
};
static struct held_at_exec held_at_exec[HELD];

static unsigned count_of(size_t size)
{
	return (unsigned)((size + PATH_MAX - 1) / PATH_MAX);
}

static uint64_t bits_of(unsigned count, unsigned at)
{
	return (~0ull >> (PAGES - count)) << at;
}

static void *map(size_t size)
{
	long got = kernel(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                  -1, 0);
	return got == -1 ? NULL : (void *)got;
}

/* Of ours; NULL where as many do not lie together. */
static void *take(unsigned count)
{
	unsigned at = 0;
	uint64_t was = __atomic_load_n(&taken, __ATOMIC_RELAXED);
	while (at + count <= PAGES)
		if (was & bits_of(count, at))
			at++;
		else if (__atomic_compare_exchange_n(&taken, &was, was | bits_of(count, at), 0,
		                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return memory[at];
		else
			at = 0;
	return NULL;
}

void pages_give(void *pages, size_t size)
{
	uintptr_t distance = (uintptr_t)pages - (uintptr_t)memory;
	int before = errno;
	if (distance < sizeof memory)
		__atomic_fetch_and(&taken,
		                   ~bits_of(count_of(size), (unsigned)(distance / PATH_MAX)),
		                   __ATOMIC_RELEASE);
	else
		kernel(SYS_munmap, pages, size);
	errno = before;
}

/* Makes a place ours if nobody has it, and gives back what whoever had it has left. */
static int claim(struct held_at_exec *held)
{
	int none = 0;
	if (!__atomic_compare_exchange_n(&held->alive, &none, 1, 0, __ATOMIC_ACQUIRE,
	                                 __ATOMIC_RELAXED))
		return 0;
	if (held->pages != NULL)
		pages_give(held->pages, held->size);
	held->pages = NULL;
	return 1;
}

static void give_back_left(void)
{
	for (struct held_at_exec *held = held_at_exec; held < held_at_exec + HELD; held++)
		if (held->pages != NULL && claim(held))
			__atomic_store_n(&held->alive, 0, __ATOMIC_RELEASE);
}

void *pages_take(size_t size)
{
	int before = errno;
	unsigned count = count_of(size);
	if (count > 1) /* who runs programs runs many: always in the same pages */
		give_back_left();
	void *pages = take(count);
	if (pages == NULL) {
		give_back_left();
		pages = take(count);
	}
	if (pages == NULL)
		pages = map(size);
	errno = before;
	return pages;
}

struct held_at_exec *pages_leave(void *pages, size_t size)
{
	int *cleared = NULL;
	struct held_at_exec *held = held_at_exec, *end = held_at_exec + HELD;
	int before = errno;
	/* A thread of libc's has a word that is cleared at its end; so does a child of fork(2). */
	if (kernel(SYS_prctl, PR_GET_TID_ADDRESS, &cleared) != 0 || cleared != NULL)
		held = end;
	while (held < end && !claim(held))
		held++;
	errno = before;
	if (held == end)
		return NULL;
	held->size = size;
	held->pages = pages;
	kernel(SYS_set_tid_address, &held->alive);
	return held;
}

void pages_keep(struct held_at_exec *held)
{
	if (held == NULL)
		return;
	kernel(SYS_set_tid_address, NULL);
	held->pages = NULL;
	__atomic_store_n(&held->alive, 0, __ATOMIC_RELEASE);
}
