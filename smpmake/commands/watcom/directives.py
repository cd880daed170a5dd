"""The words of Open Watcom's linker: its directives, their options, systems and formats: tables.

A name may be cut short as long as its capitals here are there.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TypeVar

from smpmake.commands.options import Marker, names


class Do(Marker):
    """What a directive is followed by."""

    NOTHING = enum.auto()  # words that name no file
    FILES = enum.auto()
    LIBRARIES = enum.auto()
    OBJECTS_OF = enum.auto()  # a library's, all of them
    NAME = enum.auto()
    PATH = enum.auto()
    FOLDERS = enum.auto()
    SYSTEM = enum.auto()
    FORMAT = enum.auto()
    OPTIONS = enum.auto()
    READS = enum.auto()
    SYMBOLS = enum.auto()  # names, or =file
    UNKNOWN = enum.auto()


DIRECTIVES: dict[Do, str] = {
    Do.NOTHING: """
        Alias ANONymousexport COMmit Debug DISAble ENDLink LANGuage MEMory MODTrace MODUle
        NEWsegment ORDer REFerence RUntime SEGment SOrt STARTLink SYMTrace TRansparent Xdbg
        INTDBG
        """,
    Do.FILES: "File",
    Do.LIBRARIES: "Library OPTLIB",
    Do.OBJECTS_OF: "LIBFile MODFile",
    Do.NAME: "Name",
    Do.PATH: "Path",
    Do.FOLDERS: "LIBPath",
    Do.SYSTEM: "SYStem",
    Do.FORMAT: "FORMat",
    Do.OPTIONS: "OPtion",
    Do.READS: "RESource",
    Do.SYMBOLS: "EXPort IMPort",
    # Parts that become files of their own, other forms of the output.
    Do.UNKNOWN: """
        Begin End FIXedlib FORCEVEctor NOVector OUTput OVerlay VEctor
        """,
}


class Side(Marker):
    """What an option of the linker does."""

    NOTHING = enum.auto()
    MAP = enum.auto()
    SYMBOLS = enum.auto()
    IMPORT_LIBRARY = enum.auto()
    IMPORT_FILE = enum.auto()
    INCREMENTAL = enum.auto()
    READS = enum.auto()
    NO_SUFFIX = enum.auto()
    UNKNOWN = enum.auto()


OPTIONS: dict[Side, str] = {
    Side.NOTHING: """
        Alignment ARTificial CAChe Caseexact CHecksum DEscription Dosseg ELiminate
        FARcalls FILLchar Heapsize HSHIFT INTernalrelocs JAPanese LARGEaddressaware LINKVersion
        MANGlednames MANYautodata MAPLines MAXErrors MINdata MAXdata MODName NAMELen NOAutodata
        NOCAChe NOCASEexact NODefaultlibs NOFARcalls NOLargeaddressaware NORedefsok NORelocs
        NOSTDcall NOSTUB NOUndefsok OBJAlign OFFset OLDlibrary ONEautodata OSName OSVersion
        PACKCode PACKData PROTmode PSeudopreemption Quiet REDefsok RWReloccheck SHOwdead START
        STACk STATics TOGglerelocs Undefsok Verbose VERSion VFRemoval
        """,
    Side.MAP: "Map",
    Side.SYMBOLS: "SYMFile",
    Side.IMPORT_LIBRARY: "IMPLib",
    Side.IMPORT_FILE: "IMPFile",
    Side.INCREMENTAL: "INCremental",
    Side.READS: "RESource STUB",
    Side.NO_SUFFIX: "NOEXTension",
    Side.UNKNOWN: "CVPack HLLPack",  # they start programs of their own
}
SUFFIXES: dict[Side, str] = {
    Side.MAP: ".map",
    Side.SYMBOLS: ".sym",
    Side.IMPORT_FILE: ".lbc",
    Side.IMPORT_LIBRARY: ".lib",
    Side.INCREMENTAL: ".ilk",
}

# Suffixes of programs, by system and format; what is not here is not predicted.
SYSTEMS: dict[str, str] = {
    **dict.fromkeys(("linux", "linux_mips", "linux386", "haiku", "qnx", "qnx386"), ""),
    **dict.fromkeys(
        names("""
            dos dos4g dos4gnz causeway dos32a stub32a cwstub dos16m x32 nt nt_win win95 windows
            win386 os2 os2v2 os2_pm os2v2_pm x32r x32rv x32s x32sv tnt eadi
            """),
        ".exe",
    ),
    **dict.fromkeys(("nt_dll", "os2_dll", "os2v2_dll", "windows_dll", "win_dll"), ".dll"),
    "com": ".com",
}
FORMATS: dict[str, str] = {"elf": "", "dos": ".exe", "windows": ".exe", "os2": ".exe"}

E = TypeVar("E", bound=enum.Enum)


def abbreviations(names: Mapping[E, str]) -> dict[str, E]:
    """Every way to write the names, in lower case: whole, or cut short behind the capitals."""
    known: dict[str, E] = {}
    for do, text in names.items():
        for name in text.split():
            least = max(at for at, letter in enumerate(name) if letter.isupper() or at == 0) + 1
            for end in range(least, len(name) + 1):
                known.setdefault(name[:end].lower(), do)
    return known


FORMAT_WORDS = names(
    """dll dl flat fl le lx nt pe vxd pm pmcompatible pmc full fullscreen phys virt memory mem font
    initglobal initg initinstance initi initthread initt termglobal termg terminstance termi
    termthread termt tnt rdos efi com"""
)
DIRECTIVE_WORDS: dict[str, Do] = abbreviations(DIRECTIVES)
OPTION_WORDS: dict[str, Side] = abbreviations(OPTIONS)
