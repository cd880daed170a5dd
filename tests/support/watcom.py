"""Open Watcom for tests: stand-ins, or the real tools where SMPMAKE_WATCOM points at them."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

from tests.support import needs
from tests.support.space import FIXTURES, Ended, Space

TOOLS = ("wmake", "wcc", "wcc386", "wpp", "wpp386", "wasm", "wcl", "wcl386", "wlink", "wlib")
SOURCES = sorted((FIXTURES / "watcom").glob("*.c"))
FLAGS = ["-D_GNU_SOURCE", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror"]
#: Members' times: the one thing that a library holds of when it was made.
TIME = re.compile(rb"time=\d+")
MAP_TIMES = re.compile(rb"^(Created on|Link time):.*$", re.MULTILINE)


@cache
def _program(folder: Path, kind: str) -> Path:
    """One of both kinds of stand-in: dynamic takes a guard; static, as Open Watcom's are, none."""
    made = folder / kind
    more = ["-static"] if kind == "static" else []
    command = ["cc", *FLAGS, *more, "-o", str(made), *map(str, SOURCES)]
    subprocess.run(command, check=True)
    return made


def install(space: Space, programs: Path, make: str = "dynamic", tools: str = "dynamic") -> None:
    """Puts stand-ins before everything else on the space's PATH."""
    folder = space.root / "watcom"
    folder.mkdir()
    if "static" in (make, tools):
        needs.require("cc", "-static")
    for name in TOOLS:
        made = _program(programs, make if name == "wmake" else tools)
        (folder / name).write_bytes(made.read_bytes())
        (folder / name).chmod(0o755)
    space.environment["PATH"] = f"{folder}:{space.environment['PATH']}"


def real() -> Path | None:
    """The folder with the real tools' programs for this host, if there is one."""
    base = os.environ.get("SMPMAKE_WATCOM")
    for name in ("binl64", "binl", "."):
        if base and (Path(base) / name / "wmake").exists():
            return Path(base) / name
    return None


def install_real(space: Space) -> None:
    """The real tools, as their users have them in their environment."""
    folder = real()
    assert folder is not None
    base = os.environ["SMPMAKE_WATCOM"]
    space.environment["PATH"] = f"{folder}:{space.environment['PATH']}"
    space.environment["WATCOM"] = base
    space.environment["INCLUDE"] = f"{base}/lh"


def tree(space: Space, real: bool = False) -> dict[str, str]:
    """What a build has left, without what no two serial builds have in common."""
    for path in space.folder.rglob("*"):
        if path.suffix in (".lib", ".bak"):
            data = path.read_bytes()
            path.write_bytes(without_times(data) if real else TIME.sub(b"time=0", data))
        elif path.suffix == ".map" and real:
            path.write_bytes(MAP_TIMES.sub(rb"\1", path.read_bytes()))
        elif path.suffix == ".pch" and real:
            path.write_bytes(b"addresses of the compiler's heap")
    return space.tree()


def without_times(library: bytes) -> bytes:
    """A real library (OMF) with its members' times blanked.

    Each is in a comment record (88h) of class FEh, subtype "T": four bytes, and the checksum.
    """
    out = bytearray(library)
    page = int.from_bytes(out[1:3], "little") + 3
    at = page  # the header is the first record, and fills a page
    while at + 3 <= len(out):
        end = at + 3 + int.from_bytes(out[at + 1 : at + 3], "little")
        if out[at] == 0x88 and out[at + 4 : at + 6] == b"\xfeT":
            out[at + 6 : end] = bytes(end - at - 6)
        at = -(-end // page) * page if out[at] in (0x8A, 0x8B) else end
    return bytes(out)


def expect_same(
    space: Space, project: str | dict[str, str], *options: str, real: bool = False
) -> Ended:
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
    expected = tree(space, real)
    bring()
    ended = space.smpmake(*options, "--", "wmake")
    found = tree(space, real)
    wrong = {name for name in expected | found if expected.get(name) != found.get(name)}
    assert not wrong, (sorted(wrong), ended)
    assert ended.status == plain.status, (plain, ended)
    assert "Traceback" not in ended.err, ended.err
    space.expect_clean()
    return ended
