#include "text.h"

#include <string.h>

#include "store.h"

#define LINE 512u /* bytes of a line that are looked at */

static int is_at(const char *text, size_t size, const char *word)
{
	size_t length = strlen(word);
	return size >= length && memcmp(text, word, length) == 0;
}

static int is_in_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static int is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\\' || c == '\n' ||
	       c == '\r';
}

static int is_opening(char c)
{
	return c == '(' || c == 'L' || c == '"';
}

/* "ragma" before a word, with blanks and what an operator has before its text. */
static int is_behind(const char *begin, const char *at, const char *word)
{
	size_t length = strlen(word);
	while (at > begin && (is_blank(at[-1]) || is_opening(at[-1])))
		at--;
	return (size_t)(at - begin) >= length && memcmp(at - length, word, length) == 0;
}

static int is_on_line(const char *begin, const char *at, const char *word)
{
	size_t length = strlen(word), before = (size_t)(at - begin);
	before = before < LINE ? before : LINE;
	const char *line = memrchr(at - before, '\n', before);
	line = line != NULL ? line + 1 : at - before;
	for (; line + length <= at; line++)
		if (memcmp(line, word, length) == 0)
			return 1;
	return 0;
}

/* "#pragma once", "#pragma GCC dependency" and "#import", with whatever blanks they have; a comment
 * may have anything before it. */
static uint32_t about_times(const char *begin, const char *text, size_t left)
{
	int once = is_at(text, left, "once"), dependency = is_at(text, left, "dependency");
	if (!once && !dependency && !is_at(text, left, "import"))
		return 0;
	int is_so = is_behind(begin, text, "*/");
	if (once || dependency)
		is_so = is_so || is_on_line(begin, text, "ragma") ||
		        is_behind(begin, text, once ? "ragma" : "GCC");
	else
		is_so = is_so || is_behind(begin, text, "#") || is_behind(begin, text, "%:") ||
		        is_behind(begin, text, "?\?=");
	return !is_so ? 0 : dependency ? MEMO_HAS_TIMES : MEMO_HAS_ONCE;
}

/* Whether the words around a gap are halves of one of these. */
static int is_split(const char *begin, const char *before, const char *behind, const char *end)
{
	static const char *const words[] = {"once",    "import", "dependency", "pragma",
	                                    "_Pragma", "GCC",    NULL};
	for (const char *const *word = words; *word != NULL; word++) {
		size_t size = strlen(*word), first = 1;
		for (; first < size; first++)
			if ((size_t)(before - begin) >= first &&
			    (size_t)(end - behind) >= size - first &&
			    memcmp(before - first, *word, first) == 0 &&
			    memcmp(behind, *word + first, size - first) == 0)
				return 1;
	}
	return 0;
}

/* A line that goes on in the next one: behind `text`, a backslash or its trigraph. */
static int is_split_by_line(const char *begin, const char *text, const char *end)
{
	const char *next = text + (*text == '?' ? 3 : 1);
	while (next < end && (*next == ' ' || *next == '\t' || *next == '\r'))
		next++;
	return next < end && *next == '\n' && is_split(begin, text, next + 1, end);
}

/* on##ce */
static int is_pasted(const char *begin, const char *text, const char *end)
{
	const char *behind = text + 2;
	while (text > begin && is_blank(text[-1]))
		text--;
	while (behind < end && is_blank(*behind))
		behind++;
	return is_split(begin, text, behind, end);
}

/* Whether nobody can tell here what an operator says: _Pragma(#x), or a macro for it.  Of a text in
 * quotes the words above tell. */
static int is_open_operator(const char *text, size_t left)
{
	if (!is_at(text, left, "_Pra"))
		return 0;
	const char *at = text, *end = text + left;
	if (!is_at(text, left, "_Pragma"))
		return 1;
	for (at += 7; at < end && is_blank(*at); at++)
		;
	if (at == end || *at != '(')
		return 1;
	for (at++; at < end && (is_blank(*at) || *at == 'L'); at++)
		;
	return at == end || *at != '"';
}

/* Whether a directive gives a file another name in a way that is not searched: by an escape, or a
 * macro.  `text`: its sign, of so many characters; only a comment may be before it on its line. */
