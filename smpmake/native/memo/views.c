/* What concerns remembering in the notes of a job's guards. */
#include "views.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
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

/* NULL where they cannot be written to. */
static struct notes_of_guards *notes_at(const char *notes)
{
	int fd = open(notes, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	void *page =
	    mmap(NULL, sizeof(struct notes_of_guards), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return page != MAP_FAILED ? page : NULL;
}

void memo_note_missed(const char *notes, enum memo_why why, const char *doubted)
{
	struct notes_of_guards *page = notes_at(notes);
	if (page == NULL)
		return;
	page->missed = why;
	if (doubted != NULL && strlen(doubted) < sizeof page->doubted)
		strcpy(page->doubted, doubted);
	munmap(page, sizeof *page);
}

void memo_note_given(const char *notes, uint64_t saved_us)
{
	struct notes_of_guards *page = notes_at(notes);
	if (page == NULL)
		return;
	/* That it was so is told of the smallest, too. */
	__atomic_fetch_add(&page->given_us, (uint32_t)saved_us + 1, __ATOMIC_RELAXED);
	munmap(page, sizeof *page);
}
