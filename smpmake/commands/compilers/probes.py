"""The names by which configure-time checks are known: their files and their folders.

A check's status is its whole point, and it is small: to defer one gains nothing and may answer it
wrongly.  Names alone decide here; what the driver does with the output is the server's to see.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

#: What autoconf's checks are called, by the beginning of a name: so common, and so many, that shims
#: know them, and with nothing pending run them without asking.
CHECKS = ("conftest", "libconftest")
#: Single words with which a compiler is asked about itself, likewise.
ASKS = ("--version", "--help", "-v", "-V", "-qversion", "-version", "-dumpversion", "-dumpmachine")
# Whole names of files, without their folder.
FILE_NAMES = (
    *(f"{name}.*" for name in CHECKS),  # autoconf, mkmf, libtool
    r"_?configtest\w*(\.\w+)*",  # distutils, numpy
    r"\.?conf_check_\w*.*",  # waf
    r"conf_test.*",  # scons
    r"CMakeC(XX)?CompilerId.*|CMake\w+CompilerABI\..*",  # cmake
    r"testC(XX)?Compiler\..*|test(Shared|Static)Lib\.c",
    r"sanitycheck\w*\.\w+|sanity_check_for_\w+\..*",  # meson
    r"try\.(c|o|cc|cpp|out)|try",  # perl's Configure
    r"ffconf\.\w+|x264conftest.*|config-temp.*",  # ffmpeg, x264, qemu
    r"a\.out\.conftest",
)

# Names of folders anywhere in a path.
FOLDER_NAMES = (
    r"CMakeTmp|CMakeScratch|TryCompile-\w+|CompilerId\w+|_CMakeLTOTest-\w+",
    r"meson-private",
    r"\.?conf_check_\w*|\.sconf_temp|\.conf_\w+",
    r"config\.tests|ffconf\.\w+|conftest\.dir|confdir3?\w*",
)

_FILE = re.compile("|".join(f"(?:{name})" for name in FILE_NAMES))
_FOLDER = re.compile("|".join(f"(?:{name})" for name in FOLDER_NAMES))


@lru_cache(1024)
def _is_folder(name: str) -> bool:
    return _FOLDER.fullmatch(name) is not None


@lru_cache(1024)
def _is_file(name: str) -> bool:
    return _FILE.fullmatch(name) is not None


@lru_cache(1024)
def _in_folder(path: str) -> bool:
    return any(map(_is_folder, path.split("/")))


def probe_name(operands: Iterable[str], cwd: str) -> str:
    """The operand or folder that gives a check away, or an empty string."""
    if _in_folder(cwd):
        return cwd
    for path in operands:
        slash = path.rfind("/")
        if _is_file(path[slash + 1 :]):
            return path
        if slash > 0 and _in_folder(path[:slash]):
            return path
    return ""
