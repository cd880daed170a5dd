"""What if there were more CPUs: the recorded graph played again on a machine of any size.

Assumptions, which every printer states: the driver issues the same commands in the same order with
the same work of its own between them; each job does the same work; CPUs are alike and shared
evenly among what is at work; memory, disk and caches are as they were.
"""

from __future__ import annotations

import heapq
from typing import Final, NamedTuple

from smpmake.timing.graph import Graph

#: The sizes of machine that the curve shows.
SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_DRIVER: Final = -1


class Piece(NamedTuple):
    """A part of the critical path: a job, or (number -1) the driver, from when to when, seconds."""

    number: int
    start: float
    end: float


class Played(NamedTuple):
    """A replay: seconds from start to end, and the chain that made it that long."""

    seconds: float
    path: tuple[Piece, ...]


class _Player:
    def __init__(self, graph: Graph, slots: float, cpus: float) -> None:
        self._graph = graph
        self._free = slots
        self._cpus = cpus
        self._now = 0.0
        self._progress = 0.0  # of everything at work: all CPUs are shared evenly
        self._active = 0
        self._ends: list[tuple[float, int]] = []
        self._ready: list[tuple[bool, int]] = []
        self._missing: dict[int, int] = {}
        self._followers: dict[int, list[int]] = {}
        self._done: set[int] = set()
        self._began: dict[int, float] = {}
        self._because: dict[int, tuple[int, float]] = {}
        self._pieces: list[tuple[float, float, int]] = []  # the driver's: start, end, what freed it
        self._event = 0
        self._waits: set[int] = set()
        self._driver_since = 0.0
        self._driver_freed_by = _DRIVER
        self._last = _DRIVER
        self._urgent: set[int] = set()

    def play(self) -> Played:
        self._drive()
        while self._ends:
            finish, number = heapq.heappop(self._ends)
            rate = min(1.0, self._cpus / self._active)
            self._now += (finish - self._progress) / rate
            self._progress = finish
            self._active -= 1
            self._last = number
            if number == _DRIVER:
                self._arrive()
            else:
                self._end(number)
            self._dispatch()
        return Played(self._now, tuple(self._chain()))

    def _work(self, number: int, seconds: float) -> None:
        self._active += 1
        heapq.heappush(self._ends, (self._progress + seconds, number))

    def _drive(self) -> None:
        """The driver goes on to its next event."""
        if self._event < len(self._graph.events):
            self._work(_DRIVER, self._graph.events[self._event].work)

    def _arrive(self) -> None:
        event = self._graph.events[self._event]
        self._event += 1
        if event.issues >= 0:
            self._issue(event.issues)
        self._waits = set(event.needs) - self._done
        if self._waits:
            self._pieces.append((self._driver_since, self._now, self._driver_freed_by))
            self._boost()
        else:
            if self._event == len(self._graph.events):
                self._pieces.append((self._driver_since, self._now, self._driver_freed_by))
            self._drive()

    def _issue(self, number: int) -> None:
        needs = self._graph.jobs[number].needs - self._done
        self._missing[number] = len(needs)
        for need in needs:
            self._followers.setdefault(need, []).append(number)
        if not needs:
            self._because[number] = (_DRIVER, self._now)
            heapq.heappush(self._ready, (True, number))

    def _boost(self) -> None:
        """What the driver waits for goes first, with all it needs."""
        todo = list(self._waits)
        while todo:
            number = todo.pop()
            if number not in self._urgent and number not in self._done:
                self._urgent.add(number)
                if number in self._because and number not in self._began:
                    heapq.heappush(self._ready, (False, number))
                todo += self._graph.jobs[number].needs

    def _end(self, number: int) -> None:
        self._free += 1
        self._done.add(number)
        for follower in self._followers.pop(number, ()):
            self._missing[follower] -= 1
            if self._missing[follower] == 0:
                self._because[follower] = (number, self._now)
                heapq.heappush(self._ready, (follower not in self._urgent, follower))
        if self._waits:
            self._waits.discard(number)
            if not self._waits:
                self._driver_since, self._driver_freed_by = self._now, number
                self._drive()

    def _dispatch(self) -> None:
        while self._ready and self._free > 0:
            _, number = heapq.heappop(self._ready)
            if number in self._began:
                continue  # hurried: it stood there twice
            self._free -= 1
            self._began[number] = self._now
            self._work(number, self._graph.jobs[number].work)

    def _chain(self) -> list[Piece]:
        """From the end back to the start: each piece began when the one before it ended."""
        chain: list[Piece] = []
        number, end = self._last, self._now
        place = len(self._pieces) - 1
        while True:
            if number == _DRIVER:
                while place > 0 and self._pieces[place][0] > end:
                    place -= 1
                start, _, freed_by = self._pieces[place] if place >= 0 else (0.0, 0.0, _DRIVER)
                place -= 1  # never the same one again, even where several took no time
                chain.append(Piece(_DRIVER, start, end))
                if freed_by == _DRIVER:
                    break
                number, end = freed_by, start
            else:
                cause, start = self._because[number]
                chain.append(Piece(number, start, end))
                number, end = cause, start
        chain.reverse()
        return [piece for piece in chain if piece.end > piece.start]


def play(graph: Graph, slots: float, cpus: float) -> Played:
    """Plays a build on `cpus` CPUs with `slots` places; both may be infinite."""
    return _Player(graph, slots, cpus).play()


def curve(graph: Graph, here: int) -> tuple[tuple[int, float], ...]:
    """Seconds on machines of SIZES and on one like this, with as many slots as CPUs."""
    sizes = sorted({*SIZES, here})
    return tuple((size, play(graph, size, size).seconds) for size in sizes)
