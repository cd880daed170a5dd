"""Each promise of docs/architecture.md: kept, and broken where its mechanism is switched off.

A test `test_pN_...` shows that promise N is kept, a test `test_without_pN_...` beside it what comes
out without the mechanism.  P4 has a case for each reason in test_reasons.py.
"""

from __future__ import annotations

import contextlib
import os
import re
import runpy
import shutil
import signal
from pathlib import Path

import psutil
import pytest

from smpmake import native
from smpmake.decide import policy
from tests.support import without
from tests.support.bench import Bench
from tests.support.held import Held
from tests.support.kills import name_of
from tests.support.remembered import counts, forget_facts, settle
from tests.support.space import MAIN, Space

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent

# ---------------------------------------------------------------------- P1: the same files

HELD = {"held.c": "int held;\n", "x.c": "int x;\n"}
READS = ["sh", "-c", "gcc -c held.c; od held.o > copy; echo > after"]


def test_p1_who_reads_a_pending_file_waits(space: Space) -> None:
    held = Held(space)
    status, expected = held.serial(HELD, READS)
    ended, tree = held.parallel(HELD, READS)
    assert (ended.status, tree) == (status, expected)


def test_without_p1_a_file_is_read_too_early(space: Space) -> None:
    held = Held(space)
    _, expected = held.serial(HELD, READS)
    _, tree = held.parallel(HELD, READS, "--without", "reads")
    assert tree["held.o"] == expected["held.o"] and tree["copy"] != expected["copy"]


# ---------------------------------------------------------------------- P2: the status

BAD = {"bad.c": "#error no\n"}
GOES_ON = ["sh", "-c", "gcc -c bad.c && echo good > seen; exit 0"]
WRONG = "smpmake: failed: gcc -c bad.c"


def test_p2_the_driver_learns_the_truth(space: Space) -> None:
    space.expect_same(BAD, GOES_ON)


def test_p2_what_cannot_be_undone_is_no_success(space: Space) -> None:
    """The status is the driver's no more, and the failure is shown once, last."""
    without.undoing(space)
    space.write(BAD)
    ended = space.smpmake(*GOES_ON)
    assert ended.status == 1
    assert (ended.err.count(" error: #error no"), ended.err.count(WRONG)) == (1, 1)


def test_without_p2_the_driver_acts_on_a_wrong_promise(space: Space) -> None:
    without.undoing(space)
    space.write(BAD)
    space.smpmake(*GOES_ON)
    assert "seen" in space.tree()


def test_without_p2_a_wrong_build_is_a_success(space: Space) -> None:
    without.undoing(space)
    space.write(BAD)
    change = (
        "from smpmake.session.session import Session\n"
        "Session._status = lambda self, faults: self.record.driver_status\n"
    )
    ended = without.run(space, change, GOES_ON)
    assert ended.status == 0 and "seen" in space.tree()


# ---------------------------------------------------------------------- P3: nothing half-written

_HALF = """#!/bin/sh
case "$*" in *held.c) echo half > held.o; : > "$BEGUN"; read word < "$BEGUN.go";; esac
exec {gcc} "$@"
"""
#: Workers are not told that a file is of their job's making, so that they leave it.
_LEAVES = (
    "from smpmake.engine import command\n"
    "usual = command.encode_output\n"
    "command.encode_output = lambda *given, **named: usual(*given, **(named | {'made': False}))\n"
)


def interrupted(space: Space, change: str) -> dict[str, str]:
    """What a build leaves that Ctrl-C ends while a compiler is in the middle of its output."""
    begun = space.root / "begun"
    os.mkfifo(f"{begun}.go")
    space.environment["BEGUN"] = str(begun)
    space.fake("gcc", _HALF.format(gcc=shutil.which("gcc")))
    without.undoing(space)
    space.write(HELD)
    process = without.start(space, change, ["sh", "-c", "gcc -c held.c"])
    while not begun.exists() and process.poll() is None:
        pass
    process.send_signal(signal.SIGINT)
    assert space.finish(process).status == -signal.SIGINT
    return space.tree()


def test_p3_what_is_half_written_goes(space: Space) -> None:
    assert "held.o" not in interrupted(space, "")


def test_without_p3_it_stays(space: Space) -> None:
    assert "held.o" in interrupted(space, _LEAVES)


# ---------------------------------------------------------------------- P4: in doubt, in place

