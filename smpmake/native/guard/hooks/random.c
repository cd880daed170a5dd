/* The hooks for random numbers that only some libcs have: who finds ours where there are none gets
 * the kernel's.
 */
#include "base/kernel.h"
#include "guard/looks.h"
#include "hooked.h"

#include <errno.h>

EXPORT void arc4random_buf(void *to, size_t size)
{
	int before = errno;
	void (*fill)(void *, size_t) = (__typeof__(fill))(uintptr_t)find_in_libc("arc4random_buf");
	looks_draw();
	if (fill != NULL) {
		fill(to, size);
		return;
	}
	for (size_t at = 0; at < size;) {
		long got = kernel(SYS_getrandom, (char *)to + at, size - at, 0);
		at += got > 0 ? (size_t)got : 0;
	}
	errno = before;
}

EXPORT uint32_t arc4random(void)
{
	uint32_t number;
	arc4random_buf(&number, sizeof number);
	return number;
}

/* Numbers below the greatest multiple are as likely as each other. */
EXPORT uint32_t arc4random_uniform(uint32_t most)
{
	uint32_t number = arc4random(), rest = most > 1 ? -most % most : 0;
	while (number < rest)
		number = arc4random();
	return most > 1 ? number % most : 0;
}
