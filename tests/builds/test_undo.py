"""What a wrong promise led to is undone (P1, P2, P3, P7): the tree of the serial build, also when
it fails, and whatever its driver does with a failure.

The compile that fails is held until the driver has done everything that it would not do serially
(it makes a file `after`), or waits.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from tests.support import needs
from tests.support.held import Held
from tests.support.space import MAIN, SMPMAKE, Space, objects, words
from tests.support.variants import often

BAD = "gcc -Dheld -c bad.c"
SOURCES = {"bad.c": "int x = oops;\n", "good.c": "int y;\n", "m.c": MAIN, "t.o": "no object\n"}


def make(*recipe: str, head: str = "stamp:", more: str = "") -> dict[str, str]:
    lines = "".join(f"\t{line}\n" for line in recipe)
    return {**SOURCES, "Makefile": f"{head}\n{lines}{more}"}


def script(*lines: str, name: str = "build.sh") -> dict[str, str]:
    return {**SOURCES, name: "\n".join(("#!/bin/sh", *lines, ""))}


AFTER = ": > after"

_BY_FOLDER = (
    'import os; d = os.open("old/deep", os.O_RDONLY); os.rename("old", "o"); os.fchdir(d); '
    'os.rename("../deep", "../shallow"); os.rename("er", "../../er")'
)

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
    # As two `rm -rf` of one folder do: what is removed is in none any more.
    "a folder that has gone": [
        BAD,
        "mkdir gone; cd gone; rmdir ../gone; rm -f x; echo > x; cd ..; echo ok > stamp",
        AFTER,
    ],
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
    # What is restored is another file by its number; older changes were about that one, too.
    "renamed and removed": [BAD, "mv old new; rm -r new", AFTER],
    "remade under its name": ["cp -r old c; mv old o; mv c old; rm -r o", BAD, "ls old", AFTER],
    "a link renamed and removed": [BAD, "mv link l2; rm l2", AFTER],
    "by way of a folder": [BAD, "mv old sub/old; mv sub/old o2; rm -r o2 sub", AFTER],
    "by way of a new folder": [BAD, "mkdir new; mv old new/old; rm -r new", AFTER],
    "parts of a renamed folder": [
        BAD,
        "mv old new; mkdir old; mv new/kept old/kept; rm -r new",
        AFTER,
    ],
    "over a removed folder": [BAD, "rm -r sub; mv old sub; rm -r sub", AFTER],
    "out of a folder": [BAD, "mv old/deep d; rm -r d; rm -r old", AFTER],
    "changed on the way": [BAD, "mv old new; mv new/deep d; rm d/er; rmdir d", AFTER],
    "names of one link": [BAD, "ln link l3; mv l3 l4; rm l4 link", AFTER],
    "link replaced": [BAD, "ln -sfn m.c link", AFTER],
    "dangling link": [BAD, "ln -s far near; echo x > near", AFTER],
    # A name that is relative to a folder which goes elsewhere.
    "renamed from within": [BAD, "cd old; mv ../old ../oldm; echo q > ../q; : > ../after"],
    "renamed twice from within": [
        BAD,
        "cd old/deep; mv ../../old ../../o1; mv ../../o1 ../../o2; : > ../../after",
    ],
    "renamed by way of a link": [
        BAD,
        "ln -s old l; cd l/deep; mv ../../old ../../o; cd $$OLDPWD",
        AFTER,
    ],
    "renamed by Python": [
        BAD,
        'cd old; python3 -c \'import os; os.rename("../old", "../o")\'',
        "ls o",
        AFTER,
    ],
    "renamed by an open folder": [
        BAD,
        f"python3 -c '{_BY_FOLDER}'",
        AFTER,
    ],
    "over an empty folder from within": [BAD, "mkdir e; cd old; mv -T ../old ../e; cd ..", AFTER],
    "exchanged parents": [
        BAD,
        "cd old/deep; mv ../../old ../../t; mv ../../sub ../../old; mv ../../t ../../sub",
        AFTER,
    ],
    # What is made again has the fields of what was there, whatever its inode is.
    "made again": [BAD, "rm -rf old; mkdir old; echo x > old/new", AFTER],
    "made again from within": [BAD, "cd old; rm -rf ../old; mkdir ../old; cd ..", AFTER],
    "mode changed and removed": [BAD, "chmod 700 old/deep; rm -r old/deep", AFTER],
    "not writable and removed": [BAD, "chmod -R a-w old; rm -rf old", AFTER],
    "removed from within": [BAD, "mkdir w; cd w; rmdir ../w; cd ..", AFTER],
    # Older files that have passed through folders of this build.
    "by way of a folder of this build": [
        "mkdir t; mv old/kept t/; mv t/kept t/x2; mv t t2; mv t2/x2 old/kept; rm -r t2",
        BAD,
        AFTER,
    ],
    "all by way of another folder": [
        "mv old oo && mkdir old && mv oo/* old/; rm -rf oo",
        BAD,
        AFTER,
    ],
    "flags": [BAD, "chattr +i m.c; echo x > n.c; chattr +i n.c; chattr +d old", AFTER],
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


#: Enough to see each kind of undoing; the others are tried with `-m chaos`.
FEW = ("echo", "untar", "if", "a script", "nested make", "objects after", "group", "in place")
FEWER = ("objects after", "group")
IN_A_SHELL = ("discarded", "to a log", "group", "set -e", "trap", "background")
#: Each kind of change once, and each way to go on behind a failure.
SOME = (
    *("renamed from within", "renamed by way of a link", "renamed by an open folder"),
    *("over an empty folder from within", "made again", "not writable and removed"),
    *("by way of a folder of this build", "all by way of another folder", "flags"),
    *(*FEW, "cp", "sed", "symlink", "hard link", "mkdir", "rename", "overwritten", "appended"),
    *("removed", "tree removed", "replaced", "mode", "time", "folder renamed", "link replaced"),
    *("remade under its name", "a link renamed and removed", "by way of a new folder"),
    *("ignored", "and or", "to a log", "trap", "background"),
)


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
    (folder / "old").chmod(0o750)
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
    process = held.start(*words(options, command))
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


@pytest.mark.parametrize("name", often(SOME, RECIPES))
def test_p1_p2_what_a_recipe_does_behind_a_failure(held: Held, name: str) -> None:
    check(held, make(*RECIPES[name]), ["make"])


@pytest.mark.parametrize("name", often(("echo", "untar", "if", "group"), RECIPES))
def test_p1_p2_what_a_script_does_behind_a_failure(held: Held, name: str) -> None:
    lines = [line.replace("$$", "$").lstrip("-") for line in RECIPES[name]]
    lines = [line.replace("$(MAKE)", "make") for line in lines]
    check(held, script("set -e", *lines), ["./build.sh"])


WAYS = {
    "bmake": (["bmake"], []),
    "make -k": (["make", "-k"], []),
    "make -j2": (["make", "-j2"], []),
    "one slot": (["make"], ["-j1"]),
    "chaos": (["make"], ["--chaos", "7"]),
    "serial output": (["make"], ["--output-sync=serial"]),
    "quiet": (["make"], ["-q"]),
    "a shell's make": (["sh", "-c", "make"], []),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", often(FEWER, FEW))
def test_p1_p2_whatever_the_way(held: Held, name: str, way: str) -> None:
    command, options = WAYS[way]
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    check(held, make(*RECIPES[name]), command, *options)


@pytest.mark.parametrize("shell", ["bash", "dash", "busybox sh", "ksh", "zsh"])
@pytest.mark.parametrize("name", often(["to a log", "trap"], IN_A_SHELL))
def test_p1_p2_whatever_the_shell(held: Held, name: str, shell: str) -> None:
    if shutil.which(shell.split()[0]) is None:
        pytest.skip(f"no {shell}")
    lines = [line.replace("$$", "$").lstrip("-") for line in RECIPES[name]]
    check(held, script("set -e", *lines), [*shell.split(), "build.sh"])


@pytest.mark.chaos
def test_a_script_of_many_probes_is_repeated_once(space: Space) -> None:
    """Ten of thirty fail, and none is recognised as a probe."""
    lines = [
        f"if gcc -c {'bad' if n % 3 == 0 else 'good'}.c -o p{n}.o; then echo {n} >> yes; fi"
        for n in range(30)
    ]
    err = space.expect_same(script(*lines), ["sh", "build.sh"]).err
    assert err.count(" ran a second time") == 1
    assert err.count("'oops' undeclared") <= 11  # what was shown before the undoing


def test_failures_that_nobody_recognises_end(space: Space) -> None:
    """Names of their own each time, each by another script: then everything is waited for."""
    probe = "gcc -DN=$$-$(date +%N) -c bad.c && echo $1 >> yes\ntrue\n"
    lines = [f"sh ./probe{n}.sh {n}" for n in range(12)]
    files = {**script(*lines), **{f"probe{n}.sh": probe for n in range(12)}}
    err = space.expect_same(files, ["sh", "build.sh"]).err
    assert err.count("ran a third time") == 1


def test_a_header_that_appears_only_the_second_time(space: Space) -> None:
    """What was compiled before the truth was known must not be used again beside it."""
    files = {
        **SOURCES,
        "inc/new.h": "#define N 1\n",
        "use.c": '#include "new.h"\nint n = N;\n',
        "build.sh": "gcc -c bad.c || echo '#define N 2' > new.h\ngcc -Iinc -c use.c\n",
    }
    space.expect_same(files, ["sh", "build.sh"])


@pytest.mark.parametrize("how", ["final", "lost"])
def test_nothing_is_reused_beside_what_nobody_wrote_down(held: Held, how: str) -> None:
    """Behind a program without a guard, whose changes are final, or within one."""
    space = held.space
    tool = space.root / "tool"
    text = "#include <stdio.h>\nint main(int n, char **v) {\n"
    text += '\tif (n > 1) fputs("#define N 2\\n", fopen(v[1], "w"));\n}\n'
    space.write({"tool.c": text})
    space.ok("gcc", "-static", "tool.c", "-o", str(tool))
    act = {"final": f"echo '#define N 2' > new.h; {tool}", "lost": f"{tool} new.h"}[how]
    files = {
        **SOURCES,
        "inc/new.h": "#define N 1\n",
        "use.c": '#include "new.h"\nint n = N;\n',
        **script(f"{BAD} || {{ {act}; }}", "gcc -Iinc -c use.c", AFTER),
    }
    status, tree = held.serial(files, ["sh", "build.sh"])
    ended, ours = held.parallel(files, ["sh", "build.sh"], witness="use.o", alone=True)
    assert (ended.status, ours) == (status, tree), ended.err
    assert " ran a second time" in ended.err


@pytest.mark.parametrize(
    "link", ["ln -f good.o other.o", "ln good.o other.o", "cp -l good.o other.o"]
)
def test_a_file_of_two_names_is_made_again(space: Space, link: str) -> None:
    """What is undone under one of them would change the other, put aside or not."""
    files = make("gcc -c -g good.c", "strip -g good.o", link, "gcc -c bad.c")
    ended = space.expect_same(files, ["make"])
    assert " ran a second time" in ended.err
    assert os.path.samefile(space.folder / "good.o", space.folder / "other.o")


@pytest.mark.chaos
def test_nothing_is_compiled_twice(space: Space) -> None:
    files = {**objects(40), "zbad.c": "int x = oops;\n", "main.c": MAIN}
    files["Makefile"] = (
        "OBJECTS = $(patsubst %.c,%.o,$(sort $(wildcard *.c)))\nprog: $(OBJECTS)\n"
        "\tgcc -o $@ $(OBJECTS)\n%.o: %.c\n\tgcc -c $< -o $@\n"
    )
    log = space.root / "cache" / "log"  # beside the tree: it is not undone
    log.parent.mkdir(exist_ok=True)
    space.fake("gcc", f'#!/bin/sh\necho "$*" >> {log}\nexec {shutil.which("gcc")} "$@"\n')
    space.write(files)
    ended = space.smpmake("make")
    assert ended.status == 2, ended.err
    assert " ran a second time" in ended.err
    lines = [line for line in log.read_text().splitlines() if line.startswith("-c ")]
    assert [line for line in lines if lines.count(line) > 1] == ["-c zbad.c -o zbad.o"] * 2
    assert len(lines) == 43, lines  # nobody has taken the log away in between
    assert "; reused, from before" in space.smpmake("why", "f9.o").out
    assert {f"f{n}.o" for n in range(40)} <= set(space.tree())


def test_what_came_and_went_beside_a_header_is_no_reason_to_compile_twice(space: Space) -> None:
    """Its name is another one each time, as those of ar's temporary files are."""
    log = space.root / "cache" / "log"
    log.parent.mkdir(exist_ok=True)
    space.fake("gcc", f'#!/bin/sh\necho "$*" >> {log}\nexec {shutil.which("gcc")} "$@"\n')
    files = {
        **SOURCES,
        "inc/here.h": "#define HERE 1\n",
        "use.c": '#include "here.h"\nint here = HERE;\n',
        "build.sh": "set -e; rm `mktemp inc/XXXXXX`\ngcc -Iinc -c use.c\ngcc -c bad.c\n",
    }
    space.write(files)
    ended = space.smpmake("sh", "build.sh")
    assert " ran a second time" in ended.err
    assert log.read_text().split("\n").count("-Iinc -c use.c") == 1


