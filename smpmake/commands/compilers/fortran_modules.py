"""The modules of a Fortran source: those that it defines and those that it uses.

No command line names them: `module m` makes m.mod, `use m` reads it, and where a module has parts
elsewhere there is an m.smod too.  So the source is asked, statement by statement; what stands in it
under conditions counts as if it were there, and what is not understood is said to be `strange`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

_QUOTES: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_NAME: Final = r"([a-z][\w$]*)"
_USE: Final = re.compile(rf"use\s*(?:,\s*(\w+)\s*::|::|\s)\s*{_NAME}\s*(?:,.*)?")
_MODULE: Final = re.compile(rf"module\s+{_NAME}")
_SUBMODULE: Final = re.compile(rf"submodule\s*\(\s*{_NAME}\s*(?::\s*{_NAME}\s*)?\)\s*{_NAME}")
#: In the form with columns blanks mean nothing.
_FIXED_USE: Final = re.compile(rf"use(?:,(\w+)::|::)?{_NAME}(?:,.*)?")
_FIXED_MODULE: Final = re.compile(rf"module{_NAME}")
#: Statements that begin so and are none of a module: parts of one, variables of that name.
_PROCEDURE: Final = re.compile(r"module\s*(?:\w+[\s(].*)?(?:procedure|function|subroutine)")
_VARIABLE: Final = re.compile(r"(?:sub)?(?:module|use)[\w$]*\s*(?:=|%|\(.*\)\s*(?:=|%))")
_INCLUDE: Final = re.compile(r"(#?)\s*include\s*([\"'<])([^\"'>]+)[\"'>]", re.IGNORECASE)
_DEFINE: Final = re.compile(r"#\s*define\s+(\w+)(.*)")
_MAKES_MODULES: Final = re.compile(r"\b(?:sub)?module\b|\buse\b|##|/\*", re.IGNORECASE)
_BEGINS: Final = re.compile(r"\s*(?:\d+\s+)?(?:sub|mod|use)", re.IGNORECASE)
_LABEL: Final = re.compile(r"\d+\s+")
_SENTINEL: Final = re.compile(r"[!cC*]\$(?=[ \t])")
_DEEPEST: Final = 20
_LINE: Final = 72  # where lines of the form with columns end


@dataclass(slots=True)
class Modules:
    """What a source says of modules; all names are in lower case, as in their files' names.

    defined      modules, `parts` submodules ("ancestor@name").
    used         names of files without their folder: "m.mod", "m.smod", "m@part.smod".
    macros       names that the preprocessor replaces; `loaded`: perhaps by a statement of these.
    conditional  there are lines that the preprocessor (or a compiler without OpenMP) leaves out.
    strange      what was not understood: a statement, a macro for one, a file that is not there.
    """

    defined: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    macros: set[str] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)
    conditional: bool = False
    strange: str = ""


#: The text of an included file by its name and the folder of who includes it ("" or with a slash
#: at its end), with its own folder; None where it cannot be read.
Include = Callable[[str, str], tuple[str, str] | None]


@dataclass(slots=True)
class Form:
    """How a source is to be read.

    fixed    the form with columns (.f); `width` of its lines, 0 for any.
    cpp      it is preprocessed.
    """

    fixed: bool
    cpp: bool
    include: Include
    width: int = _LINE


def modules_of(text: str, folder: str, form: Form) -> Modules:
    """What a source in `folder` and the files that it includes define and use."""
    found = Modules()
    _read(text, folder, form, found, 0)
    found.used -= {f"{name}.mod" for name in found.defined}
    return found


def _read(text: str, folder: str, form: Form, found: Modules, depth: int) -> None:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if form.cpp:
        text = text.replace("\\\n", " ")
    code: list[str] = []
    for raw in text.split("\n"):
        line, bare = raw, raw.strip()
        if _SENTINEL.match(raw if form.fixed else bare):
            found.conditional = True
            line = _SENTINEL.sub("  ", raw, 1)
            bare = line.strip()
        if form.cpp and bare.startswith("#"):
            _directive(bare, folder, form, found, depth)
            if code and _BEGINS.match(code[-1]) and _code(code[-1]).rstrip().endswith("&"):
                found.strange = found.strange or code[-1].strip()
            continue
        include = _INCLUDE.match(bare)
        if include is not None and not include[1] and include[2] != "<":
            _include(include[3], folder, form, found, depth)
            continue
        code.append(line)
    for statement in _fixed(code, form.width) if form.fixed else _free(code):
        _take(statement, form, found)


def _directive(line: str, folder: str, form: Form, found: Modules, depth: int) -> None:
    word = line[1:].lstrip()
    if word.startswith("include"):
        include = _INCLUDE.match(line)
        if include is None:
            found.strange = found.strange or line
        else:
            _include(include[3], folder, form, found, depth)
    elif word.startswith("if"):
        found.conditional = True
    elif (define := _DEFINE.match(line)) is not None:
        found.macros.add(define[1].lower())
        if _MAKES_MODULES.search(define[2]):
            found.loaded.add(define[1].lower())


def _include(name: str, folder: str, form: Form, found: Modules, depth: int) -> None:
    inner = form.include(name, folder) if depth < _DEEPEST else None
    if inner is None:
        found.strange = found.strange or f"include {name}"
    else:
        _read(inner[0], inner[1], form, found, depth + 1)


def _code(line: str) -> str:
    """A line without its comment and without what is in quotes."""
    return _QUOTES.sub("''", line).partition("!")[0]


def _free(lines: list[str]) -> Iterator[str]:
    """Statements of the free form."""
    whole, going_on = "", False
    for line in lines:
        code = _code(line).strip()
        if not code:
            continue
        if going_on:
            # A continuation that begins with & goes on in the middle of a word.
            whole += code[1:].lstrip() if code.startswith("&") else f" {code}"
        else:
            whole = code
        going_on = whole.endswith("&")
        if going_on:
            whole = whole[:-1]
        else:
            yield from _parts(whole)
    if going_on:
        yield from _parts(whole)


def _fixed(lines: list[str], width: int) -> Iterator[str]:
    """Statements of the form with columns."""
    whole = ""
    for line in lines:
        if line[:1] in ("c", "C", "*", "!", "d", "D"):
            continue
        tab = line[:6].find("\t")
        if tab >= 0:
            digit = line[tab + 1 : tab + 2]
            goes_on = digit.isdigit() and digit != "0"
            body = line[tab + 1 + goes_on :]
        else:
            cut = line[:width] if width else line
            goes_on = cut[5:6] not in ("", " ", "0")
            body = cut[6:]
        code = _code(body)
        if not code.strip():
            continue
        if goes_on:
            whole += code
        else:
            yield from _parts(whole)
            whole = code
    yield from _parts(whole)


def _parts(code: str) -> Iterator[str]:
    for part in code.split(";"):
        statement = part.strip().lower()
        label = _LABEL.match(statement)
        yield statement[label.end() :] if label else statement


def _take(statement: str, form: Form, found: Modules) -> None:
    if not statement:
        return
    first = re.match(r"[a-z_]\w*", statement)
    if form.cpp and first is not None and first[0] in found.loaded:
        found.strange = found.strange or statement
    squeezed = statement.replace(" ", "").replace("\t", "") if form.fixed else statement
    begins = squeezed.startswith(("use", "module", "submodule"))
    if not begins or _VARIABLE.match(statement) or _VARIABLE.match(squeezed):
        return
    if squeezed.startswith("use"):
        used = _USE.fullmatch(statement) or (_FIXED_USE.fullmatch(squeezed) if form.fixed else None)
        if used is not None:
            if used[1] != "intrinsic":
                found.used.add(f"{used[2]}.mod")
        elif form.cpp and re.match(r"use\b", statement):
            found.strange = found.strange or statement
    elif squeezed.startswith("module"):
        module = _MODULE.fullmatch(statement)
        if module is None and form.fixed and not _PROCEDURE.match(squeezed):
            module = _FIXED_MODULE.fullmatch(squeezed)
        if module is not None and module[1] not in ("procedure", "function", "subroutine"):
            found.defined.add(module[1])
        elif module is None and not _PROCEDURE.match(statement):
            found.strange = found.strange or statement
    else:
        part = _SUBMODULE.fullmatch(statement) or _SUBMODULE.fullmatch(squeezed)
        if part is None:
            found.strange = found.strange or statement
            return
        ancestor, parent, name = part[1], part[2], part[3]
        found.parts.add(f"{ancestor}@{name}")
        found.used.add(f"{ancestor}@{parent}.smod" if parent else f"{ancestor}.smod")


__all__ = ["Form", "Include", "Modules", "modules_of"]
