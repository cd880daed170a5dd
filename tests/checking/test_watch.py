"""A build that is checked prints, makes and returns what a plain one does."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from smpmake.checking import watch
from tests.checking.makefiles import GEN
from tests.checking.overlays import require_overlays
from tests.support import needs
from tests.support.space import SMPMAKE, Space

NEEDS_PATCH = pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")

#: Makefiles that look at MAKEFLAGS, as kbuild, automake and others do.
LOOKERS = {
    "kbuild": (
        "ifneq ($(findstring s,$(filter-out --%,$(MAKEFLAGS))),)\n$(info silent)\nendif\n"
        "ifeq ($(filter 3.%,$(MAKE_VERSION)),)\n"
        "short := $(firstword -$(MAKEFLAGS))\n"
        "ifneq ($(findstring n,$(short)),)\n$(info dry)\nendif\n"
        "ifneq ($(findstring k,$(short)),)\n$(info goes on)\nendif\nendif\nall: ; @echo made\n"
    ),
    "automake": (
        "all:\n\t@for flag in : $$MAKEFLAGS; do case $$flag in *=*|--*) ;; *n*) echo dry;; "
        "*k*) echo goes on;; esac; done; echo made\n"
    ),
    "handed-on": "all: ; @$(MAKE) -f sub.mk $(filter -j%,$(MAKEFLAGS)) one\n",
    "removed": "MAKEFLAGS =\nall: ; @$(MAKE) -f sub.mk one\n",
    "replaced": "MAKEFLAGS += --no-print-directory\nall: ; @$(MAKE) -C . -f sub.mk one\n",
}
PRINTERS = {
    "folders": "all: ; $(MAKE) -C sub\n",
    "information": "$(info read)\n$(warning take care)\nall: ; $(info run) echo made\n",
    "caught": "all: ; echo '<'`$(MAKE) -f sub.mk one`'>'\n",
    "data": "all: ; @printf '# GNU Make 4.3\\n# Files\\nPutting child 0x1 (a) PID 2\\n'\n",
    "unfinished": "all: ; @printf a; printf b >&2; printf c\n",
    "remade": "all: ; @echo made\ninclude gen.mk\ngen.mk: ; echo X=1 >$@\n",
    "failed": "all: one two\none: ; false\ntwo: ; echo two\n",
    "nothing": "all: none\n",
    "version": (
        "all: ; @$(MAKE) --version | head -1; $(MAKE) -n -f sub.mk; $(MAKE) -q -f sub.mk; true\n"
    ),
}


@pytest.mark.parametrize("name", [*LOOKERS, *PRINTERS])
def test_what_is_printed_is_what_a_plain_build_prints(space: Space, make: str, name: str) -> None:
    files = {
        "Makefile": {**LOOKERS, **PRINTERS}[name],
        "sub.mk": "one: ; @echo $@\n",
        "sub/Makefile": "all: ; @echo in sub\n",
    }
    space.write(files)
    plain = space.run(make)
    tree = space.tree()
    space.clear()
    space.write(files)
    ours = space.run(SMPMAKE, "check", make)
    assert ours.out.startswith(plain.out)
    rest = ours.out.removeprefix(plain.out)
    assert "Putting child" not in rest and "# Files" not in rest
    assert ours.err.startswith(plain.err)
    assert ours.status == plain.status or (plain.status == 0 and ours.status in (4, 5))
    assert space.tree() == tree


@pytest.mark.parametrize(
    "options",
    [(), ("-s",), ("-k",), ("-j4",), ("-j", "4"), ("--jobs=2",), ("-kj4",), ("-sj", "4", "-j")],
)
def test_it_is_serial_whatever_make_is_told(space: Space, options: tuple[str, ...]) -> None:
    """Each recipe fails if another is at work."""
    alone = "mkdir lock && echo $@ >$@ && rmdir lock"
    space.write({"Makefile": f"all: a b c d\na b c d:\n\t@{alone}\n"})
    done = space.run(SMPMAKE, "check", "make", *options)
    assert "a and b, c and 1 more all write lock\n" in done.out
    assert "ended with status" not in done.err


def test_other_languages_do_not_matter(space: Space) -> None:
    space.write({"Makefile": f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}"})
    done = space.run(SMPMAKE, "check", "make", LC_ALL="de_DE.UTF-8", LANGUAGE="de:fr")
    assert "add   o: gen.h" in done.out


def test_a_script_of_several_makes(space: Space) -> None:
    """Between its makes the script's order holds."""
    space.write(
        {
            "Makefile": f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}second: ; cat o gen.h >$@\n",
            "build.sh": "make all && make second\n",
        }
    )
    done = space.run(SMPMAKE, "check", "sh", "build.sh")
    assert done.status == 4
    assert "1 finding in 3 targets of 2 makes" in done.out