# ------------------------------------------------------------------ interrupts and kills


@pytest.mark.parametrize("older", [{}, {"good.o": "older\n"}], ids=["first time", "again"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_p3_what_followed_an_unfinished_compile_is_undone(
    held: Held, number: int, older: dict[str, str]
) -> None:
    """Serially it would not have been done: no stamp, no counter, no removed file."""
    space = held.space
    lines = ["echo before > before", BAD.replace("bad", "good"), "echo ok > stamp"]
    lines += ["rm m.sh", "echo more >> n.log", "gcc -c other.c", AFTER, "sleep 100"]
    files = {**make(*lines), "other.c": "int o;\n", "n.log": "7\n", "m.sh": "m\n"}
    files |= older
    space.write(files)
    process = held.start("-j2", "make")
    while not (space.folder / "after").exists() or not (space.folder / "other.o").exists():
        assert process.poll() is None
    process.send_signal(number)
    assert space.finish(process).status == -number
    held.release(process)
    tree = space.tree()
    assert (space.folder / "n.log").read_text() == "7\n"
    assert "before" in tree
    assert "m.sh" in tree
    assert not {"stamp", "after", "good.o"} - older.keys() & set(tree)
    assert all((space.folder / name).read_text() == text for name, text in older.items())
    assert "other.o" not in tree or "after" not in tree
    space.expect_clean()


def test_p3_what_an_unfinished_compile_has_rewritten_is_undone(held: Held) -> None:
    """Its dependencies are written over before the assembler starts, which is held."""
    space = held.space
    assembler = f'#!/bin/sh\n[ -p {held.gate} ] && read word < {held.gate}\nexec as "$@"\n'
    lines = ["gcc -B bin/ -MMD -c good.c", ": > after; sleep 100"]
    older = {"good.o": "older\n", "good.d": "older\n"}
    space.write({**make(*lines), **older, "bin/as": assembler})
    (space.folder / "bin/as").chmod(0o755)
    before = space.tree()
    process = held.start("-j2", "make")
    # Not opened: a compile that writes into what somebody has open runs where it stands.
    while (space.folder / "good.d").stat().st_size in (0, len("older\n")):
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    ended = space.finish(process)
    assert ended.status == -signal.SIGTERM
    held.release(process)
    assert space.tree() == before, ended.err
    space.expect_clean()


@pytest.mark.chaos
@pytest.mark.parametrize("victims", ["server", "all"])
def test_p3_after_a_kill_the_next_session_undoes(held: Held, victims: str) -> None:
    space = held.space
    lines = ["gcc -c m.c -o m.o; cksum m.o > before; rm m.o"]  # gcc is seen to have a guard
    lines += ["gcc -Dheld -c good.c", "echo ok > stamp", "rm m.sh"]
    lines += ["echo more >> n.log", "sed -i s/x/y/ x.sh", "mv old new", AFTER, "sleep 100"]
    files = {**make(*lines), "n.log": "7\n", "old/file": "x", "m.sh": "m\n", "x.sh": "x\n"}
    files["good.o"] = "older\n"
    space.write(files)
    before = space.tree()
    process = held.start("-j2", "make")
    while not (space.folder / "after").exists():
        assert process.poll() is None
    below = psutil.Process(process.pid).children(recursive=True)
    if victims == "all":
        seen: set[psutil.Process] = set()
        while fresh := set(below) - seen:  # what starts another one meanwhile is found with it
            seen |= fresh
            for each in fresh:
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.suspend()
            below = psutil.Process(process.pid).children(recursive=True)
        psutil.Process(process.pid).suspend()
        for each in [psutil.Process(process.pid), *below]:
            with contextlib.suppress(psutil.NoSuchProcess):  # the driver ends with its keeper
                each.kill()
    else:
        process.kill()
    space.finish(process)
    psutil.wait_procs(below, timeout=20)
    held.gate.unlink(missing_ok=True)
    if victims == "all":
        assert space.smpmake("true").status == 0
    while any(space.temporary.iterdir()):  # the keeper cleans up
        pass
    tree = space.tree()
    assert tree.pop("before")
    assert tree == before


PROBES = {
    "redirected": "if gcc -o prog bad.c > log 2>&1; then echo 1; else echo 0; fi > r",
    "discarded": "if gcc -o prog t.o > /dev/null 2>&1; then echo 1 > r; else echo 0 > r; fi",
    "in a function": "try() { gcc -o prog bad.c > log 2>&1; }\nif try; then echo 1 > r; fi",
}


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "busybox sh", "ksh", "zsh"])
@pytest.mark.parametrize("name", PROBES)
def test_a_probe_is_seen_by_who_holds_its_output(space: Space, name: str, shell: str) -> None:
    if shutil.which(shell.split()[0]) is None:
        pytest.skip(f"no {shell}")
    files = script(PROBES[name])
    err = space.expect_same(files, [*shell.split(), "build.sh"]).err
    assert " time (" not in err


