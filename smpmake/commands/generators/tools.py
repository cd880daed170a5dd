"""Tools that make sources, headers and catalogues of what people have written.

A command is a job if its words name all that it makes.  When it has ended that is compared with
what it was seen to write (`Analysis.checked`), so a table need not know what an option does beside
its output, only that it names none.  A tool that prints its result has it where -o or a shell puts
it.  Grammars, whose texts may name outputs, are `generators_grammars`'; protoc has its own file.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Final

from smpmake.commands.model import Analysis, Invocation, Kind, Reason, Write
from smpmake.commands.options import Getopt, Given, Marker, Opt, Parsed, Row, Table, Take, Want
from smpmake.commands.paths import dirname, is_device, join


class Do(Marker):
    """What an option of a generator does."""

    NOTHING = enum.auto()
    OUTPUT = enum.auto()
    SIDE = enum.auto()  # its value is an output beside that
    READS = enum.auto()  # its value is another input
    SEARCH = enum.auto()  # its value is a folder in which inputs are looked for
    PRINTS = enum.auto()  # the result goes to standard output
    QUERY = enum.auto()
    HEADER = enum.auto()  # a header, too; its value is the name, if it has one
    REPORT = enum.auto()
    PREFIX = enum.auto()
    YACC = enum.auto()
    NAMES = enum.auto()  # its value is the name of outputs but for their suffix
    FOLDER = enum.auto()  # its value is the folder of the outputs
    INCLUDED = enum.auto()  # xxd -i
    JSON = enum.auto()
    PATTERN = enum.auto()  # protoc's outputs in a language


NO, YES, MAYBE = Want.NO, Want.YES, Want.MAYBE
_ASKS: Final = (Opt("-h --help --version", Do.QUERY),)

GPERF: Getopt[Do] = Getopt(
    (
        *_ASKS,
        Opt("--output-file", Do.OUTPUT, YES),
        Opt(
            "-e --delimiters -L --language -K --slot-name -F --initializer-suffix", Do.NOTHING, YES
        ),
        Opt("-H --hash-function-name -N --lookup-function-name -Z --class-name", Do.NOTHING, YES),
        Opt("-Q --string-pool-name -W --word-array-name -S --switch -k", Do.NOTHING, YES),
        Opt("--key-positions -f --fast -i --initial-value -j --jump -m", Do.NOTHING, YES),
        Opt("--multiple-iterations -s --size-multiple --constants-prefix", Do.NOTHING, YES),
        Opt("--length-table-name", Do.NOTHING, YES),
        Opt("-t --struct-type --ignore-case -7 --seven-bit -l --compare-lengths", Do.NOTHING),
        Opt("-c --compare-strncmp --compare-strlen -C --readonly-tables -E --enum", Do.NOTHING),
        Opt("-I --includes -G --global-table -P --pic --null-strings -T", Do.NOTHING),
        Opt("--omit-struct-type -D --duplicates -r --random -n --no-strlen -d --debug", Do.NOTHING),
        Opt("-a -g -o -p", Do.NOTHING),
    )
)
MSGFMT: Getopt[Do] = Getopt(
    (
        *_ASKS,
        Opt("-V", Do.QUERY),
        Opt("-o --output-file", Do.OUTPUT, YES),
        Opt("-D --directory", Do.SEARCH, YES),
        Opt("-c --check --check-format --check-header --check-domain", Do.NOTHING),
        Opt("-C --check-compatibility -f --use-fuzzy --no-hash --no-convert", Do.NOTHING),
        Opt("--no-redundancy --strict --statistics -v --verbose", Do.NOTHING),
        Opt("-P --properties-input --stringtable-input", Do.NOTHING),
        Opt("-a --alignment --endianness", Do.NOTHING, YES),
        Opt("--check-accelerators", Do.NOTHING, MAYBE),
    )
)
WAYLAND: Getopt[Do] = Getopt(
    (
        *_ASKS,
        Opt("-v", Do.QUERY),
        Opt("-c --include-core-only -s --strict", Do.NOTHING),
    )
)
POD2MAN: Getopt[Do] = Getopt(
    (
        *_ASKS,
        Opt("-c --center -d --date --errors --fixed --fixedbold --fixeditalic", Do.NOTHING, YES),
        Opt("--fixedbolditalic -n --name -r --release -s --section -q --quotes", Do.NOTHING, YES),
        Opt("--lquote --rquote -e --encoding --language", Do.NOTHING, YES),
        Opt("-l --lax -o --official --nourls --stderr -u --utf8 -v --verbose", Do.NOTHING),
    )
)
MKENUMS: Getopt[Do] = Getopt(
    (
        *_ASKS,
        Opt("-v", Do.QUERY),
        Opt("--output", Do.OUTPUT, YES),
        Opt("--template", Do.READS, YES),
        Opt("--identifier-prefix --symbol-prefix --fhead --ftail --fprod --eprod", Do.NOTHING, YES),
        Opt("--vhead --vprod --vtail --comments", Do.NOTHING, YES),
    )
)
GENMARSHAL: Getopt[Do] = Getopt(
    (
        *_ASKS,
        Opt("-v", Do.QUERY),
        Opt("--output", Do.OUTPUT, YES),
        Opt("--prefix -D -U", Do.NOTHING, YES),
        Opt("--include-header", Do.NOTHING, MAYBE),
        Opt("--skip-source --internal --valist-marshallers --g-fatal-warnings", Do.NOTHING),
        Opt("--pragma-once --prototypes --header --body --stdinc --nostdinc", Do.NOTHING),
        Opt("--quiet --verbose", Do.NOTHING),
    )
)
GDBUS: Getopt[Do] = Getopt(
    (
        *_ASKS,
        Opt("--generate-c-code", Do.NAMES, YES),
        Opt("--output", Do.OUTPUT, YES),
        Opt("--output-directory", Do.FOLDER, YES),
        Opt("--interface-prefix --c-namespace --c-generate-autocleanup", Do.NOTHING, YES),
        Opt("--glib-min-required --glib-max-allowed --symbol-decorator", Do.NOTHING, YES),
        Opt("--symbol-decorator-header --symbol-decorator-define", Do.NOTHING, YES),
        Opt("--c-generate-object-manager --pragma-once --header --body", Do.NOTHING),
        Opt("--interface-info-header --interface-info-body", Do.NOTHING),
    )
)
MOC: Table[Do] = Table(
    (
        Row(Do.QUERY, Take.FLAG, "-h --help --help-all -v --version"),
        Row(Do.OUTPUT, Take.NEXT, "-o"),
        Row(Do.SEARCH, Take.EITHER, "-I"),
        Row(Do.READS, Take.NEXT, "--include"),
        Row(Do.NOTHING, Take.EITHER, "-D -U -p -f -b -M -n"),
        Row(Do.NOTHING, Take.NEXT, "--compiler-flavor --dep-file-rule-name"),
        Row(Do.NOTHING, Take.GLUED, "--compiler-flavor= --dep-file-rule-name= -W"),
        Row(Do.NOTHING, Take.FLAG, "-i -nn -nw --no-notes --no-warnings"),
        Row(Do.JSON, Take.FLAG, "--output-json"),
    )
)
UIC: Table[Do] = Table(
    (
        Row(Do.QUERY, Take.FLAG, "-h --help --help-all -v --version -d --dependencies"),
        Row(Do.OUTPUT, Take.NEXT, "-o --output"),
        Row(Do.OUTPUT, Take.GLUED, "--output="),
        Row(Do.NOTHING, Take.NEXT, "-g -generator --generator --postfix --translate -tr --tr"),
        Row(Do.NOTHING, Take.NEXT, "--include -c --connections"),
        Row(Do.NOTHING, Take.GLUED, "--generator= --postfix= --translate= --tr= --include="),
        Row(Do.NOTHING, Take.FLAG, "-a --no-autoconnection -p --no-protection"),
        Row(Do.NOTHING, Take.FLAG, "-n --no-implicit-includes --idbased"),
    )
)
RCC: Table[Do] = Table(
    (
        Row(Do.QUERY, Take.FLAG, "-h --help --help-all -v --version --list -list --list-mapping"),
        Row(Do.OUTPUT, Take.NEXT, "-o --output"),
        Row(Do.OUTPUT, Take.GLUED, "--output="),
        Row(Do.SIDE, Take.NEXT, "-d --depfile"),
        Row(Do.NOTHING, Take.NEXT, "-name --name -root --root -compress --compress"),
        Row(Do.NOTHING, Take.NEXT, "-threshold --threshold --compress-algo --format-version"),
        Row(Do.NOTHING, Take.NEXT, "-g --generator"),
        Row(Do.NOTHING, Take.FLAG, "-binary --binary --no-compress --namespace --verbose"),
    )
)
XXD: Table[Do] = Table(
    (
        Row(Do.QUERY, Take.FLAG, "-h -v"),
        Row(Do.INCLUDED, Take.FLAG, "-i -include"),
        Row(Do.NOTHING, Take.FLAG, "-C -capitalize -u"),
        Row(Do.NOTHING, Take.NEXT, "-n -name -c -cols -l -len -s -seek"),
    )
)


class Said:
    """A command line's options, and its other words."""

    def __init__(self, parsed: Parsed[Do]) -> None:
        self._parsed = parsed
        self.inputs = parsed.operands
        self.wrong = parsed.wrong

    def has(self, do: Do) -> bool:
        """Whether some option does that."""
        return any(given.do is do for given in self._parsed.given)

    def all(self, do: Do) -> list[str]:
        """The values of all that do, "" for those without one."""
        return [given.value or "" for given in self._parsed.given if given.do is do]

    def given(self, do: Do) -> list[tuple[str, str]]:
        """The options that do, each with its value."""
        return [(given.name, given.value or "") for given in self._parsed.given if given.do is do]

    def last(self, do: Do) -> str | None:
        """The value that counts; None where none is given."""
        return next(iter(self.all(do)[::-1]), None)


