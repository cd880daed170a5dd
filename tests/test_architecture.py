"""The house: packages, and which may import which.  Arrows point down only; no circle anywhere."""

from __future__ import annotations

import ast
import graphlib
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake.commands import families
from smpmake.commands.reading import makes

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "smpmake"

#: What each package (or module beside them) may import, from the cellar up; docs/architecture.md
#: has the same picture.
MAY: dict[str, set[str]] = {
    "__init__": set(),
    "errors": set(),
    "units": set(),
    "console": {"units"},
    "records": set(),
    "columns": {"records"},
    "cpus": set(),
    "digests": set(),
    "libc": {"errors"},
    "private": {"console"},
    "folders": {"digests", "errors", "private"},
    "redact": {"records"},
    "threads": set(),
    "forecast": {"records"},
    "native": {"errors"},
    "commands": set(),
    "options": set(),
    "variables": set(),
    "configure": {"commands", "protocol", "variables"},
    "config": {"commands", "errors", "folders", "options", "private"},
    "protocol": {"errors", "records"},
    "timing": {"commands", "records", "units"},
    "schedule": set(),
    "history": {
        "__init__",
        "columns",
        "errors",
        "folders",
        "forecast",
        "private",
        "records",
        "redact",
        "threads",
        "timing",
        "units",
    },
    "bench": {"errors", "history", "records", "timing", "variables"},
    "decide": {
        "commands",
        "config",
        "digests",
        "disk",
        "folders",
        "private",
        "protocol",
        "redact",
        "schedule",
    },
    "disk": {"commands", "errors", "schedule"},
    "undo": {"disk", "folders", "native", "protocol", "records", "schedule", "variables"},
    "guard": {"disk", "private", "protocol", "records", "schedule", "undo"},
    "capacity": {"config", "cpus", "decide", "disk", "folders", "guard", "private", "schedule"},
    "engine": {
        "capacity",
        "commands",
        "config",
        "cpus",
        "decide",
        "digests",
        "disk",
        "errors",
        "folders",
        "forecast",
        "guard",
        "native",
        "protocol",
        "records",
        "schedule",
        "threads",
        "undo",
        "units",
        "variables",
    },
    "cluster": {
        "commands",
        "disk",
        "engine",
        "errors",
        "protocol",
        "schedule",
        "threads",
    },
    "server": {
        "__init__",
        "capacity",
        "cluster",
        "commands",
        "config",
        "cpus",
        "decide",
        "disk",
        "engine",
        "errors",
        "folders",
        "forecast",
        "guard",
        "native",
        "private",
        "protocol",
        "records",
        "schedule",
        "threads",
        "undo",
    },
    "status": {"errors", "records", "units"},
    "session": {
        "__init__",
        "capacity",
        "commands",
        "config",
        "cpus",
        "decide",
        "disk",
        "engine",
        "errors",
        "folders",
        "forecast",
        "guard",
        "history",
        "native",
        "private",
        "protocol",
        "records",
        "console",
        "server",
        "status",
        "threads",
        "undo",
        "units",
        "variables",
    },
    "checking": {
        "commands",
        "config",
        "errors",
        "guard",
        "protocol",
        "server",
        "session",
        "variables",
    },
    "reports": {"bench", "capacity", "columns", "commands", "records", "timing", "units"},
    "exports": {"commands", "errors", "records", "redact"},
    "cli": {"*"},
    "__main__": {"cli"},
}
#: What decides touches neither clock nor disk nor process.
PURE = (
    "columns.py",
    "commands",
    "decide/policy.py",
    "exports",
    "protocol/frames.py",
    "protocol/keeping.py",
    "protocol/wire.py",
    "records.py",
    "schedule",
    "timing",
)
TOUCHES = {"os", "time", "asyncio", "subprocess", "socket", "threading", "pathlib", "signal"}
#: Words that are tools' names too, and mean something else: options and commands of ours, what a
#: build file that we write for others runs, and what stands in every configure script.
OTHER_MEANINGS = {
    "protocol/layout.py": {"size"},  # a field
    "native/guard/view/peers.c": {"sccache", "distcc", "icecc"},  # in names of sockets
    "cli/shims.py": {"install"},
    "config.py": {"memo-size"},
    "configure/foretell.py": {"gcc", "g++"},
    "configure/shell.py": {"cat", "cp", "rm", "sed"},
    "options.py": {"distcc", "history-size", "memo-size"},
    "cluster/compilers.py": {"as"},
    "cluster/discovery.py": {"distcc", "icecc"},
    "cluster/distcc.py": {"distcc"},
    "cluster/icecream.py": {"icecc"},
    "reports/trace.py": {"cat"},
    "session/rerun.py": {"cmake"},
    "undo/journal.py": {"head"},
    "native/guard/change/log.c": {"head"},
    "exports/ninja.py": {"mkdir", "rm"},
}


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


def picture() -> list[str]:
    """The lines of the picture in docs/architecture.md that name packages and modules."""
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text()
    drawing = page.partition("## The house")[2].partition("```\n")[2].partition("```")[0]
    return drawing.splitlines()


def test_every_module_is_in_the_picture() -> None:
    assert {room_of(path) for path in modules()} == MAY.keys()
    words = set(" ".join(picture()).split())
    for name, path in MODULES.items():
        if path.name != "__init__.py" and room_of(path) not in ("commands", "__main__"):
            assert name.rpartition(".")[2] in words, f"{name} is not in the picture"


