"""The histories that older versions of smpmake have made, each from the one before."""

from __future__ import annotations

from typing import Final

#: With one build in it.
FIRST: Final = """
create table build (id integer primary key, cwd text not null, command text not null,
    wall_clock real not null, wall_ns integer not null, driver_ns integer not null,
    slots integer not null, cpus integer not null, status integer not null,
    driver_user_us integer not null, driver_system_us integer not null,
    server_cpu_us integer not null, version text not null);
create table command (build integer not null references build on delete cascade,
    number integer not null, tool text not null, kind text not null, verdict text not null,
    reason text not null, detail text not null, state text not null, cwd text not null,
    argv blob not null, outputs text not null, issued_ns integer not null,
    ready_ns integer not null, started_ns integer not null, ended_ns integer not null,
    slot integer not null, status integer, waited_for integer not null, user_us integer not null,
    system_us integer not null, max_rss_kib integer not null,
    primary key (build, number)) without rowid;
insert into build values (1, '/src', '["make"]', 5.0, 10, 9, 2, 2, 0, 1, 1, 1, '0.1');
insert into command values (1, 0, 'gcc', 'compile', 'deferred', '', '', 'done', '/src',
    x'67636300', '["/src/a.o"]', 1, 2, 3, 4, 0, 0, -1, 5, 6, 7);
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

#: What each version did to the file of the one before.
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
