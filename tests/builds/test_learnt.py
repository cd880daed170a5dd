"""Recipes' lines that are jobs because an earlier build has seen what they do (P1, P2, P3)."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import signal

import pytest

from tests.support import recipes
from tests.support.held import Held
from tests.support.lessons import jobs, make_them_slow, reached, release_together
from tests.support.space import SMPMAKE, Ended, Space
from tests.support.terminal import Terminal
from tests.support.variants import often

LEARNS = "--recipes=learned"

#: Where there is a FIFO of a target's own its line waits for who writes to it.
WAITS = "if test -p go-$@; then read word < go-$@; fi"
TOGETHER = f"all: a b\na b:\n\t{WAITS}; echo $@ > $@-t && mv $@-t $@\nclean:\n\trm -f a b\n"


def build(space: Space, *options: str, **environment: str) -> Ended:
    ended = space.smpmake(LEARNS, "-j4", *options, "--", "make", **environment)
    assert "Traceback" not in ended.err, ended.err
    space.expect_clean()
    make_them_slow(space)
    return ended


def again(
    space: Space, first: dict[str, str], *changes: dict[str, str], options: tuple[str, ...] = ()
) -> list[Ended]:
    """The plain driver as oracle: a build, and one for each change of files, in the same tree."""
    space.write(first)
    expected = []
    for change in ({}, *changes):
        space.write(change)
        status = space.run("make").status
        expected.append((status, space.tree()))
    space.clear()
    space.write(first)
    found = []
    for change, (status, tree) in zip(({}, *changes), expected, strict=True):
        space.write(change)
        ended = build(space, *options)
        assert space.tree() == tree, ended.err
        assert ended.status == status, ended.err
        found.append(ended)
    return found


def recipe(*lines: str) -> str:
    return "all:\n" + "".join(f"\t@{line}\n" for line in lines)


def test_what_was_learnt_runs_at_once(space: Space) -> None:
    space.write({"Makefile": TOGETHER})
    assert jobs(build(space)) == 0
    space.ok("make", "clean")
    gates = [space.folder / f"go-{name}" for name in "ab"]
    for gate in gates:
        os.mkfifo(gate)
    process = space.start(SMPMAKE, LEARNS, "-j4", "--", "make")
    release_together(process, gates)
    assert jobs(space.finish(process)) == len(gates)
    assert (space.folder / "a").read_text() + (space.folder / "b").read_text() == "a\nb\n"


def test_so_it_is_for_who_says_nothing(space: Space) -> None:
    """A build without options has its stage before there are settings."""
    space.write({"Makefile": TOGETHER})
    for known in (0, 2):
        ended = space.smpmake("make")
        assert ended.status == 0, ended.err
        assert jobs(ended) == known
        make_them_slow(space)
        space.ok("make", "clean")


LISTS = "for f in d/*; do echo $$f; done > names"
HELD_1, HELD_2 = (WAITS.replace("$@", number) for number in "12")


@pytest.mark.parametrize(
    "lines",
    [
        # Made anew by a later line, it is not there for a moment.
        (f"{HELD_1}; {LISTS}", f"rm -f d/e; {HELD_2}; echo anew > d/e"),
        # Made by the driver, in a line that is another one each time; and then by an earlier job.
        (
            ": $(shell date +%N); rm -f d/e; echo old > d/e",
            f"{{ {HELD_2}; echo anew; }} > d/e",
            f"{HELD_1}; {LISTS}",
        ),
    ],
)
def test_a_line_lists_what_others_are_at_work_on(space: Space, lines: tuple[str, ...]) -> None:
    space.write({"Makefile": recipe(*lines), "d/a": "", "d/e": "", "d/last": ""})
    for _ in range(2):
        build(space)
    names = space.folder / "names"
    names.unlink()
    gates = [space.folder / f"go-{number}" for number in "12"]
    for gate in gates:
        os.mkfifo(gate)
    process = space.start(SMPMAKE, LEARNS, "-j4", "--", "make")
    lists, makes = reached(process, gates)
    os.close(lists)
    while not (names.exists() and names.read_text().endswith("d/last\n")):
        assert process.poll() is None
    os.close(makes)
    assert jobs(space.finish(process)) == 2
    assert names.read_text() == "d/a\nd/e\nd/last\n"
    assert (space.folder / "d/e").read_text() == "anew\n"


def test_nothing_is_guessed_while_the_pool_has_enough_to_do(space: Space) -> None:
    """A guess has its price, and gains nothing then: the line runs where it stands."""
    space.fake("gcc", '#!/bin/sh\nif test -p held; then read word < held; fi; echo > "$4"\n')
    objects = [f"o{number}.o" for number in range(6)]
    rule = "%.o: %.c\n\tgcc -c $< -o $@\nline:\n\t@echo > line; :\n"
    space.write({"Makefile": f"all: {' '.join(objects)} line\n{rule}"})
    space.write({name.replace(".o", ".c"): "" for name in objects})
    build(space, "-j1")
    space.ok("rm", "line", *objects)
    os.mkfifo(space.folder / "held")
    gate = os.open(space.folder / "held", os.O_RDWR)
    process = space.start(SMPMAKE, LEARNS, "-j1", "--", "make")
    while not (space.folder / "line").exists():  # a job would stand behind what is held
        assert process.poll() is None
    os.write(gate, len(objects) * b"\n")
    assert jobs(space.finish(process)) == len(objects)
    os.close(gate)


@pytest.mark.parametrize(
    ("recipes", "goals", "found"),
    [
        ("learned", (), [0, 1]),
        ("learned", ("check",), [0, 0]),
        ("all", ("check",), [0, 1]),
    ],
)
def test_what_tests_do_is_counted_on_only_if_asked_for(
    space: Space, recipes: str, goals: tuple[str, ...], found: list[int]
) -> None:
    space.write({"Makefile": "all check:\n\t@echo > x; :\n"})
    for expected in found:
        ended = space.smpmake(f"--recipes={recipes}", "-j4", "--", "make", *goals)
        assert jobs(ended) == expected
        make_them_slow(space)
        space.ok("rm", "x")


def test_what_fails_only_as_a_job_is_none_any_more(space: Space) -> None:
    """As with a port that another line holds: its own status, where it stands, is the true one."""
    space.write({"Makefile": 'all:\n\t@test -z "$$SMPMAKE_COMMAND" || exit 3; echo > x\n'})
    for _ in range(4):
        ended = build(space)
        assert ended.status == 0, ended.err
        space.ok("rm", "x")
    assert jobs(ended) == 0


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_who_opens_the_terminal_by_its_name_is_not_learnt(space: Space, shell: str) -> None:
    """A job would be stopped there.  A shell that only looks whether there is one is learnt."""
    rule = "\t@echo word > out; {0} > out.b; :\n"
    asks = rule.format("read word < /dev/tty; echo $$word")
    for text, expected in ((rule.format("true"), 1), (asks, 0)):
        space.write({"Makefile": f"SHELL = {shell}\nall:\n{text}"})
        for jobs_found in (0, expected):
            terminal = Terminal(space, SMPMAKE, LEARNS, "make")
            terminal.type(b"typed\n")
            assert terminal.finish() == 0, terminal.seen
            assert (b"1 in parallel" in terminal.seen) == (jobs_found == 1), terminal.seen
            make_them_slow(space)
            space.ok("rm", "out")
        if expected == 0:
            assert (space.folder / "out.b").read_text() == "typed\n"


@pytest.mark.parametrize(
    ("line", "jobs_found"),
    [
        ("read word; echo $$word > out; :", 0),
        ("read word || exit 3; echo $$word > out", 0),
        ("python3 -c 'print(input())' > out", 0),
        ("test -t 1 || echo word > out; :", 1),
    ],
)
def test_what_a_person_is_asked_is_not_counted_on(space: Space, line: str, jobs_found: int) -> None:
    space.write({"Makefile": f"all:\n\t@{line}\n"})
    for word in ("one", "two", "three"):
        ours, theirs = pty.openpty()
        os.write(ours, f"{word}\n".encode())
        space.stdin = theirs
        ended = space.smpmake(LEARNS, "-j4", "--", "make")
        os.close(ours)
        os.close(theirs)
        assert ended.status == 0, ended.err
        assert (space.folder / "out").read_text() == f"{'word' if jobs_found else word}\n"
        make_them_slow(space)
    assert jobs(ended) == jobs_found  # at the latest then it is known


def test_what_is_done_for_its_status_is_not_counted_on(space: Space) -> None:
    space.write({"Makefile": "all:\n\t@test -f in && cat in > /dev/null; :\n", "in": ""})
    assert [jobs(build(space)) for _ in range(2)] == [0, 0]


def test_afterwards_make_finds_nothing_to_do(space: Space) -> None:
    text = "all: c\nc: b\n\t@cat b > c; :\nb: a\n\t@cat a > b; :\n"
    space.write({"Makefile": text, "a": "1\n"})
    build(space)
    space.ok("rm", "b", "c")
    assert jobs(build(space)) == 2
    assert "up to date" in space.ok("make").out or "Nothing to be done" in space.ok("make").out


ORDERS = {
    "one reads what another writes": ("cat in > x; :", "cat x > y; :", "cat y > z; :"),
    "one writes what another reads": ("cat in > x; :", "cat x > y; :", "echo 2 > x; :"),
    "the same is written twice": ("echo 1 > x; :", "echo 2 > x; :", "cat x > y; :"),
    "appended": ("echo 1 > x; :", "echo 2 >> x; :", "cat x >> y; :"),
    "removed": ("cat in > x; :", "cat x > y; :", "rm -f x; :", "test -f x || echo no > z"),
    "removed before it is there": ("rm -f x; :", "cat in > x; :", "cat x > y; :"),
    "one name for a moment": ("cat in > t; cat t t > x; rm t", "echo 2 > t; mv t y"),
    "looked for": ("cat in > x; :", "test -f x && echo yes > y", "ls > z; :"),
    "a mode": ("cat in > x; :", "chmod 755 x; :", "test -x x && echo yes > y"),
    "through a link": ("cat in > x; :", "ln -s x l; cat l > y; rm l", "echo 2 > x; :"),
}


#: Of the others the disorder suite sees to it.
MAIN = ("one reads what another writes", "appended", "one name for a moment", "looked for")


@pytest.mark.parametrize("name", often(MAIN, ORDERS))
def test_lines_keep_their_order(space: Space, name: str) -> None:
    clean = {"in": "other\n"}
    first, second, third = again(
        space, {"Makefile": recipe(*ORDERS[name]), "in": "1\n"}, clean, {"in": "third\n"}
    )
    assert jobs(first) == 0
    assert jobs(second) + jobs(third) > 0


def test_a_link_that_led_nowhere_is_listed_though_it_was_replaced(space: Space) -> None:
    lists = "if test -p go; then read word < go; fi; for f in d/*; do echo $$f; done > a; :"
    text = recipe(lists, "ln -sf elsewhere d/l", "if test -p go; then echo > go; fi; :")
    space.write({"Makefile": text, "d/e": ""})
    (space.folder / "d" / "l").symlink_to("nowhere")
    assert build(space).status == 0
    os.mkfifo(space.folder / "go")
    assert jobs(build(space)) >= 1
    assert (space.folder / "a").read_text() == "d/e\nd/l\n"


#: What depends on a file `mode`, and the words in which a wrong guess is told.
WRONG = {
    "another file": ("if test -f mode; then echo 2 > y; else echo 1 > x; fi", "wrote"),
    "one more": ("echo 1 > x; if test -f mode; then echo 2 > y; fi", "wrote"),
    "one less": ("if test -f mode; then :; else echo 1 > x; fi", "did not write"),
    "a removal": ("echo 1 > x; if test -f mode; then rm in; fi", "removed"),
    "a folder": ("echo 1 > x; if test -f mode; then mkdir n; fi", "no file"),
    "a link": ("echo 1 > x; if test -f mode; then ln -s in l; fi", "no file"),
    "a make": ("echo 1 > x; if test -f mode; then $(MAKE) -s inner; fi", "runs a make"),
    "a mode": ("echo 1 > x; if test -f mode; then chmod 700 in; fi", "changed"),
}


@pytest.mark.parametrize("name", often(("another file", "one less", "a removal", "a make"), WRONG))
def test_a_wrong_guess_is_undone_and_told(space: Space, name: str) -> None:
    line, words = WRONG[name]
    text = recipe(line, "test -f y && cat y > z || echo none > z", "cat in >> z || :")
    text += "inner:\n\t@echo inner > y\n"
    _, second, third = again(space, {"Makefile": text, "in": "1\n"}, {"mode": ""}, {"in": "2\n"})
    assert "did not do what it did in an earlier build" in second.err
    assert words in second.err
    assert "mislearnt" in "".join(space.run(SMPMAKE, "why", build).out for build in "12")
    assert "earlier build" not in third.err, "it is not believed again"


def test_two_equal_lines_are_wrong_together(space: Space) -> None:
    line = "echo 1 > x; if test -f mode; then echo 2 > y; fi; :"
    text = recipe(*[line] * 4, "test -f y && cat y > z || echo none > z")
    _, second, third = again(space, {"Makefile": text}, {"mode": ""}, {"in": "2\n"})
    assert "did not do what it did in an earlier build" in second.err
    assert "earlier build" not in third.err


def test_lines_that_are_wrong_for_one_reason_cost_one_repetition(space: Space) -> None:
    """As msgfmt does: what is there already is replaced, and what is not is written."""
    lines = [f"if test -f mode; then echo 2 > y{n}; else echo 1 > x{n}; fi" for n in range(6)]
    text = recipe(*lines, "cat x* y* > z || :")
    _, second, third = again(space, {"Makefile": text}, {"mode": ""}, {"in": "2\n"})
    assert second.err.count("did not do what it did in an earlier build") == 1
    assert "earlier build" not in third.err


@pytest.mark.parametrize("there", [False, True], ids=["new", "replaced"])
def test_a_move_that_replaces_is_the_move_that_was_learnt(space: Space, *, there: bool) -> None:
    """mv asks for one that replaces nothing first, which fails where something is there."""
    space.write({"Makefile": "v.h: in\n\tsh ./gen.sh > n && mv n v.h\n", "in": "1\n"})
    space.write({"gen.sh": "cat in\n", **({"v.h": "0\n"} if there else {})})
    os.utime(space.folder / "in", (2e9, 2e9))
    build(space)
    for content in ("2\n", "3\n"):
        space.write({"in": content})
        os.utime(space.folder / "in", (2e9, 2e9))
        ended = build(space)
        assert (ended.status, jobs(ended)) == (0, 1), ended.err
        assert "run again" not in ended.err
        assert (space.folder / "v.h").read_text() == content


@pytest.mark.parametrize(
    "second", ["test -f v || cp in v", "test -f v || echo late > v", "cp in n1; mv n1 v"]
)
def test_a_move_that_is_refused_is_not_refused_for_what_comes_later(
    space: Space, second: str
) -> None:
    """Whether mv -n moves depends on what is there: what a later line makes is not."""
    held = Held(space)
    look = "if test -f n0; then echo kept > k; else echo moved > k; fi"
    lines = f"s0:\n\tgcc -Dheld -c c.c; cp in n0; mv -n n0 v; {look}\ns1:\n\t{second}\n"
    made = {"Makefile": f"all: s0 s1\n{lines}", "in": "new\n", "c.c": "int c;\n"}
    space.write({**made, "v": "mine\n"})
    build(space)
    expected = held.serial(made, ["make"])
    space.clear()
    space.write(made)
    process = held.start(LEARNS, "-j4", "--", "make")
    held.let_go_when_stuck(process)
    ended = space.finish(process)
    assert (ended.status, held.tree()) == expected, ended.err
    space.expect_clean()


@pytest.mark.chaos
def test_what_was_moved_out_of_a_folder_of_the_lines_own_is_undone(space: Space) -> None:
    """The way back leads through a folder that was never in the journal."""
    text = recipe(
        "cat f > before; :",
        "python3 -c pass; mkdir cf; cat in > cf/out; rm -f f; mv cf/out f; rm -fr cf; "
        "if test -f mode; then touch more; fi",
        "cat f > g; :",
    )
    files = {"Makefile": text, "in": "1\n", "f": "0\n"}
    _, second = again(space, files, {"mode": "", "in": "2\n", "f": "3\n"})
    assert "could not be undone" not in second.err
    assert (space.folder / "before").read_text() == "3\n"


def test_a_time_that_is_given_through_a_link_is_its_files(space: Space) -> None:
    text = "all: b\na:\n\t@echo 1 > a; ln -s a l\nb: a\n\t@touch -c l; :\n\t@cat a > b; :\n"
    space.write({"Makefile": text})
    for _ in range(2):
        build(space)
        assert "Nothing" in space.ok("make").out
        space.ok("rm", "a", "b", "l")


def test_a_program_without_a_guard_waits_for_learnt_lines(space: Space) -> None:
    """One that make starts itself, without a shell."""
    source = """#include <stdio.h>
