"""A real build killed at a random moment, and what plain make then finds."""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.support.findings import DifferenceError
from tests.support.space import MAIN, SMPMAKE, Space

SOURCES = 24
KEEPER = "smpmake-keeper"
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


def expected_tree(space: Space) -> dict[str, str]:
    """What plain make makes of the project."""
    space.clear()
    space.write(real_project())
    space.ok("make", "-j2")
    return space.tree()


def attempt(space: Space, rng: random.Random, expected: dict[str, str], seed: int) -> bool:
    """One kill: a plain make completes the serial result, and what is remembered of the killed
    build is no other.  False if the build was over before."""
    space.clear()
    space.write(real_project())
    if rng.random() < 0.5:  # over a stale build
        space.ok("make", "-j2", "-s", "f0.o", "f1.o", "f2.o", "f3.o")
        space.write({"common.h": "static inline double common(double x) { return x; }\n"})
        space.ok("sh", "-c", "rm -f *.log && touch -d '+1 second' common.h")
        space.write({"common.h": real_project()["common.h"]})
    killed = kill_once(space, rng, seed)
    if killed is None:
        return False
    check_nothing_half_written(space, expected, killed.said, seed)
    ended = space.run("make", "-j2")
    assert ended.status == 0, (seed, ended.err)
    tree = space.tree()
    if tree != expected:
        wrong = {n for n in expected.keys() | tree.keys() if expected.get(n) != tree.get(n)}
        # As after a kill of plain make, its compile goes on, and the rest of the recipe is missing.
        is_one_log = len(wrong) == 1 and all(n.endswith(".log") for n in wrong)
        if not is_one_log or KEEPER not in killed.victims:
            raise DifferenceError(f"seed {seed}: {sorted(wrong)}")
    space.clear()
    space.write(real_project())
    space.ok(SMPMAKE, "-q", "--memo=on", "make")
    if space.tree() != expected:
        raise DifferenceError(f"seed {seed}: behind it smpmake makes another tree")
    return True


def descendants(pid: int) -> list[psutil.Process]:
    """Everything below a process."""
    return psutil.Process(pid).children(recursive=True)


def assert_all_end(processes: list[psutil.Process]) -> None:
    """No orphans: the helpers end everything within their patience and a margin."""
    _, alive = psutil.wait_procs(processes, timeout=20)
    assert alive == []


def kill_together(victims: list[psutil.Process]) -> None:
    """None of them sees another end first, and ends by itself.

    The kernel may have killed a worker whose server is dead (PR_SET_PDEATHSIG).
    """
    for each in victims:
        each.suspend()
    for each in victims:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()


class Kill(NamedTuple):
    """The names of what was killed, and what the build said on stderr."""

    victims: set[str]
    said: str


def kill_once(space: Space, rng: random.Random, seed: int) -> Kill | None:
    """Starts a build, kills it once a random number of objects is there; None if it was over."""
    if rng.random() < 0.5:  # else much is given back
        shutil.rmtree(Path(space.environment["XDG_CACHE_HOME"], "smpmake/memo"), ignore_errors=True)
    memo = rng.choice(("off", "auto", "on", "on"))
    process = space.start(SMPMAKE, "-q", f"--memo={memo}", "make")
    goal, spin = rng.randrange(SOURCES), rng.randrange(20000)
    while len(list(space.folder.glob("*.o"))) < goal and process.poll() is None:
        pass
    for _ in range(spin):  # somewhere between two objects
        pass
    if process.poll() is not None:
        space.finish(process)
        return None
    below = descendants(process.pid)
    victims = [psutil.Process(process.pid)]
    helpers = [p for p in below if name_of(p).startswith("smpmake-")]
    if helpers and rng.random() < 0.3:
        victims.append(rng.choice(helpers))
    killed = set(map(name_of, victims))
    for victim in victims:
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()
    assert_all_end(below)
    # With its worker killed too a compiler may still end by itself.
    assert_all_end([p for p in psutil.process_iter() if folder_of(p) == str(space.folder)])
    said = space.finish(process).err
    if any(p.name.startswith("smpmake") for p in space.temporary.iterdir()):
        # Killed before the keeper was there, or with it: the next build cleans up.
        assert space.smpmake("-q", "true").status == 0
    assert [p.name for p in space.temporary.iterdir() if p.name.startswith("smpmake")] == [], seed
    shutil.rmtree(space.temporary)  # gcc's own files, which a killed gcc leaves
    space.temporary.mkdir()
    return Kill(killed, said)


