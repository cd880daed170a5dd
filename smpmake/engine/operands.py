"""What a command's operands are on this disk, and what a make is told of its outputs.

Canonical names, older copies, which file is which; mode and time of what is pending.
"""

from __future__ import annotations

import os
import stat

from smpmake.commands.model import Analysis, Kind
from smpmake.disk.disk import Disk
from smpmake.engine.build import Build
from smpmake.engine.command import Command, OutputFile
from smpmake.guard.files import File, file_of
from smpmake.guard.pending import Pending, Promise
from smpmake.schedule.hazards import Hazards
from smpmake.schedule.job import Job, Operands


class OperandResolver:
    """One per engine."""

    def __init__(self, hazards: Hazards, pending: Pending, disk: Disk) -> None:
        self._hazards = hazards
        self._pending = pending
        self._disk = disk
        self._paths = disk.paths

    def resolve_operands(
        self,
        cwd: str,
        analysis: Analysis,
        *,
        everything: bool,
        places: tuple[str, str] = ("", ""),
    ) -> tuple[Operands, list[OutputFile], dict[str, File]]:
        """An analysis on this disk: operands, where the writes go, and which file each name was.

        places      where the command works, and where its temporary files go, if that matters.
        everything  the command may touch anything.
        """
        files: dict[str, File] = {}
        reads = self._reads(cwd, analysis, files)
        writes: list[str] = []
        changed: list[tuple[str, int]] = []
        outputs: list[OutputFile] = []
        for write in analysis.writes:
            name = self._paths.canonical(cwd, write.path)
            behind = ""
            info = None
            try:
                info = os.lstat(name)
            except (OSError, ValueError):
                changed.append((name, 0))
            else:
                files[name] = info.st_dev, info.st_ino
                is_file = stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)
                if is_file:
                    changed.append((name, info.st_ctime_ns))
                if stat.S_ISLNK(info.st_mode) and not write.removed:
                    behind = _follow(name, files)
                    writes.append(behind)
            writes.append(name)
            outputs.append(OutputFile(write, name, before=info, behind=behind))
        operands = Operands(
            tuple(reads),
            tuple(writes),
            tuple(changed),
            analysis.undeclared,
            everything,
            analysis.compiles,
            analysis.makes_objects,
            tuple(self._paths.canonical(cwd, name) for name in analysis.alone),
            (cwd, analysis.search) if analysis.search else None,
            self._through(cwd, analysis),
            *places,
            headers=not analysis.checked,
        )
        return operands, outputs, files

    def inputs_of(self, cwd: str, analysis: Analysis, operands: Operands) -> tuple[str, ...]:
        """What is to be known of a command's inputs: what its links lead to belongs to them."""
        targets = (write.same_as for write in analysis.writes if write.symbolic)
        names = (self._paths.canonical(cwd, path) for path in targets if path)
        return tuple(dict.fromkeys((*operands.reads, *names)))

    def _reads(self, cwd: str, analysis: Analysis, files: dict[str, File]) -> list[str]:
        """The names that are read; of a symbolic link the one that it leads to, too."""
        reads = []
        for path in analysis.reads:
            name = self._paths.canonical(cwd, path)
            reads.append(name)
            try:
                info = os.lstat(name)
            except (OSError, ValueError):  # not there, or no name that could be
                continue
            files[name] = info.st_dev, info.st_ino
            if stat.S_ISLNK(info.st_mode):
                reads.append(_follow(name, files))
        return reads

    def _through(self, cwd: str, analysis: Analysis) -> tuple[str, ...]:
        """The links to folders that lie on the way to an operand."""
        paths = (*analysis.reads, *(write.path for write in analysis.writes))
        folders = dict.fromkeys(map(os.path.dirname, paths))
        links = (link for folder in folders if folder for link in self._paths.links(cwd, folder))
        return tuple(dict.fromkeys(links))

    def issue_time(self, outputs: list[OutputFile], cwd: str) -> int:
        """The file system's time now, ns."""
        return self._disk.time_in(os.path.dirname(outputs[0].name) if outputs else cwd)

    def output_time(self, issued_ns: int) -> int:
        """The time that the outputs of a command get, ns (see Disk)."""
        return self._disk.output_time(issued_ns)

    def share_outputs(self, build: Build, cwd: str, analysis: Analysis) -> Analysis:
        """Who comes first makes a shared file, who comes while it is in use only reads it.

        Who comes when nobody uses it makes it anew, if need be: something may have changed since.
        """
        if not any(write.shared for write in analysis.writes):
            return analysis
        tools, kin = build.tools, analysis.kin
        reads, writes = list(analysis.reads), []
        for write in analysis.writes:
            name = self._paths.canonical(cwd, write.path) if write.shared else ""
            if name and tools.is_shared(name, kin) and self._hazards.is_operand(name):
                reads.append(write.path)
                continue
            if name:
                tools.share_file(name, kin)
            writes.append(write)
        return analysis._replace(reads=tuple(reads), writes=tuple(writes))

    # ------------------------------------------------------------------ what is promised of them

    def promises_of(
        self, command: Command, outputs: list[OutputFile], job: Job
    ) -> dict[str, Promise]:
        """What outputs will be, with mode and time as a serial build would show them."""
        return {output.name: self._promise_of(command, output, job) for output in outputs}

    def _promise_of(self, command: Command, output: OutputFile, job: Job) -> Promise:
        write = output.write
        if write.removed:
            return Promise(None, absent=True)
        if write.perhaps:
            return Promise(None, perhaps=True)
        if write.symbolic:  # who looks, looks through it
            target = self._paths.canonical(command.record.cwd, write.same_as)
            return self._promise_of_source(target)._replace(leads_to=target, absent=False)
        promise = self._promise_of_file(command, output, job)
        unsure = not write.is_sure or self._may_be_a_link(command)
        return promise._replace(leads_to="", unsure=unsure)

    def _promise_of_file(self, command: Command, output: OutputFile, job: Job) -> Promise:
        """Nothing where it cannot be told."""
        write = output.write
        if write.kept:
            written = self._hazards.writers(output.name)
            if written or os.path.lexists(output.name):
                return Promise(None)
        if write.timed:
            mode = 0o755 if command.record.kind == Kind.LINK else 0o644
            anew = command.record.kind != Kind.FILE and not write.in_place and not write.printed
            return Promise(job.dated_ns, mode & ~command.invoke.mask, anew=anew)
        if command.rename is not None:
            return self._promise_of_source(command.rename[0])
        if write.same_as:
            return self._promise_of_source(self._paths.canonical(command.record.cwd, write.same_as))
        return Promise(None)

    def _promise_of_source(self, source: str) -> Promise:
        """What a file has of another one that is moved or linked there."""
        known = self._pending.promise_at(source)
        if known is not None:
            return known
        try:
            info = os.stat(source)
        except OSError:
            return Promise(None)
        return Promise(info.st_mtime_ns, stat.S_IMODE(info.st_mode))

    def _may_be_a_link(self, command: Command) -> bool:
        """Whether what a command moves or copies is a symbolic link, or may be: such a one leads
        from another folder somewhere else."""
        if command.record.kind != Kind.FILE:
            return False
        for path in command.record.inputs:
            promise = self._pending.promise_at(path)
            if promise is None:
                if os.path.islink(path):
                    return True
            elif promise.leads_to or promise.unsure or promise.perhaps:
                return True
        return False


def _follow(name: str, files: dict[str, File]) -> str:
    """Where a symbolic link leads."""
    real = os.path.realpath(name)
    file = file_of(real)
    if file is not None:
        files[real] = file
    return real
