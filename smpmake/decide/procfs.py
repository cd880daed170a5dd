"""Who called a shim, as /proc tells: which program, since when, and where its output goes.

Asked only where the answer can change a verdict.  Every question may fail, because the process may
be gone; then the answer is the careful one.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from smpmake.commands.reading.makes import MAKES
from smpmake.disk.elf import takes_guard
from smpmake.protocol.wire import FileId

#: Shells that run recipes and scripts.
SHELLS: Final = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
_NULL: Final = FileId(os.stat(os.devnull).st_dev, os.stat(os.devnull).st_ino)
_PROC_TICK: Final = 0.02  # s: /proc counts in hundredths
_LIMITS: Final = frozenset({"timeout", "gtimeout"})
#: What stands above a build's driver: limits above it are no part of the build.
KEEPER: Final = "smpmake-keeper"
#: What stands above a job's processes.
WORKER: Final = "smpmake-worker"
#: What a shell without job control has its background commands ignore, as bits.
_BACKGROUND: Final = 1 << signal.SIGINT - 1 | 1 << signal.SIGQUIT - 1
_SMALL_SOURCE: Final = 4096
_LINE: Final = 4096  # bytes: /proc/PID/stat has a few hundred
LONGEST_CHAIN: Final = 32


class Caller(NamedTuple):
    """A process: its program's name (15 characters), parent, start on the wall clock in s, and the
    terminal's session that it is in."""

    pid: int
    name: str
    parent: int
    started: float
    session: int = 0


class Usage(NamedTuple):
    """What a process has used, microseconds of CPU, and those of its children that it has reaped.

    is_over  it has ended, and waits to be reaped.
    """

    parent: int
    is_over: bool
    user: int
    system: int
    children_user: int
    children_system: int


