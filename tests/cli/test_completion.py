"""Completion: what our words may be, and the hand-over to the command behind, in real shells."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from smpmake.cli.completion import Item, complete
from smpmake.cli.names import COMMANDS
from tests.support.made import build, keep, ran
from tests.support.space import SMPMAKE, Space

FISH = shutil.which("fish")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("rep", ["report", "command 1"]),
        ("-j 3 rep", ["report", "command 3"]),
        ("-- rep", ["command 2"]),
        ("run rep", ["command 2"]),
        ("-j 3 make -k al", ["behind 3"]),
        ("-- report x", ["behind 2"]),
        ("run -k make al", ["behind 3"]),
        ("env CC=clang make al", ["behind 1"]),
        ("env --so", ["--socket"]),
        ("-C x", ["dir x"]),
        ("-C sub -k -C deep make al", ["behind 6"]),
        ("-C sub rep", ["report", "command 3"]),
        ("bench --clean x make al", ["behind 4"]),
        ("--color ", ["auto", "always", "never"]),
        ("--color=al", ["always"]),
        ("--color = al", ["always"]),  # as bash parts it
        ("--color = never make al", ["behind 4"]),
        ("--vers", ["--version"]),
        ("--keep", ["--keep-going"]),
        ("report --js", ["--json"]),
        ("export ni", ["ninja"]),
        ("export ninja x", ["file x"]),
        ("why l", ["file l"]),
        ("report --html x", ["file x"]),
        ("completion ", ["bash", "fish", "zsh"]),
        ("make 'a b", ["behind 1"]),
    ],
)
def test_what_may_stand_there(line: str, found: list[str]) -> None:
    words = ["smpmake", *line.split(" ")]
    items = list(complete(words, len(words) - 1))
    assert [i.value if i.type == "plain" else f"{i.type} {i.value}" for i in items] == found


def test_what_stands_behind_the_cursor_does_not_matter() -> None:
    assert list(complete(["smpmake", "make", "x", "y"], 2)) == [Item("behind", "1")]
    names = [item.value for item in complete(["smpmake"], 1) if item.type == "plain"]
    assert names == list(COMMANDS)


def test_builds_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    record = build(ran(0, 0, 1, 2))
    record.command = ["make", "a\tb\x1b"]
    for _ in range(2):
        keep(tmp_path / "smpmake" / "history.db", record)
    items = list(complete(["smpmake", "report", ""], 2))
    assert [item.value for item in items] == ["last", "2", "1"]
    assert [item.value for item in complete(["smpmake", "why", "--build", "1"], 3)] == ["1"]


@pytest.fixture
def typed(space: Space) -> Iterator[Space]:
    folder = space.root / "bin"
    folder.mkdir()
    (folder / "smpmake").symlink_to(SMPMAKE)
    space.environment["PATH"] = f"{folder}:{space.environment['PATH']}"
    space.environment["TERM"] = "dumb"
    yield space


def shell(space: Space, *command: str) -> pexpect.spawn[str]:
    return pexpect.spawn(
        command[0],
        list(command[1:]),
        cwd=str(space.folder),
        env={str(k): v for k, v in space.environment.items()},
        encoding="utf-8",
        timeout=60,
        dimensions=(50, 200),
    )


def ready(child: pexpect.spawn[str], *lines: str) -> None:
    for number, line in enumerate(lines):
        child.sendline(f"{line}; echo ready''{number}")
        child.expect(f"ready{number}")


def completes(child: pexpect.spawn[str], begun: str, rest: str) -> None:
    """Typing `begun` and Tab gives `rest` more."""
    child.send(begun)
    child.expect_exact(begun)
    child.send("\t")
    child.expect_exact(rest)
    child.sendcontrol("u")


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.parametrize("own", [True, False])
def test_bash(typed: Space, own: bool) -> None:
    """Without bash-completion, and with its function (which hands over from a given word)."""
    child = shell(typed, "bash", "--norc", "--noprofile", "-i")
    ready(
        child,
        'eval "$(smpmake completion bash)"',
        '_tool() { COMPREPLY=("$2pha-$COMP_CWORD-$1"); }',
        "complete -F _tool tool",
    )
    if not own:
        ready(child, '_command_offset() { COMPREPLY=("from-$1"); }')
    completes(child, "smpmake repo", "rt ")
    completes(child, "smpmake --color=al", "ways ")
    completes(child, "smpmake report --js", "on ")
    completes(child, "smpmake --color=never tool -x al", "pha-2-tool" if own else "from-4")
    (typed.folder / "some-file").touch()
    completes(child, "smpmake why some", "-file ")
    if own:
        completes(child, "smpmake othertool some", "-file ")
    completes(child, "smpmake -k base6", "4 ")
    child.close(force=True)


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
def test_zsh(typed: Space) -> None:
    child = shell(typed, "zsh", "-f", "-i")
    ready(
        child,
        "unsetopt zle_bracketed_paste 2>/dev/null; PROMPT='> '; autoload -U compinit",
        "compinit -u -D",
        'eval "$(smpmake completion zsh)"',
        "_tool() { compadd alpha-$CURRENT }",
        "compdef _tool tool",
    )
    (typed.folder / "some-file").touch()
    completes(child, "smpmake repo", "rt")
    completes(child, "smpmake --color=al", "ways")
    completes(child, "smpmake report --js", "on")
    completes(child, "smpmake -j 3 tool -x al", "pha-3")
    completes(child, "smpmake why some", "-file")
    completes(child, "smpmake -k base6", "4")
    child.close(force=True)


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.skipif(FISH is None, reason="there is no fish")
def test_fish(typed: Space) -> None:
    script = (
        "smpmake completion fish | source; complete -c tool -f -a alpha; "
        "complete -C 'smpmake repo'; complete -C 'smpmake -j 3 tool al'"
    )
    shown = typed.ok(FISH or "fish", "--no-config", "-c", script).out
    assert "report\t" in shown
    assert "alpha" in shown


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_the_scripts_are_sound(typed: Space, name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name}")
    script = typed.smpmake("completion", name).out
    assert typed.run(name, "-n", "-c", script).err == ""
    bad = typed.smpmake("completion", "tcsh")
    assert bad.status == 125
    assert "'tcsh' is not one of 'bash', 'fish', 'zsh'" in bad.err
