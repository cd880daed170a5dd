/* What a command looks at and changes, noted before it goes on (trace/calls.h). */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FEWEST_PLACES 1024u /* a page that is touched costs more than a look */
#define MOST_PLACES 16384u
#define LEAST_DIGITS 4 /* fewer may stand in a name by chance */

void trace_spoil(struct trace *trace, enum memo_why why)
{
	if (trace->why == 0)
		trace->why = why;
	if (trace->notes != NULL)
		__atomic_store_n(&trace->notes->useless, 1, __ATOMIC_RELAXED);
}

void *trace_grown(void *items, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return items;
	*room = *room * 2 + 256;
	items = realloc(items, *room * size);
	if (items == NULL)
		abort();
	return items;
}

static void make_places(struct trace *trace, size_t count)
{
	trace->place_count = count;
	trace->places = calloc(count, sizeof *trace->places);
	if (trace->places == NULL)
		abort();
}

void trace_begin(struct trace *trace, struct memo_question *question)
{
	memset(trace, 0, sizeof *trace);
	trace->question = question;
	trace->is_bound = question->is_bound;
	memo_find_told(&question->tree);
	trace->began_ns = memo_clock();
	if (getcwd(trace->home, sizeof trace->home - 1) == NULL)
		trace_spoil(trace, MEMO_UNREADABLE);
	if (strcmp(trace->home, "/") != 0)
		strcat(trace->home, "/");
	make_places(trace, FEWEST_PLACES);
}

struct altered *trace_altered(const struct trace *trace, const char *path)
{
	for (size_t i = 0; i < trace->altered_count; i++)
		if (strcmp(trace->altered[i].path, path) == 0)
			return &trace->altered[i];
	return NULL;
}

/* Whether a file is one that the command itself has made, by whatever name. */
static int is_made(const struct trace *trace, const struct stat *info)
{
	for (size_t i = 0; i < trace->altered_count; i++) {
		struct stat made;
		if (stat(trace->altered[i].path, &made) == 0 && made.st_ino == info->st_ino &&
		    made.st_dev == info->st_dev)
			return 1;
	}
	return 0;
}

static int starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* What the guard in a process looks at: the session, where it keeps older contents on other file
 * systems (smpmake/undo/backup_dirs.py), and the process itself. */
int trace_is_guards(const struct trace *trace, const char *path)
{
	const char *session = trace->question->memo.session, *kept = path;
	size_t size = strlen(session);
	const char *name = size > 0 ? strrchr(session, '/') + 1 : "";
	if (size > 0 && *path == '.' && starts(path + 1, name) && path[strlen(name) + 1] == '/')
		return 1; /* in the folder in which the command works */
	while (size > 0 && (kept = strstr(kept, "/.")) != NULL) {
		kept += 2;
		if (starts(kept, name) && kept[strlen(name)] == '/')
			return 1;
	}
	return (size > 0 && starts(path, session) && path[size] == '/') ||
	       strcmp(path, "/proc/self/exe") == 0 || starts(path, LOOKS_OWN) ||
	       strcmp(path, "/proc/self/schedstat") == 0;
}

static uint64_t sum_of(const char *path, int way, int flags)
{
	uint64_t sum = quick_sum(path, strlen(path));
	return (sum ^ (unsigned)(way * 2 + (flags != 0))) * UINT64_C(0x9e3779b97f4a7c15);
}

static struct place *place_of(const struct trace *trace, uint64_t sum, const char *path, int way,
                              int flags)
{
	for (size_t at = sum >> 40;; at++) {
		struct place *place = &trace->places[at % trace->place_count];
		if (place->look == 0)
			return place;
		const struct look *known = &trace->looks[place->look - 1];
		if (place->sum == (uint32_t)sum && known->way == way &&
		    !((known->flags ^ (unsigned)flags) & MEMO_NO_FOLLOW) &&
		    strcmp(known->path, path) == 0)
			return place;
	}
}

static void grow_places(struct trace *trace)
{
	free(trace->places);
	make_places(trace, 4 * trace->place_count);
	for (uint32_t i = 0; i < trace->look_count; i++) {
		const struct look *look = &trace->looks[i];
		uint64_t sum = sum_of(look->path, look->way, look->flags & MEMO_NO_FOLLOW);
		*place_of(trace, sum, look->path, look->way, look->flags) =
		    (struct place){i + 1, (uint32_t)sum};
	}
}

struct look *trace_find(const struct trace *trace, const char *path, int way, int flags)
{
	const struct place *place = place_of(trace, sum_of(path, way, flags), path, way, flags);
	return place->look != 0 ? &trace->looks[place->look - 1] : NULL;
}

