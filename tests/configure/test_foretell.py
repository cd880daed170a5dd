"""The list that is read in a script is the one that its run makes."""

from __future__ import annotations

import os
import re
import shutil
import struct
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from smpmake.configure.foretell import Foretold
from tests.configure.sample import SCRIPT
from tests.support.ahead import PATIENCE, list_of, needs_a_place, store_of
from tests.support.remembered import counts, forget_all_but_checks
from tests.support.space import SMPMAKE, Space


class Check(NamedTuple):
    words: list[str]
    added: str
    text: str
    flags: int


@pytest.fixture
def store(space: Space) -> Path:
    return store_of(space)


def checks(data: bytes) -> list[Check]:
    """Those of a list that name a source (native/layout/checks.h)."""
    found = []
    at, added = 8, ""
    while at < len(data):
        size, flags, *sizes, source = struct.unpack_from("<6I", data, at)
        parts = []
        begun = at + 24
        for part in sizes:
            parts.append(data[begun : begun + part].decode())
            begun += part
        added += parts[1]
        if source:
            found.append(Check(parts[0].split("\0")[:-1], added, parts[2], flags))
            added = ""
        at += size
    return found


def foretold(folder: Path, environment: dict[str, str]) -> list[Check]:
    written: list[bytes] = []
    Foretold(folder, environment, written.append).follow()
    return checks(b"".join(written))


@pytest.mark.parametrize(
    "words",
    [[], ["CFLAGS=-O1 -DA=1"], ["--enable-more=all"], ["--enable-more=yes", "LIBS=-ldl"]],
    ids=" ".join,
)
def test_it_is_that_of_the_run(space: Space, store: Path, words: list[str]) -> None:
    space.write({"configure": SCRIPT})
    assert space.smpmake("sh", "./configure", *words).status == 0
    made = checks(list_of(store).read_bytes())
    read = foretold(space.folder, {**os.environ, **space.environment})
    # What the script writes itself before the first check is known of the run alone.
    assert made[0].added.endswith('"sample"\n')
    assert len(made) >= 7
    assert [(one.words, one.text, one.flags) for one in read] == [
        (one.words, one.text, one.flags) for one in made
    ]
    assert [one.added for one in read[1:]] == [one.added for one in made[1:]]


@needs_a_place
def test_the_first_run_is_helped(space: Space, store: Path) -> None:
    space.write({"configure": SCRIPT})
    assert space.run("sh", "./configure").status == 0
    plain = space.tree()
    space.clear()
    space.write({"configure": SCRIPT})
    told = {"STORE": f"{store}/q", "WANTED": "3"}
    ended = space.finish(space.start(SMPMAKE, "sh", "./configure", **told), PATIENCE)
    assert ended.status == 0, ended
    assert space.tree() == plain, ended
    space.expect_clean()
    assert counts(space)["ahead"] >= 3
    assert counts(space)["hits"] >= 2


@needs_a_place
@pytest.mark.parametrize("reader", ["/bin/false", "/none", "/bin/cat"])
def test_one_that_cannot_read_changes_nothing(space: Space, reader: str) -> None:
    script = f'test -z "$_SMPMAKE_READER" || _SMPMAKE_READER={reader}\n{SCRIPT}'
    space.write({"configure": script})
    assert space.smpmake("sh", "./configure").status == 0
    tree = space.tree()
    space.clear()
    space.write({"configure": script})
    assert space.run("sh", "./configure").status == 0
    assert space.tree() == tree


@pytest.mark.parametrize(
    "log",
    ["", "  $ ./none\n", "  $ \n", "  $ '\n", "  $ .\n", "  $ /dev/zero\n", "  $ ./fifo\n", "\0"],
)
def test_no_script_is_no_list(tmp_path: Path, log: str) -> None:
    (tmp_path / "config.log").write_text(log)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError):
        Foretold(tmp_path, {}, lambda _: None).follow()


@pytest.mark.parametrize(
    "setting",
    [
        *("CC=rm -rf .", "CC=./gcc", "CC=sh -c gcc", "CC=gcc @words", "CFLAGS=-wrapper touch,x"),
        *("CFLAGS=-fplugin=x.so", "CFLAGS=-specs=x", "CFLAGS=-B.", "CFLAGS=-o /tmp/x", "LIBS=x.o"),
        *(
            "LIBS=-Wl,-Map=/tmp/x",
            "CPPFLAGS=-MD",
            "CPPFLAGS=-Wp,-MD,/tmp/x",
            "CFLAGS=-fdump-rtl-all",
        ),
        *("LDFLAGS=-Wl,-plugin,/x.so", "CFLAGS=-save-temps", "CFLAGS=-x/../y", "CFLAGS=--help"),
        *("CFLAGS=-fmodules", "CFLAGS=-fuse-ld=x", "LDFLAGS=-Wl,-rpath,/x,-Map,/tmp/x"),
        *("LDFLAGS=-Wl,-plugin,x.so", "LIBS=-DA=1\0-o\0/tmp/x", "LDFLAGS=-Wl,-z,x,-o,y"),
    ],
)
def test_what_may_do_more_than_compile_is_not_foretold(space: Space, setting: str) -> None:
    space.write({"configure": SCRIPT})
    log = f"  $ ./configure '{setting}'\n"
    (space.folder / "config.log").write_text(log)
    linked = setting.startswith(("LIBS", "LDFLAGS"))
    found = foretold(space.folder, {**os.environ, **space.environment})
    if linked:  # it is for programs alone
        found = [check for check in found if "-o" in check.words]
    assert found == []


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_another_language_has_its_own_compiler(space: Space) -> None:
    (space.folder / "config.log").write_text("  $ ./configure CXXFLAGS=-O1\n")
    asks = "cat >conftest.$ac_ext <<\\E\nint a;\nE\nac_fn_cxx_try_compile $LINENO\n"
    space.write({"configure": f"PACKAGE_NAME=a\nac_ext=cpp\n{asks}"})
    (check,) = foretold(space.folder, {**os.environ, **space.environment})
    assert check.words[1:] == ["g++", "-c", "-O1", "conftest.cpp"]
    assert check.flags == 0


