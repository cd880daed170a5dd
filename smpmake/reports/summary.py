"""The summary at the end of a build."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from smpmake.commands.model import Reason
from smpmake.records import BuildRecord, CommandRecord
from smpmake.reports import ending, idle, phrases
from smpmake.units import one_line, seconds

if TYPE_CHECKING:
    from smpmake.timing import Timing

_WIDTH = 72
_NOTICES = 5
_NAME = re.compile(r"smpmake: |  (?:extra CPUs|\w+) +")


def short(command: CommandRecord) -> str:
    """A command by what it makes, or else by its beginning."""
    if command.outputs:
        name = os.path.relpath(command.outputs[0], command.cwd)
        return f"{command.tool} {name if not name.startswith('../..') else command.outputs[0]}"
    text = command.command
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def indent(row: str) -> int:
    """Where the text of one of the summary's rows begins, behind its name."""
    name = _NAME.match(row)
    return name.end() if name else 0


def _took(command: CommandRecord, timing: Timing) -> str:
    cpu = f" ({seconds(command.cpu)} of CPU)" if timing.busy else ""
    return f"{seconds(command.duration)}{cpu}"


def headline(record: BuildRecord, timing: Timing) -> str:
    """One line: how much it helped."""
    if not timing.why_not:
        said = phrases.result(timing.wall, timing.best, measured=timing.measured is not None)
        return f"smpmake: {said}"
    why = phrases.untold(timing.why_not, wanted=timing.wanted, parallel=timing.parallel)
    return "; ".join(filter(None, (f"smpmake: built in {seconds(timing.wall)}", why)))


def failed(record: BuildRecord) -> str:
    """The last line of a build whose status is not 0."""
    worked = any(command.reason != Reason.QUERY.value for command in record.commands)
    more = "; `smpmake report` has more" if worked else ""
    return f"smpmake: {ending.of_record(record)}{more}"


def notices(record: BuildRecord) -> list[str]:
    """What a failed build has to say besides."""
    return [one_line(f"smpmake: {notice}") for notice in record.notices[:_NOTICES]]


def unused_engine(record: BuildRecord) -> str:
    """A line that is never left out: what was asked for came to nothing."""
    return one_line(f"smpmake: {record.unused}") if record.unused else ""


def lines(record: BuildRecord, timing: Timing | None, *, anyway: bool = False) -> list[str]:
    """The summary; without figures that of a build in which nothing went through the shims."""
    if timing is None:
        return idle.lines((record.ended - record.started) / 1e9, anyway=anyway)
    rows = [headline(record, timing)]
    used = phrases.used(timing.best, timing.extra_cpus) if not timing.why_not else ""
    rows += [f"  {used}"] if used else []
    why = ", ".join(f"{count} {reason}" for reason, count in timing.reasons[:4])
    cancelled = f", {timing.cancelled} cancelled" if timing.cancelled else ""
    cancelled += f", {timing.undone} undone" if timing.undone else ""
    rows.append(
        f"  commands   {phrases.commands(timing.deferred, timing.foreground)}"
        f"{cancelled}{f' ({why})' if why else ''}"
    )
    rows.append(
        f"  CPU        {timing.user:.1f} s user + {timing.system:.1f} s system, "
        f"{timing.utilisation:.0%} of {phrases.places(timing.slots, timing.cpus)}"
    )
    if timing.elsewhere:
        rows.append(f"  elsewhere  {phrases.elsewhere(timing.elsewhere)}")
    if timing.slowest:
        shown = "; ".join(f"{_took(c, timing)} {short(c)}" for c in timing.slowest[:3])
        rows.append(f"  slowest    {shown}")
    if timing.peak_job is not None:
        rows.append(
            f"  memory     {timing.peak_job.max_rss / 1024:.0f} MiB at most in one job "
            f"({short(timing.peak_job)}), "
            f"{timing.peak_memory / 2**20:.0f} MiB more in use at the peak"
        )
    programs = sorted({command.unguarded for command in record.commands if command.unguarded})
    if programs:
        rows.append(f"  unguarded  {', '.join(programs)}: takes no guard, so less ran in parallel")
    surprises = sum(len(command.surprises) for command in record.commands)
    if surprises:
        rows.append(f"  surprises  {surprises}: jobs did what their command lines did not say")
    rows += [f"  notice     {notice}" for notice in record.notices[:_NOTICES]]
    rows += [unused] if (unused := unused_engine(record)) else []
    return [one_line(row) for row in rows]


def failures(record: BuildRecord) -> bytes:
    """Each failed command, its folder, output and status (promise P2: shown once, last)."""
    pieces = []
    for failure in sorted(record.failures, key=lambda f: f.record.number):
        output = failure.output
        if output and not output.endswith(b"\n"):
            output += b"\n"
        pieces.append(
            f"smpmake: failed: {one_line(failure.record.brief)}\n"
            f"  in {one_line(failure.record.cwd)}\n".encode(errors="replace")
            + output
            + f"  {failure.why}\n".encode()
        )
    return b"".join(pieces)