struct look *trace_look(struct trace *trace, const char *path, int way, int flags, int *is_new)
{
	uint64_t sum = sum_of(path, way, flags);
	struct place *place = place_of(trace, sum, path, way, flags);
	*is_new = place->look == 0;
	if (!*is_new)
		return &trace->looks[place->look - 1];
	if (trace->look_count >= trace->place_count / 2) {
		if (trace->place_count >= MOST_PLACES) {
			trace_spoil(trace, MEMO_LARGE);
			return NULL;
		}
		grow_places(trace);
		place = place_of(trace, sum, path, way, flags);
	}
	trace->looks =
	    trace_grown(trace->looks, trace->look_count, &trace->look_room, sizeof *trace->looks);
	struct look *look = &trace->looks[trace->look_count++];
	memset(look, 0, sizeof *look);
	look->path = strdup(path);
	look->flags = (uint16_t)flags;
	look->way = way;
	*place = (struct place){(uint32_t)trace->look_count, (uint32_t)sum};
	return look;
}

void trace_drop_look(struct trace *trace)
{
	uint32_t number = (uint32_t)trace->look_count--;
	const struct look *last = &trace->looks[number - 1];
	/* It came last: nobody's search goes on behind its place. */
	place_of(trace, sum_of(last->path, last->way, last->flags & MEMO_NO_FOLLOW), last->path,
	         last->way, last->flags)
	    ->look = 0;
}

/* One spelling for what is below the folder in which the command works. */
const char *trace_short(const struct trace *trace, const char *path)
{
	size_t size = strlen(trace->home);
	if (size > 1 && strncmp(path, trace->home, size) == 0 && path[size] != '\0' &&
	    path[size] != '/')
		path += size;
	while (starts(path, "./") && path[2] != '\0' && path[2] != '/')
		path += 2;
	return path;
}

const char *trace_asked(struct trace *trace, const char *name)
{
	const struct memo_tree *tree = &trace->question->tree;
	trace->is_by_top = memo_is_in_tree(tree, name);
	trace->is_told_of = memo_is_told_of(tree, name);
	trace->is_bound |= memo_is_above(tree, name);
	return trace_short(trace, name);
}

int trace_named(const struct trace *trace, const char *path)
{
	const struct memo_question *q = trace->question;
	for (size_t i = 0; i < q->named_count; i++)
		if (strcmp(trace_short(trace, q->named[i].path), path) == 0)
			return (int)i;
	return -1;
}

/* Only the date needs these; the time of day alone is nothing that a compiler tells of. */
int trace_is_of_clock(const char *path)
{
	return strcmp(path, "/etc/localtime") == 0 || strstr(path, "/zoneinfo") != NULL;
}

int64_t trace_young_ns(const struct trace *trace)
{
	return trace->began_ns - MEMO_TICK;
}

static int is_young(const struct trace *trace, const struct memo_stamp *stamp)
{
	return LOOKS_AGE(stamp->changed_ns) >= trace_young_ns(trace);
}

/* Its times do not tell of another change: its content does, now and whenever it is compared. */
static void hash_young(struct trace *trace, struct look *look, const struct memo_stamp *stamp)
{
	uint32_t has;
	look->is_hashed =
	    memo_content(&trace->question->memo, look->path, stamp, look->hash, &has) == 0;
	look->flags |= MEMO_UNSTAMPED;
	if (!look->is_hashed)
		trace_spoil(trace, MEMO_YOUNG);
}

void trace_judge(struct trace *trace, struct look *look, int failed)
{
	struct memo_stamp stamp;
	struct stat *info = &look->info;
	const char *path = look->path;
	if (failed) {
		look->kind = MEMO_IS_ABSENT;
		info->st_rdev = (dev_t)failed;
		if (failed != ENOENT && failed != ENOTDIR)
			trace_spoil(trace, MEMO_ERROR);
		return;
	}
	look->opened = look->way == OPENS;
	if (S_ISREG(info->st_mode)) {
		look->kind = MEMO_IS_FILE;
		memo_stamp_of(info, &stamp);
		/* What it has made is young. */
		if (is_young(trace, &stamp) && is_made(trace, info)) {
			look->kind = 0;
			return;
		}
		if (trace_named(trace, path) >= 0)
			look->flags |= MEMO_IS_NAMED;
		else if (is_young(trace, &stamp) && look->opened && look->is_exact)
			trace_spoil(trace, MEMO_YOUNG); /* nobody has read it then */
		else if (is_young(trace, &stamp))
			hash_young(trace, look, &stamp);
	} else if (S_ISDIR(info->st_mode)) {
		look->kind = MEMO_IS_FOLDER;
	} else if (S_ISLNK(info->st_mode)) {
		char target[PATH_MAX];
		ssize_t size = readlink(path, target, sizeof target - 1);
		look->kind = MEMO_IS_LINK;
		look->target = strndup(target, size > 0 ? (size_t)size : 0);
	} else if (strcmp(path, "/dev/null") == 0 || strcmp(path, "/dev/zero") == 0) {
		look->kind = MEMO_IS_DEVICE;
	} else {
		trace_spoil(trace,
		            strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0
		                ? MEMO_RANDOM
				: MEMO_SPECIAL);
	}
	if (starts(path, "/proc/") || starts(path, "/sys/"))
		trace_spoil(trace, MEMO_SPECIAL);
}

