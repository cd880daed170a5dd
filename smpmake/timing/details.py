"""What takes longer to find out about a build than its model: for reports alone."""

from __future__ import annotations

from typing import NamedTuple

from smpmake.records import BuildRecord
from smpmake.timing import findings, groups, replay
from smpmake.timing.figures import INFINITE, Timing
from smpmake.timing.findings import Finding
from smpmake.timing.graph import build_graph
from smpmake.timing.groups import Group
from smpmake.timing.headers import Header, headers


class Details(NamedTuple):
    """What takes longer to find out: for reports, not for the summary after each build.

    simulated   the replay at the recorded number of slots, to compare with `wall`.
    what_if     machine size and seconds.  Both with smpmake's own start as it was.
    path        the critical path.
    """

    simulated: float
    what_if: tuple[tuple[int, float], ...]
    path: tuple[replay.Piece, ...]
    tools: tuple[Group, ...]
    languages: tuple[Group, ...]
    folders: tuple[Group, ...]
    headers: tuple[Header, ...]
    findings: tuple[Finding, ...]


def explore(record: BuildRecord, timing: Timing) -> Details:
    """The rest of the model."""
    graph = build_graph(record, timing.line, timing.serial)
    weighted = timing.concurrency.weighted
    start = max(0, record.driver_started - record.started) / 1e9  # ours, on any machine
    if record.runs > 1:
        start = 0.0  # what was undone is no part of another build
    curve = replay.curve(graph, timing.extra_cpus)
    what_if = tuple((size, seconds + start) for size, seconds in curve)
    return Details(
        replay.play(graph, record.slots, record.cpus).seconds + start,
        what_if,
        replay.play(graph, INFINITE, INFINITE).path,
        groups.group(record.commands, lambda c: c.tool, weighted),
        groups.group(record.commands, groups.language, weighted),
        groups.group(record.commands, lambda c: groups.folder(c, record.cwd), weighted),
        headers(record.commands, record.cwd),
        findings.find(record, timing, what_if),
    )