#: Variables that lead generators to programs, skeletons or modules that no word names.
_LEADS_ELSEWHERE: Final = (
    *("BISON_PKGDATADIR", "M4", "M4PATH", "PERL5LIB", "PERL5OPT", "PYTHONPATH", "PYTHONHOME"),
    *("GETTEXTDATADIRS", "GETTEXTDATADIR"),
)


def said(inv: Invocation, options: Getopt[Do] | Table[Do]) -> Said | Analysis:
    """A command line taken apart, or the answer where that is all there is to know."""
    for name in _LEADS_ELSEWHERE:
        if inv.getenv(name):
            return refused(Reason.UNUSUAL_ENVIRONMENT, name)
    words = inv.argv[1:]
    parsed = options.parse(words) if isinstance(options, Getopt) else _parsed(options, words)
    found = Said(parsed)
    if found.has(Do.QUERY):
        return refused(Reason.QUERY)
    if found.wrong or any(word.startswith("@") for word in found.inputs):
        return refused(Reason.UNKNOWN_OPTION, found.wrong or "@")
    return found


def _parsed(table: Table[Do], words: Sequence[str]) -> Parsed[Do]:
    parsed: Parsed[Do] = Parsed([], [])
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word == "-":
            parsed.operands.append(word)
            continue
        hit = table.find(word)
        if hit is None:
            parsed.wrong = parsed.wrong or word
            continue
        value = next(rest, "") if hit.wants_next else hit.value
        parsed.given.append(Given(hit.do, hit.name, value))
    return parsed


