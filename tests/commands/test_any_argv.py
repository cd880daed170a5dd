"""No command line makes an analysis raise, and what it says always holds together."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

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

WORDS = st.one_of(
    st.sampled_from(KNOWN),
    st.sampled_from(OPERANDS),
    st.tuples(
        st.sampled_from(KNOWN), st.sampled_from(["=f", "f", ",f,-o", "=", ",", "\udcff"])
    ).map("".join),
    st.text(max_size=12),
)


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


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(TOOLS), st.lists(WORDS, max_size=10))
def test_never_raises(tool: str, words: list[str]) -> None:
    found = meaning([tool, *words], FILES)
    hold_together(found)
    if found.argv is not None:
        assert found.argv(lambda text: "kept")


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, max_size=5))
def test_never_raises_behind_a_launcher(words: list[str]) -> None:
    hold_together(meaning(["ccache", "gcc", *words], FILES))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=9), max_size=3))
def test_never_raises_on_any_tool_name(argv: list[str]) -> None:
    hold_together(meaning(argv, FILES))
