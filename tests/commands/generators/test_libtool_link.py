"""What libtool makes when it links: libraries with all their names, and programs."""

from __future__ import annotations

import pytest

from smpmake.commands.model import Analysis, Divides, Kind, Reason
from tests.commands.disk import FakeFiles, meaning

NAMES = " ".join(
    rf"\$libname{rest}"
    for rest in (
        *(r"\$release\$shared_ext\$versuffix", r"\$release\$shared_ext\$major"),
        r"\$shared_ext",
    )
)
HEAD = f"""#! /bin/bash
# ### BEGIN LIBTOOL CONFIG
macro_version=2.4.7
build_libtool_libs={{}}
build_old_libs=yes
pic_mode=default
objdir=.libs
compiler_c_o="yes"
version_type={{}}
libext=a
shrext_cmds=".so"
library_names_spec="{NAMES}"
# ### END LIBTOOL CONFIG
"""
FILES = FakeFiles(
    {
        "libtool": HEAD.format("yes", "linux"),
        "static/libtool": HEAD.format("no", "linux"),
        "darwin/libtool": HEAD.format("yes", "darwin"),
        "names/libtool": HEAD.format("yes", "linux").replace("release", "elsewhere"),
        "map": "",
    },
    ["sub", ".libs"],
)
LIBRARY = [".libs/libx.la", ".libs/libx.a", ".libs/libx.lai", ".libs/libx.la.lnkscript"]


def of(words: str, script: str = "libtool") -> Analysis:
    return meaning(["/bin/bash", script, "--tag=CC", "--mode=link", *words.split()], FILES)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ("", ["libx.so.0.0.0", "libx.so.0", "libx.so"]),
        ("-version-info 9:1:4", ["libx.so.5.4.1", "libx.so.5", "libx.so"]),
        ("-version-info 3", ["libx.so.3.0.0", "libx.so.3", "libx.so"]),
        ("-version-info 3:2", ["libx.so.3.0.2", "libx.so.3", "libx.so"]),
        ("-version-number 4:5:6", ["libx.so.4.5.6", "libx.so.4", "libx.so"]),
        ("-module -avoid-version", ["libx.so"]),
        ("-release 1.2", ["libx-1.2.so", "libx.so"]),
        ("-release 1.2 -version-info 3:0:1", ["libx-1.2.so.2.1.0", "libx-1.2.so.2", "libx.so"]),
        ("-export-symbols map", ["libx.exp", "libx.ver", "libx.so.0.0.0", "libx.so.0", "libx.so"]),
        (
            "-export-symbols-regex ^x",
            ["libx.exp", "libx.ver", "libx.so.0.0.0", "libx.so.0", "libx.so"],
        ),
        ("-static", ["libx.so.0.0.0", "libx.so.0", "libx.so"]),  # or less
    ],
)
def test_a_library(options: str, names: list[str]) -> None:
    found = of(
        f"gcc -O2 -no-undefined {options} -rpath /usr/lib -o libx.la a.lo b.lo ../y/liby.la -lm"
    )
    assert (found.kind, found.refusal, found.tool) == (Kind.LINK, None, "gcc")
    first, *others = found.writes
    assert (first.path, first.perhaps, first.target) == ("libx.la", False, True)
    assert [write.path for write in others] == [*LIBRARY, *(f".libs/{name}" for name in names)]
    assert all(write.perhaps and not write.target for write in others)
    assert set(found.reads) >= {
        *("a.lo", ".libs/a.o", "a.o", "b.lo", "libtool"),
        *("../y/liby.la", "../y/.libs/liby.so", "../y/.libs/liby.a"),
    }
    assert ("map" in found.reads) is ("map" in options)
    assert found.folders == (".libs",)


def test_a_library_that_is_not_installed_has_an_archive_alone() -> None:
    assert [write.path for write in of("gcc -o libx.la a.lo").writes] == ["libx.la", *LIBRARY]
    found = of("gcc -rpath /usr/lib -o libx.la a.lo", "static/libtool")
    assert [write.path for write in found.writes] == ["libx.la", *LIBRARY]


def test_a_program_and_what_is_behind_it() -> None:
    found = of("g++ -g -Wl,-Map=m -o sub/p sub/a.o liby.la -static")
    assert [write.path for write in found.writes] == ["sub/p", "m", "sub/.libs/p", "sub/.libs/lt-p"]
    assert [write.perhaps for write in found.writes] == [False, False, True, True]
    assert found.folders == ("sub/.libs",)
    assert found.tool == "g++"


def test_optimisation_at_link_time() -> None:
    assert of("gcc -flto -o p a.o").divides is Divides.IF_LET


@pytest.mark.parametrize(
    "words",
    [
        "gcc -o x.lo a.lo",
        "gcc -o x.o a.lo",
        "gcc a.lo",
        "gcc -rpath /usr/lib -version-info 1:0:2 -o libx.la a.lo",
        "gcc -rpath /usr/lib -version-info x -o libx.la a.lo",
        "gcc -rpath /usr/lib -version-info 1:0:0 -version-number 1:0:0 -o libx.la a.lo",
        "gcc -dlopen self -o p a.o",
        "gcc -dlpreopen liby.la -o p a.o",
        "gcc -objectlist list -o libx.la",
        "gcc -Xcompiler -O2 -o p a.o",
        "gcc -Wc,-O2 -o p a.o",
        "gcc -shrext .dll -rpath /usr/lib -o libx.la a.lo",
        "gcc -precious-files-regex x -rpath /usr/lib -o libx.la a.lo",
        "gcc -o p a.c",
        "gcc -o p @list",
        "gcc --mystery -o p a.o",
        "gcc -c -o p a.o",
        "ld -o p a.o",
        "gcc -o",
        "gcc",
    ],
)
def test_rarer_ones(words: str) -> None:
    assert of(words).refusal is Reason.RECIPE


@pytest.mark.parametrize("script", ["darwin/libtool", "names/libtool", "none/libtool"])
def test_other_names(script: str) -> None:
    assert of("gcc -rpath /usr/lib -o libx.la a.lo", script).refusal is Reason.RECIPE