def refused(reason: Reason, detail: str = "") -> Analysis:
    """A command that is no job."""
    return Analysis(Kind.GENERATE, refusal=reason, detail=detail, checked=True)


def made(
    inputs: Iterable[str],
    outputs: Iterable[str],
    sides: Iterable[str] = (),
    *,
    reads: Iterable[str] = (),
    search: Iterable[str] | None = None,
) -> Analysis:
    """What is made of some files.

    sides   outputs that no rule is for.
    reads   files that are read beside the inputs.
    search  where it looks for files that it does not name; None where it reads no such.
    """
    inputs, outputs, sides = tuple(inputs), tuple(outputs), tuple(sides)
    if not inputs or "-" in inputs:
        return refused(Reason.READS_STDIN)
    for path in (*outputs, *sides):
        if not path or path == "-" or path.endswith("/") or is_device(path):
            return refused(Reason.UNUSUAL_OUTPUT, path)
    if set(outputs) & set(inputs):
        return refused(Reason.MALFORMED, "an output that is an input")
    writes = (
        *(Write(path) for path in outputs),
        *(Write(path, target=False) for path in sides if path not in outputs),
    )
    return Analysis(
        Kind.GENERATE,
        (*inputs, *reads),
        writes,
        undeclared=search is not None,
        search=(*dict.fromkeys((*map(dirname, inputs), *(search or ()))),),
        checked=True,
    )


def printed(inputs: Sequence[str], reads: Iterable[str] = ()) -> Analysis:
    """A result that goes to standard output, and nothing else."""
    if not inputs or "-" in inputs:
        return refused(Reason.READS_STDIN)
    reason = Reason.WRITES_STDOUT
    return Analysis(Kind.GENERATE, (*inputs, *reads), refusal=reason, prints=True, checked=True)


