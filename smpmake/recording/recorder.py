"""The world of a build that is recorded: everything is real, and written down."""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from smpmake import __version__
from smpmake.recording import plain
from smpmake.recording.tape import TapeWriter
from smpmake.recording.world import ERROR, MOMENTS, SERIES, Entry, World, raised

T = TypeVar("T")

_SHORT: Final = 64  # bytes that stand in an answer itself
#: What can be given a second time as it is.
_FIXED: Final = (bytes, str, int, tuple, type(None))
#: Entries beside the loop's thread, or where there is no board yet, or none any more.
BESIDE: Final = frozenset({"take_back", "serve", "close"})


class Recorder(World):
    """One per build.

    shows  adds what the board shows since the last answer, at the end of an entry.
    """

    played = False

    def __init__(self, path: Path) -> None:
        """Raises TapeError."""
        super().__init__(os.urandom(16))
        self._tape = TapeWriter(path)
        self._lock = _thread.allocate_lock()
        self._count = 0
        self._known: set[str] = set()
        self._lines: list[Any] = []
        self.shows: Callable[[str], None] = lambda to: None

    @property
    def fault(self) -> str:
        """Why the recording is not whole, or ""."""
        return self._tape.fault

    def begin(self, head: dict[str, Any]) -> None:
        """What is to be known before anything happens."""
        self._tape.add({"smpmake": __version__, "salt": self.salt.hex(), **head})

    def close(self) -> None:
        """The build is over."""
        self._tape.add({"end": self._count})
        self._tape.close()

    # ------------------------------------------------------------------ World

    def enter(self, kind: str, data: Any, run: Callable[[Entry], T]) -> T:
        """See World."""
        current = self.current
        if current is not None:
            return run(current)
        with self._lock:
            entry = Entry(self._count, kind, data)
            self._count += 1

        def whole() -> T:
            try:
                return run(entry)
            except Exception as error:
                self.act("raised", repr(error))
                raise
            finally:
                if kind not in BESIDE:
                    self.shows("")

        try:
            return self.within(entry, whole)
        finally:
            self._write(entry)

    def _write(self, entry: Entry) -> None:
        row = {
            "n": entry.number,
            "kind": entry.kind,
            "data": entry.data,
            "answers": {key: _short(answer) for key, answer in entry.answers.items()},
            "actions": entry.actions,
        }
        with self._lock:
            lines, self._lines = self._lines, []
            self._tape.add(*lines, row)

    def ask(
        self,
        question: str,
        target: str,
        real: Callable[[], T],
        pack: Callable[[T], Any],
        unpack: Callable[[Any], T],
        *,
        is_change: bool = False,
        anew: bool = False,
    ) -> T:
        """See World."""
        entry = self.current
        assert entry is not None
        key = entry.key(question, target, is_change=is_change)
        if is_change or anew:
            return self._asked(real, pack, lambda value, _: _again(entry.answers, key, value))
        since = self._since(entry)
        if key in since:
            known, found = since[key]
            if isinstance(known, dict) and ERROR in known:
                raise raised(known[ERROR], target)
            return unpack(known) if not isinstance(found, _FIXED) else cast("T", found)
        return self._asked(real, pack, lambda value, found: self._noted(entry, key, value, found))

    def _asked(
        self, real: Callable[[], T], pack: Callable[[T], Any], note: Callable[[Any, Any], None]
    ) -> T:
        try:
            found = self.within(None, real)
        except OSError as error:
            note({ERROR: error.errno or 0}, None)
            raise
        except ValueError:
            note({ERROR: -1}, None)
            raise
        note(pack(found), found)
        return found

    def _since(self, entry: Entry) -> dict[str, Any]:
        """The answers of an entry's present moment."""
        known: tuple[Entry | None, int, dict[str, Any]]
        known = getattr(self._here, "answers", (None, 0, {}))
        if known[0] is not entry or known[1] != entry.moment:
            known = self._here.answers = (entry, entry.moment, {})
        return known[2]

    def _noted(self, entry: Entry, key: str, value: Any, found: Any) -> None:
        self._since(entry)[key] = value, found
        answers = entry.answers
        known = answers.get(key, answers)
        if known is answers:
            answers[key] = value
        elif isinstance(known, dict) and MOMENTS in known:
            if known[MOMENTS][-1][1] != value:
                known[MOMENTS].append([entry.moment, value])
        elif known != value:
            answers[key] = {MOMENTS: [[0, known], [entry.moment, value]]}

    def outside(self, run: Callable[[], T], instead: T) -> T:
        """See World."""
        return self.within(None, run)

    def variable(self, name: str, value: str) -> None:
        """See World."""
        stands = plain.shown(name, value, self.salt)
        if stands != value:
            self._line({"variable": [name, stands, value]}, f"{name}={stands}")

    # ------------------------------------------------------------------ what is kept once

    def keep(self, data: bytes) -> Any:
        """Bytes of an answer: the long ones stand in the file once."""
        if len(data) <= _SHORT:
            return {"text": plain.text_of(data)}
        name = plain.digest(data)
        self._line({"kept": name, "text": plain.text_of(data)}, f"kept {name}")
        return {"kept": name}

    def environment(self, blob: bytes) -> str:
        """What an environment is called."""
        name = plain.environment_digest(blob, self.salt)
        if f"environment {name}" not in self._known:
            self._line(
                {"environment": name, "is": plain.sketch(blob, self.salt)}, f"environment {name}"
            )
        return name

    def _line(self, line: Any, known: str) -> None:
        if known not in self._known:
            with self._lock:
                self._known.add(known)
                self._lines.append(line)


def _again(answers: dict[str, Any], key: str, value: Any) -> None:
    """One more answer to what is asked anew each time."""
    series = answers.setdefault(key, {SERIES: []})[SERIES]
    if series and series[-1][1] == value:
        series[-1][0] += 1
    else:
        series.append([1, value])


def _short(answer: Any) -> Any:
    """Where it was always the same, that."""
    if isinstance(answer, dict) and SERIES in answer and len(answer[SERIES]) == 1:
        return answer[SERIES][0][1]
    return answer
