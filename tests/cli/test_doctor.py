"""What smpmake sees of the machine: CPUs, callers, paths, times, terminals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from smpmake import cpus
from smpmake.decide.procfs import Caller, Processes, is_captured, is_fresh
from smpmake.disk.clock import FileClock
from smpmake.disk.paths import Paths
from smpmake.protocol.wire import FileId
from tests.support.space import SMPMAKE, Space, objects
from tests.support.terminal import Terminal


def reader(files: dict[str, str]) -> Callable[[str], str | None]:
    return files.get


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        (
            {
                "/proc/self/cgroup": "0::/a/b\n",
                "/sys/fs/cgroup/a/b/cpu.max": "400000 100000",
                "/sys/fs/cgroup/a/cpu.max": "200000 100000",
            },
            2.0,
        ),
        (
            {
                "/proc/self/cgroup": "4:cpu,cpuacct:/x\n",
                "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "50000",
                "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000",
            },
            0.5,
        ),
        (
            {
                "/proc/self/cgroup": "4:cpu:/x\n",
                "/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us": "-1",
                "/sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000",
            },
            None,
        ),
        ({"/proc/self/cgroup": "garbage", "/sys/fs/cgroup/cpu.max": "x y z"}, None),
    ],
)
def test_quota(files: dict[str, str], expected: float | None) -> None:
    assert cpus.quota(reader(files)) == expected
    usable = cpus.usable(reader(files))
    assert 1 <= usable.count <= usable.affinity
    if expected is not None:
        assert usable.count == min(usable.affinity, max(1, int(expected)))


def test_affinity_counts() -> None:
    code = "from smpmake import cpus; print(cpus.usable().count)"
    done = subprocess.run(
        ["taskset", "-c", str(min(os.sched_getaffinity(0))), sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1\n"


class FakeProcesses(Processes):
    """A family tree from a dict: pid -> (name, parent, output)."""

    def __init__(self, tree: dict[int, tuple[str, int, int]], command: list[bytes]) -> None:
        super().__init__()
        self.tree = tree
        self.command = command

    def caller(self, pid: int) -> Caller | None:
        if pid not in self.tree:
            return None
        name, parent, _ = self.tree[pid]
        return Caller(pid, name, parent, 1000.0)

    def output_ids(self, pid: int) -> tuple[FileId, FileId] | None:
        return None if pid not in self.tree else both(self.tree[pid][2])

    def command_line(self, pid: int) -> list[bytes]:
        return self.command


def both(inode: int) -> tuple[FileId, FileId]:
    if inode == NULL:
        info = os.stat(os.devnull)
        return (FileId(info.st_dev, info.st_ino),) * 2
    return FileId(1, inode), FileId(1, inode)


TTY, PIPE, LOG, NULL = 10, 20, 30, 40
TREE = {
    100: ("sh", 1, TTY),  # the driver: sh -c 'make | tee log'
    101: ("make", 100, PIPE),
    102: ("sh", 101, PIPE),  # a recipe of that make
    103: ("configure", 102, LOG),
}


@pytest.mark.parametrize(
    ("parent", "mine", "captured"),
    [
        (100, TTY, False),  # as the driver's own
        (101, PIPE, False),  # make | tee: nobody captured this command
        (102, PIPE, False),  # the same through a recipe's shell
        (102, LOG, True),  # redirected inside a recipe
        (100, LOG, True),  # a script's gcc > log
        (103, NULL, True),  # a probe that discards
        (999, PIPE, True),  # the parent is gone: careful
    ],
)
def test_captured(parent: int, mine: int, captured: bool) -> None:
    processes = FakeProcesses(TREE, [b"sh", b"./configure"])
    assert is_captured(processes, parent, both(mine), both(TTY)) is captured


def test_libtool_discards_but_does_not_look() -> None:
    processes = FakeProcesses(TREE, [b"/bin/sh", b"./libtool", b"--mode=compile"])
    assert not is_captured(processes, 102, both(NULL), both(TTY))


@pytest.mark.parametrize(
    ("parent", "size", "mtime", "fresh"),
    [
        (103, 100, 1001.0, True),  # written by the script that compiles it
        (103, 100, 900.0, False),  # older than the script
        (103, 9000, 1001.0, False),  # too large for a probe
        (101, 100, 1001.0, False),  # make's rules may generate sources
        (103, 100, 400.0, False),  # older than the build
    ],
)
def test_fresh_sources(parent: int, size: int, mtime: float, fresh: bool) -> None:
    def stat(path: str) -> os.stat_result:
        return os.stat_result((0o644, 1, 1, 1, 0, 0, size, 0, int(mtime), 0))

    processes = FakeProcesses(TREE, [])
    assert is_fresh(processes, parent, ["a.c"], 500.0, stat) is fresh


@pytest.mark.parametrize(
    ("wrote", "fresh"),
    [
        ((103, 102), True),  # the script itself
        ((200, 103), True),  # a program of its
        ((200, 102), True),  # of the script that a fork of has it compiled
        ((200, 101), False),  # another recipe of the make
        ((200, 201), False),  # somebody's who is gone
        (None, True),  # nobody knows
    ],
)
def test_a_fresh_source_is_that_of_who_wrote_it(wrote: tuple[int, int] | None, fresh: bool) -> None:
    def stat(path: str) -> os.stat_result:
        return os.stat_result((0o644, 1, 1, 1, 0, 0, 100, 0, 1001, 0))

    class Forks(FakeProcesses):
        def command_line(self, pid: int) -> list[bytes]:
            return [b"make"] if pid == 101 else [b"sh", b"./configure"]

    assert is_fresh(Forks(TREE, []), 103, ["a.c"], 500.0, stat, lambda path: wrote) is fresh


def test_paths_are_canonical(tmp_path: Path) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    paths, cwd = Paths(), str(tmp_path)
    wanted = f"{tmp_path}/real/sub/a.o"
    for spelling in (
        "real/sub/a.o",
        "link/sub/a.o",
        "./real//sub/../sub/a.o",
        f"{tmp_path}/link/sub/a.o",
        "real/sub/./a.o",
    ):
        assert paths.canonical(cwd, spelling) == wanted
    assert paths.canonical(cwd, "a.o") == f"{tmp_path}/a.o"
    assert paths.canonical(cwd, "not/there/a.o") == f"{tmp_path}/not/there/a.o"
    assert paths.canonical("/", "a.o") == "/a.o"


def test_a_folder_that_changes_its_meaning_is_seen(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "link").symlink_to("one")
    paths = Paths()
    assert paths.canonical(str(tmp_path), "link/a.o") == f"{tmp_path}/one/a.o"
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("two")
    assert paths.canonical(str(tmp_path), "link/a.o") == f"{tmp_path}/two/a.o"


def test_p7_the_time_of_issue_is_the_file_systems_own(tmp_path: Path) -> None:
    clock = FileClock()
    for _ in range(50):
        before = tmp_path / "before"
        before.write_text("x")
        issued = clock.now(str(tmp_path))
        after = tmp_path / "after"
        after.write_text("x")
        assert before.stat().st_mtime_ns <= issued <= after.stat().st_mtime_ns
        clock.close()  # it is asked again behind that
    assert sorted(p.name for p in tmp_path.iterdir()) == ["after", "before"]


@pytest.mark.slow
def test_the_status_line_keeps_to_its_row_and_goes(space: Space) -> None:
    os.mkfifo(space.folder / "go")
    space.write(objects(2))
    terminal = Terminal(
        space, SMPMAKE, "sh", "-c", "echo first; gcc -c f0.c; read x < go; echo last"
    )
    terminal.read_until(b"[1/1]")
    (space.folder / "go").write_text("go\n")
    assert terminal.finish() == 0
    text = terminal.seen.decode()
    assert "first\r\n" in text
    assert "last\r\n" in text
    # Every line of ours is drawn between saving and restoring the cursor, in the last row.
    for piece in text.split("\0337")[1:]:
        inside, _, rest = piece.partition("\0338")
        assert inside.startswith(("\033[24;1H", "\033[1;23r", "\033[r\033[24;1H"))
        assert "/1]" not in rest
    assert text.rindex("\033[r") > text.rindex("/1]")


@pytest.mark.slow
def test_no_status_line_where_it_is_not_wanted(space: Space) -> None:
    space.write(objects(1))
    for options, environment in ((["-q"], {}), ([], {"TERM": "dumb"})):
        terminal = Terminal(space, SMPMAKE, *options, "sh", "-c", "gcc -c f0.c", **environment)
        assert terminal.finish() == 0
        assert b"\0337" not in terminal.seen


@pytest.mark.slow
def test_ctrl_c_typed_at_a_terminal(space: Space) -> None:
    os.mkfifo(space.folder / "never")
    terminal = Terminal(space, SMPMAKE, "sh", "-c", "echo ready; read x < never")
    terminal.read_until(b"ready")
    os.write(terminal.master, b"\x03")
    assert terminal.finish() == -signal.SIGINT
    space.expect_clean()


@pytest.mark.slow
def test_the_drivers_questions_are_answered_by_the_user(space: Space) -> None:
    terminal = Terminal(space, SMPMAKE, "-q", "sh", "-c", 'printf "sure? "; read a; echo "<$a>"')
    terminal.read_until(b"sure? ")
    os.write(terminal.master, b"yes\n")
    assert terminal.finish() == 0
    assert b"<yes>" in terminal.seen
