"""A check from its command to its result."""

from __future__ import annotations

import os
from collections.abc import Sequence

from smpmake.checking.advice import advise
from smpmake.checking.events import Build, Make, build_of
from smpmake.checking.findings import findings
from smpmake.checking.order import Order
from smpmake.checking.proof import prove
from smpmake.checking.telling import Result
from smpmake.checking.watch import run


def check(
    command: Sequence[str], folder: str | None = None, *, proves: bool = False, clean: str = ""
) -> Result:
    """Builds, and says what the makefiles forgot.  Raises SmpmakeError.

    proves, clean  whether findings are tried, and behind which command (proof.prove).
    """
    build = build_of(run(command, folder))
    result = result_of(list(command), build, os.path.realpath(folder or os.getcwd()))
    if proves and not result.status:
        prove(result.open, build, result.top, clean)
    return result


def result_of(command: list[str], build: Build, top: str) -> Result:
    """What a build that was watched shows; `top` is its folder."""
    ran = {
        (id(make), job.target)
        for make in build.makes
        for job in (make.said.jobs if make.said is not None else ())
    }
    order = Order()
    return Result(
        command=command,
        top=top,
        status=build.status,
        advices=advise(findings(build, order), order),
        makes=sum(make.said is not None for make in build.makes),
        looked_at=len(ran),
        up_to_date=sum(_up_to_date(make, ran, order) for make in build.makes),
        unguarded=build.unguarded,
        unknown=sum(make.said is None for make in build.makes),
        lost=build.lost,
    )


def _up_to_date(make: Make, ran: set[tuple[int, str]], order: Order) -> int:
    """How many targets of a make had nothing to be done, beside its makefiles and their like."""
    if make.said is None:
        return 0
    graph = order.graph(make)
    makefiles = {name for each in make.said.makefiles for name in graph.below(each)}
    made = {graph.name(target) for number, target in ran if number == id(make)}
    return sum(
        rule.is_updated
        and rule.recipe is not None
        and not rule.is_phony
        and graph.name(rule.name) not in made | makefiles
        for rule in make.said.rules.values()
    )
