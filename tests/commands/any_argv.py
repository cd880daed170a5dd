"""Any command line at all: the words it may hold, and what every analysis promises."""

from __future__ import annotations

from smpmake.commands import (
    assembler,
    binutils,
    compiler_options,
    coreutils_options,
    linker,
    watcom_directives,
    watcom_drivers,
    watcom_lib,
    watcom_options,
)
from smpmake.commands.model import Analysis, Reason
from smpmake.commands.options import Getopt
from tests.commands.disk import FakeFiles, meaning

TOOLS = [
    "gcc",
    "g++",
    "cc",
    "clang",
    "clang++",
    "x86_64-w64-mingw32-gcc",
    "as",
    "ld",
    "ar",
    "ranlib",
    "strip",
    "objcopy",
    "nm",
    "size",
    "mv",
    "cp",
    "ln",
    "rm",
    "touch",
    "install",
    "mkdir",
    "cmake",
    "bison",
    "yacc",
    "flex",
    "gperf",
    "re2c",
    "msgfmt",
    "moc",
    "uic",
    "rcc",
    "glib-mkenums",
    "glib-genmarshal",
    "gdbus-codegen",
    "wayland-scanner",
    "protoc",
    "xxd",
    "pod2man",
    "ccache",
    "distcc",
    "icecc",
    "sccache",
    "gfortran",
    "sdas8051",
    "sdcc",
    "tcc",
    "wcc386",
    "wpp386",
    "bwpp",
    "wasm",
    "wcl386",
    "owcc",
    "wlink",
    "wlib",
    "wmake",
    "unheard-of",
]

KNOWN = sorted(
    {
        word
        for t in (compiler_options, assembler, linker)
        for r in t.TABLE.rows
        for word in r.words()
    }
    | {
        word
        for module in (binutils, coreutils_options)
        for table in vars(module).values()
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
