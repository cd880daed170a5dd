"""Recipes whose tools print into files, behind a compile that is not done yet (P1, P2, P3).

The compile is held until the driver has come to the end of the recipe, or stands still.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from tests.support.held import Held
from tests.support.space import MAIN, SMPMAKE, Ended, Space, objects, words
from tests.support.variants import often

HELD = "gcc -Dheld -MMD -c good.c -o g.o"
AFTER = ": > after"
SOURCES = {
    "good.c": '#include "h.h"\nint y;\n',
    "h.h": "\n",
    "m.c": MAIN,
    "bad.c": "int x = oops;\n",
    "x.sed": "s/g/z/\n",
}

#: Recipes that do not stand still behind the held compile, and how many commands are jobs.
GOES_ON = {
    "sed": (["sed -e s/good/other/ -e /^$$/d g.d > g.cmd"], 2),
    "sed, and then removed": (["set -e; sed s/good/other/ g.d > g.cmd; rm -f g.d"], 3),
    "sed, and then renamed": (["sed s/good/x/ g.d > g.tmp && mv g.tmp g.cmd"], 3),
    "a script of sed's": (["sed -f x.sed g.d > g.cmd"], 2),
    "awk": (["awk '{ print NR, $$1 }' g.d > g.cmd"], 2),
    "cat": (["cat g.d good.c > g.cmd"], 2),
    "sort and head": (["sort g.d > g.srt; head -n 1 g.srt > g.cmd"], 3),
    "cut and tail": (["cut -c 1-3 g.d > g.cut; tail -n 1 g.cut > g.cmd"], 3),
    "nm": (["nm g.o > g.nm"], 2),
    "objdump and readelf": (["objdump -d g.o > g.dis; readelf -SW g.o > g.elf"], 3),
    "a chain": (["cat g.d > a; cat a > b; cat b > c; rm a b"], 5),
    "another folder": (["cd d && sed s/g/z/ ../g.d > g.cmd"], 2),
    "in a loop": (["for n in 1 2; do sed s/g/$$n/ g.d > g$$n; done"], 3),
    "read only": (["umask 077; sed s/g/z/ g.d > g.cmd"], 2),
    "a compile that reads it": (["sed 's/.*/int i;/' g.d > i.h", "gcc -include i.h -c m.c"], 3),
    "preprocessed": (["sed 's/.*/int i;/' g.d > k.c", "gcc -E k.c > k.i"], 3),
}
#: Lines of several commands that are one job.
PIPES = {
    "a pipe": (["cat g.d | sed s/g/z/ > g.cmd"], 2),
    "a pipe of three": (["sed s/g/z/ g.d | sort | uniq > g.cmd"], 2),
    "symbols": (["nm -a g.o | awk '{ print $$NF }' > g.sym"], 2),
    "from a file": (["sed s/g/z/ < g.d > g.cmd", "sort < g.cmd > g.srt"], 3),
    "and moved": (["cat g.d | sort > g.tmp && mv g.tmp g.cmd"], 2),
    "in a folder": (["cd d && cat ../g.d | tail -n 1 > g.cmd"], 2),
    "with a message": (["echo ' GEN'; cat g.d | tr g z > g.cmd"], 2),
    "the first of it fails": (["cat g.d missing | sort > g.cmd"], 2),
    "for a compile": (["cat g.d | sed 's/.*/int i;/' > i.h", "gcc -include i.h -c m.c"], 3),
}
#: Those that may: somebody looks, or what is printed is not one command's.
STANDS = {
    "a group": ["{ sed s/g/z/ g.d; echo end; } > g.cmd"],
    "a subshell": ["( sed s/g/z/ g.d; echo end ) > g.cmd"],
    "a shell in a shell": ["sh -c 'sed s/g/z/ g.d; echo end' > g.cmd"],
    "bash in a shell": ["bash -c 'sed s/g/z/ g.d; echo end' > g.cmd"],
    "a script": ["sh ./two.sh > g.cmd"],
    "by another name": [
        "bash -c \"OUT=/dev/stdout sh -c 'sed s/g/z/ g.d > \\$$OUT; echo end' > g.cmd; :\""
    ],
    "appended": ["echo first > g.cmd; sed s/g/z/ g.d >> g.cmd"],
    "after another": ["{ echo first; sed s/g/z/ g.d; } > g.cmd"],
    "exec": ["exec > g.cmd; sed s/g/z/ g.d; echo end"],
    "its status": ["if sed s/g/z/ g.d > g.cmd; then echo 1 > s; else echo 0 > s; fi"],
    "grep": ["grep zzz g.d > g.cmd || echo none > none", "! grep zzz g.d > g.cmd"],
    "a script that writes": ["sed -n 'w other' g.d > g.cmd; cat other > o2"],
    "a program that writes": ["""awk '{ print > "other" }' g.d > g.cmd; cat other > o2"""],
    "in place": ["cp good.c k.d; sed -i s/int/long/ k.d; cat k.d g.d > g.cmd"],
    "compared": ["sed s/g/z/ g.d > g.new; cmp -s g.new g.cmd || mv g.new g.cmd"],
    "a pipe into the driver's output": ["cat g.d | sed s/g/z/"],
    "a pipe that writes beside": ["cat g.d | sed -n 'w other' > g.cmd; cat other > o2"],
    "a pipe into an older file": ["cat g.d | sed s/g/z/ > older"],
    "a pipe into a link": ["ln -s g.cmd g.lnk; cat g.d | sed s/g/z/ > g.lnk"],
    "a file into itself": ["sort < g.d > g.d"],
    "a pipe to one that starts others": ["cat g.d | xargs echo > g.cmd"],
    "a pipe that is appended": ["echo first > g.cmd; cat g.d | sed s/g/z/ >> g.cmd"],
    "read behind a pipe": ["cat g.d | sort > g.cmd; read a < g.cmd; echo $$a > a"],
    "looked at behind a pipe": ["cat g.d | sort > g.cmd", "test -s g.cmd && ls > s"],
    "changed behind a pipe": ["cat g.d | sort > g.cmd", "chmod 600 g.cmd; echo x >> g.cmd"],
    "with messages": ["sed s/g/z/ g.d > g.cmd 2>&1"],
    "in the background": ["sed s/g/z/ g.d > g.cmd & wait; cat g.cmd > g.2"],
    "read by the shell": ["sed s/g/z/ g.d > g.cmd; read a < g.cmd; echo $$a > a"],
    "over an older file": ["sed s/g/z/ g.d > older"],
    "its size": ["sed s/g/z/ g.d > g.cmd; test -s g.cmd && echo some > s"],
    "appended behind": ["sed s/g/z/ g.d > g.cmd; echo end >> g.cmd"],
    "overwritten behind": ["sed s/g/z/ g.d > g.cmd; echo end > g.cmd"],
    "linked behind": ["sed s/g/z/ g.d > g.cmd; ln g.cmd g.2; ln -s g.cmd g.3; cat g.3 > g.4"],
    "its source changed": ["sed s/g/z/ g.d m.c > g.cmd; echo 'int z;' > m.c"],
    "from a link": ["ln -s g.d g.lnk; sed s/g/z/ g.lnk > g.cmd"],
    "into a link": ["ln -s g.cmd g.lnk; sed s/g/z/ g.d > g.lnk"],
    "into its source": ["cat g.d > k.d; cat k.d good.c > k.d || :"],
}
#: What fails behind the held compile, though success was promised.
FAILS = {
    "no such file": ["sed s/g/z/ g.d missing > g.cmd", "echo ok > stamp"],
    "tolerated": ["-sed s/g/z/ g.d missing > g.cmd", "echo ok > stamp"],
    "its status ignored": ["sed s/g/z/ g.d missing > g.cmd; echo ok > stamp"],
    "set -e": ["set -e; sed s/g/z/ g.d missing > g.cmd; echo ok > stamp"],
    "in a pipe": ["cat g.d | sed s/g/z/ - missing > g.cmd", "echo ok > stamp"],
    "in a tolerated pipe": ["-cat g.d | sed s/g/z/ - missing > g.cmd", "echo ok > stamp"],
    "without its folder": ["cat g.d | sed s/g/z/ > none/g.cmd", "echo ok > stamp"],
    "not executable": ["nm g.d > g.cmd; echo ok > stamp"],
    "over an older file": ["cat g.d missing > older; echo ok > stamp"],
    "others beside it": [
        "cat g.d > k.1; cat g.d missing > k.2; cat g.d > older; cat k.1 > k.3; rm k.1"
    ],
    "another failed before": [
        "gcc -c bad.c -o bad.o; sed s/g/z/ g.d > older; nm g.o > k.nm; echo ok > stamp"
    ],
    "deleted": ["sed s/g/z/ g.d missing > stamp; echo more"],
}
SOME = ("sed, and then removed", "a chain", "nm", "preprocessed", "another folder")
SOME_STAND = (
    "a group",
    "bash in a shell",
    "exec",
    "its status",
    "appended behind",
    "a file into itself",
)
SOME_FAIL = ("no such file", "its status ignored", "over an older file", "in a pipe")


def files(*recipe: str, head: str = "") -> dict[str, str]:
    lines = "".join(f"\t{line}\n" for line in (HELD, *recipe, AFTER))
    more = {
        "older": "what was there\n",
        "older.cmd": "and there\n",
        "two.sh": "sed s/g/z/ g.d\necho end\n",
        "d/here": "",
    }
    return {**SOURCES, **more, "Makefile": f"{head}all:\n{lines}"}


def jobs(ended: Ended) -> int:
    found = re.search(r"(\d+) in parallel", ended.err)
    return int(found[1]) if found else 0


def check(held: Held, made: dict[str, str], *options: str, command: Sequence[str] = ()) -> Ended:
    """The plain driver as oracle."""
    command = [*command] or ["make"]
    status, serial = held.serial(made, command)
    ended, tree = parallel(held, made, *options, command=command)
    assert tree == serial, ended.err
    assert ended.status == status, ended.err
    held.space.expect_clean()
    return ended


def parallel(
    held: Held, made: dict[str, str], *options: str, command: Sequence[str] = ("make",)
) -> tuple[Ended, dict[str, str]]:
    held.space.clear()
    held.space.write(made)
    process = held.start(*words(options, command))
    held.let_go_when_stuck(process)
    return held.space.finish(process), held.tree()


@pytest.fixture
def held(space: Space) -> Held:
    return Held(space)


@pytest.mark.parametrize("name", often(SOME, GOES_ON))
def test_what_prints_into_a_file_of_its_own_is_a_job(held: Held, name: str) -> None:
    recipe, count = GOES_ON[name]
    ended = check(held, files(*recipe))
    assert "waiting" not in ended.err, ended.err
    assert jobs(ended) == count, ended.err


@pytest.mark.parametrize("name", often(["a pipe", "and moved", "symbols"], PIPES))
def test_so_is_a_line_that_prints_through_pipes(held: Held, name: str) -> None:
    recipe, count = PIPES[name]
    ended = check(held, files(*recipe))
    assert jobs(ended) == count, ended.err
    assert "waiting" not in ended.err, ended.err


@pytest.mark.parametrize("shell", often(["bash"], ["bash", "dash", "zsh", "ksh"]))
@pytest.mark.parametrize("name", often(SOME[:2], GOES_ON))
def test_whatever_the_shell(held: Held, name: str, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    check(held, files(*GOES_ON[name][0], head=f"SHELL={shutil.which(shell)}\n"))


@pytest.mark.parametrize("name", often(SOME_STAND, STANDS))
def test_what_is_not_one_commands_alone_is_as_it_would_be(held: Held, name: str) -> None:
    check(held, files(*STANDS[name]))


@pytest.mark.parametrize("shell", often(["bash"], ["bash", "dash", "zsh", "ksh"]))
@pytest.mark.parametrize("name", often(SOME_STAND[:2], STANDS))
def test_nor_in_another_shell(held: Held, name: str, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    check(held, files(*STANDS[name], head=f"SHELL={shutil.which(shell)}\n"))


@pytest.mark.parametrize("option", often([""], ["", "--chaos=3", "-j1"]))
@pytest.mark.parametrize("name", often(SOME_FAIL, FAILS))
def test_one_that_fails_is_undone(held: Held, name: str, option: str) -> None:
    head = ".DELETE_ON_ERROR:\n" if name == "deleted" else ""
    check(held, files(*FAILS[name], head=head), *filter(None, [option]))


@pytest.mark.parametrize("name", often(SOME_FAIL[:1], FAILS))
def test_without_a_journal_a_make_is_repeated_all_the_same(held: Held, name: str) -> None:
    head = ".DELETE_ON_ERROR:\n" if name == "deleted" else ""
    made = {**files(*FAILS[name], head=head), ".smpmake.toml": 'undo = "off"\n'}
    status, _ = held.serial(made, ["make"])
    ended, _ = parallel(held, made)
    assert ended.status == status, ended.err
    # For the first compile, whose guard is not known; and what cannot be made is met in its place.
    waits = name in ("over an older file", "without its folder")
    assert waits or " ran a second time" in ended.err, ended.err


def test_one_that_is_no_job_when_the_make_is_repeated_tells_it_by_itself(held: Held) -> None:
    """What it reads is there by then."""
    makefile = f"all: g.o\n\tsed s/g/z/ g.d missing > stamp; echo more\n\t{AFTER}\n"
    makefile += f"g.o:\n\t{HELD}\n"
    made = {**SOURCES, "Makefile": makefile, ".smpmake.toml": 'undo = "off"\n'}
    status, serial = held.serial(made, ["make"])
    ended, tree = parallel(held, made)
    assert (ended.status, tree) == (status, serial), ended.err
    assert " ran a second time" in ended.err


DESCRIBED = """
[tools.mygen]
output = "stdout"
flags = ["-q"]
headers = false
"""


def test_a_described_tool_that_prints(held: Held) -> None:
    (held.space.root / "tools" / "mygen").write_text('#!/bin/sh\nshift; wc -c "$@"\n')
    (held.space.root / "tools" / "mygen").chmod(0o755)
    made = {**files("mygen -q g.d > g.cmd; rm g.d"), ".smpmake.toml": DESCRIBED}
    assert jobs(check(held, made)) == 3


def test_recipes_can_be_left_alone(held: Held) -> None:
    recipe, _ = GOES_ON["sed, and then removed"]
    ended = check(held, files(*recipe), "--recipes=off")
    assert jobs(ended) == 1, ended.err


def test_without_a_guard_nobody_would_know(held: Held) -> None:
    recipe, _ = GOES_ON["sed"]
    ended = check(held, files(*recipe), "--no-guard")
    assert jobs(ended) <= 1, ended.err


SLOW_SED = """#!/bin/sh
: > {begun}
if [ -p {gate} ]; then read word < {gate}; fi
exec {sed} "$@"
"""
#: Makefiles in which make is in another target when sed is at work.
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
INTERRUPTED = {
    "a target of its own": (
        "all: g.cmd after\n\t@cat g.cmd\n"
        f"g.o: good.c\n\t{HELD}\n"
        "g.cmd: g.o\n\tsed s/g/z/ g.d > $@\n"
        "after: g.cmd\n\t: > after\n\tcat g.cmd > last\n"
    ),
    "beside the target": (
        "all: g.o after\n\t@cat g.cmd\n"
        f"g.o: good.c\n\t{HELD}\n\tsed s/g/z/ g.d > g.cmd\n"
        "after: g.o\n\t: > after\n\tcat g.cmd > last\n"
    ),
    "a pipe": (
        "all: g.o after\n\t@cat g.cmd\n"
        f"g.o: good.c\n\t{HELD}\n\tcat g.d | sed s/g/z/ > g.cmd\n"
        "after: g.o\n\t: > after\n\tcat g.cmd > last\n"
    ),
    "a chain": (
        "all: g.o after\n\t@cat k.2\n"
        f"g.o: good.c\n\t{HELD}\n\tcat g.d > k.1\n\tsed s/g/z/ k.1 > k.2; rm k.1\n"
        "after: g.o\n\t: > after\n\tcat k.2 > last\n"
    ),
}


@pytest.mark.parametrize("how", often([signal.SIGINT], ENDS))
@pytest.mark.parametrize("name", INTERRUPTED)
def test_an_interrupted_one_is_made_again(held: Held, name: str, how: signal.Signals) -> None:
    """make is past the recipe, and would not run it again for what is missing beside its target."""
    space = held.space
    begun, gate = space.root / "begun", space.root / "sed-gate"
    made = {**files(), "Makefile": INTERRUPTED[name]}
    status, serial = held.serial(made, ["make"])
    assert status == 0
    tool = space.root / "tools" / "sed"
    tool.write_text(SLOW_SED.format(begun=begun, gate=gate, sed=shutil.which("sed")))
    tool.chmod(0o755)
    space.clear()
    space.write(made)
    before = space.tree()
    os.mkfifo(gate)
    process = held.start("make")
    held.let_go_when_stuck(process)
    while not begun.exists():
        assert process.poll() is None
    if how is signal.SIGKILL:
        process.kill()
    else:
        os.killpg(process.pid, how)
    space.finish(process)
    gone = [p for p in psutil.process_iter(["name", "cwd"]) if p.info["cwd"] == str(space.folder)]
    psutil.wait_procs(gone, timeout=30)
    assert space.tree() == before
    gate.unlink()
    assert space.ok("make")
    assert space.tree() == serial


FIXDEP = r"""
#include <stdio.h>
int main(int argc, char **argv)
{
	char line[4096];
	FILE *list = argc == 4 ? fopen(argv[1], "r") : NULL;
	if (list == NULL)
		return fprintf(stderr, "Usage: fixdep <depfile> <target> <cmdline>\n"), 1;
	printf("cmd_%s := %s\n", argv[2], argv[3]);
	while (fgets(line, sizeof line, list))
		fputs(line, stdout);
	return 0;
}
"""
CHECK = """#!/bin/sh
# Exit with error if a local exported symbol is found.
nm ${1} | { ! grep -q " [a-z] __ksymtab_"; }
"""
KBUILD = """
objs := $(addsuffix .o,%(names)s)
all: built-in.a
built-in.a: $(objs)
	rm -f $@; printf "%%s " $(objs) | xargs ar cDPrST $@
