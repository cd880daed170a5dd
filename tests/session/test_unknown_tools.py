"""Programs that smpmake does not know are named to the user where they took long."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpmake.session.unknown_tools import UnknownTools
from tests.support.space import Space

LONG = 20  # looks of half a second


class Proc:
    """A /proc of processes that a test makes up."""

    def __init__(self, root: Path) -> None:
        self.root = root / "proc"
        self.shims = root / "shims"
        self.shims.mkdir()
        self.tools = UnknownTools(str(self.shims), 0.5, str(self.root))

    def runs(self, pid: int, name: str, *children: int, state: str = "S") -> None:
        """A process, with one thread more than it has children."""
        for number in range(len(children) + 1):
            task = self.root / str(pid) / "task" / str(pid + number)
            task.mkdir(parents=True)
            (task / "children").write_text(" ".join(map(str, children[number : number + 1])))
        (self.root / str(pid) / "stat").write_text(f"{pid} ({name}) {state} 1 1\n")

    def notices(self, passed: float = 10.0) -> list[str]:
        for _ in range(LONG):
            self.tools.look(1000)
        return self.tools.notices(passed)


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


def test_a_program_that_nobody_knows(proc: Proc) -> None:
    proc.runs(1000, "smpmake-keeper", 1100)
    proc.runs(1100, "make", 1200, 1300)
    proc.runs(1200, "sh", 1400)
    proc.runs(1300, "tool (x)", state="R")
    proc.runs(1400, "python3.12", state="R")
    (notice,) = proc.notices()
    assert notice.startswith("smpmake does not know tool (x), which ran for about 10.0 s: ")
    assert proc.tools.notices(101.0) == []


@pytest.mark.parametrize("name", ["gcc", "cargo"])
def test_what_a_known_tool_runs_is_its_own(proc: Proc, name: str) -> None:
    (proc.shims / "gcc").symlink_to("anything")
    proc.runs(1000, "smpmake-keeper", 1100)
    proc.runs(1100, name, 1200)
    proc.runs(1200, "cc1", state="R")
    assert proc.notices() == []


def test_who_waits_does_not_count(proc: Proc) -> None:
    proc.runs(1000, "smpmake-keeper", 1100)
    proc.runs(1100, "server")
    assert proc.notices() == []


def test_a_process_that_has_gone_is_none(proc: Proc) -> None:
    proc.runs(1000, "smpmake-keeper", 1100, 1200)
    proc.runs(1100, "tool", state="R")
    (proc.root / "1100" / "stat").write_text("1100")
    assert proc.notices() == []


def test_the_user_is_told(space: Space) -> None:
    """By a real build, whose tool works until it has been seen often enough."""
    source = (
        "#include <time.h>\nint main(void) { clock_t begin = clock();\n"
        "while (clock() - begin < 3 * CLOCKS_PER_SEC) ; return 0; }\n"
    )
    space.write({"work.c": source, "build.sh": "gcc -c work.c\n./packer\n"})
    assert space.run("gcc", "work.c", "-o", "packer").status == 0
    ended = space.smpmake("sh", "build.sh")
    assert "smpmake does not know packer, which ran for about" in ended.err
    assert "[tools.packer]" in space.smpmake("report").out
