"""Whoever stands for a process ends as it has ended: by the same signal, with the same status (P2).

The table: how a command ends, what it is for smpmake, who has called it.
"""

from __future__ import annotations

import itertools
import signal
import sys

import pytest

from tests.support.space import Space, words
from tests.support.variants import often

pytestmark = pytest.mark.slow

#: Ends as the name of a file among its words says: k9.job.c by signal 9, x77.job.c with status 77.
TOOL = """#!/bin/sh
ulimit -c 0
for word; do
    case $before in -o) out=$word ;; esac
    case $word in [kx][0-9]*.*) how=${word%%.*} ;; esac
    case $word in *.c) made=${word%.c}.o ;; *.archive) made=$word ;; -E) out=/dev/null ;; esac
    before=$word
done
echo half > "${out:-$made}"
case $how in
k*) kill -"${how#k}" $$ ;;
x*) exit "${how#x}" ;;
esac
"""
SIGNALS = (
    *(signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGXFSZ),
    *(signal.SIGPIPE, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1),
    *(signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGALRM, signal.SIGXCPU),
    *(signal.SIGTRAP, signal.SIGSYS, signal.SIGVTALRM, signal.SIGRTMIN),
)
#: The most frequent ones, and statuses that could be taken for a signal's.
SOME = ("k9", "k15", "k11", "k13", "x0", "x1", "x77", "x137")
MANY = (
    *(f"k{int(number)}" for number in SIGNALS),
    *(f"x{status}" for status in (0, 1, 2, 3, 77, 125, 126, 127, 128, 137, 143, 254, 255)),
)
HOW = (
    *(f"ulimit -c 0; kill -{int(number)} $$" for number in SIGNALS),
    *(f"exit {status}" for status in (0, 1, 125, 126, 127, 137, 255)),
)
#: What a command is: a job, several jobs, a link, an archive, a line of a recipe, one that prints.
WAYS = {
    "job": "gcc -c {0}.job.c",
    "group": "gcc {0}.group.c z.c -o {0}.group",
    "link": "gcc -o {0}.link z.o",
    "archive": "ar rc {0}.archive z.o",
    "line": "cd . && gcc -c {0}.line.c -o {0}.line.o && echo made",
    "place": "gcc -E {0}.job.c",
}


def by_make(commands: list[str]) -> tuple[list[str], dict[str, str]]:
    """Each is the second line of a recipe whose first has made half of the target."""
    rules = [f"t{n}:\n\techo half > $@\n\t{each}\n" for n, each in enumerate(commands)]
    every = " ".join(f"t{n}" for n in range(len(commands)))
    return ["make", "-k"], {"Makefile": f"all: {every}\n{''.join(rules)}"}


def by_shell(shell: str, commands: list[str]) -> tuple[list[str], dict[str, str]]:
    """Says each one's status; bash's messages have numbers, and a repetition's are others."""
    head = "exec 2> /dev/null\n" if shell == "bash" else ""
    return [shell, "b.sh"], {"b.sh": head + "".join(f"{each}\necho $?\n" for each in commands)}


def by_python(commands: list[str]) -> tuple[list[str], dict[str, str]]:
    """Knows a signal from a status."""
    text = f"""import subprocess
for each in {commands!r}:
    print(subprocess.run(["sh", "-c", each] if "&" in each else each.split()).returncode, flush=1)
"""
    return [sys.executable, "b.py"], {"b.py": text}


def by_perl(commands: list[str]) -> tuple[list[str], dict[str, str]]:
    """Sees the system's own word."""
    words = ", ".join(f"'{each}'" for each in commands)
    return ["perl", "b.pl"], {"b.pl": f'$| = 1;\nfor ({words}) {{ system $_; print "$?\\n"; }}\n'}


CALLERS = {
    "make": by_make,
    "sh": lambda commands: by_shell("sh", commands),
    "bash": lambda commands: by_shell("bash", commands),
    "python": by_python,
    "perl": by_perl,
}


def compare(space: Space, caller: str, ends: tuple[str, ...], *options: str) -> None:
    """All of these commands in one build, plainly and under smpmake."""
    for tool in ("gcc", "ar"):
        space.fake(tool, TOOL)
    commands = [WAYS[way].format(end) for way, end in itertools.product(WAYS, ends)]
    command, files = CALLERS[caller](commands)
    sources = {f"{end}.{way}.c": "int a;\n" for end in ends for way in WAYS}
    files |= {**sources, "z.o": "", "z.c": ""}
    space.write(files)
    plain = space.run("sh", "-c", 'exec "$@" 2>&1', "sh", *command)
    expected = space.tree()
    space.clear()
    space.write(files)
    ended = space.smpmake("-q", "--output-sync=serial", *options, "--", *command)
    ours = [line for line in ended.out.splitlines() if not line.startswith("smpmake:")]
    assert ours == plain.out.splitlines(), ended.err
    assert space.tree() == expected
    assert ended.status == plain.status
    space.expect_clean()


@pytest.mark.parametrize("caller", often(("make", "sh", "perl"), CALLERS))
def test_p2_a_command_ends_as_its_tool(space: Space, caller: str) -> None:
    compare(space, caller, SOME, "--memo=off")


@pytest.mark.chaos
@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("options", [("--memo=on",), ("-j1",), ("--foreground=gcc",)])
def test_p2_a_command_ends_as_its_tool_in_every_way(
    space: Space, caller: str, options: tuple[str, ...]
) -> None:
    compare(space, caller, MANY, *options)


@pytest.mark.parametrize("options", [(), ("--no-guard",), ("--output-sync=serial",), ("-C", "s")])
@pytest.mark.parametrize("how", HOW)
def test_p2_smpmake_ends_as_its_driver(space: Space, how: str, options: tuple[str, ...]) -> None:
    (space.folder / "s").mkdir()
    plain = space.run("sh", "-c", how)
    assert space.smpmake(*words(options, ["sh", "-c", how])).status == plain.status
    space.expect_clean()


def test_p2_a_check_ends_as_what_it_looks_at(space: Space) -> None:
    for how in ("kill -9 $$", "kill -15 $$", "exit 3"):
        plain = space.run("sh", "-c", how)
        assert space.smpmake("check", "sh", "-c", how).status == plain.status


def test_p2_a_bench_ends_as_a_build_that_a_signal_ends(space: Space) -> None:
    command = ["bench", "--clean", "true", "--runs", "1", "--cpus", "1", "sh", "-c"]
    assert space.smpmake(*command, "kill -9 $$").status == -9
    assert space.smpmake(*command, "exit 3").status > 0