%%.o: %%.c fixdep
	set -e; echo '  CC $@'; trap 'rm -f $@; kill -s HUP $$$$' HUP; \\
	gcc -Wp,-MMD,.$@.d -c -o $@ $<; ./fixdep .$@.d $@ 'gcc -c -o $@ $<' > .$@.cmd; rm -f .$@.d; \\
	./check-local-export $@
fixdep: fixdep.c
	gcc -o $@ $<
"""


def kernel(space: Space, count: int, check_script: str = CHECK) -> dict[str, str]:
    sources = objects(count)
    names = " ".join(Path(name).stem for name in sources)
    more = {"fixdep.c": FIXDEP, "check-local-export": check_script}
    return {**sources, **more, "Makefile": KBUILD % {"names": names}}


def build(space: Space, made: dict[str, str], *command: str) -> Ended:
    space.clear()
    space.write(made)
    (space.folder / "check-local-export").chmod(0o755)
    return space.run(*command)


def test_a_kernels_recipe(space: Space) -> None:
    """Nothing of a recipe stands still behind its compile."""
    made = kernel(space, 12)
    assert build(space, made, "make").status == 0
    serial = space.tree()
    ended = build(space, made, SMPMAKE, "-j2", "--", "make")
    assert (ended.status, space.tree()) == (0, serial), ended.err
    assert jobs(ended) >= 12 * 3, ended.err
    again = space.smpmake("make")
    assert (again.status, space.tree()) == (0, serial), again.err


def test_a_kernels_check_that_fails(space: Space) -> None:
    made = kernel(space, 6)
    made["f3.c"] = "static int __ksymtab_x __attribute__((used));\n"
    plain = build(space, made, "make")
    serial = space.tree()
    ended = build(space, made, SMPMAKE, "-j2", "--", "make")
    assert ended.status == plain.status == 2
    assert space.tree() == serial, ended.err


def test_other_programs_of_these_names_are_left_alone(held: Held) -> None:
    """They may do anything: this one writes a file that no name says."""
    tool = '#!/bin/sh\ncat "$1"; echo seen > other\n'
    made = {**files("./fixdep g.d g.o x > g.cmd; ./check-local-export g.o; cat other > o2")}
    made |= {"fixdep": tool, "check-local-export": tool}

    def prepare() -> None:
        held.space.clear()
        held.space.write(made)
        for name in ("fixdep", "check-local-export"):
            (held.space.folder / name).chmod(0o755)

    prepare()
    status = held.space.run("make").status
    serial = held.tree()
    prepare()
    process = held.start("make")
    held.let_go_when_stuck(process)
    ended = held.space.finish(process)
    assert (ended.status, held.tree()) == (status, serial), ended.err


def test_large_and_binary_results_are_whole(held: Held) -> None:
    """What is printed does not go through the server."""
    blob = bytes(range(256)) * 100_000  # 25 MB

    def prepare() -> None:
        held.space.clear()
        held.space.write(files("cat blob g.d > big"))
        (held.space.folder / "blob").write_bytes(blob)

    prepare()
    held.space.ok("make")
    serial = held.tree()
    prepare()
    process = held.start("make")
    held.let_go_when_stuck(process)
    ended = held.space.finish(process)
    assert (ended.status, held.tree()) == (0, serial), ended.err
    assert jobs(ended) == 2


def test_a_build_into_a_log_keeps_its_log(held: Held) -> None:
    """The build's own output may be a file that nobody has written to yet."""
    made = files("@cat g.d", "@cat g.d good.c > g.cmd")
    made["Makefile"] = (
        made["Makefile"].replace(f"\t{HELD}", f"\t@{HELD}").replace(AFTER, f"@{AFTER}")
    )
    check(held, made, command=["sh", "-c", "make > log"])


@pytest.mark.skipif(not shutil.which("dash"), reason="no dash")
def test_what_dash_does_is_what_this_was_made_for(tmp_path: Path) -> None:
    """It opens a simple command's file itself: descriptors do not tell it from a group's."""
    (tmp_path / "show").write_text("#!/bin/sh\nreadlink /proc/$PPID/fd/1 >&2\n")
    (tmp_path / "show").chmod(0o755)
    found = subprocess.run(
        ["dash", "-c", "./show > out; true"], cwd=tmp_path, capture_output=True, check=True
    )
    assert found.stderr.decode().strip() == str(tmp_path / "out")
