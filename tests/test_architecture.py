"""The house: arrows point down only, and what is pure touches nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "smpmake"

#: From the cellar up; a module may import from its own floor and those below.
FLOORS = (
    {
        "errors",
        "rules",
        "commands",
        "job",
        "wire",
        "records",
        "native",
        "cpus",
        "__init__",
        "memory",
        "recovery",
        "chaos",
        "redact",
        "units",
        "admission",
    },
    {
        "config",
        "hazards",
        "policy",
        "tools",
        "callers",
        "timing",
        "history",
        "disk",
        "vouchers",
        "headers",
        "board",
        "shadow",
        "elf",
    },
    {
        "scheduler",
        "output",
        "pool",
        "folder",
        "client",
        "driver",
        "traces",
        "expectations",
        "hindsight",
        "bench",
    },
    {"build", "sampler", "status", "surroundings", "gate", "command", "reports", "exports"},
    {"foresight", "layout"},
    {"machine"},
    {"server"},
    {"desk"},
    {"host"},
    {"guest", "session", "service"},
    {"cli", "__main__"},
)
PURE = ("hazards", "scheduler", "job", "policy", "wire", "timing", "records", "exports")
TOUCHES = {"os", "time", "asyncio", "subprocess", "socket", "threading", "pathlib", "signal"}


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found.append((parts[0], path))
    return found


def imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def rooms(path: Path) -> set[str]:
    """Rooms of the package that a module imports."""
    ours = {n.split(".")[1] for n in imports(path) if n.startswith("smpmake.")}
    return {name for name in ours if any(name in floor for floor in FLOORS)}


def floor_of(room: str) -> int:
    (floor,) = [number for number, rooms in enumerate(FLOORS) if room in rooms]
    return floor


@pytest.mark.parametrize(("room", "path"), modules(), ids=lambda v: str(v).rsplit("smpmake/")[-1])
def test_arrows_point_down(room: str, path: Path) -> None:
    for other in rooms(path):
        assert floor_of(other) <= floor_of(room), f"{path.name} imports {other}"


@pytest.mark.parametrize("room", PURE)
def test_what_is_pure_touches_nothing(room: str) -> None:
    files = [PACKAGE / f"{room}.py", *(PACKAGE / room).glob("*.py")]
    used = {
        name.split(".")[0] for path in files if path.exists() for name in imports(path)
    } & TOUCHES
    assert used == set()


def test_commands_know_only_themselves() -> None:
    for path in (PACKAGE / "commands").glob("*.py"):
        assert rooms(path) <= {"commands"}, path


def test_reports_print_and_do_not_ask() -> None:
    for path in (PACKAGE / "reports").glob("*.py"):
        assert rooms(path) <= {"timing", "records", "commands", "reports", "bench", "units"}, path


def test_no_file_grows_into_a_god() -> None:
    for path in PACKAGE.rglob("*"):
        if path.suffix in (".py", ".c", ".h"):
            assert len(path.read_text().splitlines()) <= 760, path
