"""Steps grouped into what ninja can run: each file made by one edge, and no circles.

A makefile may write a file in several steps (compile and mv, ar and ranlib, link and strip), and
remove it again; ninja's edges may not.  Steps that touch the same file, or that use one which
later steps change or remove, become one chain, run in the recorded order.
"""

from __future__ import annotations

import graphlib
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from smpmake.commands.recorded_words import only_touches
from smpmake.exports.effects import Disk, LeftOut, Made, Step


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps that run one after the other.

    inputs    named on their command lines; `implicit` ones were seen to be read, or told.
    folders   needed, and not made by ninja, which makes those of outputs.
    clear     must not be there when the steps begin.
    old_times an output may be older than the inputs, because it has another file's time.
    """

    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    implicit: tuple[str, ...]
    folders: tuple[str, ...]
    clear: tuple[str, ...]
    old_times: bool


def chains_of(
    steps: Sequence[Step], foreign: set[str], disk: Disk
) -> tuple[list[Chain], list[LeftOut]]:
    """The chains, in the order of their first steps, and commands that cannot be run again.

    foreign  files made by commands that cannot be run again: they have to be there.
    """
    foreign = set(foreign)
    left_out: list[LeftOut] = []
    kept = list(steps)
    while True:
        story = _Story(kept, foreign, disk)
        if not story.stuck:
            break
        # What they made is as it is; so others may be stuck now.
        for step, path in story.stuck:
            assert step.command is not None
            left_out.append(LeftOut(step.command, f"{path} is gone"))
            foreign.update(made.path for made in step.made)
        gone = {id(step) for step, _ in story.stuck}
        kept = [step for step in kept if id(step) not in gone]
    return _Grouping(story, disk).chains(), left_out


class _Story:
    """Who wrote which version of a file, and who read which.  A version is a number; None is what
    was there before the build, or what nobody recorded made."""

    def __init__(self, steps: Sequence[Step], foreign: set[str], disk: Disk) -> None:
        self.steps = steps
        self.writers: list[int] = []
        self.made: list[Made] = []
        self.before: list[int | None] = []
        self.reads: list[list[tuple[str, int | None]]] = []
        self.last: dict[str, int] = {}
        self.stuck: list[tuple[Step, str]] = []
        self._foreign = foreign
        self._disk = disk
        for number, step in enumerate(steps):
            self._tell(number, step)

    def _tell(self, number: int, step: Step) -> None:
        last = self.last
        own = {made.path for made in step.made}
        paths = dict.fromkeys((*step.declared, *step.observed))
        self.reads.append([(path, last.get(path)) for path in paths if path not in own])
        if step.made and all(self._leaves(step, made) for made in step.made):
            return
        for path in step.needed:
            if last.get(path) is None and not self._disk.exists(path):
                self.stuck.append((step, path))
                return
        for made in step.made:
            if made.path not in self._foreign:
                self.before.append(None if made.anew else last.get(made.path))
                last[made.path] = len(self.writers)
                self.writers.append(number)
                self.made.append(made)
        for path in step.removed:
            last.pop(path, None)

    def _leaves(self, step: Step, made: Made) -> bool:
        """Whether the file stays whose it is: ours it is not, or it is a source that was only
        touched; it could not be made again."""
        if made.path in self._foreign:
            return True
        touches = step.command is not None and only_touches(step.command.tool)
        return touches and made.path not in self.last and not self._disk.is_empty(made.path)

    def outputs(self) -> dict[str, int]:
        """The versions that are there in the end, and can be an edge's outputs."""
        by_step: dict[int, list[tuple[str, int]]] = {}
        for path, version in self.last.items():
            if not self._disk.is_dir(path):
                by_step.setdefault(self.writers[version], []).append((path, version))
        found: dict[str, int] = {}
        for number, versions in by_step.items():
            there = {path for path, _ in versions if self._disk.exists(path)}
            if self.steps[number].check and not there:
                continue  # a check that failed, for all that is known
            for path, version in versions:
                # A dependency file that is not there beside its object is none that it makes.
                if self.made[version].target or path in there or not there:
                    found[path] = version
        return found


