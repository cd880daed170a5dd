"""What headers cost: which compiles read a file, and what CPU time they took.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from smpmake.records import CommandRecord

_FEWEST: Final = 2  # a file that one compile reads is its source
_MOST: Final = 200


class Header:
    """A file that several compiles have read, as their guards saw.

    name   its path, from the build's folder where it lies in there.
    count  the compiles that read it.
    cpu    their CPU time, s: it is what touching the file costs.
    share  of the CPU time of all compiles that were seen to read anything.
    """

    __slots__ = ("count", "cpu", "name", "share")

    def __init__(self, name: str, count: int, cpu: float, share: float) -> None:
        self.name = name
        self.count = count
        self.cpu = cpu
        self.share = share


def headers(commands: Sequence[CommandRecord], folder: str) -> tuple[Header, ...]:
    """The costliest first.  What a link or an archive reads is no header."""
    compiles = [c for c in commands if c.kind == "compile" and c.state == "done" and c.reads]
    whole = sum(c.cpu for c in compiles)
    count: dict[str, int] = {}
    cpu: dict[str, float] = {}
    for command in compiles:
        own = {*command.outputs, *command.inputs}
        for path in dict.fromkeys(command.reads):
            if path not in own:
                count[path] = count.get(path, 0) + 1
                cpu[path] = cpu.get(path, 0.0) + command.cpu
    found = [
        Header(
            path.removeprefix(f"{folder}/"),
            count[path],
            cpu[path],
            cpu[path] / whole if whole else 0.0,
        )
        for path in count
        if count[path] >= _FEWEST
    ]
    found.sort(key=lambda each: (-each.cpu, -each.count, each.name))
    return tuple(found[:_MOST])
