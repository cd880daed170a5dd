"""Which compiler a name stands for here: hosts are sent the name alone, and what they have by it
must be the same."""

from __future__ import annotations

import functools
import os
import shutil
from dataclasses import dataclass, field
from typing import Final

_ELF: Final = b"\x7fELF"


@dataclass(frozen=True)
class Compiler:
    """word       what it is called there: by its name, as all do, unless that is another one here.
    file       its own.
    assembler  the one that it finds.
    path       the PATH on which it is found.
    """

    word: str
    file: str
    assembler: str
    path: str = field(compare=False)

    def __str__(self) -> str:
        return self.word


@functools.lru_cache(256)
def compiler_of(name: str, real: str, path: str) -> Compiler:
    """What is called `name`, and found at `real` by a command whose PATH that is."""
    word = name if shutil.which(name, path=path) == real else real
    return Compiler(word, os.path.realpath(real), shutil.which("as", path=path) or "", path)


@functools.lru_cache(256)
def is_program(file: str) -> bool:
    """Whether it is the compiler, and no script that calls one in its own way: a host's has not
    that script's options."""
    try:
        with open(file, "rb") as program:
            return program.read(len(_ELF)) == _ELF
    except OSError:
        return False
