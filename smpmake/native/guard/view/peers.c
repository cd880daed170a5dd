/* Whom a process talks to.  A daemon that was there before the build has no guard: what it is asked
 * to read may still be pending.
 */
#include "peers.h"
#include "base/kernel.h"
#include "guard/guard.h"
#include "guard/program/environment.h"
#include "lookup.h"
#include "questions.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Servers that read nothing of a build's, or what a tool gives them, which has waited for that:
 * what their sockets' names have, without the folder; and where the system's own lie. */
static const char *const harmless[] = {"sccache", "distcc", "icecc", "dbus", NULL};
static const char *const folders[] = {"/dbus/", "/systemd/", "/nscd/", "/icecc/", NULL};
static const char *const systems[] = {"/run/", "/var/run/", NULL};

/* Of sccache, distcc, icecream (its scheduler, and its daemon). */
static const unsigned short ports[] = {4226, 3632, 8765, 8766, 10245};

static int has_any(const char *text, const char *const *parts)
{
	while (*parts != NULL && strstr(text, *parts) == NULL)
		parts++;
	return *parts != NULL;
}

static int is_harmless(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	const char *own = value_in(environ, "SCCACHE_SERVER_UDS=", 19);
	for (const char *const *start = systems; *start != NULL; start++)
		if (strncmp(path, *start, strlen(*start)) == 0 && has_any(path, folders))
			return 1;
	return is_session(path) || has_any(name, harmless) || strcmp(name, "bus") == 0 ||
	       strncmp(path, "/tmp/.X11-unix/", 15) == 0 || (own != NULL && strcmp(own, path) == 0);
}

/* Our own socket is as old as the build. */
int is_before_build(int64_t time)
{
	struct stat own;
	return kernel(SYS_newfstatat, AT_FDCWD, guard.values[V_SOCKET], &own, 0) != 0 ||
	       time < NS_OF(own.st_mtim);
}

/* A socket's file is as old as its server's listening. */
static int is_older(const char *path)
{
	struct stat peer;
	return kernel(SYS_newfstatat, AT_FDCWD, path, &peer, 0) == 0 &&
	       is_before_build(NS_OF(peer.st_mtim));
}

#define NAMES 53 /* a server of hosts' names */

static int is_harmless_port(unsigned short port)
{
	const char *own = value_in(environ, "SCCACHE_SERVER_PORT=", 20);
	for (size_t i = 0; i < sizeof ports / sizeof *ports; i++)
		if (ports[i] == port)
			return 1;
	return port == NAMES || (own != NULL && strtoul(own, NULL, 10) == port);
}

static int is_here(const void *address, unsigned size)
{
	const struct sockaddr_in *four = address;
	const struct sockaddr_in6 *six = address;
	if (four->sin_family == AF_INET && size >= sizeof *four)
		return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET &&
		       !is_harmless_port(ntohs(four->sin_port));
	return four->sin_family == AF_INET6 && size >= sizeof *six &&
	       IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) && !is_harmless_port(ntohs(six->sin6_port));
}

static int is_tcp(int fd)
{
	int kind = 0;
	unsigned size = sizeof kind;
	return kernel(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 &&
	       kind == SOCK_STREAM;
}

void guard_meets(int fd, const void *address, unsigned size, int sends)
{
	const struct sockaddr_un *name = address;
	struct sockaddr_un copy = {.sun_family = AF_UNIX};
	int before = errno;
	if (guard.is_part || address == NULL || size < sizeof name->sun_family)
		return;
	if (name->sun_family != AF_UNIX) {
		if (is_here(address, size) && (sends || is_tcp(fd)))
			guard_see_everything("/");
		errno = before;
		return;
	}
	size -= (unsigned)offsetof(struct sockaddr_un, sun_path);
	if (size == 0 || size > sizeof copy.sun_path)
		return;
	int has_no_file = *name->sun_path == '\0';
	memcpy(copy.sun_path, name->sun_path + has_no_file, size - (unsigned)has_no_file);
	copy.sun_path[sizeof copy.sun_path - 1] = '\0';
	if (!is_harmless(copy.sun_path) && (has_no_file || is_older(copy.sun_path)))
		guard_see_everything(has_no_file ? "/" : copy.sun_path);
	errno = before;
}

void guard_sends_message(int fd, const void *message)
{
	const struct msghdr *one = message;
	if (one != NULL && one->msg_name != NULL)
		guard_meets(fd, one->msg_name, one->msg_namelen, 1);
}

void guard_sends_messages(int fd, const void *messages, unsigned count)
{
	const struct mmsghdr *all = messages;
	for (unsigned i = 0; all != NULL && i < count; i++)
		guard_sends_message(fd, &all[i].msg_hdr);
}
