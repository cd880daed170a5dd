"""A makefile that prints `  CC  x.o` prints that, when make comes to it, and nothing beside it."""

from __future__ import annotations

import re
import shutil
from collections import Counter

import pyte
import pytest

from tests.packages.fetch import cache_folder
from tests.support.held import Held
from tests.support.space import SMPMAKE, Space
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

#: automake's, with the dependency file where its makefiles have it.
AUTOMAKE = """\
V = 0
AM_V_CC = $(AM_V_CC_$(V))
AM_V_CC_0 = @echo "  CC      " $@;
AM_V_CCLD = $(AM_V_CCLD_$(V))
AM_V_CCLD_0 = @echo "  CCLD    " $@;
CC = gcc
OBJECTS = f0.o sub/f1.o w.o f2.o main.o
prog: $(OBJECTS)
\t@rm -f prog
\t$(AM_V_CCLD)$(CC) -o $@ $(OBJECTS)
.c.o:
\t$(AM_V_CC)depbase=`echo $@ | sed 's|[^/]*$$|.deps/&|;s|\\.o$$||'`;\\
\t$(CC) -Wall -MT $@ -MD -MP -MF $$depbase.Tpo -c -o $@ $< &&\\
\tmv -f $$depbase.Tpo $$depbase.Po
"""
#: The kernel's, which has a trap and a look at what was made.
KBUILD = """\
obj := f0.o sub/f1.o w.o f2.o main.o
cmd_cc = gcc -Wall -Wp,-MMD,$(@:.o=.d) -c -o $@ $<
cmd = @set -e; echo '  $(1)  $@'; $(cmd_cc)
prog: $(obj)
\t@set -e; echo '  LD      $@'; rm -f $@; gcc -o $@ $(obj)
\t@$(MAKE) --no-print-directory -C more
f%.o: f%.c
\t$(call cmd,CC    )
w.o: w.c
\t@set -e; echo '  CC      $@'; trap 'rm -f $@; exit' HUP; $(cmd_cc); rm -f w.d
main.o sub/f1.o: %.o: %.c
\t@printf '  %-7s %s\\n' CC $@ && $(cmd_cc) && echo "  built   $@"
"""
MORE = """\
all: n.o
\t@printf 'checked %s\\n' n.o
n.o: n.c
\t@echo "  CC      more/$@" && gcc -c $<
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.13)
project(p C)
add_executable(prog f0.c sub/f1.c w.c f2.c main.c)
target_compile_options(prog PRIVATE -Wall)
"""
SOURCES = {
    "f0.c": "int f0;\n",
    "sub/f1.c": "int f1;\n",
    "f2.c": "int f2;\n",
    "main.c": "int main(void) { return 0; }\n",
    "w.c": "int w;\n",
    ".deps/here": "",
    "sub/.deps/here": "",
    "more/n.c": "int n;\n",
    "more/Makefile": MORE,
}
WARNS = "int w(void) { int unused; return 0; }\n"
WRONG = "int w(void) { return oops; }\n"
#: A tool's complaint, and what is written around it.
MESSAGE = re.compile(r"\s*\|.*|w\.c: In.*|w\.c:\d.*|\s*\d+ \|.*|smpmake: .*|make: \*\*\*.*")


def files_of(form: str, source: str = SOURCES["w.c"]) -> dict[str, str]:
    makefile = {"automake": AUTOMAKE, "kbuild": KBUILD, "cmake": ""}[form]
    files = {**SOURCES, "w.c": source}
    return files | ({"Makefile": makefile} if makefile else {"CMakeLists.txt": CMAKE})


def prepare(space: Space, files: dict[str, str]) -> None:
    space.clear()
    space.write(files)
    if "CMakeLists.txt" in files:
        if shutil.which("cmake") is None:
            pytest.skip("no cmake")
        space.ok("cmake", "-G", "Unix Makefiles", ".")


