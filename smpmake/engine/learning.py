"""Recipes' lines that are learnt: watched in one build, promised in the next, and checked.

A line that is not understood runs where it stands, and its guards note what it does; what was
deferred of its commands is added when these have ended.  In a later build the same line is a job.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
from collections.abc import Iterable
from typing import Final

from smpmake.commands import families
from smpmake.commands.model import Analysis
from smpmake.decide.learnt import (
    TRIES,
    WORTH_MS,
    Doubt,
    Effects,
    Event,
    Lesson,
    analysis_of,
    difference,
    digest_of_line,
    is_to_be_learnt,
    lesson_of,
    runs_tests,
)
from smpmake.decide.procfs import Processes
from smpmake.disk.paths import Paths
from smpmake.engine.build import Build
from smpmake.engine.clock import Clock
from smpmake.engine.command import Command
from smpmake.guard.scoreboard import Scoreboard, line_hash
from smpmake.guard.traces import Traces
from smpmake.protocol.wire import Invoke
from smpmake.schedule.hazards import Hazards

#: One in so many descriptors for a line that is watched, which takes two until it has ended: others
#: that call must be let in, or it may never end.
_SHARE: Final = 16


class _Line:
    """One that is watched: its own events, and between them those of its deferred commands."""

    def __init__(
        self,
        build: Build,
        digest: str,
        mark: int,
        known: Lesson | Doubt | None,
        began: int,
        *,
        doubted: bool,
    ) -> None:
        self.build = build
        self.digest = digest
        self.mark = mark
        self.lesson = known if isinstance(known, Lesson) else None  # that is to be checked
        self.tries = known.tries if isinstance(known, Doubt) else 0  # builds that learnt nothing
        self.began = began
        self.ms = 0
        self.pieces: list[Command | list[Event]] = []
        self.seen = 0  # bytes of notes that are in pieces
        self.open = True
        self.ok = False  # it has ended with status 0
        self.whole = True
        self.awaited = 0  # commands that have not ended
        self.doubted = doubted  # it has failed as a job


class Learning:
    """One per engine.  `traces` are of its own: their numbers are lines', not slots'."""

    def __init__(
        self,
        traces: Traces,
        hazards: Hazards,
        paths: Paths,
        board: Scoreboard,
        clock: Clock,
        processes: Processes,
    ) -> None:
        self._traces = traces
        self._hazards = hazards
        self._paths = paths
        self._board = board
        self._clock = clock
        self._processes = processes
        self._is_fed = False
        self._lines: dict[int, _Line] = {}
        self._free: list[int] = []
        self._count = 0
        self._most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // _SHARE
        self._old: set[str] = set()  # files that were there before their build

    def feed(self, *, enough: bool) -> None:
        """While the pool has enough to do nothing is learnt, nor counted on: that has its price,
        and to make the driver go on at once gains nothing then."""
        if enough != self._is_fed:
            self._is_fed = enough
            self._board.feed(enough=enough)

    # ------------------------------------------------------------------ what is known

    def concerns(self, build: Build, invoke: Invoke) -> bool:
        """Whether a line may be learnt, and may have been."""
        if build.lessons is None or not invoke.is_line:
            return False
        return build.lessons.tests or not runs_tests(self._processes.command_line(invoke.parent))

    @staticmethod
    def known(build: Build, invoke: Invoke) -> Lesson | Doubt | None:
        """What earlier builds have seen of a line."""
        if build.lessons is None or not invoke.is_line:
            return None
        return build.lessons.of(digest_of_line(invoke.cwd, invoke.argv, invoke.env))

    def meaning(
        self,
        build: Build,
        invoke: Invoke,
        words: tuple[str, ...],
        known: Lesson | Doubt,
        printed: str,
    ) -> Analysis | None:
        """A line as it was in an earlier build; None where that is not to be counted on.

        printed: the file that holds what it prints, if that is its alone.
        """
        undo = build.undo
        if not isinstance(known, Lesson) or not build.guesses or invoke.unguarded:
            return None
        assert build.lessons is not None
        if not (known.effects.remain or printed or build.lessons.tests):
            return None  # what it is for is its status
        if undo is None or not undo.is_whole or self._is_fed:
            return None
        if known.ms < WORTH_MS and not self._waits(known.effects):
            return None
        learnt = analysis_of(known.effects, _name(invoke.tool, words))
        return learnt.printed_into(printed) if printed else learnt

    def _waits(self, effects: Effects) -> bool:
        """Whether it would have to wait, as what it has to do with is pending."""
        paths = (*effects.reads, *effects.writes, *effects.changes, *effects.removes)
        is_written, canonical = self._hazards.is_written, self._paths.canonical
        return bool(len(self._hazards)) and any(is_written(canonical("/", p)) for p in paths)

    def wrong(self, command: Command, *, read_input: bool = False) -> str:
        """What a line has done that was not foreseen, in words; "" for all that are as promised."""
        build, invoke = command.build, command.invoke
        if not command.is_learnt or build.lessons is None:
            return ""
        known = self.known(build, invoke)
        if not isinstance(known, Lesson):  # the same line was issued twice, and was wrong before
            return known.why if known is not None else ""
        if not command.traced:
            why = "what it did could not be seen"
        elif read_input:
            why = "read the terminal"
        else:
            why = difference(known.effects, _but_old(build, command.events))
            for link in filter(os.path.islink, known.effects.writes + known.effects.changes):
                why = f"wrote through {link}, a link"
        if why:
            build.lessons.distrust(digest_of_line(invoke.cwd, invoke.argv, invoke.env), why)
        return why

    # ------------------------------------------------------------------ what is seen

    def begin(
        self,
        build: Build,
        invoke: Invoke,
        known: Lesson | Doubt | None,
        *,
        caught: bool,
        doubted: bool,
    ) -> int:
        """A line runs where it stands: the number of its notes, if it is to be watched; else 0.

        caught: somebody else than the user gets what it prints.
        doubted: it has failed as a job, so nothing is promised of a command in it.
        """
        if build.lessons is None or invoke.unguarded:
            return 0
        if caught:
            self._board.goes_plain(line_hash(invoke.cwd, invoke.argv))
            return 0
        if known is not None and known.is_plain:
            self._board.goes_plain(known.mark)
            return 0
        if isinstance(known, Lesson) and build.guesses and not doubted:
            return 0  # else another was wrong, and what made it so may concern this one, too
        digest = digest_of_line(invoke.cwd, invoke.argv, invoke.env)
        mark = line_hash(invoke.cwd, invoke.argv)
        if families.runs_lines(invoke.tool) and not is_to_be_learnt(invoke.argv):
            build.lessons.learn(digest, Doubt("goes on behind its shell", mark, TRIES))
            return 0
        if len(self._lines) >= self._most:
            return 0
        number = self._free.pop() if self._free else self._count + 1
        if not self._traces.begin(number, 0, learns=True):
            return 0
        self._count = max(self._count, number)
        began = self._clock.now()
        self._lines[number] = _Line(build, digest, mark, known, began, doubted=doubted)
        return number

    def doubts(self, invoke: Invoke) -> bool:
        """Whether a command belongs to a line that has failed as a job."""
        line = self._lines.get(invoke.notes)
        return line is not None and line.doubted

    def ended(self, number: int, pid: int) -> None:
        """A line's shell, that process, has ended, and with it what it has called."""
        line = self._lines.pop(number, None)
        if line is None:
            return
        self._look(number, line)
        line.open = False
        pieces = (piece for piece in line.pieces if not isinstance(piece, Command))
        line.ok = any(("e", f"/{pid}/0") in piece for piece in pieces)
        line.ms = (self._clock.now() - line.began) // 1_000_000
        self._free.append(number)
        self._settle(line)

    def forget(self, build: Build) -> None:
        """What was seen of a build is undone, or was interrupted."""
        for line in self._lines.values():
            line.whole &= line.build is not build
        if build.lessons is not None:
            build.lessons.forget_new()

    def joined(self, command: Command) -> None:
        """A command was issued that will run later; it may belong to a line."""
        line = self._lines.get(command.invoke.notes)
        if line is None or line.build is not command.build or not line.whole:
            return
        self._look(command.invoke.notes, line)
        line.pieces.append(command)
        line.awaited += 1
        command.line = line

    def did(self, command: Command, *, ok: bool) -> None:
        """It has ended, or will not run."""
        line = command.line
        if not isinstance(line, _Line):
            return
        command.line = None
        line.awaited -= 1
        line.whole &= ok and (command.traced or command.rename is not None)
        self._settle(line)

    def _look(self, number: int, line: _Line) -> None:
        """Takes over what was noted since the last time."""
        events = self._traces.events(number, line.seen)
        line.pieces.append(events.found)
        line.seen = events.end
        line.whole &= events.whole

    def _settle(self, line: _Line) -> None:
        """Everything of a line is there: from now on it is known, if the build goes well."""
        if line.open or line.awaited or not line.whole or line.build.lessons is None:
            return
        build = line.build
        events = _but_old(build, _all(line.pieces))
        if line.lesson is not None:
            why = difference(line.lesson.effects, events) if line.ok else ""
            if why:
                line.build.lessons.learn(line.digest, Doubt(why, line.mark, TRIES))
            return
        lesson: Lesson | Doubt = Doubt("fails", line.mark, line.tries + 1)
        if line.ok:
            lesson = lesson_of(
                events,
                line.ms,
                line.mark,
                line.tries,
                is_old=lambda path: self._is_old(build, path),
                is_link=os.path.islink,
            )
        line.build.lessons.learn(line.digest, lesson)

    def _is_old(self, build: Build, path: str) -> bool:
        """Whether a file was there before the build: nobody need wait for it."""
        if path in self._old:
            return True
        try:
            if os.stat(path).st_ctime >= build.began:
                return False
        except OSError:
            return False
        self._old.add(path)
        return True


def _all(pieces: list[Command | list[Event]]) -> Iterable[Event]:
    for piece in pieces:
        if not isinstance(piece, Command):
            yield from piece
        elif piece.rename is not None:
            source, destination = piece.rename
            yield from (("n", source), ("w", destination))
        else:
            yield from piece.events


def _but_old(build: Build, events: Iterable[Event]) -> Iterable[Event]:
    """Without listings of folders in which nothing has changed since the build began."""
    for letter, path in events:
        if letter == "L":
            with contextlib.suppress(OSError):
                if os.stat(path).st_ctime < build.began:
                    continue
        yield letter, path


def _name(tool: str, words: tuple[str, ...]) -> str:
    """By what people know a line: its first command that does more than move files."""
    if not families.runs_lines(tool):
        return tool
    text = words[2] if words[1:2] == ("-c",) and len(words) > 2 else ""
    for command in re.split(r"[;&|\n(){}]+", text):
        word = os.path.basename(next(iter(command.split()), ""))
        family = families.find(word)
        if re.fullmatch(r"[\w.+-]+", word) and not (family is not None and family.on_disk):
            return word
    return tool
