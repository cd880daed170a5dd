"""One model of a finished build; every report prints this model and nothing else.

Definitions (docs/architecture.md, "What is measured"):

- CPU utilisation: CPU seconds of everything / (wall x usable CPUs).
- Serial estimate: what the driver did in the foreground plus every job, each as if alone on the
  machine: its CPU time, and of its waiting that part which was not waiting for a CPU (the machine's
  idle share).  An estimate; never shown as a measured time.
- Speed-up: serial estimate / wall.
- Utilisation of the extra CPUs: (T - Tp) / (T * (1 - 1/N)), T serial, Tp parallel, N CPUs used.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from smpmake import records
from smpmake.records import BuildRecord, CommandRecord


@dataclass(frozen=True, slots=True)
class Stall:
    """A foreground command that waited: seconds, and the command that it waited for at last.

    for_slot  how much of it was waiting for a free slot, after the last hazard had cleared.
    """

    seconds: float
    for_slot: float
    waiter: CommandRecord
    cause: CommandRecord | None


@dataclass(frozen=True, slots=True)
class Timing:
    """See the module's docstring.  Seconds and bytes; `extra` is None where N is 1."""

    wall: float
    cpus: int
    slots: int
    user: float
    system: float
    utilisation: float
    serial: float
    speedup: float
    extra: float | None
    extra_cpus: int
    deferred: int
    foreground: int
    cancelled: int
    reasons: tuple[tuple[str, int], ...]
    stalls: tuple[Stall, ...]
    waits: tuple[records.Stall, ...]
    stalled: float
    slowest: tuple[CommandRecord, ...]
    peak_job: CommandRecord | None
    peak_memory: int


def _alone(wall: float, cpu: float, idle: float) -> float:
    return cpu + max(0.0, wall - cpu) * idle


def extra_utilisation(serial: float, parallel: float, cpus: int) -> float | None:
    """(T - Tp) / (T * (1 - 1/N)); None for one CPU, where there is no extra one."""
    if cpus < 2 or serial <= 0:
        return None
    return (serial - parallel) / (serial * (1 - 1 / cpus))


def _stalls(commands: list[CommandRecord]) -> list[Stall]:
    by_number = {command.number: command for command in commands}
    return [
        Stall(
            (c.started - c.issued) / 1e9,
            max(0, c.started - max(c.ready, c.issued)) / 1e9,
            c,
            by_number.get(c.waited_for),
        )
        for c in commands
        if c.verdict != "deferred" and c.started
    ]


def _covered(spans: list[tuple[int, int]]) -> float:
    """Seconds covered by at least one span (ns): under `make -j` stalls overlap."""
    total, end = 0, 0
    for start, stop in sorted(spans):
        total += max(0, stop - max(start, end))
        end = max(end, stop)
    return total / 1e9


def analyse(record: BuildRecord) -> Timing:
    """The model of a finished build."""
    commands = record.commands
    wall = max(1e-9, (record.ended - record.started) / 1e9)
    jobs = [c for c in commands if c.verdict == "deferred" and c.started]
    user = sum(c.user_us for c in jobs) + record.driver_user_us
    system = sum(c.system_us for c in jobs) + record.driver_system_us
    cpu = (user + system + record.server_cpu_us) / 1e6
    utilisation = cpu / (wall * record.cpus)
    idle = max(0.0, 1 - utilisation)
    stalls = sorted(_stalls(commands), key=lambda s: -s.seconds)
    waits = [wait for wait in record.stalls if wait.command < 0 and wait.ended]
    spans = [(s.waiter.issued, s.waiter.started) for s in stalls]
    spans += [(wait.began, wait.ended) for wait in waits]
    stalled = _covered([(start, end) for start, end in spans if end > start])
    paused = Counter[int]()
    for wait in record.stalls:
        if wait.command >= 0:
            paused[wait.command] += max(0, wait.ended - wait.began)
    driver_wall = max(0.0, (record.driver_ended - record.started) / 1e9 - stalled)
    driver_cpu = (record.driver_user_us + record.driver_system_us) / 1e6
    serial = _alone(driver_wall, min(driver_cpu, driver_wall), idle)
    serial += sum(_alone(max(0.0, c.duration - paused[c.number] / 1e9), c.cpu, idle) for c in jobs)
    extra_cpus = min(record.slots, record.cpus)
    memory = [sample.memory for sample in record.samples]
    return Timing(
        wall,
        record.cpus,
        record.slots,
        user / 1e6,
        system / 1e6,
        utilisation,
        serial,
        serial / wall,
        extra_utilisation(serial, wall, extra_cpus),
        extra_cpus,
        sum(c.verdict == "deferred" for c in commands),
        sum(c.verdict != "deferred" for c in commands),
        sum(c.state == "cancelled" for c in commands),
        tuple(Counter(c.reason for c in commands if c.reason).most_common()),
        tuple(s for s in stalls if s.seconds > 0.01)[:5],
        tuple(sorted(waits, key=lambda wait: -wait.duration)[:5]),
        stalled,
        tuple(sorted(jobs, key=lambda c: -c.duration)[:5]),
        max(jobs, key=lambda c: c.max_rss, default=None),
        max(memory, default=0) - min(memory, default=0),
    )