def test_a_script_without_a_make_has_no_declarations(space: Space) -> None:
    done = space.run(SMPMAKE, "check", "sh", "-c", "echo 1 >a; cat a >b")
    assert (done.status, done.out) == (
        5,
        "smpmake met no GNU make: only makefiles declare an order, a script does not\n",
    )


def test_what_was_up_to_date_was_not_looked_at(space: Space) -> None:
    space.write({"Makefile": "all: a b\na b: ; echo >$@\n"})
    os.utime(space.folder / "Makefile", (1, 1))
    assert space.run("make", "a").status == 0
    done = space.run(SMPMAKE, "check", "make")
    assert done.status == 5
    assert "did not look at 1 target that was up to date" in done.out
    done = space.run(SMPMAKE, "check", "make")
    assert done.status == 5
    assert "smpmake ran no recipe: everything was up to date; start from a clean tree" in done.out


def test_what_came_with_the_sources_is_counted_apart(space: Space) -> None:
    space.write({"Makefile": "all: a b\na b: ; echo >$@\n", "a": ""})
    os.utime(space.folder / "Makefile", (1, 1))
    os.utime(space.folder / "a", (2, 2))
    done = space.run(SMPMAKE, "check", "make")
    assert done.status == 0
    assert "1 target came with the sources or from configure: no recipe ran for it" in done.out


def test_what_configure_makes_last_is_no_leftover(space: Space) -> None:
    space.write(
        {"Makefile": "all: b stamp\nb: ; echo >$@\nstamp: ; ./config.status $@\n", "stamp": ""}
    )
    done = space.run(SMPMAKE, "check", "make")
    assert done.status == 0
    assert "1 target came with the sources or from configure: no recipe ran for it" in done.out


def test_a_failed_build_has_its_own_status(space: Space) -> None:
    space.write({"Makefile": f"all: gen.h o\no:\n\tcat gen.h >$@; false\n{GEN}"})
    done = space.run(SMPMAKE, "check", "make")
    assert done.status == 2
    assert "add   o: gen.h" in done.out
    assert "the build ended with status 2: smpmake checked what ran before that" in done.err


def test_a_command_that_is_not_there(space: Space) -> None:
    done = space.run(SMPMAKE, "check", "no-such-make")
    assert (done.status, done.out) == (127, "")
    assert done.err == "smpmake: no-such-make: No such file or directory\n"


def test_a_program_without_a_guard_is_named(space: Space) -> None:
    space.write(
        {
            "p.c": "int main(void) { return 0; }\n",
            "Makefile": "all: p\n\t./p\np: p.c\n\t$(CC) -static -o $@ p.c\n",
        }
    )
    done = space.run(SMPMAKE, "check", "make")
    assert done.status == 5
    assert f"smpmake could not watch these programs: {space.folder / 'p'}" in done.out


@NEEDS_PATCH
def test_the_patch_mends_it(space: Space) -> None:
    makefile = f"all: gen.h a.o b.o\n%.o: %.c\n\tcat $< gen.h >$@\n{GEN}"
    space.write({"Makefile": makefile, "a.c": "", "b.c": ""})
    found = space.run(SMPMAKE, "check", "--patch", "p.diff", "make")
    assert found.status == 4
    space.ok("patch", "-p1", "-i", "p.diff")
    assert (space.folder / "Makefile").read_text() == (
        f"all: gen.h a.o b.o\n%.o: %.c\n\tcat $< gen.h >$@\na.o b.o: gen.h\n{GEN}"
    )
    space.ok("rm", "gen.h", "a.o", "b.o")
    assert space.run(SMPMAKE, "check", "make").status == 0


