"""Writes down for Python what native/layout says: constants, and how structures lie in memory.

The headers are the one place for both.  They are read, not compiled: a wheel may be made for
another machine.  Every field has a fixed width and stands where its size has it stand, with nothing
between: where a header does not keep to that nothing is written.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

HEADERS = ("wire.h", "undo.h", "miss_reasons.h", "remote.h", "board.h", "trace.h", "checks.h")
#: Enums of which each number's comment is a sentence for people.
SENTENCES = ("memo_why",)
CODES = {
    "char": ("s", 1),
    "int32_t": ("i", 4),
    "int64_t": ("q", 8),
    "uint16_t": ("H", 2),
    "uint32_t": ("I", 4),
    "uint64_t": ("Q", 8),
}
BEGINNING = '''"""Constants and structures that native programs share, by hatch_layout.py.

Of each structure: the codes of its fields (as `struct` has them), their places in bytes, and all of
it as one `struct.Struct`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final


def structure(codes: Mapping[str, str], before: str = "") -> struct.Struct:
    """Of some fields, or of those before one of them."""
    names = list(codes)
    wanted = names[: names.index(before)] if before else names
    return struct.Struct("<" + "".join(codes[name] for name in wanted))

'''


class HeaderError(ValueError):
    """A header says something that cannot be written down."""


class Field(NamedTuple):
    """name, struct's code, bytes from the structure's beginning, bytes in all."""

    name: str
    code: str
    at: int
    size: int


def module(native: Path) -> str:
    """The text of smpmake/protocol/layout.py.  Raises HeaderError."""
    reader = _Reader()
    for header in HEADERS:
        try:
            reader.read((native / "layout" / header).read_text(encoding="utf-8"))
        except (HeaderError, KeyError, NameError, SyntaxError) as error:
            raise HeaderError(f"{native}/layout/{header}: {error}") from error
    lines = [BEGINNING]
    lines += [f"{name}: Final = {value!r}" for name, value in reader.constants.items()]
    for name, sentences in reader.sentences.items():
        rows = [f'    {number}: "{text}",' for number, text in sentences.items()]
        lines += ["", f"{name.upper()}_SENTENCES: Final = {{", *rows, "}"]
    for name, fields in reader.structures.items():
        lines += [
            "",
            f"{name.upper()}_CODES: Final = {{",
            *(f'    "{field.name}": "{field.code}",' for field in fields),
            "}",
            f"{name.upper()}_AT: Final = {{",
            *(f'    "{field.name}": {field.at},' for field in fields),
            "}",
            f"{name.upper()}_LAYOUT: Final = structure({name.upper()}_CODES)",
        ]
    return "\n".join(lines) + "\n"


class _Reader:
    """What the headers have said so far."""

    def __init__(self) -> None:
        self.constants: dict[str, int | str] = {}
        self.structures: dict[str, list[Field]] = {}
        self.sentences: dict[str, dict[int, str]] = {}

    def read(self, text: str) -> None:
        for name in SENTENCES:
            found = re.search(rf"^enum {name} \{{(.*?)^\}};", text, re.MULTILINE | re.DOTALL)
            if found is not None:
                told = re.findall(r"= (\d+),\s*/\*(.*?)\*/", found[1], re.DOTALL)
                self.sentences[name] = {int(n): " ".join(words.split()) for n, words in told}
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL).replace("\\\n", " ")
        for name, value in re.findall(r"^#define[ \t]+(\w+)[ \t]+(\S.*)$", text, re.MULTILINE):
            self.constants[name] = self._value(value)
        for body in re.findall(r"^enum \w+ \{(.*?)^\};", text, re.MULTILINE | re.DOTALL):
            self._enum(body)
        for name, body in re.findall(r"^struct (\w+) \{(.*?)^\};", text, re.MULTILINE | re.DOTALL):
            self.structures[name] = self._fields(body)

    def _value(self, text: str) -> int | str:
        text = text.strip()
        if text.startswith('"'):
            return text[1:-1]
        text = re.sub(r"\b(0x[0-9a-fA-F]+|[0-9]+)[uUlL]+\b", r"\1", text)
        found = eval(text.replace("/", "//"), {"__builtins__": {}}, dict(self.constants))
        if not isinstance(found, int):
            raise HeaderError(f"no number: {text}")
        return found

    def _enum(self, body: str) -> None:
        following = 0
        for each in filter(None, map(str.strip, body.split(","))):
            name, _, value = map(str.strip, each.partition("="))
            number = self._value(value) if value else following
            assert isinstance(number, int)
            self.constants[name] = number
            following = number + 1

    def _fields(self, body: str) -> list[Field]:
        # A structure in a structure is as many bytes.
        parts = re.findall(r"\s*(struct\s*\{.*?\}\s*\w+[^;]*|[^;{}]+);", body, re.DOTALL)
        fields: list[Field] = []
        at = 0
        for part in parts:
            for name, code, size, width in self._declared(" ".join(part.split())):
                if at % width:
                    raise HeaderError(f"there is a gap before {name}")
                fields.append(Field(name, code, at, size))
                at += size
        return fields

    def _declared(self, part: str) -> list[tuple[str, str, int, int]]:
        inner = re.fullmatch(r"struct \{(.*)\} (\w+)\[(.*)\]", part)
        if inner is not None:
            fields = self._fields(inner[1])
            return [_bytes(inner[2], fields, self._value(inner[3]))]
        named = re.fullmatch(r"struct (\w+) (\w+)\[(.*)\]", part)
        if named is not None:
            return [_bytes(named[2], self.structures[named[1]], self._value(named[3]))]
        kind, _, names = part.partition(" ")
        letter, width = CODES[kind]
        found = []
        for each in names.split(","):
            name, *counts = re.findall(r"\w+|\[[^]]*\]", each)
            count = 1
            for text in counts:
                number = self._value(text[1:-1])
                assert isinstance(number, int)
                count *= number
            code = letter if count == 1 and not counts else f"{count}{letter}"
            found.append((name, code, count * width, width))
        return found


def _bytes(name: str, fields: list[Field], count: int | str) -> tuple[str, str, int, int]:
    assert isinstance(count, int)
    size = (fields[-1].at + fields[-1].size) * count
    return name, f"{size}s", size, 8
