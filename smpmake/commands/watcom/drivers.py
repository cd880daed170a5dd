"""The programs that run Open Watcom's compilers and then its linker: wcl, wcl386 and owcc.

They run the tools themselves, and all that belongs to one command is one job: so what they write is
what the compilers would write for each source, and the program.  Several sources are compiled apart
from each other, and a link of their objects follows.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from smpmake.commands.model import Analysis, Invocation, Kind, Part, Reason, Refusals, Write
from smpmake.commands.options import Marker, Row, Table, Take, UnreadableError, rows
from smpmake.commands.paths import basename, is_device, split_suffix, stem
from smpmake.commands.watcom.compilers import OBJECT, TOOLS, Compile, Said
from smpmake.commands.watcom.directives import SYSTEMS
from smpmake.commands.watcom.options import OF_DRIVER, Do
from smpmake.commands.watcom.words import own_name, with_suffix, words_of

CXX_SUFFIXES = frozenset({".C", ".cpp", ".cc", ".cxx", ".cp", ".c++"})
SOURCES: dict[str, str] = {
    "": "wcc",
    ".c": "wcc",
    ".asm": "wasm",
    **dict.fromkeys(CXX_SUFFIXES, "wpp"),
}
OBJECTS = frozenset({".o", ".obj"})


def _compiler(driver: str, source: str) -> str | None:
    """The compiler's name that the driver starts for a source; None for what is none."""
    suffix = split_suffix(source)[1]
    name = SOURCES.get(suffix) or SOURCES.get(suffix.lower())
    if name is None or name == "wasm":
        return name
    return name + "386" if driver.endswith("386") or driver == "owcc" else name


@dataclass(slots=True)
class Line:
    """A driver's command line: what its words say, and its files by what becomes of them."""

    words: list[str]
    said: Said
    sources: list[tuple[int, str]] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)


def _read(driver: str, words: list[str], before: Sequence[str]) -> Line:
    said = Said()
    said.scan(before, OF_DRIVER)
    said.at.clear()
    said.sources.clear()
    said.scan(words, OF_DRIVER)
    line = Line(words, said)
    for at, path in zip(said.at, said.sources, strict=True):
        suffix = split_suffix(path)[1].lower()
        if _compiler(driver, path) is not None:
            line.sources.append((at, path))
        elif suffix in OBJECTS:
            line.objects.append(path)
        elif suffix == ".lib":
            line.libraries.append(path)
        else:
            said.refusals.refuse(Reason.UNKNOWN_LANGUAGE, path)
    if any(word[0] == '"' for word in words):
        said.refusals.refuse(Reason.UNKNOWN_OPTION, "linker directives")
    return line


def _compiled(inv: Invocation, driver: str, line: Line) -> list[Analysis]:
    """What compiling each source means."""
    found = []
    for _, source in line.sources:
        name = _compiler(driver, source) or "wcc"
        said = replace(line.said, sources=[source], refusals=Refusals())
        found.append(Compile(inv, name, TOOLS[name], said).judge())
    return found


def _program(line: Line) -> str | None:
    """The name of the program; None where the system's suffix is not known."""
    values = line.said.values
    first = line.sources[0][1] if line.sources else (line.objects or [""])[0]
    name = values.get(Do.PROGRAM) or stem(basename(first))
    if split_suffix(name)[1]:
        return name
    targets = [entry.partition("=")[2] for entry in line.said.kin if entry.startswith("bt=")]
    system = (values.get(Do.SYSTEM) or (targets or ["linux"])[-1]).lower()
    suffix = SYSTEMS.get(system)
    return None if suffix is None else name + suffix


