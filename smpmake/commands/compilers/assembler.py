"""What the assembler's words mean, for as itself and for -Wa in a compiler's command line."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from smpmake.commands.model import ALONE, Analysis, Invocation, Kind, Reason, Refusals, Write
from smpmake.commands.options import Marker, Row, Table, Take, UnreadableError, expand, rows
from smpmake.commands.paths import NULL_DEVICE, is_device


class Do(Marker):
    """What an assembler option does."""

    NOTHING = enum.auto()
    OUTPUT = enum.auto()
    WRITES = enum.auto()
    LISTING = enum.auto()
    VERSION = enum.auto()
    QUERY = enum.auto()


OPTIONS: tuple[Row[Do], ...] = rows(
    {
        (Do.NOTHING, Take.FLAG): """
            --32 --64 --allow-reg-prefix --alternate --compress-debug-sections --divide --emulation
            --execstack --fatal-warnings --fdpic --gdwarf-2 --gdwarf-3 --gdwarf-4 --gdwarf-5
            --gdwarf-sections --gen-debug --gsframe --gstabs --gstabs+ --keep-locals --mri
            --no-pad-sections --no-warn --nocompress-debug-sections --noexecstack
            --reduce-memory-overheads --sectname-subst --statistics --strip-local-absolute
            --traditional-format --warn --x32 -D -EB -EL -J -K -L -M -Q -Qn -Qy -R -W -X -Z -f -g
            -gdwarf-2 -gdwarf-3 -gdwarf-4 -gdwarf-5 -k -many -n -no-pad-sections -nocpp -q -s -w
            """,
        (Do.NOTHING, Take.NEXT): """
            --debug-prefix-map --defsym --hash-size --listing-cont-lines --listing-lhs-width
            --listing-lhs-width2 --listing-rhs-width -defsym
            """,
        (Do.NOTHING, Take.GLUED): """
            --compress-debug-sections= --debug-prefix-map= --defsym= --elf-stt-common=
            --gdwarf-cie-version= --generate-missing-build-notes= --hash-size= --listing-cont-lines=
            --listing-lhs-width2= --listing-lhs-width= --listing-rhs-width= --multibyte-handling=
            --size-check= -G -KPIC -O -m
            """,
        (Do.NOTHING, Take.EITHER): "-I",
        (Do.OUTPUT, Take.EITHER): "-o",
        (Do.WRITES, Take.NEXT): "--MD -MD",
        (Do.WRITES, Take.GLUED): "--MD=",
        (Do.LISTING, Take.GLUED): "-a",
        (Do.VERSION, Take.FLAG): "--verbose -V -v -verbose",
        (Do.QUERY, Take.FLAG): "--dump-config --help --target-help --version -version",
    }
)

TABLE: Table[Do] = Table(OPTIONS, memory=1024)


class Assembly:
    """What the assembler's words have said so far."""

    __slots__ = ("output", "query", "refusals", "sides", "sources", "version")

    def __init__(self) -> None:
        self.output: str | None = None
        self.sources: list[str] = []
        self.sides: list[str] = []
        self.refusals = Refusals()
        self.version = False
        self.query = False

    def scan(self, words: Sequence[str]) -> None:
        """Take in words for the assembler, in their order."""
        listing = listing_file = ""
        rest = iter(words)
        for word in rest:
            if word[:1] != "-" or word == "--":
                self.sources.append(word)
                continue
            hit = TABLE.find(word)
            if hit is None:
                self.refusals.refuse(Reason.UNKNOWN_OPTION, word)
                continue
            value = hit.value
            if hit.wants_next:
                following = next(rest, None)
                if following is None:
                    self.refusals.refuse(Reason.MALFORMED, word)
                    return
                value = following
            if hit.do is Do.OUTPUT:
                self.output = value
            elif hit.do is Do.WRITES:
                self._side(value)
            elif hit.do is Do.LISTING:
                listing = word
                listing_file = value.partition("=")[2] or listing_file
            elif hit.do is Do.VERSION:
                self.version = True
            elif hit.do is Do.QUERY:
                self.query = True
        if listing_file:
            self._side(listing_file)
        elif listing:
            self.refusals.refuse(Reason.WRITES_STDOUT, listing)

    def _side(self, path: str) -> None:
        if path == "-" or (is_device(path) and path != NULL_DEVICE):
            self.refusals.refuse(Reason.WRITES_STDOUT, path)
        elif path != NULL_DEVICE:
            self.sides.append(path)


def analyse(inv: Invocation) -> Analysis:
    """The meaning of an as command."""
    try:
        words, responses = expand(inv.argv[1:], inv.files)
    except UnreadableError as error:
        name = str(error.args[0])
        return Analysis(Kind.ASSEMBLE, refusal=Reason.UNREADABLE_RESPONSE_FILE, detail=name)
    line = Assembly()
    line.scan(words)
    if line.query or (line.version and not line.sources):
        return Analysis(Kind.QUERY, refusal=Reason.QUERY)
    if not line.sources or "--" in line.sources or "-" in line.sources:
        line.refusals.refuse(Reason.READS_STDIN, "")
    writes = [Write(path, target=False, header=False) for path in line.sides]
    output = "a.out" if line.output is None else line.output
    if output == NULL_DEVICE:
        line.refusals.refuse(Reason.DISCARDED_OUTPUT, output)
    elif not output or is_device(output):
        line.refusals.refuse(Reason.UNUSUAL_OUTPUT, output)
    else:
        writes.insert(0, Write(output, header=False))
    reads = [source for source in line.sources if source not in ("-", "--")]
    return Analysis(
        Kind.ASSEMBLE,
        reads=(*reads, *responses),
        writes=tuple(writes),
        undeclared=True,
        refusal=line.refusals.reason,
        detail=line.refusals.detail,
        programs=ALONE,
    )
