#include "remote.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/util.h"
#include "told.h"

#define SEND_MS 100 /* how long a busy session may take to hear us */

_Static_assert(REMOTE_LARGEST_FILE == MEMO_LARGEST, "they are one");

/* ------------------------------------------------------------------ the session */

static int64_t clock_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* The session's socket, or -1: there is none where no server is, or it was given up. */
static int reach(const struct memo *memo)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timeval patience = {0, SEND_MS * 1000};
	if (*memo->session == '\0' ||
	    strlen(memo->session) + sizeof "/remote" > sizeof address.sun_path)
		return -1;
	strcpy(stpcpy(address.sun_path, memo->session), "/remote");
	int fd = (int)kernel(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	kernel(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	if (kernel(SYS_connect, fd, &address, sizeof address) == 0)
		return fd;
	close(fd);
	return -1;
}

static int put(int fd, const void *data, size_t size)
{
	for (const char *at = data; size > 0;) {
		long sent = kernel(SYS_sendto, fd, at, size, MSG_NOSIGNAL, NULL, 0);
		if (sent <= 0)
			return -1;
		at += sent;
		size -= (size_t)sent;
	}
	return 0;
}

static int get(int fd, void *data, size_t size, int64_t end_ms)
{
	for (char *at = data; size > 0;) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		int64_t left = end_ms - clock_ms();
		const struct timespec wait = {left / 1000, left % 1000 * 1000000};
		if (left <= 0 || kernel(SYS_ppoll, &ready, 1, &wait, NULL, 0) <= 0)
			return -1;
		long got = kernel(SYS_recvfrom, fd, at, size, MSG_DONTWAIT, NULL, NULL);
		if (got <= 0)
			return -1;
		at += got;
		size -= (size_t)got;
	}
	return 0;
}

/* Commands of one tool that do the same with it; checks are short. */
static void note_alike(const struct memo_question *q, char alike[32])
{
	const char *name = strrchr(q->program, '/');
	const char *does = "", *check = "";
	for (char *const *word = q->argv + 1; *q->argv != NULL && *word != NULL; word++) {
		if (strcmp(*word, "-c") == 0 || strcmp(*word, "-E") == 0 ||
		    strcmp(*word, "-S") == 0)
			does = *word;
		if (strncmp(*word, "conftest", 8) == 0)
			check = " check";
	}
	memset(alike, 0, 32);
	char *at = put_text(alike, alike + 16, name != NULL ? name + 1 : q->program);
	put_text(put_text(at, at + 2, does), alike + 31, check);
}

/* ------------------------------------------------------------------ what is believed */

/* `path`, "-opath", "-MFpath", "--output=path", "-Wp,-MD,path". */
static int is_word(const struct memo_question *q, const char *path)
{
	size_t length = strlen(path);
	for (char *const *word = q->argv; *word != NULL && length > 0; word++) {
		size_t size = strlen(*word);
		const char *end = size >= length ? *word + size - length : "";
		if (strcmp(end, path) != 0)
			continue;
		if (end == *word || end[-1] == '=' || end[-1] == ',' ||
		    (end - *word == 2 && strncmp(*word, "-o", 2) == 0) ||
		    (end - *word == 3 && strncmp(*word, "-MF", 3) == 0))
			return 1;
	}
	return 0;
}

/* Results of success that make plain files where this command may make them, through no link: where
 * that leads here nobody else knows. */
static int may_be_shared(const struct memo_question *q, const struct memo_entry *entry)
{
	const struct memo_output *output = memo_outputs(entry);
	if (output == NULL || entry->status != 0)
		return 0;
	for (uint32_t i = 0; i < entry->outputs; i++, output = memo_behind(output)) {
		const char *path = (const char *)(output + 1);
		int is_plain = S_ISREG(output->mode) && (output->mode & 07000) == 0;
		char folder[PATH_MAX], room[PATH_MAX];
		if (!(memo_is_below(path) || is_word(q, path)) ||
		    !(is_plain || output->flags & MEMO_REMOVED) ||
		    memo_leads(path, folder, room) != 0)
			return 0;
	}
	return 1;
}

/* As for entries of this machine (trace/entry.c): what others change is no fact here.  Of what is
 * not there its folder counts, or the nearest above. */
static int is_near(const struct memo_entry *entry)
{
	const struct memo_fact *fact = MEMO_FIRST_FACT(entry);
	for (uint32_t i = 0; i < entry->facts; i++, fact = MEMO_NEXT(fact)) {
		const char *path = (const char *)(fact + 1);
		struct stat info;
		if (fact->kind == MEMO_IS_DEVICE || fact->kind == MEMO_IS_VARIABLE ||
		    fact->kind == MEMO_WAS_IN)
			continue;
		if (fact->path_size > PATH_MAX)
			return 0;
		if (!(kernel(SYS_newfstatat, AT_FDCWD, path, &info, 0) == 0
		          ? memo_near_at(info.st_dev, path)
			  : memo_near_above(path)))
			return 0;
	}
	return 1;
}

