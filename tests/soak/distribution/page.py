"""Writes docs/corpus.md's part about a distribution, and its plot, from the results.

python -m tests.soak.distribution.page RESULTS
"""

from __future__ import annotations

import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib import pyplot

from tests.soak.distribution.verdict import Verdict, verdicts
from tests.soak.section import ROOT

PAGE: Final = ROOT / "docs" / "corpus.md"
_PLOT: Final = PAGE.with_suffix(".svg")
_PART: Final = re.compile(r"(?s)(?<=<!-- packages -->\n).*(?=<!-- /packages -->)")
_SLOWEST: Final = 20
_RELEASES: Final = {"bookworm": "Debian 12", "trixie": "Debian 13"}


def wall(each: Verdict) -> float:
    """How many times as fast as plain make -j1 the first build is."""
    return each.plain[0] / each.smpmake[0]


def wall_parallel(each: Verdict) -> float:
    """The same of plain make -j2."""
    return each.plain[0] / each.parallel[0]


def cpu(each: Verdict) -> float:
    """CPU time of the first build over plain make -j1."""
    return each.smpmake[1] / each.plain[1]


def again(each: Verdict) -> float:
    """CPU time of the second build over plain make -j1."""
    return each.again[1] / each.plain[1]


def part(found: list[Verdict]) -> str:
    """What docs/corpus.md says of them."""
    return "\n".join([*_lines(found), ""])


def _built(found: list[Verdict]) -> list[Verdict]:
    """Those that have all figures."""
    return [each for each in found if not each.skipped and any(each.again)]


def _lines(found: list[Verdict]) -> Iterator[str]:
    built = _built(found)
    compared = [each for each in found if not each.skipped or each.differences]
    releases = " and ".join(sorted({_RELEASES[each.suite] for each in compared}))
    names = {each.name for each in compared}
    unlike = {each.name for each in compared if each.differences}
    files = sum(each.files - each.unlike for each in compared)
    yield (
        f"smpmake builds {len(names - unlike)} of {len(names)} source packages of {releases} like "
        f"the plain build: {files:,} files of {len(compared)} builds are the same."
    )
    yield ""
    yield from _table(built)
    yield ""
    languages = Counter(each.language for each in built if each.language).most_common()
    yield f"Languages: {', '.join(f'{name} {count}' for name, count in languages)}."
    yield ""
    yield f"![How many packages are how many times as fast as make -j1]({_PLOT.name})"
    yield ""
    yield f"The {_SLOWEST} slowest against `make -j2`:"
    yield ""
    yield "| package | built by | `make -j2`, s | smpmake, s | in the background |"
    yield "| --- | --- | --- | --- | --- |"
    slowest: dict[str, Verdict] = {}  # by name: on the suite where it is slower
    for each in sorted(built, key=lambda each: each.parallel[0] / each.smpmake[0]):
        slowest.setdefault(each.name, each)
    for each in list(slowest.values())[:_SLOWEST]:
        seconds = f"{each.parallel[0]:.1f} | {each.smpmake[0]:.1f}"
        share = each.deferred / max(1, each.commands)
        yield f"| {each.name} | {each.system} | {seconds} | {share:.0%} |"
    yield ""
    reasons = Counter[str]()
    for each in built:
        reasons.update(each.in_place)
    total = sum(each.commands for each in built)
    told = ", ".join(f"{name} {count / total:.0%}" for name, count in reasons.most_common(4))
    yield f"Reasons for commands in place, of {total:,} commands: {told}."
    if unlike:
        yield ""
    for each in compared:
        if each.differences:
            what = {
                line.partition(": ")[0] for lines in each.differences.values() for line in lines
            }
            steps, subjects = ", ".join(each.differences), ", ".join(sorted(what)[:3])
            yield f"- {each.name} ({each.suite}; {steps}): {subjects}"


def _table(built: list[Verdict]) -> Iterator[str]:
    heads = (
        *("built by", "builds", "in the background", "speed-up", "of make -j2"),
        *("CPU, first build", "CPU, second"),
    )
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    groups: dict[str, list[Verdict]] = {}
    for name, _ in Counter(each.system for each in built).most_common():
        groups[name] = [each for each in built if each.system == name]
    for name, serial in (("make without -j", "no -j"), ("`.NOTPARALLEL`", ".NOTPARALLEL")):
        groups[name] = [each for each in built if each.serial == serial]
    for name, group in {**groups, "all": built}.items():
        if not group:
            continue
        commands = sum(each.commands for each in group)
        share = sum(each.deferred for each in group) / commands if commands else 0
        figures = (
            *(str(len(group)), f"{share:.0%}"),
            *(f"{statistics.median(map(of, group)):.2f}" for of in (wall, wall_parallel)),
            *(_spread(map(of, group)) for of in (cpu, again)),
        )
        yield f"| {name} | {' | '.join(figures)} |"


def _spread(values: Iterable[float]) -> str:
    """Median, and the tenth that is worst."""
    found = sorted(values)
    if len(found) < 10:
        return f"{statistics.median(found):.2f}"
    return f"{statistics.median(found):.2f} ({statistics.quantiles(found, n=10)[-1]:.2f})"


def plot(found: list[Verdict], path: Path) -> None:
    """Draws the speed-ups of all packages, from the least to the greatest."""
    built = _built(found)
    mpl.rcParams["svg.hashsalt"] = "smpmake"  # the same each time
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for of, name in ((wall, "smpmake"), (wall_parallel, "make -j2")):
        values = sorted(map(of, built))
        axes.step([100 * at / len(values) for at in range(len(values))], values, label=name)
    axes.axhline(1, color="grey", linewidth=0.5)
    axes.set_xlabel("percent of the packages")
    axes.set_ylabel("times as fast as make -j1")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main(results: str) -> None:
    """Writes both."""
    found = verdicts(Path(results))
    text = PAGE.read_text()
    PAGE.write_text(_PART.sub(lambda _: part(found), text))
    plot(found, _PLOT)


if __name__ == "__main__":
    main(sys.argv[1])
