#include "entry.h"
#include "check.h"
#include "content.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "memo/told.h"

#define LARGEST_TEXT (1u << 20)

/* ------------------------------------------------------------------ may it be kept? */

static int holds(const char *text, size_t size, const char *word)
{
	return size > 0 && memmem(text, size, word, strlen(word)) != NULL;
}

static int is_english(char *const *env)
{
	static const char *const names[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *value = memo_value(env, names[i], strlen(names[i]));
		if (value != NULL && *value != '\0')
			return strcmp(value, "C") == 0 || strcmp(value, "POSIX") == 0 ||
			       strncmp(value, "C.", 2) == 0 || strncmp(value, "en_", 3) == 0;
	}
	return 1;
}

/* Whether a text tells of the machine's state: by an error of a system call, or in other words. */
static int tells_of_state(const char *text, size_t size)
{
	static const int lasting[] = {ENOENT, ENOTDIR, EISDIR, EEXIST,
	                              EINVAL, EDOM,    ERANGE, EILSEQ};
	static const char *const words[] = {
	    "annot allocate", "ut of memory", "emory exhausted",    "irtual memory",
	    "quota",          "Killed",       "terminated program", "nternal compiler error",
	    "egmentation",    "busy",         "timed out",          "bad_alloc"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (holds(text, size, words[i]))
			return 1;
	for (int number = 1; number <= EHWPOISON; number++) {
		size_t i = 0;
		while (i < sizeof lasting / sizeof *lasting && lasting[i] != number)
			i++;
		if (i == sizeof lasting / sizeof *lasting && holds(text, size, strerror(number)))
			return 1;
	}
	return 0;
}

/* A failure is kept where the source is at fault, and not the machine's state. */
static int may_last(const struct trace *trace, const struct result *result)
{
	return WEXITSTATUS(result->status) == 1 && is_english(trace->question->env) &&
	       (holds(result->out, result->out_size, "error:") ||
	        holds(result->err, result->err_size, "error:")) &&
	       !tells_of_state(result->out, result->out_size) &&
	       !tells_of_state(result->err, result->err_size);
}

/* Names that nobody can foretell begin so: what was looked for beside a temporary file. */
static int is_of_temporary(const struct trace *trace, const char *path)
{
	for (size_t i = 0; i < trace->altered_count; i++) {
		const struct altered *one = &trace->altered[i];
		const char *dot = strrchr(one->path, '.');
		size_t size = dot != NULL ? (size_t)(dot - one->path) : strlen(one->path);
		struct stat info;
		if (one->is_temporary && strncmp(path, one->path, size) == 0 &&
		    (path[size] == '\0' || path[size] == '.') && lstat(one->path, &info) != 0)
			return 1;
	}
	return 0;
}

/* The same seen in another way says nothing more. */
static int is_twice(const struct trace *trace, const struct look *look)
{
	static const int ways[] = {LOOKS, READS_LINK, OPENS};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		const struct look *other =
		    ways[i] != look->way
		        ? trace_find(trace, look->path, ways[i], look->flags & MEMO_NO_FOLLOW)
		        : NULL;
		if (other != NULL && other->kind == look->kind &&
		    other->info.st_ino == look->info.st_ino &&
		    (other->opened > look->opened ||
		     (other->opened == look->opened && other < look)))
			return 1;
	}
	return 0;
}

/* ------------------------------------------------------------------ an entry in the making */

struct making {
	char *data;
	size_t size, room;
};

static void *more(struct making *making, size_t size)
{
	size_t padded = MEMO_PADDED(size);
	if (making->size + padded > making->room) {
		making->room = making->room * 2 + padded + 65536;
		making->data = realloc(making->data, making->room);
		if (making->data == NULL)
			abort();
	}
	void *at = making->data + making->size;
	memset(at, 0, padded);
	making->size += padded;
	return at;
}

static int put_blob(struct making *making, const struct memo *memo, const char *bytes, size_t size)
{
	char place[PATH_MAX];
	struct sha256 sum;
	int is_inline = size <= MEMO_INLINE;
	struct memo_blob *blob = more(making, sizeof *blob + (is_inline ? size : 0));
	blob->size = (uint32_t)MEMO_PADDED(sizeof *blob + (is_inline ? size : 0));
	blob->is_inline = (uint32_t)is_inline;
	blob->bytes = size;
	sha256_begin(&sum);
	sha256_add(&sum, bytes, size);
	sha256_end(&sum, blob->hash);
	if (is_inline) {
		memcpy(blob + 1, bytes, size);
		return 0;
	}
	return memo_write(memo, memo_place(memo, 'c', blob->hash, place), bytes, size);
}

