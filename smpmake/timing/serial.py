"""The serial work in a build: of what it consists, and how long each part would take alone."""

from __future__ import annotations

from typing import NamedTuple

from smpmake.records import DIVIDED, REUSED, BuildRecord, CommandRecord
from smpmake.timing.load import Load, Piece, load
from smpmake.timing.spans import Span, Timeline, length, union

_OVERLAP = 0.05  # share of foreground work that beside other such work makes a driver parallel


class Serial(NamedTuple):
    """Seconds.

    load      what was beside the build.
    work      of the whole build run serially, with the machine for itself.
    cpu       the CPU time in it.
    works     by number, what each command takes with the machine for itself.
    scale     the same for the driver's own time: factor.
    parallel  the driver itself ran commands at the same time.
    """

    load: Load
    work: float
    cpu: float
    works: dict[int, float]
    scale: float
    parallel: bool


def serial(record: BuildRecord, line: Timeline) -> Serial:
    """The serial work of a recorded build.

    Every command's own run counts, also of foreground ones that ran beside each other; what was
    undone counts only where its results were used again.
    """
    cpu = (record.driver_user_us + record.driver_system_us - record.again_us) / 1e6
    ran = {c.number: c for c in record.commands if c.number in line.work}
    pieces = {
        number: _piece(line.work[number], command)
        for number, command in ran.items()
        if command.verdict == "deferred" or command.cpu
    }
    inside = sum(p.cpu * p.threads for n, p in pieces.items() if not ran[n].by_worker)
    unknown = [n for n in ran if n not in pieces]
    spans = [*line.driver, *(span for number in unknown for span in line.work[number])]
    rest = Piece(spans, max(0.0, cpu - inside))
    undone = Piece(line.undone, record.again_us / 1e6)
    beside = load(record, line, [*pieces.values(), rest, undone])
    counted = _counted(record)
    works = {}
    own = work = beside.alone(rest)
    used = rest.cpu * beside.share
    scale = own / rest.wall if rest.wall > 0 else 1.0
    for number, source in counted.items():
        if source in pieces:
            works[number] = beside.alone(pieces[source])
            work += works[number]
            used += pieces[source].cpu * beside.share
        elif source in ran:
            works[number] = scale * length(line.work[source])
    tools = [span for number in ran for span in _if_foreground(ran[number], line)]
    wall = length(tools)
    parallel = wall - length(union(tools)) > _OVERLAP * wall
    return Serial(beside, work, used, works, scale, parallel)


def _piece(spans: list[Span], command: CommandRecord) -> Piece:
    if command.elsewhere:  # as long as it took there: what it needs here nobody knows
        return Piece(spans, command.cpu + command.elsewhere)
    wall, cpu = length(spans), command.cpu
    delay = command.delay_us / 1e6 if command.delay_us >= 0 else None
    if 0 < wall < cpu and command.detail != DIVIDED:
        return Piece(spans, wall, delay, cpu / wall)
    return Piece(spans, cpu, delay)


def _is_foreground(command: CommandRecord) -> bool:
    return command.verdict != "deferred"


def _if_foreground(command: CommandRecord, line: Timeline) -> list[Span]:
    return line.work[command.number] if _is_foreground(command) else []


def _counted(record: BuildRecord) -> dict[int, int]:
    """Commands whose work a serial build would do, and which command has done it."""
    done: dict[tuple[str, bytes], int] = {}
    found = {}
    for command in record.commands:
        key = (command.cwd, command.argv)
        if command.state == "undone":
            done[key] = command.number
        elif command.detail == REUSED:
            found[command.number] = done.get(key, command.number)
        else:
            found[command.number] = command.number
    return found
