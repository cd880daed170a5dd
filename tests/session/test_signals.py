"""Interruptions and kills: nothing half-written, no orphans, the right status (P2, P3, P9)."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.support.space import MAIN, SMPMAKE, Space

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


def waiting_build(space: Space) -> None:
    """Three compiles; the tool of each waits in the middle of its output.

    `issued` is made when all have been answered: a server that is killed before that leaves the
    last to the plain tool, which leaves what it leaves.
    """
    tools = space.root / "tools"
    tools.mkdir()
    (tools / "gcc").write_text(WAITING_GCC)
    (tools / "gcc").chmod(0o755)
    space.environment["PATH"] = f"{tools}:{space.environment['PATH']}"
    os.mkfifo(space.folder / "started")
    os.mkfifo(space.folder / "go")
    os.mkfifo(space.folder / "never")
    space.write({f"{n}.c": "" for n in range(3)})
    space.write({"build.sh": "gcc -c 0.c\ngcc -c 1.c\ngcc -c 2.c\n: > issued\nread x < never\n"})


def descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def assert_all_end(processes: list[psutil.Process]) -> None:
    """No orphans: the helpers end everything within their patience and a margin."""
    _, alive = psutil.wait_procs(processes, timeout=20)
    assert alive == []


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_p2_p3_signals(space: Space, number: int, status: int) -> None:
    waiting_build(space)
    process = space.start(SMPMAKE, "--no-guard", "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()  # the first tool is in the middle of its output
    below = descendants(process.pid)
    os.kill(process.pid, number)
    ended = space.finish(process)
    assert ended.status == status, ended
    assert not any(name.endswith(".o") for name in space.tree())
    assert_all_end(below)
    space.expect_clean()


def test_p2_ctrl_c_reaches_everybody_at_once(space: Space) -> None:
    """A terminal signals the whole process group: the driver ends by itself."""
    waiting_build(space)
    process = space.start(SMPMAKE, "--no-guard", "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()
    os.killpg(process.pid, signal.SIGINT)
    assert space.finish(process).status == 130
    space.expect_clean()


def test_p2_a_second_ctrl_c_is_immediate(space: Space) -> None:
    waiting_build(space)
    tool = space.root / "tools" / "gcc"
    tool.write_text(WAITING_GCC.replace("trap 'rm -f /nowhere; exit 7' TERM", "trap '' TERM INT"))
    space.write({"build.sh": "trap '' INT TERM\ngcc -c 0.c\ngcc -c 1.c\nread x < never\n"})
    process = space.start(SMPMAKE, "--no-guard", "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()
    below = descendants(process.pid)
    os.kill(process.pid, signal.SIGINT)
    os.kill(process.pid, signal.SIGINT)
    assert space.finish(process).status == 130
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
    keeper = next(p for p in below if p.name() == "smpmake-keeper")
    os.kill(process.pid if victim == "server" else keeper.pid, signal.SIGKILL)
    assert_all_end(below)
    status = space.finish(process).status
    assert status == (-9 if victim == "server" else 125)
    assert {n for n in space.tree() if n.endswith(".o")} == {"2.o"}
    assert (space.folder / "2.o").read_text() == "stale"
    space.expect_clean()


def test_p3_kill_9_of_a_worker_costs_only_time(space: Space) -> None:
    waiting_build(space)
    space.write({"build.sh": "gcc -c 0.c\n"})
    process = space.start(SMPMAKE, "--no-guard", "-j1", "sh", "build.sh")
    (space.folder / "started").read_text()
    worker = next(p for p in descendants(process.pid) if p.name() == "smpmake-worker")
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
    for one in victims:
        one.suspend()
    for one in victims:
        one.kill()
    space.finish(process)
    assert_all_end(tools)  # its parent's death ends it
    ended = space.smpmake("true")
    assert ended.status == 0
    assert (space.folder / "2.o").read_text() == "stale"
    space.expect_clean()


# ---------------------------------------------------------------------- the loop of kills

SOURCES = 24
MAKEFILE = """
OBJECTS = %s
prog: $(OBJECTS)
\tgcc -o $@ $(OBJECTS)
%%.o: %%.c common.h
\tgcc -O2 -MMD -MF $*.d -c -o $@ $<
\techo $@ > $*.log
-include $(OBJECTS:.o=.d)
"""


def real_project() -> dict[str, str]:
    """Sources that take gcc a while each: the moments between issue and end are long enough."""
    body = "\n".join(
        f"static double g{n}(double x) {{ return x * {n} + common(x); }}" for n in range(120)
    )
    calls = " + ".join(f"g{n}(x)" for n in range(120))
    files = {
        f"f{n}.c": f'#include "common.h"\n{body}\ndouble f{n}(double x) {{ return {calls}; }}\n'
        for n in range(SOURCES)
    }
    objects = " ".join(f"f{n}.o" for n in range(SOURCES)) + " main.o"
    return {
        **files,
        "main.c": MAIN,
        "common.h": "static inline double common(double x) { return x * x + 1; }\n",
        "Makefile": MAKEFILE % objects,
    }


@pytest.mark.kills
@pytest.mark.timeout(600)
def test_p3_fifty_kills_at_random_moments(space: Space, request: pytest.FixtureRequest) -> None:
    """Server or any of us, killed at any moment: a plain make completes the serial result."""
    seed = int(os.environ.get("SMPMAKE_TEST_SEED") or random.SystemRandom().randrange(1 << 30))
    rng = random.Random(seed)
    print(f"seed {seed}")
    space.write(real_project())
    space.ok("make", "-j2")
    expected = space.tree()
    kills = 0
    while kills < 50:
        space.clear()
        space.write(real_project())
        if rng.random() < 0.5:  # over a stale build
            space.ok("make", "-j2", "-s", "f0.o", "f1.o", "f2.o", "f3.o")
            space.write({"common.h": "static inline double common(double x) { return x; }\n"})
            space.ok("sh", "-c", "rm -f *.log && touch -d '+1 second' common.h")
            space.write({"common.h": real_project()["common.h"]})
        if not kill_once(space, rng, seed):
            continue
        kills += 1
        check_nothing_half_written(space, expected, seed)
        ended = space.run("make", "-j2")
        assert ended.status == 0, (seed, kills, ended.err)
        assert space.tree() == expected, (seed, kills)


def kill_once(space: Space, rng: random.Random, seed: int) -> bool:
    """Starts a build, kills it once a random number of objects is there; False if it was over."""
    process = space.start(SMPMAKE, "-q", "make")
    goal, spin = rng.randrange(SOURCES), rng.randrange(20000)
    while len(list(space.folder.glob("*.o"))) < goal and process.poll() is None:
        pass
    for _ in range(spin):  # somewhere between two objects
        pass
    if process.poll() is not None:
        space.finish(process)
        return False
    below = descendants(process.pid)
    victims = [psutil.Process(process.pid)]
    helpers = [p for p in below if name_of(p).startswith("smpmake-")]
    if helpers and rng.random() < 0.3:
        victims.append(rng.choice(helpers))
    for victim in victims:
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()
    assert_all_end(below)
    # With its worker killed too a compiler may still end by itself.
    assert_all_end([p for p in psutil.process_iter() if folder_of(p) == str(space.folder)])
    space.finish(process)
    if any(p.name.startswith("smpmake") for p in space.temporary.iterdir()):
        # Killed before the keeper was there, or with it: the next build cleans up.
        assert space.smpmake("-q", "true").status == 0
    assert [p.name for p in space.temporary.iterdir() if p.name.startswith("smpmake")] == [], seed
    shutil.rmtree(space.temporary)  # gcc's own files, which a killed gcc leaves
    space.temporary.mkdir()
    return True


def name_of(process: psutil.Process) -> str:
    """A process's name, "" if it is gone."""
    with contextlib.suppress(psutil.Error):
        return process.name()
    return ""


def folder_of(process: psutil.Process) -> str:
    """A process's current folder, "" if it is gone."""
    with contextlib.suppress(psutil.Error):
        return process.cwd()
    return ""


def check_nothing_half_written(space: Space, expected: dict[str, str], seed: int) -> None:
    """Whatever object is there is the serial one, or an older one that make will replace."""
    assert not list(space.folder.glob(".smpmake*")), seed
    for log in space.folder.glob("*.log"):
        assert log.with_suffix(".o").exists(), (seed, log)  # it speaks of what was done
    for name, what in space.tree().items():
        if name.endswith(".o") and what != expected[name]:
            path = space.folder / name
            stale = subprocess.run(
                ["make", "-q", name], cwd=space.folder, capture_output=True, check=False
            )
            assert stale.returncode == 1, (seed, name)
            assert is_whole(path), (seed, name)


def is_whole(path: Path) -> bool:
    """Whether an object can be read to its end."""
    return (
        subprocess.run(["readelf", "-a", str(path)], capture_output=True, check=False).returncode
        == 0
    )