int main(int c, char **v)
{
    FILE *from = fopen(v[1], "r"), *to = from ? fopen(v[2], "w") : NULL;
    for (int k; to && (k = getc(from)) >= 0;)
        putc(k, to);
    return !to;
}
"""
    text = f"all:\n\t@{WAITS}; echo 1 > a\n\t@./copy a b\n\t@cat b > c; :\n"
    space.write({"copy.c": source, "Makefile": text})
    space.ok("gcc", "-static", "-o", "copy", "copy.c")
    for _ in range(3):
        ended = build(space)
        assert ended.status == 0, ended.err
        assert (space.folder / "c").read_text() == "1\n"
        space.ok("rm", "a", "b", "c")


def test_what_a_killed_line_added_to_another_ones_file_goes_alone(space: Space) -> None:
    """P3: the file, which was not there when the line was issued, stays with what was in it."""
    rule = "t{0}: {1}\n\t@{2}; echo {0} >> log; echo > t{0}\n"
    rules = rule.format(1, "", WAITS) + rule.format(2, "t1", WAITS)
    space.write({"Makefile": f"all: t3\n{rules}t3: t2\n\t@: $(shell echo > seen)\n"})
    build(space)
    space.ok("rm", "t1", "t2", "log", "seen")
    gates = [space.folder / f"go-t{n}" for n in (1, 2)]
    for gate in gates:
        os.mkfifo(gate)
    ends = [os.open(gates[0], os.O_RDWR)]
    process = space.start(SMPMAKE, LEARNS, "-j4", "--", "make")
    while not (space.folder / "seen").exists():  # both lines are issued
        assert process.poll() is None
    os.write(ends[0], b"\n")
    while len(ends) == 1:  # the second one waits in its turn
        assert process.poll() is None
        with contextlib.suppress(OSError):
            ends.append(os.open(gates[1], os.O_WRONLY | os.O_NONBLOCK))
    process.send_signal(signal.SIGKILL)
    space.finish(process)
    for end, gate in zip(ends, gates, strict=True):
        os.close(end)
        gate.unlink()
    space.ok(SMPMAKE, "-q", "true")  # by then all is as it was
    assert not (space.folder / "t2").exists()
    assert (space.folder / "t1").exists() == (space.folder / "log").exists()
    space.ok("make")
    assert (space.folder / "log").read_text() == "1\n2\n"


def test_names_of_the_moment_may_be_others(space: Space) -> None:
    text = recipe(
        "rm -f t$$$$ u$$$$; echo 1 > t$$$$; cat t$$$$ in > x; rm -f t$$$$", "cat x > y; :"
    )
    _, second = again(space, {"Makefile": text, "in": "1\n"}, {"in": "2\n"})
    assert "earlier build" not in second.err
    assert jobs(second) == 2


def test_one_that_fails_now_stops_the_build_where_make_does(space: Space) -> None:
    text = recipe("if test -f mode; then exit 3; fi; echo 1 > x", "cat in > y; :", "cat y > z; :")
    _, second = again(space, {"Makefile": text, "in": "1\n"}, {"mode": ""})
    assert second.status == 2
    (space.folder / "mode").unlink()
    assert build(space).status == 0, "and what was mended runs"


@pytest.mark.parametrize("driver", often(["make"], ["make", "make -k", "make -i"]))
def test_one_whose_compile_fails_costs_one_repetition(space: Space, driver: str) -> None:
    """The line as a whole was promised; in the repetition the compile in it is not, once more."""
    made = {
        "Makefile": "all: a.o b.o c.o\n%.o: %.c\n\t`sh ./cflags $@` $<\n",
        "cflags": "echo gcc -O1 -c\n",
        **{f"{name}.c": f"int {name};\n" for name in "abc"},
    }
    bad = {"b.c": "int broken here (;\n"}
    space.write({**made, **bad})
    status = space.run(*driver.split()).status
    expected = space.tree()
    space.clear()
    space.write(made)
    build(space)
    for name in "abc":
        (space.folder / f"{name}.o").unlink()
    space.write(bad)
    ended = space.smpmake(LEARNS, "-j4", "--", *driver.split())
    assert (ended.status, space.tree()) == (status, expected), ended.err
    assert ended.err.count("run again") == 1, ended.err
    space.expect_clean()


def test_a_failed_build_teaches_nothing(space: Space) -> None:
    text = recipe("echo 1 > x; :", "test -f mode && exit 3; :")
    _, second = again(space, {"Makefile": text, "mode": ""}, {"in": "1\n"})
    assert jobs(second) == 0


TALK = 'import socket as s; s.socket().bind(("127.0.0.1", 0))'
NOT_LEARNT = {
    "runs on behind its shell": "echo 1 > x & wait; :",
    "a make": "$(MAKE) -s inner",
    "moves what is another's": "mv x y; echo 1 > x",
    "makes a folder": "mkdir -p n/$$PPID; echo 1 > x",
    "talks": f"python3 -c '{TALK}'; echo 1 > x",
    "is caught": "echo 1 > x; echo caught",
}


@pytest.mark.parametrize("name", NOT_LEARNT)
def test_what_cannot_be_counted_on_is_not_learnt(space: Space, name: str) -> None:
    text = recipe(NOT_LEARNT[name]) + "inner:\n\t@echo 1 > x\n"
    if name == "is caught":
        text = f"all:\n\t@$(MAKE) -s inner > out\ninner:\n\t@{NOT_LEARNT[name]}\n"
    space.write({"Makefile": text, "x": "0\n"})
    build(space)
    expected = 1 if name == "a make" else 0  # the inner one's
    assert jobs(build(space)) == expected


def test_another_environment_is_another_line(space: Space) -> None:
    space.write({"Makefile": recipe("echo $$WHAT > x; :")})
    build(space, WHAT="1")
    assert jobs(build(space, WHAT="2")) == 0
    assert jobs(build(space, WHAT="1", SSH_AUTH_SOCK="other")) == 1


@pytest.mark.parametrize("unwanted", ["--recipes=understood", "--no-guard", 'undo = "off"'])
def test_nothing_is_guessed_where_that_is_not_wanted_or_could_not_be_undone(
    space: Space, unwanted: str
) -> None:
    space.write({"Makefile": recipe("echo 1 > x; :")})
    build(space)
    options = [unwanted] if unwanted.startswith("-") else []
    space.write({".smpmake.toml": "" if options else unwanted})
    ended = space.smpmake(LEARNS, *options, "--", "make")
    assert (ended.status, jobs(ended)) == (0, 0)


def check(space: Space, seed: int) -> None:
    dice = random.Random(seed)
    changes = [
        {"mode": dice.choice(("even\n", "odd\n")), dice.choice(recipes.FILES): f"change {n}\n"}
        for n in range(3)
    ]
    again(space, recipes.files(seed), *changes, options=(f"--chaos={seed}",))


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(3))
def test_p1_random_recipes(space: Space, seed: int) -> None:
    check(space, seed)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(60))
def test_p1_a_job_lists_what_was_there_when_it_was_issued(space: Space, seed: int) -> None:
    """What goes before it is gone for it, and what comes behind it has not come."""
    text = recipe(
        *("rm -f d/a && echo gone >> d/e", "for f in d/*; do echo $$f; done > a; :"),
        *("cat d/a a > d/e 2> /dev/null; :", "echo 8 > d/a; :", "cat d/e > x; :"),
        *("for f in d/*; do echo $$f; done > d/a; :", "cat d/e d/a > d/f; :"),
    )
    files = {"Makefile": text, "d/here": "1\n", "d/a": "a\n", "d/e": "e\n"}
    changes = ({"d/a": "2\n"}, {"in": "3\n"}, {"d/a": "4\n"})
    again(space, files, *changes, options=(f"--chaos={seed}",))


@pytest.mark.chaos
@pytest.mark.parametrize("seed", [*range(3, 6), *range(1000, 1100)])
def test_p1_many_random_recipes(space: Space, seed: int) -> None:
    check(space, seed)
