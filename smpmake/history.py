"""What is remembered of builds: an SQLite file in the user's state folder.

A damaged or newer file never stops a build: the caller gets HistoryError and says so.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from smpmake.errors import SmpmakeError
from smpmake.records import BuildRecord, CommandRecord, Stall

VERSION: Final = 2
_KEPT_BUILDS: Final = 100

_SCHEMA: Final = """
create table build (
    id           integer primary key,
    cwd          text not null,    -- where smpmake was started
    command      text not null,    -- the driver's argv, JSON
    wall_clock   real not null,    -- start, seconds since 1970
    wall_ns      integer not null, -- start to end
    driver_ns    integer not null, -- start to the driver's end
    slots        integer not null,
    cpus         integer not null,
    status       integer not null, -- smpmake's exit status
    driver_user_us   integer not null,
    driver_system_us integer not null,
    server_cpu_us    integer not null,
    version      text not null     -- of smpmake
);
create table command (
    build        integer not null references build on delete cascade,
    number       integer not null, -- order of issue
    tool         text not null,    -- as called, without folder
    kind         text not null,    -- compile, link, archive, file ...
    verdict      text not null,    -- deferred, foreground, barrier
    reason       text not null,    -- why it was not deferred, '' if it was
    detail       text not null,
    state        text not null,    -- done, failed, cancelled
    cwd          text not null,
    argv         blob not null,    -- NUL-ended words
    outputs      text not null,    -- canonical paths, JSON
    issued_ns    integer not null, -- all four from the build's start; 0: never
    ready_ns     integer not null,
    started_ns   integer not null,
    ended_ns     integer not null,
    slot         integer not null, -- -1: none
    status       integer,          -- null: only the driver knows
    waited_for   integer not null, -- number of a command, -1: nobody
    user_us      integer not null,
    system_us    integer not null,
    max_rss_kib  integer not null,
    primary key (build, number)
) without rowid;
"""

#: What makes a file of one version one of the next.
_MIGRATIONS: Final = {
    1: """
-- the program above that has no guard; files it was seen to read; what it had not declared (JSON)
alter table command add column unguarded text not null default '';
alter table command add column reads text not null default '[]';
alter table command add column surprises text not null default '[]';
create table stall (
    build        integer not null references build on delete cascade,
    who          text not null,    -- the program that waited
    cause        text not null,    -- what it was about to do (reads, lists ...)
    path         text not null,    -- to what
    waited_for   integer not null, -- number of the last command it waited for
    count        integer not null, -- how many commands it waited for
    command      integer not null, -- number of the job it belonged to, -1: the driver's own process
    began_ns     integer not null, -- from the build's start
    ended_ns     integer not null
);
create index stall_build on stall (build);
""",
}


class HistoryError(SmpmakeError):
    """The history cannot be read or written; the message says where and why."""


def default_path() -> Path:
    """The history's file (XDG state)."""
    base = os.environ.get("XDG_STATE_HOME", "")
    root = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
    return root / "smpmake" / "history.db"


