/* Whether an entry's facts hold. */
#include "other_tree.h"
#include "question.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/util.h"

#define GROUPS 1024u
#define OUTPUTS 64u

/* ------------------------------------------------------------------ an entry's parts */

const void *memo_behind(const struct memo_output *output)
{
	if (output->flags & MEMO_REMOVED)
		return MEMO_NEXT(output);
	const struct memo_blob *blob = MEMO_NEXT(output);
	return MEMO_NEXT(blob);
}

const struct memo_blob *memo_blob_of(const struct memo_output *output)
{
	return MEMO_NEXT(output);
}

/* Sums have been compared: what is cut or was written by another format ends here all the same. */
static int is_inside(const void *item, const char *end, size_t least)
{
	uint32_t size = 0;
	if ((size_t)(end - (const char *)item) < least)
		return 0;
	memcpy(&size, item, sizeof size);
	return size >= least && size % 8 == 0 && size <= (size_t)(end - (const char *)item);
}

static int is_ended(const void *text, uint32_t size)
{
	return size > 0 && ((const char *)text)[size - 1] == '\0';
}

const struct memo_output *memo_outputs(const struct memo_entry *entry)
{
	const char *end = (const char *)entry + entry->size;
	const void *at = entry + 1;
	/* What was made without a look at anything would hold for every question. */
	if (entry->facts == 0 || entry->outputs > OUTPUTS)
		return NULL;
	for (uint32_t i = 0; i < entry->facts; i++) {
		const struct memo_fact *fact = at;
		if (!is_inside(fact, end, sizeof *fact) ||
		    fact->size < sizeof *fact + (uint64_t)fact->path_size + fact->other_size ||
		    !is_ended(fact + 1, fact->path_size) || fact->group >= GROUPS ||
		    !is_ended((const char *)(fact + 1) + fact->path_size, fact->other_size))
			return NULL;
		at = MEMO_NEXT(fact);
	}
	const void *outputs = at;
	for (uint32_t i = 0; i < entry->outputs + 2; i++) {
		const struct memo_output *output = at;
		if (i < entry->outputs) {
			if (!is_inside(output, end, sizeof *output) ||
			    output->size < sizeof *output + (uint64_t)output->path_size ||
			    !is_ended(output + 1, output->path_size))
				return NULL;
			at = MEMO_NEXT(output);
			if (output->flags & MEMO_REMOVED)
				continue;
		}
		const struct memo_blob *blob = at;
		if (!is_inside(blob, end, sizeof *blob) ||
		    (blob->is_inline && blob->size - sizeof *blob < blob->bytes))
			return NULL;
		at = MEMO_NEXT(blob);
	}
	return at == end ? outputs : NULL;
}

const struct memo_blob *memo_texts(const struct memo_entry *entry)
{
	const struct memo_output *output = memo_outputs(entry);
	for (uint32_t i = 0; i < entry->outputs; i++)
		output = memo_behind(output);
	return (const void *)output;
}

/* ------------------------------------------------------------------ facts */

struct groups {
	uint32_t count;
	struct {
		uint32_t group;
		uint64_t device, inode;
	} seen[GROUPS];
};

/* Whether what was one is one, and what was not is not. */
static int is_grouped(struct groups *groups, uint32_t group, const struct stat *info)
{
	for (uint32_t i = 0; i < groups->count; i++) {
		int same =
		    groups->seen[i].device == info->st_dev && groups->seen[i].inode == info->st_ino;
		if (same != (groups->seen[i].group == group))
			return 0;
		if (same)
			return 1;
	}
	if (groups->count == GROUPS)
		return 0;
	groups->seen[groups->count].group = group;
	groups->seen[groups->count].device = info->st_dev;
	groups->seen[groups->count++].inode = info->st_ino;
	return 1;
}

