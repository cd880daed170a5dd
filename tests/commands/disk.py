"""Invocations and folders for the tests of command lines."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from smpmake.commands.families import analyse
from smpmake.commands.model import Analysis, Files, Invocation


@dataclass
class FakeFiles:
    """A disk in memory: texts by path, and folders."""

    texts: Mapping[str, str] = field(default_factory=dict)
    folders: Sequence[str] = ()

    def read_text(self, path: str) -> str | None:
        """The text of a file, or None."""
        return self.texts.get(path)

    def is_dir(self, path: str) -> bool:
        """Whether path is a folder."""
        return path.rstrip("/") in self.folders

    def exists(self, path: str) -> bool:
        """Whether path is there."""
        return path in self.texts or self.is_dir(path)


@dataclass
class RealFiles:
    """The disk, seen from a folder."""

    cwd: Path

    def read_text(self, path: str) -> str | None:
        """The text of a file, or None."""
        try:
            return (self.cwd / path).read_text(errors="surrogateescape")
        except OSError:
            return None

    def is_dir(self, path: str) -> bool:
        """Whether path is a folder."""
        return (self.cwd / path).is_dir()

    def exists(self, path: str) -> bool:
        """Whether path is there."""
        return (self.cwd / path).exists()


def meaning(
    line: str | Sequence[str],
    files: Files | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str = "/build",
) -> Analysis:
    """The analysis of a command line whose words are separated by blanks."""
    argv = tuple(line.split()) if isinstance(line, str) else tuple(line)
    return analyse(Invocation(argv, cwd, (env or {}).get, files or FakeFiles()))


# A program of two C sources, of two C++ sources, and what else the rows name.
SOURCES = {
    "a.c": "int b(void);\nstatic int twice(int x) { return 2 * x; }\n"
    "int a(int x) { int s = 0; for (int i = 0; i < x; i++) s += twice(i) + b(); return s; }\n",
    "b.c": '#include "inc.h"\nint a(int);\nint b(void) { return INC; }\n'
    "int main(void) { return a(3) == 0; }\n",
    "one.c": "int main(void) { return 0; }\n",
    "sub/s.c": "int s(void) { return 3; }\n",
    "inc.h": "#define INC 4\n",
    "sub/deep.h": "int deep;\n",
    "c.cpp": "struct D { virtual ~D(); int n; };\nint d(D const &);\nnamespace { int here = 1; }\n"
    "struct E : D { E() { n = here; } };\nint main() { try { return d(E()); } catch (int) {} }\n",
    "d.cc": "struct D { virtual ~D(); int n; };\nD::~D() {}\n"
    "int d(D const &x) { D *copy = new D(x); if (copy->n) throw 1; delete copy; return 0; }\n",
    "ready.i": "int ready;\n",
    "m.m": "int objective(void) { return 1; }\n",
    "low.s": ".globl low\nlow: nop\n",
    "big.S": "#define N nop\n.globl big\nbig: N\n",
    "link.rsp": "-Map='f map' @nested.rsp",
    "nested.rsp": "--dependency-file=f.d",
    "listing.rsp": "-ahl=f.lst",
    "words.rsp": "-DX='a b' one.c\n",
    "out/keep": "",
    "mod.f90": "module Alpha\n  interface\n    module subroutine part(x)\n      integer :: x\n"
    "    end subroutine\n  end interface\nend module Alpha\n",
    "sub/two.F90": "#define N 3\nmodule one; integer :: n1 = N; end module\n"
    "module two; use one; end module\n",
    "low.f90": "module low\ninteger :: n\nend module\n",
    "old.f": "      subroutine old(n)\nC     module no\n      integer n\n      n = 1 +\n     &  2\n"
    "      end\n",
    "main.f90": "program main\n  print *, 'use nothing'\nend program\n",
    "w.asm": "\t.module w\n\t.area CSEG (CODE)\n_low::\n\tret\n",
    "g.y": "%{\nint yylex(void);\nvoid yyerror(const char *);\n%}\n%token N\n%%\nall: N ;\n",
    "h.y": "%defines\n%token N\n%code { int yylex(void); void yyerror(const char *); }\n%%\n"
    "all: N ;\n",
    "sub/g.yy": "%token N\n%%\nall: N ;\n",
    "g.l": "%option noyywrap\n%%\n[0-9]+ return 1;\n%%\n",
    "words.gperf": "%%\none\ntwo\n%%\n",
    "g.re": "/*!re2c\n  re2c:define:YYCTYPE = char;\n  re2c:yyfill:enable = 0;\n"
    "  [a-z]+ { return 1; }\n  * { return 0; }\n*/\n",
    "g.po": 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "a"\n'
    'msgstr "b"\n',
    "qt.h": '#include "inc.h"\nclass Q {\n    Q_GADGET\n};\n',
    "qt.ui": '<ui version="4.0"><class>F</class><widget class="QWidget" name="F"/></ui>\n',
    "qt.qrc": "<RCC><qresource><file>inc.h</file></qresource></RCC>\n",
    "marks.list": "VOID:INT\n",
    "enums.h": "typedef enum { G_ONE, G_TWO } GNumber;\n",
    "enums.in": "/*** BEGIN enumeration-production ***/\n@EnumName@\n"
    "/*** END enumeration-production ***/\n",
    "bus.xml": '<node><interface name="a.b.C"><method name="D"/></interface></node>\n',
    "way.xml": '<protocol name="p"><interface name="i" version="1"><request name="r"/></interface>'
    "</protocol>\n",
    "m.proto": 'syntax = "proto3";\nimport "sub/n-o.proto";\nmessage M { O o = 1; }\n',
    "sub/n-o.proto": 'syntax = "proto3";\nmessage O { int32 n = 1; }\n',
    "page.pod": "=head1 NAME\n\npage - a page\n",
    "script.map": "{ global: a; local: *; };\n",
}
OLD = 1_000_000_000


def fill(folder: Path) -> None:
    """Put the sources there, older than anything that a test makes."""
    for name, text in SOURCES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def age(folder: Path) -> None:
    """Make every file there old."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (OLD, OLD))


Shot = dict[str, tuple[int, int, int]]


def shot(folder: Path) -> Shot:
    """The files below folder with what changes when they are written."""
    found: Shot = {}
    for path in folder.rglob("*"):
        if path.is_symlink() or path.is_file():
            status = path.lstat()
            found[str(path.relative_to(folder))] = (
                status.st_ino,
                status.st_mtime_ns,
                status.st_size,
            )
    return found


def run(argv: Sequence[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a real tool there."""
    return subprocess.run(argv, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL)
