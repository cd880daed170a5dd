"""What a folder holds, and how two folders differ.

A snapshot names every file by its path below the folder, with `/` between the parts.  What a file
*is* (kind, mode, bytes) is kept apart from *when* it was written: two builds never agree on times,
while a build that does nothing must not even change one.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """What one path is: `content` is a sum for a file, the target for a link."""

    kind: str
    mode: int
    content: str


Entries = dict[str, Entry]


@dataclass(frozen=True)
class Snapshot:
    """A folder's entries, and the times of those that are not folders themselves."""

    entries: Entries
    times: dict[str, int]

    def as_json(self) -> dict[str, Any]:
        """For `from_json`."""
        return {"entries": self.entries, "times": self.times}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Snapshot:
        """The inverse of `as_json`."""
        entries = {path: Entry(*fields) for path, fields in data["entries"].items()}
        return cls(entries, data["times"])


def snapshot(root: Path) -> Snapshot:
    """Read everything below root."""
    entries: Entries = {}
    times: dict[str, int] = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = Path(folder, name)
            status = path.lstat()
            relative = path.relative_to(root).as_posix()
            entries[relative] = _entry(path, status)
            if not stat.S_ISDIR(status.st_mode):
                times[relative] = status.st_mtime_ns
    return Snapshot(entries, times)


def age(root: Path, seconds: int) -> None:
    """Make everything below root older, in the same order: some makes compare whole seconds."""
    aged = set()
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if (status.st_dev, status.st_ino) not in aged:
                aged.add((status.st_dev, status.st_ino))
                ago = seconds * 10**9
                times = (status.st_atime_ns - ago, status.st_mtime_ns - ago)
                os.utime(path, ns=times, follow_symlinks=False)


def _entry(path: Path, status: os.stat_result) -> Entry:
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return Entry("link", mode, os.readlink(path))
    if stat.S_ISDIR(status.st_mode):
        return Entry("folder", mode, "")
    if not stat.S_ISREG(status.st_mode):
        return Entry("special", mode, "")
    with path.open("rb") as handle:
        return Entry("file", mode, hashlib.file_digest(handle, "sha256").hexdigest())


def changes(before: Snapshot, after: Snapshot) -> set[str]:
    """The paths that came, went, or differ in what they are or when they were written."""
    paths = before.entries.keys() | after.entries.keys()
    return {
        path
        for path in paths
        if before.entries.get(path) != after.entries.get(path)
        or before.times.get(path) != after.times.get(path)
    }


@dataclass(frozen=True)
class Lens:
    """Hides what equal builds do not agree on, and what is not compared for other reasons.

    A path on which all builds have something is blurred (it must exist, whatever its content); one
    that only some of them have is dropped.
    """

    blurred: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, builds: Sequence[Entries], patterns: Iterable[str] = ()) -> Lens:
        """The lens through which these look alike."""
        one = builds[0]
        common = set(one).intersection(*builds)
        blurred = {path for path in common if any(each[path] != one[path] for each in builds)}
        dropped = set(one).union(*builds) - common
        return cls(frozenset(blurred), frozenset(dropped), tuple(patterns))

    def hides(self, path: str) -> bool:
        """Whether nothing at all is said about this path."""
        return path in self.dropped or matches(path, self.patterns)

    def view(self, entries: Entries) -> Entries:
        """The entries as seen through the lens."""
        seen = {path: entry for path, entry in entries.items() if not self.hides(path)}
        for path in self.blurred & seen.keys():
            seen[path] = Entry("any", 0, "")
        return seen


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether any of the shell patterns fits the path."""
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def differences(expected: Entries, actual: Entries) -> list[str]:
    """One line for every path that is not as expected; empty if the trees are equal."""
    return strangers(actual, [expected])


def strangers(actual: Entries, allowed: Sequence[Entries]) -> list[str]:
    """One line for every path that is as in none of the allowed trees (absence is a state too)."""
    paths = actual.keys() | {path for entries in allowed for path in entries}
    return [
        f"{path}: is {_words(actual.get(path))}, should be {_choices(path, allowed)}"
        for path in sorted(paths)
        if all(actual.get(path) != entries.get(path) for entries in allowed)
    ]


def renamed(entries: Entries, old: str, new: str) -> Entries:
    """The entries whose paths end in old, under paths that end in new instead."""
    return {
        path.removesuffix(old) + new: entry for path, entry in entries.items() if path.endswith(old)
    }


def _choices(path: str, allowed: Sequence[Entries]) -> str:
    return " or ".join(dict.fromkeys(_words(entries.get(path)) for entries in allowed))


def _words(entry: Entry | None) -> str:
    if entry is None:
        return "absent"
    return f"{entry.kind} {entry.mode:o} {entry.content[:12]}".rstrip()
