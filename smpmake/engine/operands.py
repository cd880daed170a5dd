"""What a command's operands are on this disk: canonical names, older copies, private texts."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import replace
from pathlib import Path

from smpmake.commands.model import Analysis, Kind, Write
from smpmake.disk.clock import FileClock
from smpmake.disk.include_path import could_hide, hides
from smpmake.disk.journal import Asides
from smpmake.disk.paths import Paths
from smpmake.engine.build import Build
from smpmake.engine.command import Place
from smpmake.schedule.hazards import Hazards, is_product
from smpmake.schedule.job import Operands


class OperandResolver:
    """One per engine.  `folder` is the session's: texts that commands need are kept there."""

    def __init__(self, folder: Path, hazards: Hazards, paths: Paths, asides: Asides) -> None:
        self._folder = folder / "kept"
        self._hazards = hazards
        self._paths = paths
        self._asides = asides
        self._clock = FileClock()
        self._count = 0

    def operands(
        self, cwd: str, analysis: Analysis, *, everything: bool, aside: bool
    ) -> tuple[Operands, list[Place]]:
        """Canonical operands, and where its writes go."""
        canonical = self._paths.canonical
        reads = []
        for path in analysis.reads:
            name = canonical(cwd, path)
            reads.append(name)
            if os.path.islink(name):
                reads.append(os.path.realpath(name))
        products = analysis.kind in (Kind.LINK, Kind.ARCHIVE) or all(
            is_product(write.path) or not write.header for write in analysis.writes
        )
        writes: list[str] = []
        changed: list[tuple[str, int]] = []
        places: list[Place] = []
        for write in analysis.writes:
            name = canonical(cwd, write.path)
            stale = ""
            info = None
            try:
                info = os.lstat(name)
            except OSError:
                if not products and self._hides(name):
                    changed.append((name, 0))
            else:
                is_file = stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)
                if is_file and not products and not is_product(name):
                    changed.append((name, info.st_ctime_ns))
                if stat.S_ISLNK(info.st_mode) and not write.removed:
                    writes.append(os.path.realpath(name))
                if aside and self._goes_aside(write, name, info):
                    stale = self._asides.set_aside(name)
            writes.append(name)
            places.append(Place(write, name, stale, info))
        operands = Operands(
            tuple(reads),
            tuple(writes),
            tuple(changed),
            analysis.undeclared,
            everything,
            products,
            tuple(canonical(cwd, name) for name in analysis.alone),
            (cwd, analysis.search) if analysis.search else None,
        )
        return operands, places

    def _hides(self, name: str) -> bool:
        return could_hide(name) and hides(name, self._hazards.searches())

    def _goes_aside(self, write: Write, name: str, info: os.stat_result) -> bool:
        if not write.target or write.in_place or write.removed or write.replaces:
            return False
        if not stat.S_ISREG(info.st_mode) and not stat.S_ISLNK(info.st_mode):
            return False
        return not self._hazards.is_written(name)

    def issue_time(self, places: list[Place], cwd: str) -> int:
        """The file system's time now."""
        folder = os.path.dirname(places[0].name) if places else cwd
        try:
            return self._clock.now(folder)
        except OSError:
            return time.time_ns()  # nothing can be written there: the tool will say so

    def share(self, build: Build, cwd: str, analysis: Analysis) -> Analysis:
        """Who comes first makes a shared file, who comes while it is in use only reads it.

        Who comes when nobody uses it makes it anew, if need be: something may have changed since.
        """
        if not any(write.shared for write in analysis.writes):
            return analysis
        kin = f"{build.headers} {analysis.kin}"
        reads, writes = list(analysis.reads), []
        for write in analysis.writes:
            name = self._paths.canonical(cwd, write.path) if write.shared else ""
            if name and build.shared.get(name) == kin and self._hazards.is_operand(name):
                reads.append(write.path)
                continue
            if name:
                build.shared[name] = kin
            writes.append(write)
        return replace(analysis, reads=tuple(reads), writes=tuple(writes))

    def keep(self, text: str) -> str:
        """A private file with that text."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._count += 1
        path = self._folder / f"{self._count}.lbc"  # with a suffix, or wlib would add its own
        path.write_bytes(text.encode(errors="surrogateescape"))
        return str(path)

    def close(self) -> None:
        """Gives descriptors back; the texts go with the session's folder."""
        self._clock.close()
