"""Builds by wmake, the plain wmake as oracle: with stand-ins, or with the real Open Watcom tools.

What the stand-ins do is listed, fact by fact, in docs/open-watcom.md.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support import watcom
from tests.support.space import SMPMAKE, Ended, Space
from tests.support.variants import often

pytestmark = pytest.mark.slow

KINDS = {
    "dynamic, tools too": ("dynamic", "dynamic"),
    "dynamic, static tools": ("dynamic", "static"),
    "static, tools too": ("static", "static"),
    "static, dynamic tools": ("static", "dynamic"),
}
SOME = ("dynamic, static tools", "static, dynamic tools")
UNASKED = "no-target-check: wmake gets -c -z"


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-ins, compiled once."""
    return tmp_path_factory.mktemp("stand-ins")


@pytest.fixture
def ow(space: Space, programs: Path) -> Space:
    """A space with stand-ins that take a guard."""
    watcom.install(space, programs)
    return space


def deferred(ended: Ended) -> int:
    return int(ended.err.partition("commands ")[2].split()[0])


@pytest.mark.parametrize("kind", often(SOME, KINDS))
@pytest.mark.parametrize("options", often(["-j3"], ["-j3", "-j3 --no-guard", "-j2 --chaos 1"]))
def test_p1_a_nested_project(space: Space, programs: Path, kind: str, options: str) -> None:
    make, tools = KINDS[kind]
    watcom.install(space, programs, make, tools)
    ended = watcom.expect_same(space, "watcom-project", "-v", *options.split())
    assert UNASKED in ended.err
    # Without any guard a nested wmake is called past us, without -c: it looks at its targets.
    if "--no-guard" in options:
        assert "80 checks-targets" in ended.err
    else:
        assert deferred(ended) == (85 if make == "dynamic" else 80)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", often([3], [3, 4, 5, 6]))
def test_p1_the_nested_project_under_disorder(ow: Space, seed: int) -> None:
    watcom.expect_same(ow, "watcom-project", "-j4", "--chaos", str(seed))


@pytest.mark.parametrize("make", ["dynamic", "static"])
def test_p7_afterwards_wmake_finds_nothing_to_do(space: Space, programs: Path, make: str) -> None:
    watcom.install(space, programs, make)
    space.copy("watcom-project")
    assert space.smpmake("wmake").status == 0
    again = space.run("wmake")
    assert again.status == 0
    assert "wcc386" not in again.out and "wlib" not in again.out and "wlink" not in again.out


FLAT = """
OBJECTS = a.o b.o c.o
prog : $(OBJECTS)
\t%create link.lnk
\t%append link.lnk system linux name prog file a.o, b.o, c.o
\twlink @link.lnk
.c.o :
\twcc386 -zq $[@
"""
C = {f"{name}.c": f"int {name};\n" for name in "abc"}


def test_a_plain_call_of_a_nested_wmake_needs_no_guard(ow: Space) -> None:
    files = {**C, "makefile": "all : .SYMBOLIC\n\twmake -f inner\n", "inner": FLAT}
    ended = watcom.expect_same(ow, files, "--no-guard")
    assert deferred(ended) == 3


def test_response_files_that_are_rewritten_between_commands(ow: Space) -> None:
    recipe = "".join(
        f"\t%create words\n\t%append words -zq -dN={n} -fo=o{n}.obj\n\twcc386 @words a.c\n"
        for n in range(6)
    )
    links = "".join(
        f"\t%write link.lnk name p{n}.elf file o{n}.obj system linux option map\n"
        "\twlink @link.lnk\n"
        f"\t%write members +o{n}.obj\n\twlib -q all{n % 2}.lib @members\n"
        for n in range(6)
    )
    files = {**C, "makefile": f"all : .SYMBOLIC\n{recipe}{links}\t%erase words\n"}
    for options in (["-j3"], ["-j3", "--no-guard"], ["-j3", "--chaos", "7"]):
        watcom.expect_same(ow, files, *options)


def test_variables_are_read_when_a_command_is_issued(ow: Space) -> None:
    recipe = "".join(f"\tWCC386=-dN={n} OUT=-fo=o{n}.obj wcc386 @OUT a.c\n" for n in range(4))
    ended = watcom.expect_same(ow, {**C, "makefile": f"all : .SYMBOLIC\n{recipe}"}, "-j3")
    assert deferred(ended) == 4


@pytest.mark.parametrize(
    "options",
    often(["-j4", "-j4 --no-guard"], ["-j4", "-j4 --no-guard", "-j4 --chaos 2", "-j4 --chaos 9"]),
)
def test_one_base_name_in_two_folders_shares_its_side_files(ow: Space, options: str) -> None:
    """Messages and dependencies go where wmake stands: the last compile says what is left."""
    lines = [
        "wcc386 -fo=one/ -ad one/main.c",
        "wcc386 -fo=two/ two/main.c",
        "wcc386 -fo=one/.obj -ad one/main.c",
        "wcc386 -fo=two/.obj -ad two/main.c",
        "wcc386 -fo=one/x.obj one/main.c",
    ]
    files = {
        "one/main.c": "int WARN;\n",
        "two/main.c": "int quiet;\n",
        "main.err": "old\n",
        "makefile": "all : .SYMBOLIC\n" + "".join(f"\t{line}\n" for line in lines),
    }
    ended = watcom.expect_same(ow, files, *options.split())
    assert deferred(ended) == 5
    assert "WARN" not in ended.err


