"""Whether a program takes a preloaded guard: what its file says of its loader.

Native guards ask the same of what they start (native/guard/exec.c); this is for what the server, or
the session, starts itself.
"""

from __future__ import annotations

import functools
import os
import shutil
import struct
import sys
from typing import Final

_INTERPRETER: Final = 3
_HEADS: Final = 4


def takes_guard(program: str) -> bool:
    """False for static programs, for other machines' and for those that run with other rights.

    program is a path, or a name that PATH finds; "#!" is followed.  What cannot be read is taken
    for an ordinary one: starting it will tell.
    """
    path = program if "/" in program else shutil.which(program)
    try:
        return path is None or _judge(path, os.stat(path).st_mtime_ns)
    except OSError:
        return True


@functools.lru_cache(maxsize=256)
def _judge(path: str, _changed: int) -> bool:
    for _ in range(_HEADS):
        with open(path, "rb") as file:
            head = file.read(4096)
            info = os.fstat(file.fileno())
        if info.st_mode & 0o4000 and info.st_uid != os.geteuid():
            return False
        if info.st_mode & 0o2000 and info.st_gid != os.getegid():
            return False
        if head.startswith(b"\x7fELF"):
            return _has_loader(head)
        words = head.partition(b"\n")[0][2:].split()
        if not head.startswith(b"#!") or not words:
            return True
        path = os.fsdecode(words[0])
    return True


def _has_loader(head: bytes) -> bool:
    ours = _own_head()
    if head[4:6] != ours[4:6] or head[18:20] != ours[18:20] or head[4] != 2:
        return False
    (start,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    for number in range(count):
        at = start + number * size
        if at + 4 <= len(head) and struct.unpack_from("<I", head, at)[0] == _INTERPRETER:
            return True
    return False


@functools.lru_cache(maxsize=1)
def _own_head() -> bytes:
    with open(sys.executable, "rb") as file:
        return file.read(64)
