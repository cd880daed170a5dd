"""wmake, the serial make of Open Watcom: its options, and those that it is given here.

After a recipe wmake looks for the target and gives up (F38, status 4) where it is missing, whatever
-i says; -c turns that off, -ms and -ux imply it.  After a recipe that failed it asks on standard
input whether the target is to be removed, unless -e or -z has said so beforehand; no answer means
no, which is -z.  So a wmake below us gets -c, and -z where nobody could answer.  -j sets a
target's time as soon as its recipe ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smpmake.commands.model import Analysis, Invocation, Kind, Reason
from smpmake.commands.reading.makes import WMAKES

# Options are single words, in either case; a longer word with a dash is a target.
LETTERS = frozenset("abcdehijkmnopqrstuvwyz")
PAIRS = frozenset({"ms", "sn", "ux"})
WITH_VALUE = frozenset("fl")
UNCHECKED = frozenset({"c", "ms", "ux"})
UNASKED = frozenset({"e", "z"})


def is_wmake(name: str) -> bool:
    """Whether a program of that name, without a folder, is one: it needs options of ours."""
    return name in WMAKES


def _options(words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        name = word[1:].lower()
        if word[:1] != "-":
            continue
        if name in WITH_VALUE:
            next(rest, None)
        elif name in LETTERS or name in PAIRS:
            yield name


def options(argv: Sequence[str]) -> frozenset[str]:
    """The options of a wmake's command line, in lower case."""
    return frozenset(_options(argv[1:]))


def prepared(argv: Sequence[str], *, answered: bool = False) -> tuple[str, ...]:
    """The command line with -c, and with -z where nobody answers a question.

    They come first, but behind -ms, which decides how what follows it is read.
    """
    given = options(argv)
    more = [] if given & UNCHECKED else ["-c"]
    if not answered and not given & UNASKED:
        more.append("-z")
    first = 2 if len(argv) > 1 and argv[1].lower() == "-ms" else 1
    return (*argv[:first], *more, *argv[first:])


def analyse(inv: Invocation) -> Analysis:
    """A wmake inside the build: it runs at once, and takes no slot; its commands come here."""
    return Analysis(
        Kind.BUILD,
        refusal=Reason.NO_TARGET_CHECK,
        detail=" ".join(word for word in prepared(inv.argv) if word not in inv.argv),
        argv=lambda keep: prepared(inv.argv),
    )
