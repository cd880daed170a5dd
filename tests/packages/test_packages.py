"""Real packages under smpmake: the same result as plain make's, whatever happens on the way.

The oracle is plain make, run serially in the same folder.  What two such builds do not agree on is
not compared.  Run these with `pytest -m packages tests/packages`; `scripts/fetch-packages` fetches
the packages beforehand and installs the tools they need.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from .builds import Outcome, build, running
from .catalogue import Package
from .conftest import PackageRun
from .trees import Entries, Snapshot, changes, differences, renamed, strangers
from .workshop import ERROR, Idle, Workshop, lines

pytestmark = [pytest.mark.packages, pytest.mark.timeout(1800)]

INTERRUPTED = -signal.SIGINT
END_SECONDS = 60
"""How long an interrupted build may take for its end."""
WIDTH = 160
"""How much of a line is shown."""
LAST_LINES = 15
"""Where on stderr the failing command is looked for."""


@dataclass(frozen=True)
class Built:
    """A build from scratch, and what plain make then found to do."""

    outcome: Outcome
    tree: Snapshot
    idle: Idle


@pytest.fixture(scope="session")
def all_cold() -> dict[str, Built]:
    """By package.  Not one fixture a package: who runs several tests at once may get a new one."""
    return {}


@pytest.fixture
def cold(
    workshop: Workshop, smpmake: str, package_run: PackageRun, all_cold: dict[str, Built]
) -> Built:
    """The package built from scratch under smpmake, once for several tests."""
    if workshop.package.name in all_cold:
        return all_cold[workshop.package.name]
    serial = sum(workshop.baseline.seconds) / 2
    workshop.restore("pristine")
    outcome = build([smpmake, *workshop.package.make], workshop.folder)
    tree = workshop.snapshot()
    if outcome.status == 0:
        package_run.times[workshop.package.name] = (serial, outcome.seconds)
    built = all_cold[workshop.package.name] = Built(outcome, tree, workshop.idle())
    return built


def assert_none(problems: Sequence[str], what: str, outcome: Outcome | None = None) -> None:
    """Fail with the first of the problems, and with the end of the build's output."""
    if not problems:
        return
    shown = [*problems[:20], *([f"... and {len(problems) - 20} more"] if problems[20:] else [])]
    if outcome is not None:
        shown += ["--- the end of the output:", *outcome.output.splitlines()[-20:]]
    pytest.fail("\n".join([what, *(line[:WIDTH] for line in shown)]), pytrace=False)


def assert_clean_end(outcome: Outcome) -> None:
    """Nothing outlives smpmake: no process, no socket, no temporary file (P9)."""
    assert_none([*outcome.left, *outcome.litter], "left behind:", outcome)


def assert_serial_result(workshop: Workshop, outcome: Outcome, tree: Snapshot) -> None:
    """The command succeeded and the tree is the serial one."""
    assert outcome.status == 0, outcome.output[-3000:]
    expected = workshop.lens.view(workshop.baseline.built.entries)
    found = differences(expected, workshop.lens.view(tree.entries))
    assert_none(found, "not as after a serial build:", outcome)


def assert_plain_make_completes(workshop: Workshop) -> None:
    """Plain make brings about the serial result from what is there."""
    outcome = workshop.make()
    assert outcome.status == 0, outcome.output[-3000:]
    found = strangers_seen(workshop, workshop.snapshot(), complete_trees(workshop))
    assert_none(found, "not as after a serial build:", outcome)


def complete_trees(workshop: Workshop) -> list[Entries]:
    """The tree after a serial build, and after another one on top that had nothing to do."""
    return [workshop.baseline.built.entries, workshop.baseline.settled.entries]


def strangers_seen(workshop: Workshop, tree: Snapshot, allowed: Sequence[Entries]) -> list[str]:
    """The strangers that are seen through the lens."""
    view = workshop.lens.view
    return strangers(view(tree.entries), [view(entries) for entries in allowed])


def test_a_cold_build_gives_the_serial_result(workshop: Workshop, cold: Built) -> None:
    """P1, P9."""
    assert_serial_result(workshop, cold.outcome, cold.tree)
    for program in workshop.package.programs:
        entry = cold.tree.entries.get(program)
        assert entry and entry.mode & 0o111, f"{program}: is no program: {entry}"
    assert_clean_end(cold.outcome)


def test_no_output_is_lost(workshop: Workshop, cold: Built) -> None:
    """P8: every line that serial builds print is there, as often; smpmake may add its own."""
    lost = Counter(workshop.baseline.lines) - lines(cold.outcome)
    assert_none([repr(line) for line in lost], "lines lost:", cold.outcome)


