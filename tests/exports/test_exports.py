"""Recorded builds for other tools: compilation databases, and ninja files that build the same."""

from __future__ import annotations

import json
import os
import posixpath
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from smpmake.commands.files.depfiles import prerequisites
from smpmake.commands.model import Files
from smpmake.disk.paths import FolderFiles
from smpmake.exports import compile_commands, ninja
from smpmake.records import BuildRecord, CommandRecord
from tests.support import needs
from tests.support.made import build, keep, ran
from tests.support.space import MAIN, Space
from tests.support.variants import often

NINJA = str(Path(sys.executable).parent / "ninja")
OWN = (".ninja_log", ".ninja_deps", "build.ninja", ".ninja_lock")
"""What ninja and its file leave in the folder."""


class Disk:
    """A disk of which only names are known: files below /src, folders, and texts."""

    def __init__(
        self, *there: str, folders: tuple[str, ...] = (), texts: dict[str, str] | None = None
    ) -> None:
        self.texts = texts or {}
        self.there = {*there, *self.texts}
        self.folders = {"/src", *folders}

    def canonical(self, cwd: str, path: str) -> str:
        return posixpath.normpath(posixpath.join(cwd, path))

    def exists(self, path: str) -> bool:
        return path in self.there or path in self.folders

    def is_dir(self, path: str) -> bool:
        return path in self.folders

    def is_empty(self, path: str) -> bool:
        return not self.texts.get(path)

    def files(self, cwd: str) -> Files:
        return _Files(self, cwd)


class _Files:
    def __init__(self, disk: Disk, cwd: str) -> None:
        self.disk, self.cwd = disk, cwd

    def read_text(self, path: str) -> str | None:
        return self.disk.texts.get(self.disk.canonical(self.cwd, path))

    def is_dir(self, path: str) -> bool:
        return self.disk.is_dir(self.disk.canonical(self.cwd, path))

    def exists(self, path: str) -> bool:
        return self.disk.exists(self.disk.canonical(self.cwd, path))


def did(
    line: str | list[str], inputs: str = "", outputs: str = "", reads: str = "", **fields: object
) -> CommandRecord:
    """A command that succeeded in /src; names of files are those below it."""
    words = shlex.split(line) if isinstance(line, str) else line
    kind = {"gcc": "compile" if "-c" in words else "link", "ar": "archive", "ranlib": "archive"}
    below = [tuple(f"/src/{name}" for name in each.split()) for each in (inputs, outputs, reads)]
    standard: dict[str, object] = {
        "tool": words[0],
        "kind": kind.get(words[0], "file"),
        "argv": b"".join(os.fsencode(word) + b"\0" for word in words),
        "inputs": below[0],
        "outputs": below[1],
        "reads": below[2] or below[0],
    }
    return ran(0, 0, 1, 2, **(standard | fields))


def made_of(*commands: CommandRecord) -> BuildRecord:
    """A build of these commands in their order."""
    for number, command in enumerate(commands):
        command.number = number
    return build(*commands)


def edges(record: BuildRecord, disk: Disk) -> dict[str, tuple[str, str]]:
    """The edges by their outputs: all inputs, and the command."""
    found = {}
    for chain in ninja.plan(record, disk).chains:
        names = " ".join(path.removeprefix("/src/") for path in chain.outputs)
        inputs = " ".join(path.removeprefix("/src/") for path in (*chain.inputs, *chain.implicit))
        found[names] = (inputs, ninja.shell_command(chain, "/src"))
    return found


# ---------------------------------------------------------------------- chains


def test_a_compile_and_a_link() -> None:
    record = made_of(
        did("gcc -c -o a.o a.c", "a.c", "a.o", "a.c a.h"),
        did("gcc -o prog a.o -lm", "a.o libm.a", "prog"),
    )
    assert edges(record, Disk("/src/a.c", "/src/a.h")) == {
        "a.o": ("a.c a.h", "gcc -c -o a.o a.c"),
        "prog": ("a.o", "gcc -o prog a.o -lm"),
    }


def test_what_was_printed_into_a_file_is_again() -> None:
    record = made_of(
        did("gcc -MMD -c -o a.o a.c", "a.c", "a.o a.d"),
        did("sed s/x/y/ a.d", "a.d", "out/it's", kind="inspect"),
        did("gcc -E -MMD -MF b.d b.c", "b.c", "b.d b.i", kind="preprocess"),
        did("sed s/x/y/ ../a.d", "a.d", "sub/n", kind="inspect", cwd="/src/sub"),
    )
    found = edges(record, Disk("/src/a.c", "/src/b.c", folders=("/src/out", "/src/sub")))
    commands = [command for _, command in found.values()]
    assert "sed s/x/y/ a.d > 'out/it'\"'\"'s'" in commands
    assert "gcc -E -MMD -MF b.d b.c > b.i" in commands
    assert any(command.endswith("cd sub && exec sed s/x/y/ ../a.d > n") for command in commands)


