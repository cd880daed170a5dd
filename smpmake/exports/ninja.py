"""A recorded build as a build.ninja, with which ninja makes the same files."""

from __future__ import annotations

import io
import re
import shlex
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import ninja_syntax

from smpmake.commands.model import Kind
from smpmake.errors import SmpmakeError
from smpmake.exports.chains import Chain, chains_of
from smpmake.exports.effects import Disk, LeftOut, Step, steps_of
from smpmake.records import BuildRecord

_UNBROKEN: Final = 1 << 30  # ninja_syntax wraps at blanks, those inside quotes too
_LONGEST_COMMAND: Final = 100_000  # Linux takes words of 128 KiB, and `sh -c` has it all in one
_PRODUCT: Final = re.compile(r".*\.(?:o|obj|lo|a|so(?:\.[0-9.]+)?)", re.DOTALL)
_IN_PATH: Final = {"$": "${dollar}", "|": "${bar}"}


class ExportError(SmpmakeError):
    """A build cannot be exported; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written, and what is not in it.

    older  products that the build used and did not make.
    gone   what it made and is not there, where most of that is.
    """

    chains: tuple[Chain, ...]
    left_out: tuple[LeftOut, ...]
    older: tuple[str, ...]
    gone: tuple[str, ...]

    def warnings(self) -> list[str]:
        """What a person should know."""
        steps = [step for chain in self.chains for step in chain.steps]
        told = []
        redacted = sum(step.redacted for step in steps)
        if redacted:
            told.append(
                f"{redacted} commands hold a secret that the history does not (shown as ***): "
                "they will not rebuild as they were"
            )
        unseen = sum(step.unseen for step in steps)
        if unseen:
            told.append(
                f"{unseen} compiles ran where smpmake could not see which headers they read: "
                "a changed header will not rebuild them"
            )
        # What a script wrote and mv then moved is a script's work, like all that it writes.
        lost = [left for left in self.left_out if left.command.kind != Kind.FILE]
        if lost:
            first = lost[0]
            told.append(
                f"{len(lost)} commands cannot be run again, what they made must stay: "
                f"{first.command.command[:100]} ({first.why})"
            )
        if self.gone:
            told.append(
                f"{len(self.gone)} files that the build made are gone ({self.gone[0]} ...): if it "
                "moved or removed them itself, unseen, what became of them is not rebuilt"
            )
        if self.older:
            told.append(
                f"the build used {len(self.older)} products that were there before it "
                f"({self.older[0]} ...): the export holds only what that build ran; "
                "export a build from scratch to have all"
            )
        return told


def plan(build: BuildRecord, disk: Disk) -> Plan:
    """What ninja is to do.  Raises ExportError for a build whose record is not a whole build's."""
    name = f"build {build.id}"
    remedy = "run it again until it succeeds, or name another with --build"
    if not build.complete:
        state = "is still running" if build.running else "was killed"
        raise ExportError(f"{name} {state}: {remedy}")
    if build.status != 0:
        raise ExportError(f"{name} failed (status {build.status}), so it is not whole: {remedy}")
    steps, left_out, foreign = steps_of(build.commands, build.cwd, disk)
    chains, stuck = chains_of(steps, foreign, disk)
    if not chains:
        raise ExportError(
            f"{name} ran no command that can be run again to make a file: "
            "name an earlier one with --build, or build from scratch"
        )
    outputs = {path for chain in chains for path in chain.outputs}
    used = dict.fromkeys(path for chain in chains for path in (*chain.inputs, *chain.implicit))
    older = tuple(
        path
        for path in used
        if path not in outputs and path.startswith(f"{build.cwd}/") and _PRODUCT.fullmatch(path)
    )
    gone = tuple(path for path in sorted(outputs) if not disk.exists(path))
    if 2 * len(gone) >= len(outputs):
        gone = ()  # somebody has cleaned up: ninja is to make them again
    return Plan(tuple(chains), (*left_out, *stuck), older, gone)


def missing(build: BuildRecord, earlier: Iterable[BuildRecord], disk: Disk) -> list[str]:
    """What earlier builds of the folder made, is still there, and this one did not make."""
    own = {path for command in build.commands for path in command.outputs}
    made = {path for each in earlier for command in each.commands for path in command.outputs}
    return sorted(path for path in made - own if disk.exists(path) and not disk.is_dir(path))


