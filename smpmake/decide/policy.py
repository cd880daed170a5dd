"""From what a command means to how it is run: deferred, in the foreground, or after a barrier.

Pure: settings, an analysis and a view of the context in, a decision out.  Questions that cost
something (who is the parent, is its output captured) are asked only when their answer matters.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from smpmake.commands.model import Analysis, Divides, Kind, Reason
from smpmake.config import Settings
from smpmake.schedule.names import is_product


class Context(Protocol):
    """What the decision may ask about a command's place in the build."""

    def captured(self) -> bool:
        """Whether somebody other than the user gets the command's output."""

    def special_file(self) -> str:
        """An operand that is neither a regular file nor a folder, links followed; "" for none."""

    def linked_output(self) -> str:
        """A file with several names that the command makes, and may write to as it is; "" for
        none.  Nobody waits who reads it by another name."""

    def held_output(self) -> str:
        """An older file that the command writes into while somebody has it open; "" for none.
        Nobody waits who goes on reading it."""

    def missing_folder(self) -> str:
        """The folder of something it makes that is not there; "" for none.  Links are followed."""

    def fresh_source(self) -> bool:
        """Whether the calling script has just written the source, as probes do."""

    def status_is_asked(self) -> bool:
        """Whether the text of a recipe makes something depend on the command's status."""

    def driver_reads_back(self) -> bool:
        """Whether the driver reads dependency files as soon as the command ends."""

    def target_checked(self) -> str:
        """Why the wmake above looks at a command's target as soon as it ends; "" if it does not."""

    def is_pending(self, path: str) -> bool:
        """Whether an unfinished command will write path."""

    def leads_to_pending(self, path: str) -> bool:
        """Whether path is a symbolic link to what an unfinished command will write."""

    def exists_already(self, path: str) -> bool:
        """Whether path is there and no unfinished command will write it."""

    def is_read_by_pending(self, path: str) -> bool:
        """Whether path exists and an unfinished command reads it, or may."""

    def tool_takes_guard(self) -> bool:
        """Whether the real tool will be guarded when it runs in the foreground."""

    def can_be_checked(self) -> bool:
        """Whether what the command writes will be seen, and can be taken back if it is wrong."""

    def inherits_otherwise(self) -> bool:
        """Whether it is run with rights, priorities or namespaces that a job would not have."""

    def is_limited(self) -> bool:
        """Whether the command has a limited time: it is called by `timeout`."""

    def is_in_background(self) -> bool:
        """Whether a shell has started it in the background, and so knows its process."""

    def tracer(self) -> str:
        """The program that wants to see what the command does, as strace; "" for none."""

    def unguarded_caller(self) -> str:
        """The program above the command that has no guard and is no make; "" for none."""


class Decision(NamedTuple):
    """How a command is run.  `reason` is None for a deferred one.

    barrier    wait for everything first.
    light      takes no slot: work for the disk, done in the driver's own time.
    exclusive  runs alone.
    """

    reason: Reason | None
    detail: str = ""
    barrier: bool = False
    light: bool = False
    exclusive: bool = False

    @property
    def deferred(self) -> bool:
        """Whether the shim answers at once."""
        return self.reason is None


def matches(patterns: tuple[str, ...], tool: str, real: str) -> bool:
    """Whether a tool is meant by a name (`gcc`, `arm-*-gcc`) or a path pattern (`/opt/*/bin/*`)."""
    return any(fnmatch.fnmatchcase(real if "/" in p else tool, p) for p in patterns)


def is_of(name: str, tool: str, real: str, words: Sequence[str], analysis: Analysis) -> bool:
    """Whether a command is of a class (`slots`): `link`, `lto`, or a pattern as above, behind which
    a pattern of one of its words may follow (`cc1plus *.pb.cc`)."""
    if name == "link":
        return analysis.kind is Kind.LINK
    if name == "lto":
        return analysis.kind is Kind.LINK and analysis.divides is not Divides.NEVER
    pattern, _, word = name.partition(" ")
    return matches((pattern,), tool, real) and (
        not word or any(fnmatch.fnmatchcase(each, word) for each in words)
    )


