"""A shim with a store of results, without a server: commands through it, beside the plain ones."""

from __future__ import annotations

import operator
import os
import resource
import shutil
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from smpmake import native, variables
from smpmake.disk.clock import FileClock
from smpmake.guard.scoreboard import Scoreboard
from smpmake.session import memo
from tests.support.space import Space

#: Past this a file is no longer young for smpmake (MEMO_TICK), ns.
_YOUNG: Final = 20_000_000
#: What a store may take.
MOST_BYTES: Final = 5 << 30
_WORD: Final = 1 << 64


#: From glibc 2.41 on every process draws random numbers; only a guard knows what for.
NEEDS_A_GUARD: Final = [
    int(number) for number in (os.confstr("CS_GNU_LIBC_VERSION") or "").split()[-1].split(".")
] >= [2, 41]


class Ran(NamedTuple):
    """How a command ended."""

    status: int
    out: bytes
    err: bytes


def counts(space: Space) -> dict[str, Any]:
    """What the commands of a space's last build have told."""
    store = Path(space.environment["XDG_CACHE_HOME"], "smpmake", "memo")
    found = memo.counts_of(store)["last"]
    assert isinstance(found, dict)
    return found


def forget_all_but_checks(store: Path) -> None:
    """Leaves the lists of configure's checks."""
    for kind in "qc":
        shutil.rmtree(store / kind, ignore_errors=True)
    for path in (store / "s").iterdir():
        if not path.name.startswith("checks-"):
            path.unlink()


def settle(folder: Path) -> None:
    """Comes back when no file that is there now is young any more, by the file system's clock."""
    clock = FileClock()
    end = clock.now(os.fspath(folder)) + _YOUNG
    while clock.now(os.fspath(folder)) < end:
        pass
    clock.close()


