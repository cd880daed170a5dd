"""A recipe's line is what a shell makes of it: its commands and their words, or nothing is said."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from smpmake.commands.reading import lines
from smpmake.commands.reading.line_words import NotUnderstoodError
from smpmake.commands.reading.lines import read
from smpmake.commands.reading.plain_lines import statements
from smpmake.disk.paths import FolderFiles
from tests.support.variants import often

STUB = """#!/bin/sh
end='
'
printf '%s\\0' "$(pwd)" "${0##*/}" "$@" "$end" >> "$LOG"
"""
SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]

UNDERSTOOD = [
    "gcc -c a.c",
    'gcc -DX=\\"y\\ z\\" \'-DY=a b\' -D"Z=$x" -c a.c'.replace("$x", "q"),
    "gcc -c a.c && mv -f a.Tpo a.Po",
    "gcc -c a.c &&\\\n mv -f a.Tpo a.Po",
    "echo '  CC   a.o'; gcc -c a.c -o a.o",
    'echo "  CC   a.o" && gcc -c a.c',
    "set -e; rm -f a.o; gcc -c a.c; mv a.o b.o",
    "cd sub && gcc -c ../a.c",
    "cd sub; gcc -c ../a.c -o ../a.o",
    "mkdir -p sub && cd sub && mkdir -p ../sub; gcc -c a.c",
    "printf '%s\\n' CC; gcc -c a.c",
    "printf '  %-7s|%3s%%\\t%s\\n' CC a.o \"b c\"; gcc -c a.c",
    "printf '\\033[32mCC\\033[0m a.o\\r\\n' && gcc -c a.c",
    "set -e; echo '  CC  a.o';  gcc -c a.c; echo; echo  made   \"a  o\"",
    'base=sub/a; echo "  CC  $base.o" $base; gcc -c $base.c && echo $base.o',
    "echo `test -f 'no.c' || echo '../src/'`a.o; gcc -c `test -f 'a.c' || echo './'`a.c",
    "printf 'checking... '; gcc -c a.c",
    'base=sub/a; gcc -c $base.c -MF ${base}.Tpo && mv $base.Tpo "$base.Po"',
    "depbase=`echo sub/a.lo | sed 's|[^/]*$|.deps/&|;s|\\.lo$||'`;\\\ngcc -MF $depbase.Tpo -c a.c",
    "depbase=`echo a.o | sed 's|[^/]*$|.deps/&|;s|\\.o$||'`; gcc -MF $depbase.Tpo -c a.c",
    "gcc -c -o x-a.o `test -f 'a.c' || echo './'`a.c",
    "gcc -c -o x-a.o `test -f 'none.c' || echo '../src/'`none.c",
    "gcc -c -o x-a.o `test -f 'sub' || echo '../src/'`sub",
    "true; : nothing; gcc -c a.c",
    "gcc\t-c  a.c ;",
    "gcc -DS='it'\\''s' -c a.c",
    'gcc -DX="a\\"b\\\\c\\`" -c a.c',
    "gcc -D'A(x)=x' -c a.c",
    "/bin/bash ./libtool --mode=compile gcc -c -o a.lo a.c",
]
#: What must not be taken for what it looks like.
NOT = [
    "x=1 gcc -c a.c",
    "x=1 y=2; gcc -c a.c",
    "gcc -c a\\\n.c",
    "gcc -c a.c &&",
    "gcc -c a.c;; gcc -c b.c",
    "&& gcc -c a.c",
    "x=; gcc -c a.c $x",
    "x=''; gcc -c a.c $x",
    "PATH=sub; gcc -c a.c",
    "exported=sub; gcc -c a.c",
    "gcc -c `test -f 'a.c' || echo './'`",
    "gcc -c *.c",
    "gcc -c a.[ch]",
    "gcc -c ~/a.c",
    "gcc -c {a,b}.c",
    "gcc -c $(SRC)",
    "gcc -c `cat list`",
    "gcc -c $SRC",
    'gcc -c "$SRC"',
    "gcc -c a.c || true",
    "gcc -c a.c; mv a.Tpo a.Po",
    "set -e; gcc -c a.c && mv a.o b.o; rm c",
    "set -e; gcc -c a.c && echo made; rm c",
    "gcc -c a.c && set -e; rm c",
    "set -e; gcc -c a.c && true; rm c",
    "gcc -c a.c &",
    "gcc -c a.c 2>&1",
    "gcc -c a.c > log 2>&1",
    "gcc -c a.c >> log",
    "gcc -c a.c > *.log",
    "gcc -c a.c > log more",
    "gcc -c a.c 2> log",
    "gcc -c a.c2> log",
    "gcc -c a.c 2\\\n> log",
    "gcc -c a.c> log",
    "gcc -c a.c > one > other",
    "gcc < a.c < b.c",
    "gcc -c a.c > log | mv",
    "gcc | mv < a.c",
    "gcc > '|'",
    "gcc | CC=x mv",
    "gcc | { mv; }",
    "gcc | (mv)",
    "! gcc | mv",
    "gcc | mv &",
    "gcc << a.c",
    "> log",
    "x=y > log",
    "gcc | if mv; then rm; fi",
    "gcc > log; rm log",
    "gcc -c a.c # with a comment",
    "(gcc -c a.c)",
    "{ gcc -c a.c; }",
    "if test -f a.c; then gcc -c a.c; fi",
    "for i in a b; do gcc -c $i.c; done",
    "! gcc -c a.c",
    "CC=x gcc -c a.c",
    "PATH=.; gcc -c a.c",
    "IFS=x; gcc -c a.c",
    "HOME=x; gcc -c a.c",
    "exported=x; gcc -c a.c",
    "x=; gcc -c a.c $x",
    "x='a b'; gcc -c $x",
    "x='*'; gcc -c $x",
    "gcc -c a.c\nmv a.o b.o",
    "gcc -c a.c &&\nmv a.o b.o",
    "cd none && gcc -c a.c",
    "cd sub/../sub && gcc -c a.c",
    "cd - && gcc -c a.c",
    "cd && gcc -c a.c",
    "f() { :; }; gcc -c a.c",
    "gcc -c a.c <<< x",
    "gcc -c $'a.c'",
    'gcc -c $"a.c"',
    "gcc -c a.c &> log",
    "gcc -c a.c |& cat",
    "[[ -f a.c ]] && gcc -c a.c",
    "gcc -D$((1+1)) -c a.c",
    "gcc -c a.c ${x:-y}",
    "gcc -D\u00e9 -c a.c",
    "gcc -c 'a.c",
    "gcc -c a.c &&",
    "\\gcc -c a.c",
    '"gcc" -c a.c',
    "$CC -c a.c",
    "gcc -c a.c; exit 0",
    "case x in x) gcc -c a.c;; esac",
    "x=`echo a`; gcc -c $x.c",
    "gcc -c a.c; # x",
    "gcc -D!x -c a.c",
    "echo -n CC; gcc -c a.c",
    "echo -e CC; gcc -c a.c",
    "echo 'CC\\ta.o'; gcc -c a.c",
    "printf 'CC %d' 1; gcc -c a.c",
    "printf '%s' a b; gcc -c a.c",
    "printf '%s'; gcc -c a.c",
    "printf '%05s' a; gcc -c a.c",
    "printf '\\0' a; gcc -c a.c",
    "printf -v x a; gcc -c a.c",
    'gcc -c a.c && echo "$made"',
]


#: What goes through pipes, or from one file into another: no order is told of their commands.
PIPES = [
    "gcc -c a.c | mv b",
    "gcc -c a.c > log",
    "gcc -c a.c >| log",
    "gcc -c - < a.c",
    "gcc < a.c > log",
    "gcc > log < a.c",
    "gcc < a.c | mv 'a b' | rm > 'the log'",
    "rm -f log && gcc | mv > log",
    "gcc > one && mv > two && rm three",
    "set -e; gcc | mv > log; rm -f other",
    "x=sub/log; gcc > $x",
    "cd sub && gcc | mv > log",
    "gcc |\\\n mv >\\\n log",
    "gcc `test -f 'a.c' || echo './'`a.c | mv > `test -f 'no.c' || echo './'`no.c",
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("gcc", "mv", "rm"):
        (tools / name).write_text(STUB)
        (tools / name).chmod(0o755)
    (tmp_path / "build" / "sub").mkdir(parents=True)
    (tmp_path / "build" / "a.c").touch()
    (tmp_path / "build" / "libtool").write_text(STUB)
    return tmp_path


def by_shell(shell: str, text: str, place: Path) -> list[list[str]]:
    """The folder and the words of all that it runs."""
    return run_by(shell, text, place)[0]


def run_by(shell: str, text: str, place: Path) -> tuple[list[list[str]], str]:
    """The same, and what it prints: the commands themselves print nothing."""
    log = place / "log"
    log.write_bytes(b"")
    environment = {**os.environ, "PATH": f"{place}/tools:{os.environ['PATH']}", "LOG": str(log)}
    ended = subprocess.run(
        [shell, "-c", text], cwd=place / "build", env=environment, capture_output=True, check=False
    )
    calls = log.read_bytes().decode().split("\0\n\0")[:-1]
    return [call.split("\0") for call in calls], ended.stdout.decode()


def said(text: str, place: Path) -> tuple[str, str, str]:
    """What a line is understood to print, first and later, and the line without the first."""
    line = read(text, FolderFiles(str(place / "build")), {"exported": "1"}.get)
    return line.said, line.behind, line.unsaid or line.text


def by_us(text: str, place: Path) -> list[list[str]]:
    """The same, as it is understood."""
    build = place / "build"
    line = read(text, FolderFiles(str(build)), {"exported": "1"}.get)
    calls = []
    for command in line.commands:
        start = 1 if command.argv[0] == "/bin/bash" else 0
        name, *rest = command.argv[start:]
        folder = os.path.normpath(build / command.folder)
        calls.append([folder, os.path.basename(name), *rest])
    nothing: dict[str, str] = {}
    assert read(line.text, FolderFiles(str(build)), nothing.get).commands == line.commands
    return calls


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("text", UNDERSTOOD)
def test_what_is_understood_is_what_a_shell_does(place: Path, text: str, shell: str) -> None:
    assert by_us(text, place) == by_shell(shell, text, place)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("text", UNDERSTOOD)
def test_what_it_prints_is_known_and_can_be_left_out(place: Path, text: str, shell: str) -> None:
    first, behind, rest = said(text, place)
    calls, by_itself = run_by(shell, text, place)
    assert first + behind == by_itself
    assert run_by(shell, rest, place) == (calls, behind)
    begins = text.removeprefix("set -e; ").removeprefix("base=sub/a; ")
    assert bool(first) == begins.startswith(("echo", "printf"))


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("text", PIPES)
def test_so_it_is_with_pipes_and_files(place: Path, text: str, shell: str) -> None:
    build = place / "build"
    line = read(text, FolderFiles(str(build)), {"exported": "1"}.get)
    before = set(build.rglob("*"))
    ours = by_us(text, place)
    assert sorted(ours) == sorted(by_shell(shell, text, place))
    printed = {
        build / each.folder / each.stdout
        for each in line.commands
        if each.stdout not in ("", lines.PIPE)
    }
    assert set(build.rglob("*")) - before == printed
    for each in line.commands:
        assert each.stdin in ("", lines.PIPE, "a.c")


@pytest.mark.parametrize("text", NOT)
def test_what_is_not_plain_is_not_understood(place: Path, text: str) -> None:
    with pytest.raises(NotUnderstoodError):
        by_us(text, place)


#: What automake writes.
AUTOMAKE = [
    *("`test -f 'a.c' || echo './'`", "`test -f 'no.c' || echo '../x/'`a.c", "`test -f a.c`"),
    *("`echo sub/a.o | sed 's|[^/]*$|.deps/&|;s|\\.o$||'`", "`echo a.o | sed 's|a|b|'`"),
    *("b=`echo sub/a.o | sed 's|[^/]*$|.deps/&|;s|\\.o$||'`;", "$b.Po", "${b}.Po", "'$b'.Po"),
]
PIECES = [
    *AUTOMAKE,
    *(
        "gcc",
        "mv",
        "rm",
        "echo",
        "cd sub",
        "set -e",
        "true",
        "-c",
        "a.c",
        "b",
        "$x",
        '"$x"',
        "${x}",
    ),
    *("x=1", "x=a/b", "y='1 2'", "$y", '"$y"', "&&", ";", "&&\\\n", " ; ", "||", "|", "&", "!"),
    *("'a b'", '"a b"', "\\ ", "\\\\", "\\'", '\\"', "'", '"', "`", "\\\n", "\\\n ", "$", "#", "~"),
    *(
        "*",
        "?",
        "[a]",
        "{a,b}",
        "(",
        ")",
        "<",
        ">",
        "=",
        "-DX=1",
        '-DY=\\"z\\"',
        "%",
        "^",
        "@",
        "\t",
    ),
    *(
        "'it'\\''s'",
        '"a\\"b"',
        '"a\\b"',
        '"a$"',
        "'$x'",
        "a'b'\"c\"d",
        "x$x",
        "$x$x",
        ".",
        "..",
        "+",
    ),
]


def can_be_opened(build: Path, command: lines.Simple) -> bool:
    """Whether a shell runs it: its files are there, or can be."""
    folder = build / command.folder
    read_from, made = folder / command.stdin, folder / command.stdout
    given = command.stdin in ("", lines.PIPE) or read_from.is_file()
    makes = command.stdout not in ("", lines.PIPE)
    return given and not (makes and (made.is_dir() or not made.parent.is_dir()))


def random_line(seed: random.Random) -> str:
    words = [seed.choice(PIECES) for _ in range(seed.randint(1, 9))]
    glue = seed.choice((" ", " ", " ", ""))
    return f"gcc -c a.c {glue.join(words)}" if seed.random() < 0.7 else glue.join(words)


def by_the_grammar(text: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> lines.Line | None:
    """What it means, None where that cannot be told."""
    with monkeypatch.context() as without, contextlib.suppress(NotUnderstoodError):
        without.setattr(lines, "statements", lambda text: None)
        return read(text, FolderFiles(str(place)), {"exported": "1"}.get)
    return None


@pytest.mark.parametrize("count", often([3000], [3000, 60_000]))
def test_what_needs_no_grammar_means_what_the_grammar_says(
    place: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, seed = place / "build", random.Random(count)
    same = 0
    for text in (*UNDERSTOOD, *NOT, *PIPES, *(random_line(seed) for _ in range(count))):
        if statements(text) is None:
            continue
        expected = by_the_grammar(text, build, monkeypatch)
        try:
            found = read(text, FolderFiles(str(build)), {"exported": "1"}.get)
        except NotUnderstoodError:
            assert expected is None, text
            continue
        if expected is not None:  # of some that mean the same it knows nothing
            same += 1
            assert found == expected, text
    assert same > count / 25


@pytest.mark.parametrize("count", often([500], [500, 6_000]))
def test_random_lines(place: Path, count: int) -> None:
    """Whatever is understood of them is what dash and bash do."""
    seed = random.Random(count)
    understood = 0
    for _ in range(count):
        text = random_line(seed)
        try:
            ours = by_us(text, place)
        except NotUnderstoodError:
            continue
        if not {call[1] for call in ours} <= {"gcc", "mv", "rm"}:
            continue  # no tool that could be in a line
        understood += 1
        known = read(text, FolderFiles(str(place / "build")), {"exported": "1"}.get).commands
        if any(not can_be_opened(place / "build", each) for each in known):
            continue
        before = set((place / "build").rglob("*"))
        for shell in SHELLS:
            found, printed = run_by(shell, text, place)
            if "|" not in text:
                first, behind, rest = said(text, place)
                assert first + behind == printed, text
                assert run_by(shell, rest, place) == (found, behind), text
            if "|" in text:
                ours, found = sorted(ours), sorted(found)
            assert ours == found, text
            for made in set((place / "build").rglob("*")) - before:
                made.unlink()
    assert understood > count / 50
