"""Who must wait for whom: paths, their unfinished writers and readers.

Pure: no clock, no disk.  Paths are canonical before they come here.  A command waits

- for the writers of what it reads (read after write),
- for the readers and the writers of what it writes (write after read, write after write),
- and, because compilers read headers that no command line names, a command with undeclared
  reads waits for every pending output that is called as headers are.

What a command reads undeclared of which it is known that it asks (`Job.guarded`) is asked about
when it opens it, and who changes such a file leaves it the older one (guard/versions.py).  Of all
others nobody knows what they read: such a one waits for every pending output, and who makes,
changes or removes any file waits for it.  No name makes an exception.  One thing does, which is
what commands are: a compile of C, C++ or Fortran does not read the object that another compile or
an assembler makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, KeysView
from typing import Final

from smpmake.schedule.job import Job, Mode, Operands, Search
from smpmake.schedule.names import is_header

#: More than any command's number.
EVERYBODY: Final = 1 << 62
#: Commands by a name.  Nearly all names have one, which needs no dict around it.
_Table = dict[str, Job | dict[Job, None]]


class Hazards:
    """The table.  `enter` says what a command waits for; `leave` forgets it.

    deferred  how many deferred commands have entered and not left.
    """

    def __init__(self) -> None:
        self._writers: _Table = {}
        self._readers: _Table = {}
        # Those that may read what they have not named; of these the ones that compile nothing, and
        # the ones of which nobody knows what they read.
        self._undeclared: dict[Job, None] = {}
        self._others: dict[Job, None] = {}
        self._blind: dict[Job, None] = {}
        # Those that make objects alone, and those that make or change anything else.
        self._compiling: dict[Job, None] = {}
        self._changing: dict[Job, None] = {}
        self._headers: dict[Job, None] = {}
        self._assumed: dict[Job, tuple[set[Job], set[Job]]] = {}
        self._present: dict[Job, None] = {}
        self._alone: _Table = {}
        self._folders: _Table = {}
        self._any_case: _Table = {}
        self.deferred = 0

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

    @property
    def blind(self) -> int:
        """How many deferred commands there are of which nobody knows what they read."""
        return len(self._blind)

    def believe(self, job: Job) -> None:
        """It is known now of a command that it asks for what it reads."""
        job.guarded = True
        self._blind.pop(job, None)

    def __len__(self) -> int:
        return len(self._present)

    def present(self) -> KeysView[Job]:
        """Everything that has entered and not left, in order of issue."""
        return self._present.keys()

    def is_written(self, path: str) -> bool:
        """Whether an unfinished command will write path."""
        return path in self._writers

    def is_read(self, path: str, *, object_: bool = False) -> bool:
        """Whether an unfinished command reads path, or may do so without having said it.

        object_  a compile or an assembler makes it.
        """
        others = self._undeclared
        return path in self._readers or any(not (object_ and j.operands.compiles) for j in others)

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
        if operands.undeclared and operands.headers:
            waits.update(self._headers)
        self._assume(job, waits)
        self._register(job)
        return waits

    def _assume(self, job: Job, waits: set[Job]) -> None:
        """Adds those for whom a command waits because nobody knows what it reads, or what they do.

        What has changed after a command's issue was not there for it: that change has waited.
        Commands in the foreground run beside it as they do serially, and may be at the other end of
        a pipe.
        """
        operands = job.operands
        writers: set[Job] = set()
        readers: set[Job] = set()
        if operands.undeclared and not job.guarded:
            tables = [self._changing] if operands.compiles else [self._changing, self._compiling]
            writers = {other for table in tables for other in table} - waits
        met = self._others if operands.objects else self._undeclared
        if job.guarded and not operands.objects:
            met = self._blind
        oldest_ns = min((changed_ns for _, changed_ns in operands.changed_ns), default=EVERYBODY)
        for other in reversed(met):
            if other.issued_ns < oldest_ns:  # in the order of their issue
                break
            if other.mode is Mode.DEFERRED and not (job.guarded and other.guarded):
                readers.add(other)
        readers -= waits
        if writers or readers:
            self._assumed[job] = writers, readers
            waits |= writers | readers

    def resolved(self) -> Iterator[tuple[Job, set[Job]]]:
        """Commands, and those for whom they need not wait any more, since it is known now what
        is read; each once."""
        for job, (writers, readers) in list(self._assumed.items()):
            if not job.guarded:
                continue
            known = {other for other in readers if other.guarded}
            left = readers - known
            if left:
                self._assumed[job] = set(), left
            else:
                del self._assumed[job]
            gone = (writers - left) | known
            if gone:
                yield job, gone

    def _register(self, job: Job) -> None:
        operands = job.operands
        _add(self._readers, operands.reads + operands.through, job)
        _add(self._writers, operands.writes, job)
        _add(self._alone, operands.alone, job)
        if any(map(is_header, operands.writes)):
            self._headers[job] = None
        if operands.undeclared:
            self._undeclared[job] = None
        if job.mode is Mode.DEFERRED:
            if operands.writes:
                (self._compiling if operands.objects else self._changing)[job] = None
            if operands.undeclared and not operands.compiles:
                self._others[job] = None
            if operands.undeclared and not job.guarded:
                self._blind[job] = None
        self._present[job] = None
        if job.mode is Mode.DEFERRED:
            self.deferred += 1
            _add(self._folders, _listed(operands), job)
            _add(self._any_case, map(_in_any_case, operands.writes), job)

    def leave(self, job: Job) -> None:
        """Forgets a command that is done, failed or cancelled."""
        _drop(self._readers, job.operands.reads + job.operands.through, job)
        _drop(self._writers, job.operands.writes, job)
        _drop(self._alone, job.operands.alone, job)
        for table in (self._undeclared, self._others, self._blind, self._compiling, self._changing):
            table.pop(job, None)
        self._headers.pop(job, None)
        self._assumed.pop(job, None)
        if job not in self._present:
            return
        del self._present[job]
        if job.mode is Mode.DEFERRED:
            self.deferred -= 1
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
        self,
        before: int = EVERYBODY,
        changed_ns: int = 0,
        after: int = EVERYBODY,
        by: Job | None = None,
    ) -> set[Job]:
        """Who may read a path without having said so.

        changed_ns  when its inode last changed; 0 if it is not there.  Who was issued earlier has
                    nothing to do with what is there now,
        after       unless it was issued after the command of this number, which has made it.
        by          the command whose output it is, if that is about to change it.
        """
        found = set()
        for job in reversed(self._undeclared):  # in the order of their issue
            if job.issued_ns < changed_ns and job.number < after:
                break
            if job.number >= before or job.mode is not Mode.DEFERRED:
                continue
            if job.guarded or by is None or not (by.operands.objects and job.operands.compiles):
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

    def searching(
        self, where: Callable[[Search], bool], before: int = EVERYBODY, *, unsaid: bool = True
    ) -> set[Job]:
        """Who may find files somewhere without having said so.

        unsaid  those, too, who do not say where they look.
        """
        near = {search for search in self.searches() if where(search)}
        return {
            job
            for job in _deferred(self._undeclared, before)
            if job.operands.search in near or (unsaid and job.operands.search is None)
        }

    def all_before(self, before: int = EVERYBODY) -> set[Job]:
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
