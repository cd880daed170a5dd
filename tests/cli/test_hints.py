"""What a command that cannot be run was probably meant to be."""

from __future__ import annotations

import pytest

from smpmake.cli.hints import hint
from tests.support.space import Space, objects


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("reprot", "did you mean `smpmake report`?"),
        ("Report", "did you mean `smpmake report`?"),
        ("hist", "did you mean `smpmake history`?"),
        ("help", "did you mean `smpmake --help`?"),
        ("version", "did you mean `smpmake --version`?"),
        ("cd sub", "to build in a folder: smpmake -C sub COMMAND"),
        ("cd", "to build in a folder: smpmake -C FOLDER COMMAND"),
        ("umask 022", ""),
        ("CC=clang make all", "variables come before smpmake: CC=clang smpmake make all"),
        ("CC=clang", ""),
        ("if true", "it needs a shell: smpmake sh -c 'if true'"),
        ("./reprot", ""),
        ("no-such-command", ""),
        ("mke all", ""),
        ("re", ""),
    ],
)
def test_a_hint_only_where_it_is_near(command: str, words: str) -> None:
    assert hint(command.split()) == words


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["make -j4 all"], "it needs a shell: smpmake sh -c 'make -j4 all'"),
        (["make && make test"], "it needs a shell: smpmake sh -c 'make && make test'"),
        (["make CC='x y'"], "it needs a shell: smpmake sh -c 'make CC='\"'\"'x y'\"'\"''"),
        (["cd", "a b"], "to build in a folder: smpmake -C 'a b' COMMAND"),
        (["cd sub && make"], "it needs a shell: smpmake sh -c 'cd sub && make'"),
        (["A=x y", "B=", "make"], "variables come before smpmake: A='x y' B='' smpmake make"),
        (["make " + "x" * 99], "it needs a shell: smpmake sh -c '...'"),
        ([""], ""),
    ],
)
def test_what_a_shell_would_take_apart(command: list[str], words: str) -> None:
    assert hint(command) == words


@pytest.mark.slow
def test_a_typo_is_one_line_and_not_the_last_build(space: Space) -> None:
    space.write(objects(1))
    assert space.smpmake("sh", "-c", "gcc -c f0.c").status == 0
    typed = space.smpmake("reprot")
    assert typed.status == 127
    assert typed.err == (
        "smpmake: reprot: cannot be run: not found on PATH; did you mean `smpmake report`?\n"
    )
    assert space.smpmake("true").status == 0
    assert space.smpmake("gcc", "-dumpversion").status == 0
    shown = space.smpmake("report")
    assert shown.out.startswith("sh -c 'gcc -c f0.c'\n"), shown.err
    nothing = space.smpmake("report", "last-1")
    assert nothing.status == 125
    assert "this folder has only one build in which a tool was run" in nothing.err


@pytest.mark.slow
def test_what_cannot_be_run_says_why(space: Space) -> None:
    space.write({"plain.txt": "text", "script": "#!/no/such/shell\n"})
    (space.folder / "script").chmod(0o755)
    for command, status, words in (
        ("./plain.txt", 126, "./plain.txt: cannot be run: Permission denied"),
        ("./none", 127, "./none: cannot be run: No such file or directory"),
        ("make all", 127, "make all: cannot be run: not found on PATH; it needs a shell: "),
    ):
        ended = space.smpmake(command)
        assert ended.status == status
        assert len(ended.err.splitlines()) == 1
        assert words in ended.err