def _judge(inv: Invocation, driver: str, line: Line) -> Analysis:
    said, values = line.said, line.said.values
    if Do.QUERY in values or not (said.sources or said.refusals.reason):
        return Analysis(Kind.QUERY, refusal=Reason.QUERY)
    compiled = _compiled(inv, driver, line)
    for each in compiled:
        if each.refusal is not None:
            said.refusals.refuse(each.refusal, each.detail)
    if Do.DIRECTIVES in values:
        said.refusals.refuse(Reason.UNKNOWN_OPTION, "-@")
    reads = [path for each in compiled for path in each.reads]
    writes = [write for each in compiled for write in each.writes]
    kind = compiled[0].kind if compiled else Kind.LINK
    links = Do.COMPILE not in values and kind is not Kind.PREPROCESS and Do.CHECK not in values
    if links:
        kind = Kind.LINK
        reads += [*line.objects, *line.libraries]
        program = _program(line)
        if program is None or is_device(program):
            said.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "the program's name")
        else:
            writes.insert(0, Write(program))
            for do, suffix in ((Do.MAP, ".map"), (Do.KEPT_DIRECTIVES, ".lnk")):
                if do in values:
                    path = with_suffix(values[do] or stem(program), suffix)
                    writes.append(Write(path, target=False))
            if Do.KEPT_DIRECTIVES in values and not values[Do.KEPT_DIRECTIVES]:
                said.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "-fd")
    elif not line.sources:
        said.refusals.refuse(Reason.WRITES_NOTHING, "")
    kin = "\0".join(each.kin for each in compiled if each.kin)
    return Analysis(
        kind,
        tuple(reads),
        tuple({write.path: write for write in writes}.values()),
        True,
        said.refusals.reason,
        said.refusals.detail,
        kin=kin,
    )


def _parts(inv: Invocation, driver: str, words: list[str], before: Sequence[str]) -> list[Part]:
    """A compile for each source, and where there is one the link of what they make."""
    line = _read(driver, words, before)
    link = list(words)
    parts = []
    inputs = set(line.said.at)
    compiles = Do.COMPILE in line.said.values
    for at, _ in line.sources:
        own = [word for n, word in enumerate(words) if n == at or n not in inputs]
        own += [] if compiles else ["-c"]
        meaning = _judge(inv, driver, _read(driver, own, before))
        parts.append(Part((inv.argv[0], *own), meaning))
        target = meaning.writes[0].path
        link[at] = f'"{target}"' if " " in target else target
    if not compiles:
        meaning = _judge(inv, driver, _read(driver, link, before))
        parts.append(Part((inv.argv[0], *link), meaning))
    return parts


def analyse_wcl(inv: Invocation) -> Analysis:
    """wcl and wcl386."""
    driver = own_name(inv.argv[0])
    try:
        words = words_of(inv, driver.upper())
    except UnreadableError as error:
        refusal = Reason.UNREADABLE_RESPONSE_FILE
        return Analysis(Kind.UNKNOWN, refusal=refusal, detail=str(error.args[0]))
    line = _read(driver, words.own, words.from_variable)
    found = _judge(inv, driver, line)
    if found.refusal is not None:
        return found
    own, before = words.own, words.from_variable
    # Directives that are kept name the objects as the sources were named: not those of parts.
    keeps = Do.KEPT_DIRECTIVES in line.said.values
    if len(line.sources) > 1 and found.kind is not Kind.PREPROCESS and not keeps:
        parts = tuple(_parts(inv, driver, own, before))
        if all(part.analysis.refusal is None for part in parts):
            return found._replace(split=lambda folder: parts)
    return found._replace(argv=(lambda keep: (inv.argv[0], *own)) if words.replaced else None)


class Owcc(Marker):
    """What an option of owcc does."""

    NOTHING = enum.auto()
    OUTPUT = enum.auto()
    COMPILE = enum.auto()
    TARGET = enum.auto()
    READS = enum.auto()
    LIBRARY = enum.auto()
    UNKNOWN = enum.auto()
    QUERY = enum.auto()


