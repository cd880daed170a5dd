"""Open Watcom's linker: directives in free form, in either case, abbreviated.

    wlink system linux name prog file a.o,b.o library clib option map=prog.map @rest

`@name` is a file (without a default extension), else an environment variable; what it holds stands
in its place.
"""

from __future__ import annotations

import re

from smpmake.commands.model import Analysis, Invocation, Keep, Kind, Reason, Refusals, Write
from smpmake.commands.options import MOST_RESPONSE_FILES, UnreadableError
from smpmake.commands.paths import basename, is_device, join, split_suffix
from smpmake.commands.watcom.directives import (
    DIRECTIVE_WORDS,
    FORMAT_WORDS,
    FORMATS,
    OPTION_WORDS,
    SUFFIXES,
    SYSTEMS,
    Do,
    Side,
)
from smpmake.commands.watcom.words import own_name, with_suffix

OBJECT, ELSEWHERE = ".o", ".obj"
INIT = "wlink.lnk"

_TOKEN = re.compile(
    r"""
    '([^']*)'? | "([^"]*)"?          # 1, 2: quoted
    | ([{},=()])                     # 3
    | @('[^']*'|[^\s,{}]+)           # 4: what stands elsewhere
    | \#[^\n]*                       # a comment
    | ([^\s,={}()'"@\#][^\s,={}()]*) # 5: a word
    """,
    re.VERBOSE,
)


class Token:
    """A word of the directives; `quoted` ones are names, whatever they look like."""

    __slots__ = ("quoted", "text")

    def __init__(self, text: str, quoted: bool = False) -> None:
        self.text = text
        self.quoted = quoted


def flatten(text: str, inv: Invocation, depth: int = 0) -> tuple[str, bool]:
    """The directives with what every @name stands for in its place, and whether there was one.

    Raises UnreadableError.
    """
    out: list[str] = []
    at = 0
    found = False
    for match in _TOKEN.finditer(text):
        name = match[4]
        if name is None:
            continue
        found = True
        name = name.strip("'")
        inner = inv.files.read_text(name)
        if inner is None:
            inner = inv.getenv(name)
        if inner is None or depth > MOST_RESPONSE_FILES // 10:
            raise UnreadableError(name)
        out += (text[at : match.start()], "\n", flatten(inner, inv, depth + 1)[0], "\n")
        at = match.end()
    return ("".join(out) + text[at:], True) if found else (text, False)


def tokens(text: str) -> list[Token]:
    """The words of directives that hold no @name any more."""
    found = []
    for match in _TOKEN.finditer(text):
        for group in (1, 2):
            if match[group] is not None:
                found.append(Token(match[group], quoted=True))
        word = match[3] or match[5]
        if word:
            found.append(Token(word))
    return found