class Remembered:
    """`folder` is where commands run; `store` is what they share; `guarded`: with our library."""

    def __init__(
        self,
        root: Path,
        store: Path | None = None,
        mode: str = "on",
        *,
        guarded: bool = NEEDS_A_GUARD,
    ) -> None:
        self.root = root
        self.folder = root / "build"
        self.store = store or root / "store"
        self.session = root / "session"
        for each in (self.folder, self.session):
            each.mkdir(parents=True)
        self.store.mkdir(mode=0o700, exist_ok=True)
        (self.session / memo.TOLD).touch()
        self._board = Scoreboard(self.session / "board")
        shims = root / "shims"
        shims.mkdir()
        for name in ("gcc", "g++", "cc", "ld", "as", "ar", "clang"):
            (shims / name).symlink_to(native.program("shim"))
        self._shims = os.fspath(shims)
        self.plain = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("SMPMAKE_", "_SMPMAKE_"))},
            "LC_ALL": "C",
        }
        self._ours = {
            variables.SOCKET: f"{self.session}/socket",
            variables.BOARD: f"{self.session}/board",
            variables.BUILD: "main",
            variables.MEMO: f"{mode}:{time.time_ns()}:60000000000:{MOST_BYTES}:tests:{self.store}",
            variables.MEMORUN: native.program("memo"),
        }
        if guarded:
            self._ours |= {
                variables.GUARD: native.guard(),
                variables.SHIMS: self._shims,
                "LD_PRELOAD": native.guard(),
            }

    def close(self) -> None:
        """The session is over."""
        self._board.close()

    def environment(self, given: dict[str, str], *, through_shims: bool) -> dict[str, str]:
        """What a command gets."""
        found = {**self.plain, **given}
        if through_shims:
            others = found.get("LD_PRELOAD")
            found.update(self._ours)
            if others is not None:
                found["LD_PRELOAD"] = ":".join(filter(None, [self._ours.get("LD_PRELOAD"), others]))
            found["PATH"] = f"{self._shims}:{found['PATH']}"
        return found

    def run(self, *command: str, through_shims: bool = True, **more: Any) -> Ran:
        """Runs a command to its end, in `folder` if nothing else is said."""
        environment = self.environment(more.pop("env", {}), through_shims=through_shims)
        more = {"cwd": self.folder, "stdin": subprocess.DEVNULL, **more}
        done = subprocess.run(
            command, env=environment, capture_output=True, check=False, timeout=60, **more
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def start(self, *command: str, **more: Any) -> subprocess.Popen[bytes]:
        """Starts one through the shims."""
        environment = self.environment(more.pop("env", {}), through_shims=True)
        more = {"cwd": self.folder, "stdin": subprocess.DEVNULL, **more}
        return subprocess.Popen(command, env=environment, **more)

    @property
    def told(self) -> memo.Told:
        """What shims have said so far."""
        return memo.told_in(self.session)

    def tree(self) -> dict[str, str | bytes]:
        """Files with their modes and contents; links and folders."""
        found: dict[str, str | bytes] = {}
        for path in sorted(self.folder.rglob("*")):
            name = os.fspath(path.relative_to(self.folder))
            if path.is_symlink():
                found[name] = f"-> {os.readlink(path)}"
            elif path.is_file():
                found[name] = f"{path.stat().st_mode:o} ".encode() + path.read_bytes()
            else:
                found[name] = "no file"
        return found

    def clear(self) -> None:
        """Empties the folder."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def entries(self) -> list[Path]:
        """The files of questions."""
        return [path for path in (self.store / "q").rglob("*") if path.is_file()]


def with_limit(which: int, soft: int) -> Callable[[], None]:
    """For `preexec_fn`."""
    return lambda: resource.setrlimit(which, (soft, resource.getrlimit(which)[1]))


def total(data: bytes) -> int:
    """What an entry has as its sum (quick_sum)."""
    value = len(data) * 0x9E3779B97F4A7C15 % _WORD
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        value = (value ^ int.from_bytes(data[at : at + 8], "little")) * 0xFF51AFD7ED558CCD % _WORD
        value ^= value >> 32
    for byte in data[whole:]:
        value = (value ^ byte) * 0x100000001B3 % _WORD
    return value


_HEAD = 8 + 32
SIZE = slice(_HEAD, _HEAD + 4)
FACTS = slice(_HEAD + 4, _HEAD + 8)
_FACTS: Final = _HEAD + 48
SUM = slice(_HEAD + 16, _HEAD + 24)
STATUS = slice(_HEAD + 12, _HEAD + 16)
BOOT = slice(_HEAD + 24, _HEAD + 40)

#: The checks of a script like configure: two that succeed, and one that fails.
CONFIGURE_BEGIN: Final = """#!/bin/sh
exec < /dev/null 5> config.log
check() { echo "$1" > conftest.c; shift; "$@" >&5 2>&1; echo "$*: $?" >> config.h; }
check 'int main(void) { return 0; }' gcc -c conftest.c
check 'int main(void) { return 0; }' gcc -o conftest conftest.c
./conftest; echo "runs: $?" >> config.h
check 'int main(void) { return oops; }' gcc -c conftest.c
"""


def seal(data: bytearray) -> None:
    """Makes the sum of a question's one entry right (memo_check_of)."""
    parts = (data[_HEAD : SUM.start], data[SUM.stop :])
    data[SUM] = operator.xor(*(total(bytes(part)) for part in parts)).to_bytes(8, "little")


def forge(entry: Path, where: slice, value: bytes) -> None:
    """Changes a field of a question's one entry, and makes its sum right."""
    data = bytearray(entry.read_bytes())
    data[where] = value
    seal(data)
    entry.write_bytes(data)


def forget_facts(entry: Path, kept: int = 1) -> None:
    """Takes what its command was seen to find out of a question's one entry, but for `kept`."""
    data = entry.read_bytes()
    ends = [_FACTS]
    for _ in range(int.from_bytes(data[FACTS], "little")):
        ends.append(ends[-1] + int.from_bytes(data[ends[-1] : ends[-1] + 4], "little"))
    size = ends[-1] - ends[kept]
    entry.write_bytes(data[: ends[kept]] + data[ends[-1] :])
    forge(entry, SIZE, (len(data) - size - _HEAD).to_bytes(4, "little"))
    forge(entry, FACTS, kept.to_bytes(4, "little"))


#: Kinds of facts (enum memo_kind).
IS_ABSENT: Final = 1
IS_VARIABLE: Final = 8


class Fact(NamedTuple):
    """What a command was seen to find (struct memo_fact)."""

    kind: int
    flags: int
    path: str
    target: str
    mode: int
    more: int
    stamp: tuple[int, ...]
    hash: bytes


_FACT: Final = struct.Struct("<IHHIIQ5Q32sII")


def facts_of(entry: Path) -> tuple[set[Fact], set[frozenset[str]]]:
    """Those of a question's newest entry, and which paths led to one file or folder."""
    data = entry.read_bytes()
    at = _FACTS
    found: set[Fact] = set()
    groups: dict[int, set[str]] = {}
    for _ in range(int.from_bytes(data[FACTS], "little")):
        size, kind, flags, group, mode, more, *rest = _FACT.unpack_from(data, at)
        stamp, (digest, length, _) = tuple(rest[:5]), rest[5:]
        texts = data[at + _FACT.size : at + size]
        target = texts[length:].split(b"\0")[0]
        path = os.fsdecode(texts[: length - 1])
        found.add(Fact(kind, flags, path, os.fsdecode(target), mode, more, stamp, digest))
        groups.setdefault(group, set()).add(path)
        at += size
    return found, {frozenset(paths) for group, paths in groups.items() if group}
