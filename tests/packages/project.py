"""What a project of the corpus is: a source, the driver it is built with, and how.

In commands and variables `{folder}` stands for the build folder, `{cache}` for what was fetched,
`{python}` for the Python that runs the tests.
"""

from __future__ import annotations

from dataclasses import dataclass

from .catalogue import COMPILER, Edit, Excuse

Command = tuple[str, ...]


@dataclass(frozen=True)
class Debian:
    """The upstream tarball of a Debian source package; `suite` where the machine's has it not."""

    name: str
    version: str
    sha256: str
    edits: tuple[Edit, ...] = ()
    suite: str = ""


@dataclass(frozen=True)
class Wheel:
    """A wheel that builds need, pure Python."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True)
class Sdist:
    """A source distribution of a Python package, with the wheels that building it needs."""

    name: str
    version: str
    sha256: str
    requires: tuple[Wheel, ...]
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class GoModule:
    """A module that the project's `go.mod` names; `go.sum` there pins it."""

    name: str
    version: str


@dataclass(frozen=True)
class NpmPackage:
    """A package of npm's registry, with those that building it needs beside it."""

    name: str
    version: str
    sha256: str
    requires: tuple[NpmPackage, ...] = ()
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Project:
    """A source, the driver it is built with, and how.

    `data` is a folder below `data/` that is laid over the source.  `prepare` is done before
    anything is measured or compared; each command of `build` is run by itself, under smpmake with
    smpmake before it.  `parallel` is what makes the last of them parallel by the driver's own
    means.  `products` must be there in the end.  What a program writes `at_once`, from threads of
    its own, has no order.  Where the driver builds everything `anew` each time, fewer steps say as
    much.
    """

    name: str
    driver: str
    source: Debian | Sdist | GoModule | NpmPackage
    build: tuple[Command, ...]
    touch: str
    products: tuple[str, ...]
    prepare: tuple[Command, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    parallel: Command = ()
    data: str = ""
    tools: tuple[tuple[str, str], ...] = tuple(COMPILER.items())
    ignored: tuple[Excuse, ...] = ()
    at_once: tuple[Excuse, ...] = ()
    slow: bool = False
    anew: bool = False


def tools(**more: str) -> tuple[tuple[str, str], ...]:
    """The compiler's tools and more."""
    return tuple((COMPILER | more).items())