def test_what_is_moved_away_belongs_to_the_edge() -> None:
    record = made_of(
        did("gcc -MD -MF d/a.Tpo -c -o a.o a.c", "a.c", "a.o d/a.Tpo"),
        did("mv -f d/a.Tpo d/a.Po", "d/a.Tpo", "d/a.Po"),
    )
    (edge,) = edges(record, Disk("/src/a.c")).items()
    line = "gcc -MD -MF d/a.Tpo -c -o a.o a.c && mv -f d/a.Tpo d/a.Po"
    assert edge == ("a.o d/a.Po", ("a.c", line))


def test_an_archive_made_in_steps_is_one_edge() -> None:
    record = made_of(
        did("gcc -c a.c", "a.c", "a.o"),
        did("gcc -c b.c", "b.c", "b.o"),
        did("rm -f lib.a"),
        did("ar cr lib.a a.o", "a.o", "lib.a"),
        did("ar r lib.a b.o", "b.o", "lib.a"),
        did("ranlib lib.a", "", "lib.a"),
    )
    line = "rm -f -- lib.a && ar cr lib.a a.o && ar r lib.a b.o && ranlib lib.a"
    assert edges(record, Disk("/src/a.c", "/src/b.c"))["lib.a"] == ("a.o b.o", line)


def test_who_used_what_was_changed_later_runs_between() -> None:
    record = made_of(
        did("gcc -c a.c", "a.c", "a.o"),
        did("gcc -o one a.o", "a.o", "one"),
        did("gcc -DTWO -c a.c", "a.c", "a.o"),
        did("gcc -o two a.o", "a.o", "two"),
    )
    lines = edges(record, Disk("/src/a.c"))
    first = "gcc -c a.c && gcc -o one a.o && gcc -DTWO -c a.c"
    assert lines == {"one a.o": ("a.c", first), "two": ("a.o", "gcc -o two a.o")}


def test_what_nobody_used_before_it_was_replaced_is_left_out() -> None:
    record = made_of(
        did("gcc -c -Werror a.c", "a.c", "a.o", verdict="foreground", status=None),
        did("gcc -c a.c", "a.c", "a.o"),
    )
    assert edges(record, Disk("/src/a.c")) == {"a.o": ("a.c", "gcc -c a.c")}


def test_a_cleanup_of_many_does_not_tie_them_together() -> None:
    record = made_of(
        did("gcc -c -o a.tmp a.c", "a.c", "a.tmp"),
        did("cp a.tmp a.o", "a.tmp", "a.o"),
        did("gcc -c -o b.tmp b.c", "b.c", "b.tmp"),
        did("cp b.tmp b.o", "b.tmp", "b.o"),
        did("rm -f a.tmp b.tmp old.tmp"),
    )
    assert edges(record, Disk("/src/a.c", "/src/b.c")) == {
        "a.o": ("a.c", "gcc -c -o a.tmp a.c && cp a.tmp a.o && rm -f -- a.tmp"),
        "b.o": ("b.c", "gcc -c -o b.tmp b.c && cp b.tmp b.o && rm -f -- b.tmp"),
    }


def test_a_removed_folder_takes_its_files_along() -> None:
    record = made_of(
        did("gcc -c -o t/a.o a.c", "a.c", "t/a.o"),
        did("gcc -o a t/a.o", "t/a.o", "a"),
        did("rm -rf t"),
    )
    line = "mkdir -p -- t && gcc -c -o t/a.o a.c && gcc -o a t/a.o && rm -f -- t/a.o"
    assert edges(record, Disk("/src/a.c")) == {"a": ("a.c", line)}


def test_probes_that_were_removed_leave_no_edge() -> None:
    record = made_of(
        did("gcc -c conftest.c", "conftest.c", "conftest.o", reason="probe-name"),
        did("rm -f conftest.o conftest.c"),
        did("gcc -c a.c", "a.c", "a.o"),
    )
    plan = ninja.plan(record, Disk("/src/a.c"))
    assert [chain.outputs for chain in plan.chains] == [("/src/a.o",)]


def test_circles_become_one_edge() -> None:
    """The compile read the header that was there before, of which it makes the next one."""
    record = made_of(
        did("gcc -c a.c", "a.c", "a.o", "a.c next.h"),
        did("cp a.o next.h", "a.o", "next.h"),
        did("gcc -c b.c", "b.c", "b.o", "b.c next.h"),
    )
    found = edges(record, Disk("/src/a.c", "/src/b.c", "/src/next.h"))
    assert found == {
        "a.o next.h": ("a.c", "gcc -c a.c && cp a.o next.h"),
        "b.o": ("b.c next.h", "gcc -c b.c"),
    }


def test_a_link_that_is_there_goes_first() -> None:
    record = made_of(did("ln -s lib.so.1 lib.so", "lib.so.1", "lib.so"))
    (chain,) = ninja.plan(record, Disk("/src/lib.so.1", "/src/lib.so")).chains
    assert ninja.shell_command(chain, "/src") == "rm -f -- lib.so && ln -s lib.so.1 lib.so"


def test_an_archive_that_is_appended_to_begins_anew() -> None:
    record = made_of(did("ar cq lib.a a.o", "a.o", "lib.a"))
    line = edges(record, Disk("/src/a.o", "/src/lib.a"))["lib.a"][1]
    assert line == "rm -f -- lib.a && ar cq lib.a a.o"


