"""A recording as it was read: its head, its entries, and what they share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from smpmake.commands import families
from smpmake.commands.custom import Custom
from smpmake.recording import plain, tape


class Recording:
    """Raises TapeError where there is none, or where it is damaged.

    until    the last state that is wanted; what comes behind it is not even read.
    entries  in the order of their numbers.
    is_whole whether the build was recorded to its end.
    """

    def __init__(self, path: Path, until: int | None = None) -> None:
        self.head: dict[str, Any] = {}
        self.entries: list[dict[str, Any]] = []
        self.is_whole = False
        self._kept: dict[str, bytes] = {}
        self._sketches: dict[str, list[list[str]]] = {}
        self._variables: dict[tuple[str, str], str] = {}
        for line in _lines(path, until):
            if "n" in line:
                self.entries.append(line)
            elif "kept" in line:
                self._kept[line["kept"]] = plain.bytes_of(line["text"])
            elif "environment" in line:
                self._sketches[line["environment"]] = line["is"]
            elif "variable" in line:
                name, stands, value = line["variable"]
                self._variables[name, stands] = value
            elif "end" in line:
                self.is_whole = True
            else:
                self.head = line
        self.entries.sort(key=lambda row: int(row["n"]))
        if not self.entries:
            raise tape.TapeError(
                f"{path}: nothing was recorded: the build called no tool of smpmake's"
            )

    def learn(self) -> None:
        """From now on this process knows the tools that the settings of the build described."""
        tools = [
            Custom(**{name: _tuple(value) for name, value in tool.items()})
            for tool in self.head.get("tools", ())
        ]
        families.learn(tools)

    def kept(self, value: Any) -> bytes:
        """Bytes of an answer."""
        return self._kept[value["kept"]] if "kept" in value else plain.bytes_of(value["text"])

    def environment(self, name: str) -> bytes:
        """An environment, in which hashes stand for the values that nobody asked for."""
        pairs = [
            (variable, self._variables.get((variable, value), value))
            for variable, value in self._sketches[name]
        ]
        return plain.blob_of(pairs)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _lines(path: Path, until: int | None) -> Iterator[dict[str, Any]]:
    for line in tape.read(path):
        yield line
        if until is not None and line.get("n", -1) >= until + 2:  # one may end behind the next
            return
