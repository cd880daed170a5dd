"""The list of the checks that a configure script is going to make (native/layout/checks.h).

It has the form of the list of an earlier run, and what runs checks ahead (native/ahead) takes it
for one.  Answers are foretold by the headers that are there, the functions that libc has, and else
as yes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from smpmake.commands import families
from smpmake.configure.shell import Script
from smpmake.protocol import layout
from smpmake.variables import SHIMS

#: Bytes of a script: the largest have three millions.
_LARGEST: Final = 32 << 20
_LARGEST_HEADER: Final = 4 << 20
#: What a script begins config.log with; the words that it was started by follow a "$".
_HEAD: Final = 4096
_COMMAND: Final = re.compile(r"^  \$ (.+)$", re.MULTILINE)
_FEATURE: Final = re.compile(r"--(enable|disable|with|without)-([\w.+-]+)(?:=(.*))?\Z", re.DOTALL)
_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)=(.*)\Z", re.DOTALL)
#: Compilers that are found, and what is found of them.
_FIXED: Final = {
    "cross_compiling": "no",
    "ac_compiler_gnu": "yes",
    "ac_cv_c_compiler_gnu": "yes",
    "ac_cv_cxx_compiler_gnu": "yes",
    "GCC": "yes",
    "GXX": "yes",
    "host_os": "linux-gnu",
    "host_cpu": platform.machine(),
    "host": f"{platform.machine()}-pc-linux-gnu",
    "ac_objext": "o",
    "OBJEXT": "o",
    "ac_exeext": "",
    "EXEEXT": "",
}
_GUESSED: Final = {"CC": "gcc", "CXX": "g++", "CFLAGS": "-g -O2", "CXXFLAGS": "-g -O2"}
#: Words of flags and libraries that make no file and start no program: the script may never come to
#: where it says them.
_HARMLESS: Final = re.compile(
    r"-(?:[IL].+|[DU]\w+(?:=.*)?|[OgwlmW][^,/]*|std=[^/]+|f(?!plugin|dump|module|use-ld)[^/]+"
    r"|fuse-ld=(?:bfd|gold|lld|mold)|Wl,-rpath[,=][^,]*"
    r"|Wl,(?:--as-needed|--no-as-needed|--gc-sections|--no-undefined|--export-dynamic|-z,\w+|-O\d"
    r"|-z,[\w-]+=\w+|-Bsymbolic(?:-functions)?|--hash-style=\w+|--build-id(?:=\w+)?)"
    r"|pthread|pipe|ansi|pedantic|static|rdynamic|s|xc|xc\+\+)\Z"
)
#: A text that includes another by its whole name, or one above: what is there may be a FIFO.
_FAR: Final = re.compile(r"(?:include|import|embed|incbin)[^\n]*[<\"](?:/|\.\.)")
_DIRECTIVE: Final = re.compile(
    r"^[ \t]*#[ \t]*(?:(if)|(endif)|include[ \t]*<([^>]+)>)", re.MULTILINE
)
_INCLUDED: Final = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([^>]+)>", re.MULTILINE)
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_FUNCTION: Final = re.compile(r"^char (\w+) \((?:void)?\);", re.MULTILINE)
#: A declaration, a member, a type: AC_CHECK_DECL, AC_CHECK_MEMBER, AC_CHECK_TYPE.
_NAMED: Final = re.compile(
    r"^#ifndef (\w+)\n#ifdef __cplusplus\n  \(void\)"
    r"|ac_aggr\.([\w.]+)\)|^if \(sizeof \(([\w ]+)\)\)",
    re.MULTILINE,
)
#: `sizeof ((TYPE))` is to fail, where TYPE is one; the other two ask for machines of old.
_REFUSED: Final = ("if (sizeof ((", "not big endian", "not a universal capable compiler")
_KEYWORDS: Final = frozenset(
    (
        *("char", "short", "int", "long", "signed", "unsigned", "float", "double", "void"),
        *("_Bool", "struct", "union", "enum", "const"),
    )
)


class Foretold:
    """The checks that a script would make in a folder, by its text.

    write  called with the list, a part at a time.
    """

    def __init__(
        self, folder: Path, environment: Mapping[str, str], write: Callable[[bytes], object]
    ) -> None:
        """Raises OSError where the folder has no config.log of a script."""
        with (folder / "config.log").open(errors="surrogateescape") as log:
            found = _COMMAND.search(log.read(_HEAD))
        try:
            words = shlex.split(found[1]) if found is not None else []
        except ValueError:
            words = []
        if not words:
            raise FileNotFoundError(folder / "config.log")
        self._path = folder / words[0]
        self._programs = _Programs(environment)
        self._added: list[str] = []
        self._write = write
        self._libc = ctypes.CDLL(None)
        self._headers = _Headers()
        given = {**environment, **_settings(words[1:])}
        guessed = {**_GUESSED, **{name: given[name] for name in _GUESSED if name in given}}
        self._script = Script(given, _FIXED, guessed, self._ask, self._added.append)

    def follow(self) -> None:
        """All of them.  Raises OSError."""
        if not _is_text(self._path, _LARGEST):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), self._path)
        text = self._path.read_text(errors="surrogateescape")
        self._write(layout.CHECKS_HEAD_LAYOUT.pack(layout.CHECKS_MAGIC, 0))
        self._script.follow(text)

    def _ask(self, language: str, way: str, text: str, is_prefixed: bool) -> bool:
        words = self._words(language, way)
        is_small = len(text) <= layout.CHECKS_LARGEST and _FAR.search(text) is None
        if words is not None and is_small:
            added, self._added[:] = "".join(self._added), ()
            flags = layout.CHECK_IS_PREFIXED if is_prefixed else 0
            if way == "run":
                flags |= layout.CHECK_IS_ONE_STREAM
            self._write(_packed(words, added, text, flags))
        return self._answer(way, text)

    def _words(self, language: str, way: str) -> list[str] | None:
        """The program and the words; the last that has a dot is the source."""
        compiler, flags = ("CXX", "CXXFLAGS") if language == "cxx" else ("CC", "CFLAGS")
        source = "conftest.cpp" if language == "cxx" else "conftest.c"
        words = self._value(compiler)
        more = [self._value(name) for name in (flags, "CPPFLAGS", "LDFLAGS", "LIBS")]
        if (
            language not in ("c", "cxx")
            or not words
            or not families.is_compiler(os.path.basename(words[0]))
            or not all(
                _HARMLESS.match(word) and "\0" not in word
                for part in (words[1:], *more)
                for word in part
            )
        ):
            return None
        program = self._programs.path(words[0])
        if program is None:
            return None
        if way == "cpp":
            return [program, *words, "-E", *more[1], source]
        if way == "compile":
            return [program, *words, "-c", *more[0], *more[1], source]
        before = [*more[0], *more[1], *more[2]]
        return [program, *words, "-o", "conftest", *before, source, *more[3]]

    def _value(self, name: str) -> list[str]:
        return (self._script.variables.get(name, _GUESSED.get(name)) or "").split()

    def _answer(self, way: str, text: str) -> bool:
        """What the compiler is going to say, as far as autoconf's own texts tell."""
        if any(word in text for word in _REFUSED):
            return False
        if any(self._headers.path(name) is None for name in _needed(text)):
            return False
        function = _FUNCTION.search(text) if way == "link" else None
        if function is not None:
            return hasattr(self._libc, function[1])
        asked = _NAMED.search(text)
        if asked is None:
            return True
        wanted = set(_WORD.findall(next(filter(None, asked.groups())))) - _KEYWORDS
        return wanted <= self._headers.names(_INCLUDED.findall(text))