def test_a_touched_source_is_no_output_and_a_stamp_is_one() -> None:
    record = made_of(did("touch configure", "", "configure"), did("touch stamp", "", "stamp"))
    disk = Disk(texts={"/src/configure": "#!/bin/sh\n", "/src/stamp": ""})
    assert edges(record, disk) == {"stamp": ("", "touch stamp")}


def test_outputs_that_keep_a_time_are_checked_by_ninjas_log() -> None:
    record = made_of(did("cp -p a.h inc/a.h", "a.h", "inc/a.h"), did("gcc -c a.c", "a.c", "a.o"))
    copied, compiled = ninja.plan(record, Disk("/src/a.c", "/src/a.h")).chains
    assert copied.old_times and not compiled.old_times


def test_a_folder_is_no_output() -> None:
    record = made_of(did("install -d dir", "", "dir"), did("gcc -c a.c", "a.c", "a.o"))
    assert list(edges(record, Disk("/src/a.c", folders=("/src/dir",)))) == ["a.o"]


def test_parts_of_a_command_are_one_again() -> None:
    parts = "/tmp/session/parts/0"
    record = made_of(
        did(f"gcc -O2 -c -o {parts}/0-a.o a.c", "a.c", "", "a.c a.h"),
        did(f"gcc -O2 -c -o {parts}/1-b.o b.c", "b.c"),
        did(f"gcc -O2 -o prog {parts}/0-a.o {parts}/1-b.o", "", "prog"),
    )
    for number, name in enumerate("ab"):
        record.commands[number].outputs = (f"{parts}/{number}-{name}.o",)
    record.commands[2].inputs = tuple(c.outputs[0] for c in record.commands[:2])
    found = edges(record, Disk("/src/a.c", "/src/b.c", "/src/a.h"))
    assert found == {"prog": ("a.c b.c a.h", "gcc -O2 -o prog a.c b.c")}


# ---------------------------------------------------------------------- what is not in it


def test_a_source_that_is_gone() -> None:
    """What was made of it is a file like any other then."""
    record = made_of(
        did("gcc -c gone.c", "gone.c", "gone.o"),
        did("gcc -c a.c", "a.c", "a.o"),
        did("gcc -o prog a.o gone.o", "a.o gone.o", "prog"),
    )
    plan = ninja.plan(record, Disk("/src/a.c", "/src/gone.o"))
    assert [chain.outputs for chain in plan.chains] == [("/src/a.o",), ("/src/prog",)]
    assert plan.chains[1].inputs == ("/src/a.o", "/src/gone.o")
    assert [left.why for left in plan.left_out] == ["/src/gone.c is gone"]
    assert any("1 commands cannot be run again" in line for line in plan.warnings())


def test_a_command_that_reads_standard_input() -> None:
    record = made_of(
        did("gcc -x c - -o prog", "", "prog", reason="reads-stdin", verdict="foreground"),
        did("gcc -c a.c", "a.c", "a.o"),
    )
    plan = ninja.plan(record, Disk("/src/a.c", "/src/prog"))
    assert [chain.outputs for chain in plan.chains] == [("/src/a.o",)]
    assert plan.left_out[0].why == "it reads standard input"


def test_secrets_are_told() -> None:
    record = made_of(did("gcc -DAPI_KEY=*** -c a.c", "a.c", "a.o"))
    (warning,) = ninja.plan(record, Disk("/src/a.c")).warnings()
    assert warning.startswith("1 commands hold a secret")
    found = compile_commands.found_in(record, FolderFiles, lambda path: True)
    assert found.redacted == 1 and len(found.warnings()) == 1


def test_headers_that_nobody_saw_come_from_the_dependency_file() -> None:
    line = "gcc -MD -MF a.Tpo -c -o a.o a.c"
    commands = (
        did(line, "a.c", "a.o a.Tpo", verdict="foreground", status=None),
        did("mv a.Tpo a.Po", "a.Tpo", "a.Po"),
    )
    commands[0].reads = ()
    disk = Disk("/src/a.c", "/src/my a.h", texts={"/src/a.Po": "a.o: a.c \\\n my\\ a.h gone.h\n"})
    plan = ninja.plan(made_of(*commands), disk)
    assert plan.chains[0].implicit == ("/src/my a.h",)
    assert plan.warnings() == []
    del disk.texts["/src/a.Po"]
    (warning,) = ninja.plan(made_of(*commands), disk).warnings()
    assert "could not see which headers" in warning


def test_a_dependency_file_is_understood() -> None:
    text = "a.o b.o: a.c my\\ dir/x.h \\\n  cost$$.h c\\:d.h\n\na.h:\n"
    assert prerequisites(text) == ("a.c", "my dir/x.h", "cost$.h", "c:d.h")


def test_a_partial_build_is_told() -> None:
    record = made_of(did("gcc -c a.c", "a.c", "a.o"), did("gcc -o prog a.o b.o", "a.o b.o", "prog"))
    (warning,) = ninja.plan(record, Disk("/src/a.c", "/src/b.o")).warnings()
    assert "holds only what that build ran" in warning