static void put_fact(struct making *making, const struct look *look, uint32_t group,
                     const unsigned char hash[SHA256_SIZE])
{
	const char *target = look->target != NULL ? look->target : "";
	size_t path = strlen(look->path) + 1, other = strlen(target) + 1;
	struct memo_fact *fact = more(making, sizeof *fact + path + other);
	fact->size = (uint32_t)MEMO_PADDED(sizeof *fact + path + other);
	fact->kind = look->kind;
	fact->flags = (uint16_t)(look->flags | (look->opened ? MEMO_IS_READ : 0));
	fact->group = group;
	fact->mode = look->kind == MEMO_IS_ABSENT ? 0 : look->info.st_mode;
	fact->more = look->info.st_rdev;
	if (look->kind == MEMO_IS_FILE)
		memo_stamp_of(&look->info, &fact->stamp);
	memcpy(fact->hash, hash, SHA256_SIZE);
	fact->path_size = (uint32_t)path;
	fact->other_size = (uint32_t)other;
	memcpy(fact + 1, look->path, path);
	memcpy((char *)(fact + 1) + path, target, other);
}

/* What was one file or folder has one number. */
struct groups {
	struct {
		dev_t device;
		ino_t inode;
		uint32_t number; /* 0: nobody's place */
	} *places;
	size_t room; /* a power of two */
	uint32_t count;
};

static uint32_t group_of(struct groups *groups, const struct stat *info)
{
	size_t at = info->st_ino * UINT64_C(0x9e3779b97f4a7c15) >> 20;
	for (;; at++) {
		size_t place = at & (groups->room - 1);
		if (groups->places[place].number == 0) {
			groups->places[place].device = info->st_dev;
			groups->places[place].inode = info->st_ino;
			groups->places[place].number = ++groups->count;
		}
		if (groups->places[place].inode == info->st_ino &&
		    groups->places[place].device == info->st_dev)
			return groups->places[place].number;
	}
}

/* Whether it still is as it was when it was looked at. */
static enum memo_why is_still(struct trace *trace, struct look *look, int failed,
                              const struct stat *info, unsigned char hash[SHA256_SIZE])
{
	const struct memo_question *q = trace->question;
	struct memo_stamp then, now;
	uint32_t has = 0;
	const struct altered *altered = trace_altered(trace, look->path);
	switch (look->kind) {
	case MEMO_IS_ABSENT:
		return failed || altered != NULL ? 0 : MEMO_CHANGED;
	case MEMO_IS_FILE:
		break;
	case MEMO_HAS_NAMES:
		return memo_names(look->path, hash) == 0 ? 0 : MEMO_ERROR;
	default:
		return failed ? MEMO_CHANGED : 0;
	}
	memo_stamp_of(&look->info, &then);
	int named = look->flags & MEMO_IS_NAMED ? trace_named(trace, look->path) : -1;
	if (named >= 0) {
		memcpy(hash, q->named[named].hash, SHA256_SIZE);
		if (!memo_same_stamp(&then, &q->named[named].stamp))
			return MEMO_CHANGED;
	}
	if (look->is_hashed)
		memcpy(hash, look->hash, SHA256_SIZE);
	if (altered != NULL)
		return look->is_hashed ? 0 : MEMO_FORMER;
	memo_stamp_of(info, &now);
	if (failed || !memo_same_stamp(&then, &now))
		return MEMO_CHANGED;
	unsigned char again[SHA256_SIZE];
	if (memo_content(&q->memo, look->path, &then, again, &has) != 0)
		return MEMO_CHANGED;
	if ((look->flags & MEMO_IS_NAMED || look->is_hashed) &&
	    memcmp(again, hash, SHA256_SIZE) != 0)
		return MEMO_CHANGED;
	memcpy(hash, again, SHA256_SIZE);
	if (look->opened && has & MEMO_HAS_CLOCK)
		return MEMO_CLOCK;
	trace->has |= has;
	trace->has_unseen |= trace_reads_unseen(look, has);
	return 0;
}

