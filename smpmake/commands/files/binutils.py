"""What the tools that work on objects and archives mean: ar, ranlib, strip, objcopy, nm, size."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from smpmake.commands.model import Analysis, Invocation, Kind, Reason, Write
from smpmake.commands.options import Getopt, Marker, Opt, Parsed, UnreadableError, Want, expand
from smpmake.commands.paths import NULL_DEVICE, is_device


class Do(Marker):
    """What an option of these tools does."""

    NOTHING = enum.auto()
    QUERY = enum.auto()
    OUTPUT = enum.auto()
    KEEP_TIME = enum.auto()
    READS = enum.auto()
    READS_AFTER_EQUALS = enum.auto()
    WRITES_AFTER_EQUALS = enum.auto()
    UNKNOWN = enum.auto()
    # ar's letters
    CHANGE = enum.auto()
    PRINT = enum.auto()
    EXTRACT = enum.auto()
    INDEX = enum.auto()
    POSITION = enum.auto()
    SCRIPT = enum.auto()


NO, YES, MAYBE = Want.NO, Want.YES, Want.MAYBE

_COMMON = (
    Opt("--help", Do.QUERY),
    Opt("--version -V", Do.QUERY),
    Opt("--target", Do.NOTHING, YES),
)

AR: Getopt[Do] = Getopt(
    (
        *(Opt(f"-{letter}", Do.CHANGE) for letter in "dmqr"),
        *(Opt(f"-{letter}", Do.PRINT) for letter in "pt"),
        *(Opt(f"-{letter}", Do.POSITION) for letter in "abiN"),
        *(Opt(f"-{letter}", Do.NOTHING) for letter in "cDfLoOPSTUuv"),
        Opt("-x", Do.EXTRACT),
        Opt("-s", Do.INDEX),
        Opt("-M", Do.SCRIPT),
        Opt("-X", Do.NOTHING, YES),
        Opt("-h", Do.QUERY),
        Opt("-l --record-libdeps", Do.NOTHING, YES),
        Opt("--format", Do.NOTHING, YES),
        Opt("--output", Do.NOTHING, YES),
        Opt("--plugin", Do.NOTHING, YES),
        Opt("--rsp-quoting", Do.NOTHING, YES),
        Opt("--thin", Do.NOTHING),
        *_COMMON,
    )
)

RANLIB: Getopt[Do] = Getopt(
    (
        Opt("-D -U -t -a -o", Do.NOTHING),
        Opt("-h -H -v", Do.QUERY),
        Opt("--plugin", Do.NOTHING, YES),
        *_COMMON,
    )
)

STRIP: Getopt[Do] = Getopt(
    (
        Opt("-o", Do.OUTPUT, YES),
        Opt("-p --preserve-dates", Do.KEEP_TIME),
        Opt("-I --input-target", Do.NOTHING, YES),
        Opt("-O --output-target", Do.NOTHING, YES),
        Opt("-F", Do.NOTHING, YES),
        Opt("-R --remove-section", Do.NOTHING, YES),
        Opt("-N --strip-symbol", Do.NOTHING, YES),
        Opt("-K --keep-symbol", Do.NOTHING, YES),
        Opt("--remove-relocations", Do.NOTHING, YES),
        Opt("--keep-section", Do.NOTHING, YES),
        Opt("-D --enable-deterministic-archives", Do.NOTHING),
        Opt("-U --disable-deterministic-archives", Do.NOTHING),
        Opt("-s --strip-all", Do.NOTHING),
        Opt("-g -S -d --strip-debug", Do.NOTHING),
        Opt("-M --merge-notes", Do.NOTHING),
        Opt("--no-merge-notes", Do.NOTHING),
        Opt("--strip-dwo", Do.NOTHING),
        Opt("--strip-unneeded", Do.NOTHING),
        Opt("--only-keep-debug", Do.NOTHING),
        Opt("--keep-section-symbols", Do.NOTHING),
        Opt("--keep-file-symbols", Do.NOTHING),
        Opt("-w --wildcard", Do.NOTHING),
        Opt("-x --discard-all", Do.NOTHING),
        Opt("-X --discard-locals", Do.NOTHING),
        Opt("-v --verbose", Do.NOTHING),
        Opt("-h --info", Do.QUERY),
        *_COMMON,
    )
)

_OBJCOPY_VALUES = """
    --add-symbol --adjust-section-vma --adjust-start --adjust-vma --alt-machine-code
    --change-addresses --change-section-address --change-section-lma --change-section-vma
    --change-start --elf-stt-common --file-alignment --gap-fill --globalize-symbol --heap
    --image-base --interleave-width --keep-section --long-section-names --pad-to
    --prefix-alloc-sections --prefix-sections --prefix-symbols --redefine-sym
    --remove-relocations --rename-section --reverse-bytes --section-alignment
    --set-section-alignment --set-section-flags --set-start --srec-len --stack
    --strip-unneeded-symbol --subsystem --verilog-data-width
