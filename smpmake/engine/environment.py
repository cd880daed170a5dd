"""The environment of a command: as it came, and as it would be without us."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from typing import Final

from smpmake import variables

#: Where gcc keeps its temporary files: the first of these that leads to a folder.
_TEMPORARY: Final = ("TMPDIR", "TMP", "TEMP")
_EVERYBODYS: Final = "/tmp"
#: What a session, shims and guards add.
_OURS: Final = frozenset(os.fsencode(name) for name in variables.ALL)
#: Variables that a shell takes over, and those that mean something else to dash itself.
_VARIABLES: Final = re.compile(rb"(?:[A-Za-z_][A-Za-z0-9_]*=[^\0]*\0)*")
_DASHS: Final = frozenset({b"IFS", b"OPTIND", b"PPID", b"LINENO"})
_PRELOAD: Final = b"LD_PRELOAD"
_GUARD: Final = os.fsencode(variables.GUARD)


class Environment:
    """An environment as it came, of which few variables are ever asked."""

    def __init__(self, blob: bytes) -> None:
        self.blob = blob
        self._asked: dict[str, str | None] = {}
        self._moved: dict[str, bytes] = {}

    def get(self, name: str) -> str | None:
        """A variable's value."""
        if name not in self._asked:
            self._asked[name] = self._find(os.fsencode(name) + b"=")
        return self._asked[name]

    def handed_on(self, cwd: str) -> bytes | None:
        """What dash gives to a command that it becomes in `cwd` (getcwd's); None if others know.

        It sees to it that PWD is right, and leaves out what has no name of a variable.
        """
        if not self._is_plain:
            return None
        here = self.get("PWD") or ""
        if here == cwd or (here.startswith("/") and _is_same(here, cwd)):
            return self.blob
        if cwd not in self._moved:
            self._moved[cwd] = changed(self.blob, {"PWD": cwd})
        return self._moved[cwd]

    @functools.cached_property
    def _is_plain(self) -> bool:
        """Whether dash takes all of it over, each variable once, and hands it on as it came."""
        names = [variable.partition(b"=")[0] for variable in self.blob.split(b"\0")[:-1]]
        is_whole = _VARIABLES.fullmatch(self.blob) and len(set(names)) == len(names)
        return bool(is_whole) and _DASHS.isdisjoint(names)

    def _find(self, wanted: bytes) -> str | None:
        start = 0 if self.blob.startswith(wanted) else self.blob.find(b"\0" + wanted) + 1
        if start == 0 and not self.blob.startswith(wanted):
            return None
        start += len(wanted)
        return os.fsdecode(self.blob[start : self.blob.index(b"\0", start)])


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def changed(blob: bytes, values: Mapping[str, str]) -> bytes:
    """An environment in which some variables have other values."""
    own = {os.fsencode(name) + b"=": os.fsencode(value) for name, value in values.items()}
    old = tuple(own)
    kept = [each + b"\0" for each in blob.split(b"\0")[:-1] if not each.startswith(old)]
    return b"".join([*kept, *(name + value + b"\0" for name, value in own.items())])


def serial(blob: bytes) -> bytes:
    """The environment that a command would have without us.

    For programs that have no use for ours: what depends on where the stack ends (Open Watcom's
    compilers generate other code then) comes out as in a serial build.
    """
    variables = [variable.partition(b"=") for variable in blob.split(b"\0")[:-1]]
    guard = b"".join(value for name, _, value in variables if name == _GUARD)
    kept = []
    for name, equals, value in variables:
        if name in _OURS:
            continue
        if name == _PRELOAD and guard:
            others = [each for each in re.split(b"[ :]+", value) if each not in (b"", guard)]
            if not others:
                continue
            value = b":".join(others)
        kept.append(name + equals + value + b"\0")
    return b"".join(kept)


def temporary_folder(environment: Environment, cwd: str) -> str:
    """Where a command keeps its temporary files, "" if that is everybody's folder."""
    for value in filter(None, map(environment.get, _TEMPORARY)):
        folder = os.path.join(cwd, value)
        if os.path.isdir(folder):
            return "" if folder == _EVERYBODYS else os.path.realpath(folder)
    return ""
