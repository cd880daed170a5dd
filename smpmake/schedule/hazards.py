"""Who must wait for whom: paths, their unfinished writers and readers.

Pure: no clock, no disk.  Paths are canonical before they come here.  A command waits

- for the writers of what it reads (read after write),
- for the readers and the writers of what it writes (write after read, write after write),
- and, because compilers read headers that no command line names, a command with undeclared
  reads waits for every pending output that could be one, and who changes a file that could be one
  waits for the commands with undeclared reads that were issued while the old file was there.

"Could be one" is a matter of names, and of the tool: what a linker or archiver makes is never a
header, though programs have names as some headers of C++ have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, KeysView
from typing import Final

from smpmake.schedule.job import Job, Mode, Operands, Search

#: More than any command's number.
EVERYBODY: Final = 1 << 62

_PRODUCT = re.compile(
    r"(?:.*\.(?:o|obj|a|so|lo|loT|lai|la|laT|lib|dll|exe|d|dd|dep|Po|Tpo|Plo|Tlo|Tplo|P|gch|pch|dwo|su|"
    r"gcno|gcda|ci|pdb|map|os|ko|elf|bin|hex|err|res|mbr|sym|ilk|bak|lbc|lnk|"
    # manuals, scripts, packages: no compiler reads these either
    r"[1-9]|[1-9]x|[1-9]pm|html|info|texi|pod|pdf|ps|dvi|log|trs|mo|gmo|"
    r"py|pyc|pl|pm|rb|sh|gz|xz|bz2|zst|zip|tar|whl)|.*\.so\.[0-9.]+)\Z",
    re.DOTALL,
)


def is_product(path: str) -> bool:
    """Whether a path's name says that no compiler would include it."""
    return _PRODUCT.match(path) is not None


def could_be_read(operands: Operands) -> bool:
    """Whether what a command writes could be a header."""
    return not operands.products and not all(map(is_product, operands.writes))


