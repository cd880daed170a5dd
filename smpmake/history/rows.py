"""Records as rows of the history, and back."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from smpmake.columns import STORED
from smpmake.history.schema import TYPES
from smpmake.records import (
    BuildRecord,
    CommandRecord,
    Compiler,
    Failure,
    Stall,
    Surroundings,
    command_record,
)
from smpmake.units import plain

#: Of the tables, in the order of the records' fields; of commands: columns.py.
COMMAND: Final = tuple(column.stored for column in STORED)
STALL: Final = ("who", "cause", "path", "waited_for", "count", "command", "began_ns", "ended_ns")
SAMPLE: Final = (
    *("at_s", "cpu", "memory", "done", "running", "queued", "held", "stolen", "pressure"),
)
BUILD: Final = (
    *("cwd", "command", "wall_clock", "wall_ns", "driver_ns", "slots", "cpus", "status"),
    *("driver_user_us", "driver_system_us", "server_cpu_us", "version", "pid", "pid_start"),
    *("runs", "driver_status", "driver_max_rss_kib", "serial_s", "estimate_s", "memory"),
    *("notices", "by_shims", "driver_started_ns", "again_us", "watched", "calibration"),
    *("surroundings", "estimate_most_s", "why_not", "parallel", "again_at_ns"),
    "unused",
)

#: Makes text fit to be stored (redact.Redactor); the bytes of an argv too.
Clean = Callable[[str], str]


def insertion(table: str, names: Sequence[str]) -> str:
    """The statement that writes a row, or writes it again."""
    marks = ", ".join("?" * len(names))
    return f"insert or replace into {table} ({', '.join(names)}) values ({marks})"


def storable(text: str) -> str:
    """Text without the stand-ins for bytes that are no UTF-8."""
    return text.encode("utf-8", "replace").decode()


def since(start: int, time: int) -> int:
    """A monotonic time as one from the build's start; 0 stays "never"."""
    return max(1, time - start) if time else 0


def command_row(
    build: int,
    command: CommandRecord,
    start: int,
    file_id: Callable[[str], int],
    argv: Callable[[bytes], bytes],
    clean: Clean,
) -> list[object]:
    """A row of table command."""
    made: dict[str, Callable[[Any], object]] = {
        "time": lambda value: since(start, value),
        "words": argv,
        "text": storable,
        "printed": lambda value: storable(clean(value)),
        "texts": lambda value: json.dumps([storable(each) for each in value]),
        "paths": lambda value: json.dumps([file_id(each) for each in value], separators=(",", ":")),
    }
    values = ((column.kind, getattr(command, column.name)) for column in STORED)
    return [build, *(made[kind](value) if kind in made else value for kind, value in values)]


def command(values: Sequence[Any], files: Mapping[int, str]) -> CommandRecord:
    """The inverse of `command_row`, without the build's id.  Raises ValueError."""
    if values[COMMAND.index("number")] is None:
        raise ValueError("a command has no number")
    made: dict[str, Callable[[Any], Any]] = {
        "texts": lambda value: tuple(_texts(value)),
        "paths": lambda value: tuple(files[each] for each in _numbers(value) if each in files),
        "flag": bool,
    }
    return command_record(
        (column.name, made[column.kind](value) if column.kind in made else value)
        for column, value in zip(STORED, checked("command", COMMAND, values), strict=True)
    )


# ---------------------------------------------------------------------- what somebody may have put


def checked(table: str, names: tuple[str, ...], values: Sequence[Any]) -> Sequence[Any]:
    """Values of a row, if they are what its table declares.  Raises ValueError."""
    wrong = _wrong(table, names, tuple(map(type, values)))
    for value in values if not wrong else ():
        if type(value) is float and not math.isfinite(value):
            wrong = names[values.index(value)]
    if wrong:
        raise ValueError(f"a {wrong} of table {table} is no {TYPES[table][wrong]}")
    return values


@functools.cache  # most rows of a table have the same
def _wrong(table: str, names: tuple[str, ...], types: tuple[type, ...]) -> str:
    """The first column whose value is of another type; or none."""
    for name, kind in zip(names, types, strict=True):
        declared, _, needed = TYPES[table][name].partition(" ")
        if kind not in _KINDS[declared] and (needed or kind is not type(None)):
            return name
    return ""


_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "integer": (int,),
    "real": (int, float),
    "text": (str,),
    "blob": (bytes,),
}


def number(value: Any) -> float:
    """A figure that SQLite has worked out.  Raises ValueError."""
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError("a time is no number")
    return value


def _texts(value: str) -> list[str]:
    return _all(value, str)


def _numbers(value: str) -> list[int]:
    return _all(value, int)


def _all(value: str, kind: type) -> list[Any]:
    """A list of JSON's, of one kind.  Raises ValueError."""
    found = _json(value)
    if not isinstance(found, list) or not all(isinstance(each, kind) for each in found):
        raise ValueError("a list has something else in it")
    return found


