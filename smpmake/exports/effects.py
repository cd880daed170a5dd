"""What each recorded command does to which files: the steps that a ninja file is made of.

The record says what a command read and made.  What it removed, and whether it made a file anew or
changed one, its command line says when it is asked once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from smpmake.commands.families import analyse
from smpmake.commands.files.depfiles import prerequisites
from smpmake.commands.model import Files, Kind, Reason, Write
from smpmake.commands.reading.recipe import placed
from smpmake.commands.recorded_words import Removal, is_link, is_move, removal, wants_none
from smpmake.commands.units import UnreadableError, units
from smpmake.exports.parts import invocation, rejoined, words_of
from smpmake.records import CommandRecord
from smpmake.redact import SHOWN

#: Commands whose failure may have been the answer; with no result they are left out.
_CHECKS: Final = frozenset(
    each.value
    for each in (
        Reason.PROBE_NAME,
        Reason.FRESH_SOURCE,
        Reason.CAPTURED_OUTPUT,
        Reason.DISCARDED_OUTPUT,
    )
)
_PREPROCESSED: Final = (".i", ".ii", ".mi", ".mii", ".s")
#: Where compiler caches keep what they read, unless they are told otherwise.
_CACHES: Final = ("/.cache/", "/.ccache/")
_COMPILES: Final = (Kind.COMPILE, Kind.ASSEMBLE, Kind.LINK)
#: Their command lines name nothing that need not be there, as compilers' do (-l, -include); of
#: what a symbolic link points to that cannot be said.
_EXACT: Final = (Kind.ARCHIVE, Kind.FILE)


class Disk(Protocol):
    """What an export may ask of the disk."""

    def canonical(self, cwd: str, path: str) -> str:
        """The name under which the record has a path."""

    def exists(self, path: str) -> bool:
        """Whether path exists, links followed."""

    def is_dir(self, path: str) -> bool:
        """Whether path is a folder, links followed."""

    def is_empty(self, path: str) -> bool:
        """Whether path is a file without content, or is not there."""

    def files(self, cwd: str) -> Files:
        """Names relative to a folder, for the analysis of a command line."""


@dataclass(frozen=True, slots=True)
class Made:
    """One file that a step writes.

    anew    whatever was there before does not matter.
    timed   it has the time at which it was written, and not another file's.
    target  it is what the command is run for, as against a dependency file.
    absent  the command fails, or does something else, where the file is there already.
    """

    path: str
    anew: bool = True
    timed: bool = True
    target: bool = True
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One command.  Paths are canonical.

    command   what it was recorded as; None for a removal, which is one step a file.
    declared, observed  what it reads by its command line, and what it was seen to read.
    needed    those of them without which it cannot run.
    printed   the file that a shell sent what it prints to, "" where it names its outputs.
    check     its failure may have been what its caller wanted to know.
    unseen    it compiled, and what headers it read is not known.
    """

    command: CommandRecord | None
    cwd: str
    argv: tuple[str, ...]
    declared: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    made: tuple[Made, ...] = ()
    removed: tuple[str, ...] = ()
    printed: str = ""
    check: bool = False
    unseen: bool = False

    @property
    def redacted(self) -> bool:
        """Whether a secret was taken out of its words."""
        return any(SHOWN in word for word in self.argv)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A command that cannot be run again, and why in words."""

    command: CommandRecord
    why: str


def steps_of(
    commands: Sequence[CommandRecord], root: str, disk: Disk
) -> tuple[list[Step], list[LeftOut], set[str]]:
    """What was done, in order of issue; what cannot be done again; and the files that made.

    root  the project's folder: what was written elsewhere without being named is not of it.
    """
    whole = [c for c in rejoined(commands) if c.state == "done" and c.status in (0, None)]
    reader = _Reader(disk, root, whole)
    steps: list[Step] = []
    left_out: list[LeftOut] = []
    foreign: set[str] = set()
    for command in whole:
        why = _objection(command)
        if why:
            if command.outputs:
                left_out.append(LeftOut(command, why))
                foreign.update(command.outputs)
            continue
        steps.extend(reader.steps(command))
    return steps, left_out, foreign


def _objection(command: CommandRecord) -> str:
    """Why a command cannot be run again, "" if it can."""
    texts = [command.cwd, *words_of(command), *command.outputs]
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return "a word of it is no UTF-8"
    if any(char in path for path in (command.cwd, *command.outputs) for char in "\n\r"):
        return "ninja has no name for a file with a line break in it"
    if command.reason == Reason.READS_STDIN.value:
        return "it reads standard input"
    return ""


class _Reader:
    """Makes steps of records."""

    def __init__(self, disk: Disk, root: str, commands: Sequence[CommandRecord]) -> None:
        self._disk = disk
        self._made: dict[str, None] = {}
        self._moved: dict[str, str] = {}
        # A file that several commands write without naming it is a log, not a product.
        written = [path for command in commands for path in _unnamed(command)]
        unnamed = Counter(path for path in written if path.startswith(f"{root}/"))
        named = {path for command in commands for path in command.outputs}
        self._root = root
        self._kept = set(written) - named
        self._own = {path for path, count in unnamed.items() if count == 1} - named
        for command in commands:
            if is_move(command.tool) and len(command.outputs) == 1:
                self._moved.update(dict.fromkeys(command.inputs, command.outputs[0]))

    def steps(self, command: CommandRecord) -> Iterator[Step]:
        """One, but for rm: one for each file.  What has no effect on files has none."""
        words = words_of(command)
        removes = removal(command.tool, words[1:]) if command.kind == Kind.FILE else None
        if removes is not None:
            yield from self._removals(command, words[0], removes)
        elif command.outputs:
            step = self._step(command)
            self._made.update(dict.fromkeys(made.path for made in step.made))
            yield step

    def _removals(self, command: CommandRecord, tool: str, removes: Removal) -> Iterator[Step]:
        for operand in removes.operands:
            path = self._disk.canonical(command.cwd, operand)
            below = [each for each in self._made if removes.whole and each.startswith(f"{path}/")]
            for each in below or [path]:
                word = operand.rstrip("/") + each[len(path) :]
                yield Step(None, command.cwd, (tool, "-f", "--", word), removed=(each,))

    def _step(self, command: CommandRecord) -> Step:
        disk = self._disk
        inv = invocation(command, disk.files(command.cwd))
        meaning = analyse(inv)
        writes = {disk.canonical(command.cwd, write.path): write for write in meaning.writes}
        removed = tuple(path for path, write in writes.items() if write.removed)
        declared = self._there(command.inputs)
        observed = self._there(
            disk.canonical("/", path) for path in command.reads if not self._is_passing(path)
        )
        exact = command.kind in _EXACT and not is_link(command.tool)
        needed = list(command.inputs) if exact else []
        unseen = False
        if command.kind in _COMPILES:
            sources, headers = self._sources(command)
            needed += sources
            if headers and not command.reads:
                observed, unseen = self._told(command, command.outputs[1:])
        elif command.kind == Kind.PREPROCESS and not command.reads:
            observed, unseen = self._told(command, command.outputs)
        absent = wants_none(command.tool, words_of(command)[1:])
        made = [_made(path, writes.get(path), absent) for path in command.outputs]
        for path in _unnamed(command):
            if path in self._own and disk.exists(path) and not disk.is_dir(path):
                made.append(Made(path, target=False))
        return Step(
            command,
            command.cwd,
            inv.argv,
            declared,
            tuple(path for path in observed if path not in declared),
            tuple(needed),
            tuple(made),
            removed,
            next((path for path in command.outputs if path not in writes), "")
            if meaning.prints
            else "",
            command.status is None and command.reason in _CHECKS,
            unseen,
        )

    def _is_passing(self, path: str) -> bool:
        """Whether what was read is no input: a folder, or what a compiler cache keeps."""
        if path.startswith(f"{self._root}/"):
            return self._disk.is_dir(path)
        cached = any(name in path for name in _CACHES) or path in self._kept
        return cached or self._disk.is_dir(path)

    def _there(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Without what no command has made and is not there: candidates that linkers and
        compilers look for, and their own temporary files."""
        kept = (path for path in paths if path in self._made or self._disk.exists(path))
        return tuple(dict.fromkeys(kept))

    def _sources(self, command: CommandRecord) -> tuple[list[str], bool]:
        """What a compiler cannot do without, and whether it read headers that may matter."""
        inv = invocation(command, self._disk.files(command.cwd))
        try:
            compiled = units(inv)
        except UnreadableError as error:
            return [self._disk.canonical(command.cwd, str(error.args[0]))], False
        paths = [
            self._disk.canonical(command.cwd, placed(unit.folder, unit.source)) for unit in compiled
        ]
        return paths, any(unit.reads_headers for unit in compiled)

    def _told(self, command: CommandRecord, files: Iterable[str]) -> tuple[tuple[str, ...], bool]:
        """The headers of a compile that nobody watched, from its dependency file if there is one;
        and whether there was none."""
        for path in files:
            if path.endswith(_PREPROCESSED):
                continue
            kept = self._moved.get(path, path)
            text = self._disk.files("/").read_text(kept)
            found = prerequisites(text) if text is not None else ()
            if found:
                canonical = self._disk.canonical
                return self._there(canonical(command.cwd, name) for name in found), False
        return (), True


def _unnamed(command: CommandRecord) -> list[str]:
    """What it wrote and did not name."""
    words = (text.partition(" ") for text in command.surprises)
    return [path for how, _, path in words if how == "wrote"]


def _made(path: str, write: Write | None, absent: bool) -> Made:
    if write is None:
        return Made(path, absent=absent)
    return Made(path, not write.in_place, write.timed, write.target, absent)
