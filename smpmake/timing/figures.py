"""One model of a finished build; every report prints this model and nothing else.

Definitions (docs/reports.md):

- CPU utilisation: CPU seconds of everything / (wall x usable CPUs).
- Serial estimate: the driver's own work plus every command's, each by itself (serial.py): its CPU
  time, and of its waiting that part which was not waiting for a CPU (load.py).  It is a range
  (uncertainty.py).  A measured serial time stands beside it and never in its place.
- Speed-up: serial time / wall, with the ends of that range.  Where it would mean nothing it is told
  nobody, and `why_not` says why (gain.py).
- Efficiency, of the extra CPUs: (speed-up - 1) / (N - 1), N CPUs used.
- Critical path: the build on a machine without limits, and without others (replay.py).
- Lower bound: max(critical path, CPU time of the work / N).
"""

from __future__ import annotations

import posixpath
from collections import Counter, defaultdict
from itertools import pairwise
from typing import NamedTuple

from smpmake import records
from smpmake.records import BuildRecord, CommandRecord
from smpmake.timing import gain, replay, spans, uncertainty
from smpmake.timing.gain import Ends
from smpmake.timing.graph import build_graph, is_job
from smpmake.timing.serial import Serial, serial
from smpmake.timing.spans import Concurrency, Timeline

INFINITE = float("inf")
#: An efficiency may come out so large and still be whole.
_ROUNDING = 1.02


class Wait(NamedTuple):
    """A foreground command that waited: seconds, and the command that it waited for at last.

    for_slot  how much of it was waiting for a free slot, after the last hazard had cleared.
    """

    seconds: float
    for_slot: float
    waiter: CommandRecord
    cause: CommandRecord | None


class Elsewhere(NamedTuple):
    """What another machine did: how many compiles, and seconds from their sending to their end."""

    host: str
    compiles: int
    seconds: float


class Against(NamedTuple):
    """A serial time in seconds, and what the build was against it.

    efficiency  of the extra CPUs; None where nothing can be said of it (`_against`).
    """

    seconds: Ends
    speedup: Ends
    efficiency: Ends | None


class Timing(NamedTuple):
    """See the module's docstring.  Seconds and bytes.

    user, system, server  CPU of driver and jobs, and of smpmake itself.
    measured    against a serial build that somebody measured, or None.
    waits       foreground commands that waited; stalls: processes that a guard made wait.
    stalled     how long the driver stood still, all in all; by cause in `causes`.
    queue_wait  job seconds between ready and started.
    elsewhere   what other machines did, the busiest first.
    held        seconds in which memory kept a job from starting.
    closeness   lower bound / wall: 1 is as good as this machine can do with this build.  None
                beside other programs: then the wall time is theirs too.
    others      share of the CPUs that other programs took (load.py), None where nobody knows;
                stolen: that a virtual machine's host did; wanted: what both wanted, at most 1.
    busy        they wanted so much that nothing can be said of speed.
    why_not     why nobody is told a speed-up (gain.py); "" where one is told.
    parallel    what ran its commands in parallel without us, "" where nothing did.
    """

    wall: float
    cpus: int
    slots: int
    user: float
    system: float
    server: float
    utilisation: float
    estimated: Against
    measured: Against | None
    extra_cpus: int
    deferred: int
    foreground: int
    cancelled: int
    undone: int
    reasons: tuple[tuple[str, int], ...]
    waits: tuple[Wait, ...]
    stalls: tuple[records.Stall, ...]
    stalled: float
    causes: tuple[tuple[str, int, float], ...]
    queue_wait: float
    elsewhere: tuple[Elsewhere, ...]
    held: float
    work: float
    critical_path: float
    lower_bound: float
    closeness: float | None
    others: float | None
    stolen: float
    wanted: float
    busy: bool
    why_not: str
    parallel: str
    slowest: tuple[CommandRecord, ...]
    peak_job: CommandRecord | None
    peak_memory: int
    concurrency: Concurrency
    line: Timeline
    serial: Serial

    @property
    def best(self) -> Against:
        """Against the measured serial time if there is one, else the estimate."""
        return self.measured or self.estimated


def ancestors_share(serial: float, parallel: float, cpus: int) -> float | None:
    """(T - Tp) / (T * (1 - 1/N)), the figure of the hack that smpmake descends from: of the time
    that N CPUs could have saved, the share that was.  None for one CPU."""
    if cpus < 2 or serial <= 0:
        return None
    return (serial - parallel) / (serial * (1 - 1 / cpus))


def efficiency(speedup: float, cpus: int) -> float | None:
    """(speed-up - 1) / (N - 1): the share of the extra CPUs that was gained; None for one CPU."""
    return (speedup - 1) / (cpus - 1) if cpus > 1 else None


