"""Writes one build down while it runs, so that a killed build has a report too.

A thread of its own does the writing: the server must not wait for a disk.  What it is handed are
the living records; a value that changes meanwhile is written again at the next turn.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import Final

from smpmake.history import rows
from smpmake.history.store import KEPT_BYTES, History, HistoryError, LockedError
from smpmake.records import BuildRecord, CommandRecord
from smpmake.redact import Redactor
from smpmake.threads import Worker

log = logging.getLogger(__name__)
_LONGEST_OUTPUT: Final = 1 << 18
_MEANWHILE: Final = 0.1  # s that a turn waits for others: there will be another
_AT_LAST: Final = 2.0  # s, and the user with us


class Recorder:
    """One build's.  After a fault nothing more is written; `fault` says what it was."""

    def __init__(
        self,
        history: History,
        record: BuildRecord,
        redactor: Redactor,
        *,
        size: int = KEPT_BYTES,
    ) -> None:
        self.fault = ""
        self._history = history
        self._record = record
        self._redactor = redactor
        self._size = size
        self._worker: Worker | None = None
        self._connection: sqlite3.Connection | None = None
        self._is_writing = False
        self._build = 0
        self._low = 0  # everything before it is written in its last state
        self._runs = record.runs
        self._written: dict[int, tuple[str, int, int]] = {}
        self._stalls = 0
        self._open_stalls: list[int] = []
        self._samples = 0
        self._failures: dict[int, int] = {}
        self._files: dict[str, int] = {}
        self._new_files: list[tuple[int, int, str]] = []

    def turn(self) -> None:
        """Writes what is new, unless the last turn is still under way."""
        if not self.fault and not self._is_writing:
            self._is_writing = True
            self._submit(lambda: self._write(last=False))

    def end(self) -> int:
        """Writes the rest and prunes; returns the build's number, 0 if it was not written."""
        if not self.fault:
            self._submit(lambda: self._write(last=True))
        self._close()
        return self._build if not self.fault else 0

    def forget(self) -> None:
        """Ends without this build in the history."""
        if not self.fault:
            self._submit(self._remove)
        self._close()

    def _submit(self, what: Callable[[], None]) -> None:
        try:
            self._worker = self._worker or Worker()
            self._worker.submit(what)
        except RuntimeError as error:  # the system gives no thread, or took it away
            self.fault = str(error)

    def _close(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        self._disconnect()

    # ------------------------------------------------------------------ in the thread

    def _write(self, last: bool) -> None:
        try:
            patience = _AT_LAST if last else _MEANWHILE
            with self._history.errors(), self._locked(patience) as connection:
                self._write_build(connection, last)
                self._write_commands(connection)
                self._write_stalls(connection)
                self._write_samples(connection)
                self._write_failures(connection)
            if last:
                with contextlib.suppress(LockedError):  # another build's end does it
                    self._history.prune(self._size, patience)
        except LockedError as error:
            self.fault = str(error) if last else ""
        except HistoryError as error:
            self.fault = str(error)
        except MemoryError:
            self.fault = "there is too little memory"
        except Exception as error:  # a fault of ours costs the record, never the build
            log.exception("the history could not be written")
            self.fault = f"internal error: {error!r}"
        finally:
            self._is_writing = False
            if last or self.fault:
                self._disconnect()

    @contextlib.contextmanager
    def _locked(self, patience: float) -> Iterator[sqlite3.Connection]:
        """A transaction.  Nothing is written before the lock is ours."""
        # It stays open: who is the last to close a history waits for the disk.
        self._connection = self._connection or self._history.connect(patience)
        self._connection.execute(f"pragma busy_timeout = {int(patience * 1000)}")
        with self._connection as connection:
            connection.execute("begin immediate")
            yield connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _remove(self) -> None:
        if not self._build:
            return
        try:
            with self._history.errors(), self._locked(_AT_LAST) as connection:
                connection.execute("delete from build where id = ?", (self._build,))
        except HistoryError as error:
            self.fault = str(error)
        finally:
            self._disconnect()

    def _write_build(self, connection: sqlite3.Connection, last: bool) -> None:
        pid = 0 if last else os.getpid()
        row = rows.build_row(
            self._record,
            self._redactor.words(self._record.command),
            time.monotonic_ns(),
            pid,
            rows.start_of(pid) if pid else 0,
            self._redactor.text,
        )
        names = rows.BUILD
        if not self._build:
            cursor = connection.execute(rows.insertion("build", names), row)
            self._build = cursor.lastrowid or 0
        else:
            sets = ", ".join(f"{name} = ?" for name in names)
            connection.execute(f"update build set {sets} where id = ?", [*row, self._build])

    def _write_commands(self, connection: sqlite3.Connection) -> None:
        changed = self._changed()
        made = [
            rows.command_row(
                self._build,
                command,
                self._record.started,
                self._file_id,
                self._redactor.argv,
                self._redactor.text,
            )
            for command in changed
        ]
        connection.executemany("insert into file values (?, ?, ?)", self._new_files)
        self._new_files = []
        connection.executemany(rows.insertion("command", ("build", *rows.COMMAND)), made)

    def _changed(self) -> list[CommandRecord]:
        commands = self._record.commands
        if self._runs != self._record.runs:  # what had ended is undone
            self._runs, self._low = self._record.runs, 0
        count = len(commands)  # the server adds to them meanwhile
        changed = []
        for at in range(self._low, count):
            command = commands[at]
            state = (command.state, command.slot, command.ready)
            if self._written.get(at) != state:
                self._written[at] = state
                changed.append(command)
        while self._low < count and self._written[self._low][0]:
            del self._written[self._low]
            self._low += 1
        return changed

    def _file_id(self, path: str) -> int:
        known = self._files.get(path)
        if known is None:
            known = self._files[path] = len(self._files)
            self._new_files.append((self._build, known, rows.storable(path)))
        return known

    def _write_stalls(self, connection: sqlite3.Connection) -> None:
        stalls = self._record.stalls
        count = len(stalls)
        # Asked once: one that ends meanwhile is the next turn's.
        fresh = range(self._stalls, count)
        still = [at for at in (*self._open_stalls, *fresh) if not stalls[at].ended]
        # One that still waited at the last turn is in the table with no end.
        for at in self._open_stalls:
            stall = stalls[at]
            if at not in still:
                row = rows.stall_row(self._build, stall, self._record.started)
                connection.execute(
                    "update stall set ended_ns = ? where build = ? and began_ns = ? and path = ?",
                    (row[-1], self._build, row[-2], row[3]),
                )
        connection.executemany(
            rows.insertion("stall", ("build", *rows.STALL)),
            [rows.stall_row(self._build, stalls[at], self._record.started) for at in fresh],
        )
        self._stalls, self._open_stalls = count, still

    def _write_samples(self, connection: sqlite3.Connection) -> None:
        samples = self._record.samples
        count = len(samples)
        connection.executemany(
            rows.insertion("sample", ("build", *rows.SAMPLE)),
            [(self._build, *each) for each in samples[self._samples : count]],
        )
        self._samples = count

    def _write_failures(self, connection: sqlite3.Connection) -> None:
        record = self._record
        for reported, failures in enumerate((list(record.failures), list(record.reported))):
            for failure in failures:
                number = failure.record.number
                if self._failures.get(number) == reported:
                    continue
                self._failures[number] = reported
                row = rows.failure_row(
                    self._build, failure, self._redactor.text, _LONGEST_OUTPUT, bool(reported)
                )
                connection.execute("insert or replace into failure values (?, ?, ?, ?, ?)", row)
