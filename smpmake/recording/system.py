"""Stands between the engine and the system's calls: Python's `os`, `time`, `open` and a few more.

Only within an entry, only in the entry's thread: everybody else gets the real ones.  Paths and
descriptors become names: a descriptor is called as the file that it was opened by.
"""

from __future__ import annotations

import builtins
import fcntl
import functools
import importlib
import io
import itertools
import mmap
import os
import shutil
import stat
import subprocess
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

from smpmake.protocol import layout
from smpmake.recording.modules import forget_answers, functions
from smpmake.recording.plain import bytes_of, text_of
from smpmake.recording.substitutes import (
    DirEntry,
    Entries,
    Raw,
    kind_of,
    of_stat,
    same,
    to_stat,
)
from smpmake.recording.world import UnansweredError, World
from smpmake.undo.entries import ENTRY

_SMALL: Final = 1 << 16  # bytes of a file that is kept whole, whatever part of it was read
_FIRST: Final = 1 << 20  # the first number of a descriptor that is none
_OWN: Final = "/proc/self/fd/"
#: What the undo journal's own part is called, whose entries hold times.
JOURNAL: Final = "undo server"
_FIELDS: Final = tuple(layout.UNDO_ENTRY_CODES)
_PASSING: Final = frozenset({"now_ns", "mark", "size"})
#: Calls that neither ask about the disk or a process nor change anything there.
_HARMLESS: Final = frozenset(
    (
        *("fspath", "strerror", "urandom", "getrandom", "cpu_count", "major", "minor", "makedev"),
        *("register_at_fork", "waitstatus_to_exitcode"),
    )
)
#: Modules that are loaded when they are needed, and ask the system then.
_LATE: Final = ("hashlib", "json", "random", "shutil", "subprocess", "tempfile")
#: Commands of fcntl(2) whose argument is no descriptor, though one may have its number.
_NUMBERED: Final = frozenset({fcntl.F_SETSIG, fcntl.F_SETLEASE})
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

#: Of the real ones, before anything is changed.
_open, _read, _pread, _fstat, _close = os.open, os.read, os.pread, os.fstat, os.close
_lstat, _stat, _mmap = os.lstat, os.stat, mmap.mmap


@dataclass(slots=True)
class _Descriptor:
    """An open file of the engine's: its name, where it is read next, and its text where that is
    small."""

    name: str
    at: int = 0
    text: bytes | None = None
    is_file: bool = False


