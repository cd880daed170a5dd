/* What concerns remembering in the notes of a job's guards. */
#include "views.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#define trace notes_of_guards /* trace/calls.h has another */
#include "layout/trace.h"
#undef trace

int memo_was_shown_others(const char *notes)
{
	uint32_t shown = 1;
	int fd = notes != NULL ? open(notes, O_RDONLY | O_CLOEXEC) : -1;
	if (notes == NULL)
		return 0;
	if (fd >= 0) {
		(void)!pread(fd, &shown, sizeof shown, offsetof(struct notes_of_guards, shown));
		close(fd);
	}
	return shown != 0;
}

void memo_note_given(const char *notes, uint64_t saved_us)
{
	int fd = open(notes, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	struct notes_of_guards *page =
	    mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return;
	/* That it was so is told of the smallest, too. */
	__atomic_fetch_add(&page->given_us, (uint32_t)saved_us + 1, __ATOMIC_RELAXED);
	munmap(page, sizeof *page);
}