class Hazards:
    """The table.  `enter` says what a command waits for; `leave` forgets it."""

    def __init__(self) -> None:
        self._writers: dict[str, dict[Job, None]] = {}
        self._readers: dict[str, dict[Job, None]] = {}
        self._undeclared: dict[Job, None] = {}
        self._could_be_read: dict[Job, None] = {}
        self._present: dict[Job, None] = {}
        self._alone: dict[str, dict[Job, None]] = {}
        self._folders: dict[str, dict[Job, None]] = {}
        self._any_case: dict[str, dict[Job, None]] = {}
        self._deferred = 0

    @property
    def deferred(self) -> int:
        """How many deferred commands have entered and not left."""
        return self._deferred

    @property
    def newest_undeclared_ns(self) -> int:
        """When the newest command that may read unnamed files was issued; 0 if there is none."""
        return next(reversed(self._undeclared)).issued_ns if self._undeclared else 0

    def searches(self) -> set[Search]:
        """Where the commands that may read unnamed files look for them."""
        return {job.operands.search for job in self._undeclared if job.operands.search is not None}

    def __len__(self) -> int:
        return len(self._present)

    def present(self) -> KeysView[Job]:
        """Everything that has entered and not left, in order of issue."""
        return self._present.keys()

    def is_written(self, path: str) -> bool:
        """Whether an unfinished command will write path."""
        return path in self._writers

    def is_read(self, path: str) -> bool:
        """Whether an unfinished command reads path, or may do so without having said it."""
        return path in self._readers or (bool(self._undeclared) and not is_product(path))

    def is_operand(self, path: str) -> bool:
        """Whether an unfinished command names path."""
        return path in self._writers or path in self._readers

    def enter(self, job: Job) -> set[Job]:
        """Registers a command; returns what it has to wait for."""
        operands = job.operands
        writers = self._writers
        waits: set[Job] = set()
        if operands.everything:
            waits.update(self._present)
        for path in operands.reads:
            if path in writers:
                waits.update(writers[path])
        if operands.undeclared and self._could_be_read:
            waits.update(self._could_be_read)
        for path in operands.writes:
            if path in writers:
                waits.update(writers[path])
            if path in self._readers:
                waits.update(self._readers[path])
        for name in operands.alone:
            waits.update(self._alone.get(name, ()))
        for _, changed_ns in operands.changed_ns:
            # A file changed after a command's issue was not there for it: that change has waited.
            waits.update(r for r in self._undeclared if r.issued_ns >= changed_ns)
        self._register(job)
        return waits

    def _register(self, job: Job) -> None:
        operands = job.operands
        _add(self._readers, operands.reads, job)
        _add(self._writers, operands.writes, job)
        _add(self._alone, operands.alone, job)
        if could_be_read(operands):
            self._could_be_read[job] = None
        if operands.undeclared:
            self._undeclared[job] = None
        self._present[job] = None
        if job.mode is Mode.DEFERRED:
            self._deferred += 1
            _add(self._folders, map(_folder_of, operands.writes), job)
            _add(self._any_case, map(_in_any_case, operands.writes), job)

    def leave(self, job: Job) -> None:
        """Forgets a command that is done, failed or cancelled."""
        _drop(self._readers, job.operands.reads, job)
        _drop(self._writers, job.operands.writes, job)
        _drop(self._alone, job.operands.alone, job)
        self._undeclared.pop(job, None)
        self._could_be_read.pop(job, None)
        if job not in self._present:
            return
        del self._present[job]
        if job.mode is Mode.DEFERRED:
            self._deferred -= 1
            _drop(self._folders, map(_folder_of, job.operands.writes), job)
            _drop(self._any_case, map(_in_any_case, job.operands.writes), job)

    # What a guard's question waits for: deferred commands issued before number `before`.

    def writers(self, path: str, before: int = EVERYBODY) -> set[Job]:
        """Who will write a path."""
        return _deferred(self._writers.get(path, ()), before)

    def users(self, path: str, before: int = EVERYBODY, changed_ns: int | None = None) -> set[Job]:
        """Who will write or read a path.

        changed_ns is when its inode last changed, if it is there (or 0, if it will hide another):
        who was issued later may read it without having said so.
        """
        waits = self.writers(path, before) | _deferred(self._readers.get(path, ()), before)
        if changed_ns is not None and self._undeclared and not is_product(path):
            for job in _deferred(self._undeclared, before):
                if job.issued_ns >= changed_ns:
                    waits.add(job)
        return waits

    def in_folder(self, folder: str, before: int = EVERYBODY) -> set[Job]:
        """Who will write something in a folder."""
        return _deferred(self._folders.get(folder, ()), before)

    def in_other_case(self, path: str, before: int = EVERYBODY) -> set[Job]:
        """Who will write a name in the same folder that differs in the case of letters alone."""
        key = _in_any_case(path)
        return {
            job
            for job in _deferred(self._any_case.get(key, ()), before)
            if any(name != path and _in_any_case(name) == key for name in job.operands.writes)
        }

    def pending_names(self, folder: str) -> dict[str, Job]:
        """The names that pending commands will write (or remove) in a folder, with the last."""
        start = len(folder.rstrip("/")) + 1
        names = {}
        for job in self._folders.get(folder, ()):
            for path in job.operands.writes:
                if _folder_of(path) == folder:
                    names[path[start:]] = job
        return names

    def below(self, folder: str, before: int = EVERYBODY, *, written: bool = False) -> set[Job]:
        """Who has an operand (only a written one, if asked so) below a folder."""
        prefix = folder.rstrip("/") + "/"
        return {
            job
            for job in _deferred(self._present, before)
            if any(path.startswith(prefix) for path in job.operands.writes)
            or (not written and any(path.startswith(prefix) for path in job.operands.reads))
        }

    def everybody(self, before: int = EVERYBODY) -> set[Job]:
        """All of them."""
        return _deferred(self._present, before)


def _deferred(jobs: Iterable[Job], before: int) -> set[Job]:
    return {job for job in jobs if job.mode is Mode.DEFERRED and job.number < before}


def _folder_of(path: str) -> str:
    return path[: path.rfind("/")] or "/"


def _in_any_case(path: str) -> str:
    start = path.rfind("/") + 1
    return path[:start] + path[start:].lower()


def _add(table: dict[str, dict[Job, None]], paths: Iterable[str], job: Job) -> None:
    for path in paths:
        if path in table:
            table[path][job] = None
        else:
            table[path] = {job: None}


def _drop(table: dict[str, dict[Job, None]], paths: Iterable[str], job: Job) -> None:
    for path in paths:
        jobs = table.get(path)
        if jobs is not None:
            jobs.pop(job, None)
            if not jobs:
                del table[path]
