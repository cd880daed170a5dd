"""`scripts/replay FILE`: plays a recording, and says where the engine does something else."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from smpmake.console import say, show
from smpmake.guard.scoreboard import path_hash
from smpmake.recording.player import Difference, Figures, Player
from smpmake.recording.recording import Recording
from smpmake.recording.tape import TapeError

SAME, DIFFERS, UNUSABLE = 0, 1, 2
_MOST: Final = 20  # lines that are shown of a difference
_HASH: Final = re.compile(r'"([0-9a-f]{8}) ')


def main(argv: list[str]) -> int:
    """0: the same, 1: something differs, 2: the recording cannot be used."""
    options = _options(argv)
    try:
        recording = Recording(options.file, options.until if options.show is None else options.show)
    except TapeError as error:
        say(f"replay: {error}")
        return UNUSABLE
    recording.learn()
    if options.show is not None:
        return _show(recording, options.show)
    if not recording.is_whole and options.until is None:
        last = recording.entries[-1]["n"]
        show(f"replay: the recording ends with state {last}: smpmake was killed")
    player = Player(recording)
    difference = player.play(options.until)
    if difference is not None:
        for line in told(difference, _names(recording)):
            show(line)
        return DIFFERS
    figures = player.figures
    for count in range(options.repeat):  # these compare nothing: that would be measured, too
        again = Player(recording, compares=False)
        assert again.play(options.until) is None
        if count == 0 or again.figures.cpu < figures.cpu:
            figures = again.figures
    if options.calls:
        figures.calls = _calls(recording, options.until)
    for line in _figures(figures, options.repeat):
        show(line)
    return SAME


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "replay",
        description="Play a recording that `smpmake --record FILE` has made.  Status 0: the engine "
        "does the same; 1: it does something else; 2: the recording cannot be used.",
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--until", type=int, metavar="N", help="play through state N")
    parser.add_argument("--show", type=int, metavar="N", help="print state N as it was recorded")
    parser.add_argument(
        *("--repeat", "-n"), type=int, default=0, metavar="K", help="measure: play K times more"
    )
    parser.add_argument("--calls", action="store_true", help="count calls of Python functions")
    options = parser.parse_args(argv)
    if options.repeat < 0:
        parser.error("--repeat: K must be at least 0")
    return options


def _show(recording: Recording, number: int) -> int:
    row = next((row for row in recording.entries if row["n"] == number), None)
    if row is None:
        last = recording.entries[-1]["n"]
        say(f"replay: there is no state {number}; the last one is {last}")
        return UNUSABLE
    names = _names(recording)
    show(f"state {number}: {row['kind']} {_text(row['data'], names)}")
    for question, answer in row["answers"].items():
        show(f"  asked  {question} -> {_text(answer, names)}")
    for action in row["actions"]:
        show(f"  did    {_text(action, names)}")
    return SAME


# ------------------------------------------------------------------ for people


def _names(recording: Recording) -> dict[str, str]:
    """By their hashes on the board: names of what commands read and make."""
    found: dict[str, str] = {}
    for row in recording.entries:
        for action in row["actions"]:
            if action[0] == "issued":
                for path in (*action[1].get("outputs", ()), *action[1].get("inputs", ())):
                    found[f"{path_hash(path):08x}"] = os.path.basename(path)
    return found


def told(difference: Difference, names: Mapping[str, str]) -> list[str]:
    """A difference, for people."""
    row = difference.entry
    number = row["n"]
    lines = [f"first difference: state {number}: {row['kind']} {_text(row['data'], names)[:400]}"]
    lines += [f"  {line}" for line in difference.why.splitlines()]
    more = list(difference.more)
    for action in difference.missing:
        twin = next((each for each in more if each[:2] == action[:2]), None)
        twin = twin or next((each for each in more if each[0] == action[0]), None)
        if twin is None:
            lines.append(f"  only recorded: {_text(action, names)}")
            continue
        more.remove(twin)
        lines += [f"  {line}" for line in _unlike(action, twin, names)]
    lines += [f"  only replayed: {_text(action, names)}" for action in more]
    hidden = len(lines) - _MOST
    if hidden > 0:
        lines[_MOST:] = [f"  ({hidden} more lines)"]
    return [*lines, f"the whole of it as it was recorded: --show {number}"]


def _unlike(one: list[Any], other: list[Any], names: Mapping[str, str]) -> Iterator[str]:
    """In what two actions of a kind differ."""
    yield f"{one[0]} {one[1] if isinstance(one[1], str | int) else ''}".rstrip()
    for at, (mine, its) in enumerate(zip(one, other, strict=False)):
        if isinstance(mine, dict) and isinstance(its, dict):
            for key in dict.fromkeys((*mine, *its)):
                if mine.get(key) != its.get(key):
                    first, second = _apart(mine.get(key), its.get(key))
                    yield f"  {key} recorded: {_text(first, names)}"
                    yield f"  {key} replayed: {_text(second, names)}"
        elif mine != its:
            yield f"  [{at}] recorded: {_text(mine, names)}"
            yield f"  [{at}] replayed: {_text(its, names)}"


def _apart(one: Any, other: Any) -> tuple[Any, Any]:
    """Of two lists what only one of them has."""
    if isinstance(one, list) and isinstance(other, list):
        return [each for each in one if each not in other], [e for e in other if e not in one]
    return one, other


def _text(value: Any, names: Mapping[str, str]) -> str:
    def named(found: re.Match[str]) -> str:
        name = names.get(found[1])
        return f'"{found[1]} ({name}) ' if name else found[0]

    return _HASH.sub(named, json.dumps(value).replace("\\u0000", " "))


def _figures(figures: Figures, repeat: int) -> list[str]:
    commands = max(1, figures.commands)
    least = f", the least of {repeat} replays" if repeat else ", comparing included"
    lines = [
        f"no difference in {figures.entries} states, {figures.commands} commands",
        f"CPU        {figures.cpu:.3f} s, {figures.cpu / commands * 1e6:.0f} us a command{least}",
        f"questions  {figures.questions}, {figures.questions / commands:.1f} a command",
    ]
    if figures.calls:
        lines.append(f"calls      {figures.calls}, {figures.calls / commands:.0f} a command")
    return lines


def _calls(recording: Recording, until: int | None) -> int:
    """How many Python functions the engine calls."""
    count = 0

    def called(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        if event == "call" and "/recording/" not in frame.f_code.co_filename:
            count += 1

    player = Player(recording, compares=False)
    profile: Callable[..., None] = called
    sys.setprofile(profile)
    try:
        assert player.play(until) is None
    finally:
        sys.setprofile(None)
    return count