def _plain(
    inv: Invocation, options: Getopt[Do] | Table[Do], *, looks: bool = False, most: int = 0
) -> Analysis:
    """A tool that makes one file, or prints it.

    looks: it reads files that it does not name.  most: how many inputs it takes, 0 for any number.
    """
    found = said(inv, options)
    if isinstance(found, Analysis):
        return found
    if most and len(found.inputs) > most:
        return refused(Reason.MALFORMED, "inputs")
    output, reads = found.last(Do.OUTPUT), found.all(Do.READS)
    if output in (None, "-"):
        return printed(found.inputs, reads)
    search = found.all(Do.SEARCH) if looks else None
    return made(found.inputs, [output or ""], found.all(Do.SIDE), reads=reads, search=search)


def analyse_gperf(inv: Invocation) -> Analysis:
    """gperf"""
    return _plain(inv, GPERF, most=1)


def analyse_msgfmt(inv: Invocation) -> Analysis:
    """msgfmt: without -o the catalogues have the names of domains, which its input may name."""
    found = said(inv, MSGFMT)
    if isinstance(found, Analysis):
        return found
    output = found.last(Do.OUTPUT)
    if output is None:
        return refused(Reason.WRITES_UNPREDICTABLE, "no -o")
    if found.has(Do.SEARCH):
        return refused(Reason.UNKNOWN_OPTION, "-D")
    return printed(found.inputs) if output == "-" else made(found.inputs, [output])


def analyse_moc(inv: Invocation) -> Analysis:
    """moc, which reads what its header includes."""
    meaning = _plain(inv, MOC, looks=True, most=1)
    found = said(inv, MOC)
    if isinstance(found, Said) and found.has(Do.JSON) and meaning.refusal is None:
        beside = Write(f"{meaning.writes[0].path}.json", target=False)
        return meaning._replace(writes=(*meaning.writes, beside))
    return meaning


def analyse_uic(inv: Invocation) -> Analysis:
    """uic"""
    return _plain(inv, UIC, most=1)


def analyse_rcc(inv: Invocation) -> Analysis:
    """rcc, which reads the files that its input names."""
    return _plain(inv, RCC, looks=True)


def analyse_mkenums(inv: Invocation) -> Analysis:
    """glib-mkenums"""
    return _plain(inv, MKENUMS)


def analyse_genmarshal(inv: Invocation) -> Analysis:
    """glib-genmarshal"""
    return _plain(inv, GENMARSHAL)


def analyse_gdbus(inv: Invocation) -> Analysis:
    """gdbus-codegen: NAMES.h and NAMES.c, or one file."""
    found = said(inv, GDBUS)
    if isinstance(found, Analysis):
        return found
    names, output = found.last(Do.NAMES), found.last(Do.OUTPUT)
    if names is not None and output is None:
        start = join(found.last(Do.FOLDER) or "", names)
        return made(found.inputs, [f"{start}.h", f"{start}.c"])
    if names is None and output is not None and not found.has(Do.FOLDER):
        return printed(found.inputs) if output == "-" else made(found.inputs, [output])
    return refused(Reason.WRITES_UNPREDICTABLE, "no --output")


def analyse_wayland(inv: Invocation) -> Analysis:
    """wayland-scanner MODE IN OUT"""
    found = said(inv, WAYLAND)
    if isinstance(found, Analysis):
        return found
    if len(found.inputs) != 3:
        return refused(Reason.READS_STDIN)
    _, source, output = found.inputs
    return made([source], [output])


def analyse_xxd(inv: Invocation) -> Analysis:
    """xxd -i IN OUT; without -i it is for people, or changes files."""
    found = said(inv, XXD)
    if isinstance(found, Analysis):
        return found
    if not found.has(Do.INCLUDED):
        return refused(Reason.WRITES_STDOUT)
    if len(found.inputs) == 2:
        return made(found.inputs[:1], found.inputs[1:])
    return printed(found.inputs)


def analyse_pod2man(inv: Invocation) -> Analysis:
    """pod2man IN OUT"""
    found = said(inv, POD2MAN)
    if isinstance(found, Analysis):
        return found
    if len(found.inputs) == 2:
        return made(found.inputs[:1], found.inputs[1:])
    return printed(found.inputs) if len(found.inputs) == 1 else refused(Reason.READS_STDIN)
