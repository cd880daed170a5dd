"""Scripts that are followed, against what dash does with them."""

from __future__ import annotations

import shutil
import subprocess
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smpmake.configure import grammar
from smpmake.configure.shell import Script

DASH: Final = shutil.which("dash")
VARIABLES: Final = {"a": "one", "b": "", "list": " x  y\tz ", "star": "*"}


def followed(text: str) -> Script:
    script = Script(VARIABLES, {}, {}, lambda *_: True, lambda _: None)
    script.follow(f"PACKAGE_NAME=\n{text}\n")
    return script


def printed(text: str) -> str:
    """What a shell has in `r` afterwards."""
    assert DASH is not None
    settings = "".join(f"{name}='{value}'\n" for name, value in VARIABLES.items())
    done = subprocess.run(
        [DASH, "-f", "-c", f'{settings}{text}\nprintf "%s" "$r"'],
        capture_output=True,
        text=True,
        check=False,
        env={},
    )
    return done.stdout


TEXTS: Final = (
    "r=$a$b",
    'r="$a ${b} ${c-none} ${c:-no\'ne} ${b-kept} ${b:-empty} ${a+set} ${c+set}"',
    "r='$a' r=$r\"'\"\\\"\\$a",
    'r="\\$a \\`x\\` \\x \\\\ \\\nnext"',
    'r=; for i in $list 1 "$list" \'\'; do r="$r<$i>"; done',
    'r=; for i in a$list$a; do r="$r<$i>"; done',
    "r=; for i in; do r=x; done",
    "if test $b; then r=1; elif test x$a = xone; then r=2; else r=3; fi",
    'if test -n "$a" -a "$a" != two; then r=1; fi',
    'if test "$a" = two -o x = x; then r=1; fi',
    "if ! test $a = one; then r=1; else r=2; fi",
    'if [ "$a" = one ] && { test -z "$b" || false; }; then r=yes; fi',
    "case $a in o*) r=1 ;; *) r=2 ;; esac",
    "case x$b in x) r=1;; esac",
    "case $a in 'one' | two) r=1 # )\n ;;\n(t*) r=2 ;;\nesac",
    "case ' 1 2 ' in *' 2 '*) r=in ;; esac",
    "case $star in '*') r=star ;; esac",
    'f () { r=$1-$2; }\nf "$a" b',
    'f ()\n{\n  eval "$1=\\$2"\n}\nf r value',
    "x=r; eval $x=\\$a",
    'x=a; if eval test \\${$x+y}; then r=y; fi; eval "r=\\$r\\$$x"',
    "eval 'r=1; if test $r = 1; then r=2; fi'",
    "r=`echo $a|sed 's/n/N/'`",
    "r=`echo a.b,c | sed -e 's/,/;/g' -e 's/b/&&/'`",
    "r=a\\\nb; : comment # r=2",
    "a=1 b=2\nr=$a$b",
    "r=1; unset r; r=${r-gone}",
    "for i in 1 2 3; do r=$r$i; test $i = 2 && break; done",
    "for i in 1 2 3; do test $i = 2 && continue; r=$r$i; done",
    "for i in 1 2; do for k in 1 2 3; do test $k = 2 && break; r=$r$k; done; done; break; r=$r-",
    "if test -d /; then for i in 1 2; do break; done; fi; r=1",
    ": ${r=given}",
    "(r=1); r=$r-",
    "true && r=1 || r=2",
    "r=${a}b${a}_c$a_d",
)


@pytest.mark.skipif(DASH is None, reason="no dash")
@pytest.mark.parametrize("text", TEXTS)
def test_it_is_followed_as_a_shell_does(text: str) -> None:
    assert followed(text).variables.get("r", "") == printed(text)


@pytest.mark.parametrize(
    "text",
    ["r=`date`", "r=$(date)", "r=$$", "if test -f x; then r=1; fi", "read r", "r=${a%e}",
     "grep x y && r=1", "for r in `ls`; do :; done", "while read x; do r=1; done",
     "r=1; while false; do r=2; done"],
)  # fmt: skip
def test_what_nobody_can_tell_is_unknown(text: str) -> None:
    assert followed(text).variables.get("r") is None


#: Pieces of shell, of which most orders make none.
PIECES: Final = st.sampled_from(
    [
        *"\"'`$(){};&|<>\n #\\!*=",
        *("if ", "then ", "else ", "fi", "case x in ", "esac", ";;", "x)", "for i in ", "do "),
        *(
            "done",
            "while ",
            "a=",
            "${a",
            "$(",
            "<<E\n",
            "\nE\n",
            "f () ",
            "eval ",
            "break",
            "test ",
        ),
    ]
)


@given(st.lists(PIECES, max_size=40))
def test_nonsense_is_followed_to_its_end(pieces: list[str]) -> None:
    followed("".join(pieces))


def test_one_that_never_ends_is_left() -> None:
    followed("f () { f; f; }\nf\n")
    followed("for i in 1 2 3 4 5 6 7 8 9 10; do " * 9 + ":; " + "done; " * 9)
    followed("eval 'x=\"eval \\$x\"; eval $x'")


def test_a_line_without_sense_is_skipped() -> None:
    found = list(grammar.commands("if\n) x\n(b=2\na=1\n"))
    assert found[-1] == grammar.Simple(["a=1"])