class _Grouping:
    """Which steps go together."""

    def __init__(self, story: _Story, disk: Disk) -> None:
        self._story = story
        self._disk = disk
        self._outputs = story.outputs()
        self._versions: dict[int, list[int]] = {}
        for version, writer in enumerate(story.writers):
            self._versions.setdefault(writer, []).append(version)
        self._live = self._find_live()
        self._parent = {number: number for number in self._live}

    def chains(self) -> list[Chain]:
        """All of them."""
        self._join_by_files()
        self._join_circles()
        members: dict[int, list[int]] = {}
        for number in sorted(self._live):
            members.setdefault(self._find(number), []).append(number)
        made = (self._chain(numbers) for numbers in members.values())
        return [chain for chain in made if chain.outputs]

    # ------------------------------------------------------------------ who matters

    def _find_live(self) -> set[int]:
        """The steps without which an output would not be, or would be another."""
        story = self._story
        live: set[int] = set()
        todo = [story.writers[version] for version in self._outputs.values()]
        while todo:
            number = todo.pop()
            if number in live:
                continue
            live.add(number)
            used = [version for _, version in story.reads[number]]
            used += [story.before[version] for version in self._versions.get(number, ())]
            todo += [story.writers[version] for version in used if version is not None]
        written = {made.path for number in live for made in story.steps[number].made}
        for number, step in enumerate(story.steps):
            if step.command is None and not written.isdisjoint(step.removed):
                live.add(number)
        return live

    # ------------------------------------------------------------------ who goes together

    def _find(self, number: int) -> int:
        parent = self._parent
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    def _join(self, one: int, other: int) -> None:
        one, other = self._find(one), self._find(other)
        self._parent[max(one, other)] = min(one, other)

    def _join_by_files(self) -> None:
        story = self._story
        touched: dict[str, int] = {}
        final = set(self._outputs.values())
        for number in sorted(self._live):
            for path in _touched(story.steps[number]):
                self._join(touched.setdefault(path, number), number)
            for _, version in story.reads[number]:
                if version is not None and version not in final:
                    self._join(story.writers[version], number)

    def _join_circles(self) -> None:
        """Chains that need each other are one."""
        while True:
            graph: dict[int, set[int]] = {}
            for number in self._live:
                own = self._find(number)
                needs = graph.setdefault(own, set())
                for path, _ in self._story.reads[number]:
                    version = self._outputs.get(path)
                    if version is not None:
                        needs.add(self._find(self._story.writers[version]))
                needs.discard(own)
            try:
                graphlib.TopologicalSorter(graph).prepare()
            except graphlib.CycleError as error:
                circle = error.args[1]
                for other in circle[1:]:
                    self._join(circle[0], other)
            else:
                return

    # ------------------------------------------------------------------ the result

    def _chain(self, numbers: list[int]) -> Chain:
        story, disk = self._story, self._disk
        steps = tuple(story.steps[number] for number in numbers)
        touched = {path for step in steps for path in _touched(step)}
        versions = [v for number in numbers for v in self._versions.get(number, ())]
        outputs = [story.made[v] for v in versions if self._outputs.get(story.made[v].path) == v]

        def needed(paths: Iterable[str]) -> tuple[str, ...]:
            return tuple(
                path
                for path in dict.fromkeys(paths)
                if path not in touched
                and not disk.is_dir(path)
                and (path in self._outputs or disk.exists(path))
            )

        inputs = needed(path for step in steps for path in step.declared)
        implicit = needed(path for step in steps for path in step.observed)
        named = [*(made.path for made in outputs), *inputs, *implicit]
        return Chain(
            steps,
            tuple(made.path for made in sorted(outputs, key=lambda made: not made.target)),
            inputs,
            tuple(path for path in implicit if path not in inputs),
            tuple(_missing_folders(steps, named)),
            tuple(_to_clear(steps)),
            any(not made.timed for made in outputs),
        )


def _touched(step: Step) -> list[str]:
    return [*(made.path for made in step.made), *step.removed]


def _missing_folders(steps: Iterable[Step], paths: Iterable[str]) -> Iterator[str]:
    """Folders that steps work in and that need not exist: nothing that ninja knows is there."""
    known: set[str] = set()
    for path in paths:
        folder = posixpath.dirname(path)
        while folder not in known:
            known.add(folder)
            folder = posixpath.dirname(folder)
    wanted = [
        folder
        for step in steps
        for folder in (step.cwd, *(posixpath.dirname(made.path) for made in step.made))
    ]
    yield from dict.fromkeys(folder for folder in wanted if folder not in known)


def _to_clear(steps: Iterable[Step]) -> Iterator[str]:
    seen: set[str] = set()
    for step in steps:
        for made in step.made:
            if made.absent and made.path not in seen:
                yield made.path
        seen.update(_touched(step))