@pytest.mark.chaos
@pytest.mark.parametrize("seed", often([0], range(3)))
def test_a_precompiled_header_is_made_before_it_is_shared(ow: Space, seed: int) -> None:
    """Stand-ins fail on a header that is being written: two at once would show."""
    rules = "".join(f"\twpp386 -zq -fhq a{n}.cpp\n" for n in range(12))
    other = "".join(f"\twpp386 -zq -dOTHER -fhq a{n}.cpp -fo=other{n}.obj\n" for n in range(4))
    rules = rules + other + rules.replace(".cpp\n", ".cpp -fo=z/\n")
    files = {f"a{n}.cpp": f'#include "all.h"\nint a{n};\n' for n in range(12)}
    files |= {"all.h": "int all;\n", "z/keep": "", "makefile": f"all : .SYMBOLIC\n{rules}"}
    ended = watcom.expect_same(ow, files, "-j8", "--chaos", str(seed))
    assert deferred(ended) == 28
    watcom.expect_same(ow, files, "-j8", "--no-guard")


@pytest.mark.parametrize(
    "options", often(["-j4 --chaos 1"], ["-j4 --chaos 1", "-j4 --chaos 5", "-j4 --no-guard"])
)
def test_librarians_of_one_folder_run_one_after_the_other(ow: Space, options: str) -> None:
    libraries = [f"wlib -q lib{n}.lib +a.o -+b.o c.o" for n in range(6)]
    again = [f"wlib -q lib{n}.lib -a -+c.o" for n in range(6)]
    compiles = [f"wcc386 -zq {name}.c" for name in "abc"]
    recipe = "".join(f"\t{line}\n" for line in (*compiles, *libraries, *again))
    watcom.expect_same(ow, {**C, "makefile": f"all : .SYMBOLIC\n{recipe}"}, *options.split())


def test_several_sources_in_one_command_of_the_driver(ow: Space) -> None:
    files = {
        **C,
        "makefile": "all : .SYMBOLIC\n\twcl386 -zq -fe=p.elf a.c b.c c.c\n\twcl386 -c a.c\n",
    }
    ended = watcom.expect_same(ow, files, "-j3")
    assert deferred(ended) == 5
    watcom.expect_same(ow, files, "-j3", "--no-guard")


def test_a_link_that_a_recipe_runs_is_waited_for(ow: Space) -> None:
    run = "".join(
        f"\twlink system linux name p{n} file a.o,b.o\n\t./p{n} > seen{n}\n" for n in "12"
    )
    files = {**C, "makefile": f"all : a.o b.o .SYMBOLIC\n{run}.c.o :\n\twcc386 $[@\n"}
    for options in (["-j3"], ["-j3", "--no-guard"]):
        watcom.expect_same(ow, files, *options)


def test_wmakes_own_rm_waits_for_what_it_removes(ow: Space) -> None:
    recipe = "".join(f"\twcc386 {name}.c\n" for name in "abc")
    files = {**C, "makefile": f"all : .SYMBOLIC\n{recipe}\trm a.o\n\trm -f b.o x.o\n"}
    watcom.expect_same(ow, files, "-j3", "--chaos", "4")


BROKEN = {
    **C,
    "b.c": "#error no\n",
    "makefile": "all : a.o b.o c.o .SYMBOLIC\n.c.o :\n\twcc386 -zq $[@\n",
}


@pytest.mark.parametrize("guard", ["--guard", "--no-guard"])
@pytest.mark.parametrize("option", ["-h", "-k", "-i", "-u", "-e", "-s"])
def test_a_failure_ends_as_it_would(ow: Space, option: str, guard: str) -> None:
    """-k makes what does not depend on it, -i does not mind, the status is 2 without it."""
    ow.write(BROKEN)
    plain = ow.run("wmake", "-c", option)  # or -i ends at the first target that is not there
    expected = ow.tree()
    ow.clear()
    ow.write(BROKEN)
    ended = ow.smpmake("-j2", guard, "--", "wmake", option)
    assert ended.status == plain.status == (0 if option == "-i" else 2), ended
    assert "#error" in ended.out + ended.err
    if option in ("-k", "-i"):  # otherwise what was issued before the failure is there, or not
        assert ow.tree() == expected
    ow.expect_clean()


def test_a_missing_source_is_fatal_as_ever(ow: Space) -> None:
    ow.write({**C, "makefile": "all : a.o nowhere.o .SYMBOLIC\n.c.o :\n\twcc386 $[@\n"})
    assert ow.run("wmake").status == 4
    assert ow.smpmake("wmake").status == 4
    assert (ow.folder / "a.o").exists()