class Processes:
    """Looks processes up, each time anew: a number may stand for another one soon."""

    def __init__(self) -> None:
        self._tick = os.sysconf("SC_CLK_TCK")

    def caller(self, pid: int) -> Caller | None:
        """What /proc says of a process, or None."""
        found = _stat(pid)
        if found is None:
            return None
        name, fields = found
        boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        return Caller(
            pid,
            name.decode(errors="replace"),
            int(fields[1]),
            boot + int(fields[19]) / self._tick,
            int(fields[3]),
        )

    def usage(self, pid: int) -> Usage | None:
        """What a process has used so far, or None."""
        found = _stat(pid)
        if found is None:
            return None
        _, fields = found
        return Usage(
            int(fields[1]),
            fields[0] == b"Z",
            *(int(ticks) * 1_000_000 // self._tick for ticks in fields[11:15]),
        )

    def above(self, pid: int, most: int) -> Iterator[Caller]:
        """A process and those above it, the nearest first; no more than so many."""
        for _ in range(most):
            caller = self.caller(pid)
            if caller is None:
                return
            yield caller
            pid = caller.parent

    def up_to_driver(self, pid: int) -> Iterator[Caller]:
        """The same, but none above the build's driver."""
        for each in self.above(pid, LONGEST_CHAIN):
            if each.name == KEEPER or each.pid <= 1:
                return
            yield each

    def takes_guard(self, pid: int) -> bool:
        """Whether the program of a process does."""
        return takes_guard(f"/proc/{pid}/exe")

    def children(self, pid: int) -> set[int]:
        """A process's children, whichever of its threads started them; none where that cannot be
        told.  One that has ended is there until the process has heard of it."""
        found: set[int] = set()
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with (
                    contextlib.suppress(OSError),
                    open(f"/proc/{pid}/task/{thread}/children", "rb") as file,
                ):
                    found.update(map(int, file.read().split()))
        return found

    def folder(self, pid: int) -> str:
        """Where a process works; "" where that cannot be told."""
        try:
            return os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            return ""

    def output_ids(self, pid: int) -> tuple[FileId, FileId] | None:
        """Which files a process has as stdout and stderr."""
        try:
            out, err = os.stat(f"/proc/{pid}/fd/1"), os.stat(f"/proc/{pid}/fd/2")
        except OSError:
            return None
        return FileId(out.st_dev, out.st_ino), FileId(err.st_dev, err.st_ino)

    def ignored(self, pid: int) -> int:
        """Which signals a process ignores, as bits (0 is signal 1); all where it is gone."""
        found = self._status(pid, b"SigIgn")
        return int(found, 16) if found else -1

    def tracer(self, pid: int) -> int:
        """Which process traces one, 0 for none."""
        return int(self._status(pid, b"TracerPid") or b"0")

    def _status(self, pid: int, field: bytes) -> bytes:
        try:
            with open(f"/proc/{pid}/status", "rb") as file:
                text = file.read()
        except OSError:
            return b""
        return text.partition(b"\n" + field + b":")[2].split(None, 1)[0]

    def holds(self, pid: int, files: tuple[FileId, ...], *, own: bool = False) -> bool:
        """Whether a process has one of some files open, beside its own input and output, or as
        these, too."""
        try:
            numbers = [n for n in os.listdir(f"/proc/{pid}/fd") if own or int(n) > 2]
        except OSError:
            return False
        for number in numbers:
            with contextlib.suppress(OSError):
                info = os.stat(f"/proc/{pid}/fd/{number}")
                if FileId(info.st_dev, info.st_ino) in files:
                    return True
        return False

    def is_held(self, file: FileId, but: str) -> bool:
        """Whether any process has a file open, or mapped, that is not below a program of such a
        name.  Those of other users cannot be looked at."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            pid = int(name)
            if self.holds(pid, (file,), own=True) or self._maps(pid, file.inode):
                above = self.above(pid, LONGEST_CHAIN)
                if all(each.name != but for each in above):
                    return True
        return False

    def _maps(self, pid: int, inode: int) -> bool:
        """Whether a process has a file of that number mapped; file systems that lie on several
        devices show another one there than elsewhere."""
        try:
            with open(f"/proc/{pid}/maps", "rb") as file:
                return b" %d " % inode in file.read()
        except OSError:
            return False

    def calling_command(self, pid: int) -> bytes:
        """By what a script's commands are told from others: its folder and command line.

        b"" for a make, whose commands have nothing in common, and for what is gone.
        """
        try:
            line = _command_line(pid)
            folder = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            return b""
        name = os.fsdecode(_name(line.partition(b"\0")[0]))
        return b"" if name in MAKES else os.fsencode(folder) + b"\0" + line

    def command_line(self, pid: int) -> list[bytes]:
        """A process's argv, empty if it is gone."""
        try:
            return _command_line(pid).split(b"\0")[:-1]
        except OSError:
            return []


def _stat(pid: int) -> tuple[bytes, list[bytes]] | None:
    """A process's name, and what follows it in /proc/PID/stat: its state, its parent ..."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            text = file.read(_LINE)
    except OSError:
        return None
    name, _, rest = text.partition(b"(")[2].rpartition(b")")
    return name, rest.split()


def _command_line(pid: int) -> bytes:
    """Raises OSError."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read()


def is_captured(
    processes: Processes,
    parent: int,
    mine: tuple[FileId, FileId],
    driver: tuple[FileId, FileId] | None,
    *,
    one_program: bool = False,
) -> bool:
    """Whether a caller looks at this very command's output, as probes do.

    Not captured: what goes where the build's own output goes, where a make's goes, or where that
    of a whole program goes (pip catches all that a setup.py and its compilers print; it reads on
    until they have all ended).  Captured: a single command's output, by the process that called
    it, by a fork of a shell, or by way of `sh -c`.  Libtool discards the output of its second
    compile; nobody looks at it.

    one_program  the command makes a program: a check may, but hardly one of several commands whose
                 output a script collects together, which look the same from here.
    """
    if mine == driver:
        return False
    if mine == (_NULL, _NULL):
        command = processes.command_line(parent)[:3]
        if any(b"libtool" in word for word in command):
            return False
    pid, outer = parent, 0
    for _ in range(LONGEST_CHAIN):
        caller = processes.caller(pid)
        if caller is None:
            return True
        if processes.output_ids(pid) != mine:
            break
        if caller.name in MAKES:
            return False
        pid, outer = caller.parent, pid
        if pid <= 1:
            return False
    if outer == 0 or driver is None:  # in a shell of the user's nobody else is to be asked
        return outer == 0
    # A shell may redirect one command in its own place; it keeps what it goes back to behind it.
    if one_program and processes.holds(outer, processes.output_ids(pid) or driver):
        return True
    command = processes.command_line(outer)
    is_fork = command == processes.command_line(pid)
    return is_fork or (command[1:2] == [b"-c"] and os.fsdecode(_name(command[0])) in SHELLS)


def are_messages_captured(
    processes: Processes, parent: int, mine: FileId, driver: tuple[FileId, FileId] | None
) -> bool:
    """Whether a caller looks at the messages of a command whose stdout is an output.

    Not captured: what goes where the build's own messages go, or where those of a make do.
    """
    if driver is not None and mine in driver:
        return False
    for caller in processes.above(parent, LONGEST_CHAIN):
        ids = processes.output_ids(caller.pid)
        if ids is None or ids[1] != mine:
            return True
        if caller.name in MAKES:
            return False
    return True


def shell_text(command: list[bytes]) -> str:
    """What a shell was given as the value of -c; "" where a command line is none of a shell's."""
    if not command or os.fsdecode(_name(command[0])) not in SHELLS:
        return ""
    for word, following in itertools.pairwise(command[1:]):
        if not word.startswith(b"-"):
            return ""
        if not word.startswith(b"--") and b"c" in word:
            return os.fsdecode(following)
    return ""


def unguarded_above(processes: Processes, nearest: int) -> str:
    """Which program above a command may read too early; "" for none.

    nearest  the process above it that has no guard.
    A make takes its recipes' word for what they make, and waits before it looks; but one that could
    have a guard and has none is below a program that has taken it away.
    """
    make = processes.caller(nearest)
    if make is None:
        return "?"
    if make.name not in MAKES or processes.takes_guard(nearest):
        return make.name
    above = processes.up_to_driver(make.parent)
    return next((each.name for each in above if not processes.takes_guard(each.pid)), "")


def callers_below_make(
    processes: Processes, caller: Caller, since: float
) -> tuple[list[Caller], Caller | None]:
    """Who called a command, the nearest first, and the make that called these; None where none
    did: above them stands what is no part of the build, which began at `since` (wall clock, s)."""
    found: list[Caller] = []
    for each in itertools.chain((caller,), processes.above(caller.parent, LONGEST_CHAIN)):
        if each.name == KEEPER or each.started < since - _PROC_TICK:
            break
        if each.name in MAKES:
            return found, each
        found.append(each)
    return found, None


def is_limited(callers: list[Caller]) -> bool:
    """Whether a command is called by `timeout`, or by what that runs, up to the next make.

    A limit of a make, or of the whole build, is for all of its work, which takes less time with us
    than without.
    """
    return any(each.name in _LIMITS for each in callers)


def in_background(ignored: int) -> bool:
    """Whether a process ignores what one in the background does."""
    return ignored & _BACKGROUND == _BACKGROUND


def is_in_background(processes: Processes, caller: Caller, ignored: int) -> bool:
    """Whether a shell runs a command, which ignores such signals, in the background."""
    return (
        in_background(ignored)
        and caller.name in SHELLS
        and not in_background(processes.ignored(caller.pid))
    )


_PARTS: Final = re.compile(rb"(&&|\|\||[;&|\n])")
_ASKING: Final = re.compile(rb"[\s({]*(?:if|elif|while|until|!)\s")


def asks_for_status(command: list[bytes], tool: bytes, source: bytes) -> bool:
    """Whether a caller is a shell with a text in which something depends on a command's status.

    The command is told by its tool and a source, as it names them.
    """
    parts = _PARTS.split(os.fsencode(shell_text(command)))
    for part, behind in zip(parts[::2], [*parts[1::2], b""], strict=True):
        if tool in part and source in part:
            return behind in (b"&&", b"||") or _ASKING.match(part) is not None
    return False


def _name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


#: By whom a file was last written, as far as that is known: a process and its parent.
Writer = Callable[[str], tuple[int, int] | None]


def is_fresh(
    processes: Processes,
    parent: int,
    sources: list[str],
    since: float,
    stat: Callable[[str], os.stat_result] = os.stat,
    writer: Writer = lambda path: None,
) -> bool:
    """Whether a small source was written by the script that now has it compiled, as probes do.

    `since` (wall clock, s) is when the build began: what is older needs no look at the parent.
    """
    for source in sources:
        try:
            info = stat(source)
        except OSError:
            continue
        if info.st_size > _SMALL_SOURCE or info.st_mtime < since:
            continue
        caller = processes.caller(parent)
        if caller is None:
            return True
        if caller.name in MAKES or info.st_mtime < caller.started - _PROC_TICK:
            continue
        wrote = writer(source)
        if wrote is None or not _same_script(processes, parent).isdisjoint(wrote):
            return True
    return False


def _same_script(processes: Processes, pid: int) -> set[int]:
    """A process, and those above it that it is a fork of: a shell's `(...)`."""
    found: set[int] = set()
    text = processes.command_line(pid)
    for caller in processes.above(pid, LONGEST_CHAIN):
        if found and processes.command_line(caller.pid) != text:
            break
        found.add(caller.pid)
    return found