def test_plain_make_finds_nothing_to_do(workshop: Workshop, cold: Built) -> None:
    """P7: it does what it does after a serial build, which for most packages is nothing."""
    assert cold.idle == workshop.baseline.idle


def test_a_touched_source_rebuilds_what_depends_on_it(workshop: Workshop, smpmake: str) -> None:
    """P1, P7: the same files are written again, with the same bytes."""
    before = workshop.restore("built")
    workshop.touch()
    outcome = build([smpmake, *workshop.package.make], workshop.folder)
    after = workshop.snapshot()
    assert outcome.status == 0, outcome.output[-3000:]
    serial = workshop.lens.view(workshop.baseline.touched.entries)
    found = differences(serial, workshop.lens.view(after.entries))
    assert_none(found, "not as after a serial rebuild:", outcome)
    assert changes(before, after) == set(workshop.baseline.touched_changes)
    assert_clean_end(outcome)
    assert workshop.idle() == workshop.baseline.touched_idle


def test_an_error_stops_the_build(workshop: Workshop, smpmake: str) -> None:
    """P2, P3: it is told, nothing is built from it, and plain make goes on once it is mended.

    When the error is noticed the driver has gone further than a serial one would have.  So a file
    may be as after the failed serial build, or already as after a complete one.
    """
    before = workshop.start_over()
    workshop.break_source()
    outcome = build([smpmake, *workshop.package.make], workshop.folder)
    after = workshop.snapshot()
    assert outcome.status != 0, outcome.output[-3000:]
    assert_error_is_told(workshop.package, outcome)
    assert_nothing_half_done(workshop, after, workshop.baseline.broken.entries, outcome)
    assert_nothing_built_from_the_error(workshop, before, after)
    assert_clean_end(outcome)
    workshop.mend_source()
    assert_plain_make_completes(workshop)


def assert_error_is_told(package: Package, outcome: Outcome) -> None:
    """The compiler's message once for each command that met it, and the source named last."""
    told = outcome.output.count(f"error: {ERROR}")
    assert 1 <= told <= len(package.fault.objects), outcome.output[-3000:]
    last = "\n".join(outcome.stderr.splitlines()[-LAST_LINES:])
    assert os.path.basename(package.fault.source) in last, last


def assert_nothing_half_done(
    workshop: Workshop, tree: Snapshot, other: Entries, outcome: Outcome
) -> None:
    """Every file is as in the other tree or as in the complete one, renamed or about to be."""
    passing = about_to_be_renamed(workshop)
    other = {path: entry for path, entry in other.items() if path not in passing}
    complete = [passing | entries for entries in complete_trees(workshop)]
    found = strangers_seen(workshop, tree, [other, *complete])
    assert_none(found, "half done:", outcome)


def about_to_be_renamed(workshop: Workshop) -> Entries:
    """The files that bear another name until they are complete, under that name."""
    passing: Entries = {}
    for item in workshop.package.passing:
        passing |= renamed(workshop.baseline.built.entries, item.kept, item.written)
    return passing


def assert_nothing_built_from_the_error(
    workshop: Workshop, before: Snapshot, after: Snapshot
) -> None:
    """What depends on the broken source is what the serial build leaves of it."""
    changed = changes(before, after)
    fault = workshop.package.fault
    for path in fault.objects + fault.results:
        serial = workshop.baseline.broken.entries.get(path)
        assert after.entries.get(path) == serial, path
        assert (path in changed) == (path in workshop.baseline.broken_changes), path


def test_an_interrupted_build_resumes(workshop: Workshop, smpmake: str) -> None:
    """P2, P3, P9: whatever exists after Ctrl-C is old or complete, and plain make does the rest."""
    before = workshop.start_over()
    with running([smpmake, *workshop.package.make], workshop.folder) as run:
        while not workshop.witnessed(before):
            assert not run.glance(), "the build ended before it could be interrupted"
        run.interrupt()
        outcome = run.finish(END_SECONDS)
    after = workshop.snapshot()
    assert outcome.status == INTERRUPTED, outcome.output[-3000:]
    assert_clean_end(outcome)
    assert_nothing_half_done(workshop, after, with_products_gone(workshop, before, after), outcome)
    assert_plain_make_completes(workshop)


def with_products_gone(workshop: Workshop, before: Snapshot, after: Snapshot) -> Entries:
    """The tree before the build, less the products of an earlier one that it took away.

    A stale product goes when its command starts, so it may be missing after an interruption; a file
    that is there without any build may not.
    """
    sources = workshop.baseline.pristine.entries
    return {
        path: entry
        for path, entry in before.entries.items()
        if path in sources or path in after.entries
    }
