"""The job server of a make (or ninja, or cargo) that has called us: we are its client.

A recipe has one slot by being run; for each further one a token is read from the server's pipe, and
the same byte is written back when the slot is free again.  So make's jobs and our compilers
together are never more than its -j says.  Tokens that are held are written down in the session's
folder: if we are killed the keeper gives them back (native/keeper/keeper.c has the same layout).

https://www.gnu.org/software/make/manual/html_node/POSIX-Jobserver.html
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import struct
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smpmake.commands.reading.makes import JOBSERVER, NAME_JOBSERVER, SHELLS, options_of
from smpmake.disk.shared import shared_map

if TYPE_CHECKING:
    from smpmake.capacity.table import Wait

_OPTIONS: Final = re.compile(r"(?:^| )-j\d* ?--jobserver-\w+=\S+")
_COUNT: Final = struct.Struct("<I")
_MOST: Final = 2048  # tokens
_SIZE: Final = 8192  # count, tokens, and from here on the path by which they are given back
_PATH: Final = 4096


class NotPassedError(Exception):
    """A job server is named, but its descriptors are not ours: make did not take us for a make."""


def named_in(makeflags: str) -> str:
    """What MAKEFLAGS says of a job server: `R,W` or `fifo:PATH`, the last one; "" for none."""
    named = [w.partition("=")[2] for w in options_of(makeflags) if w.startswith(JOBSERVER)]
    return named[-1] if named else ""


def leave_shells(environment: MutableMapping[str, str]) -> None:
    """Takes the job server of a shell (`smpmake env --jobserver`) out: we have slots of its table
    anyway, and a make that has one runs its rules in parallel by itself."""
    for name in NAME_JOBSERVER:
        told = environment.get(name, "")
        if not _is_shells(named_in(told)):
            continue
        environment[name] = _OPTIONS.sub("", told).strip()
        if not environment[name]:
            del environment[name]


def _is_shells(named: str) -> bool:
    number = named.partition(",")[0]
    if number.isdigit():
        try:
            named = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            return False
    return named.endswith(f"/{SHELLS}")


class JobServer:
    """Our end of it; `held` is the tokens that we have, one for each slot beyond the first."""

    contended = True

    def __init__(self, named: str, folder: Path) -> None:
        """named as in MAKEFLAGS.  Raises NotPassedError, OSError or NoRoomError."""
        kind, _, fifo = named.partition(":")
        if kind == "fifo":
            ends = [fifo, fifo]
        else:
            numbers = [int(n) if n.isdigit() else -1 for n in named.split(",")]
            if len(numbers) != 2 or not all(map(_is_pipe, numbers)):
                raise NotPassedError
            # Descriptions of our own: O_NONBLOCK is not to be theirs, nor theirs to stay open.
            ends = [f"/proc/self/fd/{number}" for number in numbers]
        self.held: list[bytes] = []
        self._gone = False
        self._watched = False
        self._ledger = shared_map(folder / "tokens", _SIZE)
        path = os.fsencode(ends[1])
        self._ledger[_PATH : _PATH + len(path)] = path
        self._read = self._write = -1
        try:
            flags = os.O_NONBLOCK | os.O_CLOEXEC
            self._read = os.open(ends[0], flags | (os.O_RDWR if fifo else os.O_RDONLY))
            self._write = os.open(ends[1], flags | (os.O_RDWR if fifo else os.O_WRONLY))
            if not _is_pipe(self._read):
                raise NotPassedError
        except BaseException:
            self.close()
            raise

    def most_slots(self, wanted: int) -> int:
        """How many slots may be used now; takes tokens for `wanted`, the first needs none."""
        while len(self.held) < wanted - 1:
            try:
                token = os.read(self._read, 1) if len(self.held) < _MOST else b""
            except OSError:  # none is left, mostly
                break
            if not token:
                self._gone = True
                break
            self.held.append(token)
            self._ledger[_COUNT.size + len(self.held) - 1] = token[0]
            self._note()
        return len(self.held) + 1

    def settle_tokens(self, busy: int, wake: Callable[[], None] | None) -> None:
        """Gives back what `busy` slots do not need; `wake` is called when there is a token to be
        had, None where nobody wants one."""
        while len(self.held) > max(0, busy - 1):
            token = self.held.pop()
            self._note()  # first: one too few does less harm than one too many
            with contextlib.suppress(OSError):
                os.write(self._write, token)
        wants = wake is not None and not self._gone
        if wants == self._watched:
            return
        import asyncio  # a driver begins before this is loaded

        loop = asyncio.get_running_loop()
        if wants and wake is not None:
            loop.add_reader(self._read, wake)
        else:
            loop.remove_reader(self._read)
        self._watched = wants

    def tell(self, running: int, waiting: int, why: Wait) -> None:
        """See capacity.tokens: who asks make is not told."""

    def close(self) -> None:
        """Gives everything back; once."""
        self.settle_tokens(0, None)
        for fd in (self._read, self._write):
            if fd >= 0:
                os.close(fd)
        self._read = self._write = -1
        self._ledger.close()

    def _note(self) -> None:
        _COUNT.pack_into(self._ledger, 0, len(self.held))


def of_caller(environment: Mapping[str, str], folder: Path) -> JobServer | None:
    """The job server that our caller has named, None where there is none.

    Raises NotPassedError where it is not there for us; what else goes wrong is as none.
    """
    named = next(filter(None, (named_in(environment.get(name, "")) for name in NAME_JOBSERVER)), "")
    if not named:
        return None
    try:
        return JobServer(named, folder)
    except OSError as error:
        raise NotPassedError from error


def _is_pipe(fd: int) -> bool:
    try:
        return fd >= 0 and stat.S_ISFIFO(os.fstat(fd).st_mode)
    except (OSError, OverflowError):
        return False