@pytest.mark.parametrize("text", ["if %s; then echo 1; fi", "%s && echo 1", "%s || echo 0", "! %s"])
def test_a_program_whose_status_a_recipe_asks_for_is_a_probe(space: Space, text: str) -> None:
    err = space.expect_same(make(text % "gcc -o prog bad.c"), ["make"], "-v").err
    assert " time (" not in err
    assert "1 status-asked" in err


def test_a_link_to_a_file_without_a_name_is_undone(held: Held) -> None:
    """O_TMPFILE and linkat: the name is newer than the file."""
    text = (
        "import os; fd = os.open('.', os.O_TMPFILE | os.O_RDWR); os.write(fd, b'x'); "
        "os.link(f'/proc/self/fd/{fd}', 'stamp', follow_symlinks=True)"
    )
    check(held, make(BAD, f'python3 -c "{text}"', AFTER), ["make"])


def test_an_interrupt_is_heard_in_the_repetition(held: Held) -> None:
    space = held.space
    lines = ["gcc -c bad.c || true", "echo $$PPID > pid", "sleep 100"]
    space.write(make(*lines))
    process = space.start(SMPMAKE, "-v", "make")
    seen = b""
    stream = process.stderr
    assert stream is not None
    while b"is run again" not in seen:
        seen += stream.readline()
    while not (space.folder / "pid").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert space.finish(process).status == -signal.SIGTERM
    space.expect_clean()


