"""A check from its command to its result."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Final

from smpmake.checking.advice import advise
from smpmake.checking.events import Build, Make, build_of, canonical, is_parallel
from smpmake.checking.findings import findings
from smpmake.checking.following import follow
from smpmake.checking.order import Order
from smpmake.checking.proof import prove
from smpmake.checking.telling import Result
from smpmake.checking.watch import run
from smpmake.config import Accepted

#: Nanoseconds from a file's last contents to its last change of any kind, where it was made here.
_MOMENT: Final = 2_000_000_000


def check(
    command: Sequence[str],
    folder: str | None = None,
    *,
    proves: bool = False,
    clean: str = "",
    accepted: Sequence[Accepted] = (),
    sources: bool = False,
    follows: bool = True,
    tell: Callable[[str], None] = lambda text: None,
) -> Result:
    """Builds, says what the makefiles forgot, and follows its own advice.  Raises SmpmakeError.

    follows, tell  whether it does, and who is told before.
    proves, clean  whether findings are tried, and behind which command (proof.prove).
    accepted       what is not to be told.
    sources        whether headers that nobody makes are looked at.
    """
    build = build_of(run(command, folder))
    top = os.path.realpath(folder or os.getcwd())
    result = result_of(list(command), build, top, accepted, sources=sources)
    if follows and not result.status:
        result.untried = follow(result.open, build, command, result.top, tell)
    if proves and not result.status:
        prove(result.open, build, result.top, clean)
    return result


def result_of(
    command: list[str],
    build: Build,
    top: str,
    accepted: Sequence[Accepted] = (),
    *,
    sources: bool = False,
) -> Result:
    """What a build that was watched shows; `top` is its folder."""
    known = [make.said for make in build.makes if make.said is not None and make.said.rules]
    ran = {
        (id(make), job.target)
        for make in build.makes
        for job in (make.said.jobs if make.said is not None else ())
    }
    order = Order()
    written = {event.path for event in build.events if event.kind in "wRas"}
    idle = {path: newer for make in build.makes for path, newer in _idle(make, order)}
    left = [newer for path, newer in idle.items() if path not in written]
    temporary = {"/tmp", "/var/tmp", os.path.realpath(tempfile.gettempdir())}
    found = findings(build, order, sorted(temporary), top=top if sources else "")
    return Result(
        command=command,
        top=top,
        status=build.status,
        advices=advise(found, order, written, partial(_reason, accepted, top)),
        makes=len(known),
        looked_at=len(ran),
        up_to_date=sum(left),
        shipped=len(left) - sum(left),
        unguarded=build.unguarded,
        parallel=sum(map(is_parallel, build.makes)),
        unknown=len(build.makes) - len(known),
        lost=build.lost,
    )


def _reason(accepted: Sequence[Accepted], top: str, path: str, names: tuple[str, ...]) -> str:
    """Why a setting accepts a finding about a file and one of these targets; "" where none does."""
    name = os.path.relpath(path, top)
    for each in accepted:
        if fnmatchcase(name, each.file) and any(fnmatchcase(n, each.target) for n in names):
            return each.reason
    return ""


def _idle(make: Make, order: Order) -> Iterator[tuple[str, bool]]:
    """The files of targets for which a make had nothing to do, and whether an earlier build has
    made each.  Others came with the sources, or configure made them.
    """
    said = make.said
    if said is None or not said.makefiles:
        return
    graph = order.graph(make)
    before = {name for each in said.makefiles for name in graph.below(each)}
    before |= {graph.name(job.target) for job in said.jobs}
    begun = _stat(os.path.join(said.folder, said.makefiles[0]))
    for rule in said.rules.values():
        if not rule.is_updated or rule.recipe is None or rule.is_phony:
            continue
        path = canonical(os.path.normpath(os.path.join(said.folder, rule.name)))
        info = _stat(path)
        if graph.name(rule.name) not in before and info is not None:
            yield path, not rule.by_configure and _is_built(info, begun)


def _is_built(info: os.stat_result, makefile: os.stat_result | None) -> bool:
    """Whether a file is younger than a makefile, and has the time at which it was made: an archive
    gives its files older ones.
    """
    is_younger = makefile is None or info.st_mtime_ns > makefile.st_mtime_ns
    return is_younger and info.st_ctime_ns - info.st_mtime_ns < _MOMENT


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
