"""What the linker's words mean, for ld itself and for -Wl in a compiler's command line."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Final

from smpmake.commands.model import ALONE, Analysis, Invocation, Kind, Reason, Refusals, Write
from smpmake.commands.options import Marker, Row, Table, Take, UnreadableError, expand
from smpmake.commands.paths import NULL_DEVICE, dirname, is_device, join


class Do(Marker):
    """What a linker option does."""

    NOTHING = enum.auto()
    OUTPUT = enum.auto()
    READS = enum.auto()
    WRITES = enum.auto()
    LIBRARY = enum.auto()
    FOLDER = enum.auto()
    PLACES = enum.auto()  # where it looks for what libraries need
    PRINTS = enum.auto()  # its result goes to standard output
    VERSION = enum.auto()  # a question where there are no inputs
    QUERY = enum.auto()
    UNPREDICTABLE = enum.auto()


# Long names, which take one dash or two.
LONG_FLAGS: dict[Do, str] = {
    Do.NOTHING: """
        Bdynamic Bgroup Bno-symbolic Bshareable Bstatic Bsymbolic Bsymbolic-functions
        Bsymbolic-non-weak-functions EB EL Qy Ur accept-unknown-input-arch add-needed
        add-stdcall-alias allow-multiple-definition allow-shlib-undefined apply-dynamic-relocs
        as-needed be8 build-id call_shared check-sections color-diagnostics compat-implib
        copy-dt-needed-entries cref ctors-in-init-array dc default-symver define-common demangle
        detect-odr-violations disable-auto-image-base disable-auto-import
        disable-high-entropy-va disable-large-address-aware disable-long-section-names
        disable-new-dtags disable-nxcompat disable-reloc-section disable-runtime-pseudo-reloc
        disable-stdcall-fixup disable-tsaware discard-all discard-locals discard-none dll dn dp
        dy dynamic-list-cpp-new dynamic-list-cpp-typeinfo dynamic-list-data dynamicbase
        eh-frame-hdr embedded-relocs emit-relocs enable-auto-image-base enable-auto-import
        enable-long-section-names enable-new-dtags enable-non-contiguous-regions
        enable-reloc-section enable-runtime-pseudo-reloc enable-stdcall-fixup end-group end-lib
        error-unresolved-symbols exclude-all-symbols execstack export-all-symbols export-dynamic
        fatal-warnings fix-cortex-a53-835769 fix-cortex-a53-843419 fix-cortex-a8 fix-v4bx
        force-exe-suffix force-group-allocation forceinteg gc-sections gdb-index gnu-unique
        high-entropy-va insert-timestamp kill-at large-address-aware ld-generated-unwind-info
        leading-underscore long-plt map-whole-files merge-exidx-entries nmagic no-add-needed
        no-allow-multiple-definition no-allow-shlib-undefined no-as-needed no-build-id
        no-call-graph-profile-sort no-check-sections no-color-diagnostics
        no-copy-dt-needed-entries no-ctors-in-init-array no-define-common no-demangle
        no-dynamic-linker no-eh-frame-hdr no-enum-size-warning no-error-rwx-segments
        no-export-dynamic no-fatal-warnings no-gc-sections no-gnu-unique no-insert-timestamp
        no-keep-memory no-ld-generated-unwind-info no-leading-underscore no-map-whole-files
        no-omagic no-pie no-print-gc-sections no-relax no-rosegment no-seh no-strip-discarded
        no-threads no-toc-optimize no-undefined no-undefined-version no-warn-execstack
        no-warn-mismatch no-warn-rwx-segments no-warn-search-mismatch no-wchar-size-warning
        no-whole-archive no-whole-files noinhibit-exec non_shared nostdlib nxcompat omagic
        pic-executable pic-veneer pie pop-state preserve-section-order print-gc-sections
        print-icf-sections print-memory-usage push-state qmagic reduce-memory-overheads relax
        relocatable ro-segment rosegment share-unconditionally shared sort-common split-by-file
        split-by-reloc start-group start-lib static stats strip-all strip-debug strip-discarded
        support-old-code target2-abs threads toc-optimize traditional-format tsaware
        undefined-version unique use-blx use-nul-prefixed-import-tables warn-alternate-em
        warn-backrefs warn-common warn-constructors warn-duplicate-exports warn-execstack
        warn-multiple-gp warn-once warn-rwx-segments warn-section-align warn-shared-textrel
        warn-textrel warn-unresolved-symbols wdmdriver whole-archive
        """,
    Do.PRINTS: "print-map print-output-format trace verbose",
    Do.VERSION: "version",
    Do.QUERY: "help print-sysroot target-help",
    Do.UNPREDICTABLE: """
        emit-llvm lto-emit-asm plugin-save-temps save-temps thinlto-index-only time-trace
        """,
}
LONG_VALUES: dict[Do, str] = {
    Do.NOTHING: """
        Tbss Tdata Tldata-segment Trodata-segment Ttext Ttext-segment architecture audit
        auxiliary defsym depaudit dynamic-linker emulation entry exclude-libs
        exclude-modules-for-implib exclude-symbols export-dynamic-symbol file-alignment fini
        format gpsize hash-bucket-empty-fraction hash-size hash-style heap icf-iterations
        image-base init ld-path major-image-version major-os-version major-subsystem-version
        max-cache-size max-page-size minor-image-version minor-os-version
        minor-subsystem-version oformat orphan-handling plugin plugin-opt require-defined
        section-alignment section-start soname sort-section spare-dynamic-tags stack
        stub-group-size subsystem target2 undefined unresolved-symbols version-exports-section
        vs-version wrap
        """,
    Do.OUTPUT: "output",
    Do.READS: """
        call-graph-ordering-file default-script dynamic-list export-dynamic-symbol-list
        just-symbols mri-script retain-symbols-file script section-ordering-file
        symbol-ordering-file version-script
        """,
    Do.WRITES: """
        Map base-file dependency-file out-implib output-def
        """,
    Do.LIBRARY: "library",
    Do.FOLDER: "library-path",
    Do.PLACES: "dll-search-prefix rpath rpath-link sysroot",
    Do.PRINTS: "trace-symbol",
}
# Long names whose value, if they have one, is never in the next word.
LONG_EQUALS: dict[Do, str] = {
    Do.NOTHING: """
        build-id color-diagnostics compress-debug-sections demangle enable-auto-image-base icf lto-O
        lto-partitions pack-dyn-relocs power10-stubs sort-common split-by-file split-by-reloc
        thinlto-jobs threads unique
        """,
    Do.PRINTS: "verbose",
    Do.UNPREDICTABLE: """
        lto-obj-path plugin-save-temps print-symbol-order reproduce save-temps thinlto-cache-dir
        thinlto-index-only time-trace
        """,
}

# One letter each, the value behind it or in the next word.
SHORT_VALUES: dict[Do, str] = {
    Do.NOTHING: "A F G I P Y a assert b e f h m u z",
    Do.OUTPUT: "o",
    Do.READS: "T c dT",
    Do.LIBRARY: "l",
    Do.FOLDER: "L",
    Do.PLACES: "R",
    Do.PRINTS: "y",
}
SHORT_FLAGS: dict[Do, str] = {
    Do.NOTHING: "( ) E N S X d g i n q r s x",
    Do.PRINTS: "M t",
    Do.VERSION: "V v",
}


def _build() -> Table[Do]:
    """The table of all spellings.  -oformat is not --oformat: one dash and an o is the output."""
    rows: list[Row[Do]] = []
    for do, names in SHORT_VALUES.items():
        rows.append(Row(do, Take.EITHER, " ".join("-" + name for name in names.split())))
    for do, names in SHORT_FLAGS.items():
        rows.append(Row(do, Take.FLAG, " ".join("-" + name for name in names.split())))
    rows.append(Row(Do.NOTHING, Take.GLUED, "-O"))
    for table, takes in (
        (LONG_FLAGS, ((Take.FLAG, ""),)),
        (LONG_VALUES, ((Take.NEXT, ""), (Take.GLUED, "="))),
        (LONG_EQUALS, ((Take.GLUED, "="),)),
    ):
        for do, names in table.items():
            for name in names.split():
                for take, ending in takes:
                    rows.append(Row(do, take, f"--{name}{ending}"))
                    if name[0] != "o":
                        rows.append(Row(do, take, f"-{name}{ending}"))
    return Table(rows, memory=4096)


class Link:
    """What the linker's words have said so far.

    plain  they name no file but inputs and change nothing that depends on the inputs' names.
    """

    __slots__ = (
        "folders",
        "libraries",
        "output",
        "places",
        "plain",
        "query",
        "reads",
        "refusals",
        "sides",
        "version",
    )

    def __init__(self) -> None:
        self.output: str | None = None
        self.reads: list[str] = []
        self.sides: list[str] = []
        self.folders: list[str] = []
        self.places: list[str] = []
        self.libraries: list[str] = []
        self.refusals = Refusals()
        self.plain = True
        self.version = False
        self.query = False

    def scan(self, words: Sequence[str]) -> None:
        """Take in words for the linker, in their order."""
        find = TABLE.find
        rest = iter(words)
        for word in rest:
            if word[:1] != "-" or word == "-":
                self.reads.append(word)
                self.plain = False
                continue
            hit = find(word)
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
            if hit.do is not Do.NOTHING:
                self._apply(hit.do, word, value)

    def _apply(self, do: Do, word: str, value: str) -> None:
        target = {
            Do.READS: self.reads,
            Do.WRITES: self.sides,
            Do.LIBRARY: self.libraries,
            Do.FOLDER: self.folders,
            Do.PLACES: self.places,
        }.get(do)
        if target is not None:
            target.append(value)
            self.plain = self.plain and do is not Do.WRITES
            return
        self.plain = False
        if do is Do.OUTPUT:
            self.output = value
        elif do is Do.VERSION:
            self.version = True
        elif do is Do.QUERY:
            self.query = True
        elif do is Do.UNPREDICTABLE:
            self.refusals.refuse(Reason.WRITES_UNPREDICTABLE, word)
        else:
            self.refusals.refuse(Reason.WRITES_STDOUT, word)

    def searched_libraries(self) -> list[str]:
        """Where the named libraries may be among the named folders.

        All candidates: which of them exists is only known when those that are pending are there.
        """
        found: list[str] = []
        for name in self.libraries:
            names = (name[1:],) if name[:1] == ":" else (f"lib{name}.so", f"lib{name}.a")
            found.extend(join(folder, file) for folder in self.folders for file in names)
        return found

    def search(self) -> tuple[str, ...]:
        """Where it looks for what it does not name, beside where compilers do."""
        near = map(dirname, self.reads)
        places = (folder for places in self.places for folder in places.split(":"))
        return tuple(dict.fromkeys((".", *near, *self.folders, *places)))

    def side_writes(self) -> list[Write]:
        """The side outputs; a map on standard output is none."""
        writes = []
        for path in self.sides:
            if path in ("-", "") or is_device(path):
                if path != NULL_DEVICE:
                    self.refusals.refuse(Reason.WRITES_STDOUT, path)
            else:
                writes.append(Write(path, target=False))
        return writes


TABLE: Table[Do] = _build()
_VARIABLES: Final = (
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "COMPILER_PATH"),
    *("GCC_EXEC_PREFIX", "LIBRARY_PATH", "LD_LIBRARY_PATH", "LD_RUN_PATH"),
)


def folders_named(getenv: Callable[[str], str | None]) -> list[str]:
    """Where the environment has compilers and linkers look."""
    return [folder for name in _VARIABLES for folder in (getenv(name) or "").split(":") if folder]


def analyse(inv: Invocation) -> Analysis:
    """The meaning of an ld command."""
    try:
        words, responses = expand(inv.argv[1:], inv.files)
    except UnreadableError as error:
        name = str(error.args[0])
        return Analysis(Kind.LINK, refusal=Reason.UNREADABLE_RESPONSE_FILE, detail=name)
    link = Link()
    link.scan(words)
    if link.query:
        return Analysis(Kind.QUERY, refusal=Reason.QUERY)
    if not link.reads and not link.libraries:
        if link.version or link.refusals.reason is Reason.WRITES_STDOUT:
            return Analysis(Kind.QUERY, refusal=Reason.QUERY)
        link.refusals.refuse(Reason.MALFORMED, "no input files")
    writes = link.side_writes()
    output = "a.out" if link.output is None else link.output
    if is_device(output):
        link.refusals.refuse(Reason.DISCARDED_OUTPUT, output)
    elif not output:
        link.refusals.refuse(Reason.UNUSUAL_OUTPUT, output)
    else:
        writes.insert(0, Write(output))
    return Analysis(
        Kind.LINK,
        reads=(*link.reads, *link.searched_libraries(), *responses),
        writes=tuple(writes),
        undeclared=True,
        refusal=link.refusals.reason,
        detail=link.refusals.detail,
        search=(*link.search(), *folders_named(inv.getenv)),
        # A plugin may start whatever it likes.
        programs=None if any("plugin" in word for word in words) else ALONE,
    )