def test_a_build_inside_a_build_is_taken_back_with_it(held: Held) -> None:
    inner = f"all:\n\t{BAD}\n\techo ok > inner\n\t{AFTER}\n"
    files = {**make("$(SMPMAKE) make -f own.mk", "echo ok > stamp"), "own.mk": inner}
    prepare(held, files)
    serial = facts(held, held.space.run("make", "SMPMAKE=").status, ["make", "SMPMAKE="])
    held.space.clear()
    prepare(held, files)
    process = held.start("make", f"SMPMAKE={SMPMAKE} -q")
    held.let_go_when_stuck(process)
    ended = held.space.finish(process)
    held.space.expect_clean()
    assert facts(held, ended.status, ["make", "SMPMAKE="]) == serial, ended.err


def small_budget(held: Held) -> None:
    config = held.space.root / "config" / "smpmake" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('undo = "1K"\n')


BIG = {"big": "b" * 100_000, "new": "n" * 100_000}


def test_what_is_beyond_the_budget_is_final(held: Held) -> None:
    """A make goes on from there; the older contents are not needed any more."""
    small_budget(held)
    check(held, {**make("cp new big", BAD, "echo ok > stamp", AFTER), **BIG}, ["make"])


def test_shared_memory_that_is_made_or_removed_behind_a_failure(held: Held) -> None:
    """Shared objects are files in a folder of the system's, which libc opens itself."""
    folder = Path("/dev/shm")
    if not folder.is_dir():
        pytest.skip("no shared memory here")
    old, new = (folder / f"smp-{os.getpid()}-{kind}" for kind in ("old", "new"))
    code = (
        "import os, _posixshmem as s; "
        f's.shm_open("/{new.name}", os.O_CREAT | os.O_RDWR, mode=0o600); '
        f's.shm_unlink("/{old.name}")'
    )
    files = make(BAD, f"python3 -c '{code}'", "echo ok > stamp", AFTER)
    old.write_text("older")
    try:
        check(held, files, ["make"])
        assert old.read_text() == "older"
        assert not new.exists()
    finally:
        for each in (old, new):
            each.unlink(missing_ok=True)


