"""SDCC: the compiler driver sdcc, and its assemblers.

    sdcc -mmcs51 -c a.c -o out/        writes out/a.rel, and beside it a.asm, a.lst and a.sym
    sdcc -mmcs51 out/a.rel b.rel       writes a.ihx, a.lk, a.map and a.mem, and for each X.rel
                                       X.rst, out of X.lst

What a link writes depends on the port.  sdar and sdranlib are GNU's (binutils.py).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Final

from smpmake.commands.model import Analysis, Invocation, Kind, Reason, Refusals, Write
from smpmake.commands.options import Marker, Table, Take, names, rows
from smpmake.commands.paths import basename, is_device, join, split_suffix, stem


class Do(Marker):
    """What an option does."""

    NOTHING = enum.auto()
    COMPILE = enum.auto()
    ASSEMBLY = enum.auto()
    OUTPUT = enum.auto()
    PORT = enum.auto()
    DEBUG = enum.auto()
    DEPS = enum.auto()
    FORMAT = enum.auto()
    READS = enum.auto()
    LIBRARY = enum.auto()
    FOLDER = enum.auto()
    FOR_TOOLS = enum.auto()
    QUERY = enum.auto()
    PRINTS = enum.auto()


TABLE: Final[Table[Do]] = Table(
    rows(
        {
            (Do.NOTHING, Take.FLAG): """
                --Werror --acall-ajmp --callee-saves-bc --all-callee-saves --allow-unsafe-read
                --fdollars-in-identifiers
                --float-reent --fno-omit-frame-pointer --fomit-frame-pointer --fsigned-char
                --funsigned-char --fverbose-asm --i-code-in-asm --int-long-reent --less-pedantic
                --model-flat24 --model-huge --model-large --model-medium --model-small
                --no-c-code-in-asm --no-gen-comments --no-optsdcc-in-asm --no-peep
                --no-peep-comments --no-peep-return --no-reg-params --no-ret-without-call
                --no-std-crt0 --no-xinit-opt --nogcse --noinduction --noinvariant --nojtbound
                --nolabelopt --nolospre --noloopreverse --nooverlay --nostdinc --nostdlib
                --nostdlibcall --opt-code-size --opt-code-speed --pack-iram --no-pack-iram
                --parms-in-bank1 --peep-asm --peep-return --profile --protect-sp-update
                --reserve-regs-iy --stack-10bit --stack-auto --stack-probe --std-c11 --std-c2x
                --std-c89 --std-c95 --std-c99 --std-sdcc11 --std-sdcc2x --std-sdcc89 --std-sdcc99
                --use-accelerator --use-non-free --use-stdout --vc --xram-movc --xstack -V --verbose
                """,
            (Do.NOTHING, Take.NEXT): """
                --callee-saves --code-loc --code-size
                --codeseg --constseg --data-loc --dataseg --disable-warning --idata-loc
                --iram-size --max-allocs-per-node --stack-loc --stack-size --xram-loc --xram-size
                --xstack-loc -bo -ba
                """,
            (Do.NOTHING, Take.GLUED): """
                --asm= --callee-saves= --code-loc= --code-size= --codeseg= --constseg= --data-loc=
                --dataseg= --disable-warning= --idata-loc= --iram-size= --max-allocs-per-node=
                --stack-loc= --stack-size= --xram-loc= --xram-size= --xstack-loc= -A -U
                """,
            (Do.NOTHING, Take.EITHER): "-D -I",
            (Do.COMPILE, Take.FLAG): "-c --compile-only",
            (Do.ASSEMBLY, Take.FLAG): "-S",
            (Do.OUTPUT, Take.EITHER): "-o",
            (Do.PORT, Take.GLUED): "-m -p",
            (Do.DEBUG, Take.FLAG): "--debug",
            (Do.DEPS, Take.FLAG): "-MD -MMD",
            (Do.FORMAT, Take.FLAG): "--out-fmt-ihx --out-fmt-s19",
            (Do.READS, Take.NEXT): "--include --peep-file",
            (Do.LIBRARY, Take.EITHER): "-l",
            (Do.FOLDER, Take.EITHER): "-L",
            (Do.FOLDER, Take.NEXT): "--lib-path",
            (Do.FOR_TOOLS, Take.GLUED): "-W",
            (Do.QUERY, Take.FLAG): "--help --version --print-search-dirs -v",
            (Do.PRINTS, Take.FLAG): "-E --preprocessonly -M -MM",
        }
    )
)

_MCS51: Final = names("mcs51 ds390 ds400 TININative")
_Z80: Final = names("z80 z180 r2k r2ka r3ka sm83 gbz80 tlcs90 ez80_z80 z80n")
_LISTED: Final = names("stm8 hc08 s08 pdk13 pdk14 pdk15")
_S19: Final = names("hc08 s08")
_OBJECTS: Final = names(".rel .o .obj")


@dataclass(slots=True)
class Line:
    """One command line of sdcc's."""

    port: str = "mcs51"
    output: str = ""
    format: str = ""
    on: set[Do] = field(default_factory=set)
    sources: list[str] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    refusals: Refusals = field(default_factory=Refusals)

    def scan(self, words: tuple[str, ...]) -> None:
        """Read every word."""
        rest = iter(words)
        for word in rest:
            if not word.startswith("-"):
                self._operand(word)
                continue
            hit = TABLE.find(word)
            if hit is None:
                self.refusals.refuse(Reason.UNKNOWN_OPTION, word)
                continue
            self._take(hit.do, word, next(rest, "") if hit.wants_next else hit.value)

    def _operand(self, word: str) -> None:
        suffix = split_suffix(word)[1]
        if suffix == ".c":
            self.sources.append(word)
        elif suffix in _OBJECTS:
            self.objects.append(word)
        elif suffix in (".lib", ".a"):
            self.reads.append(word)
        else:
            self.refusals.refuse(Reason.UNKNOWN_LANGUAGE, word)

    def _take(self, do: Do, word: str, value: str) -> None:
        self.on.add(do)
        if do is Do.OUTPUT:
            self.output = value
        elif do is Do.PORT and word.startswith("-m"):
            self.port = value
        elif do is Do.FORMAT:
            self.format = f".{word[-3:]}"
        elif do is Do.READS:
            self.reads.append(value)
        elif do is Do.LIBRARY:
            self.libraries.append(value)
        elif do is Do.FOLDER:
            self.folders.append(value)
        elif do is Do.FOR_TOOLS:
            self._for_tools(word)

    def _for_tools(self, word: str) -> None:
        """They could name any file.  -Wp,-MMD,f.d names one until 4.5, which removes the source."""
        stage, *inner = word.split(",")
        if stage != "-Wl" or not all(w.startswith(("-b", "-r", "-g")) for w in inner):
            self.refusals.refuse(Reason.UNKNOWN_OPTION, word)

    # Judging.

    def judge(self) -> Analysis:
        """The meaning of the words that were read."""
        on = self.on
        if Do.QUERY in on:
            return Analysis(Kind.QUERY, refusal=Reason.QUERY)
        if Do.PRINTS in on:
            self.refusals.refuse(Reason.WRITES_STDOUT, "-E, -M")
        if len(self.sources) > 1 or not (self.sources or self.objects):
            self.refusals.refuse(Reason.MALFORMED, "not one source")
        if is_device(self.output):
            self.refusals.refuse(Reason.UNUSUAL_OUTPUT, self.output)
        alone = Do.COMPILE in on or Do.ASSEMBLY in on
        first = (self.sources or self.objects or [""])[0]
        given = self.output
        if not given or given.endswith("/"):
            given = join(given, stem(basename(first)))
            named = False
        else:
            named = True
            if not split_suffix(given)[1]:
                self.refusals.refuse(Reason.WRITES_UNPREDICTABLE, f"-o {given}")
        base = stem(given) if named else given
        writes: list[Write] = []
        if self.sources:
            writes += self._compiled(base, given if named and alone else f"{base}.rel")
        if not alone:
            format_ = self.format or (".s19" if self.port in _S19 else ".ihx")
            writes += self._linked(base, given if named else base + format_)
        reads = [*self.sources, *self.objects, *self.reads]
        kind = Kind.COMPILE if alone else Kind.LINK
        return Analysis(
            kind, tuple(reads), tuple(writes), True, self.refusals.reason, self.refusals.detail
        )

    def _compiled(self, base: str, output: str) -> list[Write]:
        sides = [f"{base}{suffix}" for suffix in (".asm", ".lst", ".sym")]
        if Do.ASSEMBLY in self.on:
            sides = []
            output = output if self.output and not self.output.endswith("/") else f"{base}.asm"
        if Do.DEBUG in self.on:
            sides.append(f"{base}.adb")
        if Do.DEPS in self.on:
            sides.append(f"{base}.d")
        return _writes(output, sides)

    def _linked(self, base: str, output: str) -> list[Write]:
        suffixes = [".lk", ".map"]
        if self.port in _MCS51:
            suffixes += [".mem", *((".cdb", ".omf") if Do.DEBUG in self.on else ())]
        elif self.port in _Z80:
            suffixes += [".noi", *((".cdb",) if Do.DEBUG in self.on else ())]
        elif self.port in _LISTED:
            suffixes += [".cdb"] if Do.DEBUG in self.on else []
        else:
            self.refusals.refuse(Reason.WRITES_UNPREDICTABLE, f"-m{self.port}")
        sides = [base + suffix for suffix in suffixes]
        if self.port not in _Z80:
            sides += [f"{stem(path)}.rst" for path in self.objects]
            sides += [f"{base}.rst"] if self.sources else []
            self.reads += [f"{stem(path)}.lst" for path in self.objects]
        for folder in dict.fromkeys(("", *self.folders)):
            self.reads += [join(folder, f"{name}.lib") for name in self.libraries]
            self.reads += [join(folder, name) for name in self.libraries]
        return _writes(output, sides)


