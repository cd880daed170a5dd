"""The process that keeps a driver for us.  A build waits for this module."""

from __future__ import annotations

import _socket  # what socket is made of: it takes long to load, for names of constants
import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from smpmake import native
from smpmake.errors import SmpmakeError
from smpmake.protocol import keeping

#: Signals that end a build.
ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: What Python ignores, and no program that it starts should.
_IGNORED: Final = (signal.SIGPIPE, signal.SIGXFSZ)


def heard() -> set[signal.Signals]:
    """Those of ENDING that are ours: what our caller ignores (nohup) the driver ignores, too."""
    return {number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN}


class DriverError(SmpmakeError):
    """The driver's keeper cannot be started."""


class Keeper:
    """Starts a driver under its keeper: `pid` is the keeper's, `control` the connection to it.

    started   when that was, monotonic clock, ns.
    alive     the read end of the pipe whose other end all workers hold.
    soft      the driver's limit of open files.
    mask      signals that the driver's caller has blocked, where those are not ours.
    output    where the driver writes to, None for our own stdout and stderr.
    errors    where it writes its messages to, if that is elsewhere.
    Raises DriverError.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        alive: int,
        soft: int,
        mask: Iterable[int] | None = None,
        output: int | None = None,
        errors: int | None = None,
    ) -> None:
        self.control, theirs = _socket.socketpair()
        passed = (theirs.fileno(), alive)
        keeper = native.program("keeper")
        # The keeper stands whatever comes; until it does, what comes waits.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        blocked = sum(1 << number - 1 for number in (before if mask is None else mask))
        numbers = map(str, (*passed, soft, blocked))
        words = [keeper, *numbers, os.fspath(folder), *command]
        try:
            with _inherited(passed):
                self.pid = _spawn(words, environment, output, output if errors is None else errors)
        except OSError as error:
            self.control.close()
            raise DriverError(f"{command[0]} cannot be started: {error.strerror}") from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        self.control.setblocking(False)
        self.started = time.monotonic_ns()

    def signal(self, number: int) -> None:
        """Signals the driver and everything that it started."""
        with contextlib.suppress(OSError):
            self.control.send(keeping.encode_signal(number))

    def release(self, *, is_undone: bool = True) -> None:
        """Ends the keeper, and reaps it; once.

        is_undone  there is nothing left for it to do; else it undoes what follows the first promise
                   that was not kept, and removes the session's folder.
        """
        if self.control.fileno() < 0:
            return
        with contextlib.suppress(OSError):
            if is_undone:
                self.control.send(keeping.encode_bye())
        self.control.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _spawn(
    words: list[str], environment: Mapping[str, str], output: int | None, errors: int | None
) -> int:
    """Starts a program that inherits what may be inherited.  Raises OSError."""
    given = ((output, 1), (errors, 2))
    streams = [(os.POSIX_SPAWN_DUP2, one, fd) for one, fd in given if one is not None]
    try:
        return os.posix_spawn(
            words[0], words, environment, file_actions=streams, setsigdef=_IGNORED
        )
    except ValueError:  # a variable without a name, which a program may have
        import subprocess

        inherited = [fd for fd in map(int, os.listdir("/proc/self/fd")) if _is_inherited(fd)]
        process = subprocess.Popen(
            words, env=environment, pass_fds=inherited, stdout=output, stderr=errors
        )
        process.returncode = 0  # it is for us to wait for
        return process.pid


@contextlib.contextmanager
def _inherited(these: Sequence[int]) -> Iterator[None]:
    """What is started meanwhile has these descriptors, and those that our caller gave us."""
    for fd in these:
        os.set_inheritable(fd, True)
    try:
        yield
    finally:
        for fd in these:
            os.set_inheritable(fd, False)


def _is_inherited(fd: int) -> bool:
    try:
        return fd > 2 and os.get_inheritable(fd)
    except OSError:  # that by which the folder was read
        return False