class System:
    """One per recording or replay; `install` puts it in between, `remove` takes it away.

    kept  called with bytes that an answer holds; returns what stands for them.
    """

    def __init__(
        self, world: World, keep: Callable[[bytes], Any], kept: Callable[[Any], bytes]
    ) -> None:
        self.world = world
        self._keep = keep
        self._kept = kept
        self._open: dict[int, _Descriptor] = {}
        self._numbers = itertools.count(_FIRST)
        self._changed: list[tuple[Any, str, Any]] = []

    # ------------------------------------------------------------------ in between

    def install(self) -> None:
        """From now on the engine is answered by us."""
        for module in _LATE:
            importlib.import_module(module)
        forget_answers()
        replaced: dict[int, Any] = {}
        for module, name, ours in self._table():
            real = getattr(module, name)
            wrapped = self._inside_only(real, ours)
            replaced[id(real)] = wrapped
            self._set(module, name, wrapped)
        for name, real in list(vars(os).items()):
            if isinstance(real, types.BuiltinFunctionType) and _may_ask(name):
                self._set(os, name, self._inside_only(real, self._unknown(f"os.{name}")))
        for function in functions():
            self._set_defaults(function, replaced)

    def remove(self) -> None:
        """Nobody of us is in between any more."""
        for owner, name, value in reversed(self._changed):
            setattr(owner, name, value)
        self._changed.clear()
        forget_answers()

    def _set(self, owner: Any, name: str, value: Any) -> None:
        self._changed.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def _set_defaults(self, function: types.FunctionType, replaced: dict[int, Any]) -> None:
        """Of a function that has one of the real ones as the value of a parameter."""
        before = function.__defaults__ or ()
        if any(id(value) in replaced for value in before):
            after = tuple(replaced.get(id(value), value) for value in before)
            self._set(function, "__defaults__", after)

    def _inside_only(self, real: Any, ours: Any) -> Any:
        world = self.world

        @functools.wraps(real)
        def either(*args: Any, **named: Any) -> Any:
            if world.current is None:
                return real(*args, **named)
            return ours(real, *args, **named)

        return either

    def _unknown(self, name: str) -> Callable[..., Any]:
        """What stands between the engine and a call of which we know nothing."""

        def ours(real: Any, *args: Any, **named: Any) -> Any:
            entry = self.world.current
            assert entry is not None
            if self.world.played:
                raise UnansweredError(entry, f"{name} (it is not in recording/system.py)")
            self.world.act("unrecorded", name)
            return self.world.outside(lambda: real(*args, **named), None)

        return ours

    # ------------------------------------------------------------------ names

    def call(self, fd: int, name: str) -> None:
        """A descriptor that the engine has been given is to be called so."""
        self._open[fd] = _Descriptor(name)

    def new(self, name: str) -> int:
        """The number of a descriptor that is none."""
        fd = next(self._numbers)
        self.call(fd, name)
        return fd

    def _known(self, fd: int) -> _Descriptor:
        return self._open.get(fd) or _Descriptor(f"fd {fd}")

    def name(self, place: Any, dir_fd: int | None = None) -> str:
        """What a path or a descriptor is called."""
        if isinstance(place, int):
            return self._known(place).name
        if hasattr(place, "fileno"):
            return self._known(place.fileno()).name
        path = os.fsdecode(place)
        if path.startswith(_OWN) and path[len(_OWN) :].isdigit():
            return self._known(int(path[len(_OWN) :])).name
        if dir_fd is not None:
            return f"{self._known(dir_fd).name}/{path}"
        return path

    # ------------------------------------------------------------------ answers

    def text(
        self, question: str, target: str, real: Callable[[], bytes], *, anew: bool = False
    ) -> bytes:
        """A question whose answer is bytes."""
        return self.world.ask(question, target, real, self._keep, self._kept, anew=anew)

    def _simple(self, question: str, *, anew: bool = False) -> Callable[..., Any]:
        """A question about a path or a descriptor whose answer JSON can hold."""

        def ours(real: Any, place: Any, *more: Any, **named: Any) -> Any:
            words = " ".join(map(str, (question, *more)))
            name = self.name(place)
            return self.world.ask(
                words, name, lambda: real(place, *more, **named), same, same, anew=anew
            )

        return ours

    def _about_us(self, question: str, *, anew: bool = False) -> Callable[..., Any]:
        """A question about nothing but ourselves; `anew`: the clock."""

        def ours(real: Any, *more: Any) -> Any:
            words = " ".join(map(str, (question, *more)))
            return self.world.ask(words, "", lambda: real(*more), same, same, anew=anew)

        return ours

    def _changes(self, what: str, *, paths: int = 1, is_told: bool = True) -> Callable[..., Any]:
        """A change of so many paths (or descriptors); nothing comes of it but an error."""

        def ours(real: Any, *args: Any, **named: Any) -> Any:
            names = [self.name(place) for place in args[:paths]]
            more = [*map(_plain, args[paths:]), *(f"{k}={_plain(v)}" for k, v in named.items())]
            return self.world.do(
                " ".join(map(str, (what, *names[1:]))),
                names[0],
                lambda: real(*args, **named),
                _nothing,
                same,
                *more,
                changes=names,
                is_told=is_told,
            )

        return ours

    def _table(self) -> Iterator[tuple[Any, str, Any]]:
        """Module, name, and what stands in its place."""
        yield os, "stat", self._stat
        yield os, "lstat", self._lstat
        yield os, "fstat", self._fstat
        yield os, "open", self._os_open
        yield os, "close", self._os_close
        yield os, "dup", self._dup
        yield os, "read", self._os_read
        yield os, "pread", self._os_pread
        yield os, "write", self._os_write
        yield os, "pwrite", self._os_write
        yield os, "lseek", self._lseek
        yield os, "scandir", self._scandir
        yield os, "readlink", self._readlink
        yield os, "listdir", self._listdir
        yield os, "statvfs", self._statvfs
        yield os, "getxattr", self._getxattr
        yield os, "get_terminal_size", self._terminal_size
        yield os, "pipe", self._pipe
        yield os, "memfd_create", self._memfd
        yield os, "pidfd_open", self._pidfd
        for name in ("access", "isatty"):
            yield os, name, self._simple(name)
        for name in ("getpid", "getuid", "geteuid", "getgid", "getegid", "getcwd", "sysconf"):
            yield os, name, self._about_us(name)
        for name in ("rename", "replace", "link"):
            yield os, name, self._changes(name, paths=2)
        yield os, "symlink", self._symlink
        for name in (
            *("mkdir", "rmdir", "unlink", "mkfifo", "utime", "chmod", "fchmod"),
            *("ftruncate", "posix_fallocate"),
        ):
            yield os, name, self._changes(name)
        yield os, "set_blocking", self._changes("set_blocking", is_told=False)
        yield type(os.environ), "__getitem__", self._variable
        yield shutil, "rmtree", self._changes("rmtree")
        yield shutil, "copy2", self._changes("copy2", paths=2)
        yield subprocess, "run", self._run
        for name in (
            "time",
            "time_ns",
            "monotonic",
            "monotonic_ns",
            "clock_gettime",
            "clock_gettime_ns",
        ):
            yield time, name, self._about_us(name, anew=True)
        yield fcntl, "fcntl", self._fcntl
        yield fcntl, "ioctl", self._fcntl
        yield mmap, "mmap", self._map
        yield builtins, "open", self._file
        yield io, "open", self._file

    # ------------------------------------------------------------------ files' states

    def _stat(
        self, real: Any, path: Any, *, dir_fd: Any = None, follow_symlinks: bool = True
    ) -> Any:
        if isinstance(path, int):
            return self._fstat(_fstat, path)
        if not follow_symlinks:
            return self._lstat(_lstat, path, dir_fd=dir_fd)
        name = self.name(path, dir_fd)
        if not isinstance(path, int) and not self.world.played:  # for who asks in another way
            self._state("lstat", name, lambda: _lstat(path, dir_fd=dir_fd), quietly=True)
        return self._state("stat", name, lambda: real(path, dir_fd=dir_fd))

    def _lstat(self, real: Any, path: Any, *, dir_fd: Any = None) -> Any:
        return self._state("lstat", self.name(path, dir_fd), lambda: real(path, dir_fd=dir_fd))

    def _fstat(self, real: Any, fd: int) -> Any:
        return self._state("fstat", self.name(fd), lambda: real(fd))

    def _state(self, question: str, name: str, real: Any, *, quietly: bool = False) -> Any:
        if not quietly:
            return self.world.ask(question, name, real, of_stat, to_stat)
        try:
            return self.world.ask(question, name, real, of_stat, to_stat)
        except (OSError, ValueError):
            return None

    def _readlink(self, real: Any, path: Any, *, dir_fd: Any = None) -> Any:
        name = self.name(path, dir_fd)
        found = self.world.ask(
            "readlink", name, lambda: os.fsdecode(real(path, dir_fd=dir_fd)), same, same
        )
        return os.fsencode(found) if isinstance(path, bytes) else found

    def _listdir(self, real: Any, path: Any = ".") -> Any:
        return self.world.ask("names", self.name(path), lambda: real(path), same, same)

    def _statvfs(self, real: Any, path: Any) -> Any:
        def look() -> list[int]:
            found = real(path)
            return [found.f_bavail, found.f_frsize]

        free, size = self.world.ask("statvfs", self.name(path), look, same, same)
        return SimpleNamespace(f_bavail=free, f_frsize=size)

    def _scandir(self, real: Any, path: Any = ".") -> Any:
        def look() -> list[list[str]]:
            with real(path) as entries:
                return [[entry.name, kind_of(entry)] for entry in entries]

        found = self.world.ask("entries", self.name(path), look, same, same)
        folder = os.fsdecode(path)
        return Entries(DirEntry(folder, name, kind) for name, kind in found)

    def _getxattr(self, real: Any, place: Any, name: Any, **named: Any) -> Any:
        return self.text(f"getxattr {name}", self.name(place), lambda: real(place, name, **named))

    def _terminal_size(self, real: Any, fd: int = 1) -> Any:
        def to_size(found: list[int]) -> os.terminal_size:
            return os.terminal_size((found[0], found[1]))

        return self.world.ask("terminal", self.name(fd), lambda: real(fd), list, to_size)

    # ------------------------------------------------------------------ descriptors

    def _opened(self, what: str, name: str, real: Callable[[], int], flags: int = 0) -> int:
        """A new descriptor; what it is called when it is one."""
        number: list[int] = []

        def do() -> None:
            number.append(real())

        if flags & _WRITES:
            temporary = flags & os.O_TMPFILE == os.O_TMPFILE
            self.world.do(
                what,
                name,
                do,
                _nothing,
                same,
                changes=() if temporary else (name,),
                is_told=not temporary,
            )
        else:
            self.world.ask(what, name, do, _nothing, same, anew=True)
        fd = number[0] if number else next(self._numbers)
        self._open[fd] = _Descriptor(name)
        return fd

    def _os_open(self, real: Any, path: Any, flags: int, mode: int = 0o777, **named: Any) -> int:
        name = self.name(path, named.get("dir_fd"))
        temporary = flags & os.O_TMPFILE == os.O_TMPFILE
        word = (
            "open" if not flags & _WRITES else "open temporary" if temporary else f"open {flags:o}"
        )
        fd = self._opened(word, name, lambda: real(path, flags, mode, **named), flags)
        if temporary:
            self._open[fd].name = f"{name}/(temporary)"
        elif not flags & _WRITES:
            self._open[fd].is_file = True  # `_content` looks
        return fd

    def _os_close(self, real: Any, fd: int) -> None:
        self._open.pop(fd, None)
        self.world.outside(lambda: real(fd), None)

    def _dup(self, real: Any, fd: int) -> int:
        known = self._known(fd)
        return self._opened("dup", known.name, lambda: real(fd))

    def _pipe(self, real: Any) -> tuple[int, int]:
        entry = self.world.current
        assert entry is not None
        name = f"pipe {entry.name()}"
        ends: list[int] = []

        def do() -> None:
            ends.extend(real())

        self.world.ask("pipe", name, do, _nothing, same, anew=True)
        first, second = ends or (next(self._numbers), next(self._numbers))
        self.call(first, f"{name} out")
        self.call(second, f"{name} in")
        return first, second

    def _memfd(self, real: Any, name: str, *more: Any) -> int:
        return self._opened("memfd", f"memory {name}", lambda: real(name, *more))

    def _pidfd(self, real: Any, pid: int, *more: Any) -> int:
        return self._opened("pidfd", f"process {pid}", lambda: real(pid, *more))

    def _content(self, fd: int, known: _Descriptor) -> bytes | None:
        """The whole of a small file, which is kept as one answer; None for others."""
        if known.text is not None or not known.is_file:
            return known.text

        def real() -> bytes:
            info = _fstat(fd)
            small = info.st_size <= _SMALL and stat.S_ISREG(info.st_mode)
            if not small:
                raise OSError(0, "none that is kept whole")
            pieces = []
            at = 0
            while piece := _pread(fd, _SMALL, at):
                pieces.append(piece)
                at += len(piece)
            return b"".join(pieces)

        try:
            known.text = self.text("content", known.name, real)
        except (OSError, ValueError):
            known.is_file = False
        return known.text

    def _os_read(self, real: Any, fd: int, size: int) -> bytes:
        known = self._known(fd)
        content = self._content(fd, known)
        if content is not None:
            data = content[known.at : known.at + size]
        elif known.at or known.name.startswith("/"):
            at = known.at
            data = self.text(f"read {at} {size}", known.name, lambda: real(fd, size), anew=True)
        else:
            return self.text(f"read {size}", known.name, lambda: real(fd, size), anew=True)
        known.at += len(data)
        return data

    def _os_pread(self, real: Any, fd: int, size: int, at: int) -> bytes:
        known = self._known(fd)
        content = self._content(fd, known)
        if content is not None:
            return content[at : at + size]
        return self.text(f"read {at} {size}", known.name, lambda: real(fd, size, at))

    def _os_write(self, real: Any, fd: int, data: Any, *at: int) -> int:
        name = self.name(fd)
        text = _entries(bytes(data)) if name == JOURNAL else text_of(bytes(data))
        done = self.world.do(
            "write", name, lambda: real(fd, data, *at), same, same, text, changes=(name,)
        )
        return int(done)

    def _lseek(self, real: Any, fd: int, at: int, how: int) -> int:
        words = f"seek {at} {how}"
        found: int = self.world.ask(
            words, self.name(fd), lambda: real(fd, at, how), same, same, anew=True
        )
        self._known(fd).at = found
        return found

    def _fcntl(self, real: Any, place: Any, command: int, *more: Any) -> Any:
        name = self.name(place)
        shown = _plain if command in _NUMBERED else self._argument
        words = f"fcntl {command} {' '.join(map(shown, more))}"

        def do() -> Any:
            return real(place, command, *more)

        def pack(found: Any) -> Any:
            return found if isinstance(found, int) else {"bytes": text_of(found)}

        def unpack(found: Any) -> Any:
            return found if isinstance(found, int) else bytes_of(found["bytes"])

        return self.world.ask(words, name, do, pack, unpack, anew=True)

    def _argument(self, value: Any) -> str:
        """A number may be a descriptor's."""
        return self._open[value].name if value in self._open else _plain(value)

    def _map(self, real: Any, fd: int, length: int, *more: Any, **named: Any) -> Any:
        """Memory that is shared with others; what is asked of it are questions of their own."""
        if self.world.played:
            return _mmap(-1, length)
        return real(fd, length, *more, **named)

    # ------------------------------------------------------------------ files

    def _file(
        self,
        real: Any,
        path: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        flags = {"r": os.O_RDONLY, "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC}.get(mode[:1])
        if isinstance(path, int) or flags is None or "+" in mode:
            given = (mode, buffering, encoding, errors, newline, closefd, opener)
            return self._unknown(f"open in mode {mode}")(real, path, *given)
        flags |= os.O_CLOEXEC
        fd = opener(os.fspath(path), flags) if opener is not None else os.open(path, flags, 0o666)
        raw = Raw(fd, writes=mode[0] == "w")
        if buffering == 0:
            return raw
        buffered: Any = io.BufferedWriter(raw) if mode[0] == "w" else io.BufferedReader(raw)
        if "b" in mode:
            return buffered
        return io.TextIOWrapper(buffered, encoding, errors, newline)

    # ------------------------------------------------------------------ other calls

    def _variable(self, real: Any, environ: Any, name: str) -> str:
        """One of our own environment's."""
        found = self.world.ask("variable", name, lambda: environ.get(name), same, same)
        if found is None:
            raise KeyError(name)
        return str(found)

    def _symlink(self, real: Any, target: Any, path: Any, **named: Any) -> Any:
        name = self.name(path)
        return self.world.do(
            "symlink", name, lambda: real(target, path, **named), _nothing, same, str(target)
        )

    def _run(self, real: Any, words: Any, **named: Any) -> Any:
        def pack(done: Any) -> Any:
            return [done.returncode, text_of(done.stdout or b"")]

        def unpack(found: Any) -> Any:
            return subprocess.CompletedProcess(words, found[0], bytes_of(found[1]))

        name = " ".join(map(os.fsdecode, words))
        return self.world.do("run", name, lambda: real(words, **named), pack, unpack)


def _entries(data: bytes) -> list[Any]:
    """Entries of the undo journal, but for when they were written."""
    found: list[Any] = []
    at = 0
    while at < len(data):
        values = ENTRY.unpack_from(data, at)
        fields = dict(zip(_FIELDS, values, strict=False))
        paths = text_of(data[at + ENTRY.size : at + values[0]]).split("\0")[:2]
        found.append([paths, {name: n for name, n in fields.items() if n and name not in _PASSING}])
        at += values[0]
    return found


def _may_ask(name: str) -> bool:
    """Whether one of os's functions, which nothing stands for, may ask or change something."""
    return not name.startswith(("_", "W")) and name not in _HARMLESS


def _nothing(value: Any) -> None:
    del value


def _plain(value: Any) -> str:
    return text_of(value) if isinstance(value, bytes) else str(value)
