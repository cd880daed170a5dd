"""What may stay when a build stops: results of commands issued behind its last point.  Pure.

A build that is interrupted, or cannot be repeated, is taken back to where its first unfinished
command was issued.  What later ones made need not be made again, if nothing that led to it is
taken back: not what they read, and nothing that the driver did to their results.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from smpmake.protocol.layout import UNDO_ENDED, UNDO_ISSUED
from smpmake.undo.entries import Change


def retained_changes(changes: Sequence[Change], read: Mapping[int, tuple[str, ...]]) -> list[int]:
    """Numbers of those commands whose results may stay, though issued behind the point.

    read  what those have read that succeeded, where it is known.
    """
    issued: dict[int, int] = {}
    ended: set[int] = set()
    for change in changes:
        if change.kind == UNDO_ISSUED:
            issued.setdefault(change.command, change.at)
        elif change.kind == UNDO_ENDED:
            ended.add(change.command)
    unfinished = [(at, number) for number, at in issued.items() if number not in ended]
    if not unfinished:
        return []
    point = min(unfinished)
    undone: set[str] = set()
    wrote: dict[int, set[str]] = {}
    places = sorted((at, number) for number, at in issued.items())
    followed: set[int] = set()  # positions of issue behind which the driver changed something
    for change in changes:
        if change.kind in (UNDO_ISSUED, UNDO_ENDED):
            continue
        if change.command in issued:
            wrote.setdefault(change.command, set()).update(change.paths)
        elif change.at >= point[0]:
            undone.update(change.paths)
            before = bisect_right(places, (change.at, 1 << 62)) - 1
            if before >= 0:
                followed.add(places[before][0])
    stay = []
    for at, number in places:
        if (at, number) < point:
            continue
        if number in read and number in ended and at not in followed:
            stay.append(number)
        else:
            undone |= wrote.get(number, set())
    # One that goes takes with it what it was made of, and what has been made of it.
    while gone := [n for n in stay if _touches((*wrote.get(n, ()), *read[n]), undone)]:
        stay = [number for number in stay if number not in gone]
        undone.update(*(wrote.get(number, ()) for number in gone))
    return stay


def _touches(paths: Iterable[str], undone: set[str]) -> bool:
    """Whether one of the paths, or a folder above it, is undone."""
    return any(path in undone or os.path.dirname(path) in undone for path in paths)
