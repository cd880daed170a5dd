"""One history file: opening, reading, pruning.  Writing a build is recorder.py's."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from smpmake import folders, private
from smpmake.errors import SmpmakeError
from smpmake.history import rows
from smpmake.history.schema import VERSION, missing
from smpmake.records import NOT_RUN, BuildRecord, Compiler, Failure, Past, Sample, Stall

#: What is kept if the configuration does not say otherwise.
KEPT_BYTES: Final = 256 << 20
_FAILURE: Final = ("number", "output", "why", "reported")
_PAST_BUILDS: Final = 5
_PAST_SINGLE: Final = 3
_PATIENCE: Final = 10.0  # s for others who write, where nobody waits for us
#: What comes of values that nobody of us has written.
GARBAGE: Final = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError),
)
#: Builds whose command could be run at all.
_RAN: Final = (
    "(status not in (126, 127) or exists (select 1 from command where command.build = build.id))"
)
#: Builds that ran some tool, and not only to ask it about itself.
_WORKED: Final = (
    "exists (select 1 from command where command.build = build.id and reason != 'query')"
)


class HistoryError(SmpmakeError):
    """The history cannot be read or written; the message says where and why."""


class LockedError(HistoryError):
    """Another program keeps everybody else out, for longer than we wait."""


def default_path() -> Path:
    """The history's file (XDG state).  Raises HistoryError where there is no place for it."""
    try:
        return folders.state() / "history.db"
    except folders.NoHomeError as error:
        raise HistoryError(str(error)) from None


