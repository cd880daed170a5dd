"""The history's tables, and what makes an older file one of today's."""

from __future__ import annotations

from typing import Final

VERSION: Final = 9

#: Times are ns from the build's start unless a comment says otherwise; 0: never came to that.
SCHEMA: Final = """
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
    surroundings text not null default '{}', -- computer, options, compilers; JSON
    launchers    text not null default '{}', -- hits and misses by launcher; JSON
    estimate_most_s real,          -- the same at most
    why_not      text,             -- why no speed-up is told, '' if one is; null: not written down
    parallel     text not null default '',   -- what ran its commands in parallel already
    again_at_ns  integer not null default 0, -- the start of the driver's last run, if not the first
    unused       text not null default ''    -- why other machines compiled nothing
);
create index build_cwd on build (cwd, id);
create table command (
    build        integer not null references build on delete cascade,
    number       integer not null, -- order of issue
    tool         text not null,    -- as called, without folder
    kind         text not null,    -- compile, link, archive, file ...
    verdict      text not null,    -- deferred, foreground, barrier
    reason       text not null,    -- why it was not deferred, '' if it was
    detail       text not null,
    state        text not null,    -- done, failed, cancelled; '': it had not ended
    cwd          text not null,
    argv         blob not null,    -- NUL-ended words
    outputs      text not null,    -- canonical paths, JSON
    issued_ns    integer not null,
    ready_ns     integer not null,
    started_ns   integer not null,
    ended_ns     integer not null,
    slot         integer not null, -- -1: none
    status       integer,          -- null: only the driver knows
    waited_for   integer not null, -- number of a command, -1: nobody
    user_us      integer not null,
    system_us    integer not null,
    max_rss_kib  integer not null,
    unguarded    text not null default '',   -- the program above that has no guard
    reads        text not null default '[]', -- ids in table file that it was seen to read, JSON
    surprises    text not null default '[]', -- what it did that it had not declared, JSON
    inputs       text not null default '[]', -- ids in table file that its command line names, JSON
    light        integer not null default 0, -- 1: needs no slot
    minor_faults integer not null default 0,
    major_faults integer not null default 0,
    voluntary    integer not null default 0, -- context switches
    involuntary  integer not null default 0,
    delay_us     integer not null default -1, -- waited for a CPU, all its processes; -1: not known
    program      text not null default '',    -- the tool's file
    warnings     integer not null default -1, -- that its output told of; -1: nobody saw that
    errors       integer not null default -1,
    said         text not null default '',    -- that output, if there were any
    host         text not null default '',    -- the other machine that has done it
    sent_ns      integer not null default 0,  -- since when nothing was left to do here; 0: never
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

_FROM_1: Final = """
alter table command add column unguarded text not null default '';
alter table command add column reads text not null default '[]';
alter table command add column surprises text not null default '[]';
create table stall (
    build        integer not null references build on delete cascade,
    who          text not null,
    cause        text not null,
    path         text not null,
    waited_for   integer not null,
    count        integer not null,
    command      integer not null,
    began_ns     integer not null,
    ended_ns     integer not null
);
create index stall_build on stall (build);
"""

#: What older builds were seen to read is forgotten: it was spelled out for each command.
_FROM_2: Final = """
alter table build add column pid integer not null default 0;
alter table build add column pid_start integer not null default 0;
alter table build add column runs integer not null default 1;
alter table build add column driver_status integer not null default -1;
alter table build add column driver_max_rss_kib integer not null default 0;
alter table build add column serial_s real;
alter table build add column estimate_s real;
alter table build add column memory integer not null default 0;
alter table build add column notices text not null default '[]';
create index build_cwd on build (cwd, id);
update command set reads = '[]';
alter table command add column inputs text not null default '[]';
alter table command add column light integer not null default 0;
alter table command add column minor_faults integer not null default 0;
alter table command add column major_faults integer not null default 0;
alter table command add column voluntary integer not null default 0;
alter table command add column involuntary integer not null default 0;
create table file (
    build        integer not null references build on delete cascade,
    id           integer not null,
    path         text not null,
    primary key (build, id)
) without rowid;
create table sample (
    build        integer not null references build on delete cascade,
    at_s         real not null,
    cpu          real not null,
    memory       integer not null,
    done         integer not null,
    running      integer not null,
    queued       integer not null,
    held         integer not null,
    primary key (build, at_s)
) without rowid;
create table failure (
    build        integer not null references build on delete cascade,
    number       integer not null,
    why          text not null,
    output       blob not null,
    primary key (build, number)
);
"""

_FROM_3: Final = """
alter table failure add column reported integer not null default 0;
"""

_FROM_4: Final = """
alter table build add column by_shims integer not null default 0;
"""

_FROM_5: Final = """
alter table build add column driver_started_ns integer not null default 0;
alter table build add column again_us integer not null default 0;
alter table build add column watched integer not null default 0;
alter table build add column calibration real;
alter table command add column delay_us integer not null default -1;
alter table sample add column stolen real not null default 0;
alter table sample add column pressure real not null default -1;
"""

_FROM_6: Final = """
alter table build add column surroundings text not null default '{}';
alter table build add column launchers text not null default '{}';
alter table command add column program text not null default '';
alter table command add column warnings integer not null default -1;
alter table command add column errors integer not null default -1;
alter table command add column said text not null default '';
"""

_FROM_7: Final = """
alter table command add column host text not null default '';
alter table command add column sent_ns integer not null default 0;
"""

_FROM_8: Final = """
alter table build add column estimate_most_s real;
alter table build add column why_not text;
alter table build add column parallel text not null default '';
alter table build add column again_at_ns integer not null default 0;
alter table build add column unused text not null default '';
"""

MIGRATIONS: Final = {
    1: _FROM_1,
    2: _FROM_2,
    3: _FROM_3,
    4: _FROM_4,
    5: _FROM_5,
    6: _FROM_6,
    7: _FROM_7,
    8: _FROM_8,
}
