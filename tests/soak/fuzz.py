"""Input that nobody would send: frames for a server, command lines for the analyses, and what the
native programs read."""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests.native.fuzzing import TARGETS, fuzz
from tests.soak.hostile import CONNECTIONS
from tests.soak.section import ROOT, Section, SpaceSection, UnavailableError
from tests.support.served import Running
from tests.support.space import SMPMAKE, Ended, Space


def child(space: Space, module: str, *words: str) -> Ended:
    """A module of ours as a process of its own; one that does not end is a loss."""
    return space.run(sys.executable, "-m", f"tests.soak.{module}", *words, PYTHONPATH=str(ROOT))


class Wire(SpaceSection):
    """A server and clients that mean no good."""

    name = "wire"
    things = "connections"

    CLIENTS = 5
    WHOLE = "nobody named it\n"

    def play(self, space: Space, dice: random.Random, seed: int) -> int:
        """See SpaceSection."""
        space.clear()
        space.write({"a.c": "int a;\n", "b.c": "int b;\n", "d/keep": "", "mine": self.WHOLE})
        os.symlink("d", space.folder / "link")
        server = Running(space)
        for client in range(self.CLIENTS):
            words = (server.socket, str(space.folder), f"{seed}.{client}")
            ended = child(space, "hostile", *words)
            assert ended.status == 0, ended.err
        # How its commands went is one thing; the server owes an answer and is good as new then.
        before = space.run(SMPMAKE, "wait", "--socket", "t")
        assert 0 <= before.status < 256 and "Traceback" not in before.err, before
        space.write({"real.c": "int real;\n"})
        script = f'eval "$({SMPMAKE} env --socket t)"; gcc -c real.c; {SMPMAKE} wait'
        after = space.run("sh", "-c", script)
        assert after.status == 0, after
        assert (space.folder / "real.o").exists()
        log = server.stop()
        _, fault, of_ours = log.partition("Traceback")
        assert not fault, of_ours[:3000]
        assert (space.folder / "mine").read_text() == self.WHOLE
        base = space.temporary / f"smpmake-services-{os.getuid()}"
        assert not base.exists() or list(base.iterdir()) == [], list(base.iterdir())
        return self.CLIENTS * CONNECTIONS


class Inputs(Section):
    """The native programs' own: entries, journals, notes, jobs."""

    name = "inputs"
    things = "inputs"

    RUNS = 20_000

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="soak-"))

    def attempt(self, seed: int) -> int:
        """See Section."""
        if shutil.which("clang") is None:
            raise UnavailableError("clang is not there")
        name = random.Random(seed).choice(TARGETS)
        fuzz(name, self._folder, seed=seed % (1 << 31) or 1, runs=self.RUNS)
        return self.RUNS

    def close(self) -> None:
        """See Section."""
        shutil.rmtree(self._folder, ignore_errors=True)


class Arguments(SpaceSection):
    """Command lines for the analyses."""

    name = "arguments"
    things = "command lines"

    COUNT = 2000

    def play(self, space: Space, dice: random.Random, seed: int) -> int:
        """See SpaceSection."""
        ended = child(space, "lines", str(seed), str(self.COUNT))
        assert ended.status == 0, ended.err[-3000:]
        return self.COUNT
