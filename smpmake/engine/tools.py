"""What one build has learned of the tools that it runs: environments, makes, headers."""

from __future__ import annotations

import os
import sys
from typing import Final

from smpmake.commands.reading.makes import MAKES, options_of
from smpmake.commands.watcom import wmake
from smpmake.decide.procfs import Processes
from smpmake.engine.environment import Environment
from smpmake.protocol.wire import Invoke

_MOST_SHARED: Final = 1000
_MOST_ABOVE: Final = 6  # processes between a make and a command of its recipes


class Tools:
    """Of one build.

    has_wmake      there is a wmake in it: what that looks at by itself matters.
    tells_folders  a make has said which folder it enters, as an inner one does.
    distrusted     programs that did not write what their words say: they run in place.
    traced         who traces its makes, by these.
    environments   the environments of its commands, each once, by its bytes.
    texts          texts that its commands have in common, each once.
    """

    def __init__(self, *, has_wmake: bool) -> None:
        self.has_wmake = has_wmake
        self.tells_folders = False
        self.distrusted: set[str] = set()
        self.traced: dict[int, str] = {}
        self.environments: dict[bytes, Environment] = {}
        self.texts: dict[bytes, bytes] = {}
        self._makes: set[int] = set()  # those that were looked at: environments with folders
        self._shared: dict[str, str] = {}  # files that one command makes for many, with what for
        self._headers = 0  # how many commands wrote what could be a header

    def environment_of(self, invoke: Invoke) -> Environment:
        """The invocation's environment; most commands share it and more, once in memory."""
        known = self.environments.get(invoke.env)
        if known is None:
            for kept in (self.environments, self.texts):  # a build has few, as a rule
                if len(kept) >= _MOST_SHARED:
                    kept.clear()
            known = self.environments[invoke.env] = Environment(invoke.env)
        share = self.texts.setdefault
        invoke.env = known.blob
        invoke.real = share(invoke.real, invoke.real)
        invoke.cwd = share(invoke.cwd, invoke.cwd)
        invoke.limits = share(invoke.limits, invoke.limits)
        invoke.tool = sys.intern(invoke.tool)
        invoke.build = sys.intern(invoke.build)
        return known

    def note_wmake(self) -> None:
        """A wmake is about to start."""
        self.has_wmake = True

    def note_header(self) -> None:
        """A command is about to write what could be a header."""
        self._headers += 1

    def distrust(self, program: str) -> None:
        """A program has written what its words do not say."""
        self.distrusted.add(program)

    def is_shared(self, name: str, kin: str) -> bool:
        """Whether the file of that name was made last for commands like this one."""
        return self._shared.get(name) == f"{self._headers} {kin}"

    def share_file(self, name: str, kin: str) -> None:
        """A command makes a file for all that have `kin` in common."""
        self._shared[name] = f"{self._headers} {kin}"

    def look_at_make(self, processes: Processes, environment: Environment, invoke: Invoke) -> None:
        """A make has one environment for all that it calls: smpmake looks once in each folder."""
        make = hash((environment.blob, invoke.cwd))
        if not self.tells_folders and make not in self._makes:
            self._makes.add(make)
            self.tells_folders = make_tells_folders(environment, processes, invoke.parent)


def wmake_options_above(processes: Processes, pid: int) -> frozenset[str] | None:
    """The nearest make among a process and those above it, if it is a wmake."""
    for caller in processes.above(pid, _MOST_ABOVE):
        if caller.pid <= 1:
            return None
        if wmake.is_wmake(caller.name):
            words = [os.fsdecode(word) for word in processes.command_line(caller.pid)]
            return wmake.options(words)
        if caller.name in MAKES:
            return None
    return None


_GNU_MAKES: Final = frozenset({"make", "gmake"})
_WITH_VALUE: Final = "CEfIjloOW"  # make's letters whose rest of the word is a value


def make_keeps_going(environment: Environment) -> bool:
    """Whether the make that issued a command was told -k or -i."""
    return _was_told(_makeflags(environment), "ki", ("--keep-going", "--ignore-errors"))


def make_tells_folders(environment: Environment, processes: Processes, parent: int) -> bool:
    """Whether the make that issued a command says which folder it enters: it was told -w, or -C, or
    it is an inner one.

    parent  the command's, by which the make is found.
    """
    flags = _makeflags(environment)
    if _was_told(flags, "w", ("--print-directory",)):
        return True
    # GNU make 4.4 and newer writes there only what a person has said.
    level = environment.get("MAKELEVEL") or ""
    if level in ("", "0") or _was_told(flags, "s", ("--silent", "--no-print-directory")):
        return False
    for caller in processes.above(parent, _MOST_ABOVE):
        if caller.name in _GNU_MAKES and level == "1":
            words = [os.fsdecode(word) for word in processes.command_line(caller.pid)]
            return _was_told(["", *words[1:]], "C", ("--directory",))
        if caller.name in MAKES:
            return caller.name in _GNU_MAKES
    return False


def _makeflags(environment: Environment) -> list[str]:
    return options_of(environment.get("MAKEFLAGS") or "")


def _was_told(words: list[str], letters: str, names: tuple[str, ...]) -> bool:
    """Options are among the letters of the first word, or behind dashes, each a word."""
    for at, word in enumerate(words):
        if word.startswith("--"):
            if word.partition("=")[0] in names:
                return True
        elif word.startswith("-") or (at == 0 and "=" not in word):
            for letter in word.removeprefix("-"):
                if letter in letters:
                    return True
                if letter in _WITH_VALUE:
                    break
    return False
