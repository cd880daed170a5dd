"""A build as a JSON-able document: what `--json` prints, and what every other report is made from.

docs/report-format.md describes it; its version changes whenever a reader could be misled.
"""

from __future__ import annotations

from typing import Any, Final

from smpmake.columns import REPORT_VERSION, REPORTED
from smpmake.commands.model import Reason
from smpmake.records import BuildRecord, CommandRecord
from smpmake.reports.ending import failures
from smpmake.timing import Details, Ends, Timing, analyse, explore, gain
from smpmake.timing.groups import Group, folder, language

FORMAT: Final = "smpmake-report"
_MOST_SAMPLES: Final = 1000

Document = dict[str, Any]


def document(record: BuildRecord) -> Document:
    """The whole build.  Times in seconds from its start unless a name says otherwise."""
    timing = analyse(record)
    depth = explore(record, timing)
    ended = not gain.of_end(record)  # else the graph is of a part of the build
    awaited = _awaited(record) if record.running else {}
    return {
        "format": FORMAT,
        "version": REPORT_VERSION,
        "build": _build(record),
        "environment": _environment(record),
        "figures": _figures(record, timing, depth),
        "findings": [
            {
                "kind": finding.kind,
                "seconds": _s(finding.seconds),
                "text": finding.text,
                "commands": list(finding.commands),
                "path": finding.path or None,
            }
            for finding in (depth.findings if ended else ())
        ],
        "split": {
            name: _s(seconds) for name, seconds in timing.concurrency.split._asdict().items()
        },
        "concurrency": [_s(seconds) for seconds in timing.concurrency.seconds],
        "what_if": [
            {"cpus": size, "seconds": _s(seconds)}
            for size, seconds in (depth.what_if if ended else ())
        ],
        "critical_path": [
            {"command": piece.number, "start": _s(piece.start), "end": _s(piece.end)}
            for piece in (depth.path if ended else ())
        ],
        "reasons": [
            {
                "reason": name,
                "text": Reason.text_of(name),
                "count": count,
            }
            for name, count in timing.reasons
        ],
        "causes": [
            {"cause": cause, "count": count, "seconds": _s(seconds)}
            for cause, count, seconds in timing.causes
        ],
        "tools": [_group(group) for group in depth.tools],
        "languages": [_group(group) for group in depth.languages],
        "folders": [_group(group) for group in depth.folders],
        "headers": [
            {"name": h.name, "count": h.count, "cpu": _s(h.cpu), "share": round(h.share, 4)}
            for h in depth.headers
        ],
        "commands": [
            _command(command, record, timing, awaited.get(command.number, []))
            for command in record.commands
        ],
        "diagnostics": [_diagnostic(c) for c in record.commands if c.said],
        "stalls": _stalls(record, timing),
        "samples": _samples(record),
        "failures": failures(record),
    }


def brief(head: BuildRecord) -> Document:
    """A build in one line, from its head alone (without commands).

    `wall` is None where it did not end, `speedup` where nobody is told one (see `why_not`).
    """
    wall = (head.ended - head.started) / 1e9 if head.complete else None
    serial = gain.serial_of(head)
    why_not = gain.of_head(head)
    speedup = None
    if wall and serial is not None and not why_not:
        speedup = Ends(serial.low / wall, serial.high / wall)
    return {
        "id": head.id,
        "started_unix": head.wall_clock,
        "wall": _s(wall) if wall is not None else None,
        "status": head.known_status,
        "speedup": _ends(speedup),
        "why_not": str(why_not) or None,
        "measured": head.serial is not None,
    }


def _s(seconds: float) -> float:
    """Seconds to the microsecond."""
    return round(seconds, 6)


def _build(record: BuildRecord) -> Document:
    return {
        "id": record.id,
        "command": record.command,
        "cwd": record.cwd,
        "started_unix": record.wall_clock,
        "complete": record.complete,
        "running": record.running,
        "status": record.known_status,
        "driver_runs": record.runs,
        "last_run": _s((record.driver_ended - record.again_at) / 1e9)
        if record.runs > 1 and record.again_at and record.driver_ended
        else None,
        "slots": record.slots,
        "cpus": record.cpus,
        "memory_bytes": record.memory,
        "smpmake": record.version,
        "notices": [*([record.unused] if record.unused else []), *record.notices],
    }


def _environment(record: BuildRecord) -> Document:
    """Where it ran."""
    place = record.surroundings
    return {
        "host": place.host,
        "cpu": place.cpu,
        "cpus": place.cpus,
        "kernel": place.kernel,
        "system": place.system,
        "options": list(place.options),
        "compilers": [
            {"name": each.name, "path": each.path, "version": each.version}
            for each in place.compilers
        ],
    }


def _diagnostic(command: CommandRecord) -> Document:
    """What a command complained of."""
    return {
        "command": command.number,
        "warnings": max(0, command.warnings),
        "errors": max(0, command.errors),
        "output": command.said,
    }


def _ends(ends: Ends | None) -> Document | None:
    """A range, with the figure that is said where one is to stand for it."""
    if ends is None:
        return None
    low, high = (round(each, 4) for each in ends)
    return {"low": low, "middle": round(ends.middle, 4), "high": high}


