"""What a wrong promise led to is undone (P1, P2, P3, P7): the tree of the serial build, also when
it fails, and whatever its driver does with a failure.

The compile that fails is held until the driver has done everything that it would not do serially
(it makes a file `after`), or waits.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import pytest

from tests.support.held import Held
from tests.support.space import MAIN, Space

BAD = "gcc -Dheld -c bad.c"
SOURCES = {"bad.c": "int x = oops;\n", "good.c": "int y;\n", "m.c": MAIN, "t.o": "no object\n"}


def make(*recipe: str, head: str = "stamp:", more: str = "") -> dict[str, str]:
    lines = "".join(f"\t{line}\n" for line in recipe)
    return {**SOURCES, "Makefile": f"{head}\n{lines}{more}"}


def script(*lines: str, name: str = "build.sh") -> dict[str, str]:
    return {**SOURCES, name: "\n".join(("#!/bin/sh", *lines, ""))}


AFTER = ": > after"

#: What recipes do behind a compile that fails.
RECIPES = {
    "echo": [BAD, "echo ok > stamp", AFTER],
    "same line": [f"{BAD} && : > stamp; {AFTER}", "test -e stamp"],
    "cp": [BAD, "cp m.c stamp", AFTER],
    "install": [BAD, "install -m 640 m.c stamp", AFTER],
    "sed": [BAD, "sed s/main/other/ m.c > stamp", AFTER],
    "cat": [BAD, "cat m.c good.c > stamp", AFTER],
    "printf": [BAD, "printf 'a\\nb' > stamp", AFTER],
    "symlink": [BAD, "ln -s m.c stamp", AFTER],
    "hard link": [BAD, "ln m.c stamp", AFTER],
    "mkdir": [BAD, "mkdir -p stamp/a/b", AFTER],
    "preprocess": [BAD, "gcc -E m.c > stamp", AFTER],
    "tar": [BAD, "tar -cf stamp m.c", AFTER],
    "untar": ["tar -cf t.tar m.c", BAD, "mkdir x", "tar -xf t.tar -C x", "mv x stamp", AFTER],
    "python": [BAD, 'python3 -c \'open("stamp", "w").write("x")\'', AFTER],
    "rename": [BAD, "echo x > x.tmp", "mv x.tmp stamp", AFTER],
    "overwritten": [BAD, "echo x > m.c", AFTER],
    "appended": [BAD, "echo x >> m.c", AFTER],
    "removed": [BAD, "rm m.c", AFTER],
    "tree removed": ["mkdir -p d/e; echo x > d/e/f", BAD, "rm -rf d", AFTER],
    "old tree removed": [BAD, "rm -rf old", AFTER],
    "replaced": [BAD, "cp bad.c n.tmp", "mv n.tmp m.c", AFTER],
    "in place": [BAD, "sed -i s/main/other/ m.c", AFTER],
    "truncated": [BAD, "truncate -s 3 m.c", AFTER],
    "mode": [BAD, "chmod 600 m.c", AFTER],
    "mode by way of a copy": [BAD, "cp -p m.c n.c; chmod 400 n.c; mv -f n.c m.c", AFTER],
    "time": [BAD, "touch m.c", AFTER],
    "folder renamed": [BAD, "mv old new", AFTER],
    "in a renamed folder": [BAD, "mv old new; echo x > new/kept; rm new/gone", AFTER],
    "link replaced": [BAD, "ln -sfn m.c link", AFTER],
    "dangling link": [BAD, "ln -s far near; echo x > near", AFTER],
    "swapped by hand": [BAD, "mv m.c tmp; mv good.c m.c; mv tmp good.c", AFTER],
    "a counter before": ["expr $$(cat n) + 1 > n2; mv n2 n", BAD, AFTER],
    "ignored": [f"-{BAD}", "echo ok > stamp", AFTER],
    "not": [f"! {BAD}", "echo ok > stamp", AFTER],
    "or": [f"{BAD} || echo failed > stamp", AFTER],
    "if": [f"if {BAD}; then echo 1 > config.h; else echo 0 > config.h; fi; {AFTER}"],
    "while": [f"while {BAD}; do echo again > config.h; break; done; {AFTER}"],
    "and or": [f"{BAD} && echo 1 > config.h || echo 0 > config.h; {AFTER}"],
    "discarded": [f"if {BAD} > /dev/null 2>&1; then echo 1 > c.h; else echo 0 > c.h; fi; {AFTER}"],
    "to a log": [f"{BAD} > log 2>&1; echo $$? > status", AFTER],
    "set -e": [f"set -e; {BAD}; echo ok > stamp; {AFTER}"],
    "trap": [f"trap 'echo $$? > trapped' EXIT; {BAD} || exit 3; echo ok > stamp; {AFTER}"],
    "pipe": [f"echo x | {BAD} | cat > piped; {AFTER}"],
    "background": [f"{BAD} & wait $$! && echo ok > stamp; {AFTER}"],
    "subshell": [f"(cd . && {BAD}) && echo ok > stamp; {AFTER}"],
    "group": [f"{{ {BAD} && echo ok; }} > stamp; {AFTER}"],
    "link after": ["gcc -o p m.c", BAD, "echo ok > stamp", AFTER],
    "objects after": [BAD, "gcc -c good.c", "gcc -o p m.c good.o", AFTER],
    "header for others": [BAD, "echo 'int h;' > h.h", "gcc -include h.h -c good.c", AFTER],
    "a script": ["./inner.sh", "echo ok > stamp", AFTER],
    "a probing script": ["./probe.sh > config.h", AFTER],
    "nested make": ["$(MAKE) -f inner.mk", "date > stamp", AFTER],
    "nested make and cd": ["$(MAKE) -C sub -f ../inner.mk D=../", "date > stamp", AFTER],
}
BESIDE = {
    "n": "7\n",
    "old/kept": "kept\n",
    "old/gone": "gone\n",
    "old/deep/er": "x\n",
    "sub/here": "",
    "inner.sh": f"#!/bin/sh\nset -e\n{BAD}\necho ok > inner\n",
    "probe.sh": f"#!/bin/sh\nif {BAD} > log 2>&1; then echo 1; else echo 0; fi\n",
    "inner.mk": "all:\n\tgcc -Dheld -c $(D)bad.c\n\techo ok > inner\n",
}


class Facts(NamedTuple):
    """A tree after a build, and what the plain driver does with it."""

    status: int
    tree: dict[str, str]
    order: list[str]
    again: int
    then: dict[str, str]


@pytest.fixture
def held(space: Space) -> Held:
    return Held(space)


def prepare(held: Held, files: dict[str, str]) -> None:
    """Old files are old, and one is a link."""
    held.space.write({**BESIDE, **files})
    folder = held.space.folder
    for name in ("inner.sh", "probe.sh"):
        (folder / name).chmod(0o755)
    if (folder / "build.sh").exists():
        (folder / "build.sh").chmod(0o755)
    (folder / "link").symlink_to("good.c")
    for number, path in enumerate(sorted(folder.rglob("*"), key=lambda p: -len(p.parts))):
        os.utime(path, (1000, 1000 + number), follow_symlinks=False)
    os.utime(folder, (1000, 1000))


def facts(held: Held, status: int, command: list[str]) -> Facts:
    tree = held.tree()
    paths = [p for p in held.space.folder.rglob("*") if not p.is_symlink()]
    old = sorted(str(p.relative_to(held.space.folder)) for p in paths if p.stat().st_mtime < 2000)
    again = held.space.run(*command).status
    return Facts(status, tree, old, again, held.tree())


def without_dates(tree: dict[str, str]) -> dict[str, str]:
    return {n: v for n, v in tree.items() if n not in ("t.tar", "stamp") or v[:1] == "-"}


def check(held: Held, files: dict[str, str], command: list[str], *options: str) -> str:
    """The plain driver as oracle; returns what smpmake said."""
    space = held.space
    prepare(held, files)
    serial = facts(held, space.run(*command).status, command)
    space.clear()
    prepare(held, files)
    process = held.start(*options, "--", *command)
    held.let_go_when_stuck(process)
    ended = space.finish(process)
    space.expect_clean()
    parallel = facts(held, ended.status, command)
    assert parallel.status == serial.status, ended.err
    assert set(parallel.tree) == set(serial.tree), ended.err
    assert without_dates(parallel.tree) == without_dates(serial.tree), ended.err
    assert parallel.order == serial.order, ended.err
    assert parallel.again == serial.again, ended.err
    assert without_dates(parallel.then) == without_dates(serial.then), ended.err
    return ended.err


@pytest.mark.parametrize("name", RECIPES)
def test_p1_p2_what_a_recipe_does_behind_a_failure(held: Held, name: str) -> None:
    check(held, make(*RECIPES[name]), ["make"])


@pytest.mark.parametrize("name", RECIPES)
def test_p1_p2_what_a_script_does_behind_a_failure(held: Held, name: str) -> None:
    lines = [line.replace("$$", "$").lstrip("-") for line in RECIPES[name]]
    lines = [line.replace("$(MAKE)", "make") for line in lines]
    check(held, script("set -e", *lines), ["./build.sh"])
