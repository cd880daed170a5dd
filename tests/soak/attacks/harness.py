"""Runs a case plainly, plainly again and under smpmake, in one path, and says what differs."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from tests.packages import builds
from tests.soak.attacks.case import MAKE, NOTHING, SMPMAKE, Case, Command, Step
from tests.soak.attacks.tree import Look, differences, entries
from tests.support import space
from tests.support.findings import DifferenceError
from tests.support.space import Space

#: Two tools that take their time, under smpmake alone if nobody says how much: `pause`, and a
#: compiler, `sleeper -o OUT [SECONDS]`.
TOOLS = {
    "pause": """#!/bin/sh
exec sleep "$(cat {seconds})"
""",
    "sleeper": """#!/bin/sh
sleep "${{3-$(cat {seconds})}}"
echo slept > "$2"
""",
}
#: smpmake's settings, which say what a sleeper does.
SETTINGS = '[tools.sleeper]\nkind = "compile"\noutput = ["-o"]\nheaders = false\n'
PAUSE = 0.5
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: How long smpmake's own helpers may take to be gone.
PATIENCE = 20.0
KINDS = ("plain", "again", "smpmake")
#: How a Python begins to say that it has failed.
FAULT = "Traceback"
SHOWN = 1500


class StoppedError(Exception):
    """Nobody wants to know any more."""


class Attack:
    """One case, in a folder of its own, `root`, which is left only if something is found."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.root = Path(tempfile.mkdtemp(prefix=f"soak-{case.name}-"))
        self._space = Space(self.root)
        self._space.folder.rmdir()
        self._mark = uuid.uuid4().hex
        self._stopped = threading.Event()
        tools = self.root / "tools"
        tools.mkdir()
        self._seconds = tools / "seconds"
        for name, lines in TOOLS.items():
            tool = tools / name
            tool.write_text(lines.format(seconds=shlex.quote(str(self._seconds))))
            tool.chmod(0o755)
        self._environment = {
            **{name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
            "PATH": f"{tools}:{PATH}:{os.environ['PATH']}",
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self._space.temporary),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "LC_ALL": "C",
            "TERM": "dumb",
            "TZ": "UTC",
            builds.MARK: self._mark,
        }

    # ------------------------------------------------------------------ the case

    def run(self) -> None:
        """Raises DifferenceError, AssertionError for a loss, StoppedError."""
        looks: dict[str, list[Look]] = {}
        whole = False
        try:
            for kind in KINDS:
                looks[kind] = list(self._built(kind))
            self._judge(looks)
            self._expect_clean()
            whole = True
        except AssertionError as error:
            error.args = (f"{self.case.name}: {error}\n  kept: {self.root}",)
            raise
        finally:
            self._end_all()
            self._space.close()
            if whole or self._stopped.is_set():
                self._remove(self.root)

    def stop(self) -> None:
        """Ends it soon; for another thread."""
        self._stopped.set()
        self._end_all()

    def _judge(self, looks: dict[str, list[Look]]) -> None:
        found: list[str] = []
        said: list[str] = []
        case = self.case
        steps = [*case.steps, Step()]  # and what comes after them
        for at, (plain, again, ours) in enumerate(zip(*looks.values(), strict=True)):
            where = f"build {at + 1}" if at < len(case.steps) else "afterwards"
            assert ours.stderr.count(FAULT) <= plain.stderr.count(FAULT), f"{where}: {_short(ours)}"
            if not steps[at].compared:
                continue
            lines = differences(
                plain, again, ours, case.differs, case.ignored, ordered=case.ordered
            )
            found += [f"  {where}: {line}" for line in lines]
            said += [f"  {where} said: {_short(ours)}"] if lines else []
        if found:
            count = f"{len(found)} difference{'s' if len(found) > 1 else ''}"
            raise DifferenceError("\n".join([count, *found[:14], *said]))

    def _built(self, kind: str) -> Iterator[Look]:
        """A look after each build."""
        self._lay_out(kind)
        top = self.root / "t"
        folder = top / self.case.below
        for step in self.case.steps:
            if step.edit:
                self._run(step.edit, folder)
            yield self._looked(self._command(step, kind), folder)
        after = self.case.after
        if after is None:
            after = MAKE if (folder / "Makefile").exists() else NOTHING
        if after:
            yield self._looked(after, folder)

    def _lay_out(self, kind: str) -> None:
        """Everything as it was before the first build, in the same place."""
        for name in ("t", "home", "cache"):
            self._remove(self.root / name)
        (self.root / "home").mkdir()
        self._seconds.write_text(str(PAUSE if kind == "smpmake" else 0.01))
        settings = self.root / "home" / ".config" / "smpmake" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(SETTINGS)
        if self.case.cold:
            self._space.forget_programs()
        else:
            self._space.know_compilers()
        top = self.root / "t"
        top.mkdir()
        for name, content in self.case.files.items():
            path = top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        if self.case.before:
            self._run(self.case.before, top)

    def _command(self, step: Step, kind: str) -> Command:
        options = self.case.options if step.options is None else step.options
        ours = (space.SMPMAKE, "-q", *options, "--") if kind == "smpmake" else ()
        if isinstance(step.command, str):
            return step.command.replace(SMPMAKE, shlex.join(ours))
        return (*ours, *step.command)

    def _looked(self, command: Command, folder: Path) -> Look:
        status, out, err = self._run(command, folder)
        if self.case.settle:
            self._stopped.wait(self.case.settle)
        found, times = entries(self.root / "t")
        return Look(status, found, times, out, err)

    # ------------------------------------------------------------------ processes

    def _run(self, command: Command, folder: Path) -> tuple[int, str, str]:
        """A command, to its own end; what it leaves running goes on."""
        if self._stopped.is_set():
            raise StoppedError
        words = ("bash", "-c", command) if isinstance(command, str) else command
        around = {**self._environment, **self.case.environment}
        out, err = self.root / "out", self.root / "err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                words,
                cwd=folder,
                env=around,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        if self._stopped.is_set():  # meanwhile
            self._end_all()
        try:
            status = process.wait(self.case.seconds)
        except subprocess.TimeoutExpired:
            witness = _witness(process.pid)
            raise AssertionError(f"hangs: {shlex.join(words)}\n{witness}") from None
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if self._stopped.is_set():
            raise StoppedError
        return status, out.read_text(errors="replace"), err.read_text(errors="replace")

    def _end_all(self) -> None:
        """Ends what the case has left running: it has our mark, or is in our folder."""
        for pid in {*builds.marked(self._mark), *_inside(self.root)}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _expect_clean(self) -> None:
        """Nothing of smpmake's is left; its helpers may still be about to go."""
        deadline = time.monotonic() + PATIENCE
        while left := [p.name for p in self._space.temporary.iterdir() if "smpmake" in p.name]:
            assert time.monotonic() < deadline, f"left behind: {left}"
            self._stopped.wait(0.05)

    def _remove(self, path: Path) -> None:
        """A folder, with what somebody has mounted there."""
        self._end_all()
        mounts = Path("/proc/self/mounts").read_text().splitlines()
        for mount in reversed([line.split()[1] for line in mounts]):
            if mount.startswith(f"{path}/"):
                subprocess.run(["umount", "-l", mount], check=False, capture_output=True)
        if path.exists():
            # rm goes deeper than Python does, and here some go deeper than a path can be long.
            subprocess.run(["rm", "-rf", path], check=False, capture_output=True)
        assert not path.exists(), f"cannot be removed: {path}"


def _inside(folder: Path) -> Iterator[int]:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            at = os.readlink(f"/proc/{process.pid}/cwd").removesuffix(" (deleted)")
            if f"{at}/".startswith(f"{folder}/"):
                yield process.pid


def _witness(pid: int) -> str:
    """What a command and its descendants hang in."""
    lines = []
    with contextlib.suppress(psutil.Error):
        top = psutil.Process(pid)
        for each in (top, *top.children(recursive=True)):
            with contextlib.suppress(psutil.Error, OSError):
                wait = Path(f"/proc/{each.pid}/wchan").read_text()
                lines.append(f"{each.pid} in {wait}: {shlex.join(each.cmdline())[:200]}")
    return "\n".join(lines)


def _short(look: Look) -> str:
    said = f"{look.stdout[-SHOWN // 3 :]}{look.stderr[-SHOWN:]}"
    return said.strip().replace("\n", "\n    | ")


def attack(cases: Sequence[Case]) -> None:
    """Some cases, one after the other: for tests."""
    for case in cases:
        Attack(case).run()