OWCC: tuple[Row[Owcc], ...] = rows(
    {
        (Owcc.NOTHING, Take.FLAG): """
            -O0 -O1 -O2 -O3 -Os -Ot -Wall -Werror -Wextra -Woverlay -Wpadded -g -g0 -g1 -g1+ -g2
            -g2i -g2s -g2t -g3 -g3i -g3s -gcodeview -gdwarf -gwatcom -mhard-emu-float -mrtdll -ms
            -msoft-float -mthreads -mwindows -pil -s -v
            """,
        (Owcc.NOTHING, Take.GLUED): """
            -Wlevel -Wn -Wno- -Wstop-after-errors -fabi= -feh -ffloat-store -ffunction-sections
            -fhook- -finline- -fkeep-duplicates -floop-optimize -fmangle-cpp -fmessage-full-path
            -fno- -fnonconst- -fpack-struct= -fpmath= -fptune= -frerun- -fschedule- -fshort-enum
            -fsigned-char -fstack-probe -ftabstop= -funroll-loops -funsafe-math- -fvoid-ptr-
            -mabi= -march= -mcmodel= -mregparm= -mstack-size= -mtune= -std=
            """,
        (Owcc.NOTHING, Take.EITHER): "-D -I -L -U",
        (Owcc.OUTPUT, Take.EITHER): "-o",
        (Owcc.COMPILE, Take.FLAG): "-c",
        (Owcc.TARGET, Take.EITHER): "-b",
        (Owcc.READS, Take.NEXT): "-include",
        (Owcc.LIBRARY, Take.EITHER): "-l",
        (Owcc.UNKNOWN, Take.GLUED): "-M -Wc, -Wl, -fbrowser -fwrite- -fd -fm=",
        (Owcc.UNKNOWN, Take.FLAG): "-C -E -P -S -fsyntax-only -shared",
        (Owcc.UNKNOWN, Take.NEXT): "-x",
        (Owcc.QUERY, Take.FLAG): "--help -?",
    }
)
OWCC_TABLE: Table[Owcc] = Table(OWCC, memory=1024)


def analyse_owcc(inv: Invocation) -> Analysis:
    """owcc, in the manner of gcc: it runs wcc386 -zq -fo=.o -fr, and wlink unless -c is given."""
    said = Said()
    output, compiles, target, query = "", False, "linux", False
    rest = iter(inv.argv[1:])
    for word in rest:
        if word[:1] != "-":
            said.sources.append(word)
            continue
        hit = OWCC_TABLE.find(word)
        if hit is None or hit.do is Owcc.UNKNOWN:
            said.refusals.refuse(Reason.UNKNOWN_OPTION, word)
            continue
        value = next(rest, "") if hit.wants_next else hit.value
        if hit.do is Owcc.OUTPUT:
            output = value
        elif hit.do is Owcc.READS:
            said.reads.append(value)
        elif hit.do is Owcc.TARGET:
            target = value.lower()
        compiles |= hit.do is Owcc.COMPILE
        query |= hit.do is Owcc.QUERY
    if query or not (said.sources or said.refusals.reason):
        return Analysis(Kind.QUERY, refusal=Reason.QUERY)
    sources = [path for path in said.sources if _compiler("owcc", path) is not None]
    if compiles and output and len(sources) > 1:
        said.refusals.refuse(Reason.MALFORMED, "-o with several sources")
    if not compiles and (not output or (not split_suffix(output)[1] and target != "linux")):
        said.refusals.refuse(Reason.WRITES_UNPREDICTABLE, "the program's name")
    if any(is_device(path) for path in (output, *said.sources)):
        said.refusals.refuse(Reason.DISCARDED_OUTPUT, output)
    writes: list[Write] = [] if compiles else [Write(output)]
    for source in sources:
        base = stem(basename(source))
        own = base + OBJECT
        writes.append(Write(output if compiles and output else own, header=False))
        gone = Write(f"{base}.d", timed=False, target=False, removed=True, header=False)
        writes.append(gone)
    return Analysis(
        Kind.COMPILE if compiles else Kind.LINK,
        reads=(*said.sources, *said.reads),
        writes=tuple(writes),
        undeclared=True,
        refusal=said.refusals.reason,
        detail=said.refusals.detail,
    )
