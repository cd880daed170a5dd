"""Tools whose result is what they print: cat, sed, awk, sort, objdump and others.

Where their output is a file that a shell opened for them alone, that file is their output as -o
names a compiler's (`Analysis.prints`).  Whatever here is not understood is left where it stands
and waits for nothing: a guard lets it read what it reads when that is there.  Tools whose status
is an answer (grep, cmp, diff) are not among them, nor those whose input decides what they do (m4).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable
from typing import Final

from smpmake.commands.model import Analysis, Files, Invocation, Kind, Reason
from smpmake.commands.options import Getopt, Marker, Opt, Parsed, Want
from smpmake.commands.pending_files import PendingAnswerError


class Do(Marker):
    """What an option of these tools does."""

    NOTHING = enum.auto()
    READS = enum.auto()  # its value is another input
    TEXT = enum.auto()  # its value is the program to run,
    TEXT_FILE = enum.auto()  # or the file that this is in
    OTHERWISE = enum.auto()  # writes elsewhere, follows for ever, asks


NO, YES, MAYBE = Want.NO, Want.YES, Want.MAYBE

CAT: Getopt[Do] = Getopt(
    (
        Opt("-A --show-all -b --number-nonblank -e -E --show-ends -n --number", Do.NOTHING),
        Opt("-s --squeeze-blank -t -T --show-tabs -u -v --show-nonprinting", Do.NOTHING),
    )
)
HEAD: Getopt[Do] = Getopt(
    (
        Opt("-c --bytes -n --lines", Do.NOTHING, YES),
        Opt("-q --quiet --silent -v --verbose -z --zero-terminated", Do.NOTHING),
        *(Opt(f"-{digit}", Do.NOTHING) for digit in "0123456789"),
    )
)
TAIL: Getopt[Do] = Getopt(
    (
        *HEAD.options,
        Opt("-f --follow", Do.OTHERWISE, MAYBE),
        Opt("-F", Do.OTHERWISE),
    )
)
CUT: Getopt[Do] = Getopt(
    (
        Opt("-b --bytes -c --characters -d --delimiter -f --fields", Do.NOTHING, YES),
        Opt("--output-delimiter", Do.NOTHING, YES),
        Opt("-n --complement -s --only-delimited -z --zero-terminated", Do.NOTHING),
    )
)
SORT: Getopt[Do] = Getopt(
    (
        Opt("-b --ignore-leading-blanks -d --dictionary-order -f --ignore-case", Do.NOTHING),
        Opt("-g --general-numeric-sort -i --ignore-nonprinting -M --month-sort", Do.NOTHING),
        Opt("-h --human-numeric-sort -n --numeric-sort -r --reverse", Do.NOTHING),
        Opt("-V --version-sort -m --merge -s --stable -u --unique", Do.NOTHING),
        Opt("-z --zero-terminated", Do.NOTHING),
        Opt("-k --key -t --field-separator -S --buffer-size --parallel", Do.NOTHING, YES),
        Opt("--batch-size --sort", Do.NOTHING, YES),
        Opt("-o --output -T --temporary-directory --compress-program", Do.OTHERWISE, YES),
        Opt("--files0-from", Do.OTHERWISE, YES),
        Opt("--random-source", Do.READS, YES),
        Opt("-R --random-sort", Do.OTHERWISE),
    )
)
SED: Getopt[Do] = Getopt(
    (
        Opt("-e --expression", Do.TEXT, YES),
        Opt("-f --file", Do.TEXT_FILE, YES),
        Opt("-n --quiet --silent -E -r --regexp-extended -s --separate", Do.NOTHING),
        Opt("-u --unbuffered -z --null-data --posix --sandbox", Do.NOTHING),
        Opt("-l --line-length", Do.NOTHING, YES),
        Opt("-i --in-place", Do.OTHERWISE, MAYBE),
    )
)
#: POSIX's options alone: what the others mean differs between gawk, mawk and nawk.
AWK: Getopt[Do] = Getopt(
    (
        Opt("-F -v", Do.NOTHING, YES),
        Opt("-f", Do.TEXT_FILE, YES),
    )
)
OBJDUMP: Getopt[Do] = Getopt(
    (
        *(Opt(f"-{letter}", Do.NOTHING) for letter in "aCdDeEfFgGhlLprRsStTwxz"),
        Opt("-b -m -j -M", Do.NOTHING, YES),
        Opt("--disassemble", Do.NOTHING, MAYBE),
        Opt("--archive-headers --all-headers --demangle --disassemble-all", Do.NOTHING),
        Opt("--disassemble-zeroes --dynamic-reloc --dynamic-syms --file-headers", Do.NOTHING),
        Opt("--full-contents --line-numbers --no-show-raw-insn --prefix-addresses", Do.NOTHING),
        Opt("--private-headers --reloc --section-headers --show-raw-insn --syms", Do.NOTHING),
        Opt("--wide", Do.NOTHING),
        Opt("--architecture --disassembler-options --section --start-address", Do.NOTHING, YES),
        Opt("--stop-address --target", Do.NOTHING, YES),
    )
)
READELF: Getopt[Do] = Getopt(
    (
        *(Opt(f"-{letter}", Do.NOTHING) for letter in "aAcCdeghIlnrsStTuVWz"),
        Opt("-x -p -R", Do.NOTHING, YES),
        Opt("--all --arch-specific --dynamic --dyn-syms --file-header --headers", Do.NOTHING),
        Opt("--histogram --notes --program-headers --relocs --section-headers", Do.NOTHING),
        Opt("--sections --segments --symbols --syms --unwind --version-info --wide", Do.NOTHING),
        Opt("--hex-dump --relocated-dump --string-dump", Do.NOTHING, YES),
    )
)

GREP: Getopt[Do] = Getopt(
    (
        Opt("-E --extended-regexp -F --fixed-strings -G --basic-regexp -P", Do.NOTHING),
        Opt("-i --ignore-case -v --invert-match -w --word-regexp -x --line-regexp", Do.NOTHING),
        Opt("-c --count -o --only-matching -h --no-filename -H --with-filename", Do.NOTHING),
        Opt("-n --line-number -a --text -s --no-messages", Do.NOTHING),
        Opt("-A -B -C -m", Do.NOTHING, YES),
        Opt("-e --regexp", Do.TEXT, YES),
        Opt("-f --file", Do.TEXT_FILE, YES),
    )
)
TR: Getopt[Do] = Getopt(
    (Opt("-c -C --complement -d --delete -s --squeeze-repeats -t", Do.NOTHING),)
)
UNIQ: Getopt[Do] = Getopt(
    (
        Opt("-c --count -d --repeated -i --ignore-case -u --unique -z", Do.NOTHING),
        Opt("-f -s -w", Do.NOTHING, YES),
    )
)

Programs = Callable[[str], bool]  # whether a program does nothing but read and print

_ADDRESS: Final = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/I?)"
_SUBSTITUTE: Final = "|".join(
    rf"s{d}(?:[^{d}\\\n]|\\[\s\S])*{d}(?:[^{d}\\]|\\[\s\S])*{d}[gpiI0-9]*"
    for d in map(re.escape, "/,|#:@%!")
)
#: One command of sed that only prints, or changes what will be printed.
_SED: Final = re.compile(
    rf"[\s;]*(?:{_ADDRESS}(?:,\s*{_ADDRESS})?\s*)?!?\s*"
    rf"(?:{_SUBSTITUTE}|[dpDPgGhHxnN=]|[qQ]\d*)[ \t]*(?=[;\n]|\Z)"
)
#: A line of awk that is nothing but a comment, whatever stands around it.
_AWK_COMMENT: Final = re.compile(r"(?<![^\n])(?<!\\\n)[ \t]*#(?:[^\n]*[^\\\n])?(?=\n|\Z)")
#: What may reach another file or program from within awk; comparisons are refused, too.
_AWK: Final = re.compile(r"(?<!\|)\|(?!\|)|>|@|\b(?:system|getline|ARG[VC]|fflush|close)\b")


def _sed_prints(script: str) -> bool:
    at = 0
    while script[at:].strip(" \t\n;"):
        found = _SED.match(script, at)
        if found is None or found.end() == at:
            return False
        at = found.end()
    return True


def _awk_prints(program: str) -> bool:
    return _AWK.search(_AWK_COMMENT.sub("", program)) is None


def _in_place(detail: str = "") -> Analysis:
    return Analysis(Kind.INSPECT, refusal=Reason.WRITES_STDOUT, detail=detail)


def _prints(inv: Invocation, operands: Iterable[str], others: Iterable[str] = ()) -> Analysis:
    """Of its operands, or else its standard input, and of what options name."""
    named = (*(tuple(operands) or ("-",)), *others)
    if "-" in named and not inv.fed:
        return Analysis(Kind.INSPECT, refusal=Reason.READS_STDIN)
    reads = tuple(path for path in named if path != "-")
    return Analysis(Kind.INSPECT, reads, refusal=Reason.WRITES_STDOUT, prints=True)


def _parsed(inv: Invocation, table: Getopt[Do], *, permute: bool = True) -> Parsed[Do] | None:
    """None where the tool does something else than print what it makes of its operands."""
    permute = permute and inv.getenv("POSIXLY_CORRECT") is None
    parsed = table.parse(inv.argv[1:], permute=permute)
    if parsed.wrong or any(given.do is Do.OTHERWISE for given in parsed.given):
        return None
    return parsed


def _values(parsed: Parsed[Do], do: Do) -> list[str]:
    return [given.value or "" for given in parsed.given if given.do is do]


def _simple(inv: Invocation, table: Getopt[Do]) -> Analysis:
    parsed = _parsed(inv, table)
    if parsed is None:
        return _in_place()
    return _prints(inv, parsed.operands, _values(parsed, Do.READS))


def _programmed(
    inv: Invocation, table: Getopt[Do], is_harmless: Programs, *, permute: bool
) -> Analysis:
    """A tool that runs a program: given as an option, in a file, or else as the first operand."""
    parsed = _parsed(inv, table, permute=permute)
    if parsed is None:
        return _in_place()
    operands = parsed.operands
    programs, files = _values(parsed, Do.TEXT), _values(parsed, Do.TEXT_FILE)
    if files and inv.getenv("AWKPATH") is not None:
        return _in_place("AWKPATH")  # its program may be another
    if not programs and not files:
        if not operands:
            return _in_place()
        programs, operands = operands[:1], operands[1:]
    try:
        texts = [*programs, *_texts(inv.files, files)]
    except PendingAnswerError:  # it waits for that by itself, and may stand in a pipe
        return _in_place("its program")
    if len(texts) < len(programs) + len(files) or not all(map(is_harmless, texts)):
        return _in_place("its program")
    return _prints(inv, operands, files)


def _texts(disk: Files, paths: list[str]) -> list[str]:
    found = (None if path == "-" else disk.read_text(path) for path in paths)
    return [text for text in found if text is not None]


def analyse_cat(inv: Invocation) -> Analysis:
    """cat"""
    return _simple(inv, CAT)


def analyse_head(inv: Invocation) -> Analysis:
    """head"""
    return _simple(inv, HEAD)


def analyse_tail(inv: Invocation) -> Analysis:
    """tail"""
    return _simple(inv, TAIL)


def analyse_cut(inv: Invocation) -> Analysis:
    """cut"""
    return _simple(inv, CUT)


def analyse_sort(inv: Invocation) -> Analysis:
    """sort"""
    return _simple(inv, SORT)


def analyse_objdump(inv: Invocation) -> Analysis:
    """objdump"""
    return _simple(inv, OBJDUMP)


def analyse_readelf(inv: Invocation) -> Analysis:
    """readelf"""
    return _simple(inv, READELF)


def analyse_sed(inv: Invocation) -> Analysis:
    """sed: its scripts may write files and run programs, so they are looked through."""
    return _programmed(inv, SED, _sed_prints, permute=True)


def analyse_awk(inv: Invocation) -> Analysis:
    """awk: its programs may write files and run programs; operands may be assignments."""
    meaning = _programmed(inv, AWK, _awk_prints, permute=False)
    if meaning.prints and any("=" in path for path in meaning.reads):
        return _in_place("an assignment")
    return meaning


def analyse_grep(inv: Invocation) -> Analysis:
    """grep in a pipe, where its status is none of its answer."""
    return _programmed(inv, GREP, lambda _: True, permute=True)


def analyse_tr(inv: Invocation) -> Analysis:
    """tr, all of whose operands are sets of letters."""
    return _in_place() if _parsed(inv, TR) is None else _prints(inv, [])


def analyse_uniq(inv: Invocation) -> Analysis:
    """uniq, whose second operand is what it writes."""
    parsed = _parsed(inv, UNIQ)
    if parsed is None or len(parsed.operands) > 1:
        return _in_place()
    return _prints(inv, parsed.operands)


#: Of them those whose status is an answer: known where another command follows in the pipe.
ANSWERS: Final = frozenset({"grep", "egrep", "fgrep"})
#: Tools that are known only where they stand in a pipe, by their names.
FILTERS: Final = {
    **dict.fromkeys(ANSWERS, analyse_grep),
    "tr": analyse_tr,
    "uniq": analyse_uniq,
}
