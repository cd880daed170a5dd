"""What a recipe's line means as a whole: what its commands read and write together."""

from __future__ import annotations

import sys

import pytest

from smpmake.commands.generators.libtool import compile_of
from smpmake.commands.model import Analysis, Invocation, Kind, Reason
from smpmake.commands.reading import lines
from smpmake.commands.units import units
from tests.commands.disk import FakeFiles, meaning

HEAD = """#! /bin/bash
# ### BEGIN LIBTOOL CONFIG
macro_version=2.4.6
build_libtool_libs={}
build_old_libs={}
pic_mode=default
objdir=.libs
compiler_c_o="yes"
# ### END LIBTOOL CONFIG
"""
FILES = FakeFiles(
    {
        "a.c": "",
        "libtool": HEAD.format("yes", "yes"),
        "shared/libtool": HEAD.format("yes", "no"),
        "static/libtool": HEAD.format("no", "yes"),
        "other/libtool": "#!/bin/sh\n",
        "locks/libtool": HEAD.format("yes", "yes").replace('c_o="yes"', 'c_o="no"'),
        "new/libtool": HEAD.format("yes", "yes").replace("2.4.6", "3.0"),
    },
    ["sub", ".libs", "sub/.libs"],
)


def of(text: str, /, **env: str) -> Analysis:
    return meaning(["/bin/sh", "-c", text], FILES, env)


def kept(found: Analysis) -> list[str]:
    return [write.path for write in found.writes if not write.removed]


def gone(found: Analysis) -> list[str]:
    return [write.path for write in found.writes if write.removed]


def test_a_line_is_all_that_its_commands_are() -> None:
    found = of("rm -f a.o b && gcc -MMD -MF a.Tpo -c a.c -o a.o && mv -f a.Tpo a.Po")
    assert (found.kind, found.refusal, found.tool) == (Kind.COMPILE, None, "gcc")
    assert found.reads == ("a.c",)
    assert kept(found) == ["a.o", "a.Po"]
    assert gone(found) == ["b", "a.Tpo"]
    assert [write.path for write in found.writes if write.target] == ["a.o"]
    assert all(write.timed for write in found.writes if not write.removed)
    assert found.undeclared


def test_what_is_elsewhere_is_named_from_here() -> None:
    found = of("cd sub && gcc -I../inc -I/usr/x -c ../a.c -o b.o && mv b.o /tmp/b.o")
    assert found.reads == ("sub/../a.c",)
    assert (kept(found), gone(found)) == (["/tmp/b.o"], ["sub/b.o"])
    assert {"sub/../inc", "/usr/x"} <= set(found.search)


@pytest.mark.parametrize(
    "text",
    [
        "gcc -c a.c && make",
        "mkdir -p none && gcc -c a.c",
        "mkdir -p sub none; gcc -c a.c",
        "mkdir sub; gcc -c a.c",
        "gcc -c a.c && gcc -c b.c",
        "gcc a.c -o a -c -o b -x",
        "gcc a.c -o prog",
        "gcc -c a.c b.c",
        "gcc -c a.c && ./a.o",
        "gcc -c a.c && cp a.o b.o",
        "gcc -c a.c && touch a.stamp",
        "gcc -c a.c && mv other.o b.o",
        "gcc -c a.c && mv a.o other.o sub",
        "gcc -c a.c && mv -u a.o b.o",
        "gcc -c a.c && mv -n a.o b.o",
        "gcc -c a.c && mv -b a.o b.o",
        "gcc -c -o a.o - && rm b",
        "gcc -c a.c -o /dev/null",
        "gcc -E a.c -c",
        "rm -rf sub && gcc -c a.c",
        "rm -f a.c && gcc -c a.c",
        "mv x a.c && gcc -c a.c",
        "echo gcc -c a.c",
        "gcc -c a.c @response",
        "gcc --version -c",
        "set -x; gcc -c a.c",
        "eval gcc -c a.c",
        "exec gcc -c a.c",
        "./gcc.sh -c a.c",
        "gcc -c conftest.c",
    ],
)
def test_with_anything_else_in_it_it_is_not_understood(text: str) -> None:
    assert of(text).refusal is not None


PRINTS = {
    "nm -a a.o | awk -f p.awk > a.sym": (["a.o", "p.awk"], ["a.sym"]),
    "nm a.o b.o | sort | uniq > syms": (["a.o", "b.o"], ["syms"]),
    "sed s/a/b/ < a.d > a.P": (["a.d"], ["a.P"]),
    "cat a.o - < a.d > a.P": (["a.d", "a.o"], ["a.P"]),
    "rm -f a.P && sed s/a/b/ < a.d > t && mv t a.P": (["a.d"], ["a.P"]),
    "set -e; echo ' GEN'; cat a.d | tr x y > t; sort t > u": (["a.d"], ["t", "u"]),
    "cat a.d | grep -v '^#' | sed -n 1p > t": (["a.d"], ["t"]),
    "grep -f list a.d | cut -c 2 > t": (["a.d", "list"], ["t"]),
    "echo a | cat - a.d > t": (["a.d"], ["t"]),
    "cd sub && objdump -d ../a.o | head -3 > t": (["sub/../a.o"], ["sub/t"]),
}


