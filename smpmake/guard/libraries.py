"""Shared libraries that a program loads: the loader opens them by system calls of its own.

So who starts a program, or loads a library, asks beforehand; and only while something is pending
that is called as libraries are.  What is named by a bare name is searched as ld.so does it, but for
the system's own folders, which no build writes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from smpmake.disk.elf_dynamic import dynamic_of
from smpmake.schedule.job import Job

_MOST: Final = 1000  # libraries that one program is followed to
_SCRIPT: Final = re.compile(rb"#![ \t]*([^ \t\r\n\0]+)")
_SYSTEM: Final = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")


class _Loaded(NamedTuple):
    """What a program or library says of others: their names, where to look, its interpreter."""

    needed: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    interpreter: str = ""


class Libraries:
    """One per engine.

    writers  who will write a path, or what it leads to, and was issued before a number.
    called   who will write a library of a name, in whatever folder.
    """

    def __init__(
        self,
        writers: Callable[[str, int], set[Job]],
        called: Callable[[str, int], set[Job]],
    ) -> None:
        self._writers = writers
        self._called = called

    def blockers(self, program: str, told: str, before: int) -> set[Job]:
        """Who will write what a program, or a library, is about to load with itself.

        program  its absolute path.
        told     lines: its folder, LD_LIBRARY_PATH, and the names that it is to load in any case.
        """
        cwd, _, rest = told.partition("\n")
        search, _, extra = rest.partition("\n")
        folders = [
            os.path.join(cwd, folder or ".") for folder in re.split("[:;]", search) if search
        ]
        todo = [(program, "")]
        todo += [(name, program) for name in re.split("[: ]", extra) if name]
        waits: set[Job] = set()
        seen: set[str] = set()
        while todo and len(seen) < _MOST:
            name, user = todo.pop()
            if (name, user) != (program, "") and "/" not in name:
                waits |= self._called(name, before)
            for path in self._candidates(name, user, cwd, folders):
                waits |= self._writers(path, before)
                if path in seen or not os.path.isfile(path):
                    continue
                seen.add(path)
                if not path.startswith(_SYSTEM):
                    loaded = _loaded(path)
                    todo += [(each, path) for each in loaded.needed]
                    todo += [(loaded.interpreter, path)] if loaded.interpreter else []
                break
        return waits

    @staticmethod
    def _candidates(name: str, user: str, cwd: str, folders: list[str]) -> list[str]:
        if "/" in name:
            return [os.path.normpath(os.path.join(cwd, name))]
        own = _loaded(user).search if user else ()
        return [os.path.normpath(os.path.join(folder, name)) for folder in (*own, *folders)]


def _loaded(path: str) -> _Loaded:
    try:
        info = os.stat(path)
    except OSError:
        return _Loaded()
    return _read(path, info.st_ino, info.st_mtime_ns, info.st_size)


@lru_cache(4096)
def _read(path: str, inode: int, mtime_ns: int, size: int) -> _Loaded:
    """Of a file that is as it was nothing is read twice."""
    del inode, mtime_ns, size
    try:
        with open(path, "rb") as file:
            script = _SCRIPT.match(file.read(256))
        if script is not None:
            return _Loaded(interpreter=os.fsdecode(script[1]))
        needed, search = dynamic_of(path)
    except (OSError, ValueError):
        return _Loaded()
    origin = os.path.dirname(os.path.realpath(path))
    folders = [re.sub(r"\$(?:ORIGIN\b|\{ORIGIN\})", lambda _: origin, folder) for folder in search]
    return _Loaded(needed, tuple(folders))