def test_what_a_compiler_cache_keeps_is_no_input() -> None:
    reads = ("/src/a.c", "/root/.cache/ccache/0/1R", "/var/cc/stats", "/opt/x.h", "/src/.cache/y.h")
    record = made_of(did("ccache gcc -c a.c", "a.c", "a.o", kind="compile"))
    record.commands[0].reads = reads
    record.commands[0].surprises = ("wrote /var/cc/stats",)
    (chain,) = ninja.plan(record, Disk(*reads)).chains
    assert (chain.outputs, chain.implicit) == (("/src/a.o",), ("/opt/x.h", "/src/.cache/y.h"))


def test_an_output_that_nobody_named() -> None:
    """It is one if one command alone wrote it: what several write is a log."""
    record = made_of(
        did("gcc -c a.c", "a.c", "a.o", surprises=("wrote /src/a.x", "wrote /src/log")),
        did("gcc -c b.c", "b.c", "b.o", surprises=("wrote /src/log",)),
    )
    disk = Disk("/src/a.c", "/src/b.c", "/src/a.x", "/src/log", "/src/a.o", "/src/b.o")
    assert list(edges(record, disk)) == ["a.o a.x", "b.o"]


def test_what_earlier_builds_made_is_missed() -> None:
    whole = made_of(did("gcc -c a.c", "a.c", "a.o"), did("gcc -c b.c", "b.c", "b.o"))
    last = made_of(did("gcc -c a.c", "a.c", "a.o"))
    assert ninja.missing(last, [whole], Disk("/src/a.o", "/src/b.o")) == ["/src/b.o"]
    assert ninja.missing(last, [whole], Disk("/src/a.o")) == []


def test_files_that_went_away_are_told() -> None:
    """mv and its like are not recorded where nothing is pending."""
    record = made_of(*(did(f"gcc -c {name}.c", f"{name}.c", f"{name}.o") for name in "abc"))
    sources = [f"/src/{name}.c" for name in "abc"]
    (warning,) = ninja.plan(record, Disk(*sources, "/src/a.o", "/src/b.o")).warnings()
    assert warning.startswith("1 files that the build made are gone (/src/c.o")
    assert ninja.plan(record, Disk(*sources)).warnings() == []


@pytest.mark.parametrize(
    ("change", "told"),
    [({"status": 2}, "failed (status 2)"), ({"complete": False}, "was killed"), ({}, "ran no")],
)
def test_a_build_that_is_not_whole_is_refused(change: dict[str, object], told: str) -> None:
    record = made_of(*([did("gcc -c a.c", "a.c", "a.o")] if change else []))
    for name, value in change.items():
        setattr(record, name, value)
    with pytest.raises(ninja.ExportError) as raised:
        ninja.plan(record, Disk("/src/a.c"))
    assert told in str(raised.value) and "--build" in str(raised.value)


def test_commands_that_failed_or_never_ran_are_not_in_it() -> None:
    record = made_of(
        did("gcc -c -DTRY a.c", "a.c", "a.o", state="failed", status=1),
        did("gcc -c b.c", "b.c", "b.o", state="cancelled", status=None),
        did("gcc -c a.c", "a.c", "a.o"),
    )
    assert list(edges(record, Disk("/src/a.c", "/src/b.c"))) == ["a.o"]


# ---------------------------------------------------------------------- the text, by ninja itself

ODD = ["a b", "cost$5", "$ x", "c:d", "e|f", "it's", 'say "so"', "a$$b  c", "#x", "-y", "ü", "*"]


def test_names_and_words_reach_the_tool_as_they_were(tmp_path: Path) -> None:
    """Whatever is in them: ninja's escapes, the shell's, both."""
    root = str(tmp_path)
    words = [*ODD, "two\nlines\n", "\r", "tab\there", "$in", "${out}", "`id`", "\\"]
    commands = []
    for number, name in enumerate(ODD):
        (tmp_path / f"{name}.in").write_text("x")
        tool = "import sys; open(sys.argv[1], 'w').write(repr(sys.argv[2:]))"
        argv = [sys.executable, "-c", tool, f"{name}.out", *words]
        record = did(argv, cwd=root, kind="unknown", tool="python")
        record.number = number
        record.inputs = record.reads = (f"{root}/{name}.in",)
        record.outputs = (f"{root}/{name}.out",)
        commands.append(record)
    made = build(*commands)
    made.cwd = root
    plan = ninja.plan(made, Real())
    assert len(plan.chains) == len(ODD)
    (tmp_path / "build.ninja").write_text(ninja.text(plan.chains, root, "x"), encoding="utf-8")
    subprocess.run([NINJA, "--quiet"], cwd=root, check=True)
    for name in ODD:
        assert (tmp_path / f"{name}.out").read_text() == repr(words), name
    again = subprocess.run([NINJA], cwd=root, check=True, capture_output=True, text=True)
    assert "no work to do" in again.stdout


class Real(Disk):
    """The disk as it is."""

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)