static int hides_name(const char *begin, const char *text, size_t sign, const char *end)
{
	const char *before = text;
	while (before > begin && (before[-1] == ' ' || before[-1] == '\t'))
		before--;
	if (before > begin && before[-1] != '\n' && before[-1] != '/')
		return 0;
	text += sign;
	while (text < end && is_blank(*text))
		text++;
	if (is_at(text, (size_t)(end - text), "line"))
		text += 4;
	else if (text == end || *text < '0' || *text > '9')
		return 0;
	while (text < end && (is_blank(*text) || (*text >= '0' && *text <= '9')) && *text != '\n')
		text++;
	if (text == end || *text == '\n')
		return 0;
	if (*text != '"')
		return 1;
	for (; text < end && *text != '\n'; text++)
		if (*text == '\\' || is_at(text, (size_t)(end - text), "?\?/"))
			return 1;
	return 0;
}

static uint32_t words_in(const char *begin, const char *end)
{
	uint32_t has = 0;
	for (const char *text = begin; text < end; text++) {
		size_t left = (size_t)(end - text);
		switch (*text) {
		case '_':
			if (is_at(text, left, "__DATE__") || is_at(text, left, "__TIME__") ||
			    is_at(text, left, "__TIMESTAMP__"))
				has |= MEMO_HAS_CLOCK;
			if (is_open_operator(text, left))
				has |= MEMO_HAS_OPERATOR;
			break;
		case 'o':
		case 'd':
		case 'i':
			has |= about_times(begin, text, left);
			break;
		case '\\':
		case '?':
			if ((*text == '\\' || is_at(text, left, "?\?/")) &&
			    is_split_by_line(begin, text, end))
				has |= MEMO_HAS_TIMES;
			if (is_at(text, left, "?\?=") && hides_name(begin, text, 3, end))
				has |= MEMO_HAS_TOP;
			break;
		case '%':
			if (is_at(text, left, "%:") && hides_name(begin, text, 2, end))
				has |= MEMO_HAS_TOP;
			break;
		case '#':
			if (hides_name(begin, text, 1, end))
				has |= MEMO_HAS_TOP;
			if (is_at(text, left, "##") && is_pasted(begin, text, end))
				has |= MEMO_HAS_TIMES;
			break;
		default:
			break;
		}
	}
	return has;
}

/* The next character of a comment: whether that ends here. */
static int ends_comment(struct reading *r, char c, char last)
{
	if (r->within == '*')
		return last == '*' && c == '/';
	if (c == '\n' && (last == '\\' || last == '/')) /* the next line, too: or by ??/ */
		r->is_odd = 1;
	return c == '\n';
}

/* The next character of code or of a text in quotes, behind a word. */
static void go_on(struct reading *r, char c, char last)
{
	if (r->within != 0) {
		if (c == '\n' || (c == r->within && last != '\\'))
			r->within = 0;
		else if (c == '\\' && last == '\\')
			r->last = 0;
		return;
	}
	if (last == '/' && (c == '*' || c == '/')) {
		r->within = c;
		r->last = 0;
	} else if (c == '"' || (c == '\'' && !is_in_word(last))) {
		r->within = c;
		r->is_odd |= last == 'R'; /* a raw text ends otherwise */
	} else if (last == '/' && (c == '\\' || c == '?')) {
		r->is_odd = 1;
	}
}

/* Whether a macro may be given "once": the word is there, or a text in quotes begins with it.  Most
 * files with that word have it in a comment. */
static int says_once(struct reading *r, const char *text, const char *end)
{
	static const char word[] = "once";
	int says = 0;
	for (; text < end; text++) {
		char c = *text, last = r->last;
		int is_comment = r->within == '*' || r->within == '/';
		r->last = c;
		if (is_in_word(c)) {
			int begins = !is_in_word(last);
			int may = begins && (r->within == 0 || is_comment || last == r->within);
			r->once = begins ? (may && c == *word ? 1 : 5)
			                 : (r->once < 4 && c == word[r->once] ? r->once + 1 : 5);
			continue;
		}
		says |= r->once == 4 && !is_comment;
		r->is_there |= r->once == 4;
		r->once = 0;
		if (!is_comment)
			go_on(r, c, last);
		else if (ends_comment(r, c, last))
			r->within = r->last = 0;
	}
	r->is_there |= r->once == 4;
	return says || r->once == 4 || (r->is_odd && r->is_there);
}

uint32_t memo_text_says(struct reading *reading, const char *text, size_t before, size_t size)
{
	uint32_t has = words_in(text, text + size);
	return has | (says_once(reading, text + before, text + size) ? MEMO_SAYS_ONCE : 0);
}