static int is_same_content(const struct memo_question *q, const struct memo_entry *entry,
                           const struct memo_fact *fact, const char *path, const struct stat *info)
{
	struct memo_stamp stamp;
	unsigned char hash[SHA256_SIZE];
	uint32_t has;
	struct memo_place then, now;
	int is_elsewhere = memo_is_elsewhere(&q->memo, entry, &then, &now);
	memo_stamp_of(info, &stamp);
	if (info->st_mode != fact->mode || stamp.size != fact->stamp.size)
		return 0;
	if (fact->flags & MEMO_TIMED && stamp.modified_ns != fact->stamp.modified_ns)
		return 0;
	if (fact->flags & MEMO_IS_NAMED)
		for (size_t i = 0; i < q->named_count; i++)
			if (strcmp(q->named[i].path, path) == 0)
				return memcmp(q->named[i].hash, fact->hash, SHA256_SIZE) == 0;
	if (!is_elsewhere && !(fact->flags & (MEMO_IS_NAMED | MEMO_UNSTAMPED)) &&
	    memo_same_stamp(&stamp, &fact->stamp) && memo_is_settled(&q->memo, &stamp) &&
	    memcmp(entry->boot, q->memo.boot, sizeof entry->boot) == 0)
		return 1;
	/* What names this tree may mean it, and did not name the other. */
	return memo_content(&q->memo, path, &stamp, hash, &has) == 0 &&
	       memcmp(hash, fact->hash, SHA256_SIZE) == 0 &&
	       !(is_elsewhere && fact->flags & MEMO_IS_READ && has & MEMO_HAS_TOP);
}

static int is_same_variable(const struct memo_question *q, const struct memo_fact *fact)
{
	unsigned char hash[SHA256_SIZE];
	const char *name = (const char *)(fact + 1);
	const char *value = memo_value(q->env, name, strlen(name));
	if (value == NULL || fact->more == 0)
		return value == NULL && fact->more == 0;
	memo_hash_value(value, hash);
	return memcmp(hash, fact->hash, sizeof hash) == 0;
}

/* 0, or why it does not hold. */
static enum memo_why doubt(const struct memo_question *q, const struct memo_entry *entry,
                           const struct memo_fact *fact, struct groups *groups)
{
	const struct memo_fact *origin = memo_origin(entry);
	char room[PATH_MAX], target[PATH_MAX];
	const char *other = (const char *)(fact + 1) + fact->path_size;
	const char *path = memo_placed(&q->tree, origin, (const char *)(fact + 1), room);
	int flags = fact->flags & MEMO_NO_FOLLOW ? AT_SYMLINK_NOFOLLOW : 0;
	struct stat info;
	unsigned char hash[SHA256_SIZE];
	long size;
	if (fact->kind == MEMO_WAS_IN)
		return 0;
	if (fact->kind == MEMO_IS_VARIABLE)
		return is_same_variable(q, fact) ? 0 : MEMO_VARIABLE;
	/* It is no part of that tree, but would be of this one. */
	if (origin != NULL && path != room && memo_is_in_tree(&q->tree, path))
		return MEMO_FOLDER;
	if (fact->kind == MEMO_IS_LINK || fact->kind == MEMO_IS_NO_LINK) {
		size = guarded(SYS_readlinkat, AT_FDCWD, path, target, sizeof target);
		if (fact->kind == MEMO_IS_NO_LINK)
			return size < 0 && errno == EINVAL ? 0 : MEMO_FOLDER;
		return size >= 0 && (size_t)size + 1 == fact->other_size &&
		               memcmp(target, other, (size_t)size) == 0
		           ? 0
			   : MEMO_FOLDER;
	}
	if (fact->kind == MEMO_HAS_NAMES)
		return memo_names(path, hash) == 0 && memcmp(hash, fact->hash, sizeof hash) == 0
		           ? 0
			   : MEMO_FOLDER;
	if (fact->kind == MEMO_IS_AT) {
		char place[PATH_MAX];
		return memo_lies_at(path, target) == 0 &&
		               strcmp(target, memo_placed(&q->tree, origin, other, place)) == 0
		           ? 0
			   : MEMO_FOLDER;
	}
	if (guarded(SYS_newfstatat, AT_FDCWD, path, &info, flags) != 0)
		return fact->kind == MEMO_IS_ABSENT && (uint64_t)errno == fact->more ? 0
		       : fact->kind == MEMO_IS_FOLDER                                ? MEMO_FOLDER
		                                                                     : MEMO_FILE;
	switch (fact->kind) {
	case MEMO_IS_ABSENT:
		return MEMO_APPEARED;
	case MEMO_LEADS_TO: /* is looked at where the output is (memo/output_path.c) */
		return S_ISDIR(info.st_mode) ? 0 : MEMO_FOLDER;
	case MEMO_IS_DEVICE:
		return S_ISCHR(info.st_mode) && info.st_rdev == fact->more &&
		               info.st_mode == fact->mode
		           ? 0
			   : MEMO_FILE;
	case MEMO_IS_FOLDER:
		return S_ISDIR(info.st_mode) && info.st_mode == fact->mode &&
		               is_grouped(groups, fact->group, &info)
		           ? 0
			   : MEMO_FOLDER;
	case MEMO_IS_FILE:
		return S_ISREG(info.st_mode) && is_grouped(groups, fact->group, &info) &&
		               is_same_content(q, entry, fact, path, &info)
		           ? 0
			   : MEMO_FILE;
	default:
		return MEMO_DAMAGED;
	}
}

