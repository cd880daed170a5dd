"""From trial to trial: which comes next, what is made of what it finds."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak.ledger import Ledger, Tally
from tests.soak.section import Section, SkippedError, UnavailableError
from tests.support.findings import DifferenceError

#: Seeds begin anywhere, so that two machines do not try the same.
SEEDS = 1 << 40
SHOWN = 4000


def repeats(section: Section, seed: int) -> str:
    """The command line that does one trial again."""
    words = ["scripts/soak", "--seed", str(seed), "--tries", "1", *section.options(seed)]
    return " ".join([*words, section.name])


@dataclass
class Loop:
    """Tries sections in turn, each for as long as the others.

    seed      where every section begins; such tries are repetitions and are not kept.
    tries     how many of each section, without an end if None.
    seconds   for all of it, without an end if None; the trial under way is finished.
    """

    sections: Sequence[Section]
    ledger: Ledger
    path: Path | None
    seed: int | None = None
    tries: int | None = None
    seconds: float | None = None
    say: Callable[[str], None] = print
    #: Of this run alone.
    tallies: dict[str, Tally] = field(default_factory=dict)
    _begun: dict[str, int] = field(default_factory=dict)

    def run(self) -> None:
        """Until there is nothing more to do, or somebody interrupts it."""
        began = time.monotonic()
        left = list(self.sections)
        for section in left:
            self.tallies[section.name] = Tally(self._first(section))
            self._begun[section.name] = self.tallies[section.name].next
        try:
            while left and (self.seconds is None or time.monotonic() - began < self.seconds):
                section = min(left, key=lambda each: self.tallies[each.name].seconds)
                try:
                    self._one(section)
                except UnavailableError as error:
                    self.say(f"{section.name}: not tried: {error}")
                    left.remove(section)
                if section in left and self._is_done(section):
                    left.remove(section)
        finally:
            for section in self.sections:
                section.close()

    def _is_done(self, section: Section) -> bool:
        tally, trials = self.tallies[section.name], section.trials()
        seeds = tally.next - self._begun[section.name]
        return tally.tries == self.tries or (trials is not None and seeds >= trials)

    def _first(self, section: Section) -> int:
        if self.seed is not None:
            return self.seed
        kept = self.ledger.sections.get(section.name)
        return kept.next if kept is not None else random.SystemRandom().randrange(SEEDS)

    def _one(self, section: Section) -> None:
        tally = self.tallies[section.name]
        seed, before = tally.next, time.monotonic()
        done = differences = losses = 0
        try:
            done = section.attempt(seed)
        except SkippedError as error:
            if str(error):
                self.say(f"{section.name}: skipped: {error}")
            tally.next += 1
            tally.tries += self.seed is not None  # the very one that was asked for
            return
        except UnavailableError:
            raise
        except DifferenceError as error:
            differences = 1
            self._tell(section, seed, "difference", str(error))
        except AssertionError as error:
            losses = 1
            self._tell(section, seed, "loss", str(error) or traceback.format_exc())
        except Exception:  # a trial that cannot be judged is no good one
            losses = 1
            self._tell(section, seed, "loss", traceback.format_exc())
        spent = time.monotonic() - before
        tallies = [tally]
        if self.path is not None:
            tallies.append(self.ledger.sections.setdefault(section.name, Tally(seed)))
        for each in tallies:
            each.next = seed + 1
            each.tries += 1
            each.things += done
            each.differences += differences
            each.losses += losses
            each.seconds += spent
        if self.path is not None:
            self.ledger.save(self.path)

    def _tell(self, section: Section, seed: int, kind: str, what: str) -> None:
        command = repeats(section, seed)
        cut = what if len(what) < SHOWN else f"{what[: SHOWN // 2]}\n...\n{what[-SHOWN // 2 :]}"
        self.say(f"{section.name}, seed {seed}: {kind}: {cut}\n  again: {command}")
        if self.path is not None:
            self.ledger.findings.append(f"{kind}: {command}")
