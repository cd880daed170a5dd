"""Tools that the user describes in the configuration: which option names the output, what is input.

    [tools.packer]
    kind = "archive"
    output = ["-o*", "--out="]
    reads = ["-d"]
    flags = ["-q", "-O*"]
    values = ["--level"]
    also = ["{base}.map"]

A tool whose result is what it prints has `output = "stdout"` and no `default`.

What is neither described nor a plain word makes the command a barrier, as everywhere.
"""

from __future__ import annotations

import difflib
import enum
import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from smpmake.commands.model import Analysis, Family, Invocation, Kind, Reason, Refusals, Write
from smpmake.commands.options import Marker, Row, Table, Take, UnreadableError, expand
from smpmake.commands.paths import basename, is_device, stem

KINDS: Final = ("compile", "preprocess", "assemble", "link", "archive", "file")
STDOUT: Final = "stdout"
_PLACES: Final = re.compile(r"\{(\w*)\}")
_INPUT_PLACES: Final = ("input", "name", "stem")
_OUTPUT_PLACES: Final = ("output", "base", *_INPUT_PLACES)


class DescriptionError(ValueError):
    """A description that cannot be used; the message says what is wrong and what would be right."""


class Do(Marker):
    """What a described option does."""

    FLAG = enum.auto()
    VALUE = enum.auto()
    OUTPUT = enum.auto()
    READS = enum.auto()


@dataclass(frozen=True, slots=True)
class Custom:
    """One description.

    name     the tool's, or a shell pattern of names.
    kind     one of KINDS: for reports, and because links and archives run in place without a guard.
    output   options that name what is made; reads: those that name another input.  `-o` has its
             value in the next word, `-o*` there or glued on, `--out=` glued on.
    prints   output is "stdout" instead: it is what the tool prints.
    flags    options without a value, `*` at the end for any rest; values: with one, no file.
    default  what is made of an input where no option says it: {input}, {name}, {stem}.
    also     what is made beside each output: {output}, {base} (without suffix) and those.
    headers  whether it reads files that the command line does not name.
    """

    name: str
    kind: str = "compile"
    output: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    default: str = ""
    also: tuple[str, ...] = ()
    headers: bool = True
    prints: bool = False


_LISTS: Final = ("output", "reads", "flags", "values", "also")
_KEYS: Final = ("kind", *_LISTS, "default", "headers")


def described(name: str, table: object) -> Custom:
    """A tool from its table of the configuration.  Raises DescriptionError."""
    if not isinstance(table, Mapping):
        raise DescriptionError(f"tools.{name} must be a table")
    made: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, 1, 0.0)[0]
            known = ", ".join(_KEYS)
            raise DescriptionError(
                f"unknown key '{key}' in tools.{name}; did you mean '{near}'? (known: {known})"
            )
        made[key] = _checked(f"tools.{name}.{key}", key, value)
    if made.get("output") == STDOUT:
        made |= {"output": (), "prints": True}
    tool = Custom(name, **made)
    if tool.prints and (tool.default or tool.also):
        raise DescriptionError(f'tools.{name}: with output = "{STDOUT}" neither default nor also')
    if not tool.output and not tool.default and not tool.prints:
        raise DescriptionError(
            f"tools.{name}: say how its output is named: output, default or both"
        )
    _check_places(f"tools.{name}.default", (tool.default,), _INPUT_PLACES)
    _check_places(f"tools.{name}.also", tool.also, _OUTPUT_PLACES)
    return tool


def _checked(place: str, key: str, value: object) -> object:
    if key == "output" and isinstance(value, str):
        if value != STDOUT:
            raise DescriptionError(f'{place} must be a list of options, or "{STDOUT}"')
    elif key in _LISTS:
        if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
            raise DescriptionError(f"{place} must be a list of texts")
        if key in ("output", "reads", "flags", "values"):
            wrong = [v for v in value if not v.startswith("-") or v.split() != [v]]
            if wrong:
                raise DescriptionError(f"{place}: {wrong[0]!r} is no option (one word with a -)")
        return tuple(value)
    elif key == "headers":
        if not isinstance(value, bool):
            raise DescriptionError(f"{place} must be true or false")
    elif key == "kind":
        if value not in KINDS:
            raise DescriptionError(f"{place} must be one of {', '.join(KINDS)}")
    elif not isinstance(value, str):
        raise DescriptionError(f"{place} must be a text")
    return value


