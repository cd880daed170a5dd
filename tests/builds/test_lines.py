"""Recipes' lines that compile something, as one command each (P1, P2, P3).

The compile is held until the driver has come to the end of the recipe, or stands still.
"""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.support.held import Held
from tests.support.space import SMPMAKE, Ended, Space, words
from tests.support.variants import often

DEPBASE = "base=`echo g.o | sed 's|[^/]*$$|.deps/&|;s|\\.o$$||'`;"
MAIN = "gcc -Dheld '-DX=\"a b\"' -MT g.o -MD -MP -MF"
SOURCES = {
    "good.c": '#include "h.h"\nint y;\n',
    "h.h": "\n",
    "k.c": "int k;\n",
    "bad.c": "int x = oops;\n",
    ".deps/here": "",
    "d/good.c": "int z;\n",
    "d/h.h": "\n",
}

#: Lines that are understood, and how many commands there are in all with what stands behind them.
UNDERSTOOD = {
    "automake's": (
        [f"{DEPBASE} {MAIN} $$base.Tpo -c good.c -o g.o && mv -f $$base.Tpo $$base.Po"],
        1,
    ),
    "a source beside or elsewhere": (
        [f"{MAIN} g.d -c -o g.o `test -f 'good.c' || echo './'`good.c", "gcc -c k.c"],
        2,
    ),
    "with a message": ([f"echo ' CC g.o'; {MAIN} g.d -c good.c -o g.o"], 1),
    "in order": ([f"rm -f g.o && {MAIN} g.d -c good.c -o g.o && mv g.d g.P", "gcc -c k.c"], 2),
    "until one fails": ([f"set -e; rm -f g.o; {MAIN} g.d -c good.c -o g.o; mv g.o r.o"], 1),
    "elsewhere": ([f"cd d && {MAIN} g.d -c good.c -o ../g.o && mv -f g.d ../g.P"], 1),
    "moved, and then linked": (
        [f"{MAIN} g.d -c good.c -o g.tmp && mv g.tmp g.o", "gcc -shared g.o -o g.so"],
        2,
    ),
    "over older ones": ([f"{MAIN} older.d -c good.c -o older.o && mv -f older.d older.P"], 1),
}
#: What somebody looks at behind such a line.
LOOKS = {
    "what was moved": ["cat .deps/g.Po"],
    "what is no more": ["test -f .deps/g.Tpo && echo there; true"],
    "what is there": ["ls .deps; ls"],
    "the object": ["cksum g.o"],
    "its age": ["test g.o -nt good.c && echo newer"],
    "the next make": ["$(MAKE) -f inner.mk"],
    "removed": ["rm -f g.o; ls"],
    "changed under it": ["echo '#define Y 1' > h.h", "echo 'int other;' > good.c"],
    "made once more": [f"{DEPBASE} {MAIN} $$base.Tpo -c k.c -o g.o && mv -f $$base.Tpo $$base.Po"],
}
#: What fails behind a promise.
FAILS = {
    "the compile": [f"{DEPBASE} {MAIN} $$base.Tpo -c bad.c -o g.o && mv -f $$base.Tpo $$base.Po"],
    "the move": [f"{MAIN} g.d -c good.c -o g.o && mv g.d no/such/folder"],
    "without a result": [f"{MAIN} g.d -c bad.c -o g.o && mv -f g.d g.P", "cat g.P > all"],
    "tolerated": [f"-{MAIN} g.d -c bad.c -o g.o && mv -f g.d g.P", "echo ok > stamp"],
    "over older ones": [f"{MAIN} older.d -c bad.c -o older.o && mv -f older.d older.P"],
    "until one fails": [f"set -e; rm -f older.o; {MAIN} g.d -c bad.c -o g.o; mv g.o older.o"],
    "elsewhere": ["cd d && gcc -Dheld -c ../bad.c -o ../g.o && mv ../g.o ../r.o"],
    "one of several": [
        "rm -f k.o && gcc -c k.c -o k.o && mv k.o r.o",
        f"{MAIN} g.d -c bad.c -o g.o && mv g.o h.o",
        "rm -f l.o && gcc -c k.c -o l.o && mv l.o m.o",
    ],
}
SOME = ("automake's", "in order", "elsewhere")
SOME_LOOKS = ("what was moved", "what is no more", "changed under it")
SOME_FAIL = ("the compile", "tolerated", "one of several")
OLDER = {"older.o": "an older object\n", "older.d": "g.o:\n", "older.P": "older.o: h.h\n"}


