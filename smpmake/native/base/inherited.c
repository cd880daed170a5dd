/* The number of what a process inherits (inherited.h).
 *
 * A shim looks at all this for each command, so it asks the kernel itself wherever that can be
 * asked: /proc/self/status has nearly all of it at once, and costs more than all these calls.
 * tests/test_inherited.py goes through that file field by field, and says what is not here.
 */
#include "inherited.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "kernel.h"

#define GROUPS 65536
#define SIGNALS 31 /* the real-time ones mean nothing by themselves */
#define SIGNALS_SIZE 8
#define IGNORED 1 /* SIG_IGN */
#define CAPABILITY_VERSION 0x20080522u
#define FILTERED 2            /* PR_GET_SECCOMP */
#define LOOK (0x100 | 0x1000) /* statx(2): the inode, the mount (Linux 5.8) */
#define INODE 4               /* where they are, in words */
#define MOUNT 18
#define WORDS 16              /* of 64 CPUs, or nodes of memory, each */
#define MEMS_ALLOWED (1 << 2) /* get_mempolicy(2) */
#define NETWORK_COOKIE 71     /* socket(7): SO_NETNS_COOKIE, Linux 5.14 */
#define WHO_PROCESS 1         /* ioprio_get(2) */
#define BEST_EFFORT(level) (2 << 13 | (level))
#define AS_IT_IS 0xffffffffu /* personality(2) */

static void add(uint64_t *number, const void *data, size_t size)
{
	const unsigned char *at = data;
	for (size_t i = 0; i < size; i++)
		*number = (*number ^ at[i]) * UINT64_C(0x100000001b3);
}

static void add_value(uint64_t *number, int64_t value)
{
	add(number, &value, sizeof value);
}

/* What prctl(2) tells: of most things 0, which costs nothing to hash. */
static void add_control(uint64_t *number, long what, long which)
{
	add_value(number, kernel(SYS_prctl, what, which));
}

/* Saved and file system's own are the effective ones behind an exec. */
static void add_users(uint64_t *number)
{
	static uint32_t groups[GROUPS];
	const long calls[] = {SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		add_value(number, kernel(calls[i]));
	long count = kernel(SYS_getgroups, GROUPS, groups);
	add(number, groups, count > 0 ? (size_t)count * sizeof *groups : 0);
}

static void add_capabilities(uint64_t *number)
{
	const uint32_t of[2] = {CAPABILITY_VERSION, 0};
	uint32_t sets[6]; /* effective, permitted, inheritable: the lower half of each, the upper */
	uint64_t bounds = 0, ambient = 0;
	memset(sets, 0, sizeof sets);
	kernel(SYS_capget, of, sets);
	add(number, sets, sizeof sets);
	uint64_t inheritable = sets[2] | (uint64_t)sets[5] << 32;
	long bound;
	for (int i = 0; i < 64 && (bound = kernel(SYS_prctl, PR_CAPBSET_READ, i)) >= 0; i++) {
		uint64_t bit = UINT64_C(1) << i;
		bounds |= bound ? bit : 0;
		if (inheritable & bit)
			ambient |= kernel(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i) == 1
			               ? bit
				       : 0;
	}
	add_value(number, (int64_t)bounds);
	add_value(number, (int64_t)ambient);
	add_control(number, PR_GET_SECUREBITS, 0);
	add_control(number, PR_GET_NO_NEW_PRIVS, 0);
}

/* How many filters there are nothing else tells. */
static void add_filters(uint64_t *number, int self)
{
	char text[4096];
	long mode = kernel(SYS_prctl, PR_GET_SECCOMP);
	add_value(number, mode);
	if (mode != FILTERED)
		return;
	int fd = (int)kernel(SYS_openat, self, "status", O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, text, sizeof text - 1);
	text[size > 0 ? size : 0] = '\0';
	close(fd);
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "Seccomp_filters:", 16) == 0)
			add(number, line, (size_t)(strchrnul(line, '\n') - line));
	}
}

/* Which user namespace, by what its link leads to: "user:[4026531837]". */
static void add_link(uint64_t *number, int self, const char *name)
{
	char target[64];
	long size = kernel(SYS_readlinkat, self, name, target, sizeof target);
	add(number, target, size > 0 ? (size_t)size : 0);
}

/* That of mounts shows in the root's mount, which is another in each; that of the network in our
 * socket; that of PIDs in whether the server has one here; that of names in what they are.  So only
 * one needs a look at its link, which costs as much as twenty of these calls. */
