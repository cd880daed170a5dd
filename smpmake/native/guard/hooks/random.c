/* The hooks for random numbers that only some libcs have: who finds ours where there are none gets
 * the kernel's.
 */
#include "base/kernel.h"
#include "guard/looks.h"
#include "hooked.h"

#include <errno.h>

static void draw(void *to, size_t size)
{
	int before = errno;
	void (*fill)(void *, size_t) = (__typeof__(fill))(uintptr_t)find_in_libc("arc4random_buf");
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

/* Past libc where that is noted: the tracer would take it for a use that nobody knows. */
static uint32_t drawn(void)
{
	uint32_t number;
	int before = errno;
	if (!looks_are_noted() ||
	    kernel_unseen(SYS_getrandom, &number, sizeof number, 0) != sizeof number)
		draw(&number, sizeof number);
	errno = before;
	return number;
}

EXPORT void arc4random_buf(void *to, size_t size)
{
	looks_draw();
	draw(to, size);
}

EXPORT uint32_t arc4random(void)
{
	uint32_t number = drawn();
	looks_draw_digit(number);
	return number;
}

/* Numbers below the greatest multiple are as likely as each other. */
EXPORT uint32_t arc4random_uniform(uint32_t most)
{
	looks_draw();
	uint32_t number = drawn(), rest = most > 1 ? -most % most : 0;
	while (number < rest)
		number = drawn();
	return most > 1 ? number % most : 0;
}
