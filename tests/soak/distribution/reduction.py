"""What can be found out about a difference without a person."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable
from typing import Final, NamedTuple

from tests.soak.distribution.machine import TooLongError
from tests.soak.distribution.oracle import Build, Oracle

_TIMES: Final = 3  # that the same is done again
_MANY: Final = 12  # the same of a plain build, where a difference does not show each time
_ASKED: Final = 5  # paths about which `smpmake why` is asked
#: One at a time: what a difference does not show without is its part of smpmake.
_WITHOUT: Final = ("-j1", "--memo=off", "--no-run-ahead", "--recipes=off", "--no-guard")


class Reduction(NamedTuple):
    """How the builds are done again.

    plain   the plain build.
    again   the one under smpmake, with more options.
    why     what smpmake says of a path that the last one left.
    """

    plain: Callable[[], Build]
    again: Callable[..., Build]
    why: Callable[[str], str]


@dataclasses.dataclass
class Reduced:
    """differences   what is left when some more plain builds have been looked at.
    shows            how often they show, of how many builds.
    without          the options with which they do not.
    why              what smpmake says of the first paths.
    plain, ours      the two builds.
    """

    differences: list[str]
    shows: str = ""
    without: list[str] = dataclasses.field(default_factory=list)
    why: dict[str, str] = dataclasses.field(default_factory=dict)
    plain: Build | None = None
    ours: Build | None = None

    def text(self) -> str:
        """As JSON."""
        return json.dumps(dataclasses.asdict(self), indent=1) + "\n"


def reduced(oracle: Oracle, ours: Build, how: Reduction) -> Reduced:
    """Builds again, plainly and with less of smpmake; see Reduced."""
    _add(oracle, how, _TIMES)
    found = oracle.differences(ours)
    if not found:
        return Reduced([])
    shows = 1 + sum(_differs(oracle, how) for _ in range(_TIMES))
    if shows <= _TIMES:
        _add(oracle, how, _MANY)
        if not oracle.differences(ours):
            return Reduced([])
    without = [option for option in _WITHOUT if not _differs(oracle, how, option)]
    paths = [path for path in ours.tree if any(each.startswith(f"{path}: ") for each in found)]
    return Reduced(
        found,
        f"{shows} of {1 + _TIMES}",
        without,
        {path: how.why(path) for path in paths[:_ASKED]},
        oracle.first,
        ours,
    )


def _add(oracle: Oracle, how: Reduction, times: int) -> None:
    for _ in range(times):
        with contextlib.suppress(TooLongError):
            oracle.add(how.plain())


def _differs(oracle: Oracle, how: Reduction, *options: str) -> bool:
    try:
        return bool(oracle.differences(how.again(*options)))
    except TooLongError:
        return True