def said(space: Space, through: str, *command: str) -> tuple[list[str], int]:
    """The lines on stdout (on a terminal: on stderr too), and the status."""
    if through == "terminal":
        terminal = Terminal(space, *command, SMPMAKE_STATUS="")
        status = terminal.finish()
        return terminal.seen.decode().replace("\r\n", "\n").splitlines(), status
    if through == "file":
        out = space.root / "out"
        ended = space.run("sh", "-c", f'exec "$@" > {out}', "sh", *command)
        return out.read_text().splitlines(), ended.status
    ended = space.run(*command)
    return ended.out.splitlines(), ended.status


def in_order(lines: list[str]) -> list[str]:
    """What make's order is kept of: what is said behind a compile comes when that has ended."""
    return [line for line in lines if not line.startswith("  built ")]


@pytest.fixture(params=["", "4.4.1"], ids=["make", "make-4.4"])
def make(request: pytest.FixtureRequest) -> str:
    """The system's make, and a newer one."""
    if not request.param:
        return "make"
    path = cache_folder() / "made" / f"make-{request.param}" / "make"
    if not path.exists():
        pytest.skip("make 4.4.1 is not built (tests/packages/test_jobservers.py builds it)")
    return str(path)


@pytest.mark.parametrize("through", ["terminal", "pipe", "file"])
@pytest.mark.parametrize("form", ["automake", "kbuild", "cmake"])
def test_what_a_makefile_prints_is_what_is_seen(
    space: Space, make: str, form: str, through: str
) -> None:
    files = files_of(form)
    prepare(space, files)
    plain, _ = said(space, through, make)
    tree = space.tree()
    prepare(space, files)
    ours, status = said(space, through, SMPMAKE, "-q", "--", make)
    ours = [line for line in ours if not re.match(r"(\x1b\[1m)?smpmake: built in ", line)]
    assert status == 0
    if form != "cmake":  # its own files tell when they were made
        assert space.tree() == tree
    assert len(plain) >= 6
    assert in_order(ours) == in_order(plain)
    assert Counter(ours) == Counter(plain)
    space.expect_clean()


@pytest.mark.parametrize("form", ["automake", "kbuild", "cmake"])
def test_and_in_the_order_of_the_serial_build_with_its_warnings(space: Space, form: str) -> None:
    files = files_of(form, WARNS)
    prepare(space, files)
    plain = space.run("sh", "-c", "make 2>&1").out
    prepare(space, files)
    ours = space.run("sh", "-c", f"{SMPMAKE} -q --output-sync=serial make 2>&1").out
    assert "unused" in plain
    assert re.sub("(?m)^smpmake: .*\n", "", ours) == plain


@pytest.fixture
def held(space: Space) -> Held:
    return Held(space)


@pytest.mark.parametrize("form", ["automake", "kbuild"])
def test_it_is_printed_when_make_comes_to_it(held: Held, form: str) -> None:
    """The compile of the first has not ended when the last is named."""
    makefile = (
        files_of(form)["Makefile"]
        .replace("gcc -", "gcc -Dheld -")
        .replace("= gcc\n", "= gcc -Dheld\n")
    )
    held.space.write({**files_of(form), "Makefile": makefile})
    process = held.start("-j4", "make", "f0.o", "f2.o", "main.o")
    assert process.stdout is not None
    lines = [process.stdout.readline().split() for _ in range(3)]
    assert lines == [[b"CC", b"f0.o"], [b"CC", b"f2.o"], [b"CC", b"main.o"]]
    assert not (held.space.folder / "f0.o").exists()
    held.release(process)
    assert held.space.finish(process).status == 0


@pytest.mark.parametrize("option", ["", "-s"])
@pytest.mark.parametrize("through", ["terminal", "pipe"])
@pytest.mark.parametrize("form", ["automake", "kbuild"])
def test_a_warning_comes_later_below_the_name_of_its_compile(
    space: Space, form: str, through: str, option: str
) -> None:
    files = files_of(form, WARNS)
    prepare(space, files)
    plain = space.run("make").out.splitlines()
    prepare(space, files)
    command = ["sh", "-c", f"{SMPMAKE} -q make {option} 2>&1"]
    lines, status = said(space, through, *command)
    assert status == 0
    ours = [re.sub(r"\x1b\[\d*[mK]|\x1b\[\d+;\d+m", "", line) for line in lines]
    told = [line for line in ours if line.strip() and not MESSAGE.fullmatch(line)]
    assert Counter(told) == Counter(plain)
    (head,) = [line for line in ours if line.startswith("smpmake: gcc")]
    assert head.startswith("smpmake: gcc ") and " -c -o w.o w.c" in head
    assert len(head) < 80
    assert ours[ours.index(head) + 1].startswith("w.c: In function")
    assert "/bin/sh" not in "\n".join(ours)