static void add_namespaces(uint64_t *number, int self, int server)
{
	uint64_t root[32];
	struct utsname system;
	struct ucred peer = {.pid = 0};
	uint64_t network = 0;
	socklen_t size = sizeof peer;
	memset(&system, 0, sizeof system);
	kernel(SYS_uname, &system);
	if (server < 0) {
		add(number, system.machine, sizeof system.machine);
	} else {
		add(number, &system, sizeof system);
		memset(root, 0, sizeof root);
		kernel(SYS_statx, AT_FDCWD, "/", 0, LOOK, root);
		add_value(number, (int64_t)root[INODE]);
		add_value(number, (int64_t)root[MOUNT]);
		if (root[MOUNT] == 0)
			add_link(number, self, "ns/mnt");
		kernel(SYS_getsockopt, server, SOL_SOCKET, SO_PEERCRED, &peer, &size);
		add_value(number, peer.pid != 0);
		size = sizeof network;
		if (kernel(SYS_getsockopt, server, SOL_SOCKET, NETWORK_COOKIE, &network, &size) !=
		    0)
			add_link(number, self, "ns/net");
		add_value(number, (int64_t)network);
	}
	add_link(number, self, "ns/user");
	add_value(number, kernel(SYS_personality, AS_IT_IS));
}

/* Some kernels tell what follows from niceness where nobody has set one; that is 0 here. */
static int64_t io_priority(int32_t nice)
{
	long told = kernel(SYS_ioprio_get, WHO_PROCESS, 0);
	return told == BEST_EFFORT(4) || told == BEST_EFFORT((nice + 20) / 5) ? 0 : told;
}

static void add_scheduling(struct inherited *found, int self)
{
	struct { /* sched_getattr(2) */
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t times[3];
	} how;
	uint64_t mask[WORDS];
	uint64_t *number = &found->number;
	char adjustment[16];
	memset(&how, 0, sizeof how);
	kernel(SYS_sched_getattr, 0, &how, sizeof how, 0);
	add_value(number, how.policy);
	add_value(number, (int64_t)how.flags);
	add_value(number, how.priority);
	found->nice = how.nice;
	add_value(number, io_priority(how.nice));
	memset(mask, 0, sizeof mask);
	kernel(SYS_sched_getaffinity, 0, sizeof mask, mask);
	add(number, mask, sizeof mask);
	int fd = (int)kernel(SYS_openat, self, "oom_score_adj", O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, adjustment, sizeof adjustment);
	add(number, adjustment, size > 0 ? (size_t)size : 0);
	close(fd);
}

static void add_memory(uint64_t *number)
{
	for (long flags = 0; flags <= MEMS_ALLOWED; flags += MEMS_ALLOWED) {
		uint64_t nodes[WORDS];
		int mode = 0;
		memset(nodes, 0, sizeof nodes);
		kernel(SYS_get_mempolicy, flags == 0 ? &mode : NULL, nodes, WORDS * 64, 0, flags);
		add_value(number, mode);
		add(number, nodes, sizeof nodes);
	}
	add_control(number, PR_GET_THP_DISABLE, 0);
	add_control(number, PR_GET_TIMERSLACK, 0);
	add_control(number, PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS);
	add_control(number, PR_GET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH);
}

static void look_at_signals(struct inherited *found)
{
	for (int i = 1; i <= SIGNALS; i++) {
		struct { /* the kernel's */
			uintptr_t handler;
			uint64_t more[3];
		} action = {.handler = 0};
		kernel(SYS_rt_sigaction, i, NULL, &action, SIGNALS_SIZE);
		if (action.handler == IGNORED)
			found->ignored |= UINT64_C(1) << (i - 1);
	}
	kernel(SYS_rt_sigprocmask, 0, NULL, &found->blocked, SIGNALS_SIZE);
}

void look_at_inherited(int server, struct inherited *found)
{
	int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	memset(found, 0, sizeof *found);
	found->number = UINT64_C(0xcbf29ce484222325);
	add_users(&found->number);
	add_capabilities(&found->number);
	add_filters(&found->number, self);
	add_namespaces(&found->number, self, server);
	add_scheduling(found, self);
	add_memory(&found->number);
	look_at_signals(found);
	close(self);
	if (found->number == 0)
		found->number = 1;
}
