"""Dependency files: what a recipe writes down for the next build (-MD, automake's .deps)."""

from __future__ import annotations

import os
import re
from typing import Final

from smpmake.checking.events import Build, Recipe, canonical

ENDINGS: Final = (".d", ".dep", ".deps", ".depend", ".Po", ".Plo", ".P", ".dd", ".Td", ".Tpo")
_LONGEST: Final = 1 << 20  # bytes
_WORD: Final = re.compile(r"(?:\\.|[^\s\\])+")


class Declared:
    """What recipes of a build have declared so."""

    def __init__(self, build: Build) -> None:
        self._of: dict[tuple[int, str], set[str]] = {}
        for event in build.events:
            recipe, path = event.recipe, event.path
            if event.kind in "wRa" and recipe.make is not None and path.endswith(ENDINGS):
                found = self._of.setdefault((id(recipe.make), recipe.target), set())
                found |= _needs(path, recipe.make.folder)

    def has(self, recipe: Recipe, path: str) -> bool:
        """Whether a recipe's target has declared a file."""
        return path in self._of.get((id(recipe.make), recipe.target), ())


def _needs(path: str, folder: str) -> set[str]:
    """The files behind the colons of a file, from the folder of its make."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(_LONGEST).replace("\\\n", " ")
    except OSError:
        return set()
    found = set()
    for line in text.splitlines():
        _, colon, needs = line.partition(": ")
        if colon and not line.startswith("#"):
            names = (re.sub(r"\\(.)", r"\1", word) for word in _WORD.findall(needs))
            found |= {canonical(os.path.normpath(os.path.join(folder, name))) for name in names}
    return found
