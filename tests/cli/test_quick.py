"""The command line that needs no parser: it means what the parser would make of it."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from typing import Any

import click
import pytest

from smpmake import options
from smpmake.cli import quick
from smpmake.cli.group import insert_run
from smpmake.cli.names import COMMANDS, options_with_values
from smpmake.cli.run import run
from smpmake.options import Option
from tests.support.space import Space

VALUES = {
    "number": ("0", "3", "19", "4096", "4097", "-1", "+2", " 2", "3.5", "many", ""),
    "amount": ("512M", "2G", "off", "1.5g", "much", ""),
    "list": ("gcc", "/usr/*/ld", "a b", "", "-x", "reads"),
    "text": ("x", "http://x"),
    "load_average": ("4", "2.5", "-1", "x", "1e3"),
    "slots": ("link=2", "cc1plus *.pb.cc=1", "link", "link=0", "=2"),
    "machine_pool": ("/srv/pool", "/x y", "pool"),
    "flag": ("1", "0", "true", "No", "on", "perhaps", " yes ", "", "2"),
}
COMMANDS_OF_USERS = (*("make", "./build.sh") * 4, *("why", "run", "report", "--", "-", "-k", "4"))


def any_value(option: Option, chance: random.Random) -> str:
    """Mostly one that the option can have."""
    values: Sequence[str] = VALUES.get(option.name) or VALUES.get(option.kind, ("other", ""))
    if option.choices and chance.random() < 0.9:
        values = option.choices
    return chance.choice([*values, *list(values[:2]) * 5])


def any_option(chance: random.Random) -> list[str]:
    """An option as somebody might type it, mostly as it is meant to be."""
    option = chance.choice(list(options.of_builds()))
    word = chance.choice((*option.words, *option.off))
    if option.kind == "flag":
        return [word if chance.random() < 0.95 else f"{word}=1"]
    value = any_value(option, chance)
    if word.startswith("--"):
        return chance.choice((*([f"{word}={value}"], [word, value]) * 5, [word]))
    glued = ([f"{word}{value}"], [word, value], [f"-k{word[1:]}{value}"])
    return chance.choice((*glued * 3, [word]))


def any_line(chance: random.Random) -> list[str]:
    """A command line, with none of our options, or a few of them, or what is none."""
    words = []
    for _ in range(chance.choice((0, 1, 1, 2, 2, 3))):
        words += any_option(chance)
    odd = (["--nonesuch"], ["-z"], ["-kq"], ["-vj2"], ["-qx"], ["--help"], ["-V"])
    if chance.random() < 0.15:
        words += chance.choice(odd)
    return words + chance.choices(COMMANDS_OF_USERS, k=chance.choice((0, 1, 1, 2, 2, 3)))


def any_environment(chance: random.Random) -> dict[str, str]:
    """Some variables of ours."""
    found = {}
    known = [option for option in options.of_builds() if option.variable]
    for option in chance.choices(known, k=chance.choice((0, 0, 1, 1, 2))):
        found[option.variable] = any_value(option, chance)
    return found


def by_click(words: list[str]) -> tuple[dict[str, Any], list[str]] | None:
    """What the parser makes of a build's command line; None for a fault or what is no build."""
    inserted = insert_run(words, options_with_values(run))
    if inserted[:1] != ["run"]:
        return None
    try:
        params = run.make_context("smpmake", inserted[1:]).params
    except (click.ClickException, click.exceptions.Exit):
        return None
    command = list(params.pop("command"))
    return {name: v for name, v in params.items() if v is not None and v != ()}, command


@pytest.mark.parametrize("seed", range(20))
def test_it_means_what_the_parser_makes_of_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not sure the parser is asked, which only costs time; so often it is not."""
    chance = random.Random(seed)
    right = known = 0
    for _ in range(300):
        words, environ = any_line(chance), any_environment(chance)
        with monkeypatch.context() as here:
            for name, value in environ.items():
                here.setenv(name, value)
            meant = by_click(words)
        read = quick.read(words, environ)
        if read is not None:
            assert meant == (read.given, read.command), (words, environ)
            known += 1
        right += meant is not None
    assert right > 90
    assert known > 0.8 * right


@pytest.mark.parametrize(
    ("words", "given", "command"),
    [
        (["make"], {}, ["make"]),
        (["make", "-j2", "--", "all"], {}, ["make", "-j2", "--", "all"]),
        (["./report"], {}, ["./report"]),
        ([""], {}, [""]),
        (["-q", "make"], {"quiet": True}, ["make"]),
        (["--", "report"], {}, ["report"]),
        (["run", "report"], {}, ["report"]),
        (["-k", "run", "-j2", "why"], {"keep_going": True, "jobs": 2}, ["why"]),
        (["--no-guard", "--guard", "make"], {"guard": True}, ["make"]),
        (["-vj3", "make"], {"verbose": True, "jobs": 3}, ["make"]),
        (["env", "CC=clang", "make"], {}, ["env", "CC=clang", "make"]),
        (["-q", "env", "-i", "make"], {"quiet": True}, ["env", "-i", "make"]),
        (["--output-sync=serial", "make"], {"output": "serial"}, ["make"]),
    ],
)
def test_what_is_usual_is_read(words: list[str], given: dict[str, Any], command: list[str]) -> None:
    read = quick.read(words, {})
    assert read is not None
    assert (read.given, read.command) == (given, command)


@pytest.mark.parametrize("words", [[], ["-j"], ["report"], ["-j2"], ["--help"], ["-k", "why"]])
def test_the_rest_is_for_the_parser(words: list[str]) -> None:
    assert quick.read(words, {}) is None


def test_a_shell_that_completes_is_for_the_parser() -> None:
    assert quick.read(["make"], {"_SMPMAKE_COMPLETE": "bash_source"}) is None


def test_every_command_of_ours_is_for_the_parser() -> None:
    for name in COMMANDS:
        assert quick.read([name], {}) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "environ", "file"),
    [
        (["-j2", "true"], {}, ""),
        (["-q", "true"], {}, ""),
        (["true"], {"SMPMAKE_JOBS": "2", "SMPMAKE_STATUS": "%f"}, ""),
        (["true"], {}, "jobs = 2\nguard = false\n"),
    ],
    ids=["-j2", "-q", "variables", "file"],
)
def test_a_build_with_settings_begins_as_soon_as_one_without(
    space: Space, words: list[str], environ: dict[str, str], file: str
) -> None:
    """Not a time: its driver has ended before what a session needs was loaded."""
    if file:
        space.write({".smpmake.toml": file})
    code = (
        "import sys\nfrom smpmake.cli import main\n"
        f"try: main({words!r})\nexcept SystemExit as end: assert end.code == 0, end.code\n"
        "heavy = {'click', 'rich', 'psutil', 'jinja2', 'smpmake.engine.engine'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    ended = space.run(sys.executable, "-c", code, **environ)
    assert (ended.status, ended.out) == (0, "[]\n"), ended.err
