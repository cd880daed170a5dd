"""The options of Open Watcom's compilers and assembler, and the grammar in which they are given.

Only `-` starts an option.  Names are in either case, and one option may follow another without a
blank: `-zq-fo=x.obj`.  A value stands behind `=`, `#` or nothing; a file's runs to the next blank.
Some options share their first letter: -oaxt is -oa -ox -ot.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from smpmake.commands.options import Marker


class Do(Marker):
    """What an option does."""

    NOTHING = enum.auto()
    OUTPUT = enum.auto()
    ERRORS = enum.auto()
    LISTING = enum.auto()
    DEPENDENCIES = enum.auto()
    DEPENDENCY_DETAIL = enum.auto()
    HEADER = enum.auto()  # a precompiled one
    HEADER_USED = enum.auto()  # by its usual name, if HEADER does not give it another
    HEADER_READ = enum.auto()  # the same, and it is never written
    HEADER_MADE = enum.auto()  # the same, and it is never read
    READS = enum.auto()
    NAME = enum.auto()
    PREPROCESS = enum.auto()
    DEFINITIONS = enum.auto()
    BROWSE = enum.auto()
    CHECK = enum.auto()  # writes nothing
    QUERY = enum.auto()
    BATCH = enum.auto()
    # Of wcl and wcl386 alone.
    COMPILE = enum.auto()
    PROGRAM = enum.auto()
    MAP = enum.auto()
    DIRECTIVES = enum.auto()
    KEPT_DIRECTIVES = enum.auto()
    SYSTEM = enum.auto()


class Take(Marker):
    """What follows an option's name: nothing, or what the pattern matches."""

    FLAG = ""
    NUMBER = r"[=#]?\d*"
    ID = r"[=#]?[^-\s]*"
    FILE = r"(?:[=#].*|[^-=#].*)?"
    DEFINE = r"[A-Za-z_$][\w$]*(?:[=#].*)?"
    PATH = r"(?:[=#].*|[^-=#].*)"


Rows = Mapping[tuple[Do, Take], str]

# Code generation, calling conventions, diagnostics: of both languages.
COMMON: Rows = {
    (Do.NOTHING, Take.FLAG): """
        0 1 2 3 3r 3s 4 4r 4s 5 5r 5s 6 6r 6s adbs adfs bc bd bg bm br bw d0 d1 d2 d2~ d3 ecc ecd
        ecf eco ecp ecr ecs ecw ee ef ei em en eoc eoe eoo eq esp et et0 etp ez fp2 fp287 fp3 fp387
        fp5 fp6 fpc fpd fpi fpi87 fpr ft fti fx hc hd hda hw j mc mf mh ml mm ms oa ob oc od of of+
        oh oi ok ol ol+ om on oo op or os ot ou ox oz pil q r re ri s sg st vcap we wpx wx x xbnm
        xbsa xgv xx za zc zdf zdl zdp ze zev zf zff zfp zfw zg zgf zgp zi zk zk0 zk0u zk1 zk2 zk3
        zkl zku8 zl zld zlf zls zm zmf zpw zq zri zro zu zw zz
        """,
    (Do.NOTHING, Take.NUMBER): "e ep oe pw t w zku zp zt",
    (Do.NOTHING, Take.ID): "bt g nc nd nt tp wcd wce zastd",
    (Do.NOTHING, Take.PATH): "i rod",
    (Do.NOTHING, Take.FILE): "fip",
    (Do.NOTHING, Take.DEFINE): "d u",
    (Do.OUTPUT, Take.FILE): "fo",
    (Do.ERRORS, Take.FILE): "fr",
    (Do.DEPENDENCIES, Take.FILE): "ad",
    (Do.DEPENDENCY_DETAIL, Take.FILE): "add adhp adt",
    (Do.HEADER, Take.FILE): "fh fhq",
    (Do.READS, Take.FILE): "fi",
    (Do.NAME, Take.FILE): "nm",
    (Do.PREPROCESS, Take.FLAG): "p pc pe pj pl pm",
    (Do.DEFINITIONS, Take.FLAG): "v",
    (Do.BROWSE, Take.FLAG): "db",
    (Do.CHECK, Take.FLAG): "zs",
    (Do.QUERY, Take.FLAG): "? h",
}
C: Rows = {
    (Do.NOTHING, Take.FLAG): "aa ai aq d1+ d9 ec fld hdg lc wo za99 zam zws zx",
}
CXX: Rows = {
    (Do.NOTHING, Take.FLAG): """
        d2i d2s d2t d3i d3s er ew fzh fzs jw k mfi oi+ xbov1 xcmb xcpi xd xds
        xdt xgls xr xs xss xst xto za0x zam zat zo zv zws zx
        """,
    (Do.NOTHING, Take.NUMBER): "87d",
    (Do.HEADER_USED, Take.FLAG): "fhd fhwe",
    (Do.HEADER_READ, Take.FLAG): "fhr fhr!",
    (Do.HEADER_MADE, Take.FLAG): "fhw",
    (Do.BATCH, Take.FILE): "fc",
}
ASSEMBLER: Rows = {
    (Do.NOTHING, Take.FLAG): """
        0 1 2 2p 3 3p 3r 3s 4 4p 4r 4s 5 5p 5r 5s 6 6p 6r 6s c cx d+ d0 d1 d2 d3 ee fp0 fp2 fp3 fp5
        fp6 fpc fpi fpi87 hc hd hw j mc mf mh ml mm ms mt o od of of+ q s we wx zld zq zz zzo
        """,
    (Do.NOTHING, Take.NUMBER): "e w zcm",
    (Do.NOTHING, Take.ID): "bt nc nd nt",
    (Do.NOTHING, Take.PATH): "i",
    (Do.NOTHING, Take.DEFINE): "d",
    (Do.OUTPUT, Take.FILE): "fo",
    (Do.ERRORS, Take.FILE): "fe fr",
    (Do.LISTING, Take.FILE): "fl",
    (Do.READS, Take.FILE): "fi",
    (Do.NAME, Take.FILE): "nm",
    (Do.QUERY, Take.FLAG): "? h",
}
# What wcl and wcl386 keep for themselves; all else they hand to the compiler.
DRIVER: Rows = {
    (Do.COMPILE, Take.FLAG): "c",
    (Do.NOTHING, Take.FLAG): "cc cc++ y lp lr",
    (Do.NOTHING, Take.NUMBER): "k",
    (Do.PROGRAM, Take.FILE): "fe",
    (Do.MAP, Take.FILE): "fm",
    (Do.KEPT_DIRECTIVES, Take.FILE): "fd",
    (Do.DIRECTIVES, Take.FILE): "@",
    (Do.SYSTEM, Take.ID): "bcl l",
}


