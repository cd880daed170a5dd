#include "program.h"
#include "base/kernel.h"
#include "guard/guard.h"
#include "guard/hooks/intents.h"
#include "guard/looks.h"
#include "guard/pages.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define HEADS 6 /* a script's interpreter may be a script, and so on: Linux goes as far */

/* The beginning of a file, and the file for what lies behind. */
struct start {
	int fd;
	size_t size;
	char *head; /* of HEAD bytes */
};

#define HEAD ((size_t)2 * PATH_MAX)

static int get(const struct start *file, uint64_t at, void *to, size_t size)
{
	if (at <= file->size && size <= file->size - at) {
		memcpy(to, file->head + at, size);
		return 0;
	}
	return kernel(SYS_pread64, file->fd, to, size, at) == (long)size ? 0 : -1;
}

/* The loader drops preloads where a program gets somebody else's rights. */
static int has_other_rights(int fd)
{
	struct stat info;
	if (kernel(SYS_fstat, fd, &info) != 0)
		return 1;
	if ((info.st_mode & S_ISUID && info.st_uid != (uid_t)kernel(SYS_geteuid)) ||
	    (info.st_mode & S_ISGID && info.st_gid != (gid_t)kernel(SYS_getegid)))
		return 1;
	return kernel(SYS_getuid) != 0 &&
	       kernel(SYS_fgetxattr, fd, "security.capability", NULL, 0) > 0;
}

/* Another loader is waited for; `room`, of PATH_MAX, is for its name. */
static int has_our_loader(const struct start *file, char *room, int *has_none)
{
	char name[128], *loader;
	ElfW(Ehdr) elf;
	ElfW(Phdr) part;
	if (get(file, 0, &elf, sizeof elf) != 0 ||
	    elf.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
	    elf.e_phentsize != sizeof part)
		return 0;
	for (unsigned i = 0; i < elf.e_phnum; i++) {
		if (get(file, elf.e_phoff + i * sizeof part, &part, sizeof part) != 0)
			return 0;
		if (part.p_type != PT_INTERP)
			continue;
		loader = part.p_filesz <= sizeof name ? name : room;
		if (part.p_filesz == 0 || part.p_filesz > PATH_MAX ||
		    get(file, part.p_offset, loader, part.p_filesz) != 0 ||
		    loader[part.p_filesz - 1] != '\0')
			return 0;
		if (strcmp(loader, guard.interpreter) == 0)
			return 1;
		reads(AT_FDCWD, loader);
		return 0;
	}
	*has_none = 1;
	return 0;
}

/* The interpreter's name goes to `name`; 0 where the file names none that can be. */
static int is_script(struct start *file, char *name)
{
	if (file->size < 2 || file->head[0] != '#' || file->head[1] != '!')
		return 0;
	file->head[file->size] = '\0';
	const char *at = file->head + 2 + strspn(file->head + 2, " \t");
	size_t length = strcspn(at, " \t\r\n");
	if (length == 0 || length >= PATH_MAX)
		return 0;
	memcpy(name, at, length);
	name[length] = '\0';
	return 1;
}

static struct nature nature_in(char *head, char *name, int dir, const char *path)
{
	struct nature nature = {.takes_guard = 1};
	struct start file = {.head = head};
	for (int depth = 0; depth < HEADS; depth++) {
		file.fd = noted_open(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (file.fd < 0)
			break; /* not there, or not to be read: exec will say so */
		long size = kernel(SYS_pread64, file.fd, file.head, HEAD - 1, 0);
		int script = 0;
		file.size = size > 0 ? (size_t)size : 0;
		if (size >= 0 && has_other_rights(file.fd))
			nature.takes_guard = 0;
		else if (file.size >= SELFMAG && memcmp(file.head, ELFMAG, SELFMAG) == 0) {
			nature.takes_guard = has_our_loader(&file, name, &nature.has_no_loader);
			nature.is_program = depth == 0;
			nature.checks_order =
			    memmem(file.head, file.size, "libasan.so", 10) != NULL;
		} else {
			script = is_script(&file, name);
		}
		kernel(SYS_close, file.fd);
		if (!script)
			break;
		path = name;
		reads(dir, path);
	}
	return nature;
}

SLOW struct nature nature_of(int dir, const char *path)
{
	char *pages = pages_take(HEAD + PATH_MAX);
	struct nature nature = {.takes_guard = 1};
	if (pages != NULL) {
		nature = nature_in(pages, pages + HEAD, dir, path);
		pages_give(pages, HEAD + PATH_MAX);
	}
	return nature;
}
