"""The serial builds that everything is measured by, kept from one test run to the next.

All builds of a package happen in one folder, because objects hold absolute paths.  The configured
tree (`pristine`) and the built one (`built`) are copied there as needed, times included.  What the
serial builds did is written once, under a key of everything it depends on.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .builds import Outcome, build
from .catalogue import Package
from .trees import Lens, Snapshot, changes, snapshot

FORMAT = 2
"""To be raised when baselines of before cannot be used any more."""
ERROR = "#error broken on purpose"


class SerialBuildError(Exception):
    """The package cannot be built here even without smpmake."""


@dataclass(frozen=True)
class Idle:
    """What make does where there is nothing to do: its answer to -q, and what it changes."""

    answer: int
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Baseline:
    """What the serial builds did.

    `twins` are the trees after two of them, `settled` the one after make ran once more on the
    first; `touched` the one rebuilt after the touch, `broken` the one left by the build with an
    error.
    """

    seconds: tuple[float, float]
    pristine: Snapshot
    twins: tuple[Snapshot, Snapshot]
    lines: dict[str, int]
    settled: Snapshot
    idle: Idle
    touched: Snapshot
    touched_changes: tuple[str, ...]
    touched_idle: Idle
    broken: Snapshot
    broken_changes: tuple[str, ...]

    @property
    def built(self) -> Snapshot:
        """The tree after the first serial build."""
        return self.twins[0]

    def as_json(self) -> dict[str, Any]:
        """For `from_json`."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("pristine", "settled", "touched", "broken"):
            data[name] = data[name].as_json()
        for name in ("idle", "touched_idle"):
            data[name] = asdict(data[name])
        data["twins"] = [twin.as_json() for twin in self.twins]
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Baseline:
        """The inverse of `as_json`."""
        one, other = (Snapshot.from_json(twin) for twin in data["twins"])
        return cls(
            seconds=(data["seconds"][0], data["seconds"][1]),
            pristine=Snapshot.from_json(data["pristine"]),
            twins=(one, other),
            lines=data["lines"],
            settled=Snapshot.from_json(data["settled"]),
            idle=_idle(data["idle"]),
            touched=Snapshot.from_json(data["touched"]),
            touched_changes=tuple(data["touched_changes"]),
            touched_idle=_idle(data["touched_idle"]),
            broken=Snapshot.from_json(data["broken"]),
            broken_changes=tuple(data["broken_changes"]),
        )


def _idle(data: dict[str, Any]) -> Idle:
    return Idle(data["answer"], tuple(data["changed"]))


