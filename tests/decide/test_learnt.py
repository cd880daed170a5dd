"""What becomes of the notes of a recipe's line, and what is remembered of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpmake.commands.model import Kind
from smpmake.decide.learnt import (
    MOST,
    TRIES,
    WORTH_MS,
    Doubt,
    Effects,
    Event,
    Lesson,
    NotLearntError,
    analysis_of,
    difference,
    digest_of_line,
    effects_of,
    is_to_be_learnt,
    lesson_of,
    runs_tests,
)
from smpmake.decide.lessons import Lessons


def events(text: str) -> list[Event]:
    """Of "r/a w/b": a letter and a path each."""
    return [(word[0], word[1:]) for word in text.split()]


def learnt(notes: list[Event], tries: int = 0, *, old: str = "", link: str = "") -> Lesson | Doubt:
    return lesson_of(notes, 50, 7, tries, is_old=old.__eq__, is_link=link.__eq__)


@pytest.mark.parametrize(
    ("notes", "effects"),
    [
        ("r/a w/b", Effects(("/a",), ("/b",), searched=("/",))),
        ("w/b r/b", Effects((), ("/b",))),
        ("w/t n/t w/b", Effects((), ("/b",), passing=("/t",))),
        ("w/t t/t n/t w/b", Effects((), (), ("/b",), passing=("/t",))),
        ("c/b", Effects((), (), ("/b",))),
        ("w/b c/b", Effects((), ("/b",))),
        ("x/b", Effects(removes=("/b",))),
        ("X/b w/b", Effects(writes=("/b",))),
        ("X/b", Effects(removes=("/b",))),
        ("x/b w/b", Effects(writes=("/b",))),
        ("d/n w/n/a r/n/a x/n/a x/n", Effects(passing=("/n",))),
        ("r/d/a r/d/b w/c", Effects(("/d/a", "/d/b"), ("/c",), searched=("/d",))),
        ("d/n L/n x/n", Effects(passing=("/n",))),
        ("l/n18059 x/n18059 w/b", Effects(writes=("/b",), passing=("/n18059",))),
    ],
)
def test_effects_of_notes(notes: str, effects: Effects) -> None:
    assert effects_of(events(notes)) == effects


@pytest.mark.parametrize(
    ("notes", "final"),
    [
        ("m/", True),
        ("s/", True),
        ("u/x", True),
        ("n/a w/b", False),
        ("d/n", False),
        ("l/n", False),
        ("L/d", False),
    ],
)
def test_what_is_not_learnt(notes: str, final: bool) -> None:
    with pytest.raises(NotLearntError) as caught:
        effects_of(events(notes))
    assert caught.value.final == final
    doubt = learnt(events(notes), tries=1)
    assert doubt == Doubt(str(caught.value), 7, TRIES if final else 2)
    assert doubt.is_plain == final


def test_of_its_reads_a_lesson_has_those_that_the_build_made() -> None:
    lesson = learnt(events("r/i/a.h r/b.o w/b"), old="/i/a.h")
    assert lesson == Lesson(Effects(("/b.o",), ("/b",), searched=("/i", "/")), 50, 7)


def test_a_line_with_very_many_files_is_given_up() -> None:
    many = [("w", f"/{n}") for n in range(MOST + 1)]
    assert learnt(many).is_plain


def test_what_is_written_through_a_link_is_another_file() -> None:
    assert learnt(events("w/a"), link="/a") == Doubt("writes through /a, a link", 7, 1)


def test_what_is_short_and_waits_for_nothing_is_plain() -> None:
    short = Lesson(Effects(writes=("/a",)), WORTH_MS - 1, 7)
    assert short.is_plain
    assert not short._replace(ms=WORTH_MS).is_plain
    assert not short._replace(effects=Effects(reads=("/b",))).is_plain


KNOWN = Effects(("/a",), ("/b",), ("/c",), ("/d",), ("/t",))


@pytest.mark.parametrize(
    ("notes", "why"),
    [
        ("w/b c/c x/d w/t x/t", ""),
        ("r/other w/b c/c", ""),
        ("w/b c/c x/t", ""),
        ("w/b c/c w/e", "wrote /e"),
        ("c/c", "did not write /b"),
        ("w/b", "did not change /c"),
        ("w/b c/c c/e", "changed /e"),
        ("w/b c/c x/e", "removed /e"),
        ("w/b c/c X/e", ""),
        ("w/b c/c m/", "runs a make"),
    ],
)
def test_what_was_not_foreseen(notes: str, why: str) -> None:
    assert difference(KNOWN, events(notes)) == why


def test_a_line_is_analysed_as_what_it_did() -> None:
    analysis = analysis_of(KNOWN._replace(searched=("/",)), "gen")
    assert (analysis.kind, analysis.tool, analysis.refusal) == (Kind.RECIPE, "gen", None)
    assert analysis.reads == ("/a",)
    writes = {write.path: write for write in analysis.writes}
    assert writes.keys() == {"/b", "/c", "/d", "/t"}
    assert writes["/b"].timed
    assert not writes["/c"].timed
    assert writes["/d"].removed
    assert writes["/t"].removed


def test_a_line_is_its_words_folder_and_environment() -> None:
    line = digest_of_line(b"/d", b"sh\0-c\0x\0", b"A=1\0B=2\0")
    assert line == digest_of_line(b"/d", b"sh\0-c\0x\0", b"B=2\0A=1\0SHLVL=3\0SSH_TTY=x\0_=/x\0")
    for other in (
        digest_of_line(b"/e", b"sh\0-c\0x\0", b"A=1\0B=2\0"),
        digest_of_line(b"/d", b"sh\0-c\0y\0", b"A=1\0B=2\0"),
        digest_of_line(b"/d", b"sh\0-c\0x\0", b"A=1\0B=3\0"),
        digest_of_line(b"/d", b"sh\0-c\0x\0", b"A=1\0B=2\0_X=1\0"),
    ):
        assert other != line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a && b", True),
        (b"a > x 2>&1", True),
        (b"a &> x", True),
        (b"a >& x", True),
        (b"a <&3", True),
        (b"a &", False),
        (b"a & b", False),
        (b"a && b & wait", False),
    ],
)
def test_what_goes_on_behind_its_shell(text: bytes, expected: bool) -> None:
    assert is_to_be_learnt(b"sh\0-c\0" + text + b"\0") is expected


LESSON = Lesson(Effects(("/a\udcff",), ("/b",), searched=("/",)), 12, 34)
DOUBT = Doubt("lists /x", 56, 1)


def test_lessons_are_kept_if_the_build_succeeds(tmp_path: Path) -> None:
    lessons = Lessons("/p", tmp_path)
    lessons.learn("one", LESSON)
    lessons.save()
    assert len(Lessons("/p", tmp_path)) == 0
    lessons.learn("two", DOUBT)
    lessons.keep()
    lessons.save()
    again = Lessons("/p", tmp_path)
    assert again.of("one") == LESSON
    assert again.of("two") == DOUBT
    assert again.of("three") is None
    assert len(Lessons("/other", tmp_path)) == 0


def test_what_was_wrong_is_not_believed_again(tmp_path: Path) -> None:
    lessons = Lessons("/p", tmp_path)
    lessons.learn("one", LESSON)
    lessons.keep()
    lessons.distrust("one", "wrote /c")
    lessons.save()
    known = Lessons("/p", tmp_path).of("one")
    assert known == Doubt("wrote /c", LESSON.mark, TRIES)
    assert list(Lessons("/p", tmp_path).plain()) == [LESSON.mark]


def test_what_was_seen_on_a_wrong_way_is_forgotten(tmp_path: Path) -> None:
    lessons = Lessons("/p", tmp_path)
    lessons.learn("one", LESSON)
    lessons.forget_new()
    lessons.keep()
    assert lessons.of("one") is None


@pytest.mark.parametrize(
    "text", ["", "1\n", "2\n", "2\n[]\nx\n", '2\n["/a"]\n["d",1,2,[[7]]]\n', "\0"]
)
def test_a_damaged_file_is_as_none(tmp_path: Path, text: str) -> None:
    lessons = Lessons("/p", tmp_path)
    lessons.learn("one", LESSON)
    lessons.keep()
    lessons.save()
    (path,) = tmp_path.iterdir()
    path.write_text(text)
    assert len(Lessons("/p", tmp_path)) == 0


@pytest.mark.parametrize(
    ("make", "tests"),
    [
        ("make", False),
        ("make all", False),
        ("make -j2 CHECK=test --eval=test a.c", False),
        ("make contest checkpoint.o attest", False),
        ("make check", True),
        ("make -k all check-am", True),
        ("make check-TESTS", True),
        ("make test-suite.log TEST_LOGS=a.log", True),
        ("make runtests", True),
        ("make run_tests", True),
        ("make sub/test", True),
        ("make test_parser", True),
        ("make installcheck", True),
        ("", False),
    ],
)
def test_a_make_that_runs_tests_is_known_by_its_goals(make: str, tests: bool) -> None:
    assert runs_tests(word.encode() for word in make.split()) is tests
