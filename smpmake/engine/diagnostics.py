"""What jobs complained of enters their records: counts, and the text for as long as there is room.

Only of jobs: what runs in place prints by itself.
"""

from __future__ import annotations

from typing import Final

from smpmake.commands import messages
from smpmake.engine.build import Build
from smpmake.protocol.working import Result
from smpmake.records import REUSED, CommandRecord
from smpmake.units import plain

_LONGEST: Final = 32 << 10  # bytes of one command's text: what matters stands first
_MOST: Final = 4 << 20  # bytes of a build's


def note(build: Build, record: CommandRecord, result: Result) -> None:
    """A job has ended, and `result` holds what it printed."""
    if record.detail == REUSED:  # known already, and not printed again
        return
    output = result.err + result.out
    record.warnings, record.errors = messages.count(output)
    if (record.warnings or record.errors) and build.said < _MOST:
        record.said = plain(output[:_LONGEST].decode(errors="replace"))
        build.said += len(record.said)


def reuse(record: CommandRecord, again: CommandRecord) -> None:
    """A command gets the results of the same one in a run that was undone."""
    record.detail = REUSED
    record.reads, record.surprises = again.reads, again.surprises
    record.warnings, record.errors, record.said = again.warnings, again.errors, again.said
