#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "util.h"

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int prepared(const struct terminal *t, uint32_t rows, uint32_t columns)
{
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
	struct termios raw;
	if (tcgetattr(t->slave, &raw) != 0)
		return -1;
	/* The user's own terminal does what is to be done with ends of lines. */
	raw.c_iflag = 0;
	raw.c_oflag &= ~(tcflag_t)OPOST;
	raw.c_lflag = 0;
	return tcsetattr(t->slave, TCSANOW, &raw) != 0 ? -1 : ioctl(t->slave, TIOCSWINSZ, &size);
}

void open_terminal(struct terminal *t, uint32_t rows, uint32_t columns)
{
	int locked = 0;
	t->slave = -1;
	t->master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (t->master < 0)
		return;
	/* By number, not by name: /dev/pts may be another's (a container, a chroot). */
	if (ioctl(t->master, TIOCSPTLCK, &locked) == 0)
		t->slave = ioctl(t->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (t->slave < 0 || prepared(t, rows, columns) != 0)
		close_terminal(t);
}

void leave_slave(struct terminal *t)
{
	close_one(&t->slave);
}

void read_on(const struct terminal *t)
{
	char buffer[4096];
	ssize_t size;
	if (fork() != 0)
		return;
	if (dup2(t->master, 0) == 0 && fcntl(0, F_SETFL, O_RDWR) == 0) {
		syscall(SYS_close_range, 1u, ~0u, 0u); /* the server is not to wait for us */
		do
			size = read(0, buffer, sizeof buffer);
		while (size > 0 || (size < 0 && errno == EINTR));
	}
	_exit(0);
}

int copy_written(const struct terminal *t, int to)
{
	char buffer[4096];
	for (;;) {
		ssize_t size = read(t->master, buffer, sizeof buffer);
		if (size > 0)
			(void)!write_all(to, buffer, (size_t)size);
		else if (size == 0 || errno != EINTR)
			return size < 0 && errno == EAGAIN ? 0 : -1;
	}
}

void close_terminal(struct terminal *t)
{
	leave_slave(t);
	close_one(&t->master);
}
