"""Dependency files: what a recipe writes down for the next build (-MD, automake's .deps)."""

from __future__ import annotations

import os
from typing import Final

from smpmake.checking.events import Build, Recipe, canonical
from smpmake.commands.files.depfiles import prerequisites

ENDINGS: Final = (".d", ".dep", ".deps", ".depend", ".Po", ".Plo", ".P", ".dd", ".Td", ".Tpo")
_LONGEST: Final = 1 << 20  # bytes


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
            names = prerequisites(file.read(_LONGEST))
    except OSError:
        return set()
    return {canonical(os.path.normpath(os.path.join(folder, name))) for name in names}
