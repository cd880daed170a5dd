"""Interruptions and kills: nothing half-written, no orphans, the right status (P2, P3, P9)."""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import sys
from collections import Counter

import psutil
import pytest

from smpmake import variables
from smpmake.engine.strays import end_build
from tests.support.kills import (
    assert_all_end,
    at_work,
    attempt,
    descendants,
    expected_tree,
    kill_together,
    leave_strays,
    name_of,
)
from tests.support.space import SMPMAKE, Space

pytestmark = pytest.mark.slow

#: Says on a fifo that it has started, then waits on another for the word to go on.
WAITING_GCC = """#!/bin/sh
trap 'rm -f /nowhere; exit 7' TERM
for last; do :; done
echo half > "${last%.c}.o"
echo $$ > started
read word < go
echo whole > "${last%.c}.o"
"""

#: What a compiler runs: it writes the object.
ASSEMBLER = "echo $$ > started; read word < go; echo whole > 0.o"


def waiting_build(space: Space) -> None:
    """Three compiles; the tool of each waits in the middle of its output.

    `issued` is made when all have been answered: a server that is killed before that leaves the
    last to the plain tool, which leaves what it leaves.
    """
    space.fake("gcc", WAITING_GCC)
    os.mkfifo(space.folder / "started")
    os.mkfifo(space.folder / "go")
    os.mkfifo(space.folder / "never")
    space.write({f"{n}.c": "" for n in range(3)})
    space.write({"build.sh": "gcc -c 0.c\ngcc -c 1.c\ngcc -c 2.c\n: > issued\nread x < never\n"})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_p2_p3_signals(space: Space, number: int) -> None:
    waiting_build(space)
    process = space.start(SMPMAKE, "--no-guard", "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()  # the first tool is in the middle of its output
    below = descendants(process.pid)
    os.kill(process.pid, number)
    ended = space.finish(process)
    assert ended.status == -number, ended  # by the signal itself, as make does
    assert not any(name.endswith(".o") for name in space.tree())
    assert_all_end(below)
    space.expect_clean()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("options", [("--no-guard",), ()], ids=["no-guard", "guard"])
def test_p2_the_driver_is_ended_before_it_goes_on_by_what_failed(
    space: Space, number: int, options: tuple[str, ...]
) -> None:
    """Whoever waits for a job that the signal ends says nothing to the driver."""
    waiting_build(space)
    script = "gcc -c 0.c\n: > issued\nnm 0.o || echo alarm\ngcc -c 0.c -o 0.o || echo alarm\n"
    space.write({"build.sh": script})
    process = space.start(SMPMAKE, *options, "sh", "build.sh")
    (space.folder / "started").read_text()
    while process.poll() is None and not (space.folder / "issued").exists():
        pass
    os.kill(process.pid, number)
    ended = space.finish(process)
    assert ended.status == -number, ended
    assert "alarm" not in ended.out + ended.err
    if number != signal.SIGKILL:
        assert not any(name.endswith(".o") for name in space.tree())
        space.expect_clean()


def test_p2_ctrl_c_reaches_everybody_at_once(space: Space) -> None:
    """A terminal signals the whole process group: the driver ends by itself."""
    waiting_build(space)
    process = space.start(SMPMAKE, "--no-guard", "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()
    os.killpg(process.pid, signal.SIGINT)
    assert space.finish(process).status == -signal.SIGINT
    space.expect_clean()


def test_what_a_driver_sends_to_its_process_group_is_not_for_us(space: Space) -> None:
    files = {"a.c": "int a;\n", "build.sh": "trap '' TERM; gcc -c a.c; kill -TERM 0; echo > on"}
    space.expect_same(files, ["sh", "build.sh"])
    assert {"a.o", "on"} <= set(space.tree())


def test_a_script_does_not_go_on_behind_ctrl_c(space: Space) -> None:
    """bash does behind a command that leaves by itself, whatever its status."""
    waiting_build(space)
    space.write({"outer.sh": f"{SMPMAKE} -j1 sh build.sh\necho went on\n"})
    process = space.start("bash", "outer.sh")
    (space.folder / "started").read_text()
    os.killpg(process.pid, signal.SIGINT)
    ended = space.finish(process)
    assert ended.status == -signal.SIGINT
    assert "went on" not in ended.out


@pytest.mark.parametrize("how", ["exit 130", "trap 'exit 3' INT; kill -INT $$", "kill -SEGV $$"])
def test_the_status_is_the_drivers_whatever_ended_it(space: Space, how: str) -> None:
    plain = space.run("sh", "-c", how)
    assert space.smpmake("sh", "-c", how).status == plain.status
    space.expect_clean()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_what_the_caller_ignores_ends_nothing(space: Space, number: signal.Signals) -> None:
    """As nohup does, and a script for what it starts in the background."""
    name = number.name.removeprefix("SIG")
    script = f"kill -{name} $PPID $$\ngcc -c a.c\nkill -{name} 0\n"
    files = {"a.c": "int a;\n", "build.sh": script}
    outer = f"trap '' {name}; exec {SMPMAKE} sh -e build.sh"
    space.write(files)
    process = space.start("sh", "-c", outer)
    ended = space.finish(process)
    assert ended.status == 0, ended.err
    assert (space.folder / "a.o").exists()


def test_p2_a_second_ctrl_c_is_immediate(space: Space) -> None:
    waiting_build(space)
    tool = space.root / "tools" / "gcc.sh"
    tool.write_text(WAITING_GCC.replace("trap 'rm -f /nowhere; exit 7' TERM", "trap '' TERM INT"))
    space.write({"build.sh": "trap '' INT TERM\ngcc -c 0.c\ngcc -c 1.c\nread x < never\n"})
    process = space.start(SMPMAKE, "--no-guard", "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()
    below = descendants(process.pid)
    os.kill(process.pid, signal.SIGINT)
    os.kill(process.pid, signal.SIGINT)
    assert space.finish(process).status == -signal.SIGINT
    assert_all_end(below)
    assert not any(name.endswith(".o") for name in space.tree())


def test_p3_stale_objects_come_back_when_their_jobs_never_started(space: Space) -> None:
    waiting_build(space)
    space.write({"2.o": "stale"})
    os.utime(space.folder / "2.o", (1000, 1000))
    process = space.start(SMPMAKE, "--no-guard", "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()
    while not (space.folder / "issued").exists():  # the third command too
        assert process.poll() is None
    os.kill(process.pid, signal.SIGTERM)
    space.finish(process)
    assert (space.folder / "2.o").read_text() == "stale"
    assert (space.folder / "2.o").stat().st_mtime == 1000
    space.expect_clean()


@pytest.mark.parametrize("victim", ["server", "keeper"])
def test_p3_kill_9_of_one_of_us(space: Space, victim: str) -> None:
    waiting_build(space)
    space.write({"2.o": "stale"})
    process = space.start(SMPMAKE, "--no-guard", "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()
    while not (space.folder / "issued").exists():
        assert process.poll() is None
    below = descendants(process.pid)
    keeper = next(p for p in below if name_of(p) == "smpmake-keeper")
    os.kill(process.pid if victim == "server" else keeper.pid, signal.SIGKILL)
    assert_all_end(below)
    status = space.finish(process).status
    assert status == (-9 if victim == "server" else 125)
    assert {n for n in space.tree() if n.endswith(".o")} == {"2.o"}
    assert (space.folder / "2.o").read_text() == "stale"
    space.expect_clean()


def test_p3_kill_9_of_server_and_worker_ends_what_a_tool_had_started(space: Space) -> None:
    """It is nobody's descendant then; an assembler would write its object behind the undoing."""
    space.fake("gcc", f"#!/bin/sh\nsh -c {shlex.quote(ASSEMBLER)} as\n:\n")
    os.mkfifo(space.folder / "started")
    os.mkfifo(space.folder / "go")
    os.mkfifo(space.folder / "never")
    space.write({"0.c": "", "build.sh": "gcc -c 0.c\nread x < never\n"})
    process = space.start(SMPMAKE, "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()
    below = descendants(process.pid)
    worker = next(p for p in below if name_of(p) == "smpmake-worker")
    kill_together([psutil.Process(process.pid), worker])
    assert_all_end(below)
    assert space.finish(process).status == -9
    assert not (space.folder / "0.o").exists()
    space.expect_clean()


def test_p3_kill_9_of_a_worker_costs_only_time(space: Space) -> None:
    waiting_build(space)
    space.write({"build.sh": "gcc -c 0.c\n"})
    process = space.start(SMPMAKE, "--no-guard", "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()
    worker = next(p for p in descendants(process.pid) if name_of(p) == "smpmake-worker")
    tool = worker.children()[0]
    worker.kill()
    assert_all_end([tool])
    (space.folder / "started").read_text()  # it runs again
    (space.folder / "go").write_text("go\n")
    ended = space.finish(process)
    assert ended.status == 0, ended.err
    assert (space.folder / "0.o").read_text() == "whole\n"
    assert "died under" in ended.err
    space.expect_clean()


def test_p3_kill_9_of_all_of_us_is_cleaned_up_by_the_next_build(space: Space) -> None:
    waiting_build(space)
    space.write({"2.o": "stale"})
    process = space.start(SMPMAKE, "--no-guard", "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()
    while not (space.folder / "issued").exists():
        assert process.poll() is None
    below = descendants(process.pid)
    ours = [p for p in below if name_of(p).startswith("smpmake-")]
    tools = [p for p in below if name_of(p) == "gcc"]
    victims = [*ours, psutil.Process(process.pid)]
    kill_together(victims)
    space.finish(process)
    assert_all_end(tools)  # its parent's death ends it
    ended = space.smpmake("true")
    assert ended.status == 0
    assert (space.folder / "2.o").read_text() == "stale"
    space.expect_clean()


OLD = {"0.o": "first", "2.o": "third"}


def stale_build(space: Space, guard: bool, undo: bool) -> subprocess.Popen[bytes]:
    """Over older objects: the first command is in the middle of its output, the last waits."""
    waiting_build(space)
    space.write({**OLD, ".smpmake.toml": f"guard = {str(guard).lower()}\n"})
    if not undo:
        space.write({".smpmake.toml": f'guard = {str(guard).lower()}\nundo = "off"\n'})
    for name in OLD:
        (space.folder / name).chmod(0o640)
        os.utime(space.folder / name, (1000, 1000))
    process = space.start(SMPMAKE, "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()
    while not (space.folder / "issued").exists():
        assert process.poll() is None
    return process


def older(space: Space) -> set[str]:
    """The objects that are there, all of them as they were before the build."""
    names = {name for name in space.tree() if name.endswith(".o")}
    for name in names:
        info = (space.folder / name).stat()
        assert (space.folder / name).read_text() == OLD[name]
        assert (info.st_mode & 0o7777, info.st_mtime) == (0o640, 1000)
    return names


BOTH = pytest.mark.parametrize("undo", [True, False], ids=["undo", "no-undo"])
GUARDED = pytest.mark.parametrize("guard", [True, False], ids=["guard", "no-guard"])


@BOTH
@GUARDED
def test_p3_kill_9_between_set_aside_and_the_end(space: Space, guard: bool, undo: bool) -> None:
    """What was being made is gone, and what it replaced comes back where all is undone; of what
    never started nothing shows."""
    process = stale_build(space, guard, undo)
    below = descendants(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    assert_all_end(below)
    space.finish(process)
    assert older(space) == ({"0.o", "2.o"} if guard and undo else {"2.o"})
    assert ("issued" in space.tree()) == (not (guard and undo))
    space.expect_clean()


@BOTH
@GUARDED
def test_p3_kill_9_of_all_between_set_aside_and_the_end(
    space: Space, guard: bool, undo: bool
) -> None:
    """The next build undoes: nobody else was left who knew of a half-made output."""
    process = stale_build(space, guard, undo)
    below = descendants(process.pid)
    victims = [p for p in below if name_of(p).startswith("smpmake-")]
    victims.append(psutil.Process(process.pid))
    kill_together(victims)
    space.finish(process)
    assert_all_end(below)
    assert space.smpmake("true").status == 0
    if guard and not undo:  # it was written over in place
        (space.folder / "0.o").unlink()
    assert older(space) == ({"2.o"} if guard and not undo else {"0.o", "2.o"})
    space.expect_clean()


# ---------------------------------------------------------------------- what a kill leaves running

#: Says that it has begun, and goes on when it is told to: a shell below a make below a make.
_BELOW = "sh -c 'echo > started; read word < go; echo > on'; echo > on"
STRAYS = {
    "no engine yet": ["sh", "-c", f"{_BELOW}; :"],
    "a make within a make": ["make", "-f", "top.mk"],
    "an engine": ["sh", "-c", "gcc -c a.c; nm a.o; make -f top.mk; :"],
}


@pytest.mark.parametrize("options", [("--",), ("--no-guard", "--"), ("--engine=auto", "--")])
def test_p9_kill_9_of_the_keeper_leaves_nobody(space: Space, options: tuple[str, ...]) -> None:
    """When smpmake has ended nobody of its build goes on, so that another may begin."""
    for command in STRAYS.values():
        space.clear()
        space.write({"a.c": "int a;\n", "sub.mk": f"all:\n\t{_BELOW}\n"})
        space.write({"top.mk": "all:\n\t$(MAKE) -f sub.mk; echo > on\n"})
        os.mkfifo(space.folder / "started")
        os.mkfifo(space.folder / "go")
        process = space.start(SMPMAKE, *options, *command)
        (space.folder / "started").read_text()
        keeper = next(p for p in descendants(process.pid) if name_of(p) == "smpmake-keeper")
        keeper.kill()
        assert space.finish(process).status == 125
        assert at_work(space) == []
        assert "on" not in space.tree()
        space.expect_clean()


def test_p9_who_is_lost_is_found_by_a_variable(space: Space) -> None:
    """Also one that has come to init, and what it has started with another environment."""
    read_end, write_end = os.pipe()
    mark = {variables.SOCKET: f"{space.root}/socket", variables.BUILD: "build"}
    inner = "exec env -i sh -c 'echo > /proc/self/fd/1; read word < go'"
    os.mkfifo(space.folder / "go")
    lost = subprocess.Popen(
        ["setsid", "-f", "sh", "-c", f'(sh -c "{inner}"; :); :'],
        cwd=space.folder,
        env={**space.environment, **mark},
        stdout=write_end,
    )
    lost.wait()
    os.close(write_end)
    os.read(read_end, 1)
    assert len(at_work(space)) > 1
    end_build({**mark, variables.BUILD: "another"})
    assert len(at_work(space)) > 1
    end_build(mark)
    assert at_work(space) == []
    assert os.read(read_end, 1) == b""
    os.close(read_end)


# ---------------------------------------------------------------------- what is blocked or ignored

HANDED = """import os, signal, sys
for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python's own
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR2, signal.SIGRTMIN])
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize("options", [("--",), ("--engine=auto", "--")], ids=["ahead", "behind"])
def test_p1_what_the_caller_has_blocked_the_driver_has(
    space: Space, options: tuple[str, ...]
) -> None:
    script = "grep -E '^Sig(Blk|Ign)' /proc/self/status; kill -TERM $$; gcc -c a.c; nm a.o"
    space.write({"a.c": "int a;\n"})
    caller = [sys.executable, "-I", "-c", HANDED]
    plain = space.run(*caller, "sh", "-c", f"({script})")
    ended = space.run(*caller, SMPMAKE, *options, "sh", "-c", f"({script})")
    assert (ended.status, ended.out) == (plain.status, plain.out), ended.err
    assert ended.status == 0
    space.expect_clean()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_job_that_does_not_hear_term_is_ended(space: Space, number: int) -> None:
    waiting_build(space)
    space.write({"build.sh": "trap '' TERM\ngcc -c 0.c\nread x < never\n"})
    process = space.start(SMPMAKE, "--no-guard", "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()
    below = descendants(process.pid)
    os.kill(process.pid, number)
    assert space.finish(process).status == -number
    assert_all_end(below)
    assert "0.o" not in space.tree()
    space.expect_clean()


# ---------------------------------------------------------------------- the loop of kills


@pytest.mark.kills
@pytest.mark.timeout(600)
def test_p3_fifty_kills_at_random_moments(space: Space) -> None:
    """Server or any of us, killed at any moment: a plain make completes the serial result."""
    seed = int(os.environ.get("SMPMAKE_TEST_SEED") or random.SystemRandom().randrange(1 << 30))
    rng = random.Random(seed)
    print(f"seed {seed}")
    expected = expected_tree(space)
    kills = 0
    while kills < 50:
        kills += attempt(space, rng, expected, seed)


@pytest.mark.kills
@pytest.mark.timeout(900)
def test_p9_kills_leave_nobody(space: Space) -> None:
    """Keeper, worker or smpmake, killed at any moment: nothing of the build goes on.

    SMPMAKE_TEST_KILLS says how many, 40 if it is not set.
    """
    count = int(os.environ.get("SMPMAKE_TEST_KILLS") or 40)
    seed = int(os.environ.get("SMPMAKE_TEST_SEED") or random.SystemRandom().randrange(1 << 30))
    rng = random.Random(seed)
    print(f"seed {seed}")
    killed: Counter[str] = Counter()
    while killed.total() < count:
        victim = leave_strays(space, rng)
        killed[victim] += bool(victim)
    print(dict(killed))