class History:
    """One history file; made, and looked for, when it is first needed.

    patience  seconds that others may have it locked for.
    """

    def __init__(self, path: Path | None = None, patience: float = _PATIENCE) -> None:
        self._path = path
        self._patience = patience

    @property
    def path(self) -> Path:
        """Where it is.  Raises HistoryError."""
        self._path = self._path or default_path()
        return self._path

    @contextlib.contextmanager
    def open(self, patience: float | None = None) -> Iterator[sqlite3.Connection]:
        """A connection and a transaction.  Raises HistoryError for whatever goes wrong in it."""
        with self.errors():
            connection = self.connect(patience)
            try:
                with connection:
                    yield connection
            finally:
                connection.close()

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """What goes wrong in it is a HistoryError."""
        try:
            yield
        except private.SharedError as error:
            remedy = error.remedy or private.ANOTHER_STATE
            raise HistoryError(f"{error}: smpmake uses no history from there ({remedy})") from None
        except (sqlite3.Error, OSError, *GARBAGE) as error:
            # The file cannot be reached or written now, or there is something wrong with it.
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise LockedError(f"{self.path}: another program has it locked") from None
            is_outside = isinstance(error, (OSError, sqlite3.OperationalError))
            what = "" if is_outside else " (move the file away to start a new history)"
            raise HistoryError(f"{self.path}: {error or type(error).__name__}{what}") from None

    def connect(self, patience: float | None = None) -> sqlite3.Connection:
        """A connection to tables of our version, to be used inside `errors`."""
        patience = self._patience if patience is None else patience
        private.demand_folder(self.path.parent)
        with contextlib.suppress(FileNotFoundError):
            os.close(private.opened(self.path, os.O_PATH))
        # Another thread may go on where one has died.
        connection = sqlite3.connect(self.path, timeout=patience, check_same_thread=False)
        try:
            connection.execute("pragma foreign_keys = on")
            connection.execute("pragma synchronous = normal")
            self._bring_up_to_date(connection, patience)
        except BaseException:
            connection.close()
            raise
        return connection

    def _bring_up_to_date(self, connection: sqlite3.Connection, patience: float) -> None:
        (version,) = connection.execute("pragma user_version").fetchone()
        if version == VERSION:
            return
        if version > VERSION:
            raise HistoryError(
                f"{self.path}: written by a newer smpmake (version {version}, this knows {VERSION})"
            )
        if version == 0:
            _write_ahead(connection, patience)
        connection.execute("begin immediate")  # two builds may come here at once
        with connection:
            (version,) = connection.execute("pragma user_version").fetchone()
            if version < VERSION:
                for statement in missing(connection):
                    connection.execute(statement)
                connection.execute(f"pragma user_version = {VERSION}")

    # ------------------------------------------------------------------ reading

    def last(self, cwd: str | None = None, before: int | None = None) -> BuildRecord | None:
        """The newest build (of a folder, before another one), whole."""
        wanted = [
            *([("cwd = ?", rows.storable(cwd))] if cwd is not None else []),
            *([("id < ?", before)] if before is not None else []),
        ]
        where = " and ".join(condition for condition, _ in wanted) or "1"
        with self.open() as connection:
            found = connection.execute(
                f"select id from build where {where} order by id desc limit 1",
                [value for _, value in wanted],
            ).fetchone()
        return self.load(found[0]) if found is not None else None

    def load(self, number: int) -> BuildRecord | None:
        """A build with all that belongs to it; None if there is none of this number."""
        with self.open() as connection:
            heads = self._heads(connection, "id = ?", (number,))
            if not heads:
                return None
            (record,) = heads
            files: dict[int, str] = {}
            for values in connection.execute(
                "select id, path from file where build = ?", (number,)
            ):
                file_id, path = rows.checked("file", ("id", "path"), values)
                files[file_id] = path
            select = f"select {{}} from {{}} where build = {int(number)} order by {{}}"
            record.commands = [
                rows.command(values, files)
                for values in connection.execute(
                    select.format(", ".join(rows.COMMAND), "command", "number")
                )
            ]
            record.stalls = [
                Stall(*rows.checked("stall", rows.STALL, values))
                for values in connection.execute(
                    select.format(", ".join(rows.STALL), "stall", "began_ns")
                )
            ]
            record.samples = [
                Sample(*rows.checked("sample", rows.SAMPLE, values))
                for values in connection.execute(
                    select.format(", ".join(rows.SAMPLE), "sample", "at_s")
                )
            ]
            by_number = {command.number: command for command in record.commands}
            for at, output, why, reported in connection.execute(
                select.format(", ".join(_FAILURE), "failure", "number")
            ):
                rows.checked("failure", _FAILURE, (at, output, why, reported))
                if at in by_number:
                    failure = Failure(by_number[at], output, why)
                    (record.reported if reported else record.failures).append(failure)
        return record

    def heads(
        self, cwd: str | None = None, limit: int = 20, *, worked: bool = False, ran: bool = False
    ) -> list[BuildRecord]:
        """The newest builds without their commands, newest first.

        worked  only those that had something to do: not a typo, nor an up-to-date make.
        ran     only those whose command could be run: not a typo.
        """
        where = _WORKED if worked else _RAN if ran else "1"
        with self.open() as connection:
            if cwd is None:
                return self._heads(connection, where, (), limit)
            return self._heads(connection, f"cwd = ? and {where}", (rows.storable(cwd),), limit)

    def _heads(
        self,
        connection: sqlite3.Connection,
        where: str,
        values: tuple[object, ...],
        limit: int = 1,
    ) -> list[BuildRecord]:
        found = connection.execute(
            f"select id, {', '.join(rows.BUILD)} from build where {where} "
            f"order by id desc limit {int(limit)}",
            values,
        ).fetchall()
        return [rows.build(number, rest) for number, *rest in found]

    def past(self, cwd: str) -> dict[str, Past]:
        """What the commands of a folder's builds took when they last ran, by first output."""
        with self.open() as connection:
            builds = [
                number
                for (number,) in connection.execute(
                    f"select id from build where cwd = ? and {_WORKED} order by id desc limit ?",
                    (rows.storable(cwd), _PAST_BUILDS),
                )
            ]
            found: dict[str, Past] = {}
            for number in reversed(builds):
                for outputs, wall, cpu, rss, there in connection.execute(
                    "select outputs, ended_ns - started_ns, user_us + system_us, max_rss_kib, "
                    "case when sent_ns > 0 then ended_ns - sent_ns else 0 end "
                    "from command where build = ? and state in ('done', 'undone') "
                    "and verdict = 'deferred' and started_ns > 0 and detail not in (?, ?)",
                    (number, *NOT_RUN),
                ):
                    for output in json.loads(outputs)[:1]:
                        wall_s, cpu_s, there_s = map(
                            rows.number, (wall / 1e9, cpu / 1e6, there / 1e9)
                        )
                        found[output] = Past(wall_s, cpu_s, int(rows.number(rss)), there_s)
        return found

    def compilers(self, builds: int = _PAST_BUILDS) -> list[Compiler]:
        """Those that the last builds have called, the newest first."""
        return [each for head in self.heads(limit=builds) for each in head.surroundings.compilers]

    def single(self, cwd: str) -> dict[str, float]:
        """CPU seconds of a folder's commands in its last builds with one slot, by first output."""
        with self.open() as connection:
            rows_ = connection.execute(
                "select outputs, user_us + system_us from command where state = 'done' "
                "and verdict = 'deferred' and detail not in (?, ?) and build in "
                "(select id from build where cwd = ? and slots = 1 order by id desc limit ?) "
                "order by build",
                (*NOT_RUN, rows.storable(cwd), _PAST_SINGLE),
            )
            return {
                output: rows.number(cpu / 1e6)
                for outputs, cpu in rows_
                for output in json.loads(outputs)[:1]
            }

    def fullest(self, cwd: str) -> int | None:
        """Of a folder's last builds the one that ran the most jobs; None if none ran any."""
        with self.open() as connection:
            found = connection.execute(
                "select build, count(*) from command where verdict = 'deferred' "
                "and state in ('done', 'undone') and detail not in (?, ?) and build in "
                f"(select id from build where cwd = ? and {_WORKED} order by id desc limit ?) "
                "group by build order by 2 desc, 1 desc limit 1",
                (*NOT_RUN, rows.storable(cwd), _PAST_BUILDS),
            ).fetchone()
        return int(found[0]) if found is not None else None

    # ------------------------------------------------------------------ changing

    def set_serial(self, number: int, seconds: float) -> None:
        """Notes what the same build took without smpmake, as measured."""
        with self.open() as connection:
            connection.execute("update build set serial_s = ? where id = ?", (seconds, number))

    def prune(self, size: int = KEPT_BYTES, patience: float | None = None) -> None:
        """Forgets the oldest builds until `size` bytes are enough.

        The newest build stays, whatever its size.  patience: see History.
        """
        with self.open(patience) as connection:
            (newest,) = connection.execute("select coalesce(max(id), 0) from build").fetchone()
            while self._used(connection) > size:
                (oldest,) = connection.execute("select min(id) from build").fetchone()
                if oldest is None or oldest == newest:
                    break
                connection.execute("delete from build where id = ?", (oldest,))

    @staticmethod
    def _used(connection: sqlite3.Connection) -> int:
        """Bytes of the file that hold something; the rest is used again."""
        values = [
            connection.execute(f"pragma {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        ]
        return int((values[0] - values[1]) * values[2])


def _write_ahead(connection: sqlite3.Connection, patience: float) -> None:
    """For this change SQLite does not wait for others (first builds at once), so we do."""
    end = time.monotonic() + patience
    while True:
        try:
            connection.execute("pragma journal_mode = wal")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
