/* What guards have noted (looks.h), taken over into the trace. */
#include "calls.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 2000 /* tenths of ms for a note that has been begun */

void trace_share(struct trace *trace)
{
	static const unsigned char code[] = LOOKS_CODE;
	int fd = memfd_create("looks", MFD_CLOEXEC);
	if (fd < 0)
		return;
	struct looks *looks = MAP_FAILED;
	if (ftruncate(fd, sizeof *looks) == 0)
		looks = mmap(NULL, sizeof *looks, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (looks == MAP_FAILED) {
		close(fd);
		return;
	}
	memcpy(looks->code, code, sizeof code);
	looks->magic = LOOKS_MAGIC;
	looks->young_ns = trace_young_ns(trace);
	trace_name_fd(getpid(), fd, trace->place);
	trace->notes = looks;
}

/* Who has begun a note is about to end it, unless it was killed or stopped. */
static uint32_t size_of(const struct looks_note *note)
{
	const struct timespec moment = {0, 100000};
	uint32_t size = 0;
	for (int i = 0; i < PATIENCE; i++) {
		size = __atomic_load_n(&note->size, __ATOMIC_ACQUIRE);
		if (size != 0)
			break;
		nanosleep(&moment, NULL);
	}
	return size;
}

static void put_info(const struct looks_note *note, struct stat *info)
{
	const int64_t second = 1000000000;
	info->st_dev = note->device;
	info->st_ino = note->inode;
	info->st_mode = note->mode;
	info->st_rdev = note->special;
	info->st_size = (off_t)note->bytes;
	info->st_mtim = (struct timespec){note->modified_ns / second, note->modified_ns % second};
	info->st_ctim = (struct timespec){note->changed_ns / second, note->changed_ns % second};
}

/* 0: what spoils the trace, or is not to be compared. */
static uint16_t kind_of(const struct looks_note *note)
{
	if (note->way == READS_LINK)
		return note->failed == 0        ? MEMO_IS_LINK
		       : note->failed == EINVAL ? MEMO_IS_NO_LINK
		                                : MEMO_IS_ABSENT;
	return note->failed != 0     ? MEMO_IS_ABSENT
	       : S_ISREG(note->mode) ? MEMO_IS_FILE
	       : S_ISDIR(note->mode) ? MEMO_IS_FOLDER
	       : S_ISCHR(note->mode) ? MEMO_IS_DEVICE
	                             : 0;
}

static const char *target_of(const struct looks_note *note)
{
	const char *path = (const char *)(note + 1);
	return path + strlen(path) + 1;
}

/* What is seen twice is to be the same, but for the times of folders. */
static int is_same(const struct look *look, const struct looks_note *note, const struct stat *info)
{
	struct memo_stamp then, now;
	if (look->kind == 0)
		return 1;
	if (look->kind != kind_of(note))
		return 0;
	memo_stamp_of(&look->info, &then);
	memo_stamp_of(info, &now);
	switch (look->kind) {
	case MEMO_IS_ABSENT:
		return look->info.st_rdev == note->failed;
	case MEMO_IS_FILE:
		return look->info.st_mode == info->st_mode && memo_same_stamp(&then, &now);
	case MEMO_IS_LINK:
		return strcmp(look->target, target_of(note)) == 0;
	default:
		return 1;
	}
}

static void take_guard(struct trace *trace, pid_t process)
{
	trace->guarded = trace_grown(trace->guarded, trace->guarded_count, &trace->guarded_room,
	                             sizeof *trace->guarded);
	trace->guarded[trace->guarded_count++] = process;
	for (size_t i = 0; i < trace->silent_count; i++)
		if (trace->silent[i] == process)
			trace->silent[i--] = trace->silent[--trace->silent_count];
}

/* A program was told the value of a variable, or that there is none.
 *
 * If that is what the command was started with, it is a fact.  It may also come from a part: gcc
 * tells its parts COLLECT_GCC, COMPILER_PATH and more by their environment.  If it is another value
 * it does come from a part, and is no fact: the part has made it of its words and of what it looked
 * at, and those are noted.  What it was before does not matter then, unless a part has asked for it
 * before it set it; that question is noted, too.  setenv(3) without replacing is such a question
 * (hooks/variables.c).  If it is the same by chance, there is a fact too many. */
static void take_variable(struct trace *trace, const struct looks_note *note)
{
	const char *name = (const char *)(note + 1), *value = note->failed ? NULL : target_of(note);
	const char *given = memo_value(trace->question->env, name, strlen(name));
	int is_new;
	if (*name == '\0' || strchr(name, '=') != NULL || memo_is_no_fact(name) ||
	    (value == NULL) != (given == NULL) || (value != NULL && strcmp(value, given) != 0))
		return;
	struct look *look = trace_look(trace, name, WANTS, 0, &is_new);
	if (look == NULL || !is_new)
		return;
	trace->is_bound |=
	    value != NULL && memo_top_in(&trace->question->tree, value, strlen(value)) != NULL;
	look->kind = MEMO_IS_VARIABLE;
	look->is_exact = 1;
	look->info.st_rdev = value != NULL;
	if (value != NULL)
		memo_hash_value(value, look->hash);
}

/* As trace_look_at and trace_look_at_link, of what somebody has seen. */
static void take(struct trace *trace, const struct looks_note *note)
{
	const char *path = trace_asked(trace, (const char *)(note + 1));
	const struct altered *altered = trace_altered(trace, path);
	if (note->way == READS_LINK && strncmp(path, LOOKS_OWN, strlen(LOOKS_OWN)) == 0) {
		if (note->failed == 0)
			trace_locate(trace, target_of(note));
		return;
	}
	int flags = note->way == READS_LINK || note->nofollow ? MEMO_NO_FOLLOW : 0, is_new;
	struct stat info = {.st_dev = 0};
	if (note->way != READS_LINK && trace_is_of_clock(path))
		trace_spoil(trace, MEMO_CLOCK);
	if (trace_is_guards(trace, path) ||
	    (altered != NULL && altered - trace->altered < (ptrdiff_t)note->after))
		return;
	struct look *look = trace_look(trace, path, note->way, flags, &is_new);
	put_info(note, &info);
	if (look == NULL)
		return;
	look->is_by_top |= note->way == OPENS && trace->is_by_top && !trace->is_told_of;
	look->is_canonical |= note->way == READS_LINK && trace->is_by_top;
	if (!is_new) {
		if (!is_same(look, note, &info))
			trace_spoil(trace, MEMO_CHANGED);
		return;
	}
	look->info = info;
	look->is_exact = 1;
	if (note->way != READS_LINK || kind_of(note) == MEMO_IS_ABSENT)
		trace_judge(trace, look, note->failed);
	else
		look->kind = kind_of(note);
	if (look->kind == MEMO_IS_LINK)
		look->target = strdup(target_of(note));
}

void trace_take_notes(struct trace *trace)
{
	struct looks *looks = trace->notes;
	if (looks == NULL)
		return;
	uint64_t end = __atomic_load_n(&looks->used, __ATOMIC_ACQUIRE);
	if (__atomic_load_n(&looks->lost, __ATOMIC_RELAXED) || end > LOOKS_ROOM)
		trace_spoil(trace, MEMO_LARGE);
	if (__atomic_load_n(&looks->random, __ATOMIC_RELAXED))
		trace_spoil(trace, MEMO_RANDOM);
	while (trace->why == 0 && trace->taken < end) {
		const void *at = looks->notes + trace->taken;
		const struct looks_note *note = at;
		uint32_t size = size_of(note);
		if (size <= sizeof *note || size % 8 != 0 || size > end - trace->taken ||
		    ((const char *)at)[size - 1] != '\0')
			trace_spoil(trace, MEMO_KILLED);
		else if (note->way == GUARDS)
			take_guard(trace, (pid_t)note->inode);
		else if (note->way == WANTS)
			take_variable(trace, note);
		else
			take(trace, note);
		trace->taken += size;
	}
}
