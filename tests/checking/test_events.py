"""Notes and makes' words together: numbers of processes come again, and makes start anew."""

from __future__ import annotations

from smpmake.checking.events import Build, build_of
from smpmake.checking.watch import Watched
from smpmake.checking.words import read

RULES = """# GNU Make 4.3

# Make data base, printed on Thu Jan  1 00:00:00 1970
# makefile
CURDIR := /w
# makefile (from 'Makefile', line 1)
MAKEFILE_LIST := Makefile
# Files

{files}
# files hash-table stats:
# Finished Make data base on Thu Jan  1 00:00:00 1970

"""


def image(text: str, *, files: str = "", ends: bool = True) -> bytes:
    """What a make is noted to say from its beginning on."""
    rules = RULES.format(files=files) if ends else ""
    return b"\0begin\nmake\0all\0\0A=1\0B=a b\0\0" + f"{text}{rules}".encode()


def job(address: int, target: str, pid: int) -> str:
    return (
        f"Putting child {address:#x} ({target}) PID {pid} on the chain.\n"
        f"Live child {address:#x} ({target}) PID {pid} \n"
        f"Reaping winning child {address:#x} PID {pid} \n"
    )


def built(notes: list[str], words: dict[int, bytes]) -> Build:
    return build_of(Watched(0, [note.encode() for note in notes], 0, words))


def who(build: Build) -> list[tuple[str, str, str]]:
    return [(event.kind, event.path, event.recipe.target) for event in build.events]


TOP = ["c10/9/", "m10/10/w"]


def test_a_number_comes_again() -> None:
    words = {10: image(job(1, "a", 20) + job(1, "b", 21) + job(2, "c", 20))}
    notes = [*TOP, "c20/10/", "w20/w/a", "c21/10/", "w21/w/b", "c20/10/", "w20/w/c"]
    build = built(notes, words)
    assert who(build) == [("w", "/w/a", "a"), ("w", "/w/b", "b"), ("w", "/w/c", "c")]


def test_each_line_of_a_recipe_is_the_targets() -> None:
    second = "Live child 0x1 (a) PID 21 \nReaping winning child 0x1 PID 21 \n"
    words = {10: image(job(1, "a", 20) + second)}
    notes = [*TOP, "c20/10/", "w20/w/t", "c21/10/", "r21/w/t"]
    assert who(built(notes, words)) == [("w", "/w/t", "a"), ("r", "/w/t", "a")]


def test_a_process_that_is_no_job_has_no_target() -> None:
    """$(shell) starts it."""
    build = built([*TOP, "c20/10/", "w20/w/x"], {10: image("")})
    assert who(build) == [("w", "/w/x", "")]


def test_a_make_that_starts_anew_is_the_same() -> None:
    words = {10: image(job(1, "gen.mk", 20), ends=False) + image(job(1, "a", 21))}
    notes = [*TOP, "c20/10/", "w20/w/gen.mk", "c10/9/", "m10/10/w", "c21/10/", "w21/w/a"]
    build = built(notes, words)
    assert who(build) == [("w", "/w/gen.mk", "gen.mk"), ("w", "/w/a", "a")]
    assert [make.image for make in build.makes] == [1]
    assert [recipe.image for recipe in build.recipes] == [0, 0, 1]


def test_another_make_may_have_the_number_of_one_that_has_ended() -> None:
    words = {
        10: image(job(1, "a", 20) + job(2, "b", 22)),
        20: image(job(1, "x", 21)) + image(job(1, "y", 23)),
    }
    notes = [
        *(*TOP, "c20/10/", "m20/20/w/one", "c21/20/", "w21/w/one/x"),
        *("c22/10/", "c20/22/", "m20/20/w/two", "c23/20/", "w23/w/two/y"),
    ]
    build = built(notes, words)
    assert who(build) == [("w", "/w/one/x", "x"), ("w", "/w/two/y", "y")]
    assert len(build.makes) == 3


def test_a_make_that_a_recipe_becomes_reads_for_itself() -> None:
    """A recipe of one simple command is that command's process."""
    words = {10: image(job(1, "sub", 20)), 20: image(job(1, "x", 21))}
    notes = [*TOP, "c20/10/", "m20/20/w/s", "r20/w/s/Makefile", "c21/20/", "w21/w/s/x"]
    build = built(notes, words)
    assert who(build) == [("r", "/w/s/Makefile", ""), ("w", "/w/s/x", "x")]
    inner = build.makes[1]
    assert inner.parent is not None and inner.parent.target == "sub"


def test_how_a_make_was_called() -> None:
    (said,) = read(image(""))
    assert (said.argv, said.environment) == (["make", "all"], {"A": "1", "B": "a b"})
    assert (said.folder, said.makefiles, said.is_whole) == ("/w", ["Makefile"], True)


def test_rules_of_the_database() -> None:
    files = """# Not a target:
a.c:
#  Implicit rule search has not been done.
#  File has been updated.

# 'override' directive
a.o: .SHELLSTATUS := 0
# makefile (from 'Makefile', line 3)
a.o: define TEXT
b.o: no rule

# nor this
endef
a.o: a.c in/b.h | dir
#  Phony target (prerequisite of .PHONY).
#  Implicit/static pattern stem: 'a'
#  File has been updated.
#  Also makes: a.d a.lst
# automatic
# @ := a.o
#  recipe to execute (from 'sub/rules.mk', line 14):
\t$(CC) -c $<

dbl:: a.o
#  recipe to execute (from 'Makefile', line 2):
\techo one

dbl:: b.o
#  recipe to execute (from 'Makefile', line 4):
\techo two

lib.a(x.o): x.o
#  recipe to execute (built-in):
\t$(AR) $(ARFLAGS) $@ $<
"""
    (said,) = read(image("", files=files))
    rules = said.rules
    assert list(rules) == ["a.c", "a.o", "dbl", "lib.a(x.o)"]
    assert not rules["a.c"].is_target
    a = rules["a.o"]
    assert (a.needs, a.first, a.also) == (["a.c", "in/b.h"], ["dir"], ["a.d", "a.lst"])
    assert (a.recipe, a.stem, a.is_phony, a.is_updated) == (("sub/rules.mk", 14), "a", True, True)
    assert (rules["dbl"].needs, rules["dbl"].recipe) == (["a.o", "b.o"], ("Makefile", 2))
    assert rules["lib.a(x.o)"].has_recipe and rules["lib.a(x.o)"].recipe is None


def test_a_make_that_was_killed_has_said_less() -> None:
    (said,) = read(image("Putting child 0x1 (a) PID 20 on the chain.\n", ends=False))
    assert (said.rules, said.is_whole) == ({}, False)
    assert [(each.pid, each.target) for each in said.jobs] == [(20, "a")]
