"""What is found is tried: in an overlay, or in place behind a command that cleans."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from smpmake.checking.findings import Kind
from smpmake.checking.trial import NoTrialError, alone
from tests.checking.makefiles import CASES, GEN, Case, checked
from tests.checking.mended import MENDED
from tests.checking.overlays import require_overlays

#: Whose result depends on the order alone.
BAD = [case for case in (*CASES, *MENDED) if case.kind is not Kind.SAME_BYTES and not case.at_once]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_a_trial_shows_what_is_missing(tmp_path: Path, case: Case) -> None:
    """And the tree is as the build left it."""
    require_overlays()
    other = tmp_path / "other"
    checked(other, case.wrong, case.more)
    tried = tmp_path / "tried"
    result = checked(tried, case.wrong, case.more, proves=True)
    proofs = [each.proof for each in result.advices if each.kind is case.kind]
    assert proofs and all(proof.startswith("proved: ") for proof in proofs)
    assert tree(tried) == tree(other)


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file, link and folder."""
    return {
        os.fspath(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if path.suffix not in (".o", ".a")  # which hold paths and times
    }


def test_in_place_behind_a_command_that_cleans(tmp_path: Path) -> None:
    makefile = f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}clean:\n\trm -f o gen.h; echo >>seen\n"
    result = checked(tmp_path, makefile, {}, proves=True, clean="make clean")
    assert [each.proof for each in result.advices] == [
        "proved: `make o` does not find gen.h, and fails"
    ]
    assert (tmp_path / "seen").read_text() == "\n"


def test_a_product_that_was_there_before_is_made_again(tmp_path: Path) -> None:
    require_overlays()
    (tmp_path / "o").write_text("old\n")
    os.utime(tmp_path / "o", (1, 1))
    makefile = f"all: gen.h o\no: s\n\tcat s gen.h >$@\n{GEN}"
    result = checked(tmp_path, makefile, {"s": ""}, proves=True)
    assert [each.proof for each in result.advices] == [
        "proved: `make o` does not find gen.h, and fails"
    ]


def test_what_other_findings_say_is_made_first(tmp_path: Path) -> None:
    makefile = f"all: gen.h p o\no:\n\tcat p >/dev/null\n\tcat gen.h >$@\np:\n\techo >$@\n{GEN}"
    result = checked(tmp_path, makefile, {}, proves=True, clean="rm -f o p gen.h")
    proofs = {each.other: each.proof for each in result.advices}
    assert proofs == {
        "p": "proved: `make o` does not find p, and fails",
        "gen.h": "proved: `make p o` does not find gen.h, and fails",
    }


def test_the_last_trial_of_the_first_reader_is_told(tmp_path: Path) -> None:
    """The first one fails for what another finding says."""
    makefile = (
        f"all: gen.h p o\no:\n\tcat p >/dev/null\n\t-cat gen.h; echo >$@\np:\n\techo >$@\n{GEN}"
    )
    result = checked(tmp_path, makefile, {}, proves=True, clean="rm -f o p gen.h")
    proofs = {each.other: each.proof for each in result.advices}
    assert proofs["gen.h"] == "not shown: `make p o` has the same result"


def test_a_failure_that_nobody_explains_shows_nothing(tmp_path: Path) -> None:
    makefile = f"all: gen.h o\no:\n\ttest -f all.mk && cat gen.h >$@\n{GEN}"
    clean = "rm -f o gen.h all.mk"
    result = checked(tmp_path, makefile, {"all.mk": ""}, proves=True, clean=clean)
    assert [each.proof for each in result.advices] == [
        "not shown: `make o` fails for another reason"
    ]


def test_what_does_not_depend_on_the_order_is_not_shown(tmp_path: Path) -> None:
    makefile = f"all: gen.h o\no:\n\t-cat gen.h >/dev/null; echo 1 >$@\n{GEN}"
    result = checked(tmp_path, makefile, {}, proves=True, clean="rm -f o gen.h")
    assert [each.proof for each in result.advices] == ["not shown: `make o` has the same result"]


def test_bytes_that_are_others_each_time_show_nothing(tmp_path: Path) -> None:
    number = "cat /proc/sys/kernel/random/uuid"
    makefile = f"all: gen.h x o p\no:\n\t-cat gen.h >/dev/null; {number} >$@\n{GEN}"
    makefile += f"p:\n\t-cat x >$@; {number} >q\nx:\n\techo 1 >$@\n"
    clean = "rm -f o p q x gen.h"
    result = checked(tmp_path, makefile, {}, proves=True, clean=clean)
    assert {each.readers[0]: each.proof for each in result.advices} == {
        "o": "not shown: `make o` shows nothing: o has other bytes each time",
        "p": "proved: `make p` does not find x, and p has other bytes",
    }


def test_one_reader_of_several_is_enough(tmp_path: Path) -> None:
    makefile = f"all: gen.h o p\no:\n\t-cat gen.h >/dev/null; echo >$@\n{GEN}"
    makefile += "p:\n\tcat gen.h >$@\n"
    result = checked(tmp_path, makefile, {}, proves=True, clean="rm -f o p gen.h")
    assert [(each.readers, each.proof) for each in result.advices] == [
        (["o", "p"], "proved: `make p` does not find gen.h, and fails")
    ]


def test_a_clean_that_fails_ends_it(tmp_path: Path) -> None:
    with pytest.raises(NoTrialError, match="`false` failed"):
        checked(
            tmp_path, f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}", {}, proves=True, clean="false"
        )


def test_only_goals_go() -> None:
    """And what would have several jobs run."""
    words = shlex.split("make -C d -sk all X=1 -j 4 -f m.mk --jobs=2 --no-print-directory install")
    kept = shlex.split("make -C d -sk X=1 -f m.mk --no-print-directory o")
    assert alone(words, ["o"]) == kept


def test_what_only_two_at_once_show(tmp_path: Path) -> None:
    """In a row each finds its own temporary file.  At once `b` removes it between two steps of
    `a`."""
    at_once = 'case "$$MAKEFLAGS" in *-j*)'
    makefile = (
        "all: a b\n"
        f"a:\n\techo 1 >tmp; {at_once} echo >one; echo >two;; esac; "
        "cat tmp && rm tmp && echo >$@\n"
        f"b:\n\t{at_once} cat one;; esac; echo 2 >tmp; cat tmp && rm tmp && echo >$@"
        f"; {at_once} cat two;; esac\n"
        "clean:\n\trm -f a b tmp one two; mkfifo one two\n"
    )
    result = checked(tmp_path, makefile, {}, proves=True, clean="make clean")
    proofs = {(each.kind, each.line.text): each.proof for each in result.advices}
    assert proofs == {
        (Kind.BOTH_WRITE, "b: | a"): "proved: `make -j2 b a` does not find tmp, and fails",
    }


def test_nothing_is_tried_outside_of_the_folder(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    count = "echo >>count;"
    (other / "Makefile").write_text(f"all: gen.h o\no:\n\t{count} cat gen.h >$@\n{GEN}")
    result = checked(tmp_path / "here", f"all: ; $(MAKE) -C {other}\n", {}, proves=True)
    (only,) = result.advices
    assert only.proof.startswith(f"not shown: its make works outside of {tmp_path / 'here'}, ")
    assert (other / "count").read_text() == "\n"
