"""`python -m tests.packages.corpus [NAME...]`: build the corpus, compare, print a table.

Words after `--` are options of smpmake's.  The status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import fetch
from .project import Project
from .projects import PROJECTS, chosen
from .trials import Result, Timing, Trial, stand
from .verdicts import Verdict, verdicts
from .workshop import SerialBuildError

HEADER = (
    *("package", "driver", "version", "serial, s", "driver's -j2, s", "smpmake, s", "speed-up"),
    *("files compared", "not compared", "differences", "deferred", "foreground"),
)
SHOWN = 12
"""How many of a step's differences are printed."""
WIDTH = 200


@dataclass(frozen=True)
class Report:
    """What became of one project; `reason` says why there is nothing to say."""

    project: Project
    reason: str = ""
    serial: float = 0.0
    parallel: Timing | None = None
    cold: Result | None = None
    verdicts: tuple[Verdict, ...] = ()

    @property
    def differences(self) -> int:
        """In all steps."""
        return sum(len(verdict.problems) for verdict in self.verdicts)


def program() -> Path:
    """The smpmake under test: the one installed beside this Python."""
    return Path(sys.executable).with_name("smpmake")


def seconds(serial: Sequence[Trial]) -> float:
    """Of a serial build from nothing."""
    return sum(trial[0].seconds for trial in serial) / len(serial)


def report(project: Project, options: Sequence[str], chosen: argparse.Namespace) -> Report:
    """Do everything with one project."""
    try:
        with stand(project) as place:
            serial = place.serial(fresh=chosen.fresh)
            known = Report(project, serial=seconds(serial))
            if chosen.serial_only:
                return known
            parallel = None if chosen.no_parallel else place.in_parallel()
            place.forget()
            trial = place.trial([str(program()), *options])
            found = tuple(verdicts(place, trial))
            return Report(project, "", known.serial, parallel, trial[0], found)
    except (fetch.UnavailableError, fetch.CorruptError, SerialBuildError) as error:
        return Report(project, reason=str(error))


def row(report: Report) -> tuple[str, ...]:
    """A report as cells of the table."""
    start = (report.project.name, report.project.driver, report.project.source.version)
    if report.reason:
        return (*start, report.reason.splitlines()[0], *[""] * (len(HEADER) - 4))
    cold = report.cold
    if cold is None:
        return (*start, f"{report.serial:.1f}", *[""] * (len(HEADER) - 4))
    counts = cold.counts or ("", "")
    first = report.verdicts[0]
    return (
        *start,
        f"{report.serial:.1f}",
        _parallel(report.parallel),
        f"{cold.seconds:.1f}",
        f"{report.serial / cold.seconds:.2f}",
        str(first.compared),
        str(first.hidden),
        _differences(report),
        *(str(count) for count in counts),
    )


def _parallel(timing: Timing | None) -> str:
    if timing is None:
        return ""
    return f"{timing.seconds:.1f}" if timing.status == 0 else f"fails ({timing.status})"


def _differences(report: Report) -> str:
    found = [
        f"{len(verdict.problems)} {verdict.step.name}"
        for verdict in report.verdicts
        if verdict.problems
    ]
    return ", ".join(found) or "0"


def lines(cells: Sequence[str]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


def details(report: Report) -> str:
    """What differs, step by step."""
    text = [f"{report.project.name}: {report.reason}"] if report.reason else []
    for verdict in report.verdicts:
        if verdict.problems:
            text.append(explained(report.project, verdict))
    return "\n".join(text)


def explained(project: Project, verdict: Verdict) -> str:
    """A verdict's first problems."""
    step, problems = verdict.step, verdict.problems
    more = [f"... and {len(problems) - SHOWN} more"] if problems[SHOWN:] else []
    title = f"{project.name}, {step.name} ({step.meaning}): {len(problems)} differences"
    return "\n  ".join([title, *(line[:WIDTH] for line in problems[:SHOWN]), *more])


def arguments(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """What the user asked for, and the options for smpmake."""
    ours: list[str] = words
    theirs: list[str] = []
    if "--" in words:
        at = words.index("--")
        ours, theirs = words[:at], words[at + 1 :]
    parser = argparse.ArgumentParser(prog="corpus", description=__doc__)
    parser.add_argument("name", nargs="*", help="projects; all but the slow ones without a name")
    parser.add_argument("--list", action="store_true", help="name the projects and end")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the table there too")
    parser.add_argument("--serial-only", action="store_true", help="fetch and build serially only")
    parser.add_argument("--no-parallel", action="store_true", help="leave out the driver's own -j2")
    parser.add_argument("--fresh", action="store_true", help="do the serial builds anew")
    return parser.parse_args(ours), theirs


def main(words: list[str]) -> int:
    """0 if every project was built and nothing differs."""
    wanted, options = arguments(words)
    if wanted.list:
        for project in PROJECTS:
            print(f"{project.name:<16}{project.driver}{' (slow)' if project.slow else ''}")
        return 0
    try:
        projects = chosen(wanted.name)
    except KeyError as error:
        print(f"corpus: no such project: {error.args[0]}", file=sys.stderr)
        return 2
    table = [lines(HEADER), lines(["---"] * len(HEADER))]
    print("\n".join(table), flush=True)
    reports = []
    for project in projects:
        reports.append(report(project, options, wanted))
        table.append(lines(row(reports[-1])))
        print(table[-1], flush=True)
    text = "\n\n".join(filter(None, map(details, reports)))
    if text:
        print(f"\n{text}")
    if wanted.table:
        wanted.table.write_text("\n".join(table) + "\n")
    return int(any(one.reason or one.differences for one in reports))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
