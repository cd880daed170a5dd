"""The history's tables, and what an older file lacks of them."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator
from typing import Final

from smpmake.columns import STORED

_COMMAND: Final = ",\n    ".join(column.declared for column in STORED)
#: Times are ns from the build's start unless a comment says otherwise; 0: never came to that.
SCHEMA: Final = f"""
create table build (
    id           integer primary key,
    cwd          text not null,    -- where smpmake was started
    command      text not null,    -- the driver's argv, JSON
    wall_clock   real not null,    -- start, seconds since 1970
    wall_ns      integer not null, -- start to end; while it runs, or if it was killed: so far
    driver_ns    integer not null, -- start to the driver's end
    slots        integer not null,
    cpus         integer not null, -- usable ones
    status       integer not null, -- smpmake's exit status
    driver_user_us   integer not null,
    driver_system_us integer not null,
    server_cpu_us    integer not null,
    version      text not null,    -- of smpmake
    pid          integer not null default 0, -- of smpmake while it runs; 0: it has ended
    pid_start    integer not null default 0, -- that process's start (clock ticks since boot)
    runs         integer not null default 1, -- how often the driver was run
    driver_status  integer not null default -1,
    driver_max_rss_kib integer not null default 0,
    serial_s     real,             -- the same build without smpmake, where it was measured
    estimate_s   real,             -- serial work in it at least, by the timing model
    memory       integer not null default 0, -- bytes that the machine has
    notices      text not null default '[]', -- JSON
    by_shims     integer not null default 0, -- nobody ran the driver: its status is not known
    driver_started_ns integer not null default 0, -- the last run's start that was not undone
    again_us     integer not null default 0, -- CPU of the driver's runs that were undone
    watched      integer not null default 0, -- CPUs that samples are about, 0: not known
    calibration  real,             -- CPU time of its commands with one slot / here, if known
    surroundings text not null default '{{}}', -- computer, options, compilers; JSON
    estimate_most_s real,          -- the same at most
    why_not      text,             -- why no speed-up is told, '' if one is; null: not written down
    parallel     text not null default '',   -- what ran its commands in parallel already
    again_at_ns  integer not null default 0, -- the start of the driver's last run, if not the first
    unused       text not null default ''    -- why other machines compiled nothing
);
create index build_cwd on build (cwd, id);
create table command (
    build        integer not null references build on delete cascade,
    {_COMMAND},
    primary key (build, number)
);
create table stall (
    build        integer not null references build on delete cascade,
    who          text not null,    -- the program that waited
    cause        text not null,    -- what it was about to do (reads, lists ...)
    path         text not null,    -- to what
    waited_for   integer not null, -- number of the last command it waited for
    count        integer not null, -- how many commands it waited for
    command      integer not null, -- number of the job it belonged to, -1: the driver's own process
    began_ns     integer not null,
    ended_ns     integer not null  -- 0: it still waited
);
create index stall_build on stall (build);
create table file (                -- paths that a build's commands read
    build        integer not null references build on delete cascade,
    id           integer not null,
    path         text not null,
    primary key (build, id)
) without rowid;
create table sample (
    build        integer not null references build on delete cascade,
    at_s         real not null,    -- seconds from the build's start
    cpu          real not null,    -- busy share of all CPUs, 0..1
    memory       integer not null, -- bytes in use on the machine
    done         integer not null,
    running      integer not null,
    queued       integer not null,
    held         integer not null, -- kept from starting because memory was short
    stolen       real not null default 0,  -- share of all CPUs that a virtual machine's host kept
    pressure     real not null default -1, -- share of the time in which somebody waited for a CPU
    primary key (build, at_s)
) without rowid;
create table failure (
    build        integer not null references build on delete cascade,
    number       integer not null, -- of the command
    why          text not null,    -- status or signal in words
    output       blob not null,    -- what it printed
    reported     integer not null default 0, -- 1: the driver learned of it
    primary key (build, number)
);
"""
#: How many columns there are: with each that comes an older smpmake leaves the file alone.
VERSION: Final = len(re.findall(r"^    (?!primary)\w+ ", SCHEMA, re.MULTILINE))


def _types() -> Iterator[tuple[str, dict[str, str]]]:
    for table, columns in re.findall(
        r"^create table (\w+) \((.*?)^\)", SCHEMA, re.MULTILINE | re.S
    ):
        named = r"^    (\w+) +(integer|real|text|blob)( not null)?"
        found = re.findall(named, columns, re.MULTILINE)
        yield table, {name: kind + needed for name, kind, needed in found}


#: By table and column, as what a value is declared.  SQLite takes any value all the same.
TYPES: Final = dict(_types())

#: Each table's columns, and each index.
_PARTS: Final = """
select m.name, m.sql, t.name, t.type, t."notnull", t.dflt_value
from sqlite_master m left join pragma_table_info(m.name) t
where m.sql is not null order by m.rowid, t.cid
"""


def missing(connection: sqlite3.Connection) -> Iterator[str]:
    """The statements that make a file of any older version one of today's."""
    with contextlib.closing(sqlite3.connect(":memory:")) as today:
        today.executescript(SCHEMA)
        wanted = today.execute(_PARTS).fetchall()
    there = {(name, column) for name, _, column, *_ in connection.execute(_PARTS)}
    names = {name for name, _ in there}
    for name, _, column, kind, is_needed, default in wanted:
        if name in names and (name, column) not in there:
            value = f"not null default {default}" if is_needed else ""
            yield f"alter table {name} add column {column} {kind} {value}"
    yield from dict.fromkeys(statement for name, statement, *_ in wanted if name not in names)
