"""What is advised works: each line has been followed before it is given, and is here once more."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from smpmake.checking.advice import edited
from smpmake.checking.findings import Kind
from smpmake.checking.telling import Result, lines
from tests.checking.makefiles import CASES, GEN, Case, checked
from tests.checking.mended import MENDED
from tests.checking.overlays import require_overlays

FOLLOWED: Final = [c for c in (*CASES, *MENDED) if not c.newer and c.kind is not Kind.SAME_BYTES]
PASSES: Final = "the build passes, the next one does no more than before, and `make -j8` makes the"


def followed(folder: Path, makefile: str, more: dict[str, str] | None = None) -> Result:
    require_overlays()
    return checked(folder, makefile, more or {}, follows=True)


def told(result: Result) -> str:
    return "\n".join(lines(result))


@pytest.mark.parametrize("case", FOLLOWED, ids=lambda case: case.name)
def test_every_line_that_is_given_works(tmp_path: Path, case: Case) -> None:
    """From a clean tree, in disorder, and once more: then there is nothing to do."""
    result = followed(tmp_path / "checked", case.wrong, case.more)
    assert result.open
    edits = []
    for each in result.open:
        assert each.line.edit is not None, told(result)
        assert each.line.tried.startswith(PASSES), told(result)
        edits.append(each.line.edit)
    mended = edited(edits)
    shutil.rmtree(tmp_path / "checked")
    checked(tmp_path / "checked", case.wrong, case.more, follows=False)
    serial = tree(tmp_path / "checked")
    usual = again(tmp_path / "checked")
    shutil.rmtree(tmp_path / "checked")
    for name, text in (*case.more.items(), ("Makefile", case.wrong)):
        path = tmp_path / "checked" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    for file, text_lines in mended.items():
        Path(file).write_text("".join(f"{line}\n" for line in text_lines))
    done = subprocess.run(
        ["make", "-s", "-j8"], cwd=tmp_path / "checked", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert serial <= tree(tmp_path / "checked")
    assert again(tmp_path / "checked") <= usual


def tree(folder: Path) -> set[str]:
    return {os.fspath(path.relative_to(folder)) for path in folder.rglob("*")}


def again(folder: Path) -> set[str]:
    """What the next build runs."""
    done = subprocess.run(["make"], cwd=folder, capture_output=True, text=True)
    return {line for line in done.stdout.splitlines() if not line.startswith("make: ")}


# ---------------------------------------------------------------- what is advised


def test_targets_are_not_grouped_where_the_recipe_differs_by_target(tmp_path: Path) -> None:
    """`mali ump &:` would have make run the recipe for mali alone."""
    makefile = "all: mali ump\nmali ump: ; mkdir -p $@; echo $@ >common; echo >$@/x\n"
    text = told(followed(tmp_path, makefile))
    assert "&:" not in text
    assert "or add   ump: | mali\n" in text


@pytest.mark.parametrize("by", ["$*", "$(@D)", "${@F}", "$<", "$(call f,x)", "$(T)", "$(U)"])
def test_what_differs_by_target(tmp_path: Path, by: str) -> None:
    """Also in the variables that a recipe uses."""
    makefile = (
        f"T = $@\nU = $(T)\nf = $@\nall: a.x b.x\na.x b.x: s\n\techo 1 >a.x; echo 2 >b.x; : {by}\n"
    )
    assert "&:" not in told(followed(tmp_path, makefile, {"s": ""}))


def test_what_only_the_trial_shows(tmp_path: Path) -> None:
    """The recipe's variable is in another makefile."""
    makefile = "all: mali ump\ninclude inc.mk\nmali ump:\n\techo $(T) >common; echo >$(T)\n"
    result = followed(tmp_path, makefile, {"inc.mk": "T = $@\n"})
    assert (
        "Makefile:3: smpmake tried   mali ump &:   but the build then does not make ump\n"
        in told(result)
    )
    assert result.open[0].line.edit is None