/* Stamps say nothing on another machine: what has no boot is compared by content (memo/validate.c).
 */
static void make_foreign(struct memo_entry *entry)
{
	struct memo_fact *fact = (void *)(entry + 1);
	memset(entry->boot, 0, sizeof entry->boot);
	for (uint32_t i = 0; i < entry->facts; i++) {
		fact->stamp.device = fact->stamp.inode = 0;
		fact->stamp.changed_ns = 0;
		if (!(fact->flags & MEMO_TIMED))
			fact->stamp.modified_ns = 0;
		fact = (void *)((char *)fact + fact->size);
	}
	entry->check = memo_check_of(entry);
}

/* ------------------------------------------------------------------ files of entries */

/* A question's file in the making. */
struct making {
	char *data;
	size_t size;
	uint32_t count;
};

static void begin(struct making *making, const struct memo_question *q)
{
	struct memo_head head = {.magic = MEMO_MAGIC, .format = MEMO_FORMAT};
	memcpy(head.key, q->keys[q->scope], SHA256_SIZE);
	making->data = must_alloc(MEMO_LARGEST);
	memcpy(making->data, &head, sizeof head);
	making->size = sizeof head;
	making->count = 0;
}

static void append(struct making *making, const struct memo_entry *entry)
{
	if (making->count == MEMO_MOST || making->size + entry->size > MEMO_LARGEST)
		return;
	memcpy(making->data + making->size, entry, entry->size);
	making->size += entry->size;
	making->count++;
}

static int has(const struct making *making, const struct memo_entry *entry)
{
	size_t at = sizeof(struct memo_head);
	while (at < making->size) {
		const struct memo_entry *each = (const void *)(making->data + at);
		if (each->size == entry->size && memcmp(each, entry, entry->size) == 0)
			return 1;
		at += each->size;
	}
	return 0;
}

/* The entries of `data` that others may have, as they may have them, each once. */
static void append_foreign(struct making *making, const struct memo_question *q, char *data,
                           size_t size)
{
	struct memo_entry *entry;
	for (size_t at = sizeof(struct memo_head);
	     (entry = memo_next_entry(data, size, &at)) != NULL;) {
		if (!may_be_shared(q, entry) || !is_near(entry))
			continue;
		make_foreign(entry);
		if (!has(making, entry))
			append(making, entry);
	}
}

/* Puts what others know before what is known here, none of which holds. */
static int take_in(const struct memo_question *q, char *data, size_t size)
{
	char place[PATH_MAX];
	struct making making;
	struct memo_entry *entry;
	size_t old_size = 0;
	if (!memo_is_of_question(q, q->scope, data, size))
		return -1;
	begin(&making, q);
	append_foreign(&making, q, data, size);
	char *old = memo_entries(q, q->scope, &old_size);
	if (old != NULL && memo_is_of_question(q, q->scope, old, old_size)) {
		for (size_t at = sizeof(struct memo_head);
		     (entry = memo_next_entry(old, old_size, &at)) != NULL;)
			if (!has(&making, entry))
				append(&making, entry);
	}
	if (making.count == 0)
		return -1;
	return memo_write(&q->memo, memo_place(&q->memo, 'q', q->keys[q->scope], place),
	                  making.data, making.size);
}

/* ------------------------------------------------------------------ contents */

static int is_here(const struct memo *memo, const struct memo_blob *blob)
{
	char place[PATH_MAX];
	struct stat info;
	return blob->is_inline ||
	       (kernel(SYS_newfstatat, AT_FDCWD, memo_place(memo, 'c', blob->hash, place), &info,
	               0) == 0 &&
	        (uint64_t)info.st_size == blob->bytes);
}

typedef int each_blob(const struct memo_blob *blob, void *what);

/* Calls it of each content of an entry until it returns anything but 0, and returns that. */
static int each_content(const struct memo_entry *entry, each_blob *does, void *what)
{
	const struct memo_output *output = memo_outputs(entry);
	int found = 0;
	for (uint32_t i = 0; i < entry->outputs && found == 0; i++, output = memo_behind(output))
		if (!(output->flags & MEMO_REMOVED))
			found = does(memo_blob_of(output), what);
	const struct memo_blob *out = (const void *)output;
	if (found == 0)
		found = does(out, what);
	return found != 0 ? found : does(MEMO_NEXT(out), what);
}

/* ------------------------------------------------------------------ asking */

struct asking {
	const struct memo *memo;
	int fd;
	int64_t end_ms;
	struct remote_ask ask;
	uint64_t fetched;
};