/* Whether two of the files that were read have one content, and are two files. */
static int has_copies(const struct making *making, size_t first)
{
	for (size_t at = first; at < making->size;) {
		const struct memo_fact *one = (const void *)(making->data + at), *other = one;
		at += one->size;
		if (one->kind != MEMO_IS_FILE || !(one->flags & MEMO_IS_READ))
			continue;
		for (size_t next = at; next < making->size; next += other->size) {
			other = (const void *)(making->data + next);
			if (other->kind == MEMO_IS_FILE && other->flags & MEMO_IS_READ &&
			    other->group != one->group &&
			    memcmp(other->hash, one->hash, sizeof one->hash) == 0)
				return 1;
		}
	}
	return 0;
}

/* Whether times of files matter.  A compiler that includes a file once takes two of another name
 * for one if size, time and content are the same: so they matter only where two have one content,
 * and the entry's facts say that they have it still.  A word may define a macro that asks for times
 * (memo/text.c). */
static int is_about_times(const struct trace *trace, const struct making *making, size_t first)
{
	const uint32_t both = MEMO_HAS_OPERATOR | MEMO_SAYS_ONCE;
	for (char *const *words = trace->question->argv; *words != NULL; words++)
		if (strstr(*words, "_Pra") != NULL || strstr(*words, "##") != NULL)
			return 1;
	if (trace->has & MEMO_HAS_TIMES)
		return 1;
	int is_once = trace->has & MEMO_HAS_ONCE || (trace->has & both) == both;
	return is_once && has_copies(making, first);
}

/* An archive that is made anew has no members yet with which an update would compare files. */
static int is_update(const struct trace *trace)
{
	struct stat info;
	for (size_t i = 0; i < trace->altered_count; i++)
		if (!trace->altered[i].was_there && lstat(trace->altered[i].path, &info) == 0)
			return 0;
	return trace->question->is_update;
}

static void note_times(struct making *making, size_t first)
{
	for (size_t at = first; at < making->size;) {
		struct memo_fact *fact = (void *)(making->data + at);
		if (fact->kind == MEMO_IS_FILE)
			fact->flags |= MEMO_TIMED;
		at += fact->size;
	}
}

/* What lay in the place of an output and was not read: of that the output itself tells.  That there
 * was nothing is a fact: a header or a library may have been looked for by that name.  But who asks
 * by lstat(2) or readlink(2) wants nothing to read: so a compiler asks whether its output is an
 * input by another name, and binutils whether there is an older file to be removed (guard/looks.c).
 */
static int is_only_replaced(const struct trace *trace, const struct look *look)
{
	const struct altered *one = trace_altered(trace, look->path);
	if (one == NULL || look->way == OPENS)
		return 0;
	if (!one->was_there)
		return look->kind == MEMO_IS_ABSENT && look->flags & MEMO_NO_FOLLOW &&
		       !trace->question->is_changer;
	return look->kind == MEMO_IS_FILE || look->kind == MEMO_IS_NO_LINK;
}

/* Whether an input was the same file as what an output has replaced, by another name. */
static int is_other_name(const struct trace *trace, const struct look *look)
{
	if (look->kind != MEMO_IS_FILE)
		return 0;
	for (size_t i = 0; i < trace->altered_count; i++) {
		const struct altered *one = &trace->altered[i];
		if (one->was_there && one->before.st_ino == look->info.st_ino &&
		    one->before.st_dev == look->info.st_dev && strcmp(one->path, look->path) != 0)
			return 1;
	}
	return 0;
}

/* One look; `*near`: how near its file system is. */
static enum memo_why doubt(struct trace *trace, struct look *look, int *near,
                           unsigned char hash[SHA256_SIZE])
{
	struct stat info = look->info;
	int failed = look->kind == MEMO_IS_ABSENT;
	/* What the command itself saw is so, whatever comes later; contents were read later. */
	int is_known = look->is_exact && look->kind != MEMO_IS_FILE;
	if (!is_known)
		failed = (look->flags & MEMO_NO_FOLLOW ? lstat(look->path, &info)
		                                       : stat(look->path, &info)) != 0;
	*near = look->kind == MEMO_IS_DEVICE ? 1
	        : failed || (is_known && look->way == READS_LINK)
	            ? memo_near_above(look->path)
	            : memo_near_at(info.st_dev, look->path);
	return *near ? is_still(trace, look, failed, &info, hash) : MEMO_DISTANT;
}