def test_an_output_older_than_its_input_is_made_once(tmp_path: Path) -> None:
    """cp -p keeps the time of the one file, and reads another."""
    root = str(tmp_path)
    for name in ("old", "new"):
        (tmp_path / name).write_text(name)
    os.utime(tmp_path / "old", (1e9, 1e9))
    record = did("cp -p old copy", cwd=root, outputs="x")
    record.inputs = (f"{root}/old",)
    record.reads = (f"{root}/new",)
    record.outputs = (f"{root}/copy",)
    made = build(record)
    made.cwd = root
    (tmp_path / "build.ninja").write_text(
        ninja.text(ninja.plan(made, Real()).chains, root, "x"), encoding="utf-8"
    )
    for expected in ("[1/1]", "no work to do"):
        ended = subprocess.run([NINJA], cwd=root, check=True, capture_output=True, text=True)
        assert expected in ended.stdout
    os.utime(tmp_path / "new")
    ended = subprocess.run([NINJA], cwd=root, check=True, capture_output=True, text=True)
    assert "[1/1]" in ended.stdout


def test_a_command_longer_than_the_system_takes(tmp_path: Path) -> None:
    root = str(tmp_path)
    argv = ["/usr/bin/touch", "made", *(f"unused-{number}" * 3 for number in range(8000))]
    record = did(argv, cwd=root, kind="unknown", tool="touch")
    record.inputs = record.reads = ()
    record.outputs = (f"{root}/made",)
    made = build(record)
    made.cwd = root
    plan = ninja.plan(made, Real())
    text = ninja.text(plan.chains, root, "x")
    (tmp_path / "build.ninja").write_text(text)
    subprocess.run([NINJA, "--quiet"], cwd=root, check=True)
    assert (tmp_path / "made").exists()
    assert not [*tmp_path.glob(".smpmake*")]


# ---------------------------------------------------------------------- compilation databases


def entries(*commands: CommandRecord) -> list[tuple[str, str, list[str]]]:
    """File, output and arguments of each entry; every source is there."""
    found = compile_commands.found_in(
        made_of(*commands), Disk(texts={"/src/args": "-DX='a b' x.c"}).files, lambda path: True
    )
    return [(e["file"], e["output"], e["arguments"]) for e in found.entries]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gcc -O2 -c a.c", [("a.c", "a.o", "gcc -O2 -c a.c")]),
        ("/opt/gcc-9/bin/g++ -c -o x/a.o a.cc", [("a.cc", "x/a.o", None)]),
        ("ccache gcc -c a.c", [("a.c", "a.o", "ccache gcc -c a.c")]),
        ("gcc -c start.S", [("start.S", "start.o", None)]),
        ("gcc -c plain.s", []),
        ("gcc -c a.m", [("a.m", "a.o", None)]),
        ("gcc -S a.c", [("a.c", "a.s", None)]),
        ("gcc -o prog main.c -lm", [("main.c", "prog", None)]),
        (
            "gcc -c -O1 a.c b.c",
            [("a.c", "a.o", "gcc -c -O1 a.c"), ("b.c", "b.o", "gcc -c -O1 b.c")],
        ),
        (
            "gcc -O1 -o prog a.c b.c c.o -lm",
            [
                ("a.c", "prog-a.o", "gcc -O1 a.c -c -o prog-a.o"),
                ("b.c", "prog-b.o", "gcc -O1 b.c -c -o prog-b.o"),
            ],
        ),
        ("gcc -c @args", [("x.c", "x.o", "gcc -c '-DX=a b' x.c")]),
        ("gcc -o prog a.o", []),
        ("gcc -E a.c", []),
        ("gcc -MM a.c", []),
        ("gcc --version", []),
        ("ar cr lib.a a.o", []),
        ("as -o a.o a.s", []),
    ],
)
def test_one_entry_for_each_compiled_source(
    line: str, expected: list[tuple[str, str, str | None]]
) -> None:
    wanted = [(f, o, shlex.split(line if text is None else text)) for f, o, text in expected]
    assert entries(did(line)) == wanted


def test_the_last_compile_of_an_object_counts() -> None:
    found = entries(did("gcc -DONE -c a.c"), did("gcc -DTWO -c a.c"), did("gcc -c a.c -o b.o"))
    assert [(output, words[1]) for _, output, words in found] == [("a.o", "-DTWO"), ("b.o", "-c")]


def test_a_check_and_a_lost_response_file_have_no_entry() -> None:
    gone = did("gcc -c @gone")
    found = compile_commands.found_in(
        made_of(did("gcc -c -o /dev/null a.c", reason="discarded-output"), gone),
        FolderFiles,
        lambda path: True,
    )
    assert found.entries == ()
    assert found.warnings() == [
        "1 compile commands are left out: they name a response file that is gone"
    ]


def test_words_that_are_no_text() -> None:
    odd = did("gcc -c a.c", argv=b"gcc\0-DX=\xff\0-c\0a.c\0")
    found = compile_commands.found_in(made_of(odd), FolderFiles, lambda path: True)
    assert (found.entries, found.not_text) == ((), 1)


def entry(file: str, output: str | None = None, directory: str = "/src", **more: object) -> object:
    """An entry of a database."""
    return {"directory": directory, "file": file} | ({"output": output} if output else {}) | more


