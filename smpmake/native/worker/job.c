#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "layout/undo.h"

int parse(char *payload, size_t size, struct job *job)
{
	if (size < sizeof job->fixed)
		return -1;
	memcpy(&job->fixed, payload, sizeof job->fixed);
	const struct wire_job *f = &job->fixed;
	uint64_t total = (uint64_t)sizeof *f + f->outputs_len + f->real_len + f->cwd_len +
	                 f->argv_len + f->env_len + f->limits_len + f->lent_len;
	if (total != size)
		return -1;
	char *outputs = payload + sizeof *f;
	char *real = outputs + f->outputs_len;
	char *cwd = real + f->real_len;
	char *argv = cwd + f->cwd_len;
	char *env = argv + f->argv_len;
	char *limits = env + f->env_len;
	char *lent = limits + f->limits_len;
	if (f->real_len == 0 || cwd[-1] != '\0' || f->cwd_len == 0 || argv[-1] != '\0' ||
	    f->lent_len == 0 || lent[f->lent_len - 1] != '\0')
		return -1;
	job->real = real;
	job->cwd = cwd;
	job->lent = lent;
	job->argv = strings_of(argv, f->argv_len);
	job->env = strings_of(env, f->env_len);
	if (job->argv == NULL || job->argv[0] == NULL || job->env == NULL)
		return -1;
	/* Copied: the blob may stand at any address. */
	struct wire_limit *copy = must_alloc(f->limits_len);
	memcpy(copy, limits, f->limits_len);
	job->limits = copy;
	job->limit_count = f->limits_len / sizeof *copy;
	if (job->limit_count > RLIM_NLIMITS)
		job->limit_count = RLIM_NLIMITS;
	job->outputs = must_alloc((f->outputs_len / 3 + 1) * sizeof *job->outputs);
	job->output_count = 0;
	for (char *at = outputs; at < real;) {
		struct output *o = &job->outputs[job->output_count];
		char *path = at + 1, *end = memchr(path, '\0', (size_t)(real - path));
		if (end == NULL)
			return -1;
		char *aside = end + 1, *last = memchr(aside, '\0', (size_t)(real - aside));
		if (last == NULL)
			return -1;
		*o = (struct output){.flags = (unsigned char)*at, .path = path, .aside = aside};
		job->output_count++;
		at = last + 1;
	}
	return 0;
}

void forget(struct job *job)
{
	free(job->outputs);
	free(job->argv);
	free(job->env);
	free((void *)(uintptr_t)job->limits);
}

const char *printed_into(const struct job *job)
{
	for (size_t i = 0; i < job->output_count; i++)
		if (job->outputs[i].flags & OUTPUT_PRINTED)
			return job->outputs[i].path;
	return NULL;
}

void note_older(struct job *job)
{
	struct stat info;
	if ((job->fixed.flags & JOB_JOURNALED) == 0)
		return;
	for (size_t i = 0; i < job->output_count; i++)
		if (lstat(job->outputs[i].path, &info) == 0)
			job->outputs[i].older = info.st_ino;
}

void hand_on(const struct wire_job *job)
{
	uint64_t ignored = job->ignored, blocked = job->blocked;
	sigset_t set;
	if (job->nicer > 0 && nice(job->nicer) == -1)
		errno = 0;
	sigemptyset(&set);
	for (int i = 1; (ignored | blocked) != 0 && i <= 64; i++, ignored >>= 1, blocked >>= 1) {
		if (ignored & 1)
			signal(i, SIG_IGN);
		if (blocked & 1)
			sigaddset(&set, i);
	}
	sigprocmask(SIG_SETMASK, &set, NULL);
}

static bool is_older(const struct output *o)
{
	struct stat info;
	return o->older != 0 && lstat(o->path, &info) == 0 && info.st_ino == o->older;
}

void remove_unfinished(const struct job *job)
{
	for (size_t i = 0; i < job->output_count; i++) {
		const struct output *o = &job->outputs[i];
		if (o->flags & OUTPUT_MADE && !is_older(o))
			unlink(o->path);
		if (o->aside[0] != '\0' && (job->fixed.flags & JOB_JOURNALED) == 0)
			unlink(o->aside);
	}
}

/* Whether a file is older than its command.  What is made within one tick of the file system's
 * clock has the time at which that began. */
static bool before(const struct timespec *a, const struct timespec *b)
{
	return (b->tv_sec - a->tv_sec) * 1000000000 + (b->tv_nsec - a->tv_nsec) > UNDO_TICK;
}

/* Gives an output its time; what an older link leads to has been written through it.  How old a
 * link is its time does not say for sure: the kernel dates some files within a tick. */
static void date(const struct output *o, const struct stat *info, const struct timespec *times)
{
	struct stat behind;
	if (!before(&info->st_mtim, &times[1]) && (o->flags & OUTPUT_BEHIND) == 0)
		utimensat(AT_FDCWD, o->path, times, AT_SYMLINK_NOFOLLOW);
	else if (S_ISLNK(info->st_mode) && (o->flags & OUTPUT_PERHAPS) == 0 &&
	         stat(o->path, &behind) == 0 && !before(&behind.st_mtim, &times[1]))
		utimensat(AT_FDCWD, o->path, times, 0);
}

uint32_t finish(const struct job *job)
{
	const struct timespec times[2] = {
	    {.tv_nsec = UTIME_OMIT},
	    {.tv_sec = job->fixed.issued_ns / 1000000000,
	     .tv_nsec = job->fixed.issued_ns % 1000000000},
	};
	uint32_t missing = 0;
	for (size_t i = 0; i < job->output_count; i++) {
		const struct output *o = &job->outputs[i];
		if (o->flags & OUTPUT_TIMED) {
			struct stat info;
			if (lstat(o->path, &info) != 0)
				missing += errno == ENOENT && !(o->flags & OUTPUT_PERHAPS);
			else
				date(o, &info, times);
		}
	}
	return missing;
}