def files(*recipe: str, head: str = "") -> dict[str, str]:
    lines = "".join(f"\t{line}\n" for line in (*recipe, "@: > after"))
    inner = "all: g.o\n\t@echo inner\ng.o: good.c\n\t@echo stale\n"
    return {**SOURCES, **OLDER, "Makefile": f"{head}all:\n{lines}", "inner.mk": inner}


def commands(ended: Ended) -> int:
    found = re.search(r"(\d+) in parallel, 0 in place", ended.err)
    return int(found[1]) if found else 0


def check(held: Held, made: dict[str, str], *options: str, command: tuple[str, ...] = ()) -> Ended:
    """The plain driver as oracle."""
    driver = [*command] or ["make"]
    status, serial = held.serial(made, driver)
    held.space.clear()
    held.space.write(made)
    process = held.start(*words(options, driver))
    held.let_go_when_stuck(process)
    ended = held.space.finish(process)
    assert held.tree() == serial, ended.err
    assert ended.status == status, ended.err
    held.space.expect_clean()
    return ended


@pytest.fixture
def held(space: Space) -> Held:
    return Held(space)


@pytest.mark.parametrize("shell", often(["/bin/sh"], ["/bin/sh", "/bin/bash"]))
@pytest.mark.parametrize("name", often(SOME, UNDERSTOOD))
def test_a_line_is_one_command(held: Held, name: str, shell: str) -> None:
    recipe, count = UNDERSTOOD[name]
    ended = check(held, files(*recipe, head=f"SHELL={shell}\n"))
    assert commands(ended) == count, ended.err


@pytest.mark.parametrize("option", often([""], ["", "--chaos=3", "-j1", "--recipes=off"]))
@pytest.mark.parametrize("name", often(SOME_LOOKS, LOOKS))
def test_who_looks_finds_what_make_would_have_made(held: Held, name: str, option: str) -> None:
    line, _ = UNDERSTOOD["automake's"]
    check(held, files(*line, *LOOKS[name]), *filter(None, [option]))


@pytest.mark.parametrize("option", often([""], ["", "--chaos=3", "-j1"]))
@pytest.mark.parametrize("driver", often(["make"], ["make", "make -k", "make -i"]))
@pytest.mark.parametrize("name", often(SOME_FAIL, FAILS))
def test_one_that_fails_is_undone(held: Held, name: str, driver: str, option: str) -> None:
    command = tuple(driver.split())
    check(held, files(*FAILS[name]), *filter(None, [option]), command=command)


@pytest.mark.parametrize("name", often(SOME_FAIL[:1], FAILS))
def test_and_its_target_is_deleted_where_make_would(held: Held, name: str) -> None:
    lines = "".join(f"\t{line}\n" for line in FAILS[name])
    made = {**files(), "Makefile": f".DELETE_ON_ERROR:\nall: g.o\ng.o: bad.c\n{lines}"}
    check(held, made)


def test_without_a_session_for_them_lines_are_commands_as_they_come(held: Held) -> None:
    line, _ = UNDERSTOOD["automake's"]
    assert commands(check(held, files(*line), "--recipes=off")) == 2


@pytest.mark.parametrize("option", ["--foreground=gcc", "--exclusive=*/gcc"])
def test_tools_that_are_named_are_met_one_by_one(held: Held, option: str) -> None:
    line, _ = UNDERSTOOD["automake's"]
    ended = check(held, files(*line), option)
    named = "1 user-foreground" if "foreground" in option else "2 in parallel"
    assert named in ended.err


def test_what_is_not_understood_is_met_command_by_command(held: Held) -> None:
    line = f"{MAIN} g.d -c good.c -o g.o && if test -f k.c; then gcc -c k.c; fi"
    assert commands(check(held, files(line))) == 2


def test_a_shell_that_reads_more_is_not_understood(held: Held) -> None:
    """ENV and the like change what a line means."""
    line, _ = UNDERSTOOD["automake's"]
    head = "export BASH_ENV=own.sh\nSHELL=/bin/bash\n"
    made = {**files(*line, head=head), "own.sh": 'mv() { command mv -v "$@"; }\n'}
    assert commands(check(held, made)) == 2


CAPTURED = {
    "into a file": "@$(MAKE) -s sub > out",
    "by a shell": '@x=`$(MAKE) -s sub`; echo "$$x" > out',
    "by a pipe": "@$(MAKE) -s sub | cat > out",
}


