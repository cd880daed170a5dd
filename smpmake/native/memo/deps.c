/* A compiler breaks the lines of a rule where they would be too long, each compiler in its way.  So
 * the rule of another tree is broken elsewhere, if its top's name has another length. */
#include "deps.h"

#include <string.h>

#include "base/util.h"
#include "tree.h"

/* How a compiler writes: gcc's make_write_name, clang's DependencyFileGenerator. */
enum style { GCC, CLANG, STYLES };

struct name {
	const char *text;
	size_t size;
};

struct rule {
	struct name *names;
	size_t count, targets;
	const char *rest; /* behind the rule: those without prerequisites (-MP) */
	size_t rest_size;
};

static size_t length_of_name(const char *at, const char *end)
{
	const char *begin = at;
	while (at < end && *at != ' ' && *at != '\n')
		at++;
	return (size_t)(at - begin);
}

static int read_rule(const char *text, size_t size, struct rule *rule)
{
	const char *at = text, *end = text + size;
	memset(rule, 0, sizeof *rule);
	rule->names = must_alloc((size / 2 + 1) * sizeof *rule->names);
	while (at < end && *at != '\n') {
		if (*at == ' ') {
			at++;
			continue;
		}
		if (*at == '\\' && at + 1 < end && at[1] == '\n') {
			at += 2;
			continue;
		}
		size_t length = length_of_name(at, end);
		/* Whether the length of a line is that of escaped names depends on the compiler. */
		for (size_t i = 0; i < length; i++)
			if (at[i] == '\\' || at[i] == '$')
				return -1;
		int is_last = rule->targets == 0 && length > 1 && at[length - 1] == ':';
		rule->names[rule->count++] = (struct name){at, length - (size_t)is_last};
		if (is_last)
			rule->targets = rule->count;
		at += length;
	}
	if (at >= end || rule->targets == 0)
		return -1;
	rule->rest = at + 1;
	rule->rest_size = (size_t)(end - rule->rest);
	return 0;
}

struct writing {
	char *text;
	size_t size, column;
};

static void put(struct writing *writing, const char *text, size_t size)
{
	memcpy(writing->text + writing->size, text, size);
	writing->size += size;
}

static void put_as_gcc(struct writing *writing, const struct name *name)
{
	if (writing->column > 0) {
		if (writing->column + name->size > 72) {
			put(writing, " \\\n", 3);
			writing->column = 0;
		}
		put(writing, " ", 1);
		writing->column++;
	}
	put(writing, name->text, name->size);
	writing->column += name->size;
}

static void put_as_clang(struct writing *writing, const struct name *name, int is_target)
{
	const size_t more = is_target ? 2 : 3;
	if (is_target && writing->column == 0) {
		writing->column = name->size;
	} else if (writing->column + name->size + more > 75) {
		put(writing, " \\\n  ", 5);
		writing->column = name->size + more;
	} else {
		put(writing, " ", 1);
		writing->column += name->size + 1;
	}
	put(writing, name->text, name->size);
}

static void write_rule(struct writing *writing, const struct rule *rule, enum style style)
{
	writing->size = writing->column = 0;
	for (size_t i = 0; i < rule->count; i++) {
		if (style == GCC)
			put_as_gcc(writing, &rule->names[i]);
		else
			put_as_clang(writing, &rule->names[i], i < rule->targets);
		if (i + 1 == rule->targets) {
			put(writing, ":", 1);
			writing->column++;
		}
	}
	put(writing, "\n", 1);
}

static struct name moved(const struct name *name, const struct memo_place *from,
                         const struct memo_place *to)
{
	char *text = must_alloc(name->size + 1);
	memcpy(text, name->text, name->size);
	text[name->size] = '\0';
	const char *fresh = memo_moved(text, from, to);
	return (struct name){fresh, strlen(fresh)};
}

/* Lines "NAME:". */
static void put_rest(struct writing *writing, const struct rule *rule,
                     const struct memo_place *from, const struct memo_place *to)
{
	const char *end = rule->rest + rule->rest_size;
	for (const char *at = rule->rest; at < end;) {
		const char *stop = memmem(at, (size_t)(end - at), "\n", 1);
		struct name name = {at, (size_t)((stop != NULL ? stop : end) - at)};
		at += name.size + (stop != NULL);
		name = moved(&name, from, to);
		put(writing, name.text, name.size);
		put(writing, "\n", stop != NULL);
	}
}

char *memo_renamed_deps(const char *text, size_t *size, const struct memo_place *from,
                        const struct memo_place *to)
{
	struct rule rule;
	char *found = NULL;
	size_t found_size = 0;
	if (!memo_is_plain_place(from) || !memo_is_plain_place(to) ||
	    read_rule(text, *size, &rule) != 0)
		return NULL;
	const size_t most = 2 * *size + (rule.count + 2) * (to->top + 8) + rule.rest_size +
	                    rule.rest_size / 2 * to->top;
	struct rule fresh = rule;
	fresh.names = must_alloc((rule.count + 1) * sizeof *fresh.names);
	for (size_t i = 0; i < rule.count; i++)
		fresh.names[i] = moved(&rule.names[i], from, to);
	for (int style = 0; style < STYLES; style++) {
		struct writing writing = {.text = must_alloc(most)};
		write_rule(&writing, &rule, (enum style)style);
		put(&writing, rule.rest, rule.rest_size);
		if (writing.size != *size || memcmp(writing.text, text, *size) != 0)
			continue;
		write_rule(&writing, &fresh, (enum style)style);
		put_rest(&writing, &fresh, from, to);
		/* Which compiler it was the text does not tell. */
		if (found != NULL &&
		    (found_size != writing.size || memcmp(found, writing.text, found_size) != 0))
			return NULL;
		found = writing.text;
		found_size = writing.size;
	}
	*size = found_size;
	return found;
}
