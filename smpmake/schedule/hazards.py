"""Who must wait for whom: paths, their unfinished writers and readers.

Pure: no clock, no disk.  Paths are canonical before they come here.  A command waits

- for the writers of what it reads (read after write),
- for the readers and the writers of what it writes (write after read, write after write),
- and, because compilers read headers that no command line names, a command with undeclared
  reads waits for every pending output that is called as headers are.

What a command with a guard reads undeclared is asked about when it opens it, and who changes such a
file leaves it the older one (guard/versions.py).  Of one without a guard nobody knows what it
reads: it waits for every pending output that could be a header, and who changes a file that could
be one waits for it.  "Could be one" is a matter of names, and of the tool: what a linker or
archiver makes is never a header, though programs have names as some headers of C++ have them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, KeysView
from typing import Final

from smpmake.schedule.job import Job, Mode, Operands, Search
from smpmake.schedule.names import is_header, is_product

#: More than any command's number.
EVERYBODY: Final = 1 << 62
#: Commands by a name.  Nearly all names have one, which needs no dict around it.
_Table = dict[str, Job | dict[Job, None]]


def could_be_read(operands: Operands) -> bool:
    """Whether what a command writes could be a header."""
    return not operands.products and not all(map(is_product, operands.writes))


def _is_header(operands: Operands) -> bool:
    """Whether what a command writes is called as headers are."""
    return not operands.products and any(map(is_header, operands.writes))


class Hazards:
    """The table.  `enter` says what a command waits for; `leave` forgets it."""

    def __init__(self) -> None:
        self._writers: _Table = {}
        self._readers: _Table = {}
        self._undeclared: dict[Job, None] = {}
        self._could_be_read: dict[Job, None] = {}
        self._headers: dict[Job, None] = {}
        self._guesses: dict[Job, set[Job]] = {}
        self._present: dict[Job, None] = {}
        self._alone: _Table = {}
        self._folders: _Table = {}
        self._any_case: _Table = {}
        self._deferred = 0

    @property
    def deferred(self) -> int:
        """How many deferred commands have entered and not left."""
        return self._deferred

    @property
    def newest_undeclared_ns(self) -> int:
        """When the newest command that may read unnamed files was issued; 0 if there is none."""
        return next(reversed(self._undeclared)).issued_ns if self._undeclared else 0

    @property
    def next_number(self) -> int:
        """Above that of every command that may read unnamed files."""
        return next(reversed(self._undeclared)).number + 1 if self._undeclared else 0

    @property
    def oldest_undeclared(self) -> int | None:
        """The number of the oldest of them; None if there is none."""
        return next(iter(self._undeclared)).number if self._undeclared else None

    def undeclared(self, before: int) -> Iterator[Job]:
        """Commands issued before a number that may read unnamed files, oldest first."""
        for job in self._undeclared:
            if job.number >= before:
                break
            yield job

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
        product = is_product(path)
        return path in self._readers or any(job.guarded or not product for job in self._undeclared)

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
                waits.update(_at(writers, path))
        for path in operands.writes:
            if path in writers:
                waits.update(_at(writers, path))
            if path in self._readers:
                waits.update(_at(self._readers, path))
        for name in operands.alone:
            waits.update(_at(self._alone, name))
        for _, changed_ns in operands.changed_ns:
            # A file changed after a command's issue was not there for it: that change has waited.
            waits.update(
                reader
                for reader in self._undeclared
                if reader.issued_ns >= changed_ns and not (job.guarded and reader.guarded)
            )
        if operands.undeclared:
            if operands.headers:
                waits.update(self._headers)
            guesses = set() if job.guarded else self._could_be_read.keys() - waits
            if guesses:
                self._guesses[job] = guesses
                waits |= guesses
        self._register(job)
        return waits

    def guesses(self, job: Job) -> set[Job]:
        """Whom a command waits for only because nobody knew what it reads; asked once."""
        return self._guesses.pop(job, set())

    def _register(self, job: Job) -> None:
        operands = job.operands
        _add(self._readers, operands.reads + operands.through, job)
        _add(self._writers, operands.writes, job)
        _add(self._alone, operands.alone, job)
        if could_be_read(operands):
            self._could_be_read[job] = None
            if _is_header(operands):
                self._headers[job] = None
        if operands.undeclared:
            self._undeclared[job] = None
        self._present[job] = None
        if job.mode is Mode.DEFERRED:
            self._deferred += 1
            _add(self._folders, _listed(operands), job)
            _add(self._any_case, map(_in_any_case, operands.writes), job)

    def leave(self, job: Job) -> None:
        """Forgets a command that is done, failed or cancelled."""
        _drop(self._readers, job.operands.reads + job.operands.through, job)
        _drop(self._writers, job.operands.writes, job)
        _drop(self._alone, job.operands.alone, job)
        self._undeclared.pop(job, None)
        self._could_be_read.pop(job, None)
        self._headers.pop(job, None)
        self._guesses.pop(job, None)
        if job not in self._present:
            return
        del self._present[job]
        if job.mode is Mode.DEFERRED:
            self._deferred -= 1
            _drop(self._folders, _listed(job.operands), job)
            _drop(self._any_case, map(_in_any_case, job.operands.writes), job)

    # What a guard's question waits for: deferred commands issued before number `before`.

    def writers(self, path: str, before: int = EVERYBODY) -> set[Job]:
        """Who will write a path."""
        return _deferred(_at(self._writers, path), before)

    def users(self, path: str, before: int = EVERYBODY) -> set[Job]:
        """Who will write a path, or has said that it reads it."""
        return self.writers(path, before) | _deferred(_at(self._readers, path), before)

    def may_read(
        self, path: str, before: int = EVERYBODY, changed_ns: int = 0, after: int = EVERYBODY
    ) -> set[Job]:
        """Who may read a path without having said so.

        changed_ns  when its inode last changed; 0 if it is not there.  Who was issued earlier has
                    nothing to do with what is there now,
        after       unless it was issued after the command of this number, which has made it.
        """
        product, found = is_product(path), set()
        for job in reversed(self._undeclared):  # in the order of their issue
            if job.issued_ns < changed_ns and job.number < after:
                break
            if (job.guarded or not product) and job.number < before and job.mode is Mode.DEFERRED:
                found.add(job)
        return found

    def in_folder(self, folder: str, before: int = EVERYBODY) -> set[Job]:
        """Who will write something in a folder, be it for a moment."""
        return _deferred(_at(self._folders, folder), before)

    def in_other_case(self, path: str, before: int = EVERYBODY) -> set[Job]:
        """Who will write a name in the same folder that differs in the case of letters alone."""
        key = _in_any_case(path)
        return {
            job
            for job in _deferred(_at(self._any_case, key), before)
            if any(name != path and _in_any_case(name) == key for name in job.operands.writes)
        }

    def pending_names(self, folder: str, before: int = EVERYBODY) -> dict[str, Job]:
        """The names that pending commands issued before a number will write (or remove) in a
        folder, with the last."""
        start = len(folder.rstrip("/")) + 1
        names = {}
        for job in _at(self._folders, folder):
            for path in job.operands.writes if job.number < before else ():
                if _folder_of(path) == folder:
                    names[path[start:]] = job
        return names

    def below(self, folder: str, before: int = EVERYBODY, *, written: bool = False) -> set[Job]:
        """Who has an operand (only a written one, if asked so) below a folder, or works in it."""
        prefix = folder.rstrip("/") + "/"

        def is_concerned(operands: Operands) -> bool:
            if any(path.startswith(prefix) for path in operands.writes):
                return True
            return not written and (
                any(path.startswith(prefix) for path in operands.reads + operands.through)
                or f"{operands.cwd}/".startswith(prefix)
                or f"{operands.temporary}/".startswith(prefix)
            )

        return {job for job in _deferred(self._present, before) if is_concerned(job.operands)}

    def searching(self, where: Callable[[Search], bool], before: int = EVERYBODY) -> set[Job]:
        """Who may find files somewhere without having said so; who does not say where it looks."""
        near = {search for search in self.searches() if where(search)}
        return {
            job
            for job in _deferred(self._undeclared, before)
            if job.operands.search is None or job.operands.search in near
        }

    def everybody(self, before: int = EVERYBODY) -> set[Job]:
        """All of them."""
        return _deferred(self._present, before)


def _deferred(jobs: Iterable[Job], before: int) -> set[Job]:
    return {job for job in jobs if job.mode is Mode.DEFERRED and job.number < before}


def _listed(operands: Operands) -> list[str]:
    """Folders in which others would find what is not there serially, or the other way round."""
    folders = list(map(_folder_of, operands.writes))
    return [*folders, operands.temporary] if operands.temporary else folders


def _folder_of(path: str) -> str:
    return path[: path.rfind("/")] or "/"


def _in_any_case(path: str) -> str:
    start = path.rfind("/") + 1
    name = path[start:]
    lower = name.lower()
    return path if lower == name else path[:start] + lower  # the same text is not kept twice


def _at(table: _Table, key: str) -> Iterable[Job]:
    known = table.get(key, ())
    return (known,) if isinstance(known, Job) else known


def _add(table: _Table, keys: Iterable[str], job: Job) -> None:
    for key in keys:
        known = table.setdefault(key, job)
        if known is job:
            continue
        if isinstance(known, Job):
            table[key] = {known: None, job: None}
        else:
            known[job] = None


def _drop(table: _Table, keys: Iterable[str], job: Job) -> None:
    for key in keys:
        known = table.get(key)
        if isinstance(known, dict):
            known.pop(job, None)
        if known is job or known == {}:
            del table[key]
