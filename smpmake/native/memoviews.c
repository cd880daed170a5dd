/* What a traced command's guard has shown it (memofile.h). */
#include "memofile.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#define trace notes_of_guards /* memotrace.h has another */
#include "guard/trace.h"
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