def test_older_files_that_overlayfs_has_copied(space: Space) -> None:
    """A change of a file of the lower layer makes a copy, which says that it has just been born."""
    needs.require_mounts()
    lines = ["cat a b c d/f > seen", "touch a; rm a", "echo more >> b; rm b", "chmod 600 c"]
    lines += ["mv c c2; rm c2", "ln d/f g; rm d/f g", "rmdir d", "echo q >> h2; chmod 600 h2"]
    lines += ["gcc -c bad.c", "echo on > on"]
    space.write({"bad.c": "int x = oops;\n"})
    lower = space.root / "lower"
    for name in ("d", "upper", "work"):
        (lower / name if name == "d" else space.root / name).mkdir(parents=True)
    for name in ("a", "b", "c", "d/f", "h1"):
        (lower / name).write_text(f"{name}\n")
    os.link(lower / "h1", lower / "h2")
    (lower / "bad.c").write_text("int x = oops;\n")
    (lower / "build.sh").write_text("\n".join(("set -e", *lines, "")))
    for path in lower.rglob("*"):
        os.utime(path, (1000, 1000))
    layers = f"lowerdir={space.root}/lower,upperdir={space.root}/upper,workdir={space.root}/work"
    mount = f"mount -t overlay -o {layers} none . && cd . || exit 77; cd {space.folder}; "
    ended = space.run("unshare", "-m", "sh", "-c", f"{mount} {SMPMAKE} sh build.sh; echo $?; cat *")
    if ended.status == 77:
        pytest.skip("no overlayfs can be mounted here")
    assert "ran a second time" in ended.err, ended.err
    assert "a\nb\nc\nd/f\n" in ended.out, ended.err
    assert "h1\nh1\nq\n" in ended.out, ended.err
    assert ended.out.startswith("1\n")