def test_merging_replaces_keeps_and_drops() -> None:
    old = compile_commands.parse(
        json.dumps(
            [
                entry("a.c", "a.o", command="gcc -DOLD -c a.c"),
                entry("b.c", "b.o"),
                entry("gone.c", "gone.o"),
                entry("/src/d.c"),
                entry("a.c", "./a.o"),
                entry("e.c", custom=1),
            ]
        )
    )
    new = compile_commands.parse(
        json.dumps([entry("../src/a.c", "a.o"), entry("d.c", "d.o"), entry("n.c", "n.o")])
    )
    merged = compile_commands.merge(old, new, lambda path: path != "/src/gone.c")
    assert merged == [new[0], old[1], old[5], new[1], new[2]]
    kept = [old[4], *old[1:4], old[5]]  # of two with one key the last
    assert compile_commands.merge(old, [], lambda path: True) == kept


@pytest.mark.parametrize(
    "text", ["", "{", "{}", "[1]", '[{"file": "a"}]', '[{"file": 1, "directory": "/"}]']
)
def test_a_damaged_database_is_told_and_left(space: Space, text: str) -> None:
    space.write({"a.c": MAIN, "compile_commands.json": text})
    keep_for(space, did("gcc -c a.c", cwd=str(space.folder)))
    ended = space.smpmake("export", "compile-commands")
    assert ended.status == 125 and "left as it is" in ended.err
    assert (space.folder / "compile_commands.json").read_text() == text


def keep_for(space: Space, *commands: CommandRecord, **fields: object) -> int:
    """Brings a build of these commands into the space's history."""
    record = made_of(*commands)
    record.cwd = str(space.folder)
    for name, value in fields.items():
        setattr(record, name, value)
    return keep(space.root / "state" / "smpmake" / "history.db", record)


# ---------------------------------------------------------------------- the command line


def test_the_command_line(space: Space) -> None:
    space.write({"a.c": MAIN, "b.c": MAIN})
    assert "no build" in space.smpmake("export", "ninja").err.lower()
    first = keep_for(space, did("gcc -c a.c", cwd=str(space.folder)))
    keep_for(space, did("gcc -c b.c", cwd=str(space.folder)))
    assert json.loads(space.smpmake("export", "compile-commands", "-").out)[0]["file"] == "b.c"
    assert [p.name for p in space.folder.glob("*.json")] == []
    ended = space.smpmake("export", "compile-commands", "--build", str(first), "x.json")
    said = f"smpmake: wrote x.json: 1 compile command, 1 of them from build {first}\n"
    assert (ended.status, ended.err) == (0, said)
    assert json.loads((space.folder / "x.json").read_text())[0]["file"] == "a.c"
    assert space.smpmake("export", "compile-commands", "x.json").status == 0
    merged = json.loads((space.folder / "x.json").read_text())
    assert [each["file"] for each in merged] == ["a.c", "b.c"]
    assert space.smpmake("export", "ninja", "--build", "tomorrow").status == 125
    assert space.smpmake("export", "compile-commands", "no/such/folder").status == 125
    elsewhere = space.root / "elsewhere"
    elsewhere.mkdir()
    space.folder = elsewhere
    ended = space.smpmake("export", "ninja")
    assert ended.status == 125 and "no build of this folder" in ended.err


def test_a_rebuild_with_nothing_to_do_leaves_the_database(space: Space) -> None:
    space.write({"a.c": MAIN})
    keep_for(space, did("gcc -c a.c", cwd=str(space.folder)))
    assert space.smpmake("export", "compile-commands").status == 0
    before = (space.folder / "compile_commands.json").read_text()
    keep_for(space)
    ended = space.smpmake("export", "compile-commands")
    assert ended.status == 0  # the last build that did anything
    assert ended.err.startswith("smpmake: wrote compile_commands.json: 1 compile command, 1 of")
    assert (space.folder / "compile_commands.json").read_text() == before
    ended = space.smpmake("export", "ninja")
    assert ended.status == 125 and not (space.folder / "build.ninja").exists()


def test_a_failed_build_keeps_the_older_ninja_file(space: Space) -> None:
    space.write({"a.c": MAIN, "build.ninja": "# mine\n"})
    keep_for(space, did("gcc -c a.c", cwd=str(space.folder)), status=2)
    ended = space.smpmake("export", "ninja")
    assert ended.status == 125 and "failed (status 2)" in ended.err
    assert (space.folder / "build.ninja").read_text() == "# mine\n"


# ---------------------------------------------------------------------- real builds


def many(count: int) -> str:
    """Functions that keep a compiler busy."""
    body = "for (int i = 0; i < x; i++) { y += x * i ^ y >> 3; if (y % 7 == i) x -= y / 5; }"
    return "".join(
        f"int slow{n}(int x) {{ int y = {n}; {body} {body} return y; }}\n" for n in range(count)
    )


SLOW = many(100)
"""It is pending all the while: file tools that touch nothing pending are not recorded."""

