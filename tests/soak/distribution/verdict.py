"""What is told of a package: a line of the results."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

Spent = tuple[float, float]
_NOTHING: Spent = (0.0, 0.0)


@dataclasses.dataclass
class Verdict:
    """One package on one suite.

    skipped       why it could not be built plainly here, or "".
    serial        why more jobs of make do not help its plain build: "no -j", ".NOTPARALLEL", or "".
    files         paths that the plain build leaves.
    unlike        paths in which plain builds differ: they are not compared.
    plain, parallel, smpmake, again   s of wall and of CPU: plain -j1, plain -j2, the first under
                  smpmake, the second.
    commands, deferred, in_place, given   commands of the first, those in the background, those in
                  place by reason; those of the second that were given back.
    tests         how long dh_auto_test took plainly, s; 0 if it was not compared.
    differences   what differs from the plain build, by step.
    """

    name: str
    suite: str
    version: str = ""
    skipped: str = ""
    system: str = ""
    language: str = ""
    serial: str = ""
    files: int = 0
    unlike: int = 0
    plain: Spent = _NOTHING
    parallel: Spent = _NOTHING
    smpmake: Spent = _NOTHING
    again: Spent = _NOTHING
    commands: int = 0
    deferred: int = 0
    in_place: dict[str, int] = dataclasses.field(default_factory=dict)
    given: int = 0
    tests: float = 0.0
    differences: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    def line(self) -> str:
        """As JSON."""
        return json.dumps(dataclasses.asdict(self))


def verdicts(path: Path) -> list[Verdict]:
    """Those in a file, of each package and suite the last one."""
    found = [Verdict(**json.loads(line)) for line in path.read_text().splitlines()]
    return list({(each.name, each.suite): each for each in found}.values())


def table(found: list[Verdict]) -> str:
    """Markdown: a row for each that was built."""
    heads = (
        *("package", "suite", "version", "files", "plain, CPU s", "smpmake's, CPU s"),
        *("again, CPU s", "in the background", "given", "differences"),
    )
    rows = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for each in found:
        if each.skipped and not each.differences:
            continue
        cells = (
            *(each.name, each.suite, each.version, str(each.files)),
            *(f"{cpu:.1f}" for _, cpu in (each.plain, each.smpmake, each.again)),
            *(f"{each.deferred} of {each.commands}", f"{each.given}"),
            ", ".join(each.differences) or "none",
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)