CHECKS = ["sh", "-c", "gcc -fsyntax-only bad.c && echo good > seen; exit 0"]


def test_p4_who_wants_a_status_alone_gets_the_true_one(space: Space) -> None:
    without.undoing(space)
    space.expect_same(BAD, CHECKS)


def test_without_p4_it_is_promised(space: Space) -> None:
    without.undoing(space)
    space.write(BAD)
    change = (
        "from smpmake.decide import policy\npolicy.decide = lambda *given: policy.Decision(None)\n"
    )
    without.run(space, change, CHECKS)
    assert "seen" in space.tree()


# ---------------------------------------------------------------------- P5: our faults cost speed

LINKED = {"a.c": "int a;\n", "main.c": MAIN}
LINKS = ["sh", "-e", "-c", "gcc -c a.c\ngcc -c main.c\ngcc -o prog a.o main.o\n./prog"]
_FAULT = (
    "from smpmake.engine.engine import Engine\n"
    "def invoke(*given): raise RuntimeError('a fault of ours')\n"
    "Engine.invoke = invoke\n"
)
#: A command that is not understood has failed, as far as its shim is told.
_TELLS = (
    "from smpmake.server.connections import Server\n"
    "usual = Server.frame\n"
    "def frame(self, connection, *given):\n"
    "    try: usual(self, connection, *given)\n"
    "    except RuntimeError: connection.leave(1 << 8)\n"
    "Server.frame = frame\n"
)


def test_p5_a_fault_of_ours_is_none_of_the_builds(space: Space) -> None:
    space.write(LINKED)
    assert space.run(*LINKS).status == 0
    expected = space.tree()
    space.clear()
    space.write(LINKED)
    ended = without.run(space, _FAULT, LINKS)
    assert (ended.status, space.tree()) == (0, expected), ended.err
    assert "a fault of ours" in ended.err


def test_without_p5_it_fails_the_build(space: Space) -> None:
    space.write(LINKED)
    assert without.run(space, _FAULT + _TELLS, LINKS).status == 1


# ---------------------------------------------------------------------- P6: at most N at once


def at_work(bench: Bench) -> tuple[int, bool]:
    """Of two slots: jobs that run, of three, and whether a command in place runs beside them."""
    bench.write("a.c", "b.c", "c.c", "d.c")
    for name in "abc":
        bench.run(f"gcc -c {name}.c")
    running = len(bench.workers.running)
    is_beside = bench.run("gcc -fsyntax-only d.c").became is not None
    bench.close()
    return running, is_beside


def test_p6_slots_are_never_more(tmp_path: Path) -> None:
    assert at_work(Bench(tmp_path)) == (2, False)


def test_without_p6_what_runs_in_place_takes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = policy.decide
    monkeypatch.setattr(policy, "decide", lambda *given: usual(*given)._replace(light=True))
    assert at_work(Bench(tmp_path)) == (2, True)


# ---------------------------------------------------------------------- P7: nothing left to do

#: The stamp is there before the object that it is newer than.
STAMPED = {
    "Makefile": "stamp: x.o\n\ttouch stamp\nx.o: x.c\n\tgcc -Dheld -c x.c\n",
    "x.c": "int x;\n",
}


def asked_again(space: Space, change: str) -> int:
    """make's answer whether all is up to date after a build, in which the object was late."""
    held = Held(space)
    space.write(STAMPED)
    os.mkfifo(held.gate)
    process = without.start(space, change, ["make"])
    while not (space.folder / "stamp").exists() and process.poll() is None:
        pass
    held.release(process)
    assert space.finish(process).status == 0
    return space.run("make", "-q").status


def test_p7_the_plain_driver_finds_nothing_to_do(space: Space) -> None:
    assert asked_again(space, "") == 0


def test_without_p7_it_builds_again(space: Space) -> None:
    """Outputs keep the time at which their job ended."""
    assert asked_again(space, _LEAVES.replace("made", "timed")) == 1


# ---------------------------------------------------------------------- P8: whole outputs

SAYS = """#!/bin/sh
for name; do :; done
printf '%s << ' "$name" >&2
: > "$AT_WORK/$name"
until [ "$(ls "$AT_WORK" | wc -l)" -ge 2 ]; do :; done
echo '>>' >&2
exec {gcc} "$@"
"""
TWO = {"Makefile": "all: a.o b.o\n%.o: %.c\n\t@gcc -c $<\n", "a.c": "int a;\n", "b.c": "int b;\n"}