@pytest.mark.parametrize("name", CAPTURED)
def test_what_a_line_prints_is_where_somebody_counts_on_it(held: Held, name: str) -> None:
    makefile = f"all:\n\t{CAPTURED[name]}\n\t@: > after\nsub:\n"
    for n in ("good", "k"):
        # Who reads a pipe to its end waits for all that have it: a held compile for ever.
        held_one = "-Dheld" if name == "into a file" else ""
        makefile += f"\t@echo CC {n} && gcc {held_one} -c {n}.c -o {n}.o\n\t@echo behind {n}\n"
    check(held, {**files(), "Makefile": makefile})


def test_what_a_line_finds_is_what_is_there_when_make_issues_it(held: Held) -> None:
    behind = "gcc -c -o a.o `test -f 'a.c' || echo 'd/'`a.c && rm -f q"
    made = files(f"{MAIN} g.d -c good.c -o g.o", behind, "echo 'int other;' > a.c")
    check(held, {**made, "d/a.c": "int first;\n"}, "-j1")


def test_what_a_line_has_found_before_an_undo_is_not_believed(held: Held) -> None:
    made = files(
        "gcc -Dheld -c bad.c -o bad.o || echo '#define X 2' > inc1/x.h",
        "gcc -Iinc1 -Iinc2 -c x.c -o x.o && rm -f q",
    )
    made |= {"inc1/here": "", "inc2/x.h": "#define X 1\n", "x.c": "#include <x.h>\nint x = X;\n"}
    check(held, made)


def test_what_was_written_through_a_link_is_not_given_back(held: Held) -> None:
    made = files(
        "ln -s a.P l.P", "gcc -MD -MF l.P -c k.c -o k.o", "cat a.P > k3", "gcc -Dheld -c bad.c"
    )
    check(held, {**made, "a.P": "old\n"})


def test_a_libtool_on_the_path_is_another(held: Held) -> None:
    own = held.space.root / "tools" / "libtool"
    own.write_text(LIBTOOL.format(shared="yes", static="no"))
    own.chmod(0o755)
    call = "libtool --mode=compile gcc -Dheld -c -o k.lo k.c && rm -f q"
    made = {**files(call, "$(MAKE) k.o"), "libtool": LIBTOOL.format(shared="yes", static="yes")}
    made["Makefile"] += "k.o:\n\techo mine > k.o\n"
    made[".libs/here"] = ""
    check(held, made)


def test_a_failure_that_a_shell_does_not_see_is_no_failure(held: Held) -> None:
    line = "set -e; gcc -Dheld -c bad.c -o older.o && echo ok; rm -f zz"
    makefile = f"all: prog\n\t@: > after\nprog: older.o\n\techo > prog\nolder.o: dep\n\t{line}\n"
    check(held, {**files(), "Makefile": makefile, "dep": ""})


def test_a_function_is_no_tool(held: Held) -> None:
    line, _ = UNDERSTOOD["automake's"]
    held.space.environment["BASH_FUNC_mv%%"] = '() { command mv -v "$@"; }'
    assert commands(check(held, files(*line, head="SHELL=/bin/bash\n"))) == 2


def test_a_wrapper_is_no_shell(held: Held) -> None:
    line, _ = UNDERSTOOD["automake's"]
    wrapper = held.space.root / "tools" / "sh"
    wrapper.write_text('#!/bin/sh\nx=1 exec /bin/sh -c "echo wrapped > wrapped; $2"\n')
    wrapper.chmod(0o755)
    check(held, files(*line, head=f"SHELL={wrapper}\n"))


def test_several_lines_of_one_shell_are_not_understood(held: Held) -> None:
    line, _ = UNDERSTOOD["automake's"]
    made = files(*line, "x=1", "echo $$x > x", head=".ONESHELL:\n")
    check(held, made)


LIBTOOL = """#!/bin/sh
# ### BEGIN LIBTOOL CONFIG
macro_version=2.4.7
build_libtool_libs={shared}
build_old_libs={static}
pic_mode=default
objdir=.libs
compiler_c_o="yes"
# ### END LIBTOOL CONFIG
while [ $1 != gcc ]; do shift; done
count=$# last=
while [ $count -gt 0 ]; do
  if [ "$last" = -o ]; then lo=$1; elif [ "$1" != -o ]; then set -- "$@" "$1"; fi
  last=$1 count=$((count - 1))
  shift
done
stem=${{lo%.lo}}
rm -f $stem.o .libs/$stem.o $lo ${{lo}}T
if [ {shared} = yes ]; then mkdir -p .libs; "$@" -DPIC -o .libs/$stem.o || exit; fi
if [ {static} = yes ]; then "$@" -o $stem.o || exit; fi
echo "# $stem {shared} {static}" > ${{lo}}T
mv ${{lo}}T $lo
"""