@pytest.mark.parametrize("text", PRINTS)
def test_what_prints_through_pipes_reads_what_all_of_it_reads(text: str) -> None:
    texts = {"p.awk": "# a > b | c\n{ print $3 }\n", "list": "x\n", "a.d": "", "a.o": ""}
    found = meaning(["/bin/sh", "-c", text], FakeFiles(texts, ["sub"]))
    reads, writes = PRINTS[text]
    assert found.refusal is None
    assert found.kind is Kind.INSPECT
    assert (sorted(found.reads), [w for w in kept(found) if w in writes]) == (sorted(reads), writes)


@pytest.mark.parametrize(
    "text",
    [
        "nm a.o | awk '{ print > \"x\" }' > t",
        "nm a.o | awk '{ system(\"x\") }' > t",
        "nm a.o | grep T > t",
        "nm a.o | uniq - x > t",
        "nm a.o | sort -o x > t",
        "nm a.o | tee x > t",
        "nm a.o | ./uniq > t",
        "tools/nm a.o | sort > t",
        "./gcc -c a.c",
        "../bin/gcc -c a.c && mv a.o b.o",
        "nm a.o | xargs cat > t",
        "nm a.o | sed -i s/a/b/ x > t",
        "nm a.o | sort",
        "sort > t",
        "grep x > t",
        "./nm a.o | ./fixdep x y > t",
        "cat a.o | gcc -c -x c - -o b.o",
        "gcc -E a.c | sed s/a/b/ > t",
        "gcc -c a.c && nm a.o | sort > t",
        "nm a.o | sort > t && gcc -c a.c",
        "cd sub | nm a.o > t",
        "nm a.o | while read x > t",
        "nm a.o > /dev/stdout",
        "nm a.o | sort > /dev/null",
        "ar t a.a | ar r b.a > t",
    ],
)
def test_nothing_else_is_one_that_prints(text: str) -> None:
    assert of(text).refusal is not None


@pytest.mark.parametrize("name", ["ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT"])
def test_nor_by_a_shell_that_reads_more(name: str) -> None:
    assert of("gcc -c a.c").refusal is None
    assert of("gcc -c a.c", **{name: "x"}).refusal is Reason.RECIPE
    call = "bash libtool --mode=compile gcc -c -o x.lo a.c"
    assert meaning(call, FILES, {name: "x"}).refusal is Reason.RECIPE


def test_without_its_grammar_only_plain_lines_are_understood(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_bash", None)
    lines.grammar.cache_clear()
    assert of('x=a; gcc -c "$x.c"').refusal is Reason.RECIPE
    assert of("x=a; gcc -c '-DX=a b' $x.c").refusal is None
    monkeypatch.undo()
    lines.grammar.cache_clear()
    assert of('x=a; gcc -c "$x.c"').refusal is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gcc -c a.c", ("gcc", "-c", "a.c")),
        (" gcc\t-c  a.c ", ("gcc", "-c", "a.c")),
        ("/usr/bin/gcc -DX=1 -I. -c -o o/a.o a.c", None),
        ("gcc '-DX=a b' -DY=\\\"y\\\" -c a.c", ("gcc", "-DX=a b", '-DY="y"', "-c", "a.c")),
        ("gcc -c `test -f 'a.c' || echo './'`a.c", ("gcc", "-c", "a.c")),
        ("rm -f a.o b.o && gcc -c a.c", ()),
        ("gcc -c a.c && rm -f b.o", ()),
        ("gcc -c a.c;", ()),
        ("set -e; gcc -c a.c", ()),
        ("true && gcc -c a.c", ()),
        ("cd sub && gcc -c ../a.c", ()),
        ("mkdir -p sub && gcc -c a.c", ()),
        ("x=a.c; gcc -c $x", ()),
    ],
)
def test_a_line_of_one_command_is_known_as_such(text: str, words: tuple[str, ...] | None) -> None:
    found = of(text)
    assert found.refusal is None
    assert found.only == (tuple(text.split()) if words is None else words)