def test_what_is_removed_makes_room(space: Space) -> None:
    """A build may need it: little is kept where little is free."""
    needs.require_mounts()
    room = "mount -t tmpfs -o size=24m none {0} && cp a.c Makefile {0} && cd {0} && "
    room += "head -c 15000000 /dev/zero > big && exec {1} make"
    (space.root / "room").mkdir()
    makefile = "all:\n\tgcc -c a.c\n\trm big\n\thead -c 18000000 /dev/zero > new\n"
    space.write({"a.c": "int a;\n", "Makefile": makefile})
    script = room.format(space.root / "room", SMPMAKE)
    ended = space.run("unshare", "-m", "sh", "-c", script)
    assert ended.status == 0, ended.err


@pytest.mark.parametrize("end", ["", "mkfifo never; read word < never"])
def test_a_script_beyond_the_budget_ends_where_it_failed(held: Held, end: str) -> None:
    """Also one that we end, because it would go on."""
    small_budget(held)
    space = held.space
    space.write({**script("cp new big", BAD, "echo ok > stamp", AFTER, end), **BIG})
    process = held.start("sh", "build.sh")
    held.let_go_when_stuck(process)
    ended = space.finish(process)
    assert ended.status == 1
    assert "smpmake: failed: gcc -Dheld -c bad.c" in ended.err
    tree = space.tree()
    assert tree["big"] == tree["new"]
    assert not {"stamp", "after"} & set(tree)
    space.expect_clean()


def test_a_program_without_a_guard_is_final(held: Held) -> None:
    """What it does cannot be written down: a script is not repeated behind it."""
    space = held.space
    space.write({"s.c": '#include <stdio.h>\nint main(void) { return !fopen("static", "w"); }\n'})
    space.ok("gcc", "-static", "s.c", "-o", str(space.root / "tools" / "static"))
    files = script("echo 1 > one", "static", "gcc -c good.c", BAD, "echo ok > stamp", AFTER)
    space.write(files)
    process = held.start("sh", "build.sh")
    held.let_go_when_stuck(process)
    ended = space.finish(process)
    assert ended.status == 1, ended.err
    assert {"one", "static", "good.o"} <= set(space.tree())
    assert not {"stamp", "after"} & set(space.tree())
    assert "smpmake: failed: gcc -Dheld -c bad.c" in ended.err


