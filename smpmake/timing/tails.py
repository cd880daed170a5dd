"""What is urgent in a build, as the last one tells: how much hangs on each command."""

from __future__ import annotations

from collections import defaultdict

from smpmake.timing.graph import Graph


def tails(graph: Graph) -> dict[int, float]:
    """For each job the seconds from its start to the build's end, if nothing had to wait for a CPU.

    The job with the longest is on the critical path, so it should start first.
    """
    after: dict[int, float] = defaultdict(float)
    found: dict[int, float] = {}
    rest = 0.0  # what comes after this event: the driver's own work, and whatever it brings
    for event in reversed(graph.events):
        for need in event.needs:
            after[need] = max(after[need], rest)
        if event.issues >= 0:
            job = graph.jobs[event.issues]
            tail = found[job.number] = job.work + after[job.number]
            for need in job.needs:
                after[need] = max(after[need], tail)
            rest = max(rest, tail)
        rest += event.work
    return found
