"""The builds of an engine that is recorded or played, and their undo journals."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpmake.config import Settings
from smpmake.protocol import layout
from smpmake.protocol.wire import FileId
from smpmake.recording.seams import Seams
from smpmake.recording.substitutes import same
from smpmake.recording.system import JOURNAL
from smpmake.recording.world import World

if TYPE_CHECKING:
    from smpmake.engine.build import Build
    from smpmake.undo.journal import UndoJournal


def of_build(build: Build) -> dict[str, Any]:
    """A build that begins, as JSON has it."""
    is_outer = build.outer is None
    return {
        "id": build.id,
        "rules": of_settings(build.rules),
        "output": build.output.files,
        "began": build.began,
        "has_wmake": build.tools.has_wmake,
        "outer": build.outer.id if build.outer is not None else None,
        "undo": is_outer and build.undoing.journal is not None,
        "known": is_outer and build.promises.known_failures is not None,
        "silence": is_outer and build.promises.silence is not None,
    }


def to_files(found: list[list[int]]) -> tuple[FileId, FileId]:
    """Which files a driver prints to."""
    return FileId(*found[0]), FileId(*found[1])


def of_settings(settings: Settings) -> dict[str, Any]:
    """What a build goes by; the tools that it describes stand in the recording's head."""
    return {name: value for name, value in settings._asdict().items() if name != "tools"}


def to_settings(found: dict[str, Any]) -> Settings:
    """The inverse of `of_settings`."""
    given: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in found.items()
    }
    return Settings(**given)


class Words:
    """Numbers in a file that guards change, too."""

    def __init__(self, world: World, name: str, real: Any) -> None:
        self._world = world
        self._name = name
        self._real = real

    def __getitem__(self, at: int) -> int:
        if self._world.current is None:
            return int(self._real[at])
        name = f"{self._name} {at}"
        return int(self._world.ask("word", name, lambda: self._real[at], same, same))

    def __setitem__(self, at: int, value: int) -> None:
        def put() -> None:
            self._real[at] = value

        if self._world.current is None:
            put()
            return
        name = f"{self._name} {at}"
        is_told = name != _TIME
        self._world.do("set", name, put, _none, same, value, changes=(name,), is_told=is_told)

    def release(self) -> None:
        """See memoryview."""
        self._real.release()


#: A journal's numbers that stand in its file; when it was begun is no decision.
_TIME: Final = f"undo words {layout.UNDO_HEAD_AT['base_ns'] // 8}"
#: What a journal remembers.
_OF_JOURNAL: Final = ("undoes", "_written", "_moved", "_stores", "_devices")


def of_journal(undo: UndoJournal) -> dict[str, Any]:
    """A journal as it is at the beginning."""
    return {"folder": str(undo._folder), **{name: getattr(undo, name) for name in _OF_JOURNAL}}


def to_journal(found: dict[str, Any], seams: Seams) -> UndoJournal:
    """The inverse of `of_journal`, without any file."""
    from smpmake.undo.journal import UndoJournal

    undo: Any = UndoJournal.__new__(UndoJournal)
    undo._folder = Path(found["folder"])
    undo._kept = undo._folder / "undo" / "kept"
    for name in _OF_JOURNAL:
        setattr(undo, name, copy.copy(found[name]))
    undo._vows = {}
    undo._log, undo._server = seams.system.new(""), seams.system.new("")
    undo._map = bytearray(1 << 16)  # it is written to, but what is read goes by `Words`
    undo._words = undo._halves = undo._map
    watch_journal(seams, undo)
    journal: UndoJournal = undo
    return journal


def watch_journal(seams: Seams, undo: Any) -> None:
    """What the engine reads in a journal, and writes there, passes by us."""
    world, system = seams.world, seams.system
    system.call(undo._log, "undo log")
    system.call(undo._server, JOURNAL)
    undo._words = Words(world, "undo words", undo._words)
    undo._halves = Words(world, "undo halves", undo._halves)


def _none(value: None) -> None:
    del value
