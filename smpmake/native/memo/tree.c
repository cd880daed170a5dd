#include "tree.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/kernel.h"
#include "base/util.h"

#define WIDEST 4u
#define LONGEST 128u /* letters of a mark */
#define LARGEST 400u /* bytes of a top: what is searched in pieces has it in one (store.c) */

static int is_letter(char c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* What neither make, nor C, nor an assembler writes in another way. */
int memo_is_plain(char c)
{
	return is_letter(c) || (c != '\0' && strchr("/_.+-@~,=", c) != NULL);
}

int memo_is_plain_place(const struct memo_place *place)
{
	for (size_t i = 0; i < place->top; i++)
		if (!memo_is_plain(place->folder[i]))
			return 0;
	return 1;
}

static void find_mark(struct memo_tree *tree)
{
	while (tree->plain < tree->top && memo_is_plain(tree->folder[tree->plain]))
		tree->plain++;
	for (size_t at = 0; at < tree->plain; at++) {
		size_t length = 0;
		while (at + length < tree->plain && is_letter(tree->folder[at + length]))
			length++;
		if (length > tree->length) {
			tree->mark = at;
			tree->length = length < LONGEST ? length : LONGEST;
		}
		at += length;
	}
	if (tree->length == 0 || tree->top > LARGEST)
		tree->top = 0;
}

int memo_find_tree(struct memo_tree *tree, const char *top)
{
	size_t size = top != NULL ? strlen(top) : 0;
	long length = kernel(SYS_getcwd, tree->folder, sizeof tree->folder);
	tree->top = tree->plain = tree->mark = tree->length = tree->named_count = 0;
	tree->is_in_words = 0;
	if (length <= 0 || *tree->folder != '/')
		return -1;
	int is_within = size > 1 && *top == '/' && strncmp(tree->folder, top, size) == 0 &&
	                (tree->folder[size] == '/' || tree->folder[size] == '\0');
	tree->top = is_within ? size : strlen(tree->folder);
	find_mark(tree);
	return 0;
}

/* Whether the top's name is at `at`, each character in `width` bytes; what is neither letter nor
 * digit may be any other such. */
static int is_there(const struct memo_tree *tree, const char *at, size_t width)
{
	for (size_t i = 0; i < tree->plain; i++) {
		char wanted = tree->folder[i], found = at[i * width];
		if (is_letter(wanted) ? found != wanted : is_letter(found))
			return 0;
		for (size_t k = 1; k < width; k++)
			if (at[i * width + k] != '\0')
				return 0;
	}
	return 1;
}

static int names_top(const struct memo_tree *tree, const char *bytes, size_t size, size_t width)
{
	char mark[LONGEST * WIDEST] = "";
	const size_t before = tree->mark * width, all = (tree->plain - 1) * width + 1;
	/* The last one's other bytes need not be there. */
	const size_t length = (tree->length - 1) * width + 1;
	const char *end = bytes + size, *at = bytes;
	for (size_t i = 0; i < tree->length; i++)
		mark[i * width] = tree->folder[tree->mark + i];
	while ((at = memmem(at, (size_t)(end - at), mark, length)) != NULL) {
		if ((size_t)(at - bytes) >= before && (size_t)(end - (at - before)) >= all &&
		    is_there(tree, at - before, width))
			return 1;
		at++;
	}
	return 0;
}

int memo_names_top(const struct memo_tree *tree, const char *bytes, size_t size)
{
	return tree->top == 0 || names_top(tree, bytes, size, 1) ||
	       names_top(tree, bytes, size, 2) || names_top(tree, bytes, size, 4);
}

const char *memo_top_in(const struct memo_tree *tree, const char *bytes, size_t size)
{
	return tree->top != 0 ? memmem(bytes, size, tree->folder, tree->top) : NULL;
}

int memo_is_in_tree(const struct memo_tree *tree, const char *name)
{
	return strncmp(name, tree->folder, tree->top) == 0;
}

int memo_is_above(const struct memo_tree *tree, const char *name)
{
	long depth = 0;
	if (*name == '/') {
		if (!memo_is_in_tree(tree, name))
			return 0;
		name += tree->top;
	} else {
		for (const char *at = tree->folder + tree->top; *at != '\0'; at++)
			depth += *at == '/';
	}
	for (const char *at = name; *at != '\0' && depth >= 0;) {
		size_t length = strcspn(at, "/");
		if (length == 2 && at[0] == '.' && at[1] == '.')
			depth--;
		else if (length > 0 && !(length == 1 && *at == '.'))
			depth++;
		at += length + (at[length] == '/');
	}
	return depth < 0;
}

void memo_find_told(struct memo_tree *tree)
{
	for (size_t i = 0; i < tree->named_count; i++) {
		const char *path = tree->named[i], *slash = strrchr(path + tree->top, '/');
		struct stat info;
		int is_folder =
		    kernel(SYS_newfstatat, AT_FDCWD, path, &info, 0) == 0 && S_ISDIR(info.st_mode);
		tree->told[i] = is_folder       ? strlen(path)
		                : slash != NULL ? (size_t)(slash - path)
		                                : tree->top;
	}
}

int memo_is_told_of(const struct memo_tree *tree, const char *name)
{
	for (size_t i = 0; i < tree->named_count; i++)
		if (strncmp(name, tree->named[i], tree->told[i]) == 0 &&
		    (name[tree->told[i]] == '/' || name[tree->told[i]] == '\0'))
			return 1;
	return 0;
}

const char *memo_moved(const char *name, const struct memo_place *from, const struct memo_place *to)
{
	if (strncmp(name, from->folder, from->top) != 0 ||
	    (name[from->top] != '/' && name[from->top] != '\0'))
		return name;
	char *moved = must_alloc(to->top + strlen(name + from->top) + 1);
	memcpy(moved, to->folder, to->top);
	strcpy(moved + to->top, name + from->top);
	return moved;
}

/* ------------------------------------------------------------------ what hides names */

/* Sections that are compressed, or hold another representation of the program. */
static int has_hidden_sections(const char *bytes, size_t size)
{
	static const char *const names[] = {".zdebug", ".llvmbc", ".gnu.lto_", ".gnu.debuglto_"};
	Elf64_Ehdr head;
	Elf64_Shdr section;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (memmem(bytes, size, names[i], strlen(names[i])) != NULL)
			return 1;
	if (size < sizeof head || bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB)
		return 1;
	memcpy(&head, bytes, sizeof head);
	if (head.e_shoff > size || head.e_shentsize != sizeof section || head.e_shnum == 0 ||
	    (size - head.e_shoff) / sizeof section < head.e_shnum)
		return 1;
	for (size_t i = 0; i < head.e_shnum; i++) {
		memcpy(&section, bytes + head.e_shoff + i * sizeof section, sizeof section);
		if (section.sh_flags & SHF_COMPRESSED)
			return 1;
	}
	return 0;
}

int memo_may_hide_names(const char *bytes, size_t size)
{
	if (is_elf(bytes, size))
		return has_hidden_sections(bytes, size);
	/* What is in an archive its members had. */
	return (size < 8 || memcmp(bytes, "!<arch>\n", 8) != 0) &&
	       memchr(bytes, '\0', size) != NULL;
}