@pytest.mark.parametrize(
    ("head", "source"),
    [
        ("# Makefile.in generated by automake 1.16.5 from Makefile.am.\n", "Makefile.am"),
        (
            '# CMAKE generated file: DO NOT EDIT!\n# Generated by "Unix Makefiles"\n',
            "CMakeLists.txt",
        ),
        ("# Generated automatically from Makefile.in by configure.\n", "Makefile.in"),
        ("# Makefile.  Generated from Makefile.in by configure.\n", "Makefile.in"),
    ],
)
def test_a_generated_makefile_is_mended_at_its_source(space: Space, head: str, source: str) -> None:
    space.write({"Makefile": f"{head}all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}"})
    done = space.run(SMPMAKE, "check", "--patch", "p.diff", "make")
    assert f"{source}: add   o: gen.h" in done.out
    assert (space.folder / "p.diff").read_text() == ""


def test_a_makefile_that_a_recipe_makes_is_mended_at_its_source(space: Space) -> None:
    inner = f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}"
    makefile = "all: made.mk ; $(MAKE) -f made.mk\nmade.mk: in.mk ; cp in.mk made.mk\n"
    space.write({"Makefile": makefile, "in.mk": inner})
    done = space.run(SMPMAKE, "check", "--patch", "p.diff", "make")
    assert "made.mk:2 (a recipe makes it: change its source): add   o: gen.h" in done.out
    assert (space.folder / "p.diff").read_text() == ""


def test_the_document(space: Space) -> None:
    require_overlays()
    space.write({"Makefile": f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}"})
    done = space.run(SMPMAKE, "check", "--json", "found.json", "make")
    assert done.status == 4
    document = json.loads((space.folder / "found.json").read_text())
    assert document == {
        "schema": 1,
        "command": ["make"],
        "folder": os.fspath(space.folder),
        "status": 0,
        "targets": 2,
        "up_to_date": 0,
        "shipped": 0,
        "parallel": 0,
        "unknown": 0,
        "lost": 0,
        "unguarded": [],
        "findings": [
            {
                "kind": "reads",
                "files": [os.fspath(space.folder / "gen.h")],
                "readers": ["o"],
                "other": "gen.h",
                "make": os.fspath(space.folder),
                "makefile": os.fspath(space.folder / "Makefile"),
                "line": 2,
                "add": "o: gen.h",
                "tried": "the build passes, the next one does no more than before, and "
                "`make -j8` makes the same files",
                "proof": None,
                "accepted": None,
            }
        ],
    }


@pytest.mark.parametrize("option", ["--json", "--patch"])
def test_a_file_that_cannot_be_written(space: Space, option: str) -> None:
    space.write({"Makefile": "all: ; true\n"})
    done = space.run(SMPMAKE, "check", option, "no/such", "make")
    assert done.status == 125
    assert "no/such: smpmake cannot write this file: No such file or directory" in done.err


def test_clean_is_for_prove(space: Space) -> None:
    done = space.run(SMPMAKE, "check", "--clean", "make clean", "make")
    assert done.status == 125
    assert "--clean is for --prove" in done.err


def test_nothing_is_left_behind(space: Space, tmp_path: Path) -> None:
    space.write({"Makefile": "all: ; true\n"})
    place = tmp_path / "t"
    place.mkdir()
    assert space.run(SMPMAKE, "check", "make", TMPDIR=str(place)).status == 0
    assert list(place.iterdir()) == []


def test_what_is_accepted_is_counted(space: Space) -> None:
    makefile = f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}"
    accepted = '[[check]]\nfile = "*.h"\ntarget = "o"\nreason = "gen.h is made first by hand"\n'
    space.write({"Makefile": makefile, ".smpmake.toml": accepted})
    done = space.run(SMPMAKE, "check", "--json", "found.json", "--patch", "p.diff", "make")
    assert done.status == 0
    assert done.out.endswith(
        "nothing found in 2 targets of 1 make\n1 more accepted by .smpmake.toml\n"
    )
    document = json.loads((space.folder / "found.json").read_text())
    assert [each["accepted"] for each in document["findings"]] == ["gen.h is made first by hand"]
    assert (space.folder / "p.diff").read_text() == ""