/* LLVM asks whether it may ask where its files lie: without /proc we were not here. */
static int is_folder_of_own(const char *path)
{
	return strcmp(path, "/proc/self/fd") == 0;
}

void trace_look_at(struct trace *trace, const char *path, int nofollow, int opens)
{
	int is_new;
	if (trace_is_of_clock(path))
		trace_spoil(trace, MEMO_CLOCK);
	if (trace_is_guards(trace, path) || trace_altered(trace, path) != NULL)
		return;
	if (!opens && is_folder_of_own(path))
		return;
	struct look *look =
	    trace_look(trace, path, opens ? OPENS : LOOKS, nofollow ? MEMO_NO_FOLLOW : 0, &is_new);
	if (look == NULL)
		return;
	look->is_by_top |= opens && trace->is_by_top && !trace->is_told_of;
	if (!is_new)
		return;
	int failed = (nofollow ? lstat(path, &look->info) : stat(path, &look->info)) != 0;
	trace_judge(trace, look, failed ? errno : 0);
	if (opens && !failed && look->kind != 0 && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0)
		trace_spoil(trace, MEMO_ERROR);
}

void trace_look_at_link(struct trace *trace, const char *path)
{
	char target[PATH_MAX];
	int is_new;
	if (trace_is_guards(trace, path) || is_folder_of_own(path) ||
	    trace_altered(trace, path) != NULL)
		return;
	struct look *look = trace_look(trace, path, READS_LINK, MEMO_NO_FOLLOW, &is_new);
	if (look != NULL)
		look->is_canonical |= trace->is_by_top;
	if (look == NULL || !is_new)
		return;
	ssize_t size = readlink(path, target, sizeof target);
	if (size >= 0) {
		look->kind = MEMO_IS_LINK;
		look->target = strndup(target, (size_t)size);
	} else if (errno == EINVAL) {
		look->kind = MEMO_IS_NO_LINK;
	} else {
		look->kind = MEMO_IS_ABSENT;
		look->info.st_rdev = (dev_t)errno;
		if (errno != ENOENT && errno != ENOTDIR)
			trace_spoil(trace, MEMO_ERROR);
	}
}

static void look_at_folder_of(struct trace *trace, const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t size = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
	memcpy(folder, path, size);
	strcpy(folder + size, size == 0 ? "." : "");
	trace_look_at(trace, folder, 0, 0);
	if (memo_has_list(folder))
		trace_spoil(trace, MEMO_FORMER);
	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0 && errno != ENOENT &&
	    errno != ENOTDIR)
		trace_spoil(trace, MEMO_ERROR);
}

/* Whether a file's content may read variables of which no guard hears.  Of a program only that of
 * gcc and binutils is known: any other may take them from its stack, as main's third argument.  A
 * library has nothing but names. */
int trace_reads_unseen(const struct look *look, uint32_t has)
{
	return look->is_run ? !(has & MEMO_HAS_LIBIBERTY)
	                    : look->opened && (has & MEMO_HAS_ENVIRON) != 0;
}

/* What has been looked at and is about to change: its content is known now or never. */
static void hash_before(struct trace *trace, const char *path)
{
	struct memo_stamp stamp;
	uint32_t has;
	for (size_t i = 0; i < trace->look_count; i++) {
		struct look *look = &trace->looks[i];
		if (look->kind != MEMO_IS_FILE || !look->opened || strcmp(look->path, path) != 0)
			continue;
		memo_stamp_of(&look->info, &stamp);
		look->is_hashed =
		    memo_content(&trace->question->memo, path, &stamp, look->hash, &has) == 0;
		if (!look->is_hashed)
			trace_spoil(trace, MEMO_CHANGED);
		if (look->opened && has & MEMO_HAS_CLOCK)
			trace_spoil(trace, MEMO_CLOCK);
		trace->has |= has;
		trace->has_unseen |= trace_reads_unseen(look, has);
	}
}