class _Headers:
    """The system's headers, and the names in them."""

    def __init__(self) -> None:
        machine = platform.machine()
        own = sorted(Path("/usr/lib/gcc").glob(f"{machine}*/*/include"), reverse=True)[:1]
        self._folders = [*own, Path(f"/usr/include/{machine}-linux-gnu"), Path("/usr/include")]
        self._paths: dict[str, Path | None] = {}
        self._read: dict[Path, tuple[frozenset[str], list[str]]] = {}

    def path(self, name: str) -> Path | None:
        if name not in self._paths:
            paths = (folder / name for folder in self._folders)
            self._paths[name] = next(
                (path for path in paths if _is_text(path, _LARGEST_HEADER)), None
            )
        return self._paths[name]

    def names(self, headers: Iterable[str]) -> set[str]:
        """All that is named in headers, and in those that these include."""
        found: set[str] = set()
        seen: set[str] = set()
        left = list(headers)
        while left:
            name = left.pop()
            path = self.path(name)
            if name in seen or path is None:
                continue
            seen.add(name)
            if path not in self._read:
                text = path.read_text(errors="replace")
                self._read[path] = frozenset(_WORD.findall(text)), _INCLUDED.findall(text)
            names, more = self._read[path]
            found |= names
            left += more
        return found


