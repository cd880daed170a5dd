"""Which compiles another machine can do, and in which words."""

from __future__ import annotations

import shlex

import pytest

from smpmake.commands import families
from smpmake.commands.compilers.sendable import sendable
from smpmake.commands.model import Invocation
from tests.commands.disk import FakeFiles


def sent(line: str) -> str | None:
    argv = tuple(shlex.split(line))
    analysis = families.analyse(Invocation(argv, "/w", lambda name: None, FakeFiles({})))
    words = sendable(argv, analysis)
    return shlex.join(words) if words is not None else None


@pytest.mark.parametrize(
    "line",
    [
        "gcc -c a.c",
        "gcc -g -O2 -Wall -I. -DX=1 -c a.c -o sub/a.o",
        "g++ -std=c++20 -fPIC -c a.cc",
        "/usr/bin/cc -c a.c",
        "x86_64-linux-gnu-gcc-12 -c a.cpp",
        "gcc -Wall -Werror=format-security -c a.c",
        "gcc -Wall -Werror -Wno-misleading-indentation -c a.c",
        "gcc -Werror -c a.c",
        "clang -Wall -c a.c",
        "clang -O2 -c a.c",
        "gcc -MD -MF x.d -MT a.o -c a.c",
        "gcc -fsanitize=address -pipe -pthread -c a.c",
    ],
)
def test_as_it_is(line: str) -> None:
    assert sent(line) == line


@pytest.mark.parametrize(
    ("line", "more"),
    [
        ("gcc -MMD -MP -c a.c -o sub/a.o", "-MF sub/a.d -MQ sub/a.o"),
        ("gcc -MD -c sub/a.c", "-MF a.d -MQ a.o"),
        ("gcc -MD -MF x.d -c a.c", "-MQ a.o"),
        ("gcc -MD -MT x -c a.c", "-MF a.d"),
    ],
)
def test_a_preprocessor_is_told_what_follows_from_the_object(line: str, more: str) -> None:
    assert sent(line) == f"{line} {more}"


@pytest.mark.parametrize(
    "line",
    [
        "gcc a.c -o a",
        "gcc -c a.c b.c",
        "gcc -c a.s",
        "gcc -c a.S",
        "gcc -S a.c",
        "gcc -E a.c -o a.i",
        "gcc -march=native -c a.c",
        "gcc --coverage -c a.c",
        "gcc -ftest-coverage -c a.c",
        "gcc -fprofile-use=dir -c a.c",
        "gcc -save-temps -c a.c",
        "gcc -fstack-usage -c a.c",
        "gcc -gsplit-dwarf -g -c a.c",
        "gcc -fplugin=x.so -c a.c",
        "gcc -Wa,-adhln=a.lst -c a.c",
        "gcc -Wp,-MD,a.d -c a.c",
        "gcc -x c -c a.c",
        "gcc -c a.i",
        "g++ -c a.ii",
        "gcc -P -c a.c",
        "gcc -g3 -c a.c",
        "gcc -finput-charset=latin1 -c a.c",
        "gcc -Wall -Werror -c a.c",
        "gcc -Werror=misleading-indentation -c a.c",
        "clang -Werror=format -c a.c",
        "clang -fsanitize=undefined -c a.c",
        "gcc -c a.h",
        "gcc -c -",
        "clang -g -c a.c",
        "ccache gcc -c a.c",
        "gfortran -c a.f90",
        "packer -c a.c",
        "ar rc x.a a.o",
        "gcc -MM a.c",
        "gcc -c a.c --no-such-option",
        "gcc -c a.c -o /dev/null",
    ],
)
def test_what_is_done_here(line: str) -> None:
    assert sent(line) is None
