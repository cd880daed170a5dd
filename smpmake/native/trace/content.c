#include "content.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "memo/debug_names.h"
#include "memo/deps.h"
#include "memo/messages.h"
#include "memo/other_tree.h"

int has_digits(const struct trace *trace, const char *bytes, size_t size)
{
	for (size_t i = 0; i < trace->altered_count; i++)
		if (trace->altered[i].digits != NULL &&
		    memmem(bytes, size, trace->altered[i].digits,
		           strlen(trace->altered[i].digits)) != NULL)
			return 1;
	return 0;
}

/* Whether an archive tells when, by whom or from which files it was made: of each member its mode
 * would have the file's type, or it has a time.  What was made of files without a time may. */
static int is_dated_archive(const char *bytes, size_t size)
{
	const struct {
		char name[16], date[12], user[6], group[6], mode[8], size[10], end[2];
	} *member;
	if (size >= 8 && memcmp(bytes, "!<thin>\n", 8) == 0)
		return 1;
	if (size < 8 || memcmp(bytes, "!<arch>\n", 8) != 0)
		return 0;
	for (size_t at = 8; at + sizeof *member <= size;) {
		member = (const void *)(bytes + at);
		int is_index =
		    member->name[0] == '/' && (member->name[1] == ' ' || member->name[1] == '/');
		if (!is_index && memcmp(member->mode, "644     ", sizeof member->mode) != 0)
			return 1;
		if (*member->date != ' ' && memcmp(member->date, "0           ", 12) != 0)
			return 1;
		unsigned long long length = strtoull(member->size, NULL, 10);
		if (length > size)
			return 1;
		at += sizeof *member + length + (length & 1);
	}
	return 0;
}

static uint32_t number_at(const char *bytes, size_t at)
{
	uint32_t number;
	memcpy(&number, bytes + at, sizeof number);
	return number;
}

/* Whether a program or object of Windows or macOS tells when it, or its parts, were made; or a tree
 * of clang's is in it. */
static int is_dated(const char *bytes, size_t size)
{
	static const uint16_t machines[] = {0x8664, 0x014c, 0xaa64, 0x01c4, 0xa641};
	uint16_t machine;
	if (size < 20)
		return 0;
	if (memcmp(bytes, "MZ", 2) == 0)
		return 1;
	int is_object = is_elf(bytes, size);
	if ((!is_object || bytes[16] == 1) && memmem(bytes, size, "__clangast", 10) != NULL)
		return 1;
	if (is_object)
		return 0;
	if (memcmp(bytes, "\xcf\xfa\xed\xfe", 4) == 0 || memcmp(bytes, "\xce\xfa\xed\xfe", 4) == 0)
		return number_at(bytes, 12) != 1; /* linked */
	if (number_at(bytes, 0) == 0xffff0000)    /* of many sections */
		return number_at(bytes, 8) != 0;
	memcpy(&machine, bytes, sizeof machine);
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		if (machine == machines[i])
			return number_at(bytes, 4) != 0;
	return 0;
}

/* Whether dependency files are the compiler's own: assemblers and linkers break lines elsewhere.
 * A target with a blank is one word to the compiler, and two to who reads it. */
static int is_compilers(const struct memo_question *q)
{
	int is = 0, is_target = 0;
	for (char *const *word = q->argv; *word != NULL; word++) {
		int begins = strncmp(*word, "-MT", 3) == 0 || strncmp(*word, "-MQ", 3) == 0;
		if ((is_target || begins) && strpbrk(*word, " \t\n:") != NULL)
			return 0;
		is_target = begins && (*word)[3] == '\0';
		is |= strncmp(*word, "-MD", 3) == 0 || strncmp(*word, "-MMD", 4) == 0;
		if (strstr(*word, "--MD") != NULL || strstr(*word, "dependency-file") != NULL)
			return 0;
	}
	return is;
}

int names_tree(const struct memo_question *q, const char *bytes, size_t size)
{
	if (memo_may_hide_names(bytes, size))
		return -1;
	if (!memo_names_top(&q->tree, bytes, size))
		return 0;
	const struct memo_place here = {q->tree.folder, q->tree.top}, nowhere = {"-", 1};
	size_t rest = size;
	if (!is_elf(bytes, size)) {
		if (!is_compilers(q))
			return -1;
		const char *text = memo_renamed_deps(bytes, &rest, &here, &nowhere);
		return text != NULL && !memo_names_top(&q->tree, text, rest) ? 1 : -1;
	}
	int may_be = memo_may_be_renamed(&q->tree, bytes, size);
	if (may_be != 0)
		memo_note_maker(&q->memo, bytes, size, may_be > 0);
	return may_be > 0 ? 1 : -1;
}

/* Whether what it prints are messages and nothing else, in lines whose ends no length decides. */
static int are_messages(const struct memo_question *q)
{
	static const char *const beside[] = {"-MD", "-MMD", "-MF", "-MT", "-MQ", "-MP", NULL};
	int is_made = 0;
	for (char *const *word = q->argv + 1; *q->argv != NULL && *word != NULL; word++) {
		if ((strncmp(*word, "-M", 2) == 0 && !begins_as(*word, beside)) ||
		    strncmp(*word, "-E", 2) == 0 || strstr(*word, "-message-length") != NULL ||
		    (strstr(*word, "-diagnostics-") != NULL && strstr(*word, "-color") == NULL))
			return 0;
		is_made |= strcmp(*word, "-c") == 0;
	}
	return is_made && q->terminals == 0 && q->tree.is_in_words;
}

int says_tree(const struct memo_question *q, const char *text, size_t size)
{
	const struct memo_place here = {q->tree.folder, q->tree.top}, nowhere = {"-", 1};
	size_t rest = size;
	if (!memo_names_top(&q->tree, text, size))
		return 0;
	const char *other =
	    are_messages(q) ? memo_renamed_messages(text, &rest, &here, &nowhere) : NULL;
	return other != NULL && !memo_names_top(&q->tree, other, rest) ? 1 : -1;
}

enum memo_why why_of_content(const struct trace *trace, const char *bytes, size_t size)
{
	if (memo_is_compiled(bytes, size)) /* it knows its process, or its sources' times */
		return MEMO_WORDS;
	/* Into these names clang puts the number of the source's file. */
	if (size > 0 && (memmem(bytes, size, "__omp_offloading_", 17) != NULL ||
	                 memmem(bytes, size, "_decl_tgt_ref_ptr", 17) != NULL))
		return MEMO_WORDS;
	if (is_dated(bytes, size) || is_dated_archive(bytes, size))
		return MEMO_CLOCK;
	return has_digits(trace, bytes, size) ? MEMO_RANDOM : 0;
}
