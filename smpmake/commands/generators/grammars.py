"""bison, yacc, flex, lex and re2c: what is made of a grammar, which may name outputs itself.

So it is read when the command is issued.  Where it names one, in whatever part of it, or in a
comment, the command is no job.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from smpmake.commands.generators.tools import MAYBE, YES, Do, Said, made, printed, refused, said
from smpmake.commands.model import Analysis, Files, Invocation, Reason
from smpmake.commands.options import Getopt, Opt
from smpmake.commands.paths import basename, join, split_suffix

BISON: Getopt[Do] = Getopt(
    (
        Opt("-h --help -V --version --print-localedir --print-datadir", Do.QUERY),
        Opt("-o --output --output-file", Do.OUTPUT, YES),
        Opt("-b --file-prefix", Do.PREFIX, YES),
        Opt("-d", Do.HEADER),
        Opt("-H --header --defines", Do.HEADER, MAYBE),
        Opt("-v --verbose", Do.REPORT),
        Opt("-y --yacc", Do.YACC),
        Opt("-W --warnings --color", Do.NOTHING, MAYBE),
        Opt("-p --name-prefix -D --define -F --force-define -M --file-prefix-map", Do.NOTHING, YES),
        Opt("-t --debug --locations -l --no-lines -k --token-table", Do.NOTHING),
    )
)
#: What bison's script of that name and Berkeley's have in common.
YACC: Getopt[Do] = Getopt(
    (
        Opt("-h -V --help --version", Do.QUERY),
        Opt("-o", Do.OUTPUT, YES),
        Opt("-b", Do.PREFIX, YES),
        Opt("-d", Do.HEADER),
        Opt("-v", Do.REPORT),
        Opt("-y", Do.NOTHING),
        Opt("-p", Do.NOTHING, YES),
        Opt("-t -l", Do.NOTHING),
    )
)
FLEX: Getopt[Do] = Getopt(
    (
        Opt("-h -? --help -V --version", Do.QUERY),
        Opt("-o --outfile --output", Do.OUTPUT, YES),
        Opt("--header-file", Do.HEADER, YES),
        Opt("-t --stdout", Do.PRINTS),
        Opt("-P --prefix", Do.PREFIX, YES),
        Opt("-S --skel", Do.READS, YES),
        Opt("-C -D --yyclass", Do.NOTHING, YES),
        Opt("--align --ecs --meta-ecs --read -f --full -F --fast -d --debug -p", Do.NOTHING),
        Opt("--perf-report -s --nodefault -w --nowarn -v --verbose --hex -7 --7bit", Do.NOTHING),
        Opt("-8 --8bit -B --batch -i --case-insensitive -l --lex-compat -X", Do.NOTHING),
        Opt("--posix-compat -I --interactive --yylineno -L --noline -R --reentrant", Do.NOTHING),
        Opt("--bison-bridge --bison-locations --stdinit --nounistd -c -n --noyywrap", Do.NOTHING),
    )
)
RE2C: Getopt[Do] = Getopt(
    (
        Opt("-h -? --help -v --version -V --vernum", Do.QUERY),
        Opt("-o --output", Do.OUTPUT, YES),
        Opt("-t --header --type-header", Do.HEADER, YES),
        Opt("--depfile", Do.SIDE, YES),
        Opt("-I", Do.SEARCH, YES),
        Opt("-W", Do.NOTHING, MAYBE),
        Opt("--api --input --empty-class --encoding-policy --input-encoding", Do.NOTHING, YES),
        Opt("--location-format -D --lang", Do.NOTHING, YES),
        Opt("-b --bit-vectors --case-insensitive --case-inverted --case-ranges -g", Do.NOTHING),
        Opt("--computed-gotos -c --conditions --start-conditions -e --ebcdic --ecb", Do.NOTHING),
        Opt("-F --flex-syntax -f --storable-state -i --no-debug-info -s --nested-ifs", Do.NOTHING),
        Opt("--no-generation-date --no-version --no-unsafe -P --posix-captures -r", Do.NOTHING),
        Opt("--reusable --reuse -T --tags -u --unicode --utf32 -8 --utf8 -w", Do.NOTHING),
        Opt("--wide-chars --ucs2 -x --utf16 -d --debug-output", Do.NOTHING),
    )
)
#: A word of -D that names the file of a class for places (C++).
_NAMES_FILE: Final = re.compile(r"api\.location\.file|api\.header")
_OF_BISON: Final = re.compile(
    r"%\s*(?:output|file-prefix|verbose|fixed-output-files|yacc|language|skeleton|graph|xml|html)"
    r"|%\s*(?:defines|header)\s*[=\"'<{]|api\.location\.file"
)
_HEADER_OF_BISON: Final = re.compile(r"%\s*(?:defines|header)\b")
_OF_FLEX: Final = re.compile(
    r"%\s*option\b[^\n]*\b(?:outfile|header|tables|backup|stdout|perf|c\+\+|lex-compat|yyclass)"
)
_PREFIX_OF_FLEX: Final = re.compile(r"%\s*option\b[^\n]*\bprefix")
_OF_RE2C: Final = re.compile(
    r"flags\s*:\s*(?:o|output|t|type-header|header|depfile)\b|header:re2c|(?:types|max):re2c:"
)
#: How a header is called where the parser has such a suffix.
_HEADERS: Final = {".c": ".h", ".cc": ".hh", ".cpp": ".hpp", ".cxx": ".hxx", ".c++": ".h++"}
#: The suffix of a parser where its grammar has such a one.
_PARSERS: Final = {".y": ".c", ".yy": ".cc", ".ypp": ".cpp", ".yxx": ".cxx", ".y++": ".c++"}


def _texts(files: Files, paths: Iterable[str]) -> str | None:
    """All of it, None where some cannot be read.  Raises PendingAnswerError."""
    found = [files.read_text(path) for path in paths]
    return "\n".join(text for text in found if text is not None) if None not in found else None


def analyse_bison(inv: Invocation) -> Analysis:
    """bison"""
    found = said(inv, BISON)
    if isinstance(found, Analysis):
        return found
    return _parser(inv, found, yacc=found.has(Do.YACC))


def analyse_yacc(inv: Invocation) -> Analysis:
    """yacc, bison's or Berkeley's"""
    found = said(inv, YACC)
    return found if isinstance(found, Analysis) else _parser(inv, found, yacc=True)


def _parser(inv: Invocation, found: Said, *, yacc: bool) -> Analysis:
    if len(found.inputs) != 1 or found.inputs == ["-"]:
        return refused(Reason.READS_STDIN)
    text = _texts(inv.files, found.inputs)
    if text is None:
        return refused(Reason.UNREADABLE_SOURCE, found.inputs[0])
    named = _OF_BISON.search(text)
    words = " ".join(found.all(Do.NOTHING))
    if named is not None or _NAMES_FILE.search(words):
        return refused(Reason.WRITES_UNPREDICTABLE, named[0] if named is not None else words)
    own, suffix = split_suffix(basename(found.inputs[0]))
    output, prefix = found.last(Do.OUTPUT), found.last(Do.PREFIX)
    made_suffix = _PARSERS.get(suffix, "")
    if output is not None:
        stem, made_suffix = split_suffix(output)
        report = f"{stem}.output"
    elif yacc or prefix is not None:
        stem, report = f"{prefix or 'y'}.tab", f"{prefix or 'y'}.output"
        made_suffix = ".c" if yacc else made_suffix
    else:
        stem, report = f"{own}.tab", f"{own}.output"
    if made_suffix not in _HEADERS:
        return refused(Reason.WRITES_UNPREDICTABLE, output or found.inputs[0])
    outputs, headers = [f"{stem}{made_suffix}"], found.all(Do.HEADER)
    if headers or _HEADER_OF_BISON.search(text):
        outputs.append(next(filter(None, headers[::-1]), f"{stem}{_HEADERS[made_suffix]}"))
    return made(found.inputs, outputs, [report] if found.has(Do.REPORT) else [])


def analyse_flex(inv: Invocation) -> Analysis:
    """flex, by the name of lex too"""
    found = said(inv, FLEX)
    if isinstance(found, Analysis):
        return found
    if not found.inputs or "-" in found.inputs:
        return refused(Reason.READS_STDIN)
    text = _texts(inv.files, found.inputs)
    if text is None:
        return refused(Reason.UNREADABLE_SOURCE, " ".join(found.inputs))
    output = found.last(Do.OUTPUT)
    named = _OF_FLEX.search(text) or (_PREFIX_OF_FLEX.search(text) if output is None else None)
    if named is not None:
        return refused(Reason.WRITES_UNPREDICTABLE, named[0])
    skeletons = found.all(Do.READS)
    if found.has(Do.PRINTS):
        return printed(found.inputs, skeletons)
    output = output or f"lex.{found.last(Do.PREFIX) or 'yy'}.c"
    return made(found.inputs, [output, *found.all(Do.HEADER)], reads=skeletons)


def analyse_re2c(inv: Invocation) -> Analysis:
    """re2c, whose inputs may include others: these may name outputs as well, and are not read."""
    found = said(inv, RE2C)
    if isinstance(found, Analysis):
        return found
    if len(found.inputs) != 1 or found.inputs == ["-"]:
        return refused(Reason.READS_STDIN)
    text = _texts(inv.files, found.inputs)
    if text is None:
        return refused(Reason.UNREADABLE_SOURCE, found.inputs[0])
    named = _OF_RE2C.search(text)
    if named is not None:
        return refused(Reason.WRITES_UNPREDICTABLE, named[0])
    output = found.last(Do.OUTPUT)
    if output in (None, "-"):
        return printed(found.inputs)
    headers = [_beside(output or "", path) for path in found.all(Do.HEADER)]
    sides = found.all(Do.SIDE)
    return made(found.inputs, [output or "", *headers], sides, search=found.all(Do.SEARCH))


def _beside(output: str, header: str) -> str:
    """re2c's header is given as seen from where its output lies."""
    folder = output[: output.rfind("/") + 1]
    return header if header.startswith("/") else join(folder, header)
