"""What stops a package's driver where slots are no matter: its longest stalls, printed."""

from __future__ import annotations

import json
import os
import random
import shutil
from typing import Any

from tests.packages import fetch
from tests.packages.corpus import program
from tests.packages.project import Project
from tests.packages.trials import Stand, stand
from tests.packages.workshop import SerialBuildError
from tests.soak.corpus import CannotBuildError, PackageSection

SLOTS = 4 * (os.cpu_count() or 1)
"""So many that no stall is the lack of one."""
SHOWN = 5


class Waits(PackageSection):
    """Each package once, as on a machine that has not seen it."""

    name = "waits"
    things = "builds"

    def build(self, project: Project, dice: random.Random) -> int:
        """See PackageSection."""
        try:
            with stand(project) as place:
                place.serial()
                found = longest(place)
        except (fetch.UnavailableError, fetch.CorruptError, SerialBuildError) as error:
            raise CannotBuildError(str(error)) from error
        print("\n".join([f"waits: {project.name}:{'' if found else ' none'}", *found]), flush=True)
        return 1


def longest(place: Stand) -> list[str]:
    """A line for each of the longest stalls of the package's build, the longest first."""
    place.forget()
    place.lay_out()
    for command in place.project.build:
        ended = place.run([str(program()), "-j", str(SLOTS), "--memo=off", *command])
        assert ended.status == 0, f"{place.project.name}: {ended.output[-3000:]}"
    said = place.run([str(program()), "report", "--json"])
    assert said.status == 0, said.output
    report = json.loads(said.output)
    shutil.rmtree(place.folder, ignore_errors=True)
    commands = {command["number"]: command for command in report["commands"]}
    stalls = [stall for stall in report["stalls"] if stall["end"] is not None]
    stalls.sort(key=lambda stall: stall["start"] - stall["end"])
    return [_line(stall, commands) for stall in stalls[:SHOWN]]


def _line(stall: dict[str, Any], commands: dict[int, dict[str, Any]]) -> str:
    behind = commands.get(stall["waited_for"])
    what = f"{behind['tool']} {' '.join(behind['outputs'])}" if behind else "a slot"
    seconds = stall["end"] - stall["start"]
    line = f"  {seconds:6.2f} s  {stall['who']} {stall['cause']} {stall['path']}: {what}"
    return line.encode(errors="backslashreplace").decode()