/* They come first: nothing is compared as quickly. */
static void put_variables(struct making *making, const struct trace *trace, uint32_t *count)
{
	for (size_t i = 0; i < trace->look_count; i++)
		if (trace->looks[i].kind == MEMO_IS_VARIABLE) {
			put_fact(making, &trace->looks[i], 0, trace->looks[i].hash);
			(*count)++;
		}
}

static enum memo_why put_facts(struct making *making, struct trace *trace, uint32_t *count)
{
	enum memo_why why = 0;
	struct groups groups = {.room = 64};
	while (groups.room < 2 * trace->look_count)
		groups.room *= 2;
	groups.places = calloc(groups.room, sizeof *groups.places);
	if (groups.places == NULL)
		abort();
	for (size_t i = 0; i < trace->look_count && why == 0; i++) {
		struct look *look = &trace->looks[i];
		unsigned char hash[SHA256_SIZE] = {0};
		struct memo_stamp stamp;
		int is_one = look->kind == MEMO_IS_FILE || look->kind == MEMO_IS_FOLDER, near;
		if (look->kind == 0 || look->kind == MEMO_IS_VARIABLE ||
		    is_of_temporary(trace, look->path) || is_twice(trace, look) ||
		    is_only_replaced(trace, look))
			continue;
		if (is_other_name(trace, look)) {
			why = MEMO_FORMER;
			break;
		}
		/* More words, which nobody has looked through: clang's. */
		if (look->kind == MEMO_IS_FILE && look->opened && ends_in(look->path, ".cfg")) {
			why = MEMO_WORDS;
			break;
		}
		why = doubt(trace, look, &near, hash);
		if (look->kind == MEMO_IS_FILE) {
			memo_stamp_of(&look->info, &stamp);
			if (near == MEMO_NEAR_IN_MEMORY ||
			    !memo_is_settled(&trace->question->memo, &stamp))
				look->flags |= MEMO_UNSTAMPED;
		}
		put_fact(making, look, is_one ? group_of(&groups, &look->info) : 0, hash);
		(*count)++;
	}
	free(groups.places);
	return why;
}

static int is_own(const struct memo_tree *tree, const char *path)
{
	return *path != '/' || memo_is_in_tree(tree, path);
}

/* Whether a file has two names, of which gcc takes the shorter: a header in a folder of the
 * system's headers by a relative name, and where that lies, whose name has the tree's length. */
static int is_chosen_by_length(const struct trace *trace)
{
	for (size_t i = 0; i < trace->look_count; i++) {
		struct stat info;
		if (!trace->looks[i].is_canonical || stat(trace->looks[i].path, &info) != 0)
			continue;
		for (size_t k = 0; k < trace->look_count; k++) {
			const struct look *opened = &trace->looks[k];
			if (opened->way == OPENS && opened->kind == MEMO_IS_FILE &&
			    *opened->path != '/' && opened->info.st_ino == info.st_ino &&
			    opened->info.st_dev == info.st_dev &&
			    trace_named(trace, opened->path) < 0)
				return 1;
		}
	}
	return 0;
}

/* Whether it would have asked for files of another tree there, each by the same way.  Nobody has
 * told it the top's name: so it knows that by asking where it is, as realpath(3) does.  What it
 * opens by such a name it may have found in another way, and a link leads anywhere. */
static int is_of_any_tree(const struct trace *trace, const struct memo_entry *entry)
{
	const struct memo_tree *tree = &trace->question->tree;
	const struct memo_fact *fact = MEMO_FIRST_FACT(entry);
	for (uint32_t i = 0; i < entry->facts; i++, fact = MEMO_NEXT(fact))
		if (fact->kind == MEMO_LEADS_TO ||
		    (fact->kind == MEMO_IS_LINK && is_own(tree, (const char *)(fact + 1))))
			return 0;
	for (size_t i = 0; i < trace->look_count; i++) {
		const struct look *look = &trace->looks[i];
		const char *top = memo_top_in(tree, look->path, strlen(look->path));
		if (look->is_by_top || (top != NULL && top != look->path))
			return 0;
	}
	for (size_t i = 0; i < trace->altered_count; i++)
		if (memo_is_in_tree(tree, trace->altered[i].path))
			return 0;
	return !trace->is_bound && !(trace->has & MEMO_HAS_TOP) && !is_chosen_by_length(trace);
}

