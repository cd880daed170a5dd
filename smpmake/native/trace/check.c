#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "memo/other_tree.h"
#include "memo/told.h"

/* Two runs never share what mkstemp(3) has named: it stands for any. */
static char *without_names(const char *text, size_t size)
{
	char *copy = malloc(size + 1);
	if (copy == NULL)
		abort();
	memcpy(copy, text, size);
	copy[size] = '\0';
	for (char *at = copy; (at = memmem(at, size - (size_t)(at - copy), "/cc", 3)) != NULL; at++)
		for (size_t i = 3; i < 9 && at[i] != '\0' && at[i] != '.'; i++)
			at[i] = 'X';
	return copy;
}

static int is_same_text(const struct memo *memo, const struct memo_entry *known,
                        const struct memo_blob *a, const struct memo_entry *fresh,
                        const struct memo_blob *b)
{
	size_t size, other_size;
	const char *one = memo_said(memo, known, a, &size);
	const char *other = memo_said(memo, fresh, b, &other_size);
	return one != NULL && other != NULL && size == other_size &&
	       memcmp(without_names(one, size), without_names(other, size), size) == 0;
}

static int is_same_output(const struct memo *memo, const struct memo_entry *known,
                          const struct memo_output *a, const struct memo_entry *fresh,
                          const struct memo_output *b)
{
	size_t size, other_size;
	const char *one = memo_output_bytes(memo, known, a, &size);
	const char *other = memo_output_bytes(memo, fresh, b, &other_size);
	return one != NULL && other != NULL && size == other_size && memcmp(one, other, size) == 0;
}

static const char *first_difference(const struct memo *memo, const struct memo_entry *known,
                                    const struct memo_entry *fresh, const char **what)
{
	const struct memo_output *a = memo_outputs(known), *b = memo_outputs(fresh);
	*what = "";
	if (known->status != fresh->status)
		return "its status";
	if (a == NULL || b == NULL || known->outputs != fresh->outputs)
		return "which files it makes";
	for (uint32_t i = 0; i < known->outputs; i++) {
		*what = (const char *)(b + 1);
		if (strcmp((const char *)(a + 1), *what) != 0 ||
		    (a->flags ^ b->flags) & (MEMO_REMOVED | MEMO_IS_INPUT))
			return "which files it makes";
		if (a->mode != b->mode)
			return "the mode of";
		if (!(a->flags & MEMO_REMOVED) && !is_same_output(memo, known, a, fresh, b))
			return "the content of";
		a = memo_behind(a);
		b = memo_behind(b);
	}
	*what = "";
	const struct memo_blob *out = (const void *)a, *other = (const void *)b;
	if (!is_same_text(memo, known, out, fresh, other))
		return "its standard output";
	return is_same_text(memo, known, MEMO_NEXT(out), fresh, MEMO_NEXT(other)) ? NULL
	                                                                          : "its messages";
}

/* An input of one that the other does not have: what explains a difference, if anything does. */
static const char *other_input(const struct memo_entry *a, const struct memo_entry *b)
{
	const struct memo_fact *fact = MEMO_FIRST_FACT(a);
	for (uint32_t i = 0; i < a->facts; i++, fact = MEMO_NEXT(fact)) {
		const struct memo_fact *other = MEMO_FIRST_FACT(b);
		uint32_t k = 0;
		while (k < b->facts &&
		       strcmp((const char *)(other + 1), (const char *)(fact + 1)) != 0) {
			other = MEMO_NEXT(other);
			k++;
		}
		if (k == b->facts)
			return (const char *)(fact + 1);
	}
	return NULL;
}

void compare(const struct trace *trace, const struct memo_entry *known,
             const struct memo_entry *fresh)
{
	const struct memo *memo = &trace->question->memo;
	const char *what, *how = first_difference(memo, known, fresh, &what);
	char line[2 * PATH_MAX];
	if (how == NULL) {
		memo_tell(memo, "c\n", 2);
		return;
	}
	const char *input = other_input(fresh, known);
	if (input == NULL)
		input = other_input(known, fresh);
	char *end = line + sizeof line - 1, *at = put_text(line, end, "d ");
	for (char *const *word = trace->question->argv; *word != NULL; word++)
		at = put_text(put_text(at, end - PATH_MAX, *word), end - PATH_MAX, " ");
	at = put_text(put_text(put_text(at, end, "\t"), end, how), end, *what != '\0' ? " " : "");
	at = put_text(put_text(at, end, what), end, "\t");
	at = put_text(at, end, input != NULL ? input : "");
	for (char *c = line; c < at; c++) /* it is one line */
		*c = *c == '\n' ? ' ' : *c;
	*at++ = '\n';
	memo_tell(memo, line, (size_t)(at - line));
}
