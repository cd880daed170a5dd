"""A recorded build as a JSON compilation database, for clangd and its like.

The format: https://clang.llvm.org/docs/JSONCompilationDatabase.html.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from smpmake.commands.model import Files, Reason
from smpmake.commands.units import UnreadableError, units
from smpmake.errors import SmpmakeError
from smpmake.exports.parts import invocation, rejoined
from smpmake.records import BuildRecord
from smpmake.redact import SHOWN

#: An entry: directory, file, arguments, output; one that another tool wrote may have others.
Entry = dict[str, Any]
_CHECKS = (Reason.DISCARDED_OUTPUT.value, Reason.WRITES_NOTHING.value)


class DamagedError(SmpmakeError):
    """What should be a compilation database is none."""


@dataclass(frozen=True, slots=True)
class Found:
    """The entries of a build, and how many commands gave none or a maimed one, by cause."""

    entries: tuple[Entry, ...]
    unreadable: int = 0
    not_text: int = 0
    redacted: int = 0

    def warnings(self) -> list[str]:
        """What a person should know."""
        told = (
            (self.redacted, "hold a secret that the history does not (shown as ***)"),
            (self.unreadable, "are left out: they name a response file that is gone"),
            (self.not_text, "are left out: their words are no UTF-8, which JSON must be"),
        )
        return [f"{count} compile commands {what}" for count, what in told if count]


def found_in(
    build: BuildRecord, files: Callable[[str], Files], exists: Callable[[str], bool]
) -> Found:
    """One entry for each source that the build compiled and that is still there.

    A source whose compile failed has one too: that is when an editor is needed.
    """
    entries: dict[tuple[str, str, str | None], Entry] = {}
    unreadable = not_text = redacted = 0
    for command in rejoined(build.commands):
        if command.reason in _CHECKS:
            continue
        try:
            compiled = units(invocation(command, files(command.cwd)))
        except UnreadableError:
            unreadable += 1
            continue
        if compiled and not _is_text(command.cwd, *compiled[0].argv):
            not_text += 1
            continue
        for unit in compiled:
            directory = posixpath.join(command.cwd, unit.folder) if unit.folder else command.cwd
            if exists(posixpath.join(directory, unit.source)):
                redacted += any(SHOWN in word for word in unit.argv)
                entry = {
                    "directory": directory,
                    "file": unit.source,
                    "arguments": list(unit.argv),
                    "output": unit.output,
                }
                entries[_key(entry)] = entry
    return Found(tuple(entries.values()), unreadable, not_text, redacted)


def parse(text: str) -> list[Entry]:
    """The entries of a file.  Raises DamagedError, which says what is wrong."""
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise DamagedError(f"is no JSON: {error}") from None
    if not isinstance(entries, list):
        raise DamagedError("is no list of compile commands")
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise DamagedError(f"entry {number} is no object")
        for name in ("directory", "file"):
            if not isinstance(entry.get(name), str):
                raise DamagedError(f"entry {number} has no {name}")
        if not isinstance(entry.get("output", ""), str):
            raise DamagedError(f"entry {number}: its output is no text")
    return entries


def merge(old: Sequence[Entry], new: Iterable[Entry], exists: Callable[[str], bool]) -> list[Entry]:
    """The old entries whose sources are still there, with the new ones in their places or behind.

    An old entry without an output belongs to any new one of its source.
    """
    fresh = {_key(entry): entry for entry in new}
    sources = {key[:2] for key in fresh}
    merged: dict[tuple[str, str, str | None], Entry] = {}
    for entry in old:
        key = _key(entry)
        if key in fresh:
            merged[key] = fresh[key]
        elif not (key[2] is None and key[:2] in sources) and exists(_path(entry, "file")):
            merged[key] = entry
    return list((merged | fresh).values())


def text(entries: Sequence[Entry]) -> str:
    """The file."""
    return json.dumps(entries, indent=1) + "\n"


def _path(entry: Entry, name: str) -> str:
    return posixpath.normpath(posixpath.join(entry["directory"], entry[name]))


def _key(entry: Entry) -> tuple[str, str, str | None]:
    output = _path(entry, "output") if "output" in entry else None
    return posixpath.normpath(entry["directory"]), _path(entry, "file"), output


def _is_text(*words: str) -> bool:
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        return False
    return True
