"""The modules of a Fortran source: those that it defines and those that it uses.

No command line names them: `module m` makes m.mod, `use m` reads it, and where a module has parts
elsewhere there is an m.smod too.  So the source is asked, statement by statement; what stands in it
under conditions counts as if it were there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_TEXT: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_CONTINUED: Final = re.compile(r"&[ \t]*(?:![^\n]*)?\n(?:[ \t]*(?:!(?!\$)[^\n]*)?\n)*[ \t]*&?")
_FIXED_COMMENT: Final = re.compile(r"^[cC*dD!][^\n]*$", re.MULTILINE)
_FIXED_CONTINUED: Final = re.compile(r"\n(?: {5}[^ 0\n]|\t[1-9])")
_MODULE: Final = re.compile(r"module\s+(\w+)")
_USE: Final = re.compile(r"use\b\s*(?:,\s*(\w+)\s*)?(?:::)?\s*(\w+)")
_SUBMODULE: Final = re.compile(r"submodule\s*\(\s*(\w+)\s*(?::\s*(\w+)\s*)?\)\s*(\w+)")
_INCLUDE: Final = re.compile(r"^[ \t]*(#?)[ \t]*include[ \t]*([\"'])([^\"'\n]+)\2", re.M | re.I)
_DEFINE: Final = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_CONDITION: Final = re.compile(r"^[ \t]*#[ \t]*if", re.MULTILINE)
_DEEPEST: Final = 20


@dataclass(slots=True)
class Modules:
    """What a source says of modules; all names are in lower case, as in their files' names.

    defined      modules, `parts` submodules ("ancestor@name").
    used         names of files without their folder: "m.mod", "m.smod", "m@part.smod".
    macros       names that the preprocessor replaces.
    conditional  there are lines that the preprocessor may leave out.
    missing      an included file that is not there, or "".
    """

    defined: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    macros: set[str] = field(default_factory=set)
    conditional: bool = False
    missing: str = ""


def modules_of(
    text: str, *, fixed: bool, cpp: bool, include: Callable[[str], str | None]
) -> Modules:
    """What a source and the files that it includes define and use.

    fixed    the form with columns (.f).  cpp: it is preprocessed.
    include  the text of an included file by its name, None where it cannot be read.
    """
    found = Modules()
    _read(text, fixed, cpp, include, found, 0)
    found.used -= {f"{name}.mod" for name in found.defined}
    return found


def _read(
    text: str,
    fixed: bool,
    cpp: bool,
    include: Callable[[str], str | None],
    found: Modules,
    depth: int,
) -> None:
    for mark, _, name in _INCLUDE.findall(text):
        if mark and not cpp:
            continue
        inner = include(name) if depth < _DEEPEST else None
        if inner is None:
            found.missing = name
        else:
            _read(inner, fixed, cpp, include, found, depth + 1)
    if cpp:
        found.macros.update(name.lower() for name in _DEFINE.findall(text))
        found.conditional |= _CONDITION.search(text) is not None
    for statement in _statements(text, fixed):
        _take(statement, found)


def _statements(text: str, fixed: bool) -> list[str]:
    """Statements in lower case, each from its first letter on."""
    text = text.replace("\r\n", "\n")
    if fixed:
        text = _FIXED_COMMENT.sub("", text)
        text = _FIXED_CONTINUED.sub("", text)
    else:
        text = _CONTINUED.sub(" ", text)
    text = _TEXT.sub("''", text)
    lines = [line.partition("!")[0] for line in text.splitlines()]
    return [part.strip().lower() for line in lines for part in line.split(";")]


def _take(statement: str, found: Modules) -> None:
    if statement.startswith("use"):
        used = _USE.match(statement)
        if used is not None and used[1] != "intrinsic" and "=" not in statement[: used.end() + 1]:
            found.used.add(f"{used[2]}.mod")
    elif statement.startswith("module"):
        module = _MODULE.fullmatch(statement)
        if module is not None and module[1] not in ("procedure", "function", "subroutine"):
            found.defined.add(module[1])
    elif statement.startswith("submodule"):
        part = _SUBMODULE.fullmatch(statement)
        if part is not None:
            ancestor, parent, name = part[1], part[2], part[3]
            found.parts.add(f"{ancestor}@{name}")
            found.used.add(f"{ancestor}@{parent}.smod" if parent else f"{ancestor}.smod")


__all__ = ["Modules", "modules_of"]
