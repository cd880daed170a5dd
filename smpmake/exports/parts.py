"""Commands as the driver gave them: what smpmake ran in parts is one command again.

`gcc -o prog a.c b.c` runs as two compiles and a link, with objects in a folder of the session that
is gone when the build ends (engine.intake).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Sequence
from typing import Final

from smpmake.commands.families import analyse
from smpmake.commands.model import Files, Invocation
from smpmake.records import CommandRecord

_OBJECT: Final = re.compile(r".*/parts/(\d+)/(\d+)-[^/]*\.o", re.DOTALL)


class NoFiles:
    """A disk with nothing on it, for command lines that need none."""

    def read_text(self, path: str) -> str | None:
        """Nothing."""
        return None

    def is_dir(self, path: str) -> bool:
        """No."""
        return False

    def exists(self, path: str) -> bool:
        """No."""
        return False


def words_of(command: CommandRecord) -> tuple[str, ...]:
    """The command line's words."""
    return tuple(command.argv[:-1].decode("utf-8", "surrogateescape").split("\0"))


def invocation(command: CommandRecord, files: Files) -> Invocation:
    """The recorded command, to be asked what it means; its environment is not known."""
    return Invocation(words_of(command), command.cwd, lambda name: None, files)


def rejoined(commands: Sequence[CommandRecord]) -> list[CommandRecord]:
    """The commands in their order, parts joined."""
    by_number = {command.number: command for command in commands}
    parts: dict[int, list[CommandRecord]] = {}
    for command in commands:
        first = _first_part(command)
        if first is not None:
            parts.setdefault(first, []).append(command)
    inside = {part.number for group in parts.values() for part in group}
    whole = {}
    for group in parts.values():
        link = by_number.get(group[-1].number + 1)
        if link is not None:
            whole[link.number] = _join(link, group)
    return [whole.get(c.number, c) for c in commands if c.number not in inside]


def _first_part(command: CommandRecord) -> int | None:
    """The number of the first part that belongs with it; None for a command that is no part."""
    for output in command.outputs[:1]:
        found = _OBJECT.fullmatch(output)
        if found is not None and int(found[1]) + int(found[2]) == command.number:
            return int(found[1])
    return None


def _join(link: CommandRecord, parts: list[CommandRecord]) -> CommandRecord:
    objects = {part.outputs[0] for part in parts}
    sources = {
        part.outputs[0]: analyse(invocation(part, NoFiles()))
        .reads[0]
        .encode("utf-8", "surrogateescape")
        for part in parts
    }
    spelled = {name.encode("utf-8", "surrogateescape"): word for name, word in sources.items()}
    words = [spelled.get(word, word) for word in link.argv.split(b"\0")]
    done = all(part.state == "done" for part in parts)
    joined = copy.copy(link)
    joined.argv = b"\0".join(words)
    joined.inputs = _union([*(part.inputs for part in parts), link.inputs], objects)
    joined.reads = _union([*(part.reads for part in parts), link.reads], objects)
    joined.state = link.state if done else "failed"
    return joined


def _union(paths: Iterable[tuple[str, ...]], but: set[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for each in paths for path in each if path not in but))
