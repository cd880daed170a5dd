"""What smpmake says to its user: all of it goes through here, so that names are only ever shown.

A file may be called what a terminal obeys; no message of ours passes that on.
"""

from __future__ import annotations

import contextlib
import os
import sys

from smpmake.units import folded, one_line

_LEAST, _MOST = 60, 100  # columns


def say(text: str) -> None:
    """A message, in one line, on stderr; one that cannot be written changes nothing."""
    _write("\n".join(fitting(f"smpmake: {one_line(text)}")))


def show(text: str) -> None:
    """A line of an answer, on stdout."""
    print(one_line(text))


def conclude(line: str, color: str) -> None:
    """The only line of a summary, on stderr; `color` as the option."""
    text = one_line(line)
    _write(bold(text) if use_color(color, sys.stderr.isatty()) else text)


def fitting(line: str, indent: int = len("smpmake: ")) -> list[str]:
    """A line of ours as the terminal has room for it; in a log it stays one line."""
    try:
        columns = os.get_terminal_size(2).columns
    except OSError:
        return [line]
    return folded(line, max(_LEAST, min(columns, _MOST)), indent) if columns else [line]


def bold(text: str) -> str:
    """As a terminal shows it."""
    return f"\033[1m{text}\033[0m"


def _write(line: str) -> None:
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def use_color(choice: str, is_terminal: bool, environ: dict[str, str] | None = None) -> bool:
    """Whether to use colours: the option, then NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, CLICOLOR."""
    env = os.environ if environ is None else environ
    if choice != "auto":
        return choice == "always"
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR", "0") not in ("", "0") or env.get("CLICOLOR_FORCE", "0") != "0":
        return True
    if env.get("CLICOLOR") == "0" or env.get("TERM") == "dumb":
        return False
    return is_terminal