class Workshop:
    """One package's build folder and what is done in it.

    Making one does the serial builds, unless their results are in the cache.
    """

    def __init__(self, package: Package, source: Path, cache: Path) -> None:
        self.package = package
        self.source = source
        self.folder = cache / "build" / package.name
        self.store = cache / "baselines" / f"{package.name}-{package.version}-{self._key()}"
        if not self.store.is_dir():
            self._make_baseline()
        text = (self.store / "baseline.json").read_text()
        self.baseline = Baseline.from_json(json.loads(text))

    @property
    def lens(self) -> Lens:
        """Shows what two serial builds agree on."""
        ignored = [excuse.pattern for excuse in self.package.ignored]
        return Lens.of([twin.entries for twin in self.baseline.twins], ignored)

    @property
    def warm(self) -> bool:
        """Whether builds with an error or an interruption start from the built tree."""
        return bool(self.package.warm)

    def restore(self, state: str) -> Snapshot:
        """Make the build folder a copy of the `pristine` or the `built` tree."""
        copy_tree(self.store / state, self.folder)
        return self.snapshot()

    def start_over(self) -> Snapshot:
        """Prepare a build of which much is to be done: from scratch, or with many touched."""
        if not self.warm:
            return self.restore("pristine")
        self.restore("built")
        self._touch_warm()
        return self.snapshot()

    def snapshot(self) -> Snapshot:
        """What the build folder holds now."""
        return snapshot(self.folder)

    def make(self, *options: str) -> Outcome:
        """The plain serial build."""
        return build([*self.package.make, *options], self.folder)

    def idle(self) -> Idle:
        """Ask plain make whether there is anything to do, and let it do that."""
        before = self.snapshot()
        answer = self.make("-q").status
        self._made()
        return Idle(answer, tuple(sorted(changes(before, self.snapshot()))))

    def touch(self) -> None:
        """Give the source that is to be touched the present time."""
        os.utime(self.folder / self.package.touch)

    def break_source(self) -> None:
        """Add an error at the end of the source that is to be broken."""
        with self._fault().open("a") as handle:
            handle.write(f"\n{ERROR}\n")

    def mend_source(self) -> None:
        """Take the error away again; the source is then newer than everything."""
        original = (self.store / "pristine" / self.package.fault.source).read_bytes()
        self._fault().write_bytes(original)

    def witnessed(self, before: Snapshot) -> bool:
        """Whether the build that started from `before` is in full swing."""
        witness = self.package.witness
        new = 0
        for path in self.folder.glob(witness.pattern):
            new += _time(path) not in {None, before.times.get(str(path.relative_to(self.folder)))}
        return new >= witness.count

    def _fault(self) -> Path:
        return self.folder / self.package.fault.source

    def _touch_warm(self) -> None:
        for pattern in self.package.warm:
            for path in sorted(self.folder.glob(pattern)):
                os.utime(path)

    def _key(self) -> str:
        tools = [(shutil.which(tool), _version(tool)) for tool in ("gcc", "make", "ld", "ar")]
        package = sorted(asdict(self.package).items())
        text = json.dumps([FORMAT, package, tools, str(self.folder), os.environ["PATH"]])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def _make_baseline(self) -> None:
        """Do all serial builds in a store of a passing name, which is renamed when complete."""
        final = self.store
        final.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=final.parent) as scratch:
            self.store = Path(scratch) / "store"
            self.store.mkdir()
            try:
                self._configure()
                data = self._serial_builds().as_json()
                (self.store / "baseline.json").write_text(json.dumps(data))
                self._forget_older()
                self.store.rename(final)
            finally:
                self.store = final

    def _forget_older(self) -> None:
        """Remove the baselines of other compilers and catalogues: they are large."""
        for path in (self.folder.parent.parent / "baselines").glob(f"{self.package.name}-*"):
            shutil.rmtree(path)

    def _configure(self) -> None:
        copy_tree(self.source, self.folder)
        for command in self.package.configure:
            _succeeded(command, build(command, self.folder))
        copy_tree(self.folder, self.store / "pristine")

    def _serial_builds(self) -> Baseline:
        pristine = self.restore("pristine")
        first = self._made()
        one = self.snapshot()
        copy_tree(self.folder, self.store / "built")
        idle = self.idle()
        settled = self.snapshot()
        self.restore("pristine")
        second = self._made()
        other = self.snapshot()
        touched, touched_changes = self._touched()
        touched_idle = self.idle()
        broken, broken_changes = self._broken()
        return Baseline(
            seconds=(first.seconds, second.seconds),
            pristine=pristine,
            twins=(one, other),
            lines=lines(first) & lines(second),
            settled=settled,
            idle=idle,
            touched=touched,
            touched_changes=touched_changes,
            touched_idle=touched_idle,
            broken=broken,
            broken_changes=broken_changes,
        )

    def _touched(self) -> tuple[Snapshot, tuple[str, ...]]:
        before = self.restore("built")
        self.touch()
        self._made()
        after = self.snapshot()
        return after, tuple(sorted(changes(before, after)))

    def _broken(self) -> tuple[Snapshot, tuple[str, ...]]:
        before = self.start_over()
        self.break_source()
        if self.make().status == 0:
            raise SerialBuildError(f"{self.package.fault.source}: an error in it does no harm")
        after = self.snapshot()
        return after, tuple(sorted(changes(before, after)))

    def _made(self) -> Outcome:
        return _succeeded(self.package.make, self.make())


def lines(outcome: Outcome) -> Counter[str]:
    """How often each line was printed."""
    return Counter(outcome.output.splitlines())


def _succeeded(command: Sequence[str], outcome: Outcome) -> Outcome:
    if outcome.status != 0:
        last = "\n".join(outcome.output.splitlines()[-15:])
        raise SerialBuildError(f"{' '.join(command)}: status {outcome.status}\n{last}")
    return outcome


def copy_tree(source: Path, target: Path) -> None:
    """Make the target an exact copy, times and links included."""
    if target.exists():
        shutil.rmtree(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True)


def _time(path: Path) -> int | None:
    try:
        return path.lstat().st_mtime_ns
    except FileNotFoundError:
        return None


def _version(tool: str) -> str:
    done = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.partition("\n")[0]
