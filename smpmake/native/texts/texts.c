/* Memory and texts as libc has them, for what is not to look anything up in libc: the shim has
 * none, and each name that the guard wants of it costs every process of a build a search.
 *
 * The texts here are short: names, paths, variables.
 */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__ /* memset is not to be made of memset */
#define TEXT __attribute__((no_builtin))
#else
#define TEXT
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

TEXT void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
#ifdef __x86_64__
	void *at = to;
	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(size) : : "memory");
#else
	char *at = to;
	const char *source = from;
	while (size-- > 0)
		*at++ = *source++;
#endif
	return to;
}

TEXT void *mempcpy(void *restrict to, const void *restrict from, size_t size)
{
	return (char *)memcpy(to, from, size) + size;
}

TEXT void *memmove(void *to, const void *from, size_t size)
{
	char *at = to;
	const char *source = from;
	if (at <= source)
		for (size_t i = 0; i < size; i++)
			at[i] = source[i];
	else
		while (size-- > 0)
			at[size] = source[size];
	return to;
}

TEXT void *memset(void *to, int value, size_t size)
{
	char *at = to;
	while (size-- > 0)
		*at++ = (char)value;
	return to;
}

TEXT int memcmp(const void *a, const void *b, size_t size)
{
	const unsigned char *one = a, *other = b;
	for (; size > 0; size--, one++, other++)
		if (*one != *other)
			return *one - *other;
	return 0;
}

/* Newer <string.h> has macros of some of the names below. */
TEXT void *(memrchr)(const void *memory, int byte, size_t size)
{
	const char *at = memory;
	while (size-- > 0)
		if (at[size] == (char)byte)
			return (void *)(uintptr_t)(at + size);
	return NULL;
}

TEXT void *(memchr)(const void *memory, int byte, size_t size)
{
	const char *at = memory;
	for (; size > 0; size--, at++)
		if (*at == (char)byte)
			return (void *)(uintptr_t)at;
	return NULL;
}

/* Goes on by as much as the last byte of a place allows (Horspool): a program's head is searched
 * before each start. */
TEXT void *memmem(const void *memory, size_t size, const void *part, size_t length)
{
	const unsigned char *at = memory, *wanted = part;
	unsigned char steps[UCHAR_MAX + 1];
	size_t most = length < UCHAR_MAX ? length : UCHAR_MAX;
	if (length == 0)
		return (void *)(uintptr_t)memory;
	memset(steps, (int)most, sizeof steps);
	for (size_t i = length - most; i < length - 1; i++)
		steps[wanted[i]] = (unsigned char)(length - 1 - i);
	while (size >= length) {
		unsigned char last = at[length - 1];
		if (last == wanted[length - 1] && memcmp(at, part, length) == 0)
			return (void *)(uintptr_t)at;
		at += steps[last];
		size -= steps[last];
	}
	return NULL;
}

TEXT size_t strnlen(const char *text, size_t most)
{
	size_t size = 0;
	while (size < most && text[size] != '\0')
		size++;
	return size;
}

TEXT size_t strlen(const char *text)
{
	return strnlen(text, SIZE_MAX);
}

TEXT int strncmp(const char *a, const char *b, size_t most)
{
	for (; most > 0; most--, a++, b++)
		if (*a != *b || *a == '\0')
			return (unsigned char)*a - (unsigned char)*b;
	return 0;
}

TEXT int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

TEXT char *stpcpy(char *restrict to, const char *restrict from)
{
	while ((*to = *from++) != '\0')
		to++;
	return to;
}

TEXT char *strcpy(char *restrict to, const char *restrict from)
{
	stpcpy(to, from);
	return to;
}

TEXT char *strcat(char *restrict to, const char *restrict from)
{
	stpcpy(to + strlen(to), from);
	return to;
}

TEXT char *strchrnul(const char *text, int character)
{
	while (*text != '\0' && *text != (char)character)
		text++;
	return (char *)(uintptr_t)text;
}

TEXT char *(strchr)(const char *text, int character)
{
	char *found = strchrnul(text, character);
	return *found == (char)character ? found : NULL;
}

TEXT char *(strrchr)(const char *text, int character)
{
	const char *found = NULL;
	for (;; text++) {
		if (*text == (char)character)
			found = text;
		if (*text == '\0')
			return (char *)(uintptr_t)found;
	}
}

TEXT size_t strspn(const char *text, const char *accepted)
{
	size_t size = 0;
	while (text[size] != '\0' && strchr(accepted, text[size]) != NULL)
		size++;
	return size;
}

TEXT size_t strcspn(const char *text, const char *refused)
{
	size_t size = 0;
	while (text[size] != '\0' && strchr(refused, text[size]) == NULL)
		size++;
	return size;
}

TEXT char *(strpbrk)(const char *text, const char *wanted)
{
	text += strcspn(text, wanted);
	return *text != '\0' ? (char *)(uintptr_t)text : NULL;
}

TEXT char *(strstr)(const char *text, const char *part)
{
	size_t length = strlen(part);
	while (*text != '\0' && strncmp(text, part, length) != 0)
		text++;
	return *text != '\0' || length == 0 ? (char *)(uintptr_t)text : NULL;
}

/* Numbers are in the base 10, and no blanks come before them. */
TEXT unsigned long long strtoull(const char *restrict text, char **restrict end, int base)
{
	unsigned long long value = 0;
	(void)base;
	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (unsigned long long)(*text - '0');
	if (end != NULL)
		*end = (char *)(uintptr_t)text;
	return value;
}

TEXT unsigned long strtoul(const char *restrict text, char **restrict end, int base)
{
	return (unsigned long)strtoull(text, end, base);
}

TEXT long strtol(const char *restrict text, char **restrict end, int base)
{
	int negative = *text == '-';
	char *after;
	long value = (long)strtoul(text + negative, &after, base);
	if (end != NULL) /* as libc: where it began, if there is no number */
		*end = after > text + negative ? after : (char *)(uintptr_t)text;
	return negative ? -value : value;
}
