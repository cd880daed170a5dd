"""The man page smpmake(1), made from the commands' help; hatch_build.py puts it into wheels.

It needs click and the standard library alone, as all that it imports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import click

from smpmake import __version__
from smpmake.cli.group import IN_A_FOLDER, group
from smpmake.cli.names import COMMANDS
from smpmake.cli.run import run

_WHAT = "run an unmodified serial build in parallel"


def page() -> str:
    """The page's source, for man."""
    lines = [
        f'.TH SMPMAKE 1 "" "smpmake {__version__}" "User Commands"',
        ".nh",
        ".ad l",
        ".SH NAME",
        rf"smpmake \- {_WHAT}",
        ".SH SYNOPSIS",
        r"\fBsmpmake\fR [\fIOPTIONS\fR] [\fB\-\-\fR] \fICOMMAND\fR [\fIARGS\fR]...",
        ".br",
        r"\fBsmpmake\fR \fISUBCOMMAND\fR ...",
        ".SH DESCRIPTION",
        *_paragraphs(group.help or ""),
        ".SH OPTIONS",
        *_entry(*IN_A_FOLDER),
        *_options(run),
        *_entry("-V, --version", "Show the version and exit."),
        *_entry("-h, --help", "Show help and exit; behind a command's name that command's."),
        ".SH SUBCOMMANDS",
        *(line for name in COMMANDS if name != "run" for line in _command(name)),
        ".SH EXIT STATUS",
        *_paragraphs(group.epilog or ""),
        ".SH SEE ALSO",
        r"\fBmake\fR(1), \fBninja\fR(1), \fBccache\fR(1)",
    ]
    return "\n".join(lines) + "\n"


def _command(name: str) -> Iterator[str]:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    yield from _described(f"smpmake {name}", command)
    if isinstance(command, click.Group):
        for inner in command.list_commands(click.Context(command)):
            yield from _described(f"smpmake {name} {inner}", command.commands[inner])


def _described(name: str, command: click.Command) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(click.Context(command)))
    yield f".SS {_roff(f'{name} {usage}')}"
    yield from _paragraphs(command.help or "")
    yield from _options(command)


def _options(command: click.Command) -> Iterator[str]:
    context = click.Context(command)
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            yield from _entry(*record)


def _entry(names: str, text: str) -> Iterable[str]:
    return (".TP", rf"\fB{_roff(names)}\fR", _roff(" ".join(text.split())))


def _paragraphs(text: str) -> Iterator[str]:
    r"""Paragraphs of a help text; one that begins with \b keeps its lines, as click has it."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        yield ".PP"
        if paragraph.lstrip(" ").startswith("\b"):
            rows = paragraph.strip().removeprefix("\b").strip().splitlines()
            yield from (".nf", *(_roff(row.strip()) for row in rows), ".fi")
        else:
            yield _roff(" ".join(paragraph.split()))


def _roff(text: str) -> str:
    """Text that roff takes as nothing but text."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("`", r"\(ga")
    plain = plain.replace("'", r"\(aq").replace('"', r"\(dq")
    return rf"\&{plain}" if plain.startswith(".") else plain