/* How many bytes the answer says that there are; 0: none. */
static uint64_t ask(struct asking *asking, uint32_t kind, const void *hash, uint64_t size)
{
	struct remote_said said;
	asking->ask.kind = kind;
	asking->ask.size = size;
	memcpy(asking->ask.hash, hash, SHA256_SIZE);
	return put(asking->fd, &asking->ask, sizeof asking->ask) == 0 &&
	               get(asking->fd, &said, sizeof said, asking->end_ms) == 0
	           ? said.found
		   : 0;
}

static int fetch(const struct memo_blob *blob, void *what)
{
	struct asking *asking = what;
	if (is_here(asking->memo, blob))
		return 0;
	asking->fetched++;
	return blob->bytes <= REMOTE_LARGEST &&
	               ask(asking, REMOTE_FETCH, blob->hash, blob->bytes) == blob->bytes
	           ? 0
		   : -1;
}

/* An entry that holds, all of whose contents are here; NULL: there is none. */
static const struct memo_entry *found_by(struct asking *asking, struct memo_question *q,
                                         enum memo_why *why)
{
	enum memo_why still;
	const struct memo_entry *entry = memo_find(q, 0, why);
	if (entry != NULL) { /* but a content has gone, or it could not be undone */
		*why = MEMO_UNDO;
		return each_content(entry, fetch, asking) == 0 && asking->fetched > 0 ? entry
		                                                                      : NULL;
	}
	for (int scope = memo_first_scope(q); scope < MEMO_SCOPES; scope++) {
		uint64_t size = ask(asking, REMOTE_FIND, q->keys[scope], 0);
		if (size == 0)
			continue;
		char *data = size <= MEMO_LARGEST ? must_alloc(size) : NULL;
		if (data == NULL || get(asking->fd, data, size, asking->end_ms) != 0)
			return NULL;
		q->scope = scope;
		if (take_in(q, data, size) == 0 && (entry = memo_find(q, 0, &still)) != NULL)
			return each_content(entry, fetch, asking) == 0 ? entry : NULL;
	}
	return NULL;
}

static struct asking others = {.fd = -1};

const struct memo_entry *memo_find_others(struct memo_question *q, enum memo_why *why)
{
	others.memo = &q->memo;
	others.end_ms = clock_ms() + REMOTE_MS;
	others.fd = reach(&q->memo);
	if (others.fd < 0)
		return NULL;
	note_alike(q, others.ask.alike);
	const struct memo_entry *entry = found_by(&others, q, why);
	if (entry == NULL)
		memo_leave_others(q, NULL, 0);
	return entry;
}

void memo_leave_others(const struct memo_question *q, const struct memo_entry *given,
                       enum memo_why why)
{
	if (given != NULL) {
		memo_tell_number(&q->memo, 'r', why);
		others.ask.kind = REMOTE_USED;
		others.ask.cpu_us = given->cpu_us;
		put(others.fd, &others.ask, sizeof others.ask);
	}
	close(others.fd);
}

/* ------------------------------------------------------------------ offering */

struct contents {
	struct remote_content of[REMOTE_CONTENTS];
	uint32_t count;
};

static int note(const struct memo_blob *blob, void *what)
{
	struct contents *contents = what;
	if (blob->is_inline)
		return 0;
	for (uint32_t i = 0; i < contents->count; i++)
		if (memcmp(contents->of[i].hash, blob->hash, SHA256_SIZE) == 0)
			return 0;
	if (contents->count == REMOTE_CONTENTS || blob->bytes > REMOTE_LARGEST)
		return -1;
	memcpy(contents->of[contents->count].hash, blob->hash, SHA256_SIZE);
	contents->of[contents->count++].size = blob->bytes;
	return 0;
}

void memo_offer(const struct memo_question *q)
{
	static struct contents contents;
	struct remote_ask ask = {.kind = REMOTE_STORED};
	struct making making;
	struct memo_entry *entry;
	size_t size, at = sizeof(struct memo_head);
	int fd = reach(&q->memo);
	char *data = fd >= 0 ? memo_entries(q, q->scope, &size) : NULL;
	if (data != NULL && memo_is_of_question(q, q->scope, data, size) &&
	    (entry = memo_next_entry(data, size, &at)) != NULL) {
		memcpy(ask.hash, q->keys[q->scope], SHA256_SIZE);
		note_alike(q, ask.alike);
		ask.cpu_us = entry->cpu_us;
		int is_shared = may_be_shared(q, entry);
		begin(&making, q);
		if (is_shared)
			append_foreign(&making, q, data, size);
		for (at = sizeof(struct memo_head); at < making.size;) {
			const struct memo_entry *each = (const void *)(making.data + at);
			is_shared &= each_content(each, note, &contents) == 0;
			at += each->size;
		}
		if (is_shared) {
			ask.contents = contents.count;
			ask.size = making.size;
		}
		if (put(fd, &ask, sizeof ask) == 0 &&
		    put(fd, contents.of, ask.contents * sizeof *contents.of) == 0)
			put(fd, making.data, ask.size);
	}
	if (fd >= 0)
		close(fd);
}
