"""What is remembered of a build and of each of its commands.  Values only."""

from __future__ import annotations

import enum
import posixpath
import shlex
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

REUSED = "reused"  # as the detail: its results are those of a run that was undone
GIVEN_BACK = "given back"  # the same: they, or some of them, were remembered (session/memo)
NOT_RUN = (REUSED, GIVEN_BACK)  # its times are none of the tool's
WAITED_FOR = "waited for "  # the same, and which slots: as many of its class ran as may (`slots`)
DIVIDED = "divided"  # the same: it had idle slots for more processes than it has serially


class WhyNot(enum.StrEnum):
    """Why nobody is told by how much smpmake helped; the first that is true.

    parallel-driver  something ran its commands in parallel already.
    no-jobs          smpmake ran no command in parallel.
    short            starting and ending is too much of it.
    remembered       earlier builds had done a part of it.
    busy             others wanted too much of the machine.
    """

    RUNNING = "running"
    KILLED = "killed"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    PARALLEL_DRIVER = "parallel-driver"
    NO_JOBS = "no-jobs"
    SHORT = "short"
    REMEMBERED = "remembered"
    BUSY = "busy"


#: What is remembered of a command, in the order of its row (`to_row`).
FIELDS: Final = (
    *("number", "tool", "kind", "verdict", "reason", "detail", "cwd", "argv", "outputs"),
    *("issued", "ready", "started", "ended", "slot", "light", "status", "state", "waited_for"),
    *("user_us", "system_us", "max_rss", "minor_faults", "major_faults", "voluntary"),
    *("involuntary", "unguarded", "reads", "surprises", "inputs", "delay_us", "program"),
    *("warnings", "errors", "said", "host", "sent", "missed"),
)


class CommandRecord:
    """One command.  Times: monotonic clock, ns; 0 where it never came to that point.

    columns.py says of its fields what reports tell.  Beside that:

    reason      the value of a commands.model.Reason.
    status      None where unknown (foreground: the driver knows), or never run.
    detail      what the reason is about; or REUSED, GIVEN_BACK, DIVIDED or
                WAITED_FOR and more.
    waited_for  number of the command that cleared its last hazard, -1 for none.
    max_rss     KiB, of the largest process in it.
    unguarded   the program above it that has no guard, or its own where that takes none; "" where
                all have one.
    inputs      what its command line says that it reads.
    reads       files of its own that a guarded job was seen to read (not the system's).
    warnings, errors  -1 where nobody saw its output (in place).
    missed      why smpmake had no remembered result of it; "" if it had, or did not look.
    said        that output, or its beginning, if there were any.
    """

    __slots__ = FIELDS

    def __init__(
        self,
        number: int,
        tool: str,
        kind: str,
        verdict: str,
        reason: str,
        detail: str,
        cwd: str,
        argv: bytes,
        outputs: tuple[str, ...] = (),
    ) -> None:
        self.number = number
        self.tool = tool
        self.kind = kind
        self.verdict = verdict
        self.reason = reason
        self.detail = detail
        self.cwd = cwd
        self.argv = argv
        self.outputs = outputs
        self.issued = 0
        self.ready = 0
        self.started = 0
        self.ended = 0
        self.slot = -1
        self.light = False
        self.status: int | None = None
        self.state = ""
        self.waited_for = -1
        self.user_us = 0
        self.system_us = 0
        self.max_rss = 0
        self.minor_faults = 0
        self.major_faults = 0
        self.voluntary = 0
        self.involuntary = 0
        self.unguarded = ""
        self.reads: tuple[str, ...] = ()
        self.surprises: tuple[str, ...] = ()
        self.inputs: tuple[str, ...] = ()
        self.delay_us = -1
        self.program = ""
        self.warnings = -1
        self.errors = -1
        self.said = ""
        self.host = ""
        self.sent = 0
        self.missed = ""

    @property
    def command(self) -> str:
        """The command line as a person would type it."""
        return shlex.join(self.words)

    @property
    def brief(self) -> str:
        """See the function of that name."""
        return brief(self.command, self.tool, self.outputs, self.cwd)

    @property
    def words(self) -> list[str]:
        """The command line, word by word."""
        return [word.decode(errors="replace") for word in self.argv[:-1].split(b"\0")]

    @property
    def duration(self) -> float:
        """Seconds from start to end."""
        return max(0, self.ended - self.started) / 1e9 if self.started else 0.0

    @property
    def elsewhere(self) -> float:
        """Seconds for which another machine had it."""
        return max(0, self.ended - self.sent) / 1e9 if self.sent else 0.0

    @property
    def cpu(self) -> float:
        """Seconds of CPU, user and system."""
        return (self.user_us + self.system_us) / 1e6

    @property
    def by_worker(self) -> bool:
        """Whether a worker ran it, so that its CPU time is no part of the driver's.

        Workers alone tell how much memory a command needed: of one in place the shim tells the CPU
        time, as of one whose result it has given back by itself.
        """
        return self.max_rss > 0