def lines(space: Space, *options: str) -> list[str]:
    """What two compilers say that are in the middle of a line at the same time."""
    space.environment["AT_WORK"] = str(space.root / "at-work")
    (space.root / "at-work").mkdir()
    space.fake("gcc", SAYS.format(gcc=shutil.which("gcc")))
    space.write(TWO)
    ended = space.smpmake(*options, "make", "-j2")
    assert ended.status == 0, ended.err
    return sorted(line for line in ended.err.splitlines() if "<<" in line or ">>" in line)


def test_p8_what_jobs_say_is_not_mixed(space: Space) -> None:
    assert lines(space, "-j2", "--") == ["a.c << >>", "b.c << >>"]


def test_without_p8_it_is_mixed(space: Space) -> None:
    """Compilers in place write themselves, where nobody records them."""
    assert lines(space, "-j2", "--memo=off", "--foreground", "gcc", "--")[0] == ">>"


WARNS = {"warns.c": "#warning mind this\n"}
WARNING = "warning: #warning mind this"


def test_p8_what_jobs_say_is_not_lost(space: Space) -> None:
    ended = space.expect_same(WARNS, ["sh", "-c", "gcc -c warns.c; exit 0"])
    assert ended.err.count(WARNING) == 1


def test_without_p8_it_is_lost(space: Space) -> None:
    """smpmake catches a job's output, and prints none of it."""
    space.write(WARNS)
    change = (
        "from smpmake.engine.output import JobOutput\n"
        "JobOutput.print_result = lambda *given: None\n"
    )
    ended = without.run(space, change, ["sh", "-c", "gcc -c warns.c; exit 0"])
    assert (ended.status, ended.err.count(WARNING)) == (0, 0)


# ---------------------------------------------------------------------- P9: nothing left over

_KEEPS = (
    "from smpmake.server.rundir import SessionFolder\nSessionFolder.remove = lambda self: None\n"
)


def test_p9_nothing_is_left(space: Space) -> None:
    space.write(LINKED)
    assert without.run(space, "", LINKS).status == 0
    space.expect_clean()


def test_without_p9_the_sessions_folder_is(space: Space) -> None:
    space.write(LINKED)
    without.run(space, _KEEPS, LINKS)
    with pytest.raises(AssertionError):
        space.expect_clean()


def killed(space: Space, *, with_keeper: bool) -> list[str]:
    """What of smpmake's lies there when its server is killed in the middle of a compile."""
    held = Held(space)
    space.write(HELD)
    process = held.start("sh", "-c", "gcc -c held.c; read word")
    while not (running := tools(process.pid)):
        assert process.poll() is None
    process.send_signal(signal.SIGSTOP)  # it does not see what becomes of its keeper
    if not with_keeper:
        (keeper,) = [each for each in below(process.pid) if name_of(each) == "smpmake-keeper"]
        keeper.kill()
    family = below(process.pid)
    process.kill()
    _, alive = psutil.wait_procs([*running, *(family if with_keeper else [])], timeout=20)
    assert alive == []  # their workers end with the server
    space.finish(process)
    return [path.name for path in space.temporary.iterdir() if path.name.startswith("smpmake")]