"""
_OBJCOPY_FLAGS = """
    --adjust-warnings --change-leading-char --change-warnings --debugging
    --decompress-debug-sections --extract-dwo --extract-symbol --impure --keep-file-symbols
    --keep-section-symbols --localize-hidden --no-adjust-warnings --no-change-warnings
    --no-merge-notes --only-keep-debug --pure --readonly-text --remove-leading-char
    --srec-forceS3 --strip-dwo --strip-unneeded --weaken --writable-text
"""
_OBJCOPY_LISTS = """
    --globalize-symbols --keep-global-symbols --keep-symbols --localize-symbols
    --redefine-syms --strip-symbols --strip-unneeded-symbols --weaken-symbols
"""

OBJCOPY: Getopt[Do] = Getopt(
    (
        Opt("-p --preserve-dates", Do.KEEP_TIME),
        Opt("--add-gnu-debuglink", Do.READS, YES),
        Opt("--add-section", Do.READS_AFTER_EQUALS, YES),
        Opt("--update-section", Do.READS_AFTER_EQUALS, YES),
        Opt("--dump-section", Do.WRITES_AFTER_EQUALS, YES),
        Opt("-I --input-target", Do.NOTHING, YES),
        Opt("-O --output-target", Do.NOTHING, YES),
        Opt("-B --binary-architecture", Do.NOTHING, YES),
        Opt("-F", Do.NOTHING, YES),
        Opt("-j --only-section", Do.NOTHING, YES),
        Opt("-R --remove-section", Do.NOTHING, YES),
        Opt("-N --strip-symbol", Do.NOTHING, YES),
        Opt("-K --keep-symbol", Do.NOTHING, YES),
        Opt("-L --localize-symbol", Do.NOTHING, YES),
        Opt("-G --keep-global-symbol", Do.NOTHING, YES),
        Opt("-W --weaken-symbol", Do.NOTHING, YES),
        Opt("-b --byte", Do.NOTHING, YES),
        Opt("-i --interleave", Do.NOTHING, MAYBE),
        Opt("--compress-debug-sections", Do.NOTHING, MAYBE),
        Opt("-D --enable-deterministic-archives", Do.NOTHING),
        Opt("-U --disable-deterministic-archives", Do.NOTHING),
        Opt("-S --strip-all", Do.NOTHING),
        Opt("-g --strip-debug", Do.NOTHING),
        Opt("-w --wildcard", Do.NOTHING),
        Opt("-x --discard-all", Do.NOTHING),
        Opt("-X --discard-locals", Do.NOTHING),
        Opt("-M --merge-notes", Do.NOTHING),
        Opt("-v --verbose", Do.NOTHING),
        Opt("-h --info", Do.QUERY),
        *(Opt(name, Do.NOTHING, YES) for name in _OBJCOPY_VALUES.split()),
        *(Opt(name, Do.NOTHING) for name in _OBJCOPY_FLAGS.split()),
        *(Opt(name, Do.READS, YES) for name in _OBJCOPY_LISTS.split()),
        *_COMMON,
    )
)

_NM_FLAGS = """
    debug-syms defined-only dynamic extern-only just-symbols line-numbers no-demangle
    no-recurse-limit no-sort no-weak numeric-sort portability print-armap
    print-file-name print-size quiet recurse-limit reverse-sort size-sort special-syms
    synthetic undefined-only with-symbol-versions