class Link:
    """Directives, read from left to right, then judged."""

    def __init__(self, inv: Invocation, words: list[Token]) -> None:
        self.inv = inv
        self.words = words
        self.at = 0
        self.name: str | None = None
        self.suffix: str | None = None
        self.objects: list[str] = []
        self.libraries: list[str] = []
        self.paths: list[str] = []
        self.folders: list[str] = []
        self.reads: list[str] = []
        self.sides: list[tuple[Side, str]] = []
        self.refusals = Refusals()

    # Reading.

    def _next(self) -> Token | None:
        return self.words[self.at] if self.at < len(self.words) else None

    def _take(self) -> str:
        token = self._next()
        self.at += token is not None
        return token.text if token is not None else ""

    def scan(self) -> None:
        """Read everything."""
        while (token := self._next()) is not None:
            do = None if token.quoted else DIRECTIVE_WORDS.get(token.text.lower())
            self.at += 1
            if do is None or do is Do.UNKNOWN:
                self.refusals.refuse(Reason.UNKNOWN_OPTION, token.text)
                return
            self._directive(do)

    def _directive(self, do: Do) -> None:
        if do is Do.OPTIONS:
            self._options()
        elif do in (Do.SYSTEM, Do.FORMAT):
            self._format(do)
        elif do is Do.NAME:
            self.name = self._take()
        elif do is Do.NOTHING or do is Do.SYMBOLS:
            sign = self._next()
            if do is Do.SYMBOLS and sign is not None and sign.text == "=":
                self.at += 1
                self.reads.append(self._take())
            self._skip()
        else:
            listed = self._names()
            {
                Do.FILES: self.objects,
                Do.LIBRARIES: self.libraries,
                Do.OBJECTS_OF: self.libraries,
                Do.PATH: self.paths,
                Do.FOLDERS: self.folders,
                Do.READS: self.reads,
            }[do].extend(listed)

    def _names(self) -> list[str]:
        """A list: a,b or { a b } or both."""
        names: list[str] = []
        while (token := self._next()) is not None:
            if token.text == "{" and not token.quoted:
                self.at += 1
                while (inner := self._next()) is not None and inner.text != "}":
                    self.at += 1
                    if inner.text != ",":
                        names.append(inner.text)
                self.at += 1
            else:
                self.at += 1
                names.append(token.text)
                if (bracket := self._next()) is not None and bracket.text == "(":
                    self._brackets()  # lib(member)
            comma = self._next()
            if comma is None or comma.text != "," or comma.quoted:
                break
            self.at += 1
        return names

    def _brackets(self) -> None:
        while (token := self._next()) is not None:
            self.at += 1
            if token.text == ")":
                break

    def _skip(self) -> None:
        """Words up to the next directive's name: none of them is a file's."""
        while (token := self._next()) is not None:
            if not token.quoted and token.text.lower() in DIRECTIVE_WORDS:
                before = self.words[self.at - 1]
                if before.text not in (",", "=", "{") or before.quoted:
                    return
            self.at += 1

    def _format(self, do: Do) -> None:
        word = self._take().lower()
        if do is Do.SYSTEM and word in ("begin", "end", "delete", "b", "e", "del"):
            self.refusals.refuse(Reason.UNKNOWN_OPTION, f"system {word}")
            return
        known = (SYSTEMS if do is Do.SYSTEM else FORMATS).get(word)
        if self.suffix is None or do is Do.FORMAT:
            self.suffix = known
        token = self._next()
        while token is not None and not token.quoted and token.text.lower() in FORMAT_WORDS:
            self.suffix = ".dll" if token.text.lower().startswith("dl") else self.suffix
            self.at += 1
            token = self._next()

    def _options(self) -> None:
        while (token := self._next()) is not None:
            self.at += 1
            side = OPTION_WORDS.get(token.text.lower())
            if side is None or side is Side.UNKNOWN:
                self.refusals.refuse(Reason.UNKNOWN_OPTION, f"option {token.text}")
            value = ""
            if (sign := self._next()) is not None and sign.text == "=":
                self.at += 1
                value = self._take()
            if side is Side.READS:
                self.reads.append(value)
            elif isinstance(side, Side) and side is not Side.NOTHING:
                self.sides.append((side, value))
            comma = self._next()
            if comma is None or comma.text != "," or comma.quoted:
                return
            self.at += 1

    # Judging.

    def judge(self) -> Analysis:
        """What the directives mean."""
        if not self.words:
            return Analysis(Kind.QUERY, refusal=Reason.QUERY)
        if not self.objects and not self.libraries and self.refusals.reason is None:
            self.refusals.refuse(Reason.MALFORMED, "no files")
        writes = self._writes()
        return Analysis(
            Kind.LINK,
            reads=(*self._objects(), *self._libraries(), *self.reads, INIT),
            writes=tuple(writes),
            undeclared=True,
            refusal=self.refusals.reason,
            detail=self.refusals.detail,
        )

    def _writes(self) -> list[Write]:
        first = self.objects[0] if self.objects else ""
        name = self.name or basename(split_suffix(first)[0])
        base = split_suffix(name)[0]
        if split_suffix(name)[1] or any(side is Side.NO_SUFFIX for side, _ in self.sides):
            program = name
        elif self.suffix is not None:
            program = name + self.suffix
        else:
            self.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "a system whose suffix is not known")
            program = name
        if not name or is_device(program):
            self.refusals.refuse(Reason.UNUSUAL_OUTPUT, program)
        writes = [Write(program)]
        for side, value in self.sides:
            suffix = SUFFIXES.get(side)
            if suffix is not None:
                path = with_suffix(value, suffix) if value else base + suffix
                update = side is Side.INCREMENTAL
                writes.append(Write(path, target=False, in_place=update))
                if update:
                    self.refusals.refuse(Reason.IN_PLACE, path)
        return writes

    def _objects(self) -> list[str]:
        """What `file` names, in the current folder or on the path; all places are candidates."""
        found = []
        for name in self.objects:
            if "*" in name or "?" in name:
                self.refusals.refuse(Reason.UNKNOWN_OPTION, f"file {name}")
            suffixes = ("",) if split_suffix(name)[1] else (OBJECT, ELSEWHERE)
            for suffix in suffixes:
                found += self._places(name + suffix, self.paths)
        return found

    def _libraries(self) -> list[str]:
        found = []
        for name in self.libraries:
            found += self._places(with_suffix(name, ".lib"), [*self.folders, *self.paths])
        return found

    @staticmethod
    def _places(name: str, folders: list[str]) -> list[str]:
        if name.startswith("/"):
            return [name]
        split = [part for folder in folders for part in re.split("[:;]", folder) if part]
        return [name, *(join(folder, name) for folder in split)]


def analyse(inv: Invocation) -> Analysis:
    """The meaning of a linker's command line."""
    variable = own_name(inv.argv[0]).upper()
    try:
        before, _ = flatten(inv.getenv(variable) or "", inv)
        text, replaced = flatten(" ".join(inv.argv[1:]), inv)
    except UnreadableError as error:
        refusal = Reason.UNREADABLE_RESPONSE_FILE
        return Analysis(Kind.LINK, refusal=refusal, detail=str(error.args[0]))
    link = Link(inv, tokens(before) + tokens(text))
    link.scan()
    found = link.judge()

    def argv(keep: Keep) -> tuple[str, ...]:
        name = keep(text)
        return (inv.argv[0], f"@'{name}'" if re.search(r"[\s,{}]", name) else f"@{name}")

    return found._replace(argv=argv) if replaced else found