@pytest.mark.parametrize("phony", [".PHONY: gen\n", ""], ids=["phony", "makes-no-gen"])
def test_what_is_new_each_time_is_needed_for_its_order(tmp_path: Path, phony: str) -> None:
    """Else each make would compile again."""
    makefile = f"{phony}all: gen o\ngen: ; echo 1 >gen.h\no: ; cat gen.h >$@\n"
    assert "add   o: | gen\n" in told(followed(tmp_path, makefile))


def test_what_is_made_anew_each_time(tmp_path: Path) -> None:
    """That the trial alone shows."""
    makefile = "all: v o\no: ; cat v >$@\nv: FORCE ; echo 2 >$@\nFORCE:\n"
    assert "add   o: | v\n" in told(followed(tmp_path, makefile))


def test_one_rule_is_one_finding(tmp_path: Path) -> None:
    makefile = "all: a.c b.c c.c\na.c b.c c.c: s ; cp s a.c; cp s b.c; cp s c.c\n"
    text = told(followed(tmp_path, makefile, {"s": ""}))
    assert "a.c makes b.c and c.c; the rules of b.c and c.c also make them\n" in text
    assert "write   a.c b.c c.c &: s ; cp s a.c; cp s b.c; cp s c.c   so that" in text
    assert "1 finding in" in text


def test_make_keeps_an_intermediate_file_that_is_named(tmp_path: Path) -> None:
    makefile = "all: a.o b\n%.c: %.y ; cp $< $@\n%.o: %.c ; cp $< $@\nb: ; cat a.c >$@\n"
    text = told(followed(tmp_path, makefile, {"a.y": ""}))
    assert text.endswith("; make keeps a.c from then on")
    assert not (tmp_path / "a.c").exists()


def test_a_rule_of_two_colons(tmp_path: Path) -> None:
    """A line of its own would be another rule."""
    makefile = f"all: gen.h o\no:: s\n\tcat gen.h >$@\n{GEN}"
    assert "Makefile:2: write   o:: gen.h s\n" in told(followed(tmp_path, makefile, {"s": ""}))


def test_a_file_of_no_rule_that_is_needed_already(tmp_path: Path) -> None:
    makefile = "all: y.c lex\nlex: y.h\n\tcat y.h >$@\ny.c:\n\techo >y.h; echo >$@\n"
    assert "add   y.h: y.c ;\n" in told(followed(tmp_path, makefile))


# ---------------------------------------------------------------- what is found


def found(result: Result, folder: Path) -> set[tuple[Kind, str, str]]:
    return {
        (each.kind, os.path.relpath(path, folder), each.other)
        for each in result.open
        for path in each.paths
    }


FOLDERS: Final = {
    "cleared": (
        (
            "all: clean dirs prog\nclean: ; rm -rf stage\ndirs: ; mkdir -p stage\n"
            "prog: | dirs ; echo >stage/p; echo >$@\n"
        ),
        (Kind.CLEARS, "stage", "clean"),
    ),
    "cleared-where-it-was": (
        (
            "all: old clean dirs\nold: ; mkdir stage; touch stage/x\nclean: old ; rm -rf stage\n"
            "dirs: old ; mkdir -p stage\n"
        ),
        (Kind.CLEARS, "stage", "clean"),
    ),
    "removed": (
        (
            "all: d use last\nd: ; mkdir d; echo 1 >d/f\nuse: | d ; cat d/f >$@\n"
            "last: | d ; rm -r d; echo >$@\n"
        ),
        (Kind.REMOVES, "d", "last"),
    ),
    "removed-when-empty": (
        (
            "all: d use last\nd: ; mkdir d\nuse: | d ; echo >d/x; mv d/x $@\n"
            "last: | d ; rmdir d; echo >$@\n"
        ),
        (Kind.REMOVES, "d", "last"),
    ),
    "moved": (
        "all: d use out\nd: ; mkdir d; echo 1 >d/f\nuse: | d ; cat d/f >$@\nout: d ; mv d $@\n",
        (Kind.REMOVES, "d", "out"),
    ),
    "a-folder-to-work-in": (
        (
            "all: a b\na: ; mkdir tmp; echo >tmp/a; rm -r tmp; echo >$@\n"
            "b: ; mkdir tmp; echo >tmp/b; rm -r tmp; echo >$@\n"
        ),
        (Kind.BOTH_WRITE, "tmp", "a"),
    ),
    "what-a-folder-held-that-was-moved": (
        "all: d use\nd: ; mkdir d.new; echo 1 >d.new/f; mv d.new d\nuse: ; cat d/f >$@\n",
        (Kind.READS, "d/f", "d"),
    ),
    "a-link-to-a-folder": (
        "all: obj use\nobj: ; ln -s real $@\nuse: ; echo 1 >obj/x; echo >$@\n",
        (Kind.READS, "obj", "obj"),
    ),
    "a-mode": (
        "all: prog exe\nprog: ; echo 1 >$@\nexe: ; chmod +x prog; echo >$@\n",
        (Kind.READS, "prog", "prog"),
    ),
    "what-several-added-to": (
        "all: x y z\nx: ; echo 1 >>log; echo >$@\ny: ; echo 1 >>log; echo >$@\nz: ; cat log >$@\n",
        (Kind.READS, "log", "x"),
    ),
}


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_not_a_files_contents(tmp_path: Path, name: str) -> None:
    makefile, expected = FOLDERS[name]
    (tmp_path / "real").mkdir()
    result = followed(tmp_path, makefile)
    assert expected in found(result, tmp_path)
    assert all(each.line.tried.startswith(PASSES) for each in result.open), told(result)


