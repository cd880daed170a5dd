"""A small build that is recorded, and a recording played in this process."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from smpmake.recording import tape
from smpmake.recording.player import Difference, Player
from smpmake.recording.recording import Recording
from tests.support.space import Ended, Space

#: Compiles, an archive, a recipe that prints a file, a link, a rename, and folders.
PROJECT = {
    "Makefile": """\
OBJECTS = main.o parts/one.o parts/two.o
prog: $(OBJECTS) libtail.a
\tgcc -o $@.new $(OBJECTS) libtail.a
\tmv $@.new $@
libtail.a: tail.o
\tar rcs $@ tail.o
main.o: version.h
version.h:
\techo '#define VERSION 3' > $@
%.o: %.c
\tgcc -c -o $@ $<
""",
    "main.c": '#include "version.h"\nint main(void) { return VERSION - 3; }\n',
    "parts/one.c": "int one(void) { return 1; }\n",
    "parts/two.c": "int two(void) { return 2; }\n",
    "tail.c": "int tail(void) { return 3; }\n",
}
BROKEN = {"parts/two.c": "int two(void) { return 2 }\n"}


def record(space: Space, options: Iterable[str], command: Iterable[str], **more: str) -> Ended:
    """Records a build in `file_of(space)`."""
    file = str(file_of(space))
    return space.smpmake("--record", file, *options, "--", *command, **more)


def file_of(space: Space) -> Path:
    """Where."""
    return space.root / "build.rec"


def played(space: Space, until: int | None = None) -> Difference | None:
    """The first difference, if there is any."""
    return Player(Recording(file_of(space), until)).play(until)


def entries(space: Space, kind: str) -> Iterator[dict[str, Any]]:
    """The recorded entries of a kind."""
    return (row for row in Recording(file_of(space)).entries if row["kind"] == kind)


def text_of(space: Space) -> str:
    """Everything that a recording holds; nothing of what is cut off."""
    lines: list[str] = []
    with contextlib.suppress(tape.TapeError):
        lines.extend(json.dumps(line) for line in tape.read(file_of(space)))
    return "\n".join(lines)
