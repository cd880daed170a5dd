"""Open Watcom's librarian: wlib [options] library [commands].

Commands are +a.obj (add), -a (remove), -+a or +-a (replace), *a (take out), ++a (import), a bare
name (replace) and @file.  It updates a library in place by way of a temporary name on which two
wlibs in one folder would meet, and keeps the old one as .bak unless -b is given; -n starts afresh,
-o= puts the result elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from smpmake.commands.model import Analysis, Invocation, Keep, Kind, Reason, Write
from smpmake.commands.options import MOST_RESPONSE_FILES, UnreadableError, names
from smpmake.commands.paths import is_device, split_suffix
from smpmake.commands.watcom.words import with_suffix

FLAGS = names(
    "b c fa fab fac fag fm fo i6 ia ic icl ie ii im inn ino io ip irn iro m n pa q s t tl v zld zll"
)
VALUES = frozenset({"d", "l", "o", "p", "x"})
QUERIES = frozenset({"?", "h"})
OBJECT, ELSEWHERE, LIBRARY = ".o", ".obj", ".lib"

_QUOTED = r"'[^']*'?|\"[^\"]*\"?"
_NAME = rf"(?:{_QUOTED}|[^\s'\"])+"
_PIECE = re.compile(
    rf"(?P<at>@)\s*(?P<file>{_NAME})"
    rf"|(?P<sign>-\+|\+-|\+\+|-\*|\*-|-:|:-|[-+*:])\s*(?P<member>{_NAME})"
    rf"|(?P<bare>{_NAME})"
)


@dataclass(slots=True)
class Said:
    """What the command line has said so far."""

    library: str = ""
    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    commands: list[tuple[str, str]] = field(default_factory=list)
    query: bool = False
    wrong: str = ""


def flatten(text: str, inv: Invocation, depth: int = 0) -> tuple[str, bool]:
    """The commands with what every @name stands for now, a variable or else a file, in its place.

    Raises UnreadableError.
    """
    out: list[str] = []
    found = False
    for piece in _pieces(text, in_file=depth > 0):
        if piece["at"] is None:
            out.append(piece[0])
            continue
        found = True
        name = _bare(piece["file"])
        inner = inv.getenv(name)
        for path in (name,) if split_suffix(name)[1] else (f"{name}.lbc", name):
            inner = inv.files.read_text(path) if inner is None else inner
        if inner is None or depth > MOST_RESPONSE_FILES // 10:
            raise UnreadableError(name)
        out.append(flatten(inner, inv, depth + 1)[0])
    return "\n".join(out), found


def _pieces(text: str, in_file: bool) -> Iterator[re.Match[str]]:
    for line in text.split("\n"):
        for piece in _PIECE.finditer(line):
            if in_file and piece[0].startswith("#"):
                break  # a comment
            yield piece


def _bare(name: str) -> str:
    return re.sub("['\"]", "", name)


def read(text: str) -> Said:
    """What flattened commands say.  A dash before the library's name begins an option."""
    said = Said()
    for piece in _pieces(text, in_file=False):
        if piece["bare"] is not None:
            name = _bare(piece["bare"])
            if said.library:
                said.commands.append(("-+", name))
            else:
                said.library = with_suffix(name, LIBRARY)
        elif not said.library and piece[0].startswith("-"):
            _option(piece[0][1:], said)
        elif said.library:
            said.commands.append((piece["sign"], _bare(piece["member"])))
        else:
            said.wrong = said.wrong or piece[0]
    return said


def _option(text: str, said: Said) -> None:
    """One argument's options: -q, -b-n, -o=out.lib."""
    text = text.strip()
    while text:
        name = next(
            (text[:n].lower() for n in (3, 2, 1) if text[:n].lower() in FLAGS | QUERIES), ""
        )
        rest = text[len(name) :]
        if name and (not rest or rest[0] == "-"):
            said.query |= name in QUERIES
            said.flags.add(name)
            text = rest[1:]
            continue
        letter = text[0].lower()
        if letter in VALUES:
            said.values[letter] = _bare(text[1:].lstrip("=#"))
        else:
            said.wrong = said.wrong or f"-{text}"
        return


def judge(said: Said, inv: Invocation) -> Analysis:
    """What it means."""
    if said.query or not (said.library or said.flags or said.values or said.wrong):
        return Analysis(Kind.QUERY, refusal=Reason.QUERY)
    if said.wrong:
        return Analysis(Kind.ARCHIVE, refusal=Reason.UNKNOWN_OPTION, detail=said.wrong)
    if not said.library:
        return Analysis(Kind.ARCHIVE, refusal=Reason.MALFORMED, detail="no library")
    members = [path for sign, name in said.commands if "+" in sign for path in _object(name)]
    lists = "l" in said.values or "l" in said.flags or "tl" in said.flags
    if any(sign.strip("-") in ("*", ":") for sign, _ in said.commands) or "x" in said.values:
        return Analysis(
            Kind.ARCHIVE,
            reads=(said.library, *members),
            refusal=Reason.WRITES_UNPREDICTABLE,
            detail="takes members out",
        )
    if lists or not said.commands:
        return Analysis(
            Kind.ARCHIVE,
            reads=(said.library, *members),
            refusal=Reason.WRITES_UNPREDICTABLE if lists else Reason.WRITES_STDOUT,
            detail="a list",
        )
    return _update(said, members, inv)


def _object(name: str) -> list[str]:
    return [name] if split_suffix(name)[1] else [name + OBJECT, name + ELSEWHERE]


def _update(said: Said, members: Sequence[str], inv: Invocation) -> Analysis:
    library = said.library
    output = with_suffix(said.values["o"], LIBRARY) if said.values.get("o") else library
    afresh = "n" in said.flags
    in_place = output == library and not afresh
    writes = [Write(output, in_place=in_place)]
    if "b" not in said.flags and output == library:
        writes.append(Write(split_suffix(library)[0] + ".bak", timed=False, target=False))
    reads = list(members)
    if output != library and not afresh:
        reads.append(library)
    folder = library[: library.rfind("/") + 1]
    return Analysis(
        Kind.ARCHIVE,
        reads=tuple(reads),
        writes=tuple(writes),
        refusal=Reason.UNUSUAL_OUTPUT if is_device(output) else None,
        detail=output if is_device(output) else "",
        # A temporary library would meet another wlib's, beside the library or here.
        alone=tuple(dict.fromkeys(f"{place}*wlib*" for place in (folder, ""))),
    )


def analyse(inv: Invocation) -> Analysis:
    """The meaning of a librarian's command line."""
    try:
        before, _ = flatten(inv.getenv("WLIB") or "", inv)
        text, replaced = flatten(" ".join(inv.argv[1:]), inv)
    except UnreadableError as error:
        refusal = Reason.UNREADABLE_RESPONSE_FILE
        return Analysis(Kind.ARCHIVE, refusal=refusal, detail=str(error.args[0]))
    found = judge(read(before + "\n" + text), inv)

    def argv(keep: Keep) -> tuple[str, ...]:
        name = keep(text)
        return (inv.argv[0], f"@'{name}'" if re.search(r"\s", name) else f"@{name}")

    return found._replace(argv=argv) if replaced else found
