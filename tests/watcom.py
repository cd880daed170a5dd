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


def tree(space: Space, blank: re.Pattern[bytes] | None = TIME) -> dict[str, str]:
    """What a build has left, the times of libraries' members blanked."""
    for path in space.folder.rglob("*"):
        if path.suffix in (".lib", ".bak"):
            path.write_bytes(without_times(path.read_bytes(), blank))
    return space.tree()


def without_times(library: bytes, pattern: re.Pattern[bytes] | None) -> bytes:
    """A library with its members' times blanked: the stand-ins' or, for None, the real ones'.

    A real library holds a comment record (88h) of class E9h for each dependency of a member, whose
    four bytes of time are the header's; the member's own time is in the header record's comment.
    """
    if pattern is not None:
        return pattern.sub(b"time=0", library)
    out = bytearray(library)
    at = 0
    while at + 3 <= len(out):
        size = int.from_bytes(out[at + 1 : at + 3], "little")
        if out[at] == 0x88 and out[at + 4 : at + 5] == b"\xe9" and size >= 7:
            out[at + 5 : at + 9] = bytes(4)
        at += 3 + size
        if out[at - size - 3] in (0x8A, 0x8B):
            while at < len(out) and out[at] == 0:
                at += 1  # to the next page
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
    blank = None if real else TIME
    expected = tree(space, blank)
    bring()
    ended = space.smpmake(*options, "--", "wmake")
    found = tree(space, blank)
    wrong = {name for name in expected | found if expected.get(name) != found.get(name)}
    assert not wrong, (sorted(wrong), ended)
    assert ended.status == plain.status, (plain, ended)
    assert "Traceback" not in ended.err, ended.err
    space.expect_clean()
    return ended