def decide(analysis: Analysis, rules: Settings, tool: str, real: str, context: Context) -> Decision:
    """The verdict on one command."""
    if context.inherits_otherwise():
        return Decision(Reason.INHERITED)
    exclusive = bool(rules.exclusive) and matches(rules.exclusive, tool, real)
    special = context.special_file()
    if analysis.kind is Kind.FILE:
        return _decide_file(analysis, rules, context, special)
    reason, detail = analysis.refusal, analysis.detail
    if analysis.kind is Kind.BUILD:
        # One that takes no guard would not see what is pending.
        barrier = rules.guard and not context.tool_takes_guard()
        return Decision(reason, detail, barrier, light=True)
    if reason is None and special:
        reason, detail = Reason.SPECIAL_FILE, special
    if reason is None and rules.foreground and matches(rules.foreground, tool, real):
        reason, detail = Reason.USER_FOREGROUND, tool
    if reason is None:
        reason, detail = _objection(analysis, rules, context)
    # The two ends of a pipe need each other: one must not hold the slot that the other waits for.
    ends = (Reason.READS_STDIN, Reason.WRITES_STDOUT, Reason.CALLERS_FILE)
    # A generator that is no job is what it was before it was known: a program of the driver's.
    light = reason in ends or bool(special) or (analysis.checked and reason is not None)
    barrier = reason is not None and reason.barrier
    if barrier and (analysis.checked or reason is Reason.PENDING_ANSWER):
        # With a guard it waits by itself for what it touches.
        barrier = not (rules.guard and context.tool_takes_guard())
    return Decision(reason, detail, barrier, light, exclusive)


def _decide_file(analysis: Analysis, rules: Settings, context: Context, special: str) -> Decision:
    if analysis.refusal is not None and analysis.refusal is not Reason.NOT_PENDING:
        # A guarded mv, cp or rm waits by itself for exactly what it touches.
        barrier = analysis.refusal.barrier and not (rules.guard and context.tool_takes_guard())
        return Decision(analysis.refusal, analysis.detail, barrier, light=True)
    if special:
        return Decision(Reason.SPECIAL_FILE, special, light=True)
    paths = [*analysis.reads, *(write.path for write in analysis.writes)]
    updated = [write.path for write in analysis.writes if write.in_place]
    if not any(map(context.is_pending, paths)) and not any(map(context.leads_to_pending, updated)):
        return Decision(Reason.NOT_PENDING, light=True)
    awaited = _process_matters(context)
    if awaited is not None:
        return Decision(awaited, light=True)
    tracer = context.tracer()
    if tracer:
        return Decision(Reason.TRACED, tracer, light=True)
    linked = context.linked_output()
    if linked:
        return Decision(Reason.SEVERAL_NAMES, linked, light=True)
    held = context.held_output()
    if held:
        return Decision(Reason.HELD_OPEN, held, light=True)
    folder = context.missing_folder()
    return Decision(Reason.NO_FOLDER, folder, light=True) if folder else Decision(None)


def _makes_one_program(analysis: Analysis) -> bool:
    """Whether it goes from one source to a program in one step, as checks do."""
    reads = analysis.reads
    return analysis.kind is Kind.LINK and len(reads) == 1 and not is_product(reads[0])


def _process_matters(context: Context) -> Reason | None:
    """Why the command's own process is looked at: it must be there for as long as the work."""
    if context.is_limited():
        return Reason.TIME_LIMIT
    return Reason.BACKGROUND if context.is_in_background() else None


def _objection(analysis: Analysis, rules: Settings, context: Context) -> tuple[Reason | None, str]:
    """A reason not to defer an understood command, cheap ones first."""
    if not rules.guard and analysis.kind in (Kind.LINK, Kind.ARCHIVE):
        return Reason.LINK_WAITS, ""
    for write in () if rules.guard else analysis.writes:
        if write.in_place and not write.shared and context.exists_already(write.path):
            return Reason.IN_PLACE, write.path
        if write.target and context.is_read_by_pending(write.path):
            return Reason.IN_PLACE, write.path
    linked = context.linked_output()
    if linked:
        return Reason.SEVERAL_NAMES, linked
    program = context.unguarded_caller()
    if program:
        return Reason.UNGUARDED, program
    tracer = context.tracer()
    if tracer:
        return Reason.TRACED, tracer
    if analysis.checked and not context.can_be_checked():
        return Reason.UNCHECKED, ""
    if context.captured():
        return Reason.CAPTURED_OUTPUT, ""
    awaited = _process_matters(context)
    if awaited is not None:
        return awaited, ""
    if _makes_one_program(analysis) and context.status_is_asked():
        return Reason.STATUS_ASKED, analysis.reads[0]
    looked_at = context.target_checked()
    if looked_at:
        return Reason.CHECKS_TARGETS, looked_at
    if (analysis.included and not rules.guard) or context.driver_reads_back():
        return Reason.DRIVER_READS_BACK, ""
    if not analysis.printed and context.fresh_source():
        return Reason.FRESH_SOURCE, analysis.reads[0] if analysis.reads else ""
    held = context.held_output()
    if held:
        return Reason.HELD_OPEN, held
    folder = context.missing_folder()
    return (Reason.NO_FOLDER, folder) if folder else (None, "")
