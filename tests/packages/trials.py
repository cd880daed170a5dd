"""A project put through the same steps serially and under smpmake.

All happens in one folder, because products hold absolute paths.  The serial trials are kept from
one run to the next, under a key of everything that they depend on.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import fetch
from .builds import Outcome, build
from .project import Project
from .sources import DATA, fetched, lay_out
from .trees import Snapshot, age, changes, snapshot
from .workshop import SerialBuildError, copy_tree

FORMAT = 3
"""To be raised when kept trials cannot be used any more."""
LAST_LINES = 15
PYTHON = str(Path(sys.executable).with_name("python3"))
"""By one name, however it was called."""
COUNTS = re.compile(r"(\d+) in parallel, (\d+) in place")


@dataclass(frozen=True)
class Step:
    """One build: by the plain driver always, or under smpmake in smpmake's trial."""

    name: str
    meaning: str
    plain: bool = False
    touch: bool = False


STEPS = (
    Step("cold", "from nothing"),
    Step("idle", "the plain driver on top of it", plain=True),
    Step("again", "once more, with nothing to do"),
    Step("touched", "after a source was touched", touch=True),
    Step("settled", "the plain driver on top of that", plain=True),
)


def steps_of(project: Project) -> tuple[Step, ...]:
    """What is done with a project."""
    return tuple(s for s in STEPS if not project.anew or s.name in ("cold", "touched"))