/* Whether the way to it is as it was.  Where there is no folder nothing will be made. */
static int is_reached(const struct memo_entry *entry, const char *path)
{
	const char *name;
	int fd = memo_open_way(entry, path, &name);
	memo_close_way(fd);
	return fd != -1 || errno == ENOENT;
}

/* Whether a file has attributes that one in its place would not have: an ACL, for instance. */
static int has_attributes(const char *path)
{
	char names[1024], *name = names;
	long size = guarded(SYS_llistxattr, path, names, sizeof names);
	if (size < 0)
		return errno != ENOTSUP;
	while (name < names + size && strcmp(name, "security.selinux") == 0)
		name += strlen(name) + 1;
	return name < names + size;
}

/* Whether it is no matter that a file lies in an output's place now, or none, as it was the other
 * way round: a compiler removes a plain file, or cuts it to nothing, and leaves what it would leave
 * without.  What changes an archive looks into it. */
static int is_no_matter(const struct memo_question *q, const struct memo_output *output,
                        const struct stat *now)
{
	const uint32_t matters = MEMO_REMOVED | MEMO_IS_INPUT | MEMO_IS_SEEN | MEMO_WAS_EMPTY;
	if (q->is_changer || output->flags & matters)
		return 0;
	if (now != NULL)
		return now->st_mode == output->mode && now->st_nlink == 1 && now->st_size > 0 &&
		       !has_attributes((const char *)(output + 1));
	long mask = kernel(SYS_umask, 077);
	kernel(SYS_umask, mask);
	return !(output->flags & MEMO_IN_PLACE) || output->mode == (S_IFREG | (0666 & ~mask));
}

int memo_is_former(const struct memo_question *q, const struct memo_entry *entry,
                   const struct memo_output *output, struct stat *info)
{
	const char *path = (const char *)(output + 1);
	memset(info, 0, sizeof *info);
	if (!is_reached(entry, path))
		return 0;
	if (guarded(SYS_newfstatat, AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW) != 0) {
		info->st_mode = 0;
		return errno == ENOENT &&
		       (!(output->flags & MEMO_WAS_THERE) || is_no_matter(q, output, NULL));
	}
	if (!S_ISREG(info->st_mode) || info->st_uid != (uid_t)kernel(SYS_geteuid) ||
	    info->st_gid != (gid_t)kernel(SYS_getegid))
		return 0;
	int is_as_it_was = output->flags & MEMO_WAS_THERE && info->st_mode == output->former &&
	                   (info->st_size == 0) == ((output->flags & MEMO_WAS_EMPTY) != 0) &&
	                   (info->st_nlink == 1 || !(output->flags & MEMO_IN_PLACE));
	return is_as_it_was || is_no_matter(q, output, info);
}

/* `*what`: the path or variable that is not as it was. */
static enum memo_why doubt_of_entry(const struct memo_question *q, const struct memo_entry *entry,
                                    const char **what)
{
	static struct groups groups;
	const struct memo_fact *fact = MEMO_FIRST_FACT(entry);
	const struct memo_output *output = memo_outputs(entry);
	struct stat info;
	enum memo_why why = 0;
	if (output == NULL)
		return MEMO_DAMAGED;
	if (!q->may_prove && memo_wants_proof(q, entry)) {
		*what = q->tree.folder;
		return MEMO_FOLDER;
	}
	groups.count = 0;
	for (uint32_t i = 0; i < entry->outputs; i++, output = memo_behind(output)) {
		*what = (const char *)(output + 1);
		if (!memo_is_former(q, entry, output, &info) ||
		    (output->flags & MEMO_IN_PLACE && info.st_mode != 0 && !q->is_guarded))
			return MEMO_OUTPUT;
		/* No input is the same file by another name. */
		if (info.st_mode != 0 && !(output->flags & MEMO_IS_INPUT) &&
		    !is_grouped(&groups, GROUPS + i, &info))
			return MEMO_OUTPUT;
	}
	for (uint32_t i = 0; i < entry->facts && why == 0; i++, fact = MEMO_NEXT(fact)) {
		*what = (const char *)(fact + 1);
		why = doubt(q, entry, fact, &groups);
	}
	return why;
}