def test_what_is_accepted_is_so_for_its_target_alone(space: Space) -> None:
    """Though another lacks the same."""
    makefile = f"all: gen.h o p\no:\n\tcat gen.h >$@\np:\n\tcat gen.h >$@\n{GEN}"
    accepted = '[[check]]\nfile = "gen.h"\ntarget = "o"\nreason = "by hand"\n'
    space.write({"Makefile": makefile, ".smpmake.toml": accepted})
    done = space.run(SMPMAKE, "check", "make")
    assert done.status == 4
    assert "p reads gen.h, which another rule makes; no rule says so\n" in done.out
    assert "1 more accepted by .smpmake.toml\n" in done.out


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("check = 1", "'check' must be a list of tables: [[check]]"),
        ('[[check]]\nfile = "x"', "[[check]]: 'reason' must be a text (say why: reason)"),
        ("[[check]]\nreason = 1", "[[check]]: 'reason' must be a text (say why: reason)"),
        ('[[check]]\npath = "x"', "unknown key 'path' (known: file, target, reason)"),
    ],
)
def test_what_is_accepted_needs_a_reason(space: Space, text: str, fault: str) -> None:
    space.write({"Makefile": "all: ; true\n", ".smpmake.toml": f"{text}\n"})
    done = space.run(SMPMAKE, "check", "make")
    assert (done.status, done.out) == (125, "")
    assert fault in done.err


def test_a_rule_that_made_nothing_else_is_told_as_a_whole(space: Space) -> None:
    files = {f"{name}.c": "" for name in "abcd"}
    makefile = f"all: gen.h a.o b.o c.o d.o\n%.o: %.c\n\tcat $< gen.h >$@\n{GEN}"
    space.write({"Makefile": makefile, **files})
    done = space.run(SMPMAKE, "check", "--patch", "p.diff", "make")
    assert "a.o, b.o and 2 more read gen.h, which another rule makes; no rule says so\n" in done.out
    assert "Makefile:2: add   gen.h   to what this rule needs\n" in done.out
    assert "+a.o b.o c.o d.o: gen.h\n" in (space.folder / "p.diff").read_text()


@NEEDS_PATCH
def test_names_with_blanks_are_written_as_make_reads_them(space: Space) -> None:
    makefile = "all: gen\\ x o\no:\n\tcat 'gen x' >$@\ngen\\ x:\n\techo 1 >'$@'\n"
    space.write({"Makefile": makefile})
    assert "add   o: gen\\ x\n" in space.run(SMPMAKE, "check", "--patch", "p.diff", "make").out
    space.ok("patch", "-p1", "-i", "p.diff")
    space.ok("rm", "gen x", "o")
    assert space.run(SMPMAKE, "check", "make").status == 0


def test_rules_that_lack_the_same_are_told_as_one(space: Space) -> None:
    rules = "".join(f"obj/{name}: ; echo >$@\n" for name in "abcd")
    space.write({"Makefile": f"all: obj obj/a obj/b obj/c obj/d\nobj: ; mkdir obj\n{rules}"})
    done = space.run(SMPMAKE, "check", "--patch", "p.diff", "make")
    assert "obj/a, obj/b and 2 more write into obj/, which the rule of obj makes\n" in done.out
    assert "Makefile:3: add   obj/a obj/b obj/c obj/d: | obj\n" in done.out
    assert "\n1 finding in" in done.out
    assert "\n+obj/a obj/b obj/c obj/d: | obj\n" in (space.folder / "p.diff").read_text()


@pytest.mark.parametrize(
    "how",
    ["MAKEFLAGS= make", "env -u MAKEFLAGS make", "env -i PATH=$$PATH make", "MAKEFLAGS=A=b make"],
)
def test_a_make_that_is_not_told_of_its_caller_speaks_too(space: Space, how: str) -> None:
    inner = f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}"
    space.write({"Makefile": f"all: ; {how} -f inner.mk\n", "inner.mk": inner})
    done = space.run(SMPMAKE, "check", "make")
    assert done.status == 4
    assert "inner.mk:2: add   o: gen.h" in done.out


def test_a_make_that_runs_jobs_by_itself_is_told(space: Space) -> None:
    space.write({"Makefile": "all: ; make -j2 -f in.mk\n", "in.mk": "all: ; true\n"})
    done = space.run(SMPMAKE, "check", "make")
    assert done.status == 5
    assert "smpmake met 1 make with a -j in a makefile" in done.out


def test_another_make_is_not_asked(space: Space) -> None:
    """What it says of itself nobody knows; its own output is as it was."""
    needs.require("bmake")
    space.write({"Makefile": "all:\n\techo $(MAKEFLAGS) >o\n", "top.mk": "all: ; bmake\n"})
    plain = space.run("make", "-f", "top.mk")
    done = space.run(SMPMAKE, "check", "make", "-f", "top.mk")
    assert done.out.startswith(plain.out)
    assert "smpmake does not know the targets of 1 make\n" in done.out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_build_and_smpmake(space: Space, number: signal.Signals) -> None:
    space.write({"Makefile": "all:\n\t@echo begun; exec cat fifo\n"})
    os.mkfifo(space.folder / "fifo")
    process = space.start(SMPMAKE, "check", "make")
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(number)
    # A make whose recipe has ended before its own signal arrives complains: nothing to wait for.
    assert space.finish(process).status in {-number, 2}


