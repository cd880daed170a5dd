"""What guards find on the scoreboard, as rows; and which of them have changed."""

from __future__ import annotations

from typing import Any, Final

from smpmake.guard.scoreboard import Scoreboard
from smpmake.protocol import layout

_AT: Final = layout.BOARD_AT
_FIRST: Final = _AT["slots"] // 8
_PLACES: Final = _AT["places"] // 4
_USED: Final = 1 << 32
_PROMISE: Final = _AT["promises"] // 8
_FOLDER: Final = _AT["folders"] // 8
#: Counts that a guard reads; `generation`, `turns` and `places` say where and when, not what.
_COUNTS: Final = (
    *("pending", "undeclared_ns", "full", "stale", "unknown", "journal", "libraries", "versions"),
    *("names", "at_work", "blind"),
)
_ROLES: Final = {
    value: name[5:].lower() for name, value in vars(layout).items() if name.startswith("ROLE_")
}


class BoardRows:
    """One per board."""

    def __init__(self, board: Scoreboard) -> None:
        self._board = board
        self._raw = b""
        self._slots: list[int] = []
        self._rows: set[str] = set()
        self._counts: dict[str, int] = {}

    def changed(self) -> dict[str, Any] | None:
        """What has come, gone and changed since the last time; None where nothing has."""
        rows, counts = self._now(), self._count()
        found: dict[str, Any] = {}
        if rows != self._rows:
            found["come"], found["gone"] = sorted(rows - self._rows), sorted(self._rows - rows)
        found |= {name: n for name, n in counts.items() if self._counts.get(name) != n}
        self._rows, self._counts = rows, counts
        return found or None

    def _count(self) -> dict[str, int]:
        times, halves, words = self._board._times, self._board._halves, self._board._words
        wide = {
            "pending": words[_AT["pending"] // 8],
            "undeclared_ns": times[_AT["undeclared_ns"] // 8],
        }
        return {name: wide[name] if name in wide else halves[_AT[name] // 4] for name in _COUNTS}

    def _now(self) -> set[str]:
        words = self._board._words
        raw = bytes(words[_FIRST : _FIRST + self._board._halves[_PLACES]])
        if raw != self._raw:
            self._raw = raw
            self._slots = [word for word in memoryview(raw).cast("Q") if word > _USED]
        return {self._row(word) for word in self._slots}

    def _row(self, word: int) -> str:
        value, owner, roles = word >> 32, word >> 8 & 0xFFFFFF, word & 0xFF
        row = f"{value:08x} {'+'.join(name for bit, name in _ROLES.items() if roles & bit)}"
        if roles & layout.ROLE_LISTED:  # which of the numbers a folder has tells nobody anything
            number = owner - layout.OWNER_FOLDERS
            if 0 <= number < layout.BOARD_FOLDERS:
                row += f" changes {self._board._times[_FOLDER + number]}"
            return row
        row += f" {owner - 1}"
        if roles & layout.ROLE_OUTPUT:
            at = _PROMISE + 3 * (value % layout.BOARD_PROMISES)
            head, check, mtime = self._board._words[at : at + 3]
            if head >> 24 == owner:
                row += f" is {head & 0xFFFFFF:06x} {check:016x} {mtime}"
        return row