def test_a_folder_is_named_as_its_make_names_it(held: Held) -> None:
    top = "all:\n\t@$(MAKE) -C sub\n\t@touch after\n"
    sub = "all:\n\t@echo '  CC  w.o'; gcc -Dheld -Wall -c w.c\n"
    held.space.write({"Makefile": top, "sub/Makefile": sub, "sub/w.c": WARNS})
    process = held.start("sh", "-c", "make 2>&1")
    while not (held.space.folder / "after").exists():
        assert process.poll() is None
    held.release(process)
    out = held.space.finish(process).out.splitlines()
    folder = f"directory '{held.space.folder}/sub'"
    assert out[:3] == [f"make[1]: Entering {folder}", "  CC  w.o", f"make[1]: Leaving {folder}"]
    assert out[3:5] == [f"make[1]: Entering {folder}", "smpmake: gcc -Dheld -Wall -c w.c"]
    assert out[-1] == f"make[1]: Leaving {folder}"


@pytest.mark.parametrize("flags", ["", "-k"])
def test_a_failing_build_says_what_plain_make_says(held: Held, flags: str) -> None:
    """Each line once, although make has run twice, and what it did behind the failure."""
    space = held.space
    makefile = AUTOMAKE.replace("CC = gcc", "CC = gcc -Dheld")
    files = {**files_of("automake", WRONG), "Makefile": makefile}
    prepare(space, files)
    plain = space.run("make", *flags.split())
    prepare(space, files)
    process = held.start("make", *flags.split())
    held.let_go_when_stuck(process)
    ours = space.finish(process)
    assert ours.status == plain.status == 2
    lines = ours.out.splitlines()
    assert len(lines) == len(set(lines)), lines
    assert [line for line in lines if line in plain.out] == plain.out.splitlines()
    told = [line for line in ours.err.splitlines() if not line.startswith("smpmake: ")]
    assert told == plain.err.splitlines()
    again, last = ours.err.splitlines()[-2:]
    assert re.fullmatch(
        r"smpmake: make ran a second time \(.*\) to stop at the failure as plain make does", again
    )
    assert re.match(r"smpmake: make failed, status 2: gcc w\.o \(\d", last), last


LOUD = """\
all: sub prog
prog: f0.o f2.o w.o main.o
\tgcc -o $@ $^
%.o: %.c
\tgcc -Wall -c -o $@ $<
sub:
\t$(MAKE) -C more
.PHONY: sub
"""


@pytest.mark.parametrize("through", ["terminal", "pipe", "file"])
def test_a_make_that_is_run_again_says_nothing_twice(held: Held, through: str) -> None:
    space = held.space
    files = {**files_of("automake", WRONG), "Makefile": LOUD}
    prepare(space, files)
    plain, status = said(space, through, "make")
    prepare(space, files)
    ours, our_status = said(space, through, SMPMAKE, "make")
    assert our_status == status == 2
    own = [line for line in ours if line.startswith(("smpmake: ", "\x1b[1;31m", "         "))]
    lines = [line for line in ours if line not in own]
    behind = ["gcc -Wall -c -o main.o main.c", "gcc -o prog f0.o f2.o w.o main.o"]
    assert Counter(line for line in lines if line not in behind) == Counter(plain)


def test_a_warning_of_a_run_that_is_undone_is_shown_once(held: Held) -> None:
    """make comes to its compile again, and what that says is said already."""
    space = held.space
    makefile = "all:\n\t@echo CC w; gcc -Wall -c w.c\n\t@cat w.o > old\n"
    makefile += "\t@echo CC bad; gcc -Dheld -c bad.c || echo none > bad.o\n\t@: > after\n"
    space.write({"Makefile": makefile, "w.c": WARNS, "bad.c": "int x = oops;\n"})
    process = held.start("make")
    held.let_go_when_stuck(process)
    ended = space.finish(process)
    assert ended.status == 0 and " ran a second time" in ended.err
    assert ended.out.splitlines().count("CC w") == 1
    assert ended.err.count("unused variable") == 1


