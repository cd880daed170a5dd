"""Commands whose output somebody catches, and what is promised of them: that they say nothing.

Who catches a compiler's messages acts on what he reads, so its shim waits.  But nearly all compiles
say nothing, and one that did so before, of the same source, most likely will: it is answered at
once, and if it has something to say after all everything is undone, as behind a wrong promise.
"""

from __future__ import annotations

import hashlib
from typing import Final

from smpmake.commands.model import Analysis
from smpmake.decide.learnt import digest_of_line
from smpmake.disk.paths import Paths
from smpmake.engine.build import Build
from smpmake.engine.command import Command
from smpmake.protocol.wire import Invoke
from smpmake.protocol.working import Result
from smpmake.schedule.hazards import Hazards
from smpmake.schedule.names import is_product

_MOST: Final = 4  # sources that are looked at
_LONGEST: Final = 1 << 20  # bytes of each


class Caught:
    """One per engine."""

    def __init__(self, hazards: Hazards, paths: Paths) -> None:
        self._hazards = hazards
        self._paths = paths

    def digest(self, build: Build, invoke: Invoke, cwd: str, analysis: Analysis) -> str:
        """By what a command is known; "" where nothing is to be promised of it.

        Its status is an answer about its source, so another source makes another command.
        """
        undo = build.undo
        if build.lessons is None or undo is None or not undo.is_whole or invoke.unguarded:
            return ""
        whole = hashlib.sha256(digest_of_line(invoke.cwd, invoke.argv, invoke.env).encode())
        for path in analysis.reads[:_MOST]:
            name = self._paths.canonical(cwd, path)
            if is_product(name):
                continue
            if self._hazards.is_written(name):
                return ""
            try:
                with open(name, "rb") as file:
                    whole.update(file.read(_LONGEST))
            except OSError:
                return ""
        return whole.hexdigest()[:32]

    @staticmethod
    def was_silent(build: Build, digest: str) -> bool | None:
        """Whether it said nothing and was content in earlier builds; None: not known yet."""
        assert build.lessons is not None
        known = build.lessons.was_silent(digest)
        return False if known and not build.guesses else known

    @staticmethod
    def ended(command: Command, result: Result) -> str:
        """What it did that was not foreseen, in words; "" for all that are as promised."""
        lessons = command.build.lessons
        if not command.caught or lessons is None or command.signalled:
            return ""
        silent = result.ok and not result.out and not result.err
        if command.listens:
            lessons.heard(command.caught, silent=silent)
        elif result.ok and not silent and not command.is_awaited:
            lessons.distrust_silence(command.caught)
            return "printed something"
        return ""