@dataclass(frozen=True)
class Result:
    """What one step did; `changed` are paths, `left` processes, `litter` temporary files."""

    status: int
    seconds: float
    tree: Snapshot
    changed: frozenset[str]
    left: tuple[str, ...]
    litter: tuple[str, ...]
    said: str

    @property
    def counts(self) -> tuple[int, int] | None:
        """Commands deferred and in the foreground, where the output gives them."""
        found = COUNTS.findall(self.said)
        if not found:
            return None
        return sum(int(one) for one, _ in found), sum(int(other) for _, other in found)

    def as_json(self) -> dict[str, Any]:
        """For `from_json`; without the output."""
        data = {name: getattr(self, name) for name in ("status", "seconds", "left", "litter")}
        return data | {"tree": self.tree.as_json(), "changed": sorted(self.changed)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Result:
        """The inverse of `as_json`."""
        return cls(
            data["status"],
            data["seconds"],
            Snapshot.from_json(data["tree"]),
            frozenset(data["changed"]),
            tuple(data["left"]),
            tuple(data["litter"]),
            "",
        )


Trial = tuple[Result, ...]
"""The result of each step."""


@dataclass(frozen=True)
class Timing:
    """How the driver's own parallel build went."""

    status: int
    seconds: float


class Stand:
    """Where one project is built; for one user at a time, see `stand`."""

    def __init__(self, project: Project, source: Path | None, cache: Path) -> None:
        self.project = project
        self.cache = cache
        self.home = cache / "corpus" / project.name
        self.folder = self.home / "tree"
        self._source = source
        self._user = self.home / "user"
        self._pristine = self.home / "pristine"
        self._record = self.home / f"serial-{self._key()}.json"

    def serial(self, count: int = 1, fresh: bool = False) -> tuple[Trial, ...]:
        """Serial trials, at least so many: those that are kept, and new ones for the rest."""
        if fresh or not self._record.exists() or not self._pristine.is_dir():
            self._prepare()
            self._keep([])
        kept = json.loads(self._record.read_text())
        while len(kept) < count:
            kept.append([result.as_json() for result in self.trial(())])
            self._keep(kept)
        return tuple(tuple(map(Result.from_json, trial)) for trial in kept)

    def _keep(self, trials: list[list[dict[str, Any]]]) -> None:
        temporary = self._record.with_suffix(".new")
        temporary.write_text(json.dumps(trials))
        temporary.rename(self._record)

    def lay_out(self) -> None:
        """The folder as it is before a build."""
        copy_tree(self._pristine, self.folder)

    def trial(self, before: Sequence[str]) -> Trial:
        """All steps, with these words before the driver where a step is not for the plain one.

        Without such words the builds are serial, and must succeed.
        """
        if before:
            self.serial()  # of the same preparation: what is kept may be of another
        self.lay_out()
        results = []
        tree = snapshot(self.folder)
        for step in steps_of(self.project):
            if step.touch:
                age(self.folder, 2)
                os.utime(self.folder / self.project.touch)
                tree = snapshot(self.folder)
            outcomes = list(self._commands(() if step.plain else before))
            if not before:
                _all_succeeded(outcomes)
            after = snapshot(self.folder)
            results.append(_result(outcomes, after, frozenset(changes(tree, after))))
            tree = after
        return tuple(results)

    def in_parallel(self) -> Timing | None:
        """From nothing with the driver's own means, if it has such."""
        if not self.project.parallel:
            return None
        self.lay_out()
        outcomes = list(self._commands((), self.project.parallel))
        return Timing(outcomes[-1].status, sum(outcome.seconds for outcome in outcomes))

    def _commands(self, before: Sequence[str], last: Sequence[str] = ()) -> Iterator[Outcome]:
        """The build's commands, up to one that fails."""
        for command in self.project.build:
            more = last if command is self.project.build[-1] else ()
            outcome = self.run([*before, *command, *more])
            yield outcome
            if outcome.status != 0:
                return

    def run(self, command: Sequence[str]) -> Outcome:
        """One command in the folder; what stands for folders in its words is filled in."""
        more = {name: self._filled(value) for name, value in self.project.environment}
        return build([self._filled(word) for word in command], self.folder, more, self._user)

    def forget(self) -> None:
        """From now on builds know nothing of those before."""
        shutil.rmtree(self._user, ignore_errors=True)

    def _filled(self, text: str) -> str:
        values = {"folder": str(self.folder), "cache": str(self.cache), "python": PYTHON}
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def _prepare(self) -> None:
        for old in self.home.glob("serial-*.json"):
            old.unlink()
        lay_out(self.project, self._source, self.folder)
        _all_succeeded([self.run(command) for command in self.project.prepare])
        copy_tree(self.folder, self._pristine)

    def _key(self) -> str:
        data = DATA / self.project.data
        files = sorted(data.iterdir()) if self.project.data else []
        parts = [
            FORMAT,
            sorted(asdict(self.project).items()),
            [(path.name, path.read_text()) for path in files],
            [_version(tool) for tool, _ in self.project.tools if not tool.startswith("/")],
            [asdict(step) for step in steps_of(self.project)],
            str(self.folder),
            PYTHON,
            os.environ["PATH"],  # configure writes it down
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


@contextmanager
def stand(project: Project) -> Iterator[Stand]:
    """A project's place with its source at hand; UnavailableError if that cannot be."""
    cache = fetch.cache_folder()
    missing = fetch.missing_tools([project])
    if missing:
        raise fetch.UnavailableError(
            f"not installed: {' '.join(missing)} (scripts/fetch-packages, as root, does)"
        )
    source = fetched(project, cache)
    with fetch.locked(cache, f"corpus-{project.name}"):
        yield Stand(project, source, cache)


def _result(outcomes: Sequence[Outcome], tree: Snapshot, changed: frozenset[str]) -> Result:
    return Result(
        outcomes[-1].status,
        sum(outcome.seconds for outcome in outcomes),
        tree,
        changed,
        tuple(line for outcome in outcomes for line in outcome.left),
        tuple(line for outcome in outcomes for line in outcome.litter),
        "\n".join(outcome.output for outcome in outcomes),
    )


def _all_succeeded(outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.status != 0:
            last = "\n".join(outcome.output.splitlines()[-LAST_LINES:])
            raise SerialBuildError(f"without smpmake: status {outcome.status}\n{last}")


def _version(tool: str) -> str:
    """Which one it is: its path and when it was installed."""
    path = shutil.which(tool)
    return f"{path} {os.stat(path).st_mtime_ns}" if path else ""