@pytest.mark.parametrize("option", [[], ["-k"]])
def test_p3_what_a_tool_that_was_killed_has_half_written_goes(
    held: Held, option: list[str]
) -> None:
    """By itself, as the system does when memory is short; gcc's own make would delete it."""
    tool = held.space.root / "tools" / "gcc.sh"
    tool.write_text("#!/bin/sh\necho half > good.o; kill -9 $$\n")
    files = make("gcc -c good.c", "echo ok > stamp", head="good.o: again", more="again:\n")
    files |= {"good.o": "older\n"}
    check(held, files, ["make", *option])


@pytest.mark.parametrize("tool", ["rm m.o far.o", "cp m.o link.o", "cp m.o lost.o", "cp m.o big.o"])
def test_what_a_tool_without_a_guard_does_as_a_job_is_undone(held: Held, tool: str) -> None:
    """What it is about to write over or to remove is copied when it is issued."""
    space = held.space
    static = space.root / "tools" / tool.split()[0]
    source = space.root / "static.c"
    source.write_text(STATIC)
    space.ok("gcc", "-static", str(source), "-o", str(static))
    files = make("ln -s far.o link.o; ln -s no.o lost.o", BAD, "gcc -c m.c", tool, AFTER)
    files |= {"m.o": "older\n", "far.o": "older, too\n", "big.o": "oldest\n"}
    check(held, files, ["make"])


#: rm of two files, or cp of one, as it is called.
STATIC = """
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (strcmp(strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0], "rm") == 0)
		return unlink(argv[1]) || unlink(argv[2]);
	FILE *from = fopen(argv[1], "r"), *to = fopen(argv[argc - 1], "w");
	for (int c; from && to && (c = getc(from)) != EOF;)
		putc(c, to);
	return !from || !to || fclose(to);
}
"""


def test_what_goes_past_libc_is_undone(held: Held) -> None:
    """By its syscall(), as Node does."""
    text = (
        "import ctypes; c = ctypes.CDLL(None); "
        "c.syscall(ctypes.c_long(87), b'm.c'); c.syscall(ctypes.c_long(83), b'stamp', 0o700)"
    )
    if os.uname().machine != "x86_64":
        pytest.skip("numbers of system calls of another machine")
    check(held, make(BAD, f'python3 -c "{text}"', AFTER), ["make"])


@pytest.mark.parametrize("move", ["C/own stamp", "C/own t.o", "t.o C/own", "t.o C/new"])
def test_what_moves_to_and_from_a_cache_is_undone(held: Held, move: str) -> None:
    """What is changed inside is not, but a name in the tree is the tree's."""
    cache = held.space.root / "cache"
    cache.mkdir(exist_ok=True)
    moves = f"python3 -c 'import os, sys; os.rename(*sys.argv[1:])' {move}".replace(
        "C/", f"{cache}/"
    )
    check(held, make(BAD, f"echo x > {cache}/own", moves, AFTER), ["make"])


SECONDS = """
truncate -s 4M image && mkfs.ext4 -q -I 128 image > log 2>&1 && mount -o loop image far || exit 77
cd far && cp ../bad.c ../a.c . && smpmake --memo=off sh -c '{script}'
cat note 2> log; exit 0
"""


def test_on_a_file_system_that_counts_whole_seconds(space: Space) -> None:
    """What was made in the second of the build's beginning is no older."""
    needs.require_mounts()
    space.write({"a.c": "int a;\n", "bad.c": "int bad(\n", "far/keep": ""})
    script = "test ! -e new || echo was there > note; echo > new; gcc -c a.c; gcc -c bad.c; exit 1"
    path = f"{Path(SMPMAKE).parent}:{space.environment['PATH']}"
    ended = space.run("unshare", "-m", "sh", "-c", SECONDS.format(script=script), PATH=path)
    if ended.status == 77:
        pytest.skip("needs mkfs.ext4 and a loop device")
    assert "ran a second time" in ended.err, ended
    assert ended.out == ""
