#include "proof.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"

/* Whether a word lets the preprocessor alone show the text that the compiler reads, and write
 * nothing else. */
static int is_of_text(const char *word)
{
	/* clang-format off */
	static const char *const known[] = {
	    "-f", "-g", "-I", "-D", "-U", "-O", "-W", "-w", "-m", "-x", "-l", "-L", "-B", "-std=",
	    "-pipe", "-pthread", "-nostd", "-ansi", "-pedantic", "-isystem", "-iquote", "-include",
	    "-idirafter", "-imacros", "-target", "-shared", "-static", NULL};
	/* They matter to -E alone, or have a file written. */
	static const char *const other[] = {
	    "-fdirectives", "-frewrite", "-fkeep-", "-fpreprocessed", "-fdump", "-fdiagnostics-format",
	    "-fdiagnostics-add", "-fdiagnostics-set", "-Wp,", NULL};
	/* clang-format on */
	return *word != '-' || (begins_as(word, known) && !begins_as(word, other));
}

/* The compiler's words without what it makes and what it writes besides, as one that only
 * preprocesses; NULL where that is not known.  To other tools -E means something else. */
static char **words_of(const struct memo_question *q)
{
	static const char *const compilers[] = {COMPILERS, NULL};
	static const char *const alone[] = {"-c", "-S", "-MD", "-MMD", "-MP", NULL};
	static const char *const valued[] = {"-o", "-MF", "-MT", "-MQ", NULL};
	const char *slash = strrchr(q->program, '/');
	size_t count = 0, kept = 0;
	if (!is_one_of(slash != NULL ? slash + 1 : q->program, compilers))
		return NULL;
	while (q->argv[count] != NULL)
		count++;
	char **words = must_alloc((count + 2) * sizeof *words);
	for (size_t i = 0; i < count; i++) {
		const char *word = q->argv[i];
		size_t k = 0;
		if (is_among(word, alone))
			continue;
		while (valued[k] != NULL && strncmp(word, valued[k], strlen(valued[k])) != 0)
			k++;
		if (valued[k] != NULL) {
			i += word[strlen(valued[k])] == '\0';
			continue;
		}
		if (i > 0 && !is_of_text(word))
			return NULL;
		words[kept++] = q->argv[i];
	}
	words[kept++] = (char *)(uintptr_t)"-E";
	words[kept] = NULL;
	return words;
}

/* What the program prints, or NULL where it fails. */
static char *text_of(const char *program, char **words, char *const *env, size_t *size)
{
	int out = (int)syscall(SYS_memfd_create, "text", 1u), status = -1; /* closed on exec */
	pid_t child = out >= 0 ? fork() : -1;
	if (child == 0) {
		int nothing = open("/dev/null", O_RDWR);
		dup2(nothing, 0);
		dup2(out, 1);
		dup2(nothing, 2);
		kernel(SYS_execve, program, words, env);
		_exit(STATUS_CANNOT_RUN);
	}
	char *text = NULL;
	off_t end = 0;
	if (child > 0 && waitpid(child, &status, 0) == child && status == 0)
		end = lseek(out, 0, SEEK_END);
	if (end > 0) {
		text = mmap(NULL, (size_t)end, PROT_READ, MAP_PRIVATE, out, 0);
		*size = (size_t)end;
	}
	if (out >= 0)
		close(out);
	return text != MAP_FAILED ? text : NULL;
}

static int is_told(const struct memo_question *q, const char *line, size_t size)
{
	/* clang tells by the last two where a lambda stands. */
	static const char *const words[] = {"__builtin_FILE", "source_location", "_FILE__",
	                                    "PRETTY_FUNCTION", "FUNCSIG"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (memmem(line, size, words[i], strlen(words[i])) != NULL)
			return 1;
	return memo_names_top(&q->tree, line, size);
}

int is_proved(const struct memo_question *q)
{
	size_t size = 0;
	char **words = words_of(q);
	const char *text = words != NULL ? text_of(q->program, words, q->env, &size) : NULL;
	const char *end = text + size;
	if (text == NULL || memchr(text, '\0', size) != NULL)
		return 0;
	for (const char *line = text; line < end;) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		stop = stop != NULL ? stop : end;
		/* Of what follows in which file only debug information and messages tell. */
		int is_marker = stop - line > 2 && line[0] == '#' && line[1] == ' ' &&
		                line[2] >= '0' && line[2] <= '9';
		if (!is_marker && is_told(q, line, (size_t)(stop - line)))
			return 0;
		line = stop + 1;
	}
	return 1;
}