/* What the result is remembered for: other trees only get what names this one in nothing, or where
 * its name can be another; `says`: in messages. */
static int scope_of(struct trace *trace, const struct memo_entry *entry,
                    const struct result *result, int *says)
{
	int is_unseen = trace->has_unseen || trace->silent_count > 0;
	int out = says_tree(trace->question, result->out, result->out_size);
	int err = says_tree(trace->question, result->err, result->err_size);
	int is_said = out < 0 || err < 0;
	int is_here =
	    !is_of_any_tree(trace, entry) || (is_unseen && trace->question->is_told) || is_said;
	trace->is_named |= is_said && !trace->is_bound;
	*says = out > 0 || err > 0;
	return (is_here ? MEMO_ONLY_HERE : 0) | (is_unseen ? MEMO_ALL_VARIABLES : 0);
}

/* Where files lie that the command was told of: of each by what names it was opened. */
static enum memo_why put_locations(struct making *making, struct trace *trace, uint32_t *count)
{
	static const unsigned char none[SHA256_SIZE];
	for (size_t i = 0; i < trace->look_count && trace->located_count > 0; i++) {
		const struct look *look = &trace->looks[i];
		char place[PATH_MAX];
		if (look->kind != MEMO_IS_FILE || !look->opened ||
		    trace_altered(trace, look->path) != NULL ||
		    memo_lies_at(look->path, place) != 0)
			continue;
		size_t k = 0;
		while (k < trace->located_count && strcmp(trace->located[k].path, place) != 0)
			k++;
		if (k == trace->located_count)
			continue;
		trace->located[k].is_known = 1;
		struct look lies = {.path = look->path, .target = place, .kind = MEMO_IS_AT};
		put_fact(making, &lies, 0, none);
		(*count)++;
	}
	for (size_t k = 0; k < trace->located_count; k++)
		if (!trace->located[k].is_known)
			return MEMO_CHANGED;
	return 0;
}

/* Whether a file that had been there would have been written to: binutils remove an older object,
 * cc1 writes over an older text, and what is made by another name takes its place. */
static int would_be_cut(const struct altered *one, const char *bytes, size_t size)
{
	return !one->was_there && one->is_cut && !is_elf(bytes, size);
}

/* How an output was made, and what of it was there before. */
static uint32_t flags_of(const struct trace *trace, const struct altered *one,
                         const struct stat *now)
{
	uint32_t flags = one->was_there ? MEMO_WAS_THERE : one->is_kept ? MEMO_IS_SEEN : 0;
	if (one->was_there && one->before.st_size == 0)
		flags |= MEMO_WAS_EMPTY;
	if (now == NULL)
		flags |= MEMO_REMOVED;
	else if (one->was_there && one->is_cut && one->before.st_ino == now->st_ino &&
	         one->before.st_dev == now->st_dev)
		flags |= MEMO_IN_PLACE;
	for (size_t i = 0; i < trace->look_count; i++) {
		const struct look *look = &trace->looks[i];
		if (look->kind != MEMO_IS_FILE || strcmp(look->path, one->path) != 0)
			continue;
		if (look->opened)
			flags |= MEMO_IS_INPUT;
		else if (!(look->flags & MEMO_NO_FOLLOW))
			flags |= MEMO_IS_SEEN;
	}
	return flags;
}

/* Whether somebody else has been at an output: who ends a job that was given up removes it, and the
 * command may have ended well before. */
static int is_of_others(const struct trace *trace, const struct altered *one, int is_there,
                        const struct stat *info)
{
	struct memo_stamp now;
	if (!is_there)
		return one->leaves == LEAVES_FILE || (one->was_there && one->leaves != LEAVES_NONE);
	memo_stamp_of(info, &now);
	return one->leaves == LEAVES_NONE || trace_is_touched(one, &now) ||
	       now.changed_ns > trace->ended_ns;
}

/* Whether the folder of a file was listed. */
static int is_listed(const struct trace *trace, const char *path)
{
	char folder[PATH_MAX];
	struct stat own, listed;
	if (memo_folder_of(path, folder) != 0 || stat(folder, &own) != 0)
		return 1;
	for (size_t i = 0; i < trace->look_count; i++)
		if (trace->looks[i].kind == MEMO_HAS_NAMES &&
		    (stat(trace->looks[i].path, &listed) != 0 ||
		     (listed.st_ino == own.st_ino && listed.st_dev == own.st_dev)))
			return 1;
	return 0;
}

