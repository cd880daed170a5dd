"""A shim with a store of results, without a server: commands through it, beside the plain ones."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from smpmake import native, variables
from smpmake.disk.clock import FileClock
from smpmake.guard.scoreboard import Scoreboard
from smpmake.session import memo

#: Past this a file is no longer young for smpmake (MEMO_TICK), ns.
_YOUNG: Final = 20_000_000
_WORD: Final = 1 << 64


class Ran(NamedTuple):
    """How a command ended."""

    status: int
    out: bytes
    err: bytes


def settle(folder: Path) -> None:
    """Comes back when no file that is there now is young any more, by the file system's clock."""
    clock = FileClock()
    end = clock.now(os.fspath(folder)) + _YOUNG
    while clock.now(os.fspath(folder)) < end:
        pass
    clock.close()


class Remembered:
    """`folder` is where commands run; `store` is what they share."""

    def __init__(self, root: Path, store: Path | None = None, mode: str = "on") -> None:
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
            variables.MEMO: f"{mode}:{time.time_ns()}:tests:{self.store}",
            variables.MEMORUN: native.program("memo"),
        }

    def close(self) -> None:
        """The session is over."""
        self._board.close()

    def environment(self, given: dict[str, str], *, through_shims: bool) -> dict[str, str]:
        """What a command gets."""
        found = {**self.plain, **given}
        if through_shims:
            found.update(self._ours)
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
    """What an entry has as its sum (memo_sum)."""
    value = len(data) * 0x9E3779B97F4A7C15 % _WORD
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        value = (value ^ int.from_bytes(data[at : at + 8], "little")) * 0xFF51AFD7ED558CCD % _WORD
        value ^= value >> 32
    for byte in data[whole:]:
        value = (value ^ byte) * 0x100000001B3 % _WORD
    return value


_HEAD = 8 + 32
SUM = slice(_HEAD + 16, _HEAD + 24)
STATUS = slice(_HEAD + 12, _HEAD + 16)
BOOT = slice(_HEAD + 24, _HEAD + 40)


def forge(entry: Path, where: slice, value: bytes) -> None:
    """Changes a field of a question's one entry, and makes its sum right."""
    data = bytearray(entry.read_bytes())
    data[where] = value
    data[SUM] = total(bytes(data[SUM.stop :])).to_bytes(8, "little")
    entry.write_bytes(data)
