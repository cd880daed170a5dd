"""Open Watcom for tests: stand-ins, or the real tools where SMPMAKE_WATCOM points at them."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

from tests.space import FIXTURES, Ended, Space

TOOLS = ("wmake", "wcc", "wcc386", "wpp", "wpp386", "wasm", "wcl", "wcl386", "wlink", "wlib")
SOURCES = sorted((FIXTURES / "watcom").glob("*.c"))
FLAGS = ["-D_GNU_SOURCE", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror"]
#: Members' times: the one thing that a library holds of when it was made.
TIME = re.compile(rb"time=\d+")


@cache
def _programs(folder: Path) -> dict[str, Path]:
    """Both kinds of stand-in: those of gcc take a guard, those of Open Watcom's own do not."""
    made = {}
    for kind, more in (("dynamic", []), ("static", ["-static"])):
        made[kind] = folder / kind
        command = ["cc", *FLAGS, *more, "-o", str(made[kind]), *map(str, SOURCES)]
        subprocess.run(command, check=True)
    return made


def install(space: Space, programs: Path, make: str = "dynamic", tools: str = "dynamic") -> None:
    """Puts stand-ins before everything else on the space's PATH."""
    folder = space.root / "watcom"
    folder.mkdir()
    made = _programs(programs)
    for name in TOOLS:
        kind = make if name == "wmake" else tools
        (folder / name).write_bytes(made[kind].read_bytes())
        (folder / name).chmod(0o755)
    space.environment["PATH"] = f"{folder}:{space.environment['PATH']}"


def tree(space: Space) -> dict[str, str]:
    """What a build has left, the times of libraries' members blanked."""
    for path in space.folder.rglob("*"):
        if path.suffix in (".lib", ".bak"):
            path.write_bytes(TIME.sub(b"time=0", path.read_bytes()))
    return space.tree()


def expect_same(space: Space, project: str | dict[str, str], *options: str) -> Ended:
    """A project plainly and under smpmake: the same files, the same status."""

    def bring() -> None:
        space.clear()
        if isinstance(project, str):
            space.copy(project)
        else:
            space.write(project)
            for path in space.folder.rglob("*"):
                os.utime(path, (1_000_000_000, 1_000_000_000))

    bring()
    plain = space.run("wmake")
    expected = tree(space)
    bring()
    ended = space.smpmake(*options, "--", "wmake")
    found = tree(space)
    wrong = {name for name in expected | found if expected.get(name) != found.get(name)}
    assert not wrong, (sorted(wrong), ended)
    assert ended.status == plain.status, (plain, ended)
    assert "Traceback" not in ended.err, ended.err
    space.expect_clean()
    return ended