def _against(seconds: Ends, record: BuildRecord, wall: float) -> Against:
    """Of the extra CPUs nothing is said that their CPU time does not bear out: with more slots than
    CPUs (what sleeps needs none), with other machines, or where more was gained than there are."""
    speedup = Ends(seconds.low / wall, seconds.high / wall)
    extra = min(record.slots, record.cpus)
    shares = [efficiency(each, extra) for each in speedup]
    known = [min(1.0, each) for each in shares if each is not None and each <= _ROUNDING]
    tells = len(known) == len(shares) and record.slots <= record.cpus
    if any(command.sent for command in record.commands):
        tells = False
    return Against(seconds, speedup, Ends(*known) if tells else None)


def _estimated(record: BuildRecord, work: Serial, together: Concurrency) -> Ends:
    return Ends(uncertainty.least(record, work, together), work.work)


def _waits(commands: list[CommandRecord]) -> list[Wait]:
    by_number = {command.number: command for command in commands}
    return [
        Wait(
            (c.started - c.issued) / 1e9,
            max(0, c.started - max(c.ready, c.issued)) / 1e9,
            c,
            by_number.get(c.waited_for),
        )
        for c in commands
        if c.verdict != "deferred" and c.started
    ]


def _causes(record: BuildRecord, waits: list[Wait]) -> tuple[tuple[str, int, float], ...]:
    """Each cause of stalls with how often it was, and its seconds, which may overlap."""
    counts: Counter[str] = Counter()
    seconds: dict[str, float] = defaultdict(float)
    for stall in record.stalls:
        if stall.command < 0 and stall.ended:
            counts[stall.cause] += 1
            seconds[stall.cause] += stall.duration
    for wait in waits:
        if wait.seconds > 0.001:
            cause = "waits for a slot" if wait.for_slot > wait.seconds / 2 else "needs its inputs"
            counts[cause] += 1
            seconds[cause] += wait.seconds
    order = sorted(counts, key=lambda cause: -seconds[cause])
    return tuple((cause, counts[cause], seconds[cause]) for cause in order)


def _elsewhere(commands: list[CommandRecord]) -> tuple[Elsewhere, ...]:
    found: dict[str, Elsewhere] = {}
    for command in commands:
        if command.host and command.state != "undone":
            before = found.get(command.host, Elsewhere(command.host, 0, 0.0))
            found[command.host] = Elsewhere(
                command.host, before.compiles + 1, before.seconds + command.elsewhere
            )
    return tuple(sorted(found.values(), key=lambda each: -each.seconds))


def _held(record: BuildRecord) -> float:
    samples = record.samples
    return sum(after.at - before.at for before, after in pairwise(samples) if before.held)


def analyse(record: BuildRecord) -> Timing:
    """The model of a build."""
    commands = record.commands
    line = spans.timeline(record)
    jobs = [c for c in commands if c.by_worker or is_job(c)]
    user = sum(c.user_us for c in jobs if c.by_worker) + record.driver_user_us
    system = sum(c.system_us for c in jobs if c.by_worker) + record.driver_system_us
    cpu = (user + system + record.server_cpu_us) / 1e6
    utilisation = cpu / (line.wall * record.cpus)
    work = serial(record, line)
    waits = sorted(_waits(commands), key=lambda wait: -wait.seconds)
    stalls = [stall for stall in record.stalls if stall.command < 0 and stall.ended]
    graph = build_graph(record, line, work)
    extra_cpus = min(record.slots, record.cpus)
    critical = replay.play(graph, INFINITE, INFINITE).seconds
    bound = max(critical, work.cpu / extra_cpus)
    memory = [sample.memory for sample in record.samples]
    together = spans.concurrency(record, line)
    measured = record.serial
    deferred = sum(c.verdict == "deferred" and c.state != "undone" for c in commands)
    parallel = record.parallel
    if work.parallel and not deferred:
        parallel = parallel or posixpath.basename(record.command[0])
    return Timing(
        line.wall,
        record.cpus,
        record.slots,
        user / 1e6,
        system / 1e6,
        record.server_cpu_us / 1e6,
        utilisation,
        _against(_estimated(record, work, together), record, line.wall),
        _against(Ends(measured, measured), record, line.wall) if measured is not None else None,
        extra_cpus,
        deferred,
        sum(c.verdict != "deferred" and c.state != "undone" for c in commands),
        sum(c.state == "cancelled" for c in commands),
        sum(c.state == "undone" for c in commands),
        tuple(Counter(c.reason for c in commands if c.reason).most_common()),
        tuple(wait for wait in waits if wait.seconds > 0.01),
        tuple(sorted(stalls, key=lambda stall: -stall.duration)),
        spans.length(line.stalled),
        _causes(record, waits),
        spans.queue_wait(commands),
        _elsewhere(commands),
        _held(record),
        work.work,
        critical,
        bound,
        min(1.0, bound / line.wall) if not work.load.busy else None,
        work.load.others,
        work.load.stolen,
        work.load.elsewhere,
        work.load.busy,
        gain.why_not(record, line.wall, deferred=deferred, parallel=parallel, busy=work.load.busy),
        parallel,
        tuple(sorted(jobs, key=lambda c: -c.duration)),
        max(jobs, key=lambda c: c.max_rss, default=None),
        max(memory, default=0) - (memory[0] if memory else 0),
        together,
        line,
        work,
    )
