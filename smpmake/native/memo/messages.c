/* gcc, clang and as begin a line with the file of which it speaks, or with who includes that. */
#include "messages.h"

#include <string.h>

#include "base/util.h"
#include "tree.h"

/* Behind what a terminal takes for a colour: ESC [ 01;35 m, ESC [ K. */
static const char *behind_colours(const char *at, const char *end)
{
	while (end - at >= 3 && at[0] == '\033' && at[1] == '[') {
		const char *next = at + 2;
		while (next < end && ((*next >= '0' && *next <= '9') || *next == ';'))
			next++;
		if (next == end || (*next != 'm' && *next != 'K'))
			break;
		at = next + 1;
	}
	return at;
}

/* Where a line may name the file of which it speaks. */
static const char *place_of_name(const char *line, const char *end)
{
	static const char first[] = "In file included from ", other[] = "from ";
	const char *at = behind_colours(line, end), *word = at;
	if ((size_t)(end - at) > sizeof first && memcmp(at, first, sizeof first - 1) == 0)
		return behind_colours(at + sizeof first - 1, end);
	while (word < end && *word == ' ')
		word++;
	if (word > at && (size_t)(end - word) > sizeof other &&
	    memcmp(word, other, sizeof other - 1) == 0)
		return behind_colours(word + sizeof other - 1, end);
	return at;
}

/* Whether a name of the tree's is there, with what follows such a name: its line, or a colon. */
static int is_name(const char *at, const char *end, const struct memo_place *place)
{
	if ((size_t)(end - at) <= place->top || memcmp(at, place->folder, place->top) != 0 ||
	    at[place->top] != '/')
		return 0;
	at += place->top;
	while (at < end && memo_is_plain(*at) && *at != ',')
		at++;
	at = behind_colours(at, end);
	return at < end && (*at == ':' || *at == ',');
}

char *memo_renamed_messages(const char *text, size_t *size, const struct memo_place *from,
                            const struct memo_place *to)
{
	const char *end = text + *size;
	size_t lines = 1, made = 0;
	if (!memo_is_plain_place(from) || !memo_is_plain_place(to))
		return NULL;
	for (const char *at = text; at < end; at++)
		lines += *at == '\n';
	char *room = must_alloc(*size + lines * to->top);
	for (const char *line = text; line < end;) {
		const char *stop = memmem(line, (size_t)(end - line), "\n", 1);
		stop = stop != NULL ? stop + 1 : end;
		const char *name = place_of_name(line, stop);
		if (is_name(name, stop, from)) {
			memcpy(room + made, line, (size_t)(name - line));
			made += (size_t)(name - line);
			memcpy(room + made, to->folder, to->top);
			made += to->top;
			line = name + from->top;
		}
		memcpy(room + made, line, (size_t)(stop - line));
		made += (size_t)(stop - line);
		line = stop;
	}
	*size = made;
	return room;
}