char *memo_entries(const struct memo_question *q, int scope, size_t *size)
{
	char place[PATH_MAX];
	return memo_read(memo_place(&q->memo, 'q', q->keys[scope], place), MEMO_LARGEST, size, 1);
}

int memo_is_of_question(const struct memo_question *q, int scope, const char *data, size_t size)
{
	struct memo_head head;
	if (size < sizeof head)
		return 0;
	memcpy(&head, data, sizeof head);
	return head.magic == MEMO_MAGIC && head.format == MEMO_FORMAT &&
	       memcmp(head.key, q->keys[scope], SHA256_SIZE) == 0;
}

uint64_t memo_check_of(const struct memo_entry *entry)
{
	const size_t before = offsetof(struct memo_entry, check);
	const size_t behind = offsetof(struct memo_entry, boot);
	return quick_sum(entry, before) ^
	       quick_sum((const char *)entry + behind, entry->size - behind);
}

struct memo_entry *memo_next_entry(char *data, size_t size, size_t *at)
{
	struct memo_entry *entry = (void *)(data + *at);
	if (size < *at || size - *at < sizeof *entry || entry->size < sizeof *entry ||
	    entry->size % 8 != 0 || entry->size > size - *at ||
	    entry->check != memo_check_of(entry))
		return NULL;
	*at += entry->size;
	return entry;
}

static const struct memo_entry *find_in(struct memo_question *q, int scope, uint64_t check,
                                        enum memo_why *why)
{
	const char *what = NULL;
	const struct memo_entry *entry;
	size_t size, at = sizeof(struct memo_head);
	int is_newest = 1;
	*why = MEMO_UNKNOWN;
	char *data = memo_entries(q, scope, &size);
	if (data == NULL)
		return NULL;
	*why = MEMO_DAMAGED;
	if (!memo_is_of_question(q, scope, data, size))
		return NULL;
	for (; (entry = memo_next_entry(data, size, &at)) != NULL; is_newest = 0) {
		enum memo_why doubts = check == 0              ? doubt_of_entry(q, entry, &what)
		                       : entry->check == check ? 0
		                                               : MEMO_UNKNOWN;
		if (doubts == 0)
			return entry;
		if (is_newest) {
			*why = doubts;
			q->doubted = what;
		}
	}
	return NULL;
}

/* The start of a small file of the system's, as a text. */
static void text_of(const char *path, char *text, size_t size)
{
	int fd = (int)kernel(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long got = fd >= 0 ? kernel(SYS_read, fd, text, size - 1) : 0;
	text[got > 0 ? got : 0] = '\0';
	if (fd >= 0)
		kernel(SYS_close, fd);
}

/* Whether somebody else than we is to see what the command does, as strace is. */
static int is_traced(void)
{
	static const char field[] = "\nTracerPid:\t";
	char text[1024], comm[32] = "/proc/"; /* the field comes early */
	text_of("/proc/self/status", text, sizeof text);
	const char *tracer = strstr(text, field);
	size_t digits = tracer != NULL ? strspn(tracer += strlen(field), "0123456789") : 0;
	if (digits == 0 || digits > 10 || *tracer == '0')
		return 0;
	memcpy(comm + 6, tracer, digits);
	strcpy(comm + 6 + digits, "/comm");
	text_of(comm, text, sizeof text);
	return strncmp(text, "smpmake-", 8) != 0;
}

const struct memo_entry *memo_find(struct memo_question *q, uint64_t check, enum memo_why *why)
{
	const struct memo_entry *entry = NULL;
	*why = MEMO_UNKNOWN;
	q->doubted = NULL;
	for (int scope = memo_first_scope(q); scope < MEMO_SCOPES && entry == NULL; scope++) {
		enum memo_why other;
		const char *doubted = q->doubted;
		q->scope = scope;
		entry = find_in(q, q->scope, check, &other);
		if (*why == MEMO_UNKNOWN)
			*why = other;
		else
			q->doubted = doubted;
	}
	if (*why == MEMO_UNKNOWN && !q->is_bound && memo_is_tagged(q, "/s/bound", 0))
		*why = MEMO_BOUND;
	if (entry != NULL && is_traced()) {
		*why = MEMO_UNTRACED;
		return NULL;
	}
	return entry;
}