class History:
    """One history file; made when it is first needed."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or default_path()

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            connection = sqlite3.connect(self.path, timeout=10)
            try:
                connection.execute("pragma foreign_keys = on")
                connection.execute("pragma synchronous = normal")
                self._check_version(connection)
                with connection:
                    yield connection
            finally:
                connection.close()
        except (sqlite3.Error, OSError) as error:
            raise HistoryError(
                f"{self.path}: {error} (move the file away to start a new history)"
            ) from None

    def _check_version(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("pragma user_version").fetchone()
        if version == 0:
            connection.execute("pragma journal_mode = wal")
            with connection:
                connection.executescript(f"{_SCHEMA}; pragma user_version = 1")
            version = 1
        while version in _MIGRATIONS:
            steps = _MIGRATIONS[version]
            version += 1
            connection.executescript(f"begin; {steps} pragma user_version = {version}; commit")
        if version > VERSION:
            raise HistoryError(
                f"{self.path}: written by a newer smpmake (version {version}, this knows {VERSION})"
            )

    def add(self, record: BuildRecord) -> int:
        """Keeps a build; forgets the oldest.  Raises HistoryError."""
        start = record.started
        with self._open() as connection:
            cursor = connection.execute(
                "insert into build values (null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    record.cwd,
                    json.dumps(record.command),
                    record.wall_clock,
                    record.ended - start,
                    record.driver_ended - start,
                    record.slots,
                    record.cpus,
                    record.status,
                    record.driver_user_us,
                    record.driver_system_us,
                    record.server_cpu_us,
                    record.version,
                ),
            )
            build = cursor.lastrowid or 0
            connection.executemany(
                f"insert into command values ({', '.join('?' * 24)})",
                (_row(build, command, start) for command in record.commands),
            )
            connection.executemany(
                "insert into stall values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (_stall_row(build, stall, start) for stall in record.stalls),
            )
            connection.execute("delete from build where id <= ?", (build - _KEPT_BUILDS,))
        return build

    def last(self, cwd: str | None = None) -> BuildRecord | None:
        """The newest build, of a folder if one is given, without samples and output."""
        where = "where cwd = ?" if cwd is not None else ""
        with self._open() as connection:
            row = connection.execute(
                f"select id, cwd, command, wall_clock, wall_ns, driver_ns, slots, cpus, status, "
                f"driver_user_us, driver_system_us, server_cpu_us, version "
                f"from build {where} order by id desc limit 1",
                (cwd,) if cwd is not None else (),
            ).fetchone()
            if row is None:
                return None
            commands = [
                _command(values)
                for values in connection.execute(
                    "select * from command where build = ? order by number", (row[0],)
                )
            ]
            stalls = [
                Stall(*values)
                for values in connection.execute(
                    "select who, cause, path, waited_for, count, command, began_ns, ended_ns "
                    "from stall where build = ? order by began_ns",
                    (row[0],),
                )
            ]
        return BuildRecord(
            command=json.loads(row[2]),
            cwd=row[1],
            slots=row[6],
            cpus=row[7],
            version=row[12],
            driver_ended=row[5],
            ended=row[4],
            wall_clock=row[3],
            status=row[8],
            driver_user_us=row[9],
            driver_system_us=row[10],
            server_cpu_us=row[11],
            commands=commands,
            stalls=stalls,
        )


def _row(build: int, c: CommandRecord, start: int) -> tuple[object, ...]:
    times = [max(0, t - start) if t else 0 for t in (c.issued, c.ready, c.started, c.ended)]
    text = (c.tool, c.kind, c.verdict, c.reason, c.detail, c.state, c.cwd)
    return (
        build,
        c.number,
        *map(_storable, text),
        c.argv,
        json.dumps(c.outputs),
        *times,
        c.slot,
        c.status,
        c.waited_for,
        c.user_us,
        c.system_us,
        c.max_rss,
        _storable(c.unguarded),
        json.dumps(c.reads),
        json.dumps(c.surprises),
    )


def _storable(text: str) -> str:
    """Text without the stand-ins for bytes that are no UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _stall_row(build: int, stall: Stall, start: int) -> tuple[object, ...]:
    texts = map(_storable, (stall.who, stall.cause, stall.path))
    times = [max(0, at - start) if at else 0 for at in (stall.began, stall.ended)]
    return (build, *texts, stall.waited_for, stall.count, stall.command, *times)


def _command(row: tuple[Any, ...]) -> CommandRecord:
    (_, number, tool, kind, verdict, reason, detail, state, cwd, argv, outputs, *rest) = row
    issued, ready, started, ended, slot, status, waited_for, user, system, rss, *last = rest
    unguarded, reads, surprises = last
    return CommandRecord(
        number,
        tool,
        kind,
        verdict,
        reason,
        detail,
        cwd,
        argv,
        tuple(json.loads(outputs)),
        issued,
        ready,
        started,
        ended,
        slot,
        status=status,
        state=state,
        waited_for=waited_for,
        user_us=user,
        system_us=system,
        max_rss=rss,
        unguarded=unguarded,
        reads=tuple(json.loads(reads)),
        surprises=tuple(json.loads(surprises)),
    )