#: A part that calls no compiler, so that there is no engine yet; then makes within makes.
_SCRIPT = "for n in 1 2 3 4 5; do sh -c 'ls *.c | cat > log' & wait; done; make"
_TOP = "all: one two\none two: ; $(MAKE) -f sub.mk N=$@\n"
_SUB = """all: a$N.o b$N.o c$N.o
\tcat $^ | (cat; ls) | wc -c > size$N
%$N.o: %.c
\tsh -c 'gcc -c -o $@ $<; echo $@ >> made'
"""


def leave_strays(space: Space, rng: random.Random) -> str:
    """Kills one of us in a build with makes within makes: nothing of it goes on.

    Returns the victim's name; "" if the build was over before.
    """
    space.clear()
    space.write({**{f"{n}.c": "int a;\n" for n in "abc"}, "Makefile": _TOP, "sub.mk": _SUB})
    options = rng.choice([(), (), ("--no-guard",), ("--engine=auto", "--")])
    command = rng.choice([("sh", "-c", _SCRIPT), ("make",)])
    process = space.start(SMPMAKE, *options, *(() if "--" in options else ("--",)), *command)
    below: list[psutil.Process] = []
    while not any(name_of(each) == KEEPER for each in below) and process.poll() is None:
        below = descendants(process.pid)
    goal, spin = rng.randrange(8), rng.randrange(20000)
    while len(list(space.folder.iterdir())) < 5 + goal and process.poll() is None:
        pass
    for _ in range(spin):
        pass
    with contextlib.suppress(psutil.NoSuchProcess):
        below = descendants(process.pid)
    ours = [each for each in below if name_of(each).startswith("smpmake-")]
    keepers = [each for each in ours if name_of(each) == KEEPER]
    victims = rng.choice([keepers, keepers, ours, [psutil.Process(process.pid)]])
    if process.poll() is not None or not victims:
        space.finish(process)
        return ""
    victim = rng.choice(victims)
    name = name_of(victim)
    with contextlib.suppress(psutil.NoSuchProcess):
        victim.kill()
    status = space.finish(process).status
    if name == KEEPER and status == 125:  # the prompt is back
        assert at_work(space) == []
    elif status == -9:
        assert_all_end(at_work(space))
        assert_all_end(at_work(space))
    shutil.rmtree(space.temporary)
    space.temporary.mkdir()
    return name


def at_work(space: Space) -> list[psutil.Process]:
    """Whoever is in the space's folder and lives."""
    found = [each for each in psutil.process_iter() if folder_of(each) == str(space.folder)]
    return [each for each in found if _state_of(each) != psutil.STATUS_ZOMBIE]


def _state_of(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return process.status()
    return psutil.STATUS_ZOMBIE


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


def check_nothing_half_written(
    space: Space, expected: dict[str, str], said: str, seed: int
) -> None:
    """Whatever object is there is the serial one, or an older one that make will replace."""
    assert not list(space.folder.glob(".smpmake*")), seed
    for log in space.folder.glob("*.log"):
        made = log.with_suffix(".o")  # it speaks of what was done
        # A make that is told to end removes what its recipe, whose last line this was, had made.
        assert made.exists() or f"Deleting file '{made.name}'" in said, (seed, log, said)
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