@needs_a_place
def test_two_scripts_at_once(space: Space, store: Path) -> None:
    files = {f"{folder}/configure": SCRIPT for folder in ("a", "b/c")}
    line = "(cd a && sh ./configure) >a/out & (cd b/c && sh ./configure CFLAGS=-O1) >b/out & wait"
    space.write(files)
    assert space.run("sh", "-c", line).status == 0
    plain = space.tree()
    for _ in range(2):  # an unknown script, and a known one
        space.clear()
        space.write(files)
        told = {"STORE": f"{store}/q", "WANTED": "3"}
        ended = space.finish(space.start(SMPMAKE, "sh", "-c", line, **told), PATIENCE)
        assert ended.status == 0, ended
        assert space.tree() == plain, ended
        space.expect_clean()
        assert counts(space)["ahead"] >= 3
        forget_all_but_checks(store)


@needs_a_place
def test_a_report_says_that_checks_ran_ahead(space: Space, store: Path) -> None:
    space.write({"configure": SCRIPT, "made.c": "int made;\n"})
    line = "sh ./configure && gcc -c made.c -o made.o"
    told = {"STORE": f"{store}/q", "WANTED": "3"}
    ended = space.finish(space.start(SMPMAKE, "sh", "-c", line, **told), PATIENCE)
    assert ended.status == 0, ended
    assert re.search(r"\b\d+ checks of configure ran ahead of their script", ended.err)
    said = space.smpmake("report").out
    assert " checks of configure ran ahead of their script, on idle CPUs\n" in said
    assert "saved 0 ms" not in said


@pytest.mark.parametrize(
    "text",
    ['#include "/a/fifo"', "#include </a/fifo>", '#include "../fifo"', "x" * (1 << 18 | 1)],
    ids=["whole name", "in brackets", "above", "too large"],
)
def test_what_reads_elsewhere_is_not_foretold(space: Space, text: str) -> None:
    (space.folder / "config.log").write_text("  $ ./configure\n")
    asks = f"cat >conftest.$ac_ext <<\\E\n{text}\nE\nac_fn_c_try_compile $LINENO\n"
    space.write({"configure": f"PACKAGE_NAME=a\n{asks}"})
    assert foretold(space.folder, {**os.environ, **space.environment}) == []


GROWS: Final = "f () { a=$a$a; }\na=0123456789abcdef\n" + "f\n" * 40
NEVER_ENDS: Final = f"r=`echo {'a' * 200}|sed 's/{'a*' * 12}b/x/'`\n"


@needs_a_place
@pytest.mark.chaos
@pytest.mark.parametrize("odd", [GROWS, NEVER_ENDS], ids=["memory", "time"])
def test_reading_has_an_end(space: Space, odd: str) -> None:
    """It ends by itself, while the build goes on."""
    script = SCRIPT.replace("ac_ext=c\n", f"ac_ext=c\nif test -f /none; then\n{odd}fi\n", 1)
    space.write({"configure": script, "reads": READS})
    told = {"READER": f"{space.environment['TMPDIR']}/"}
    ended = space.finish(
        space.start(SMPMAKE, "sh", "-c", "sh ./configure && sh ./reads", **told), PATIENCE
    )
    assert ended.status == 0, ended
    space.expect_clean()


#: Waits until nobody reads a script of this build.
READS: Final = r"""
while grep -l "^$READER.*/reader.py" /dev/null `printf '%s\n' /proc/[0-9]*/cmdline` 2>/dev/null |
    xargs -r cat 2>/dev/null | tr '\0' '\n' | grep -q "^$READER.*reader.py"
do sleep 0.2; done
"""


@needs_a_place
def test_a_part_that_is_a_script_runs_as_often_as_plainly(space: Space) -> None:
    """A guess would run it once more."""
    part, log = space.root / "bin" / "as", space.root / "log"
    part.parent.mkdir()
    part.write_text(f'#!/bin/sh\necho once >> {log}\nexec {shutil.which("as")} "$@"\n')
    part.chmod(0o755)
    told = {"PATH": f"{part.parent}:{space.environment['PATH']}"}
    lines = []
    for before in ((), (SMPMAKE,), (SMPMAKE,)):
        space.clear()
        log.write_text("")
        space.write({"configure": SCRIPT})
        assert space.run(*before, "sh", "./configure", **told).status == 0
        lines.append(log.read_text().count("once\n"))
    assert lines[0] > 1
    assert lines[1] == lines[0]
    assert lines[2] <= lines[0]
