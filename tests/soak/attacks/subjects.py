"""All cases, subject by subject."""

from __future__ import annotations

from collections.abc import Sequence

from tests.soak.attacks import (
    asking,
    behind,
    compiles,
    failing,
    folders,
    inherits,
    inputs,
    libraries,
    limits,
    links,
    loading,
    makefiles,
    meanwhile,
    names,
    options,
    output,
    processes,
    projects,
    repeated,
    repeated_odd,
    replaced,
    reused,
    rules,
    scripts,
    searches,
    signals,
    sources,
    stamps,
    state,
    surroundings,
    times,
    undoing,
)
from tests.soak.attacks.case import Case

SUBJECTS = (
    asking,
    behind,
    compiles,
    failing,
    folders,
    inherits,
    inputs,
    libraries,
    limits,
    links,
    loading,
    makefiles,
    meanwhile,
    names,
    options,
    output,
    processes,
    projects,
    repeated,
    repeated_odd,
    replaced,
    reused,
    rules,
    scripts,
    searches,
    signals,
    sources,
    stamps,
    state,
    surroundings,
    times,
    undoing,
)
CASES: Sequence[Case] = tuple(case for subject in SUBJECTS for case in subject.CASES)


def chosen(names: Sequence[str]) -> list[Case]:
    """The named ones, all if none is named; KeyError for a name that is none."""
    by_name = {case.name: case for case in CASES}
    return [by_name[name] for name in names] or list(CASES)
