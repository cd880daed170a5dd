#include "system.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"
#include "util.h"

char *contents_of(const char *folder, const char *name, size_t most, size_t *size)
{
	char path[PATH_MAX];
	struct stat info;
	if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
		return NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	char *data = NULL;
	if (fstat(fd, &info) == 0) {
		*size = (size_t)info.st_size < most ? (size_t)info.st_size : most;
		data = must_alloc(*size + 1);
		data[*size] = '\0';
		if (read_all(fd, data, *size) != 0) {
			free(data);
			data = NULL;
		}
	}
	close(fd);
	return data;
}

int64_t monotonic_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return NS_OF(now);
}

struct process {
	pid_t pid, parent;
};

/* Parent of a process from /proc/PID/stat; the name in brackets may hold anything. */
static pid_t parent_of(const char *pid)
{
	char path[64], text[512];
	if (snprintf(path, sizeof path, "/proc/%s/stat", pid) >= (int)sizeof path)
		return -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t size = read(fd, text, sizeof text - 1);
	close(fd);
	if (size <= 0)
		return -1;
	text[size] = '\0';
	char *after = strrchr(text, ')');
	char state;
	int parent;
	if (after == NULL || sscanf(after + 1, " %c %d", &state, &parent) != 2 || state == 'Z')
		return -1;
	return parent;
}

int signal_descendants(int signal)
{
	DIR *proc = opendir("/proc");
	if (proc == NULL)
		return 0;
	size_t count = 0, room = 256;
	struct process *all = must_alloc(room * sizeof *all);
	for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		pid_t parent = parent_of(entry->d_name);
		if (parent <= 0)
			continue;
		if (count == room) {
			room *= 2;
			struct process *more = realloc(all, room * sizeof *all);
			if (more == NULL)
				break;
			all = more;
		}
		all[count].pid = (pid_t)atoi(entry->d_name);
		all[count++].parent = parent;
	}
	closedir(proc);
	/* Mark generation after generation: ours are those whose parent is marked. */
	pid_t *ours = must_alloc((count + 1) * sizeof *ours);
	size_t marked = 0;
	ours[marked++] = getpid();
	for (size_t i = 0; i < marked; i++)
		for (size_t k = 0; k < count; k++)
			if (all[k].parent == ours[i] && marked <= count) {
				ours[marked++] = all[k].pid;
				all[k].parent = -1;
			}
	for (size_t i = 1; i < marked; i++)
		kill(ours[i], signal);
	free(all);
	free(ours);
	return (int)marked - 1;
}

/* The environment that a process was started with; its size is not known before. */
static char *environment_of(const char *pid, size_t *size)
{
	char path[64];
	if (snprintf(path, sizeof path, "/proc/%s/environ", pid) >= (int)sizeof path)
		return NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	size_t room = 1 << 14;
	char *text = must_alloc(room + 1);
	ssize_t got;
	for (*size = 0; (got = read(fd, text + *size, room - *size)) > 0;) {
		*size += (size_t)got;
		char *more = *size < room ? text : realloc(text, (room *= 2) + 1);
		if (more == NULL)
			break;
		text = more;
	}
	close(fd);
	text[*size] = '\0';
	return text;
}

static int is_marked(const char *pid, const char *beginning)
{
	size_t size = 0, length = strlen(beginning);
	char *text = environment_of(pid, &size);
	int found = 0;
	for (char *at = text; at != NULL && at < text + size && !found; at += strlen(at) + 1)
		found = strncmp(at, beginning, length) == 0;
	free(text);
	return found;
}

int signal_marked(const char *beginning, int signal)
{
	DIR *proc = opendir("/proc");
	int count = 0;
	if (proc == NULL)
		return 0;
	for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
		const char *pid = entry->d_name;
		if (pid[0] < '1' || pid[0] > '9' || atoi(pid) == getpid() ||
		    !is_marked(pid, beginning))
			continue;
		count += kill((pid_t)atoi(pid), signal) == 0;
	}
	closedir(proc);
	return count;
}