def _figures(record: BuildRecord, timing: Timing, depth: Details) -> Document:
    told = not timing.why_not
    ended = not gain.of_end(record)
    bounds = {
        "work": timing.work,
        "critical_path": timing.critical_path,
        "lower_bound": timing.lower_bound,
        "simulated": depth.simulated,
    }
    return {
        "wall": _s(timing.wall),
        "driver_wall": _s((record.driver_ended - record.started) / 1e9)
        if record.driver_ended
        else None,
        "user": _s(timing.user),
        "system": _s(timing.system),
        "server_cpu": _s(timing.server),
        "utilisation": round(timing.utilisation, 4),
        "extra_cpus": timing.extra_cpus,
        "speedup": _ends(timing.best.speedup) if told else None,
        "why_not": str(timing.why_not) or None,
        "efficiency": _ends(timing.best.efficiency) if told else None,
        "serial_estimated": _ends(timing.estimated.seconds) if ended and not timing.busy else None,
        "serial_measured": _s(record.serial) if record.serial is not None else None,
        "deferred": timing.deferred,
        "foreground": timing.foreground,
        "cancelled": timing.cancelled,
        "failed": len(failures(record)),
        "stalled": _s(timing.stalled),
        "queue_wait": _s(timing.queue_wait),
        "elsewhere": [
            {"host": each.host, "compiles": each.compiles, "seconds": _s(each.seconds)}
            for each in timing.elsewhere
        ],
        "held_by_memory": _s(timing.held),
        **{name: _s(seconds) if ended else None for name, seconds in bounds.items()},
        "closeness": round(timing.closeness, 4) if ended and timing.closeness is not None else None,
        "others": round(timing.others, 4) if timing.others is not None else None,
        "others_wanted": round(timing.wanted, 4) if timing.others is not None else None,
        "stolen": round(timing.stolen, 4),
        "busy": timing.busy,
        "parallel_driver": timing.parallel or None,
        "peak_job_bytes": timing.peak_job.max_rss * 1024 if timing.peak_job is not None else 0,
        "peak_memory_bytes": timing.peak_memory,
        "surprises": sum(len(command.surprises) for command in record.commands),
        "unguarded": sorted({c.unguarded for c in record.commands if c.unguarded}),
        "warnings": sum(max(0, command.warnings) for command in record.commands),
        "errors": sum(max(0, command.errors) for command in record.commands),
    }


def _group(group: Group) -> Document:
    return {
        "name": group.name,
        "count": group.count,
        "seconds": _s(group.seconds),
        "cpu": _s(group.cpu),
        "weighted": _s(group.weighted),
        "max_rss_bytes": group.max_rss * 1024,
    }


def _awaited(record: BuildRecord) -> dict[int, list[int]]:
    """For each command that has still to start those that it waits for, by what it reads."""
    writers = {path: c.number for c in record.commands if not c.state for path in c.outputs}
    return {
        c.number: sorted({writers[p] for p in c.inputs if p in writers} - {c.number})
        for c in record.commands
        if not c.started and not c.ready and not c.state
    }


def _command(
    command: CommandRecord, record: BuildRecord, timing: Timing, awaited: list[int]
) -> Document:
    made = {
        "language": language(command),
        "folder": folder(command, record.cwd),
        "command": command.command,
        "waits_for": awaited,
        "weighted": _s(timing.concurrency.weighted.get(command.number, 0.0)),
    }
    return {
        column.report: column.reported(command, record.started)
        if column.name
        else made[column.report]
        for column in REPORTED
    }


def _stalls(record: BuildRecord, timing: Timing) -> list[Document]:
    """Who waited: processes that a guard stopped, and foreground commands before they could run."""
    base = record.started
    found = [
        {
            "who": stall.who,
            "cause": stall.cause,
            "path": stall.path,
            "waited_for": stall.waited_for,
            "command": stall.command,
            "start": _s(max(0, stall.began - base) / 1e9),
            "end": _s(max(0, stall.ended - base) / 1e9) if stall.ended else None,
        }
        for stall in record.stalls
    ]
    found += [
        {
            "who": wait.waiter.tool,
            "cause": "waits for a slot" if wait.for_slot > wait.seconds / 2 else "needs its inputs",
            "path": wait.waiter.outputs[0] if wait.waiter.outputs else "",
            "waited_for": wait.cause.number if wait.cause is not None else -1,
            "command": wait.waiter.number,
            "start": _s((wait.waiter.issued - base) / 1e9),
            "end": _s((wait.waiter.started - base) / 1e9),
        }
        for wait in timing.waits
    ]
    return sorted(found, key=lambda stall: stall["start"])


def _samples(record: BuildRecord) -> list[Document]:
    """The samples, thinned where they are very many."""
    step = len(record.samples) // _MOST_SAMPLES + 1
    return [
        {
            "at": _s(sample.at),
            "cpu": round(sample.cpu, 4),
            "memory_bytes": sample.memory,
            "done": sample.done,
            "running": sample.running,
            "queued": sample.queued,
            "held": sample.held,
            "stolen": round(sample.stolen, 4),
            "pressure": round(sample.pressure, 4) if sample.pressure >= 0 else None,
        }
        for sample in record.samples[::step]
    ]