@pytest.mark.parametrize(
    "text",
    [
        *("gcc -c a.c", "gcc  -c\ta.c -o a.o ", "time gcc -c a.c", "exec gcc -c a.c", "if", "fi x"),
        *("CC=gcc make", "gcc", "./gcc -c a.c", "cd sub", "set -e", "true", "true x", "echo a.c"),
        *("mkdir -p sub", "mkdir -p other", "rm -f a.o", "mv a.c b.c", "%1 a", "1 -c a.c"),
        *("gcc -c a=b.c", ". ./gcc -c a.c", "gcc -c -", "function gcc -c a.c", "gcc 2 -c a.c"),
    ],
)
def test_plain_words_mean_what_the_grammar_says(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = of(text)
    monkeypatch.setattr(lines, "statements", lambda text: None)
    assert of(text) == found
    assert of(text, **{"BASH_FUNC_gcc%%": "() { :; }"}).refusal is not None


def test_a_shell_that_is_given_more_than_a_text_is_not_understood() -> None:
    for words in (["-ec", "gcc -c a.c"], ["-c"], ["-c", "gcc -c a.c", "more"], ["script"], []):
        assert meaning(["/bin/sh", *words], FILES).refusal is Reason.RECIPE


@pytest.mark.parametrize(
    ("call", "made"),
    [
        ("./libtool --mode=compile gcc -c -o x.lo a.c", None),
        ("libtool --mode=compile gcc -c -o x.lo a.c", None),
        ("bash libtool --mode=compile gcc -c -o x.lo a.c", ["x.lo", "x.o", ".libs/x.o"]),
        (
            "sh libtool --tag=CC --silent --mode compile gcc -c -o x.lo a.c",
            ["x.lo", "x.o", ".libs/x.o"],
        ),
        (
            "sh libtool --mode=compile gcc -c -o sub/x.lo a.c",
            ["sub/x.lo", "sub/x.o", "sub/.libs/x.o"],
        ),
        (
            "sh libtool --mode=compile gcc -c -o none/x.lo a.c",
            ["none/x.lo", "none/x.o", "none/.libs/x.o"],
        ),
        (
            "sh libtool --mode=compile gcc -MD -MF d -c -o x.lo a.c",
            ["x.lo", "x.o", ".libs/x.o", "d"],
        ),
        ("sh libtool --mode=compile gcc -static -c -o x.lo a.c", ["x.lo", "x.o"]),
        ("sh libtool --mode=compile gcc -shared -c -o x.lo a.c", ["x.lo", ".libs/x.o"]),
        ("sh shared/libtool --mode=compile gcc -c -o x.lo a.c", ["x.lo", ".libs/x.o"]),
        ("sh static/libtool --mode=compile gcc -c -o x.lo a.c", ["x.lo", "x.o"]),
        ("sh static/libtool --mode=compile gcc -shared -c -o x.lo a.c", None),
        ("sh other/libtool --mode=compile gcc -c -o x.lo a.c", None),
        ("sh locks/libtool --mode=compile gcc -c -o x.lo a.c", None),
        ("sh new/libtool --mode=compile gcc -c -o x.lo a.c", None),
        ("sh none/libtool --mode=compile gcc -c -o x.lo a.c", None),
        ("sh libtool --mode=compile gcc -c a.c", None),
        ("sh libtool --mode=compile gcc -c -o x.o a.c", None),
        ("sh libtool --mode=link gcc -c -o x.lo a.c", None),
        ("sh libtool --tag=disable-shared --mode=compile gcc -c -o x.lo a.c", None),
        ("sh libtool --dry-run --mode=compile gcc -c -o x.lo a.c", None),
        ("sh libtool --mode=compile gcc -prefer-pic -c -o x.lo a.c", None),
        ("sh libtool --mode=compile gcc -Wc,-O2 -c -o x.lo a.c", None),
        ("sh libtool --mode=compile nasm -c -o x.lo a.c", None),
        ("sh libtool --mode=compile", None),
    ],
)
def test_libtool(call: str, made: list[str] | None) -> None:
    for words in (call.split(), ["/bin/sh", "-c", f"{call} && echo"]):
        if made is None or words[0] == "sh":
            found = meaning(words, FILES)
            assert (kept(found) if found.refusal is None else None) == made
            assert made is None or (gone(found), found.tool) == ([f"{made[0]}T"], "gcc")
            within = [path[: -len("/x.o")] for path in made or () if "/.libs/" in f"/{path}"]
            assert made is None or list(found.folders) == within


def test_what_a_line_compiles() -> None:
    no_variables: dict[str, str] = {}

    def of(*words: str) -> list[tuple[str, str, str]]:
        found = units(Invocation(words, "/build", no_variables.get, FILES))
        return [(unit.folder, unit.source, unit.output) for unit in found]

    assert of("sh", "-c", "cd sub && gcc -c ../a.c -o b.o") == [("sub", "../a.c", "b.o")]
    call = "sh libtool --mode=compile gcc -static -c -o x.lo a.c"
    assert of(*call.split()) == [("", "a.c", "x.lo")]
    assert of("sh", "-c", "gcc -c *.c") == []
    found = compile_of(tuple(call.split()))
    assert found is not None
    assert found.command == ("gcc", "-c", "-o", "x.lo", "a.c")
