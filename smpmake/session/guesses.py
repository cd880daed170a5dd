"""Whether a build may count on what earlier ones have seen: only one that can be repeated."""

from __future__ import annotations

import os

from smpmake.config import Settings
from smpmake.decide.lessons import Lessons
from smpmake.guard.scoreboard import Scoreboard
from smpmake.session.rerun import Input, can_be_repeated


def lessons_for(command: list[str], settings: Settings, board: Scoreboard) -> Lessons | None:
    """What is known of this folder's builds; None where nothing is to be guessed.

    command  the driver.  It is repeated where a guess was wrong; and nobody is to be asked anything
             in the recipes that run meanwhile.
    board    makes are told there of lines that are of no use.
    """
    given = Input()
    again = can_be_repeated(command, given, keep_going=settings.keep_going)
    if not (again and given.says_nothing()):
        return None
    lessons = Lessons(os.getcwd(), tests=settings.recipes == "all")
    for mark in lessons.plain():
        board.goes_plain(mark)
    return lessons
