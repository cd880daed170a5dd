"""Run a build command in surroundings of its own, and see that nothing of it is left behind.

Every process of a run carries a mark in its environment, so that those which left the process group
are found as well.  Nothing is ended but what carries this run's mark.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

MARK = "XDG_PACKAGE_TEST_RUN"
"""One of those that differ from login to login: what earlier builds tell does not depend on it."""
BUILD_SECONDS = 900
LINGER_SECONDS = 2.0
"""How long a process that was told to go may take for it."""
GLANCE_SECONDS = 0.005
"""How often a build is looked at while something is expected of it."""
EPOCH = "1000000000"
"""The time that makefiles are told to write into their products instead of now."""
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Outcome:
    """How a command ended; `left` are processes and `litter` files that outlived it."""

    status: int
    seconds: float
    stdout: str
    stderr: str
    left: tuple[str, ...]
    litter: tuple[str, ...]

    @property
    def output(self) -> str:
        """Everything printed."""
        return self.stdout + self.stderr


class Run:
    """A command under way."""

    def __init__(
        self, command: Sequence[str], folder: Path, scratch: Path, more: Mapping[str, str]
    ) -> None:
        self.mark = uuid.uuid4().hex
        self.scratch = scratch
        self.started = time.monotonic()
        with (scratch / "stdout").open("wb") as out, (scratch / "stderr").open("wb") as err:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env={**_environment(scratch, self.mark), **more},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def glance(self) -> bool:
        """Let the build go on a little; True if it has ended meanwhile."""
        try:
            self.process.wait(GLANCE_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True

    def interrupt(self) -> None:
        """What Ctrl-C does."""
        os.killpg(self.process.pid, signal.SIGINT)

    def finish(self, limit: float = BUILD_SECONDS) -> Outcome:
        """Wait for the end."""
        status = self.process.wait(limit)
        seconds = time.monotonic() - self.started
        left = lingering(self.mark)
        return Outcome(
            status,
            seconds,
            _text(self.scratch / "stdout"),
            _text(self.scratch / "stderr"),
            tuple(_command_line(pid) for pid in left),
            tuple(_litter(self.scratch)),
        )

    def end(self) -> None:
        """End whatever still runs."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for pid in marked(self.mark):
            _kill(pid)


@contextmanager
def running(
    command: Sequence[str],
    folder: Path,
    more: Mapping[str, str] = NOTHING,
    lasting: Path | None = None,
) -> Iterator[Run]:
    """Start a command, with more variables if need be; it does not outlive the block.

    lasting: where its home is, of which XDG_STATE_HOME stays; else it has one for this once.
    """
    scratch = lasting or Path(tempfile.mkdtemp(prefix="pkg"))
    for name in ("home", "tmp", "run"):
        (scratch / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    run = Run(command, folder, scratch, more)
    try:
        yield run
    finally:
        run.end()
        gone = [scratch]
        if lasting:
            at_home = (scratch / "home").iterdir()
            gone = [scratch / "tmp", scratch / "run", *(p for p in at_home if p.name != "state")]
        for path in gone:
            shutil.rmtree(path, ignore_errors=True)


def build(
    command: Sequence[str],
    folder: Path,
    more: Mapping[str, str] = NOTHING,
    lasting: Path | None = None,
) -> Outcome:
    """Run a command to its end."""
    with running(command, folder, more, lasting) as run:
        return run.finish()


def _environment(scratch: Path, mark: str) -> dict[str, str]:
    """Little, and the same for every build: no MAKEFLAGS, no CFLAGS, no language."""
    home = str(scratch / "home")
    return {
        MARK: mark,
        "PATH": os.environ["PATH"],
        "LC_ALL": "C",
        "SOURCE_DATE_EPOCH": EPOCH,
        "GIT_CEILING_DIRECTORIES": "/",
        "HOME": home,
        "XDG_CACHE_HOME": f"{home}/cache",
        "SMPMAKE_OWN_POOL": "1",  # as if no other package were built beside it
        "XDG_CONFIG_HOME": f"{home}/config",
        "XDG_DATA_HOME": f"{home}/data",
        "XDG_STATE_HOME": f"{home}/state",
        "XDG_RUNTIME_DIR": str(scratch / "run"),
        "TMPDIR": str(scratch / "tmp"),
    }


def _litter(scratch: Path) -> Iterator[str]:
    """Files in the places that a command must leave empty."""
    for folder in ("tmp", "run"):
        yield from (path.relative_to(scratch).as_posix() for path in (scratch / folder).iterdir())


def lingering(mark: str) -> list[int]:
    """The run's processes that are still there after a moment of grace."""
    deadline = time.monotonic() + LINGER_SECONDS
    for pid in marked(mark):
        _wait_for_end(pid, deadline - time.monotonic())
    return marked(mark)


def marked(mark: str) -> list[int]:
    """All living processes that carry the mark."""
    sought = f"{MARK}={mark}".encode()
    return [pid for pid in _processes() if sought in _read(pid, "environ").split(b"\0")]


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _read(pid: int, what: str) -> bytes:
    """A file about a process; empty if the process has gone, is a zombie or is not ours."""
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""


def _command_line(pid: int) -> str:
    return _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()


def _wait_for_end(pid: int, seconds: float) -> None:
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        select.select([handle], [], [], max(seconds, 0))
    finally:
        os.close(handle)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _text(path: Path) -> str:
    return path.read_text(errors="replace")