def _json(value: str) -> Any:
    try:
        return json.loads(value)
    except RecursionError:
        raise ValueError("lists in lists without end") from None


def stall_row(build: int, stall: Stall, start: int) -> list[object]:
    """A row of table stall."""
    texts = [storable(text) for text in (stall.who, stall.cause, stall.path)]
    times = [since(start, stall.began), since(start, stall.ended)]
    return [build, *texts, stall.waited_for, stall.count, stall.command, *times]


def failure_row(
    build: int, failure: Failure, clean: Clean, longest: int, reported: bool
) -> list[object]:
    """A row of table failure, with the last `longest` bytes of what was printed."""
    # Cut first, with a margin: what is cut off need not be looked through.
    output = clean(plain(failure.output[-longest - 4096 :].decode("utf-8", "surrogateescape")))
    kept = output.encode("utf-8", "surrogateescape")[-longest:]
    return [build, failure.record.number, failure.why, kept, int(reported)]


def build_row(
    record: BuildRecord, command: list[str], now: int, pid: int, pid_start: int, clean: Clean
) -> list[object]:
    """A row of table build without its id.

    command: the driver's, without secrets; now: the monotonic clock; pid: 0 once it has ended.
    """
    start = record.started
    return [
        storable(record.cwd),
        json.dumps([storable(word) for word in command]),
        record.wall_clock,
        (record.ended or now) - start,
        since(start, record.driver_ended),
        *(record.slots, record.cpus, record.status),
        *(record.driver_user_us, record.driver_system_us, record.server_cpu_us, record.version),
        *(pid, pid_start, record.runs, record.driver_status, record.driver_max_rss),
        *(record.serial, record.estimate, record.memory),
        json.dumps([storable(clean(notice)) for notice in record.notices]),
        int(record.by_shims),
        *(since(start, record.driver_started), record.again_us, record.watched),
        record.calibration,
        json.dumps(_cleaned(_fields(record.surroundings), clean)),
        *(record.estimate_most, record.why_not, storable(record.parallel)),
        since(start, record.again_at),
        storable(clean(record.unused)),
    ]


def _cleaned(value: Any, clean: Clean) -> Any:
    """The same with all its texts fit to be stored."""
    if isinstance(value, dict):
        return {name: _cleaned(each, clean) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(each, clean) for each in value]
    return storable(clean(value)) if isinstance(value, str) else value


def _fields(surroundings: Surroundings) -> dict[str, Any]:
    return surroundings._asdict() | {"compilers": [c._asdict() for c in surroundings.compilers]}


def _surroundings(value: str) -> Surroundings:
    try:
        fields = dict(_json(value))
        compilers = tuple(Compiler(**each) for each in fields.pop("compilers", ()))
        options = tuple(fields.pop("options", ()))
        found = Surroundings(**fields, options=options, compilers=compilers)
    except (TypeError, AttributeError):
        found = None
    usual = Surroundings()
    if (
        found is None
        or not all(type(one) is type(other) for one, other in zip(found, usual, strict=True))
        or not all(isinstance(text, str) for each in (options, *compilers) for text in each)
    ):
        raise ValueError("the surroundings are none")
    return found


def start_of(pid: int) -> int:
    """When a process started, in clock ticks since boot; 0 if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def build(number: int, values: Sequence[Any]) -> BuildRecord:
    """A build without its commands; its clock starts at 0.  Raises ValueError."""
    v = dict(zip(BUILD, checked("build", BUILD, values), strict=True))
    record = BuildRecord(_texts(v["command"]), v["cwd"], v["slots"], v["cpus"], v["version"])
    if not record.command or record.slots < 1 or record.cpus < 1:
        raise ValueError("a build has no command, no slots or no CPUs")
    record.driver_ended = v["driver_ns"]
    record.ended = v["wall_ns"]
    record.wall_clock = v["wall_clock"]
    record.status = v["status"]
    record.driver_status = v["driver_status"]
    record.runs = v["runs"]
    record.driver_user_us = v["driver_user_us"]
    record.driver_system_us = v["driver_system_us"]
    record.driver_max_rss = v["driver_max_rss_kib"]
    record.server_cpu_us = v["server_cpu_us"]
    record.serial = v["serial_s"]
    record.estimate = v["estimate_s"]
    record.memory = v["memory"]
    record.complete = v["pid"] == 0
    record.running = v["pid"] != 0 and start_of(v["pid"]) == v["pid_start"]
    record.notices = _texts(v["notices"])
    record.by_shims = bool(v["by_shims"])
    record.driver_started = v["driver_started_ns"]
    record.again_us = v["again_us"]
    record.watched = v["watched"]
    record.calibration = v["calibration"]
    record.surroundings = _surroundings(v["surroundings"])
    record.estimate_most = v["estimate_most_s"]
    record.why_not = v["why_not"]
    record.parallel = v["parallel"]
    record.again_at = v["again_at_ns"]
    record.unused = v["unused"]
    record.id = number
    return record