class _Programs:
    """Where programs are, past smpmake's own."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        shims = environment.get(SHIMS, "")
        folders = environment.get("PATH", os.defpath).split(os.pathsep)
        self._path = os.pathsep.join(one for one in folders if one not in shims.split(os.pathsep))
        self._found: dict[str, str | None] = {}

    def path(self, name: str) -> str | None:
        if name not in self._found:
            found = shutil.which(name, path=self._path)
            # The script's folder is not where this looks.
            self._found[name] = found if found is not None and os.path.isabs(found) else None
        return self._found[name]


def _is_text(path: Path, most: int) -> bool:
    """Whether it is a file of at most so many bytes, and none of the kernel's: they may not end."""
    try:
        told = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(told.st_mode) and 0 < told.st_size <= most


def _needed(text: str) -> list[str]:
    """The headers that a text includes on no condition."""
    depth, names = 0, []
    for begins, ends, name in _DIRECTIVE.findall(text):
        depth += bool(begins) - bool(ends)
        if name and depth == 0:
            names.append(name)
    return names


def _settings(words: list[str]) -> dict[str, str]:
    """The variables that a script makes of its own words."""
    made: dict[str, str] = {}
    for word in words:
        assigned, feature = _ASSIGNED.match(word), _FEATURE.match(word)
        if assigned is not None:
            made[assigned[1]] = assigned[2]
        elif feature is not None:
            kind, name, value = feature.groups()
            is_off = kind in ("disable", "without")
            how = "enable" if kind in ("enable", "disable") else "with"
            made[f"{how}_{re.sub(r'[-+.]', '_', name)}"] = (
                "no" if is_off else value if value is not None else "yes"
            )
    return made


def _packed(words: list[str], added: str, text: str, flags: int) -> bytes:
    source = max(i for i, word in enumerate(words) if word.startswith("conftest."))
    parts = [
        b"".join(os.fsencode(word) + b"\0" for word in words),
        added.encode(errors="surrogateescape"),
        text.encode(errors="surrogateescape"),
    ]
    sizes = [len(part) for part in parts]
    size = -(-(layout.CHECK_LAYOUT.size + sum(sizes)) // 8) * 8
    head = layout.CHECK_LAYOUT.pack(size, flags, *sizes, source - 1)
    return (head + b"".join(parts)).ljust(size, b"\0")


def main() -> int:
    """`foretell FOLDER LIST`: writes the list of the script that runs in FOLDER.  Ends with 1, and
    without a word, where there is none."""
    try:
        folder, target = map(Path, sys.argv[1:])
        with target.open("wb", buffering=0) as file:
            Foretold(folder, os.environ, file.write).follow()
    except (OSError, ValueError, RecursionError, MemoryError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