"""

NM: Getopt[Do] = Getopt(
    (
        *(Opt(f"-{letter}", Do.NOTHING) for letter in "aABCDegjlnopPrSsuUvW"),
        *(Opt(f"--{name}", Do.NOTHING) for name in _NM_FLAGS.split()),
        Opt("--demangle", Do.NOTHING, MAYBE),
        Opt("-f --format", Do.NOTHING, YES),
        Opt("-t --radix", Do.NOTHING, YES),
        Opt("-X", Do.NOTHING, YES),
        Opt("--ifunc-chars", Do.NOTHING, YES),
        Opt("--plugin", Do.NOTHING, YES),
        Opt("--unicode", Do.NOTHING, YES),
        Opt("-h", Do.QUERY),
        *_COMMON,
    )
)

SIZE: Getopt[Do] = Getopt(
    (
        *(Opt(f"-{letter}", Do.NOTHING) for letter in "ABGodxtf"),
        Opt("--totals", Do.NOTHING),
        Opt("--common", Do.NOTHING),
        Opt("--format", Do.NOTHING, YES),
        Opt("--radix", Do.NOTHING, YES),
        Opt("-h -H -? -v", Do.QUERY),
        *_COMMON,
    )
)


class _RefusedError(Exception):
    """The answer is known before the operands are."""

    def __init__(self, analysis: Analysis) -> None:
        super().__init__()
        self.analysis = analysis


def _parse(
    inv: Invocation, table: Getopt[Do], kind: Kind, bare_letters: bool = False
) -> tuple[Parsed[Do], list[str]]:
    """The command line taken apart, and the response files it names."""
    try:
        words, responses = expand(inv.argv[1:], inv.files)
    except UnreadableError as error:
        name = str(error.args[0])
        reason = Reason.UNREADABLE_RESPONSE_FILE
        raise _RefusedError(Analysis(kind, refusal=reason, detail=name)) from None
    if bare_letters and words and not words[0].startswith("-"):
        words[0] = "-" + words[0]
    parsed = table.parse(words, permute=inv.getenv("POSIXLY_CORRECT") is None)
    if any(given.do is Do.QUERY for given in parsed.given):
        raise _RefusedError(Analysis(Kind.QUERY, refusal=Reason.QUERY))
    if parsed.wrong:
        raise _RefusedError(Analysis(kind, refusal=Reason.UNKNOWN_OPTION, detail=parsed.wrong))
    return parsed, responses


def _values(parsed: Parsed[Do], do: Do) -> list[str]:
    return [given.value or "" for given in parsed.given if given.do is do]


def _malformed(kind: Kind, detail: str) -> Analysis:
    return Analysis(kind, refusal=Reason.MALFORMED, detail=detail)


def _updates(
    kind: Kind, paths: Iterable[str], reads: Iterable[str], timed: bool = True
) -> Analysis:
    writes = tuple(Write(path, in_place=True, timed=timed) for path in paths)
    return Analysis(kind, reads=tuple(reads), writes=writes)


def analyse_ar(inv: Invocation) -> Analysis:
    """ar: the first word holds the operation, with or without a dash."""
    try:
        parsed, responses = _parse(inv, AR, Kind.ARCHIVE, bare_letters=True)
    except _RefusedError as refused:
        return refused.analysis
    does = [given.do for given in parsed.given]
    if Do.SCRIPT in does:
        return Analysis(Kind.ARCHIVE, refusal=Reason.READS_STDIN, detail="-M")
    operands = parsed.operands
    # The member beside which others go, or the count of -N, stands before the archive.
    operands = operands[1 if Do.POSITION in does else 0 :]
    operation = [do for do in does if do in (Do.CHANGE, Do.PRINT, Do.EXTRACT)]
    if len(operation) > 1 or not operands or not (operation or Do.INDEX in does):
        return _malformed(Kind.ARCHIVE, "not one operation on one archive")
    archive, members = operands[0], operands[1:]
    if operation and operation[0] is Do.PRINT:
        reads = (archive, *responses)
        return Analysis(Kind.INSPECT, reads=reads, refusal=Reason.WRITES_STDOUT, prints=True)
    if operation and operation[0] is Do.EXTRACT:
        return Analysis(
            Kind.ARCHIVE,
            reads=(archive, *responses),
            refusal=Reason.WRITES_UNPREDICTABLE,
            detail="x",
        )
    if is_device(archive):
        return Analysis(Kind.ARCHIVE, refusal=Reason.UNUSUAL_OUTPUT, detail=archive)
    # d and m name members, not files.
    adds = any(given.name in ("-r", "-q") for given in parsed.given)
    return _updates(Kind.ARCHIVE, [archive], [*(members if adds else ()), *responses])


def analyse_ranlib(inv: Invocation) -> Analysis:
    """ranlib"""
    try:
        parsed, responses = _parse(inv, RANLIB, Kind.ARCHIVE)
    except _RefusedError as refused:
        return refused.analysis
    if not parsed.operands:
        return _malformed(Kind.ARCHIVE, "no archive")
    return _updates(Kind.ARCHIVE, parsed.operands, responses)


def analyse_strip(inv: Invocation) -> Analysis:
    """strip"""
    kind = Kind.LINK
    try:
        parsed, responses = _parse(inv, STRIP, kind)
    except _RefusedError as refused:
        return refused.analysis
    if not parsed.operands:
        return _malformed(kind, "no file")
    timed = not _values(parsed, Do.KEEP_TIME)
    outputs = _values(parsed, Do.OUTPUT)
    if not outputs:
        return _updates(kind, parsed.operands, responses, timed)
    if len(parsed.operands) > 1:
        return _malformed(kind, "-o with several files")
    return _copied(kind, parsed.operands[0], outputs[-1], responses, timed)


def analyse_objcopy(inv: Invocation) -> Analysis:
    """objcopy: one file is changed in place, two are from and to."""
    kind = Kind.LINK
    try:
        parsed, responses = _parse(inv, OBJCOPY, kind)
    except _RefusedError as refused:
        return refused.analysis
    if len(parsed.operands) not in (1, 2):
        return _malformed(kind, "not one file or two")
    reads = [*_values(parsed, Do.READS), *responses]
    reads += [word.partition("=")[2] for word in _values(parsed, Do.READS_AFTER_EQUALS)]
    dumps = [word.partition("=")[2] for word in _values(parsed, Do.WRITES_AFTER_EQUALS)]
    timed = not _values(parsed, Do.KEEP_TIME)
    return _copied(kind, parsed.operands[0], parsed.operands[-1], reads, timed, dumps)


def _copied(
    kind: Kind,
    source: str,
    output: str,
    reads: Iterable[str],
    timed: bool,
    dumps: Iterable[str] = (),
) -> Analysis:
    sides = [Write(path, target=False) for path in dumps if not is_device(path)]
    refusal: Reason | None = None
    writes = [Write(output, timed=timed, in_place=source == output)]
    if is_device(output) or any(is_device(path) and path != NULL_DEVICE for path in dumps):
        discarded = output == NULL_DEVICE
        refusal = Reason.DISCARDED_OUTPUT if discarded else Reason.WRITES_STDOUT
        writes = []
    reads = [*reads] if source == output else [source, *reads]
    return Analysis(
        kind,
        reads=tuple(reads),
        writes=(*writes, *sides),
        refusal=refusal,
        detail=output if refusal else "",
    )


def _inspect(inv: Invocation, table: Getopt[Do]) -> Analysis:
    try:
        parsed, responses = _parse(inv, table, Kind.INSPECT)
    except _RefusedError as refused:
        return refused.analysis
    operands = parsed.operands or ["a.out"]
    reads = (*operands, *responses)
    return Analysis(Kind.INSPECT, reads=reads, refusal=Reason.WRITES_STDOUT, prints=True)


def analyse_nm(inv: Invocation) -> Analysis:
    """nm"""
    return _inspect(inv, NM)


def analyse_size(inv: Invocation) -> Analysis:
    """size"""
    return _inspect(inv, SIZE)
