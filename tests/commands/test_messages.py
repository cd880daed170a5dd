"""What counts as a warning and as an error, in the words of real tools."""

from __future__ import annotations

import pytest

from smpmake.commands.messages import count

GCC = b"""\
In file included from a.c:1:
a.h:3:2: warning: #warning "old" [-Wcpp]
    3 | #warning "old"
      |  ^~~~~~~
a.c: In function 'f':
a.c:7:3: error: 'x' undeclared (first use in this function)
    7 |   puts("b.c:1: warning: not one"); // error: nor this
a.c:9:10: fatal error: none.h: No such file or directory
compilation terminated.
"""
COLOURED = (
    b"\x1b[01m\x1b[Ka.c:1:2:\x1b[m\x1b[K \x1b[01;35m\x1b[Kwarning: \x1b[m\x1b[Kunused\n"
    b"cc1: \x1b[01;31m\x1b[Kerror: \x1b[m\x1b[Kbad\n"
)


@pytest.mark.parametrize(
    ("output", "warnings", "errors"),
    [
        (b"", 0, 0),
        (b"Creating library error.lib\nno warnings, 0 errors\n", 0, 0),
        (GCC, 1, 2),
        (COLOURED, 1, 1),
        (
            b"clang: warning: argument unused during compilation: '-lm'\n1 warning generated.\n",
            1,
            0,
        ),
        (b"/usr/bin/ld: warning: x.o: missing .note.GNU-stack section\n", 1, 0),
        (b"collect2: error: ld returned 1 exit status\n", 0, 1),
        (b"a.s: Assembler messages:\na.s:3: Error: no such instruction: `foo'\n", 0, 1),
        (b"a.f90:2:9:\n\n    2 | x = 1\n      |  1\nWarning: Unused at (1)\n", 1, 0),
        (b"a.c:3: error 20: Undefined identifier 'x'\na.c:4: warning 85: unused\n", 1, 1),
        (b"a.c(3): Warning! W201: Unreachable\r\na.c(4): Error! E1011: Symbol\r\n", 1, 1),
    ],
)
def test_what_tools_say(output: bytes, warnings: int, errors: int) -> None:
    assert count(output) == (warnings, errors)