class Hit(NamedTuple):
    """One option of a word."""

    do: Do
    name: str
    value: str


class Options:
    """A table of options.  `chains` are the letters behind which options may be run together."""

    def __init__(self, *tables: Rows, chains: str = "") -> None:
        self.rows: dict[str, tuple[Do, Take]] = {}
        for table in tables:
            for (do, take), names in table.items():
                for name in names.split():
                    self.rows[name] = (do, take)
        self._lengths = sorted({len(name) for name in self.rows}, reverse=True)
        self._chains = chains
        self.find = functools.lru_cache(4096)(self._find)

    def _find(self, word: str) -> tuple[Hit, ...] | None:
        """The options of a word that begins with a dash; None where they are not understood."""
        hits: list[Hit] = []
        at = 1
        while at < len(word):
            chain = ""
            while True:
                found = self._one(word, at, chain)
                if found is None:
                    return None
                hit, at = found
                hits.append(hit)
                if at == len(word):
                    return tuple(hits)
                if word[at] == "-":
                    at += 1
                    break
                chain = hit.name[0]
        return tuple(hits) if hits and word[-1] != "-" else None

    def _one(self, word: str, at: int, chain: str) -> tuple[Hit, int] | None:
        """The longest option at a place whose end makes sense."""
        for name in self._names_at(word, at, chain):
            do, take = self.rows[name]
            start = at + len(name) - len(chain)
            value = re.compile(take.value).match(word, start)
            if value is None:
                continue
            end = value.end()
            chained = name[0] in self._chains and take in (Take.FLAG, Take.NUMBER)
            if end == len(word) or word[end] == "-" or (chained and self._goes_on(word, end, name)):
                text = value[0]
                return Hit(do, name, text[1:] if text[:1] in ("=", "#") else text), end
        return None

    def _goes_on(self, word: str, at: int, name: str) -> bool:
        return self._one(word, at, name[0]) is not None

    def _names_at(self, word: str, at: int, chain: str) -> Iterator[str]:
        for length in self._lengths:
            name = chain + word[at : at + length - len(chain)].lower()
            if len(name) == length > len(chain) and name in self.rows:
                yield name


OF_C = Options(COMMON, C, chains="op")
OF_CXX = Options(COMMON, CXX, chains="op")
OF_ASSEMBLER = Options(ASSEMBLER)
OF_DRIVER = Options(COMMON, C, CXX, DRIVER, chains="op")