def _writes(output: str, sides: list[str]) -> list[Write]:
    """What C sources include is never among them, whatever it is called."""
    return [
        Write(output, header=False),
        *(Write(path, target=False, header=False) for path in sides),
    ]


def analyse(inv: Invocation) -> Analysis:
    """The meaning of a command of sdcc's."""
    line = Line()
    line.scan(inv.argv[1:])
    return line.judge()


_LETTERS: Final = frozenset("abcdfgijkpruvwxyz")  # change what is in the files, not their names
_SUFFIXES: Final = {"l": ".lst", "o": ".rel", "s": ".sym"}


def assemble(inv: Invocation) -> Analysis:
    """The meaning of sdas8051 and its kin: `-plosgff [OUT.rel] SOURCE...`, letters in one word."""
    letters = ""
    operands: list[str] = []
    rest = iter(inv.argv[1:])
    for word in rest:
        if word.startswith("-I"):
            if word == "-I":
                next(rest, "")
        elif word.startswith("-") and len(word) > 1:
            letters += word[1:]
        else:
            operands.append(word)
    if not operands:
        return Analysis(Kind.ASSEMBLE, refusal=Reason.QUERY)
    refusals = Refusals()
    strange = set(letters) - _LETTERS - set(_SUFFIXES)
    if strange:
        refusals.refuse(Reason.UNKNOWN_OPTION, f"-{min(strange)}")
    if "o" not in letters:
        refusals.refuse(Reason.WRITES_NOTHING)
    # With one operand it is the source; with more the first is what is made.
    sources = operands[1:] or operands
    base, suffix = split_suffix(operands[0])
    made = operands[0] if len(operands) > 1 and suffix else f"{base}.rel"
    if len(operands) > 1 and not suffix and set(letters) & set(_SUFFIXES):
        refusals.refuse(Reason.WRITES_UNPREDICTABLE, operands[0])
    if refusals.reason is not None:
        reads, reason = tuple(operands), refusals.reason
        return Analysis(Kind.ASSEMBLE, reads, refusal=reason, detail=refusals.detail)
    writes = _writes(made, [base + _SUFFIXES[c] for c in "ls" if c in letters])
    return Analysis(Kind.ASSEMBLE, tuple(sources), tuple(writes), undeclared=True)
