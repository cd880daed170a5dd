"""A small build that is recorded, and a recording played in this process."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from smpmake.cli.names import COMMANDS
from smpmake.recording import tape
from smpmake.recording.command import told
from smpmake.recording.player import Difference, Player
from smpmake.recording.recording import Recording
from tests.support.space import SMPMAKE, Ended, Space

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


class RecordedSpace(Space):
    """A space whose builds are all recorded, and played when the test is over (`--recorded`)."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._recordings: list[Path] = []

    def start(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        """See Space."""
        if command[0] == SMPMAKE and _is_build([*command[1:]], {**self.environment, **environment}):
            file = self.root / f"build-{len(self._recordings)}.rec"
            self._recordings.append(file)
            more = ("--record", str(file), *(() if command[1].startswith("-") else ("--",)))
            command = (SMPMAKE, *more, *command[1:])
        return super().start(*command, **environment)

    def expect_replayed(self) -> None:
        """The engine does the same again in each of them; one of a killed build ends earlier."""
        for file in self._recordings:
            if not file.exists():  # refused before it began
                continue
            try:
                recording = Recording(file)
            except tape.TapeError as error:
                assert "nothing was recorded" in str(error) or "is cut" in str(error)
                continue
            recording.learn()
            difference = Player(recording).play()
            assert difference is None, "\n".join([f"{file}:", *told(difference, {})])


def _is_build(words: list[str], environment: Mapping[str, str]) -> bool:
    """Whether this runs a build, on a server of its own."""
    if not words or words[0] in COMMANDS or {"--version", "--help"} & {*words}:
        return False
    elsewhere = "_SMPMAKE_SOCKET" in environment or "SMPMAKE_ENGINE" in environment
    refused = ("--engine", "--record", "--socket")
    return not elsewhere and not any(word.startswith(refused) for word in words)
