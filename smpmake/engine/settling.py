"""When a promise counts as kept: with what the recipe around it has made of its result.

A build that is interrupted is taken back to where its first unfinished command was issued.  Behind
a compile whose recipe prints its dependency file into another one there would be an object that
make takes for the whole recipe's result, and nothing that makes the other file again.  So the
compile ends, as far as undoing goes, when the small commands have that read its outputs.
"""

from __future__ import annotations

from collections.abc import Iterable

from smpmake.commands.model import Kind
from smpmake.engine.command import Command, command_of
from smpmake.schedule.hazards import Hazards
from smpmake.undo.journal import UndoJournal

#: Kinds of commands that recipes go on with; links and compiles have targets of their own.
_SMALL = (Kind.INSPECT, Kind.FILE)


def issued(command: Command, reads: Iterable[str], hazards: Hazards) -> None:
    """A command is about to be issued; `reads` are canonical paths."""
    if command.record.kind in _SMALL or command.prints:
        makers = {job for path in reads for job in hazards.writers(path)}
        command.rests_on = tuple(map(command_of, makers))
        for each in command.rests_on:
            each.carries += 1


def fulfilled(command: Command, journal: UndoJournal) -> None:
    """A command has done what was promised."""
    command.is_kept = True
    _settle(command, journal)


def release(command: Command, journal: UndoJournal) -> None:
    """A command has ended; those that it rests on need not wait for it."""
    below, command.rests_on = command.rests_on, ()
    for each in below:
        each.carries -= 1
        _settle(each, journal)


def _settle(command: Command, journal: UndoJournal) -> None:
    if command.is_kept and not command.carries:
        journal.ended(command.record.number)
        release(command, journal)
