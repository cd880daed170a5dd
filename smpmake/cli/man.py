"""The man page smpmake(1), made from the commands' help; hatch_build.py puts it into wheels.

It needs click and the standard library alone, as all that it imports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import click

from smpmake import __version__
from smpmake.cli import folder
from smpmake.cli.group import group
from smpmake.cli.names import COMMANDS
from smpmake.cli.reference import Row, keys, variables
from smpmake.cli.run import run

_WHAT = "run an unmodified serial build in parallel"

_CONFIGURATION: Final = """Settings files are TOML: one key and its value a line, as jobs = 4.  The
command line wins over variables, these over the project's .smpmake.toml, this over [tool.smpmake]
in the project's pyproject.toml, and this over your own config.toml.  Lists add up.
A pyproject.toml cannot set engine, remote or tools."""
_FILES: Final = {
    "~/.config/smpmake/config.toml": "Your own settings.  XDG_CONFIG_HOME moves the folder.",
    ".smpmake.toml": "A project's settings, in the folder of the build or the nearest above it.",
    "pyproject.toml": "The same in a table [tool.smpmake], in the folder of the build or above it,"
    " up to the root of the repository.",
    "~/.local/state/smpmake": "What smpmake remembers of builds.  XDG_STATE_HOME moves the folder.",
    "~/.cache/smpmake": "What smpmake can make again.  XDG_CACHE_HOME moves the folder.",
}
_EXAMPLES: Final = {
    "smpmake make": "Run make's commands in parallel, one for each CPU.",
    "smpmake -j4 ./build.sh": "Run at most four commands of a script at once.",
    "smpmake -C src make all": "Change to the folder src first.",
    "smpmake env CC=clang make": "Set a variable for the build.",
    "smpmake report": "Show how much smpmake helped in the last build.",
    "smpmake why main.o": "Show how main.o was made, and what it waited for.",
    "smpmake -- report": "Run a program that is named as a subcommand.",
}


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
        *_entry(*folder.TOLD),
        *_options(run),
        *_entry("-V, --version", "Show the version and exit."),
        *_entry("-h, --help", "Show help and exit; behind a command's name that command's."),
        ".SH SUBCOMMANDS",
        *(line for name in COMMANDS if name != "run" for line in _command(name)),
        ".SH EXIT STATUS",
        *_paragraphs(group.epilog or ""),
        ".SH ENVIRONMENT",
        *(line for row in variables() for line in _setting(row, "The same as {}.")),
        ".SH CONFIGURATION",
        *_paragraphs(_CONFIGURATION),
        *(line for row in keys() for line in _setting(row, f"Value: {row.value}.")),
        *_entry("[tools.NAME]", "Describe a tool that smpmake does not know."),
        ".SH FILES",
        *(line for name, text in _FILES.items() for line in _entry(name, text)),
        ".SH EXAMPLES",
        *(line for command, text in _EXAMPLES.items() for line in _entry(command, text)),
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


def _setting(row: Row, more: str) -> Iterable[str]:
    """A variable or a key; `more` is said behind its help, with the option that is the same."""
    told = [row.help] if row.help else []
    if "{}" not in more or row.same:
        told.append(more.format(row.same))
    if row.default:
        told.append(f"Default: {row.default}.")
    return _entry(row.name, " ".join(told))


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
