#include "other_tree.h"

#include <string.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/util.h"
#include "debug_names.h"
#include "deps.h"
#include "messages.h"

#define PROOFS 8191u
#define MAKERS 1021u
#define OBEDIENT 20 /* objects of a compiler, and its rule is believed */

const struct memo_fact *memo_origin(const struct memo_entry *entry)
{
	const struct memo_fact *fact = MEMO_FIRST_FACT(entry);
	return fact->kind == MEMO_WAS_IN && fact->more > 0 && fact->more < fact->path_size ? fact
	                                                                                   : NULL;
}

const char *memo_placed(const struct memo_tree *tree, const struct memo_fact *origin,
                        const char *path, char room[PATH_MAX])
{
	size_t top = origin != NULL ? origin->more : 0;
	const char *then = origin != NULL ? (const char *)(origin + 1) : "";
	if (origin == NULL || strncmp(path, then, top) != 0)
		return path;
	if (tree->top + strlen(path + top) >= PATH_MAX)
		return "";
	memcpy(room, tree->folder, tree->top);
	strcpy(room + tree->top, path + top);
	return room;
}

int memo_is_elsewhere(const struct memo *memo, const struct memo_entry *entry,
                      struct memo_place *then, struct memo_place *now)
{
	const struct memo_fact *origin = memo_origin(entry);
	if (origin == NULL)
		return 0;
	*then = (struct memo_place){(const char *)(origin + 1), origin->more};
	*now = (struct memo_place){memo->tree->folder, memo->tree->top};
	return strcmp(then->folder, now->folder) != 0; /* another top is another question */
}

const char *memo_said(const struct memo *memo, const struct memo_entry *entry,
                      const struct memo_blob *blob, size_t *size)
{
	struct memo_place then, now;
	const char *text = memo_bytes(memo, blob);
	*size = blob->bytes;
	if (text == NULL || !memo_is_elsewhere(memo, entry, &then, &now) ||
	    !(memo_origin(entry)->flags & MEMO_IS_SAID))
		return text;
	return memo_renamed_messages(text, size, &then, &now);
}

const char *memo_output_bytes(const struct memo *memo, const struct memo_entry *entry,
                              const struct memo_output *output, size_t *size)
{
	const struct memo_blob *blob = memo_blob_of(output);
	struct memo_place then, now;
	const char *bytes = memo_bytes(memo, blob);
	*size = blob->bytes;
	if (bytes == NULL || !(output->flags & MEMO_NAMES_TREE) ||
	    !memo_is_elsewhere(memo, entry, &then, &now))
		return bytes;
	if (!is_elf(bytes, *size))
		return memo_renamed_deps(bytes, size, &then, &now);
	return memo_believes_maker(memo, bytes, *size) ? memo_renamed(bytes, size, &then, &now)
	                                               : NULL;
}

static int open_proofs(const struct memo *memo, uint64_t check, int64_t *at)
{
	*at = (int64_t)(check % PROOFS * sizeof check);
	return memo_table(memo, "/s/proofs");
}

int memo_wants_proof(const struct memo_question *q, const struct memo_entry *entry)
{
	struct memo_place then, now;
	uint64_t proved = 0;
	int64_t at;
	if (!memo_is_elsewhere(&q->memo, entry, &then, &now) ||
	    !(memo_origin(entry)->flags & MEMO_UNPROVED))
		return 0;
	int fd = open_proofs(&q->memo, entry->check, &at);
	if (fd < 0)
		return 1;
	kernel(SYS_pread64, fd, &proved, sizeof proved, at);
	close(fd);
	return proved != entry->check;
}

void memo_note_proof(const struct memo_question *q, const struct memo_entry *entry)
{
	int64_t at;
	int fd = open_proofs(&q->memo, entry->check, &at);
	if (fd < 0)
		return;
	kernel(SYS_pwrite64, fd, &entry->check, sizeof entry->check, at);
	close(fd);
}

/* A place in s/makers. */
struct maker {
	uint32_t number;
	int32_t obedient; /* so many of its objects; -1: one was not */
};

static int open_makers(const struct memo *memo, uint32_t number, struct maker *maker, int64_t *at)
{
	int fd = memo_table(memo, "/s/makers");
	*at = (int64_t)(number % MAKERS * sizeof *maker);
	if (fd < 0 || kernel(SYS_pread64, fd, maker, sizeof *maker, *at) != sizeof *maker ||
	    maker->number != number)
		*maker = (struct maker){number, 0};
	return fd;
}

void memo_note_maker(const struct memo *memo, const char *bytes, size_t size, int obeys)
{
	struct maker maker;
	int64_t at;
	uint32_t number = memo_unproved_maker(bytes, size);
	if (number == 0)
		return;
	int fd = open_makers(memo, number, &maker, &at);
	if (!obeys)
		maker.obedient = -1;
	else if (maker.obedient >= 0 && maker.obedient < OBEDIENT)
		maker.obedient++;
	if (fd >= 0) {
		kernel(SYS_pwrite64, fd, &maker, sizeof maker, at);
		close(fd);
	}
}

int memo_believes_maker(const struct memo *memo, const char *bytes, size_t size)
{
	struct maker maker;
	int64_t at;
	uint32_t number = memo_unproved_maker(bytes, size);
	if (number == 0)
		return 1;
	int fd = open_makers(memo, number, &maker, &at);
	if (fd >= 0)
		close(fd);
	return maker.obedient >= OBEDIENT;
}