@pytest.mark.parametrize("what", ["yes yes", "yes no", "no yes"])
@pytest.mark.parametrize("source", ["good.c", "bad.c"])
def test_libtool_is_one_command(held: Held, source: str, what: str) -> None:
    shared, static = what.split()
    call = "sh ./libtool --tag=CC --mode=compile gcc -Dheld"
    recipe = [
        f"{call} -MT g.lo -MD -MP -MF .deps/g.Tpo -c -o g.lo {source}",
        "mv -f .deps/g.Tpo .deps/g.Plo",
        f"{call} '-DX=\"a b\"' -c -o k.lo k.c && echo done",
    ]
    made = {**files(*recipe), "libtool": LIBTOOL.format(shared=shared, static=static)}
    ended = check(held, made)
    if source == "good.c":
        assert commands(ended) == 3


def test_reports_call_it_by_its_compiler(held: Held) -> None:
    line, _ = UNDERSTOOD["automake's"]
    ended = check(held, files(*line))
    assert "gcc g.o" in ended.err
    commands = held.space.ok(SMPMAKE, "export", "compile-commands", "-").out
    assert '"file": "good.c"' in commands
    assert "/bin/sh" not in commands


#: One command, for which make needs a shell.
BARE = "gcc -DX=\\\"x\\\" '-DY=a b' -c `test -f '{0}.c' || echo './'`{0}.c"
#: A compiler that writes down how it was called: its words and its environment, but for ours.
TELLS = """
#include <stdio.h>
#include <string.h>
extern char **environ;
int main(int argc, char **argv)
{
    FILE *out = fopen(argv[argc - 1], "w");
    for (int i = 0; i < argc; i++)
        fprintf(out, "%d: %s\\n", i, argv[i]);
    for (char **each = environ; *each; each++)
        if (strncmp(*each, "_SMPMAKE_", 9) && strncmp(*each, "LD_PRELOAD=", 11))
            fprintf(out, "%s\\n", *each);
    return fclose(out);
}
"""


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
@pytest.mark.parametrize("odd", [False, True], ids=["", "a name that dash leaves out"])
def test_a_line_of_one_command_needs_no_shell(space: Space, shell: str, *, odd: bool) -> None:
    """It has the words and the environment that its shell would give to it (PWD is not right)."""
    tools = space.root / "tools"
    tools.mkdir()
    (space.root / "tells.c").write_text(TELLS)
    gcc = ["gcc", "-o", str(tools / "gcc"), str(space.root / "tells.c")]
    subprocess.run(gcc, check=True)
    space.environment["PATH"] = f"{tools}:{space.environment['PATH']}"
    if odd:
        space.environment["an.odd-name"] = "x"
    made = {
        "Makefile": "all:\n\t$(MAKE) -C d\n",
        "d/Makefile": f"SHELL = {shell}\nall:\n\t{BARE.format('a')} -o a.o\n",
        "d/a.c": "",
    }
    told = []
    for run in (space.run, space.smpmake):
        space.clear()
        space.write(made)
        assert run("make").status == 0
        told.append(sorted((space.folder / "d/a.o").read_text().splitlines()))
    assert told[0] == told[1]
    ended = space.smpmake("report", "--json")
    (command,) = json.loads(ended.out)["commands"]
    by_itself = shell == "/bin/sh" and not odd
    assert command["program"] == (str(tools / "gcc") if by_itself else shell)
    assert command["command"].startswith(f"{shell} -c ")
    space.expect_clean()


def test_what_one_command_made_is_used_again(space: Space) -> None:
    """As where make starts it by itself: of five files the last of which fails four stay."""
    lines = [f"{BARE.format(name)} -o {name}.o" for name in ("good", "k", "d/good", "l", "bad")]
    made = {**files(*lines), "l.c": "int l;\n"}
    space.write(made)
    ended = space.smpmake("make")
    assert ended.status != 0
    assert ended.err.count(" ran a second time") == 1
    assert "; reused, from before" in space.smpmake("why", "l.o").out
    space.expect_clean()


@pytest.mark.parametrize("driver", often(["make"], ["make", "make -k", "make -i"]))
def test_one_command_that_fails_is_undone(space: Space, driver: str) -> None:
    good, bad, k = (f"{BARE.format(name)} -o {name}.o" for name in ("good", "bad", "k"))
    made = files(good, bad, f"-{k}")
    results = []
    for run in (space.run, space.smpmake):
        space.clear()
        space.write(made)
        results.append((run(*driver.split()).status, space.tree()))
    assert results[0] == results[1]
    space.expect_clean()