VARIED = {
    "Makefile": """\
all:
	$(MAKE) -C lib
	$(MAKE) -C app
""",
    "include/slow.c": SLOW,
    "include/shared.h": "#define SHARED 1\n",
    "lib/Makefile": """\
CFLAGS = -g -I../include
all: slow.o libx.a libx.so
slow.o: ../include/slow.c
	gcc -O2 -c $< -o $@
%.o: %.c
	@mkdir -p .deps .libs
	gcc $(CFLAGS) -fPIC -DPIC -MT $@ -MD -MP -MF .deps/$*.Tpo -c $< -o .libs/$@
	mv -f .deps/$*.Tpo .deps/$*.Po
	gcc $(CFLAGS) -c $< -o $@
libx.a: a.o b.o
	rm -f $@
	ar cr $@ a.o
	ar r $@ b.o
	ranlib $@
libx.so: a.o b.o
	gcc -shared -o $@.1.0 .libs/a.o .libs/b.o
	rm -f $@.1 $@
	ln -s $@.1.0 $@.1
	ln -s $@.1 $@
-include .deps/*.Po
""",
    "lib/a.c": '#include "shared.h"\n#include "own.h"\nint a(void) { return SHARED + OWN; }\n',
    "lib/b.c": "int b(void) { return 2; }\n",
    "lib/own.h": "#define OWN 3\n",
    "app/Makefile": """\
all: slow.o prog pair stamp copy/slow.o
generator: generator.c
	gcc -o $@ $<
generated.h: generator
	./generator > $@
slow.o: ../include/slow.c generated.h
	gcc -O2 -c $< -o $@
main.o: main.c generated.h api.h
	gcc @args -c main.c -o $@
plus.o: plus.cc
	g++ -O1 -c plus.cc
prog: main.o plus.o ../lib/libx.a
	gcc -c 'two words.c' -o 'two words.o' '-DTEXT="it'"'"'s $$5, a:b; `x`"'
	gcc -c 'cost$$5.c' -o 'cost$$5.o'
	gcc -g -o $@ main.o plus.o 'two words.o' 'cost$$5.o' ../lib/libx.a
	strip --strip-debug $@
pair: one.c two.c
	gcc -o $@ one.c two.c
copy/slow.o: slow.o
	mkdir -p copy
	cp -p slow.o copy/slow.o
stamp: prog pair
	gcc -c -o temporary.o one.c
	rm -f temporary.o
	touch $@
""",
    "app/args": "-DARGS='\"of a file\"' -I../include -MMD\n",
    "app/generator.c": """\
#include <stdio.h>
int main(void) { puts("#define GENERATED 7"); return 0; }
""",
    "app/main.c": """\
#include <stdio.h>
#include "shared.h"
#include "generated.h"
#include "api.h"
int main(void)
{
	printf("%s %d\\n", ARGS, a() + b() + plus() + GENERATED + SHARED + cost());
	puts(text());
	return 0;
}
""",
    "app/api.h": "int a(void), b(void), plus(void), cost(void);\nconst char *text(void);\n",
    "app/plus.cc": 'extern "C" int plus(void) { return [] { return 5; }(); }\n',
    "app/two words.c": "const char *text(void) { return TEXT; }\n",
    "app/cost$5.c": "int cost(void) { return 100; }\n",
    "app/one.c": "int two(void);\nint main(void) { return two(); }\n",
    "app/two.c": "int two(void) { return 0; }\n",
}


def tree(space: Space) -> dict[str, str]:
    """The files, without ninja's own."""
    return {name: what for name, what in space.tree().items() if name not in OWN}


def outputs(space: Space) -> list[str]:
    """The names of all that ninja would make."""
    listed = space.ok(NINJA, "-t", "targets", "all").out.splitlines()
    return [line.rpartition(": ")[0] for line in listed]


def exported(space: Space, *arguments: str) -> dict[str, str]:
    """Builds, exports, and takes away all that was made; returns what the build had left."""
    ended = space.smpmake(*arguments)
    assert ended.status == 0, ended
    built = tree(space)
    ended = space.smpmake("export", "ninja")
    assert ended.status == 0
    assert re.fullmatch(r"smpmake: wrote build\.ninja: \d+ commands of build \d+\n", ended.err)
    for name in outputs(space):
        (space.folder / name).unlink()
    return built


def rebuilt(space: Space, *options: str) -> set[str]:
    """What ninja writes now; afterwards it finds nothing to do."""
    before = {name: (space.folder / name).lstat().st_mtime_ns for name in outputs(space)}
    space.ok(NINJA, *options)
    again = space.ok(NINJA, "-d", "explain")
    assert "no work to do" in again.out, again
    after = {name: (space.folder / name).lstat().st_mtime_ns for name in outputs(space)}
    return {name for name in after if after[name] != before[name]}