def below(pid: int) -> list[psutil.Process]:
    """Everything that a process has started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children(recursive=True)
    return []


def tools(pid: int) -> list[psutil.Process]:
    """What workers below a process run."""
    workers = [each for each in below(pid) if name_of(each) == "smpmake-worker"]
    return [tool for worker in workers for tool in below(worker.pid)]


def test_p9_the_keeper_clears_up_after_a_kill(space: Space) -> None:
    assert killed(space, with_keeper=True) == []


def test_without_p9_the_next_build_does(space: Space) -> None:
    assert len(killed(space, with_keeper=False)) == 1
    assert space.smpmake("true").status == 0
    assert not [path for path in space.temporary.iterdir() if path.name.startswith("smpmake")]


@pytest.mark.parametrize("is_ended", [True, False])
def test_p9_a_leftover_names_its_job(tmp_path: Path, is_ended: bool) -> None:
    bench = Bench(tmp_path)
    bench.write("a.c")
    bench.run("gcc -c a.c")
    if is_ended:
        bench.workers.end(0)
    named = ["still claimed by 'gcc -c a.c' (running)", "1 slots are not free"]
    assert bench.close() == ([] if is_ended else named)


# ---------------------------------------------------------------------- P10: without a server

MOST_CALLS = 12


def shims(space: Space) -> dict[str, str]:
    """A folder with a shim, and the environment of a build whose server has gone."""
    folder = space.root / "shims"
    folder.mkdir()
    os.symlink(native.program("shim"), folder / "gcc")
    gone = {"_SMPMAKE_SOCKET": str(space.root / "gone"), "_SMPMAKE_BUILD": "main"}
    return {"PATH": f"{folder}:/usr/bin:/bin", **gone}


def calls(space: Space, program: Path, environment: dict[str, str]) -> int:
    """How many system calls it makes before it becomes the real tool."""
    ended = space.run(str(without.counter(space.root)), str(program), "-c", "x.c", **environment)
    programs, count = ended.out.split()
    assert programs == "2", ended
    assert "x.o" in space.tree()
    return int(count)


def test_p10_a_shim_is_the_real_tool(space: Space) -> None:
    environment = shims(space)
    space.write(HELD)
    plain = space.ok("gcc", "-c", "x.c")
    expected = space.tree()
    (space.folder / "x.o").unlink()
    ended = space.run("gcc", "-c", "x.c", **environment)
    assert (ended, space.tree()) == (plain, expected)
    (space.folder / "x.o").unlink()
    assert calls(space, space.root / "shims" / "gcc", environment) <= MOST_CALLS


def test_without_p10_its_libc_costs_more(space: Space) -> None:
    """The same shim, started as other programs are."""
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))
    native = ROOT / "smpmake" / "native"
    rooms = set(hook["PROGRAMS"]["shim"]) - set(hook["BARE"])
    sources = hook["_sources"](native, rooms)
    shim = space.root / "other" / "gcc"
    shim.parent.mkdir()
    names = hook["_names_of_tools"](ROOT)
    space.ok("gcc", *hook["FLAGS"], f"-I{native}", *names, *sources, "-o", str(shim))
    space.write(HELD)
    assert calls(space, shim, shims(space)) > 2 * MOST_CALLS


def test_without_p10_there_is_no_tool(space: Space) -> None:
    """The real one is what PATH has behind the shim."""
    environment = shims(space)
    space.write(HELD)
    environment["PATH"] = str(space.root / "shims")
    ended = space.run(str(space.root / "shims" / "gcc"), "-c", "x.c", **environment)
    assert (ended.status, "x.o" in space.tree()) == (127, False)


# ---------------------------------------------------------------------- P11: given back is made

HEADED = {
    "Makefile": "a.o: a.c a.h\n\tgcc -c a.c\n",
    "a.c": '#include "a.h"\nint a = A;\n',
    "a.h": "#define A 1\n",
}
CHANGED = {"a.h": "#define A 2\n"}


def remembered(space: Space, *, facts: bool) -> tuple[bool, int]:
    """Whether the object of a changed header is plain make's, and how many results came back.

    facts  whether the store says what the first compile found.
    """
    space.write(HEADED | CHANGED)
    space.ok("make")
    expected = space.tree()
    space.clear()
    space.write(HEADED)
    settle(space.folder)
    assert space.smpmake("--memo=on", "make").status == 0
    store = Path(space.environment["XDG_CACHE_HOME"], "smpmake", "memo", "q")
    (entry,) = (path for path in store.rglob("*") if path.is_file())
    if not facts:
        forget_facts(entry)
    (space.folder / "a.o").unlink()
    space.write(CHANGED)
    assert space.smpmake("--memo=on", "make").status == 0
    return space.tree() == expected, counts(space)["hits"]


def test_p11_what_is_given_back_would_have_been_made(space: Space) -> None:
    assert remembered(space, facts=True) == (True, 0)


def test_without_p11_another_result_comes(space: Space) -> None:
    """Nothing that the command found is compared, only its question."""
    assert remembered(space, facts=False) == (False, 1)


# ---------------------------------------------------------------------- all of them


def test_every_promise_is_shown_both_ways() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    promised = set(re.findall(r"^- \*\*P(\d+)\*\*", page, re.MULTILINE))
    names = list(globals())
    for pattern in (r"test_p(\d+)_", r"test_without_p(\d+)_"):
        assert {found[1] for name in names if (found := re.match(pattern, name))} == promised
