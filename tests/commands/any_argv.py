"""Any command line at all: the words it may hold, and what every analysis promises."""

from __future__ import annotations

import importlib
import pkgutil

from smpmake import commands
from smpmake.commands.families import FAMILIES, find
from smpmake.commands.model import Analysis, Reason
from smpmake.commands.options import Getopt, Table
from smpmake.commands.watcom import directives as watcom_directives
from smpmake.commands.watcom import drivers as watcom_drivers
from smpmake.commands.watcom import lib as watcom_lib
from smpmake.commands.watcom import options as watcom_options
from tests.commands.disk import FakeFiles, meaning

#: Names of tools whose family is called otherwise, and more names of some families.
NAMED = [
    *("gcc", "g++", "cc", "clang", "clang++", "x86_64-w64-mingw32-gcc", "gfortran", "as", "ld"),
    *("ccache", "distcc", "icecc", "sccache"),
    *("wcc", "wcc386", "wpp386", "bwpp", "wasm", "wcl", "wcl386", "unheard-of"),
]
TOOLS = sorted({*NAMED, *(family.name for family in FAMILIES if find(family.name) is family)})

_TABLES = [
    value
    for each in pkgutil.iter_modules(commands.__path__)
    for value in vars(importlib.import_module(f"smpmake.commands.{each.name}")).values()
]
KNOWN = sorted(
    {
        word
        for table in _TABLES
        if isinstance(table, Table)
        for row in table.rows
        for word in row.words()
    }
    | {
        word
        for table in _TABLES
        if isinstance(table, Getopt)
        for option in table.options
        for word in option.names.split()
    }
    | {f"-{name}" for name in watcom_options.OF_DRIVER.rows}
    | {word for row in watcom_drivers.OWCC for word in row.words()}
    | set(watcom_directives.DIRECTIVE_WORDS)
    | set(watcom_directives.OPTION_WORDS)
    | {f"-{name}" for name in watcom_lib.FLAGS}
)
OPERANDS = [
    *[
        "a.c",
        "b.c",
        "a.cpp",
        "a.S",
        "a.s",
        "a.o",
        "a.h",
        "lib.a",
        "dir",
        "dir/x",
        "out/",
        "/",
        "-",
        "--",
        "/dev/null",
        "/dev/stdout",
    ],
    *[
        "@r.rsp",
        "@nested.rsp",
        "@none",
        "gcc",
        "cru",
        "rcs",
        "t",
        "x",
        "-M",
        ".",
        "..",
        "conftest.c",
        "c++",
        "none",
        "c-header",
        "a.f90",
        "a.asm",
        "+a.obj",
        "-+",
        "*b",
        "{",
        "}",
        "=",
        ",",
        "'a b",
        '"a b',
    ],
    "",
]
FILES = FakeFiles({"r.rsp": "-c a.c 'b", "nested.rsp": "@r.rsp @nested.rsp", "lib.a": ""}, ["dir"])

#: What may stand right behind an option.
TAILS = ["=f", "f", ",f,-o", "=", ",", "\udcff"]


def check(argv: list[str]) -> None:
    """Analyses a command line, which must not raise, and what it says must hold together."""
    found = meaning(argv, FILES)
    hold_together(found)
    if found.argv is not None:
        assert found.argv(lambda text: "kept")


def hold_together(found: Analysis) -> None:
    """What every analysis promises."""
    assert found.refusal is None or isinstance(found.refusal, Reason)
    assert all(isinstance(path, str) for path in found.reads)
    if found.refusal is None:
        assert found.writes
        for write in found.writes:
            assert write.path and not write.path.startswith("/dev/")
    if found.split is not None:
        assert found.refusal is None
        parts = found.split("folder")
        assert len(parts) > 1
        for part in parts:
            assert part.analysis.refusal is None
            assert part.analysis.split is None