def test_a_command_in_the_background(tmp_path: Path) -> None:
    """Of which the recipe is told to wait: `&>` is not one redirection for sh."""
    (tmp_path / "fifo").parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / "fifo")
    makefile = (
        "all: a b\na: ; (read x <fifo; echo 1 >$@) &\nb: ; echo >fifo; sh wait.sh; echo >$@\n"
    )
    wait = "until [ -s a ]; do :; done\n"
    result = checked(tmp_path, makefile, {"wait.sh": wait})
    (only,) = [each for each in result.open if each.kind is Kind.BACKGROUND]
    assert (only.other, only.paths) == ("a", [os.fspath(tmp_path / "a")])
    assert "let the recipe wait for what it starts with &" in told(result)


# ---------------------------------------------------------------- where nothing is tried


def test_a_build_that_changes_what_lies_elsewhere_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_overlays()
    other = Path.home() / f".smpmake-test-{os.getpid()}"
    makefile = f"all: gen.h o\no:\n\techo 1 >>{other}; cat gen.h >$@\n{GEN}"
    try:
        result = followed(tmp_path, makefile)
        assert other.read_text() == "1\n"
    finally:
        other.unlink()
    assert result.untried == f"the build changes {other}, which is outside of {tmp_path}"
    assert f"smpmake has not tried these lines: {result.untried}" in told(result)


def test_the_tree_is_as_the_build_left_it(tmp_path: Path) -> None:
    makefile = f"all: gen.h o\no:\n\tcat gen.h >$@; echo >>count\n{GEN}"
    result = followed(tmp_path, makefile)
    assert result.open[0].line.tried
    assert (tmp_path / "count").read_text() == "\n"
    assert (tmp_path / "Makefile").read_text() == makefile


def test_a_makefile_that_a_recipe_makes_is_not_tried(tmp_path: Path) -> None:
    makefile = "all: in.mk\n\t$(MAKE) -f in.mk both\nin.mk: in ; cp in $@\n"
    inner = f"both: gen.h o\no:\n\tcat gen.h >$@\n{GEN}"
    result = followed(tmp_path, makefile, {"in": inner})
    assert "in.mk:2 (a recipe makes it: change its source): add   o: gen.h\n" in told(result)
    assert "followed" not in told(result)


def test_other_findings_are_in_the_way_of_another_order(tmp_path: Path) -> None:
    """Then only the order as it is has been tried."""
    makefile = f"all: gen.h o x y z\no:\n\tcat gen.h >$@\nx y z:\n\techo $@ >tmp; cp tmp $@\n{GEN}"
    result = followed(tmp_path, makefile)
    (only,) = [each for each in result.open if each.line.text]
    assert only.line.tried == "the build passes, the next one does no more than before"
