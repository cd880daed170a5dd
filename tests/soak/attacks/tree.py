"""What is looked at after a build, and how two looks are compared."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

#: So much older a file has to be in the plain builds before its age counts: their clock is coarse.
CLEARLY = 15_000_000
#: Of so many files the order of times is looked at.
MOST = 400
#: The size of a file is looked at instead of its bytes from here on.
HUGE = 50_000_000
OURS = re.compile(r"smpmake: |  (commands|used|CPU|slowest|memory|notice|results) ")


@dataclass(frozen=True)
class Look:
    """A folder after a build, and what the build said.

    entries  by name: type, bytes, mode, owner, links.
    times    of regular files, in ns.
    """

    status: int | str
    entries: dict[str, str]
    times: dict[str, int]
    stdout: str
    stderr: str


def entries(top: Path) -> tuple[dict[str, str], dict[str, int]]:
    """Everything below a folder, and the times of its files."""
    found: dict[str, str] = {}
    times: dict[str, int] = {}
    names: dict[tuple[int, int], list[str]] = {}
    for path in _walk(os.fsencode(top)):
        name = os.path.relpath(path, os.fsencode(top)).decode(errors="backslashreplace")
        with contextlib.suppress(OSError):
            seen = os.lstat(path)
            found[name] = _described(path, seen)
            if stat.S_ISREG(seen.st_mode):
                times[name] = seen.st_mtime_ns
                names.setdefault((seen.st_dev, seen.st_ino), []).append(name)
    for same in names.values():
        if len(same) > 1:
            for name in same:
                found[name] += f" = {min(same)}"
    return found, times


def _walk(top: bytes) -> Iterator[bytes]:
    for folder, folders, files in os.walk(top):
        yield from (os.path.join(folder, name) for name in (*folders, *files))


def _described(path: bytes, seen: os.stat_result) -> str:
    if stat.S_ISLNK(seen.st_mode):
        return f"-> {os.readlink(path).decode(errors='backslashreplace')}"
    kind = f"{stat.filemode(seen.st_mode)} {seen.st_uid}:{seen.st_gid}"
    with contextlib.suppress(OSError):
        for name in sorted(os.listxattr(path, follow_symlinks=False)):
            kind += f" {name}={os.getxattr(path, name, follow_symlinks=False).hex()}"
    if not stat.S_ISREG(seen.st_mode):
        return kind
    if seen.st_size > HUGE:
        return f"{kind} {seen.st_size} bytes"
    with open(path, "rb") as file:
        return f"{kind} {hashlib.sha256(file.read()).hexdigest()[:12]}"


def differences(
    plain: Look,
    again: Look,
    ours: Look,
    differs: Sequence[str] = (),
    ignored: Sequence[str] = (),
    *,
    ordered: bool = True,
) -> list[str]:
    """Where ours is not as two plain ones, which agree on it."""
    found = []
    skipped = {*differs, *ignored}
    if plain.status == again.status != ours.status and "status" not in skipped:
        found.append(f"status {ours.status}, should be {plain.status}")
    free = [re.compile(pattern) for pattern in skipped]
    for name in sorted(plain.entries.keys() | ours.entries.keys()):
        was, other, now = (look.entries.get(name) for look in (plain, again, ours))
        if was == other != now and not any(each.search(name) for each in free):
            found.append(f"{name}: {now}, should be {was}")
    if ordered:
        found += [line for line, x, y in _order(plain, again, ours) if not _any(free, x, y)]
    for name in ("stdout", "stderr"):
        if skipped.isdisjoint((name, "output")):
            said = [getattr(look, name) for look in (plain, again, ours)]
            found += _said(name, *said, failed="rror" in plain.stdout + plain.stderr)
    return found


def _any(free: Sequence[re.Pattern[str]], *names: str) -> bool:
    return any(each.search(name) for each in free for name in names)


def _order(plain: Look, again: Look, ours: Look) -> Iterator[tuple[str, str, str]]:
    """Two files of which the other one is the older."""
    names = sorted(plain.times.keys() & again.times.keys() & ours.times.keys())[:MOST]
    by_age = sorted(names, key=lambda name: plain.times[name])
    for at, older in enumerate(by_age):
        for newer in by_age[at + 1 :]:
            gaps = [look.times[newer] - look.times[older] for look in (plain, again, ours)]
            if gaps[0] > CLEARLY and gaps[1] > CLEARLY and gaps[2] < 0:
                yield f"{older} is {-gaps[2] / 1e6:.0f} ms newer than {newer}", older, newer


def _said(name: str, plain: str, again: str, ours: str, *, failed: bool) -> Iterator[str]:
    """Lines too many and too few.  In which order they come is not promised; and after a failure
    there are lines of what was undone, too, and some come twice."""
    was, other, now = (_lines(said) for said in (plain, again, ours))
    missing = [line for line in was if line not in now]
    more = [line for line in now if line not in was]
    if was == other and (missing if failed else was != now):
        counts = "" if missing or more else f" ({len(now)} lines, should be {len(was)})"
        yield f"{name}: missing {missing[:5]}, too many {more[:5]}{counts}"


def _lines(said: str) -> list[str]:
    return sorted(line for line in said.split("\n") if line and not OURS.match(line))
