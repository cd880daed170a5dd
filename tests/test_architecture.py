"""The house: packages, and which may import which.  Arrows point down only; no circle anywhere."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from smpmake.commands import families, makes

PACKAGE = Path(__file__).parent.parent / "smpmake"

#: What each package (or module beside them) may import, from the cellar up; docs/architecture.md
#: has the same picture.
MAY: dict[str, set[str]] = {
    "__init__": set(),
    "errors": set(),
    "units": set(),
    "records": set(),
    "cpus": set(),
    "folders": {"errors"},
    "redact": {"records"},
    "forecast": {"records"},
    "native": {"errors"},
    "commands": set(),
    "config": {"commands", "errors", "folders"},
    "protocol": {"errors", "records"},
    "timing": {"records", "units"},
    "schedule": set(),
    "history": {"__init__", "errors", "folders", "forecast", "records", "redact", "timing"},
    "bench": {"errors", "history", "records", "timing"},
    "decide": {"commands", "config", "folders", "protocol"},
    "disk": {"commands", "errors", "schedule"},
    "guard": {"disk", "protocol", "records", "schedule"},
    "engine": {
        "commands",
        "config",
        "decide",
        "disk",
        "forecast",
        "guard",
        "native",
        "protocol",
        "records",
        "schedule",
    },
    "server": {
        "__init__",
        "commands",
        "config",
        "cpus",
        "decide",
        "engine",
        "errors",
        "folders",
        "guard",
        "native",
        "protocol",
        "records",
        "schedule",
    },
    "status": {"errors", "records", "units"},
    "session": {
        "__init__",
        "commands",
        "config",
        "cpus",
        "decide",
        "disk",
        "engine",
        "errors",
        "forecast",
        "guard",
        "history",
        "native",
        "protocol",
        "records",
        "server",
        "status",
    },
    "reports": {"bench", "commands", "records", "timing", "units"},
    "exports": {"commands", "errors", "records", "redact"},
    "cli": {"*"},
    "__main__": {"cli"},
}
#: What decides touches neither clock nor disk nor process.
PURE = (
    "commands",
    "decide/policy.py",
    "decide/rules.py",
    "exports",
    "protocol/wire.py",
    "records.py",
    "schedule",
    "timing",
)
TOUCHES = {"os", "time", "asyncio", "subprocess", "socket", "threading", "pathlib", "signal"}
#: Only tables of options may be long: they are data.
LONGEST = 400
TABLES = {"commands/compiler_options.py", "commands/coreutils.py"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def name_of(path: Path) -> str:
    parts = ("smpmake", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


MODULES = {name_of(path): path for path in modules()}


def imports(path: Path) -> set[str]:
    """Every module that is imported, also inside functions and for types alone."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                names.add(inner if inner in MODULES else node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def rooms(path: Path) -> set[str]:
    """Packages of ours that a module imports; "__init__" is what smpmake itself holds."""
    found = {name.split(".")[1] for name in imports(path) if name.startswith("smpmake.")}
    return found | ({"__init__"} if "smpmake" in imports(path) else set())


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_package_imports_what_it_may(path: Path) -> None:
    room = room_of(path)
    if MAY[room] != {"*"}:
        assert rooms(path) - {room} <= MAY[room]


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """A circle among arrows, or nothing."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(arrows.get(name, ())):
            if found := walk(other, [*path, name]):
                return found
        done.add(name)
        return []

    for name in arrows:
        if found := walk(name, []):
            return found
    return []


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_packages_make_no_circle() -> None:
    arrows = {room: set(may) - {"*"} for room, may in MAY.items()}
    assert circle(arrows) == []


def test_modules_make_no_circle() -> None:
    """Nor inside a package, nor by imports that only types need or that come late."""
    arrows = {name: imports(path) & MODULES.keys() for name, path in MODULES.items()}
    assert circle(arrows) == []


def test_every_package_is_in_the_picture() -> None:
    assert {room_of(path) for path in modules()} == MAY.keys()
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text()
    house = page.partition("## The house")[2].partition("\n## ")[0]
    for name, path in MODULES.items():
        last = name.rpartition(".")[2]
        if path.name != "__init__.py" and room_of(path) not in ("commands", "__main__"):
            assert f" {last} " in house.replace("\n", " ") + " ", f"{name} is not in the picture"


@pytest.mark.parametrize("what", PURE)
def test_what_is_pure_touches_nothing(what: str) -> None:
    place = PACKAGE / what
    files = [place] if place.is_file() else list(place.glob("*.py"))
    assert files
    used = {name.split(".")[0] for path in files for name in imports(path)} & TOUCHES
    assert used == set()


def test_no_native_program_knows_a_tools_name() -> None:
    """Only `commands` does; what the others need is compiled into them."""
    for path in (PACKAGE / "native").rglob("*.[ch]"):
        for word in re.findall(r'"([^"\n]*)"', path.read_text()):
            assert not families.is_known(word) and word not in makes.MAKES, (path, word)


def test_no_file_grows_into_a_god() -> None:
    for path in PACKAGE.rglob("*"):
        if path.suffix in (".py", ".c", ".h"):
            if path.relative_to(PACKAGE).as_posix() in TABLES:
                continue
            longest = 760 if path.suffix == ".py" else LONGEST
            assert len(path.read_text().splitlines()) <= longest, path
