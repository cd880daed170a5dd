"""Which build of the history a command line means."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from smpmake.cli.idle import last
from smpmake.console import say
from smpmake.errors import SmpmakeError
from smpmake.history import History
from smpmake.records import BuildRecord


class NoBuildError(SmpmakeError):
    """The history does not hold the build."""


class BuildType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """The name of a build: a number, `last`, or `last-N`, the Nth before the last."""

    name = "build"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """See click.ParamType."""
        if isinstance(value, int):
            return value
        if not is_build(value):
            self.fail(
                f"'{value}' must be a build: a number that smpmake history shows, last or last-N",
                param,
                ctx,
            )
        return int(value) if value.isdigit() else str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The last builds of this folder, or else of all."""
        try:
            heads = History().heads(os.getcwd()) or History().heads()
        except SmpmakeError:
            heads = []
        names = [("last", "the last one"), *((str(h.id), shlex.join(h.command)) for h in heads)]
        return [
            CompletionItem(name, help=text) for name, text in names if name.startswith(incomplete)
        ]


BUILD: Final = BuildType()
Builds = tuple[int | str, ...]


class BuildsType(BuildType):
    """One build or several, with commas between: 3,4,last."""

    name = "builds"

    def convert(  # type: ignore[override]
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Builds:
        """See click.ParamType."""
        if isinstance(value, tuple):
            return value
        words = str(value).split(",")
        return tuple(BUILD.convert(word, param, ctx) for word in words)


BUILDS: Final = BuildsType()


def is_build(word: str) -> bool:
    """Whether a word has the form of a build's name."""
    return re.fullmatch(r"\d+|last(-\d+)?", word, re.ASCII) is not None


def build_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--build BUILD`, which is the same as BUILD alone."""
    return click.option(
        "--build",
        type=BUILD,
        metavar="BUILD",
        help="Take this build: a number that smpmake history shows, last or last-N."
        "  [default: last]",
    )(function)


def complete_paths(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """For the words of a `[BUILD] [PATH]`."""
    return [CompletionItem(incomplete, type="file")]


def one_build(first: int | str | None, second: int | str | None) -> int | str:
    """The build that is named as an argument, as an option, or not at all."""
    if first is not None and second is not None and first != second:
        raise click.UsageError(f"Two builds are named, {first} and {second}: which one?")
    if first is not None:
        return first
    return second if second is not None else "last"


def build_and_path(words: Sequence[str], option: int | str | None) -> tuple[int | str, str | None]:
    """What the words of a `[BUILD] [PATH]` mean.  A file called as builds are is ./12."""
    rest = list(words)
    first = None
    if rest and is_build(rest[0]) and (len(rest) > 1 or not os.path.lexists(rest[0])):
        first = BUILD.convert(rest.pop(0), None, None)
    if len(rest) > 1:
        raise click.UsageError(f"One path at a time: '{rest[1]}' is a second one.")
    return one_build(first, option), rest[0] if rest else None


def find(name: int | str, *, tells: bool = False) -> BuildRecord:
    """The build.  `last` means this folder's, or where there is none the last at all.

    Builds that ran no tool do not count there (a typo, a make that found all up to date).

    tells  whether it says so if one came later, or if the build is of another folder.
    """
    history = History()
    if isinstance(name, int):
        record = history.load(name)
        if record is None:
            raise NoBuildError(f"build {name} is not in the history (smpmake history lists it)")
        return record
    back = int(name.partition("-")[2] or 0)
    here = history.heads(os.getcwd(), limit=back + 1, worked=True)
    heads = here or history.heads(limit=back + 1, worked=True)
    if not heads:
        raise NoBuildError(
            "No build is in the history yet in which a compiler or another known tool was run: "
            "put smpmake in front of one."
        )
    if back >= len(heads):
        count = "only one build" if len(heads) == 1 else f"only {len(heads)} builds"
        place = "this folder has" if here else "there is" if len(heads) == 1 else "there are"
        raise NoBuildError(f"{place} {count} in which a tool was run (smpmake history lists all)")
    record = history.load(heads[back].id)
    assert record is not None
    if tells and not here:
        where = f"build {record.id}, in {record.cwd}"
        say(f"no build of {os.getcwd()} is in the history: this is {where}")
    elif tells and back == 0 and (later := later_than(record)):
        say(f"{later}: this is build {record.id} before it")
    return record


def later_than(record: BuildRecord) -> str:
    """The last build of the same folder if that is another, in words; "" where it is this one.

    The other ran no tool.
    """
    found = [(record.wall_clock, "")]
    idle = last()
    if idle is not None and idle.cwd == record.cwd:
        found.append((idle.ended, f"`{idle.command}`, called no known tool"))
    for head in History().heads(record.cwd, limit=1):
        if head.id > record.id:
            status = f" and ended with status {head.status}" if head.status else ""
            how = f"called no known tool{status}"
            found.append((head.wall_clock, f"`{shlex.join(head.command)}`, {how}"))
    _, text = max(found)
    return f"the last build here, {text}" if text else ""


def like_it(record: BuildRecord, most: int) -> list[BuildRecord]:
    """The builds before this one that had as much to do, whole, the oldest first."""
    from smpmake.timing.trend import before

    history = History()
    heads = before(record, history.heads(record.cwd, limit=100 + 10 * most), most)
    if not heads:
        raise NoBuildError(
            f"no build before {record.id} has run the same command here, with as much to do"
        )
    found = (history.load(head.id) for head in reversed(heads))
    return [each for each in found if each is not None]


def earlier(record: BuildRecord, most: int = 20) -> list[BuildRecord]:
    """The heads of builds of the same folder and command before this one, newest first."""
    heads = History().heads(record.cwd, limit=10 * most, worked=True)
    same = [h for h in heads if h.id < record.id and h.command == record.command]
    return same[:most]