def brief(command: str, tool: str, outputs: Sequence[str], cwd: str) -> str:
    """The command line; of a recipe's line, which is long and a shell's, what it makes by what."""
    if not outputs or command.partition(" ")[0].rpartition("/")[2] == tool:
        return command
    return f"{tool} {posixpath.relpath(outputs[0], cwd)}"


class Past(NamedTuple):
    """What a command took when it last ran: seconds (all, of CPU, on another machine), KiB."""

    seconds: float
    cpu: float
    max_rss: int
    elsewhere: float = 0.0


class Failure:
    """A deferred command that failed, with what it printed, and how in words (status, signal)."""

    __slots__ = ("output", "record", "why")

    def __init__(self, record: CommandRecord, output: bytes, why: str) -> None:
        self.record = record
        self.output = output
        self.why = why


class Stall:
    """Somebody waited for pending commands.  Times: monotonic clock, ns.

    who          the program that waited; cause what it was about to do (options.CAUSES) to `path`.
    waited_for   number of the last command it waited for, and how many they were (count).
    command      number of the job that it belonged to, -1 for the driver's own process.
    """

    __slots__ = ("began", "cause", "command", "count", "ended", "path", "waited_for", "who")

    def __init__(
        self,
        who: str,
        cause: str,
        path: str,
        waited_for: int,
        count: int,
        command: int = -1,
        began: int = 0,
        ended: int = 0,
    ) -> None:
        self.who = who
        self.cause = cause
        self.path = path
        self.waited_for = waited_for
        self.count = count
        self.command = command
        self.began = began
        self.ended = ended

    @property
    def duration(self) -> float:
        """Seconds."""
        return max(0, self.ended - self.began) / 1e9

    def values(self) -> tuple[Any, ...]:
        """All of it, as it is made from."""
        known = (self.who, self.cause, self.path, self.waited_for, self.count)
        return (*known, self.command, self.began, self.ended)


class Sample(NamedTuple):
    """The machine since the sample before: seconds into the build, CPU busy (0..1), memory in use
    (bytes).

    held      jobs that had a slot and did not start, because memory was short.
    stolen    share of the CPUs (part of `cpu`) that the host of a virtual machine kept.
    pressure  share of the time in which somebody waited for a CPU; -1 where nobody measures it.
    """

    at: float
    cpu: float
    memory: int
    done: int
    running: int
    queued: int
    held: int = 0
    stolen: float = 0.0
    pressure: float = -1.0


class Compiler(NamedTuple):
    """A compiler that a build called: by which name, its file, and what it says of its version.

    stamp  changes when the file does.
    """

    name: str
    path: str
    version: str
    stamp: str = ""


class Surroundings(NamedTuple):
    """Where a build ran; all empty where nobody noted it.

    cpu      the model; cpus how many the computer has (a build may use fewer).
    threads  some of these are threads of one core.
    kernel   its name, release and machine; system the distribution.
    options  what was decided otherwise than by default: "jobs=4", "no-guard".
    """

    host: str = ""
    cpu: str = ""
    cpus: int = 0
    kernel: str = ""
    system: str = ""
    options: tuple[str, ...] = ()
    compilers: tuple[Compiler, ...] = ()
    threads: bool = False