def _check_places(where: str, patterns: tuple[str, ...], known: tuple[str, ...]) -> None:
    for pattern in patterns:
        if re.search(r"[{}]", _PLACES.sub("", pattern)):
            raise DescriptionError(f"{where}: {pattern!r} has a brace too many")
        for name in _PLACES.findall(pattern):
            if name not in known:
                wanted = ", ".join(f"{{{each}}}" for each in known)
                raise DescriptionError(f"{where}: {{{name}}} is none of {wanted}")


def family(tool: Custom) -> Family:
    """The family of a described tool."""
    table: Table[Do] = Table(
        [
            *(_row(Do.OUTPUT, name) for name in tool.output),
            *(_row(Do.READS, name) for name in tool.reads),
            *(_row(Do.VALUE, name) for name in tool.values),
            *(_flag(name) for name in tool.flags),
        ]
    )

    def analyse(inv: Invocation) -> Analysis:
        return _analyse(tool, table, inv)

    return Family(tool.name, fnmatch.translate(tool.name), analyse)


def _row(do: Do, name: str) -> Row[Do]:
    """-o takes its value in the next word, -o* glued or there, --out= glued."""
    if name.endswith("="):
        return Row(do, Take.GLUED, name)
    if name.endswith("*"):
        return Row(do, Take.EITHER, name[:-1])
    return Row(do, Take.NEXT, name)


def _flag(name: str) -> Row[Do]:
    if name.endswith("*"):
        return Row(Do.FLAG, Take.GLUED, name[:-1])
    return Row(Do.FLAG, Take.FLAG, name)


def _analyse(tool: Custom, table: Table[Do], inv: Invocation) -> Analysis:
    kind = Kind(tool.kind)
    try:
        words, responses = expand(inv.argv[1:], inv.files)
    except UnreadableError as error:
        detail = str(error.args[0])
        return Analysis(kind, refusal=Reason.UNREADABLE_RESPONSE_FILE, detail=detail)
    inputs: list[str] = []
    reads: list[str] = list(responses)
    outputs: dict[str, str] = {}
    refusals = Refusals()
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            inputs.append(word)
            continue
        hit = table.find(word)
        if hit is None:
            refusals.refuse(Reason.READS_STDIN if word == "-" else Reason.UNKNOWN_OPTION, word)
            continue
        value = next(rest, "") if hit.wants_next else hit.value
        if hit.do is Do.OUTPUT:
            outputs[hit.name] = value
        elif hit.do is Do.READS:
            reads.append(value)
    if refusals.reason is not None:
        return Analysis(kind, refusal=refusals.reason, detail=refusals.detail)
    if not inputs:
        return Analysis(kind, tuple(reads), refusal=Reason.QUERY)
    if tool.prints:
        refusal = Reason.WRITES_STDOUT
        return Analysis(kind, (*inputs, *reads), (), tool.headers, refusal=refusal, prints=True)
    writes: list[Write] = []
    pairs = [(inputs[0], path) for path in outputs.values()] or [(path, "") for path in inputs]
    for source, given in pairs:
        places = {"input": source, "name": basename(source), "stem": stem(basename(source))}
        made = given or _filled(tool.default, places)
        if (
            not made
            or made == "-"
            or made.endswith("/")
            or is_device(made)
            or inv.files.is_dir(made)
        ):
            return Analysis(kind, refusal=Reason.UNUSUAL_OUTPUT, detail=made or "no output named")
        writes.append(Write(made, in_place=made in inputs))
        places |= {"output": made, "base": stem(made)}
        writes += [Write(_filled(pattern, places), target=False) for pattern in tool.also]
    search = ("/",) if tool.headers else ()
    return Analysis(kind, (*inputs, *reads), tuple(writes), tool.headers, search=search)


def _filled(pattern: str, places: Mapping[str, str]) -> str:
    return _PLACES.sub(lambda match: places[match[1]], pattern)
