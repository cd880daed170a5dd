"""A notebook of builds that nobody began, which keeps nothing (server.guests.BuildLog)."""

from __future__ import annotations

from smpmake.forecast import Forecast


class Notes:
    """What happened to it, in order."""

    def __init__(self) -> None:
        self.turns = 0
        self.ended = 0

    def past(self) -> Forecast | None:
        return None

    def turn(self) -> None:
        self.turns += 1

    def end(self) -> list[str]:
        self.ended += 1
        return ["smpmake: a line"]