@pytest.mark.parametrize("option", ["--output-sync=live", "--output-sync=serial"])
def test_what_is_said_behind_a_compile_is_said_when_it_has_succeeded(
    held: Held, option: str
) -> None:
    makefile = "all:\n\t@echo CC $@; gcc -Dheld -c w.c && echo made\n\t@touch after\n"
    space = held.space
    space.write({"Makefile": makefile, "w.c": WRONG})
    process = held.start(option, "make")
    held.let_go_when_stuck(process)
    ended = space.finish(process)
    assert ended.status == 2
    assert "CC all" in ended.out and "made" not in ended.out.split()
    space.write({"w.c": SOURCES["w.c"]})
    process = held.start(option, "make")
    held.let_go_when_stuck(process)
    assert space.finish(process).out == "CC all\nmade\n"


@pytest.mark.parametrize("text", ["echo 'a\\tb'", "printf '%d\\n' 7", "echo -n x", "echo $$HOME"])
def test_what_shells_print_differently_is_printed_by_the_shell(space: Space, text: str) -> None:
    space.write({"Makefile": f"all:\n\t@{text}; gcc -c w.c\n\t@echo end\n", "w.c": "int w;\n"})
    plain = space.run("make")
    (space.folder / "w.o").unlink()
    ended = space.smpmake("-q", "make")
    assert ended.out == plain.out
    assert (space.folder / "w.o").exists()


def test_a_traced_line_and_redirected_echoes_are_what_they_are(space: Space) -> None:
    recipe = "\t@set -x; echo traced; gcc -c w.c\n\t@echo to a file > log; gcc -c w.c\n"
    recipe += "\t@echo to stderr >&2; gcc -c w.c\n\t@test -f none || echo none; gcc -c w.c\n"
    space.write({"Makefile": f"all:\n{recipe}", "w.c": "int w;\n"})
    plain = space.run("make")
    tree = space.tree()
    ended = space.smpmake("-q", "make")
    assert ended.out == plain.out
    assert ended.err.splitlines()[:-1] == plain.err.splitlines()
    assert space.tree() == tree


def screen_of(space: Space, script: str) -> list[str]:
    """What a person sees on a terminal of 80 columns."""
    terminal = Terminal(space, SMPMAKE, "-q", "sh", "-c", script, SMPMAKE_STATUS="")
    assert terminal.finish() == 0
    screen = pyte.Screen(80, 24)
    pyte.ByteStream(screen).feed(terminal.seen)
    return [line.rstrip() for line in screen.display]


@pytest.mark.parametrize("open_line", ["checking... ", ""])
def test_p8_a_message_begins_a_line_on_a_terminal(held: Held, open_line: str) -> None:
    """Also behind a line of the driver's that has no end; and no line is left empty for it."""
    space = held.space
    space.write({"w.c": WARNS})
    script = f"gcc -Wall -c w.c; printf '{open_line}'; cat w.o > /dev/null"
    lines = screen_of(space, script)
    expected = [open_line.strip()] if open_line else []
    assert lines[: len(expected) + 1] == [*expected, "smpmake: gcc -Wall -c w.c"]
    assert lines[len(expected) + 1].startswith("w.c: In function")


@pytest.mark.parametrize("open_line", ["checking... ", "checked\\n"])
def test_p8_and_behind_the_open_line_of_a_recipe(space: Space, open_line: str) -> None:
    """Into a pipe it is known what smpmake itself has printed."""
    space.write({"w.c": WARNS, "Makefile": f"all:\n\t@printf '{open_line}'; gcc -Wall -c w.c\n"})
    out = space.run("sh", "-c", f"{SMPMAKE} -q make 2>&1").out.splitlines()
    assert out[:2] == [open_line.removesuffix("\\n"), "smpmake: gcc -Wall -c w.c"]