void trace_leave(struct altered *one, enum leaves leaves, pid_t writer)
{
	if (one == NULL)
		return;
	if (leaves != LEAVES_ANY)
		one->leaves = leaves;
	one->writer = writer;
	one->is_left = 0;
}

void trace_left(struct trace *trace, pid_t writer)
{
	struct stat info;
	for (size_t i = 0; i < trace->altered_count; i++) {
		struct altered *one = &trace->altered[i];
		if (one->writer != writer || one->is_temporary)
			continue;
		one->writer = 0;
		one->is_left = lstat(one->path, &info) == 0;
		if (one->is_left)
			memo_stamp_of(&info, &one->left);
	}
}

int trace_is_touched(const struct altered *one, const struct memo_stamp *now)
{
	return one->is_left && !memo_same_stamp(&one->left, now);
}

/* "ccXXXXXX.s": of a compiler's own; "stXXXXXX" of ar's. */
static int is_random(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	size_t stem = strcspn(name, ".");
	return stem == 8 && ((name[0] == 'c' && name[1] == 'c') ||
	                     (name[0] == 's' && name[1] == 't' && name[stem] == '\0'));
}

/* Whether a file's name has all the digits that were drawn since the last such name, one behind the
 * other: then it is known what became of them. */
static int is_drawn(struct trace *trace, struct altered *one)
{
	const struct looks *notes = trace->notes;
	uint32_t end = notes != NULL ? __atomic_load_n(&notes->drawn, __ATOMIC_ACQUIRE) : 0;
	if (end > LOOKS_DIGITS || end - trace->drawn < LEAST_DIGITS)
		return 0;
	const char *slash = strrchr(one->path, '/'), *name = slash != NULL ? slash + 1 : one->path;
	char *digits = strndup(notes->digits + trace->drawn, end - trace->drawn);
	if (strstr(name, digits) == NULL) {
		free(digits);
		return 0;
	}
	one->digits = digits;
	trace->drawn = end;
	return 1;
}

int trace_knows_draws(const struct trace *trace)
{
	return trace->notes == NULL ||
	       __atomic_load_n(&trace->notes->drawn, __ATOMIC_ACQUIRE) == trace->drawn;
}

void trace_locate(struct trace *trace, const char *path)
{
	if (*path != '/') { /* a pipe or the like: its number is another one each time */
		trace_spoil(trace, MEMO_SPECIAL);
		return;
	}
	for (size_t i = 0; i < trace->located_count; i++)
		if (strcmp(trace->located[i].path, path) == 0)
			return;
	trace->located = trace_grown(trace->located, trace->located_count, &trace->located_room,
	                             sizeof *trace->located);
	trace->located[trace->located_count++] = (struct located){.path = strdup(path)};
}

/* `keeps`: what is there may stay, or be read. */
struct altered *trace_alter(struct trace *trace, const char *path, int is_opened, int keeps,
                            int is_new)
{
	if (trace_is_guards(trace, path) || strcmp(path, "/dev/null") == 0)
		return NULL;
	struct altered *known = trace_altered(trace, path);
	if (known != NULL)
		return known;
	look_at_folder_of(trace, path);
	struct altered one = {.path = strdup(path), .is_cut = is_opened};
	if (lstat(path, &one.before) == 0) {
		const struct stat *before = &one.before;
		one.was_there = 1;
		/* Another name keeps what was there, unless that itself is written to. */
		if (!S_ISREG(before->st_mode) || (before->st_nlink != 1 && is_opened) ||
		    before->st_uid != geteuid() || before->st_gid != getegid() ||
		    is_made(trace, before))
			trace_spoil(trace, MEMO_FORMER);
		/* It keeps its inode, group and attributes: a file in its place would not. */
		if (is_opened && keeps)
			trace_spoil(trace, MEMO_FORMER);
		if (keeps)
			trace_look_at(trace, path, 0, 1);
		hash_before(trace, path);
	} else if (errno != ENOENT) {
		trace_spoil(trace, MEMO_ERROR);
	} else {
		one.is_kept = is_opened && keeps;
		one.is_temporary = is_new && is_random(path);
	}
	one.is_temporary |= is_new && is_drawn(trace, &one);
	trace->altered = trace_grown(trace->altered, trace->altered_count, &trace->altered_room,
	                             sizeof *trace->altered);
	trace->altered[trace->altered_count++] = one;
	if (trace->notes != NULL)
		__atomic_store_n(&trace->notes->changes, (uint32_t)trace->altered_count,
		                 __ATOMIC_RELEASE);
	return &trace->altered[trace->altered_count - 1];
}
