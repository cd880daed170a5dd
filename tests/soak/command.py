"""The command line of `scripts/soak`.

Trials drawn from seeds, until the time is up, all are done or somebody interrupts it; then a table
of this run.  Status 1 if anything was found, or nothing could be tried; each finding comes with
the command that does the same again.  Totals are kept, and the next run goes on where this one
stopped.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from smpmake import folders
from tests.packages.projects import chosen
from tests.soak import ledger
from tests.soak.attacks import subjects
from tests.soak.attacks.section import Attacks
from tests.soak.builds import Environments, Kills, Programs
from tests.soak.configure import Configured
from tests.soak.corpus import Chaos, PackageSection
from tests.soak.distribution.section import Distribution, listed
from tests.soak.fuzz import Arguments, Inputs, Wire
from tests.soak.loop import Loop
from tests.soak.remembered import Remembered
from tests.soak.section import Section
from tests.soak.trees import Undo
from tests.soak.waits import Waits

#: What a word of the command line stands for, where it stands for several sections.
GROUPS = {"fuzz": (Wire.name, Arguments.name, Environments.name, Inputs.name)}
KINDS: tuple[type[Section], ...] = (
    *(
        Chaos,
        Remembered,
        Configured,
        Waits,
        Programs,
        Kills,
        Undo,
        Wire,
        Arguments,
        Environments,
        Inputs,
        Attacks,
        Distribution,
    ),
)
NAMES = [kind.name for kind in KINDS]
#: Takes root, a Debian's archive and hours, so it is tried only by name.
USUAL = [name for name in NAMES if name != Distribution.name]

#: s that a trial under way has when the time is up.
_PATIENCE = 120


def parser() -> argparse.ArgumentParser:
    """What may be asked for."""
    found = argparse.ArgumentParser(
        prog="soak", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    words = ", ".join([*NAMES, *(f"{name} ({' '.join(of)})" for name, of in GROUPS.items())])
    found.add_argument(
        "section", nargs="*", metavar="SECTION", help=f"of {words}; default: all but packages"
    )
    found.add_argument("--minutes", type=_positive(float), help="end after so long")
    found.add_argument("--tries", type=_positive(int), help="so many of each section")
    found.add_argument("--seed", type=int, help="begin there, and add nothing to the totals")
    found.add_argument(
        "--package", action="append", default=[], help="for chaos, memo and waits; may be repeated"
    )
    found.add_argument("--case", action="append", default=[], help="for attacks; may be repeated")
    found.add_argument("--only", action="append", default=[], help="for packages; may be repeated")
    found.add_argument("--list", type=Path, metavar="FILE", help="for packages: their names")
    found.add_argument("--state", type=Path, metavar="FILE", help="where the totals are kept")
    found.add_argument("--table", action="store_true", help="print the totals, and try nothing")
    return found


def _positive(kind: Callable[[str], float]) -> Callable[[str], float]:
    def number(text: str) -> float:
        value = kind(text)
        if value <= 0:
            raise ValueError(text)
        return value

    number.__name__ = f"positive {kind.__name__}"
    return number


def sections(
    words: Sequence[str],
    packages: Sequence[str],
    cases: Sequence[str] = (),
    names: Sequence[str] = (),
) -> list[Section]:
    """The sections that are named, each once; ValueError for a name that is none."""
    wanted: list[str] = []
    for word in words or USUAL:
        wanted += GROUPS.get(word, (word,))
    if unknown := [name for name in wanted if name not in NAMES]:
        raise ValueError(f"no such section: {' '.join(unknown)} (there are {', '.join(NAMES)})")
    if packages and not any(
        kind.name in wanted for kind in KINDS if issubclass(kind, PackageSection)
    ):
        raise ValueError("--package is for chaos, memo and waits")
    if cases and Attacks.name not in wanted:
        raise ValueError("--case is for attacks")
    if names and Distribution.name not in wanted:
        raise ValueError("--only and --list are for packages")
    try:
        projects = chosen(list(packages))
    except KeyError as error:
        raise ValueError(f"no such package: {error.args[0]}") from None
    try:
        attacks = subjects.chosen(cases)
    except KeyError as error:
        raise ValueError(f"no such case: {error.args[0]}") from None
    made: list[Section] = []
    for kind in KINDS:
        if kind.name not in wanted:
            continue
        if issubclass(kind, PackageSection):
            made.append(kind(projects))
        elif kind is Distribution:
            made.append(Distribution(names))
        else:
            made.append(Attacks(attacks) if kind is Attacks else kind())
    return made


def shown(tallies: dict[str, ledger.Tally]) -> str:
    """The table of some tallies."""
    return ledger.table(tallies, [(kind.name, kind.things) for kind in KINDS])


def main(words: Sequence[str] | None = None) -> int:
    """The status: 1 if something was found, 2 for what cannot be asked."""
    asked = parser().parse_args(words)
    path = asked.state or folders.state() / "soak.json"
    try:
        names = asked.only or (listed(asked.list) if asked.list else [])
        made = sections(asked.section, asked.package, asked.case, names)
        if asked.table:
            print(shown(ledger.load(path).sections))
            return 0
        if asked.seed is not None:
            return _tried(Loop(made, ledger.Ledger(), None, asked.seed), asked)
        with ledger.alone(path):
            return _tried(Loop(made, ledger.load(path), path), asked)
    except (ValueError, OSError, ledger.LedgerError) as error:
        print(f"soak: {error}", file=sys.stderr)
        return 2


def _tried(loop: Loop, asked: argparse.Namespace) -> int:
    loop.tries = asked.tries
    loop.seconds = None if asked.minutes is None else asked.minutes * 60
    loop.say = _say
    # Somebody may have started us with it ignored, and `timeout` asks with the other.
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = [(each, signal.getsignal(each)) for each in ends]
    for each, _ in before:
        signal.signal(each, signal.default_int_handler)
    began = time.monotonic()
    if loop.seconds is not None:
        signal.setitimer(signal.ITIMER_REAL, loop.seconds + _PATIENCE)
    try:
        loop.run()
    except KeyboardInterrupt:
        _say("interrupted")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each, handler in before:
            signal.signal(each, handler)
    told = [text for text in (each.summary() for each in loop.sections) if text]
    minutes = f"{(time.monotonic() - began) / 60:.1f} minutes:"
    _say("\n" + "\n\n".join([*told, minutes, shown(loop.tallies)]))
    empty = [name for name, tally in loop.tallies.items() if tally.tries and not tally.things]
    for name in empty:
        _say(f"{name}: nothing could be tried")
    return 1 if empty or any(tally.found for tally in loop.tallies.values()) else 0


def _say(text: str) -> None:
    """At once; what a command printed may hold any bytes."""
    print(text.encode(errors="backslashreplace").decode(), flush=True)
