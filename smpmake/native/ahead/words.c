#include "words.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define MOST_CHANGES 8 /* to compile, to link, to preprocess, and by other macros */

/* What is to be put in the place of what: other flags.  Where there were none they come between the
 * same two words, of which the last may be missing. */
struct change {
	char **old, **new, *before, *behind;
	size_t old_count, new_count;
};

/* Of what comes before the source, and of what follows it; the newest first. */
static struct change changes[2][MOST_CHANGES];

/* Some words of a command. */
struct part {
	char **all;
	size_t from, to;
};

int split_words(struct words *words, const char *text, size_t size, size_t source)
{
	char **all = strings_of(memcpy(must_alloc(size), text, size), size);
	size_t count = 0;
	while (all != NULL && all[count] != NULL)
		count++;
	/* The program's path is before them. */
	*words = (struct words){all, count, source != 0 ? source + 1 : 0};
	return source + 1 < count ? 0 : -1;
}

static struct part part_of(const struct words *words, int is_behind)
{
	return is_behind ? (struct part){words->all, words->source + 1, words->count}
	                 : (struct part){words->all, 0, words->source};
}

static void learn(struct change *known, struct part old, struct part new)
{
	size_t old_count = old.to - old.from, new_count = new.to - new.from, first = 0, last = 0;
	char **from = old.all + old.from, **to = new.all + new.from;
	while (first < old_count && first < new_count && strcmp(from[first], to[first]) == 0)
		first++;
	while (last < old_count - first && last < new_count - first &&
	       strcmp(from[old_count - 1 - last], to[new_count - 1 - last]) == 0)
		last++;
	if (old.from == 0 && first == 0) /* another compiler */
		return;
	memmove(known + 1, known, (MOST_CHANGES - 1) * sizeof *known);
	*known = (struct change){from + first,
	                         to + first,
	                         old.all[old.from + first - 1],
	                         last > 0 ? from[old_count - last] : NULL,
	                         old_count - first - last,
	                         new_count - first - last};
}

void learn_change(const struct words *then, const struct words *now)
{
	for (int is_behind = 0; is_behind < 2; is_behind++)
		learn(changes[is_behind], part_of(then, is_behind), part_of(now, is_behind));
}

/* Where a change begins, `to` where it does not. */
static size_t find(const struct change *change, struct part part)
{
	for (size_t at = part.from > 0 ? part.from : 1; at + change->old_count <= part.to; at++) {
		size_t same = 0;
		const char *behind = at < part.to ? part.all[at] : NULL;
		while (same < change->old_count &&
		       strcmp(part.all[at + same], change->old[same]) == 0)
			same++;
		if (same < change->old_count)
			continue;
		if (same > 0 || (strcmp(part.all[at - 1], change->before) == 0 &&
		                 (behind == NULL || change->behind == NULL
		                      ? behind == change->behind
				      : strcmp(behind, change->behind) == 0)))
			return at;
	}
	return part.to + 1;
}

static size_t put(char **at, char *const *words, size_t count)
{
	if (count > 0)
		memcpy(at, words, count * sizeof *at);
	return count;
}

/* Puts a part as it would be now; returns how many words it has. */
static size_t put_part(char **now, const struct change *change, struct part part)
{
	const struct change *end = change + MOST_CHANGES;
	for (; change < end && change->before != NULL; change++) {
		size_t at = find(change, part);
		if (at > part.to)
			continue;
		size_t rest = at + change->old_count;
		size_t count = put(now, part.all + part.from, at - part.from);
		count += put(now + count, change->new, change->new_count);
		return count + put(now + count, part.all + rest, part.to - rest);
	}
	return put(now, part.all + part.from, part.to - part.from);
}

struct words words_now(const struct words *known)
{
	size_t most = known->count + 1;
	for (int is_behind = 0; is_behind < 2; is_behind++) {
		size_t longest = 0;
		for (size_t i = 0; i < MOST_CHANGES; i++)
			if (changes[is_behind][i].new_count > longest)
				longest = changes[is_behind][i].new_count;
		most += longest;
	}
	char **now = must_alloc(most * sizeof *now);
	size_t source = put_part(now, changes[0], part_of(known, 0));
	now[source] = known->all[known->source];
	size_t count = source + 1 + put_part(now + source + 1, changes[1], part_of(known, 1));
	now[count] = NULL;
	return (struct words){now, count, source};
}

int are_same_words(const struct words *one, const struct words *other)
{
	size_t i = 0;
	while (i < one->count && i < other->count && strcmp(one->all[i], other->all[i]) == 0)
		i++;
	return i == one->count && i == other->count;
}