def test_a_signal_ends_the_trials_too(space: Space) -> None:
    """Of which the first waits for ever; the second would make `two`."""
    makefile = (
        f"all: gen.h one two\none:\n\tcat gen.h >$@ || {{ echo begun >fifo; cat fifo; }}\n"
        f"two:\n\techo >>ran; cat gen.h >$@\n{GEN}"
    )
    space.write({"Makefile": makefile})
    os.mkfifo(space.folder / "fifo")
    clean = "rm -f gen.h one two ran"
    process = space.start(SMPMAKE, "check", "--prove", "--clean", clean, "make")
    assert (space.folder / "fifo").read_text() == "begun\n"
    process.send_signal(signal.SIGTERM)
    assert space.finish(process).status == -signal.SIGTERM
    assert not (space.folder / "ran").exists()


def test_a_process_without_memory_for_notes_is_told(space: Space) -> None:
    space.write({"Makefile": "all:\n\tulimit -v 1000000; exec cat Makefile >o\n"})
    done = space.run(SMPMAKE, "check", "make")
    assert done.status == 5
    assert "smpmake lost 1 note: the list is not complete" in done.out


def test_temporary_files_do_not_matter(space: Space) -> None:
    """Nor do logs and caches."""
    files = ("$(TMPDIR)/x", "config.log", "__pycache__/m.pyc")
    lines = "".join(f"\techo $@ >{file}; cat {file}\n" for file in files)
    space.write({"Makefile": f"all: a b\na b:\n{lines}\techo >$@\n", "__pycache__/keep": ""})
    for place in (space.root / "t", space.folder / "t"):
        place.mkdir()
        done = space.run(SMPMAKE, "check", "make", "-B", TMPDIR=str(place))
        assert (done.status, done.out.splitlines()[-1]) == (
            0,
            "nothing found in 2 targets of 1 make",
        )


def test_targets_that_one_recipe_makes_are_joined(space: Space) -> None:
    space.write({"Makefile": "all: y.c y.h\ny.c y.h: y\n\techo >y.c; echo >y.h\n", "y": ""})
    done = space.run(SMPMAKE, "check", "make")
    assert done.status == 4
    assert "y.c makes y.h; the rule of y.h also makes it\n" in done.out
    assert (
        "Makefile:2: write   y.c y.h &: y   so that make runs this recipe once for all" in done.out
    )
    mended = (space.folder / "Makefile").read_text().replace("y.c y.h: y", "y.c y.h &: y")
    (space.folder / "Makefile").write_text(mended)
    space.ok("rm", "y.c", "y.h")
    assert space.run(SMPMAKE, "check", "make").status == 0


def test_notes_wait_for_room(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which there is little more than they need: none is lost."""
    monkeypatch.setattr(watch, "_STEP", 1 << 12)
    names = " ".join(f"no-such-file-with-a-long-name-{i}" for i in range(400))
    space.write({"Makefile": f"all:\n\t-cat {names} >/dev/null 2>&1\n"})
    watched = watch.run(["make", "-s"], str(space.folder))
    assert watched.lost == 0
    assert sum(note.startswith(b"v") and b"no-such-file" in note for note in watched.notes) == 400
    assert sum(map(len, watched.notes)) > 4 * watch._STEP


def test_a_full_disk_loses_notes_and_no_time(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_STEP", 1 << 12)
    real = os.posix_fallocate

    def full(fd: int, at: int, size: int) -> None:
        if watch._HEAD + (1 << 13) < size < (1 << 19):  # not the scoreboard
            raise OSError(errno.ENOSPC, "full")
        real(fd, at, size)

    monkeypatch.setattr(os, "posix_fallocate", full)
    names = " ".join(f"no-such-file-with-a-long-name-{i}" for i in range(400))
    space.write({"Makefile": f"all:\n\t-cat {names} >/dev/null 2>&1\n"})
    watched = watch.run(["make", "-s"], str(space.folder))
    assert watched.lost > 100
