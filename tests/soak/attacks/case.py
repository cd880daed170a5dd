"""What a case is, and short ways to write one."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

#: Stands for smpmake and its options in a shell's text; in a plain run it is nothing.
SMPMAKE = "SMPMAKE"
#: What a script begins with: it keeps the only slot, so that what follows is pending.
BUSY = "sleeper -o slow.out\n"
SCRIPT = ("bash", "./build.sh")
MAKE = ("make",)

Command = str | tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """A build, and what somebody does before it.

    command   a command line, or a shell's text in which SMPMAKE stands for smpmake.
    edit      a shell's text, run before it.
    options   smpmake's; the case's if None.
    compared  whether it has one result, or only what comes after it has.
    """

    command: Command = MAKE
    edit: str = ""
    options: Sequence[str] | None = None
    compared: bool = True


@dataclass(frozen=True)
class Case:
    """Builds in one folder, one after the other.

    files     what is there before, besides what `before` makes, a shell's text.
    below     where the builds are, a folder below the case's.
    after     what is run plainly at the end; None: `make`, if there is a makefile.
    ignored   what need not agree, as it is noise: patterns of names of files, "stdout", "stderr",
              "output" or "status".
    admitted  the heading of docs/limits.md that says why something may differ, and
    differs   what, as in `ignored`.
    needs     programs without which it cannot be run; "root" for its rights; "guard" where other
              users are to have that, "others" where they run smpmake: it may lie in a closed home.
    ordered   whether the order of times is one that plain builds agree on.
    settle    seconds after each build in which what it has left behind comes to its end.
    cold      smpmake has not seen any compiler yet.
    """

    name: str
    steps: Sequence[Step]
    files: Mapping[str, str] = field(default_factory=dict)
    before: str = ""
    options: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    below: str = "."
    after: Command | None = None
    ignored: Sequence[str] = ()
    admitted: str = ""
    differs: Sequence[str] = ()
    needs: Sequence[str] = ()
    ordered: bool = True
    settle: float = 0.0
    cold: bool = False
    seconds: float = 60.0


#: For `after`: nothing.
NOTHING: Command = ()


def text(indented: str) -> str:
    """A text as it is meant: without the indentation and the first line's end."""
    return textwrap.dedent(indented).removeprefix("\n")


def recipes(indented: str) -> str:
    """A makefile: four spaces at the begin of a line are its tab."""
    return re.sub(r"(?m)^    ", "\t", text(indented))


def script(
    name: str,
    lines: str,
    *,
    files: Mapping[str, str] | None = None,
    before: str = "",
    busy: str = BUSY,
    steps: Sequence[Step] = (Step(SCRIPT),),
    options: Sequence[str] = ("-j1",),
    **more: object,
) -> Case:
    """A shell script.  With one slot, which `busy` keeps, all that it compiles is pending."""
    found = {**(files or {}), "build.sh": busy + text(lines)}
    return _case(name, found, before, steps, options, more)


def makefile(
    name: str,
    lines: str,
    *,
    files: Mapping[str, str] | None = None,
    before: str = "",
    steps: Sequence[Step] = (Step(),),
    options: Sequence[str] = (),
    **more: object,
) -> Case:
    """A makefile."""
    return _case(name, {**(files or {}), "Makefile": recipes(lines)}, before, steps, options, more)


def _case(
    name: str,
    files: Mapping[str, str],
    before: str,
    steps: Sequence[Step],
    options: Sequence[str],
    more: Mapping[str, object],
) -> Case:
    plain = [replace(step, edit=text(step.edit), command=_told(step.command)) for step in steps]
    case = Case(name, plain, files, text(before), options)
    return replace(case, **more)  # type: ignore[arg-type]


def _told(command: Command) -> Command:
    return text(command) if isinstance(command, str) else command


def again(*edits: str, command: Command = MAKE, clean: str = "make -s clean") -> tuple[Step, ...]:
    """A build, and for each edit the tree made clean, the edit and a build."""
    return (Step(command), *(Step(command, f"{clean} >/dev/null 2>&1\n{text(e)}") for e in edits))