def test_arrows_point_down_in_the_picture() -> None:
    heads = [line.split("   ")[0] for line in picture() if not line.startswith(" ")]
    floors = {
        room: floor for floor, head in enumerate(heads) for room in head.replace("/", "").split()
    }
    assert floors.keys() == MAY.keys() - {"__init__", "__main__"}
    for room, may in MAY.items():
        for other in may - {"*", "__init__"} if room != "__main__" else ():
            assert floors[other] >= floors[room], f"{room} imports {other}, which is drawn above it"


@pytest.mark.parametrize("what", PURE)
def test_what_is_pure_touches_nothing(what: str) -> None:
    place = PACKAGE / what
    files = [place] if place.is_file() else list(place.glob("*.py"))
    assert files
    used = {name.split(".")[0] for path in files for name in imports(path)} & TOUCHES
    assert used == set()


def words(path: Path) -> set[str]:
    """Every text of a module."""
    nodes = ast.walk(ast.parse(path.read_text()))
    found = [node.value for node in nodes if isinstance(node, ast.Constant)]
    texts = {value for value in found if isinstance(value, str)}
    return texts | {value.decode(errors="replace") for value in found if isinstance(value, bytes)}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_families_know_a_tool_by_name(path: Path) -> None:
    if room_of(path) == "commands":
        return
    known = {word for word in words(path) if families.find(word) is not None}
    assert known == OTHER_MEANINGS.get(path.relative_to(PACKAGE).as_posix(), set())


def test_no_native_program_knows_a_tools_name() -> None:
    """Only `commands` does; what the others need is compiled into them."""
    for path in (PACKAGE / "native").rglob("*.[ch]"):
        others = OTHER_MEANINGS.get(path.relative_to(PACKAGE).as_posix(), set())
        for word in set(re.findall(r'"([^"\n]*)"', path.read_text())) - others:
            assert families.find(word) is None and word not in makes.MAKES, (path, word)


def test_no_two_parts_of_the_guard_need_each_other() -> None:
    """A part is a file and its header; -Wmissing-prototypes holds what it offers to that."""
    needs: dict[str, set[str]] = {}
    for path in (PACKAGE / "native" / "guard").rglob("*.[ch]"):
        included = re.findall(r'#include "(?:\w+/)*(\w+)\.h"', path.read_text())
        needs.setdefault(path.stem, set()).update(set(included) - {path.stem})
    order = list(graphlib.TopologicalSorter(needs).static_order())
    assert order.index("hooks") > order.index("questions") > order.index("asking")


#: The parts of a build, and by which names others have a build.
PARTS = {"commands", "output", "promises", "undoing", "replies", "tools", "parallel"}
BUILDS = {"build", "_build", "outer", "inner"}
#: Methods by which a list, a set or a table is changed.
CHANGES = {"add", "append", "clear", "discard", "extend", "pop", "remove", "setdefault", "update"}


def changed_from_outside(text: str) -> list[str]:
    """Fields of a build or of one of its parts that a module changes though they are not its."""
    changed: list[ast.expr] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign):
            changed += node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            changed.append(node.target)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed += [node.func.value] * (node.func.attr in CHANGES)
    found = []
    for target in changed:
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Attribute):
            owner = target.value
            name = owner.attr if isinstance(owner, ast.Attribute) else ""
            is_build = (owner.id if isinstance(owner, ast.Name) else name) in BUILDS
            if is_build or name in PARTS:
                found.append(ast.unparse(target))
    return found


@pytest.mark.parametrize(
    "text",
    [
        "build.rules = None",
        "self._build.promises.broken = None",
        "command.build.commands.done += 1",
        "build.promises.lost.update(paths)",
        "build.output.behind[file] = 1",
    ],
)
def test_a_field_that_is_changed_from_outside_is_found(text: str) -> None:
    assert len(changed_from_outside(text)) == 1


def test_a_build_and_its_parts_change_their_fields_themselves() -> None:
    for path in modules():
        if room_of(path) in ("engine", "server", "session"):
            assert changed_from_outside(path.read_text()) == [], path


def test_threads_are_started_in_one_place() -> None:
    """Whose end is always seen; whoever waits for another may wait for one that never came."""
    started = re.compile(r"threading\.|ThreadPool|to_thread|run_in_executor|start_new_thread")
    found = [path.name for path in PACKAGE.rglob("*.py") if started.search(path.read_text())]
    assert found == ["threads.py"]


def texts(path: Path) -> Iterator[str]:
    """A module's comments and docstrings."""
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT or token.string.startswith('"""'):
                yield token.string


def test_comments_name_modules_that_are_there() -> None:
    """As a file (client_requests.py), or as a package's (server.connections)."""
    folders = (PACKAGE, ROOT / "tests", ROOT / "scripts")
    found = [*ROOT.glob("*.py"), *(path for folder in folders for path in folder.rglob("*.py"))]
    there = [f"/{path.relative_to(ROOT)}" for path in found]
    packages = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    for path in PACKAGE.rglob("*.py"):
        for text in texts(path):
            for name in re.findall(r"(?<![\w/.])\w+(?:/\w+)*\.py\b", text):
                assert any(each.endswith(f"/{name}") for each in there), (path, name)
            for package, name in re.findall(r"(?<![\w/.`-])([a-z_]+)\.([a-z_]{3,})\b(?!\()", text):
                if package in packages - {"native"}:
                    folder = PACKAGE / package
                    face = (folder / "__init__.py").read_text()
                    is_there = (folder / f"{name}.py").exists() or (folder / name).is_dir()
                    assert is_there or re.search(rf"\b{name}\b", face), (path, package, name)