static enum memo_why put_outputs(struct making *making, struct trace *trace, uint32_t *facts,
                                 uint32_t *count, int is_after_facts)
{
	static const unsigned char none[SHA256_SIZE];
	for (size_t i = 0; i < trace->altered_count; i++) {
		const struct altered *one = &trace->altered[i];
		struct stat info;
		int is_there = lstat(one->path, &info) == 0;
		if (is_of_others(trace, one, is_there, &info))
			return MEMO_CHANGED;
		if (!is_there && !one->was_there) {
			/* Had it been there it would have gone; but for what mkstemp has named. */
			struct look absent = {.path = one->path, .kind = MEMO_IS_ABSENT};
			absent.flags = MEMO_NO_FOLLOW;
			absent.info.st_rdev = ENOENT;
			if (!one->is_temporary && !is_after_facts) {
				put_fact(making, &absent, 0, none);
				(*facts)++;
			}
			continue;
		}
		if (!is_after_facts) {
			char folder[PATH_MAX], room[PATH_MAX];
			struct look way = {.path = folder, .target = room, .kind = MEMO_LEADS_TO};
			int leads = memo_leads(one->path, folder, room);
			if (leads < 0)
				return MEMO_FORMER;
			if (leads > 0)
				put_fact(making, &way, 0, none);
			*facts += (uint32_t)leads;
			continue;
		}
		if (is_there && one->is_temporary)
			return MEMO_RANDOM;
		/* A listing is read once more at the end, and would not be what the command saw. */
		if (is_there != one->was_there && is_listed(trace, one->path))
			return MEMO_CHANGED;
		if (is_there &&
		    (!S_ISREG(info.st_mode) || info.st_nlink != 1 || info.st_uid != geteuid()))
			return MEMO_FORMER;
		size_t path = strlen(one->path) + 1, size = 0;
		struct memo_output *output = more(making, sizeof *output + path);
		output->size = (uint32_t)MEMO_PADDED(sizeof *output + path);
		output->flags = flags_of(trace, one, is_there ? &info : NULL);
		output->former = one->was_there ? one->before.st_mode : 0;
		output->mode = is_there ? info.st_mode : 0;
		output->path_size = (uint32_t)path;
		memcpy(output + 1, one->path, path);
		(*count)++;
		if (!is_there)
			continue;
		/* Who reads a file and puts another in its place does that by its names. */
		if ((output->flags & (MEMO_IS_INPUT | MEMO_IN_PLACE)) == MEMO_IS_INPUT)
			return MEMO_FORMER;
		if (ends_in(one->path, ".ali"))
			return MEMO_CLOCK; /* of Ada: the times of its sources are in it */
		char *bytes = memo_read(one->path, SIZE_MAX / 2, &size, 0);
		if (bytes == NULL)
			return MEMO_ERROR;
		if (lstat(one->path, &info) != 0 || is_of_others(trace, one, 1, &info)) {
			free(bytes);
			return MEMO_CHANGED;
		}
		enum memo_why why = why_of_content(trace, bytes, size);
		if (why != 0) {
			free(bytes);
			return why;
		}
		if (would_be_cut(one, bytes, size))
			output->flags |= MEMO_IN_PLACE;
		int names = trace->is_bound ? -1 : names_tree(trace->question, bytes, size);
		trace->is_named |= names < 0 && !trace->is_bound;
		trace->is_bound |= names < 0;
		if (names > 0)
			output->flags |= MEMO_NAMES_TREE;
		int failed = put_blob(making, &trace->question->memo, bytes, size);
		free(bytes);
		if (failed)
			return MEMO_LARGE;
	}
	return 0;
}

/* ------------------------------------------------------------------ the question's file */

