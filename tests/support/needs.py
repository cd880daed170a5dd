"""What a test needs of the machine: it is run once, and without it the test skips.

A name on PATH says little: a gcc without g++ knows what a .cpp is and cannot compile it, a clang
without its runtime library compiles with --coverage and cannot link.  So a compiler has to make a
program of that language with those options, and the program has to run; other tools have to do a
small piece of their work.

Where everything has been installed (SMPMAKE_TESTS_FULL is set: .ci/run) what is missing is a
failure, so that no test is lost unseen.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

#: A user, and a group, of whom nobody here is.
ANOTHER = 64321

#: By language: the source of a program that needs the language's runtime library.
_PROGRAMS = {
    "C": ("p.c", '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n'),
    "C++": (
        "p.cc",
        "#include <new>\nint main() { try { throw new int; } catch (int *p) { delete p; } }\n",
    ),
    "Objective-C": ("p.m", "int main(void) { return 0; }\n"),
    "Fortran": ("p.f90", "program p\n  print *, 1\nend program\n"),
}
_SUFFIXES = {".cc": "C++", ".cpp": "C++", ".m": "Objective-C"}
_COMPILERS = {
    **dict.fromkeys(("gcc", "cc", "clang"), "C"),
    **dict.fromkeys(("g++", "c++", "clang++"), "C++"),
    "gfortran": "Fortran",
}
#: Options that need a library, a linker or a part of the compiler which may be a package apart.
_OPTIONS = {
    *("--coverage", "-fprofile-arcs", "-ftest-coverage", "-flto", "-fopenmp", "-fuse-ld=gold"),
    *("-static", "-static-libgcc", "-static-libstdc++", "-fsanitize=address"),
    *("-mmcs51", "-mz80", "-mstm8", "-mhc08"),
}

#: A small piece of work for each tool that is no compiler of programs for this machine.
_FILES = {
    "one.c": "int one;\n",
    "main.c": "void main(void) {}\n",
    "one.asm": "\t.module one\n\t.area CSEG (CODE)\n_one::\n\tret\n",
    "Makefile": "made:\n\techo > $@\n",
}
_WORK = {
    "ccache": "CCACHE_DIR=$PWD ccache gcc -c one.c",
    "distcc": "distcc --version && distccd --version",
    "icecc": "command -v icecc && icecc-scheduler --help && iceccd --help; test $? = 1",
    "ld.gold": "gcc -c one.c && ld.gold -r one.o -o all.o",
    "ld.lld": "gcc -c one.c && ld.lld -r one.o -o all.o",
    "bmake": "bmake made",
    "xxd": "xxd -i one.c",
    "gdbus-codegen": "gdbus-codegen --help",
    "pod2man": "pod2man --help",
    "cargo": "cargo init -q --vcs none --name one . && cargo build -q --offline",
    **{f"mkfs.{each}": f"command -v mkfs.{each}" for each in ("xfs", "btrfs")},
    "git": f"git -C '{ROOT}' ls-files --error-unmatch README.md",
}
_PACKAGES = {
    "clang": "clang and libclang-rt-dev",
    "ld.gold": "binutils, from 13 on binutils-gold",
    "ld.lld": "lld",
    **dict.fromkeys(("moc", "uic", "rcc"), "qtbase5-dev-tools"),
    **dict.fromkeys(("glib-mkenums", "glib-genmarshal", "gdbus-codegen"), "libglib2.0-dev-bin"),
    "lex": "flex",
    "yacc": "bison",
    "msgfmt": "gettext",
    "pod2man": "perl",
    "protoc": "protobuf-compiler",
    "wayland-scanner": "libwayland-bin",
    "mkfs.xfs": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
    "git": "git; and this is to be a clone",
}


def require(tool: str, *options: str, language: str = "") -> None:
    """Skips the test unless the tool does here what it is needed for.

    language  of what a compiler compiles, if that is not the one it is named for.
    """
    missing = _missing(tool, language or _COMPILERS.get(tool, ""), tuple(sorted(set(options))))
    if not missing:
        return
    if os.environ.get("SMPMAKE_TESTS_FULL"):
        pytest.fail(missing)
    pytest.skip(missing)


def require_for(argv: Sequence[str]) -> None:
    """Skips the test unless this command's tool does here what the command asks of it."""
    tool, *words = argv
    if tool == "ccache":
        require(tool)
        tool, *words = words
    named = {_SUFFIXES.get(Path(word).suffix, "") for word in words}
    if "c++-header" in words:
        named.add("C++")
    options = _OPTIONS.intersection(words)
    require(tool, *options)
    if tool in _COMPILERS:
        for language in sorted(named - {"", _COMPILERS[tool]}):
            require(tool, *options, language=language)


@cache
def _missing(tool: str, language: str, options: tuple[str, ...]) -> str:
    """What cannot be had here, and what would give it; empty if it can."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if language:
            source, text = _PROGRAMS[language]
            (folder / source).write_text(text)
            more = " -lstdc++" if language == "C++" and not tool.endswith("++") else ""
            work = f"{tool} {' '.join(options)} {source} -o p{more} && ./p"
            what = " ".join([tool, *options, f"makes no program in {language} here"])
        else:
            for source, text in _FILES.items():
                (folder / source).write_text(text)
            work = _WORK.get(tool, f"{tool} --version").format(options=" ".join(options))
            what = " ".join([tool, *options, "does not work here"])
        done = subprocess.run(
            ["sh", "-c", work], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL
        )
    if done.returncode == 0:
        return ""
    return f"{what} (Debian: {_package(tool, language)})"


def _package(tool: str, language: str) -> str:
    """The Debian package that gives it."""
    if language == "C++" and not tool.startswith("clang"):
        return "g++"
    return _PACKAGES.get(tool, tool.removesuffix("++"))


def require_mounts() -> None:
    """Skips the test where a file system cannot be mounted."""
    tried = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
    done = subprocess.run(tried, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")


def require_another_user() -> None:
    """Skips the test where no process can become another user's."""
    if os.geteuid() != 0:
        pytest.skip("another user's processes can be had by root alone")
    if subprocess.run(["true"], user=ANOTHER, group=ANOTHER, extra_groups=[]).returncode != 0:
        pytest.skip("another user's processes cannot run here")