class BuildRecord:
    """One build.  Times in ns on the monotonic clock, CPU in microseconds.

    id        its number in the history, 0 outside of it.
    ended     0 while it runs, and for ever if smpmake was killed (`complete`).
    running   whether the smpmake that runs it is there now.
    runs      how often the driver was run: more than once where a promise was wrong.
    driver_started  when its last run began, or the first whose work was not undone.
    again_us  CPU of the driver's runs that were undone.
    watched   how many CPUs the samples are about; 0 where that is not known.
    calibration  CPU time of its commands in builds with one slot / here; None: there was none.
    status    smpmake's exit status; driver_status that of the driver alone (-1: never ended).
    serial    seconds of the same build without smpmake, where somebody measured it.
    estimate  seconds of serial work in it at least, by the timing model; estimate_most: at most.
    why_not   why nobody is told a speed-up (WhyNot), "" where one is told; None: unknown.
    parallel  what ran its commands in parallel already ("make -j2"), "" where nothing did.
    unused    that the engine of other machines compiled nothing, and why; else "".
    again_at  when the driver's last run began, if it was run more than once; else 0.
    memory    bytes that the machine has.
    failures  promises of success that were wrong, and stayed so.
    reported  other failures: the driver learned of them, by waiting or in another run.
    surroundings  where it ran.
    by_shims  no smpmake ran the driver: its status is not known, nor all of its CPU time.
    """

    def __init__(
        self,
        command: list[str],
        cwd: str,
        slots: int,
        cpus: int,
        version: str,
        *,
        started: int = 0,
        wall_clock: float = 0.0,
    ) -> None:
        self.command = command
        self.cwd = cwd
        self.slots = slots
        self.cpus = cpus
        self.version = version
        self.started = started
        self.driver_ended = 0
        self.ended = 0
        self.wall_clock = wall_clock
        self.status = -1
        self.driver_status = -1
        self.runs = 1
        self.driver_user_us = 0
        self.driver_system_us = 0
        self.driver_max_rss = 0
        self.driver_started = 0
        self.again_us = 0
        self.watched = 0
        self.calibration: float | None = None
        self.server_cpu_us = 0
        self.serial: float | None = None
        self.estimate: float | None = None
        self.estimate_most: float | None = None
        self.why_not: str | None = None
        self.parallel = ""
        self.unused = ""
        self.again_at = 0
        self.memory = 0
        self.complete = True
        self.running = False
        self.by_shims = False
        self.surroundings = Surroundings()
        self.id = 0
        self.commands: list[CommandRecord] = []
        self.failures: list[Failure] = []
        self.reported: list[Failure] = []
        self.samples: list[Sample] = []
        self.stalls: list[Stall] = []
        self.notices: list[str] = []

    @property
    def known_status(self) -> int | None:
        """None where it has not ended, or nobody heard what its driver made of it."""
        return self.status if self.complete and (self.status or not self.by_shims) else None


def to_row(record: CommandRecord) -> list[Any]:
    """A command as a JSON-able list."""
    row: list[Any] = [getattr(record, name) for name in FIELDS]
    row[_ARGV] = record.argv.decode("utf-8", "surrogateescape")
    return row


def from_row(row: Sequence[Any]) -> CommandRecord:
    """The inverse of `to_row`."""
    values = list(row)
    values[_ARGV] = values[_ARGV].encode("utf-8", "surrogateescape")
    for at in _TUPLES:
        values[at] = tuple(values[at])
    return command_record(zip(FIELDS, values, strict=False))


def command_record(values: Iterable[tuple[str, Any]]) -> CommandRecord:
    """A command of which these fields are known."""
    record = CommandRecord(-1, "", "", "", "", "", "", b"")
    for name, value in values:
        setattr(record, name, value)
    return record


_ARGV = FIELDS.index("argv")
#: What is not known of a command at first: by field, what it is until then.
UNKNOWN: Final = {name: getattr(command_record(()), name) for name in FIELDS[_ARGV + 1 :]}
_TUPLES = [FIELDS.index(name) for name, value in UNKNOWN.items() if value == ()]