/* The entries that are there already, but for one with the very same facts. */
static void put_older(struct making *making, const struct memo_question *q)
{
	size_t size = 0, at = sizeof(struct memo_head);
	char *old = memo_entries(q, q->scope, &size);
	const struct memo_entry *entry;
	if (old == NULL || !memo_is_of_question(q, q->scope, old, size))
		return;
	for (uint32_t kept = 1;
	     kept < MEMO_MOST && (entry = memo_next_entry(old, size, &at)) != NULL;) {
		const struct memo_entry *fresh =
		    (const void *)(making->data + sizeof(struct memo_head));
		if (making->size + entry->size > MEMO_LARGEST)
			return;
		const struct memo_output *end = memo_outputs(entry);
		size_t facts = end != NULL ? (size_t)((const char *)end - (const char *)entry) : 0;
		if (facts != 0 && (entry->facts != fresh->facts || facts > fresh->size ||
		                   memcmp(entry + 1, fresh + 1, facts - sizeof *entry) != 0)) {
			memcpy(more(making, entry->size), entry, entry->size);
			kept++;
		}
	}
}

/* ------------------------------------------------------------------ all of it */

enum memo_why memo_keep_result(struct trace *trace, const struct result *result,
                               const struct memo_entry *known)
{
	static const unsigned char none[SHA256_SIZE];
	struct memo_question *q = trace->question;
	struct making making = {NULL, 0, 0};
	char place[PATH_MAX];
	uint32_t facts = 0, outputs = 0;
	if (trace->why != 0)
		return trace->why;
	if (WIFSIGNALED(result->status) || trace->at_work_count != 0)
		return MEMO_KILLED;
	if (WEXITSTATUS(result->status) != 0 && !may_last(trace, result))
		return MEMO_FAILED;
	if (!trace_knows_draws(trace) || has_digits(trace, result->out, result->out_size) ||
	    has_digits(trace, result->err, result->err_size))
		return MEMO_RANDOM;
	if (result->out_size > LARGEST_TEXT || result->err_size > LARGEST_TEXT)
		return MEMO_LARGE;
	struct memo_head *head = more(&making, sizeof *head);
	*head = (struct memo_head){.magic = MEMO_MAGIC, .format = MEMO_FORMAT};
	more(&making, sizeof(struct memo_entry));
	struct look origin = {.path = q->tree.folder, .kind = MEMO_WAS_IN};
	size_t first = making.size;
	put_fact(&making, &origin, 0, none);
	facts++;
	put_variables(&making, trace, &facts);
	enum memo_why why = put_facts(&making, trace, &facts);
	if (is_about_times(trace, &making, first) || is_update(trace))
		note_times(&making, first);
	if (why == 0)
		why = put_locations(&making, trace, &facts);
	if (why == 0)
		why = put_outputs(&making, trace, &facts, &outputs, 0);
	if (why == 0)
		why = put_outputs(&making, trace, &facts, &outputs, 1);
	if (why != 0)
		return why;
	if (put_blob(&making, &q->memo, result->out, result->out_size) != 0 ||
	    put_blob(&making, &q->memo, result->err != NULL ? result->err : "",
	             q->one_stream ? 0 : result->err_size) != 0)
		return MEMO_LARGE;
	struct memo_entry *entry = (void *)(making.data + sizeof *head);
	entry->size = (uint32_t)(making.size - sizeof *head);
	entry->facts = facts;
	entry->outputs = outputs;
	entry->status = WEXITSTATUS(result->status);
	entry->cpu_us = result->cpu_us;
	memcpy(entry->boot, q->memo.boot, sizeof entry->boot);
	int says;
	q->scope = scope_of(trace, entry, result, &says);
	if (trace->is_named && !q->is_bound)
		memo_is_tagged(q, "/s/bound", 1);
	if (!(q->scope & MEMO_ONLY_HERE)) {
		struct memo_fact *here = (void *)(entry + 1);
		here->more = q->tree.top;
		if (q->tree.is_in_words)
			here->flags |= MEMO_UNPROVED;
		if (says)
			here->flags |= MEMO_IS_SAID;
	}
	entry->check = memo_check_of(entry);
	/* What would not be understood later is not written. */
	if (memo_outputs(entry) == NULL || making.size > MEMO_LARGEST)
		return MEMO_LARGE;
	if (known != NULL)
		compare(trace, known, entry);
	memcpy(((struct memo_head *)(void *)making.data)->key, q->keys[q->scope], SHA256_SIZE);
	put_older(&making, q);
	if (memo_write(&q->memo, memo_place(&q->memo, 'q', q->keys[q->scope], place), making.data,
	               making.size) != 0)
		return MEMO_LARGE;
	memo_tell(&q->memo, "s\n", 2);
	return 0;
}