def text(chains: Iterable[Chain], root: str, title: str) -> str:
    """The file.  root: the folder in which it lies, and from which ninja is run."""
    out = io.StringIO()
    writer = ninja_syntax.Writer(out, width=_UNBROKEN)
    writer.comment(title)
    writer.newline()
    # In a path these are written as variables: ninja_syntax knows blanks and colons only.
    for char, reference in _IN_PATH.items():
        writer.variable(reference[2:-1], "$$" if char == "$" else char)
    writer.newline()
    writer.rule("run", "$recorded", description="$what")
    writer.newline()
    writer.rule(
        "script",
        "sh $script",
        description="$what",
        rspfile="$script",
        rspfile_content="$recorded",
    )
    for chain in chains:
        writer.newline()
        _write_edge(writer, chain, root)
    return out.getvalue()


def _write_edge(writer: ninja_syntax.Writer, chain: Chain, root: str) -> None:
    command = shell_command(chain, root)
    first = _seen_from(root, chain.outputs[0])
    variables = {
        "recorded": ninja_syntax.escape(command),
        "what": ninja_syntax.escape(f"{_tool_of(chain)} {first}"),
    }
    rule = "run"
    if len(command.encode()) > _LONGEST_COMMAND:
        rule = "script"
        variables["script"] = f".smpmake-{zlib.crc32(first.encode()):08x}.sh"
    if chain.old_times:
        variables["restat"] = "1"
    writer.build(
        [_path(root, path) for path in chain.outputs],
        rule,
        [_path(root, path) for path in chain.inputs],
        implicit=[_path(root, path) for path in chain.implicit],
        variables=variables,
    )


def _tool_of(chain: Chain) -> str:
    """The tool that does the work: moving files is not the point."""
    commands = [step.command for step in chain.steps if step.command is not None]
    working = [command for command in commands if command.kind != Kind.FILE]
    return (working or commands)[0].tool


def shell_command(chain: Chain, root: str) -> str:
    """One line for sh, run in `root`, that does what the chain did."""
    before = []
    folders = [path for path in chain.folders if not f"{root}/".startswith(f"{path}/")]
    if folders:
        before.append(_quoted(["mkdir", "-p", "--", *(_seen_from(root, path) for path in folders)]))
    if chain.clear:
        names = [_seen_from(root, path) for path in chain.clear]
        before.append(_quoted(["rm", "-f", "--", *names]))
    runs = [(cwd, list(steps)) for cwd, steps in groupby(chain.steps, lambda step: step.cwd)]
    if len(runs) == 1:
        cwd, steps = runs[0]
        line = " && ".join([*before, *_in_folder(cwd, steps, root)])
    else:
        parts = [_in_folder(cwd, steps, root) for cwd, steps in runs]
        grouped = [
            f"({' && '.join(part)})" if part[0].startswith("cd ") else " && ".join(part)
            for part in parts
        ]
        line = " && ".join([*before, *grouped])
    return _BREAKS + line if "$nl" in line or "$cr" in line else line


def _in_folder(cwd: str, steps: list[Step], root: str) -> list[str]:
    """Steps of one folder; the last takes the shell's place."""
    commands = [_quoted(step.argv) + _redirection(step) for step in steps]
    if cwd != root:
        commands.insert(0, _quoted(["cd", _seen_from(root, cwd)]))
        commands[-1] = f"exec {commands[-1]}"
    return commands


def _redirection(step: Step) -> str:
    return f" > {_quote(_seen_from(step.cwd, step.printed))}" if step.printed else ""


#: Ninja's commands are of one line; the shell has variables for what breaks it.
_BREAKS: Final = r"nl=$(printf '\nx'); nl=${nl%x}; cr=$(printf '\rx'); cr=${cr%x}; "
_BREAK_WORDS: Final = {"\n": '"$nl"', "\r": '"$cr"'}


def _quoted(words: Iterable[str]) -> str:
    return " ".join(_quote(word) for word in words)


def _quote(word: str) -> str:
    if "\n" not in word and "\r" not in word:
        return shlex.quote(word)
    pieces = re.split("([\n\r])", word)
    return "".join(_BREAK_WORDS.get(piece) or shlex.quote(piece) for piece in pieces if piece)


def _seen_from(root: str, path: str) -> str:
    """A path as it is best called in a folder: relative below it, absolute elsewhere."""
    if path == root:
        return "."
    return path[len(root) + 1 :] if path.startswith(f"{root}/") else path


def _path(root: str, path: str) -> str:
    """A path for ninja_syntax, which then escapes blanks and colons."""
    return re.sub(r"[$|]", lambda found: _IN_PATH[found[0]], _seen_from(root, path))
