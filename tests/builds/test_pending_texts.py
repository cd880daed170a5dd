"""What a command means may depend on files that are pending: plain make is the oracle (P1, P7).

Each question that an analysis asks of the disk, with each kind of writer before it.
"""

from __future__ import annotations

import itertools
import re
import shutil

import pytest

from tests.support.held import Held
from tests.support.space import Ended, Space, words
from tests.support.variants import often

MAKES = "gcc -E -P -x c -Dheld"

#: Recipes that leave a file N pending, made of N.new.
WRITERS = {
    "made": ["{make} N.new -o N"],
    "made and removed": ["{make} N.new -o N", "rm -f N"],
    "moved": ["{make} N.new -o N.t", "mv -f N.t N"],
    "moved away": ["{make} N.new -o N", "mv -f N away"],
    "copied": ["{make} N.new -o N.t", "cp N.t N"],
    "hard link": ["{make} N.new -o N.t", "ln -f N.t N"],
    "symbolic link": ["{make} N.new -o N.t", "ln -sf N.t N"],
    "printed": ["{make} N.new -o N.t", "sed s/q/q/ N.t > N"],
    "printed by a pipe": ["{make} N.new -o N.t", "cat N.t | sed s/q/q/ > N"],
    "printed by an unknown tool": ["{make} N.new -o N.t", "tac N.t > N"],
    "touched if it is there": ["{make} N.new -o N", "rm -f N", "touch -c N"],
    "in a line": ["{make} N.new -o N.t && mv -f N.t N"],
    "over a hard link": ["{make} N.new -o N.t", "ln -f N.old N || :", "cp N.t N || :"],
}
#: Questions: what is asked for (N), what it is made of, what it was before, and who asks.
QUESTIONS = {
    "automake's, out of its tree": (
        "x.c",
        "int made;",
        "int older;",
        ["gcc -c -o t.o `test -f 'x.c' || echo 'src/'`x.c"],
    ),
    "automake's, in its tree": (
        "x.c",
        "const char *f = __FILE__;",
        "const char *f = __FILE__ __FILE__;",
        ["gcc -c -o t.o `test -f 'x.c' || echo './'`x.c"],
    ),
    "automake's, with dependencies": (
        "x.c",
        "int made;",
        "int older;",
        [
            "gcc -MD -MF t.Tpo -c -o t.o `test -f 'x.c' || echo 'src/'`x.c && mv t.Tpo t.Po",
        ],
    ),
    "a response file": ("x.rsp", "-DN=1 k.c -o k1.o", "-DN=2 k.c -o k2.o", ["gcc -c @x.rsp"]),
    "a linker's response file": (
        "x.rsp",
        "-Map=one.map",
        "-Map=two.map",
        ["gcc -c k.c", "gcc -shared -o k.so k.o -Wl,@x.rsp"],
    ),
    "a script of sed's": ("x.sed", "s/int/long/", "w other", ["sed -f x.sed k.c > k.out"]),
    "a copy over it": ("x.c", "int made;", "int older;", ["cp k.c x.c", "gcc -c x.c"]),
    "a link to it": ("x.c", "int made;", "int older;", ["ln -s x.c l.c", "gcc -c l.c"]),
    "a Fortran source": ("x.f90", "module one; end", "module two; end", ["gfortran -c x.f90"]),
    "a Fortran include": (
        "x.inc",
        "use one",
        "use two",
        ["gfortran -c o.f90 t.f90 && gfortran -Isrc -c u.f90"],
    ),
    "a header before another": (
        "x.h",
        "int made;",
        "int older;",
        ["gcc -I. -Isrc -c h.c", "cp x.h src/x.h"],
    ),
    "a folder of that name": ("x.d", "one", "two", ["mkdir -p x.d && gcc -c k.c || echo no > no"]),
}
SOURCES = {
    "k.c": "int k;\n",
    "h.c": '#include "x.h"\nint n;\n',
    "o.f90": "module one\ninteger :: a\nend module\n",
    "t.f90": "module two\ninteger :: a\nend module\n",
    "u.f90": "subroutine u\ninclude 'x.inc'\nend subroutine\n",
}
SOME = {
    ("automake's, out of its tree", "made", False),
    ("automake's, out of its tree", "made and removed", True),
    ("automake's, in its tree", "printed", False),
    ("automake's, out of its tree", "touched if it is there", True),
    ("automake's, with dependencies", "moved", False),
    ("a response file", "copied", True),
    ("a script of sed's", "moved", True),
    ("a Fortran include", "made", True),
    ("a copy over it", "made and removed", True),
}
CASES = {
    f"{question}: {writer}, {'with' if older else 'without'} an older one": (
        question,
        writer,
        older,
    )
    for question, writer, older in itertools.product(QUESTIONS, WRITERS, (True, False))
}


def files(question: str, writer: str, *, older: bool) -> dict[str, str]:
    name, made, before, ask = QUESTIONS[question]
    recipe = [line.replace("{make}", MAKES).replace("N.", f"{name}.") for line in WRITERS[writer]]
    recipe = [re.sub(r"\bN\b(?!\.)", name, line) for line in recipe]
    lines = "".join(f"\t-{line}\n" for line in (*recipe, *ask, ": > after"))
    laid = {**SOURCES, f"{name}.new": f"{made}\n", f"src/{name}": f"{before}\n"}
    if older:
        laid |= {name: f"{before}\n", f"{name}.old": f"{before}\n"}
    return {**laid, "Makefile": f"all:\n{lines}"}


@pytest.fixture
def held(space: Space) -> Held:
    return Held(space)


def check(held: Held, made: dict[str, str]) -> Ended:
    status, serial = held.serial(made, ["make"])
    held.space.clear()
    held.space.write(made)
    process = held.start(*words([], ["make"]))
    held.let_go_when_stuck(process)
    ended = held.space.finish(process)
    assert held.tree() == serial, ended.err
    assert ended.status == status, ended.err
    if "(ignored)" not in ended.err:
        assert "undone" not in ended.err, ended.err
    held.space.expect_clean()
    return ended


@pytest.mark.slow
@pytest.mark.parametrize("case", often({n for n, c in CASES.items() if c in SOME}, CASES))
def test_p1_a_question_about_what_is_pending(held: Held, case: str) -> None:
    question, writer, older = CASES[case]
    if "Fortran" in question and not shutil.which("gfortran"):
        pytest.skip("gfortran is not installed")
    check(held, files(question, writer, older=older))


@pytest.mark.slow
@pytest.mark.parametrize("writer", ["made", "moved", "copied", "printed"])
@pytest.mark.parametrize("question", [q for q in QUESTIONS if q.startswith("automake's")])
def test_automakes_form_is_one_command_where_its_source_is_pending(
    held: Held, question: str, writer: str
) -> None:
    """It goes on behind what is pending: nothing waits, and nothing is in place."""
    ended = check(held, files(question, writer, older=False))
    assert "0 in place" in ended.err, ended.err
