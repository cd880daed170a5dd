"""Whether a program takes a preloaded guard: what its file says of its loader.

Native guards ask the same of what they start (native/guard/program/program.c), and a test holds the
two to the same answers; this is for what the server, or the session, starts itself.
"""

from __future__ import annotations

import functools
import mmap
import os
import re
import struct
from typing import Final

_INTERPRETER: Final = 3
_HEADS: Final = 6
_LONGEST_PATH: Final = 4096
_LONGEST_LOADER: Final = 128
#: Of a 64-bit and a 32-bit machine: the header's class, and where it says where its parts are.
_WIDE: Final = struct.calcsize("P") == 8
_CLASS: Final = 2 if _WIDE else 1
_HEADER: Final = struct.Struct("=32xQ14xHH4x" if _WIDE else "=28xI10xHH4x")
_PART: Final = struct.Struct("=I4xQ16xQ16x" if _WIDE else "=II8xI12x")


def takes_guard(program: str) -> bool:
    """False for static programs, for another loader's and for those that run with other rights.

    program is a path, or a name that PATH finds; "#!" is followed.  What cannot be read is taken
    for an ordinary one: starting it will tell.
    """
    path = program if "/" in program else _on_path(program)
    try:
        if path is None:
            return True
        info = os.stat(path)
        return _judge(path, info.st_ctime_ns, info.st_ino)
    except OSError:
        return True


def is_static(program: str, mark: bytes) -> bool:
    """Whether a file is itself a program without a loader (no script) and has these bytes in it."""
    try:
        info = os.stat(program)
        return _is_static(program, mark, info.st_ctime_ns, info.st_ino)
    except (OSError, ValueError):
        return False


def holds(program: str, mark: bytes) -> bool:
    """Whether a program's file has these bytes in it."""
    try:
        info = os.stat(program)
        return _holds(program, mark, info.st_ctime_ns, info.st_ino)
    except (OSError, ValueError):
        return False


def is_script(program: str) -> bool:
    """Whether a program is run by another one, which may then run anything; or cannot be read."""
    try:
        info = os.stat(program)
        return _is_script(program, info.st_ctime_ns, info.st_ino)
    except (OSError, ValueError):
        return True


def is_program(file: str) -> bool:
    """Whether a file can be run, as who looks for one on a PATH asks."""
    return os.access(file, os.X_OK) and os.path.isfile(file)


def _on_path(name: str) -> str | None:
    for folder in os.environ.get("PATH", os.defpath).split(":"):
        path = os.path.join(folder or ".", name)
        if is_program(path):
            return path
    return None


@functools.lru_cache(maxsize=256)
def _is_static(program: str, mark: bytes, _changed: int, _inode: int) -> bool:
    with open(program, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
        is_program = content[:4] == b"\x7fELF" and not _loader_of(file.fileno())
        return is_program and content.find(mark) >= 0


@functools.lru_cache(maxsize=256)
def _is_script(program: str, _changed: int, _inode: int) -> bool:
    with open(program, "rb") as file:
        return file.read(2) == b"#!"


@functools.lru_cache(maxsize=256)
def _holds(program: str, mark: bytes, _changed: int, _inode: int) -> bool:
    with open(program, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
        return content.find(mark) >= 0


@functools.lru_cache(maxsize=256)
def _judge(path: str, _changed: int, _inode: int) -> bool:
    """Raises OSError for what cannot be read."""
    for _ in range(_HEADS):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            head = os.pread(fd, 8191, 0)
            if _has_other_rights(fd):
                return False
            if head.startswith(b"\x7fELF"):
                return _loader_of(fd) == _own_loader() != b""
        finally:
            os.close(fd)
        found = re.match(rb"#![ \t]*([^ \t\r\n\0]+)", head)
        if found is None or len(found[1]) >= _LONGEST_PATH:
            return True
        path = os.fsdecode(found[1])
    return True


def _has_other_rights(fd: int) -> bool:
    info = os.fstat(fd)
    if info.st_mode & 0o4000 and info.st_uid != os.geteuid():
        return True
    if info.st_mode & 0o2000 and info.st_gid != os.getegid():
        return True
    try:
        return os.getuid() != 0 and os.getxattr(fd, "security.capability") != b""
    except OSError:
        return False


def _loader_of(fd: int) -> bytes:
    """The dynamic loader that a program of our kind of machine names, or b""."""
    header = os.pread(fd, _HEADER.size, 0)
    if len(header) < _HEADER.size or header[4] != _CLASS:
        return b""
    start, size, count = _HEADER.unpack(header)
    if size != _PART.size:
        return b""
    for number in range(count):
        part = _pread(fd, _PART.size, start + number * size)
        if len(part) < _PART.size:
            return b""
        kind, offset, length = _PART.unpack(part)
        if kind == _INTERPRETER:
            if length > _LONGEST_LOADER:
                return b""
            name = _pread(fd, length, offset)
            whole = len(name) == length and name.endswith(b"\0")
            return name.partition(b"\0")[0] if whole else b""
    return b""


def _pread(fd: int, size: int, offset: int) -> bytes:
    """What a file has there; nothing behind what a file can have."""
    return os.pread(fd, size, offset) if offset < 1 << 62 else b""


@functools.lru_cache(maxsize=1)
def _own_loader() -> bytes:
    """Ours, which is that of the guards too."""
    fd = os.open("/proc/self/exe", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _loader_of(fd)
    finally:
        os.close(fd)