def test_a_target_that_is_never_made_is_no_error_here(ow: Space) -> None:
    """Serially F38: the only difference that -c makes."""
    ow.write({"makefile": "never.o :\n\techo nothing\n"})
    assert ow.run("wmake").status == 4
    assert ow.run("wmake", "-i").status == 4
    assert ow.run("wmake", "-c").status == 0
    assert ow.smpmake("wmake").status == 0


@pytest.mark.parametrize("make", ["dynamic", "static"])
def test_nobody_is_asked_on_standard_input(space: Space, programs: Path, make: str) -> None:
    """A pipe that never ends: the question whether to delete a target would hang for ever."""
    watcom.install(space, programs, make)
    space.write(BROKEN)
    (space.folder / "b.o").write_text("old")
    os.utime(space.folder / "b.o", (1, 1))
    read_end, write_end = os.pipe()
    done = subprocess.run(
        [SMPMAKE, "wmake"],
        cwd=space.folder,
        env=space.environment,
        stdin=read_end,
        capture_output=True,
        timeout=30,
    )
    os.close(read_end)
    os.close(write_end)
    assert done.returncode == 2, done
    assert b"Should the file" not in done.stdout
    assert (space.folder / "b.o").read_text() == "old"  # a compiler that fails leaves it


def test_a_failed_assembly_leaves_no_older_object(ow: Space) -> None:
    ow.write({"a.asm": "#error\n", "makefile": "all : .SYMBOLIC\n\twasm a.asm\n", "a.o": "old"})
    assert ow.smpmake("wmake").status == 2
    assert not (ow.folder / "a.o").exists()


@pytest.mark.parametrize("guard", ["--guard", "--no-guard"])
def test_just_enough_sets_times_of_what_is_there(ow: Space, guard: str) -> None:
    """-j gives a target the time of its newest source as soon as its recipe ends."""
    ow.write({**C, "makefile": "all : a.o b.o .SYMBOLIC\n.c.o :\n\twcc386 $[@\n"})
    for name in "ab":
        os.utime(ow.folder / f"{name}.c", (1_000_000_000, 1_000_000_000))
    ended = ow.smpmake("-v", guard, "--", "wmake", "-j")
    assert ended.status == 0
    assert "2 checks-targets" in ended.err and "[-j]" in ended.err
    assert {(ow.folder / f"{name}.o").stat().st_mtime for name in "ab"} == {1_000_000_000}


def test_whoever_turned_the_check_off_is_left_alone(ow: Space) -> None:
    ow.write({**C, "makefile": "all : a.o .SYMBOLIC\n.c.o :\n\twcc386 $[@\n"})
    ended = ow.smpmake("-v", "wmake", "-c", "-z")
    assert ended.status == 0
    assert "no-target-check" not in ended.err


def test_shims_stand_for_these_names(ow: Space) -> None:
    ended = ow.smpmake("shims", "install", str(ow.root / "shims"))
    assert ended.status == 0
    names = {line.split()[0] for line in ended.out.splitlines()}
    assert set(watcom.TOOLS) <= names
    # Without a server they are the plain tools, wmake too.
    ow.write({**C, "makefile": FLAT})
    path = f"{ow.root / 'shims'}:{ow.environment['PATH']}"
    assert ow.run("wmake", PATH=path).status == 0


def test_header_times_are_in_objects_and_times_of_objects_are_not(ow: Space) -> None:
    ow.write({"a.c": '#include "h.h"\n', "h.h": "int h;\n"})
    os.utime(ow.folder / "h.h", (1_000_000_000, 1_000_000_000))
    ow.ok("wcc386", "a.c")
    data = (ow.folder / "a.o").read_bytes()
    assert f"{ow.folder}/h.h 1000000000".encode() in data
    ow.ok("wcc386", "a.c")
    assert (ow.folder / "a.o").read_bytes() == data


@pytest.mark.watcom
@pytest.mark.skipif(not watcom.real(), reason="SMPMAKE_WATCOM points at no Open Watcom")
@pytest.mark.parametrize("options", ["-j2", "-j3", "-j3 --no-guard", "-j3 --chaos 1"])
def test_p1_the_real_tools(space: Space, options: str) -> None:
    watcom.install_real(space)
    watcom.expect_same(space, "watcom-project", *options.split(), real=True)


@pytest.mark.chaos
def test_reports_know_its_tools_and_bench_measures_wmake(ow: Space) -> None:
    ow.write({**C, "makefile": FLAT})
    assert ow.smpmake("wmake").status == 0
    shown = ow.smpmake("report")
    assert "wcc386" in shown.out, shown.err
    measured = ow.smpmake(
        *("bench", "--clean", "rm -f *.o *.err *.d prog", "--runs", "1", "--cpus", "N", "wmake")
    )
    assert measured.status == 0, measured.err
    assert "original" in measured.out and "smpmake" in measured.out
    assert json.loads(ow.smpmake("report", "--json").out)["figures"]["serial_measured"]