@pytest.mark.slow
@pytest.mark.parametrize("jobs", often([4], [1, 4]))
def test_ninja_builds_the_sample(space: Space, jobs: int) -> None:
    space.copy("sample")
    built = exported(space, "make")
    space.ok(NINJA, f"-j{jobs}")
    assert tree(space) == built
    assert rebuilt(space) == set()
    os.utime(space.folder / "app" / "table.h")
    assert rebuilt(space) == {"app/main.o", "app/table.o", "app/sample"}
    assert tree(space) == built


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.parametrize("jobs", often([4], [1, 4]))
def test_ninja_builds_what_make_did(space: Space, jobs: int) -> None:
    needs.require("g++")
    space.write(VARIED)
    built = exported(space, "-j1", "make")
    assert "app/temporary.o" not in built
    space.ok(NINJA, f"-j{jobs}")
    assert tree(space) == built
    said = space.ok("app/prog").out
    assert said == "of a file 119\nit's $5, a:b; `x`\n"
    assert rebuilt(space) == set()
    library = {"lib/a.o", "lib/.libs/a.o", "lib/.deps/a.Po", "lib/libx.a", "lib/libx.so.1.0"}
    links = {"lib/libx.so", "lib/libx.so.1"}
    program = {"app/prog"}
    os.utime(space.folder / "lib" / "own.h")
    assert rebuilt(space, f"-j{jobs}") == library | links | program
    os.utime(space.folder / "include" / "shared.h")
    assert rebuilt(space) == library | links | program | {"app/main.o", "app/main.d"}
    os.utime(space.folder / "app" / "generated.h")
    assert rebuilt(space) == program | {"app/main.o", "app/main.d"}
    os.utime(space.folder / "app" / "args")
    assert rebuilt(space) == program | {"app/main.o", "app/main.d"}
    os.utime(space.folder / "app" / "two.c")
    assert rebuilt(space) == {"app/pair"}
    os.utime(space.folder / "app" / "api.h")
    assert rebuilt(space) == program | {"app/main.o", "app/main.d"}
    os.utime(space.folder / "include" / "slow.c")
    assert rebuilt(space) == {"lib/slow.o", "app/slow.o", "app/copy/slow.o"}
    assert tree(space) == built


@pytest.mark.chaos
@pytest.mark.slow
def test_ninja_builds_what_was_not_watched(space: Space) -> None:
    """Without the guard nobody sees what compilers read: dependency files say it."""
    space.copy("sample")
    ended = space.smpmake("--no-guard", "make")
    assert ended.status == 0, ended
    ended = space.smpmake("export", "ninja")
    assert "2 compiles ran where smpmake could not see" in ended.err
    space.ok(NINJA)
    os.utime(space.folder / "lib" / "sample.h")
    made = rebuilt(space)
    assert "lib/crc.o" in made and "app/sample" in made and "app/main.o" not in made


@pytest.mark.slow
def test_ninja_in_a_folder_below(space: Space) -> None:
    """What lies above is named absolutely."""
    space.write({"sub/Makefile": "p: a.o\n\tgcc -o p a.o\na.o:\n\tgcc -c ../a.c\n", "a.c": MAIN})
    assert space.smpmake("make", "-C", "sub").status == 0
    assert space.smpmake("export", "ninja", "sub/build.ninja").status == 0
    built = {name: what for name, what in space.tree().items() if name.startswith("sub/p")}
    (space.folder / "sub" / "p").unlink()
    space.ok(NINJA, "-C", "sub")
    assert built.items() <= space.tree().items()
    text = (space.folder / "sub" / "build.ninja").read_text()
    assert f"build a.o: run {space.folder}/a.c\n" in text


@pytest.mark.chaos
@pytest.mark.slow
def test_every_entry_compiles(space: Space) -> None:
    """Each entry's arguments, run in its directory, make its output from its file."""
    needs.require("g++")
    space.write(VARIED)
    assert space.smpmake("-j1", "make").status == 0
    assert space.smpmake("export", "compile-commands").status == 0
    database = json.loads((space.folder / "compile_commands.json").read_text())
    found = sorted((os.path.basename(e["directory"]), e["file"], e["output"]) for e in database)
    assert found == [
        ("app", "../include/slow.c", "slow.o"),
        ("app", "cost$5.c", "cost$5.o"),
        ("app", "generator.c", "generator"),
        ("app", "main.c", "main.o"),
        ("app", "one.c", "pair-one.o"),
        ("app", "one.c", "temporary.o"),
        ("app", "plus.cc", "plus.o"),
        ("app", "two words.c", "two words.o"),
        ("app", "two.c", "pair-two.o"),
        ("lib", "../include/slow.c", "slow.o"),
        ("lib", "a.c", ".libs/a.o"),
        ("lib", "a.c", "a.o"),
        ("lib", "b.c", ".libs/b.o"),
        ("lib", "b.c", "b.o"),
    ]
    for each in database:
        made = Path(each["directory"], each["output"])
        made.unlink(missing_ok=True)
        subprocess.run(each["arguments"], cwd=each["directory"], check=True)
        assert made.exists()
    main = next(each for each in database if each["file"] == "main.c")
    assert main["arguments"][:2] == ["gcc", '-DARGS="of a file"']


@pytest.mark.chaos
@pytest.mark.slow
def test_a_partial_rebuild_is_merged(space: Space) -> None:
    space.copy("sample")
    assert space.smpmake("make").status == 0
    assert space.smpmake("export", "compile-commands").status == 0
    before = json.loads((space.folder / "compile_commands.json").read_text())
    assert len(before) == 14
    os.utime(space.folder / "lib" / "crc.c")
    assert space.smpmake("make").status == 0
    assert space.smpmake("export", "compile-commands").status == 0
    assert json.loads((space.folder / "compile_commands.json").read_text()) == before
    ended = space.smpmake("export", "ninja")
    assert "holds only what that build ran" in ended.err
    assert "files that earlier builds made are not in it" in ended.err
