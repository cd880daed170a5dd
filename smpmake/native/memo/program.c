#include "program.h"

#include <string.h>

#include "layout/wire.h"
#include "store.h"

/* libiberty is in all of gcc and binutils.  It only hands `environ` on to what it starts (and takes
 * its address).  libc's own questions are known (question.c), and our guard reads its own. */
enum { UNSEEN = 1, LIBIBERTY = 2, KNOWN = 4 };

struct name {
	char text[28];
	unsigned char size; /* bytes, in some with the NUL behind it */
	unsigned char says;
};

#define TEXT(text) text, sizeof text - 1
#define WHOLE(text) text, sizeof text
static const struct name names[] = {
    {WHOLE("environ"), UNSEEN},
    {WHOLE("__secure_getenv"), UNSEEN},
    {TEXT("bytes after a total of"), LIBIBERTY},
    {TEXT("xmalloc_set_program_name"), LIBIBERTY},
    {TEXT("GNU C Library"), KNOWN},
    {TEXT(OURS), KNOWN},
};
#define COUNT (sizeof names / sizeof *names)

#define PIECE 8u    /* bytes of each name that are looked for: no name is shorter */
#define PAIRS 4096u /* a number for each two bytes; several have the same */

static unsigned pair(const char *at)
{
	return ((unsigned char)at[0] ^ (unsigned)(unsigned char)at[1] << 4) % PAIRS;
}

/* By how much a place may go on whose last two bytes are these: no name's piece ends before. */
static const unsigned char *steps_of_pairs(void)
{
	static unsigned char steps[PAIRS];
	static int are_known;
	if (are_known)
		return steps;
	memset(steps, PIECE - 1, sizeof steps);
	for (size_t i = 0; i < COUNT; i++)
		for (unsigned end = 2; end <= PIECE; end++) {
			unsigned char *step = &steps[pair(names[i].text + end - 2)];
			*step = PIECE - end < *step ? (unsigned char)(PIECE - end) : *step;
		}
	are_known = 1;
	return steps;
}

static unsigned said_at(const char *text, size_t size)
{
	unsigned says = 0;
	for (const struct name *name = names; name < names + COUNT; name++)
		if (size >= name->size && memcmp(text, name->text, name->size) == 0)
			says |= name->says;
	return says;
}

int memo_is_runnable(const char *text, size_t size)
{
	uint16_t type = 0;
	if (size < 18 || memcmp(text, "\177ELF", 4) != 0)
		return 0;
	memcpy(&type, text + 16, sizeof type);
	return type == 2 || type == 3; /* ET_EXEC, ET_DYN */
}

/* All names at once (Wu and Manber): a compiler has 30 MB and more. */
void memo_look_for_names(unsigned *found, const char *text, size_t size)
{
	const unsigned char *steps = steps_of_pairs();
	while (size >= PIECE && !(*found & LIBIBERTY)) {
		unsigned step = steps[pair(text + PIECE - 2)];
		if (step == 0) {
			*found |= said_at(text, size);
			step = 1;
		}
		text += step;
		size -= step;
	}
}

uint32_t memo_names_say(unsigned found)
{
	if (found & LIBIBERTY)
		return MEMO_HAS_LIBIBERTY;
	return (found & (UNSEEN | KNOWN)) == UNSEEN ? MEMO_HAS_ENVIRON : 0;
}
