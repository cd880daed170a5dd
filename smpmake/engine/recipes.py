"""Commands of a recipe that need not be waited for, though no option of theirs names an output.

Those whose result is what they print, where a shell has opened a file for that alone, lines of
nothing else, and checks whose status tells no more than whether the build goes on.  They are
deferred only where they would have to wait.
"""

from __future__ import annotations

import os
from typing import Final

from smpmake.commands.families import mark_of_alone, runs_lines
from smpmake.commands.model import Analysis, Kind, Reason
from smpmake.commands.reading.makes import MAKES
from smpmake.config import Settings
from smpmake.decide import redirects
from smpmake.decide.procfs import Processes, asks_for_status, shell_text
from smpmake.disk.elf import holds, takes_guard
from smpmake.disk.paths import Paths
from smpmake.disk.printed import fresh_file
from smpmake.engine.environment import Environment
from smpmake.protocol.wire import Invoke
from smpmake.schedule.hazards import Hazards

_PROGRAM: Final = b"\x7fELF"  # and no script
#: Debian's, and no project's own of that name.
_DASH: Final = frozenset({"/bin/dash", "/usr/bin/dash"})
#: Shells that open a simple command's file in their own place, as dash does.
_OPENS_ITSELF: Final = frozenset({"sh", "dash"})


class Recipes:
    """One per engine."""

    def __init__(self, hazards: Hazards, paths: Paths, processes: Processes) -> None:
        self._hazards = hazards
        self._paths = paths
        self._processes = processes

    @staticmethod
    def may_read(invoke: Invoke, rules: Settings) -> bool:
        """Whether what a make has started means what its words say: no wrapper reads them.

        And whether nobody wants tools in it to be treated as others are not.
        """
        if not rules.takes_recipes or rules.foreground or rules.exclusive or invoke.unguarded:
            return False
        real = os.fsdecode(invoke.real)
        # Of a shell that is a script nobody knows what it makes of its line.
        is_itself = not runs_lines(invoke.tool) or holds(real, _PROGRAM)
        return takes_guard(real) and is_itself

    def without_shell(
        self, invoke: Invoke, words: tuple[str, ...], environment: Environment
    ) -> Invoke | None:
        """A line of one command, as its shell would start that; None if only a shell can.

        dash hands its environment on, and becomes the command; others count their depth in it.
        words: the command's; none where the line is another.
        """
        if not words or os.path.realpath(os.fsdecode(invoke.real)) not in _DASH:
            return None
        handed_on = environment.handed_on(os.fsdecode(invoke.cwd))
        path = environment.get("PATH")
        if handed_on is None or not path:
            return None
        program = self._paths.on_path(path, words[0], self._hazards.is_written)
        if not program or not holds(program, _PROGRAM) or not takes_guard(program):
            return None
        other = invoke.of(os.fsencode(program))
        other.env, other.is_line = handed_on, False
        return other

    def seen_in_recipe(self, analysis: Analysis, invoke: Invoke, cwd: str, out: int) -> Analysis:
        """The analysis as the recipe around the command lets it be.

        out: its stdout, as a descriptor of ours.
        """
        if invoke.is_line and analysis.kind is Kind.INSPECT:
            return self._line_that_prints(analysis, cwd)
        if not (analysis.prints and analysis.refusal is Reason.WRITES_STDOUT) and not (
            analysis.checks and analysis.refusal is Reason.WRITES_NOTHING
        ):
            return analysis
        # It is taken back together with who makes what it reads (Command.rest_on): the shell's
        # opening of its file lies in between.
        reads = self._reads_if_pending(analysis, cwd)
        if not reads:
            return analysis
        real = os.fsdecode(invoke.real)
        mark = mark_of_alone(real)
        if mark and not holds(real, mark):
            return analysis
        if analysis.checks:
            return analysis.promised() if self._is_no_condition(invoke, analysis) else analysis
        path = fresh_file(out)
        if not path or path in reads or not self._is_its_alone(invoke, path):
            return analysis
        return analysis.printed_into(path)

    def _line_that_prints(self, analysis: Analysis, cwd: str) -> Analysis:
        """A job where it would have to wait, if its shell writes into no older file."""
        reads = self._reads_if_pending(analysis, cwd)
        kept = [write.path for write in analysis.writes if not write.removed]
        made = [self._paths.canonical(cwd, path) for path in kept]
        if reads and not any(path in reads or self._is_older(path) for path in made):
            return analysis
        return analysis.refused(Reason.RECIPE, "")

    def _is_older(self, path: str) -> bool:
        """Whether there is a file that a later command would write into."""
        return self._hazards.is_written(path) or os.path.lexists(path)

    def _reads_if_pending(self, analysis: Analysis, cwd: str) -> list[str]:
        """What a command reads; nothing if it need not wait for any of it."""
        reads = [self._paths.canonical(cwd, path) for path in analysis.reads]
        return reads if any(map(self._hazards.is_written, reads)) else []

    def _is_no_condition(self, invoke: Invoke, analysis: Analysis) -> bool:
        """Whether nothing in the shell's text depends on the command's status."""
        caller = self._processes.command_line(invoke.parent)
        source = os.fsencode(analysis.reads[0])
        text = shell_text(caller)
        return bool(text) and not asks_for_status(caller, os.fsencode(invoke.tool), source)

    def _is_its_alone(self, invoke: Invoke, path: str) -> bool:
        """Whether nobody else writes to the file that is the command's stdout."""
        if b"\0BASH_FUNC_" in invoke.env or invoke.env.startswith(b"BASH_FUNC_"):
            return False  # what looks like a command may be several
        caller = self._processes.caller(invoke.parent)
        if caller is None:
            return False
        text = shell_text(self._processes.command_line(invoke.parent))
        if self._processes.holds(invoke.parent, (invoke.out, invoke.out)):
            return False  # it was its own before, under a name such as /dev/stdout
        if self._has(invoke.parent, invoke) and (
            not text or caller.name not in _OPENS_ITSELF or self._has(caller.parent, invoke)
        ):
            return False
        if not text:  # a shell that became its last command, so the file was that command's
            return caller.name in MAKES
        return redirects.alone(text, invoke.tool, os.path.basename(path))

    def _has(self, pid: int, invoke: Invoke) -> bool:
        """Whether a process has the same stdout, as far as can be told."""
        ids = self._processes.output_ids(pid)
        return ids is None or invoke.out in ids
