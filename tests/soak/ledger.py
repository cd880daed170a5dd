"""What has been tried so far, in a file that repeated runs add to; and the table of it."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

FORMAT = 1


class LedgerError(Exception):
    """The file cannot be used; the message says why."""


@dataclass
class Tally:
    """Totals of one section; `next` is the seed to go on with."""

    next: int
    tries: int = 0
    things: int = 0
    differences: int = 0
    losses: int = 0
    seconds: float = 0.0

    @property
    def found(self) -> int:
        """Differences and losses."""
        return self.differences + self.losses


@dataclass
class Ledger:
    """Tallies by section, and the commands that repeat what was found."""

    sections: dict[str, Tally] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Writes it in one piece."""
        data = {
            "format": FORMAT,
            "sections": {name: asdict(tally) for name, tally in self.sections.items()},
            "findings": self.findings,
        }
        new = path.with_name(f"{path.name}.new")
        new.write_text(json.dumps(data, indent=1) + "\n")
        new.rename(path)


def load(path: Path) -> Ledger:
    """The ledger in a file; an empty one if there is none."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return Ledger()
    except OSError as error:
        raise LedgerError(f"{path}: {error.strerror}") from None
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise LedgerError(f"{path}: format {data['format']}, this is {FORMAT}")
        sections = {name: Tally(**tally) for name, tally in data["sections"].items()}
        return Ledger(sections, list(data["findings"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise LedgerError(f"{path}: not a file of totals ({error!r})") from None


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keeps others from adding to the same file meanwhile."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path.with_name(f"{path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise LedgerError(f"{path}: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise LedgerError(f"{path}: another run is adding to it (--state names one)") from None
    finally:
        os.close(lock)


def table(tallies: Mapping[str, Tally], words: Iterable[tuple[str, str]]) -> str:
    """Markdown.  words: for each section its name, and what its tries consist of."""
    rows = [
        "| section | tries | in all | differences | losses | hours |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, things in words:
        tally = tallies.get(name)
        if tally is None:
            continue
        cells = (name, f"{tally.tries:,}", f"{tally.things:,} {things}")
        hours = f"{tally.seconds / 3600:.2f}"
        rows.append(f"| {' | '.join(cells)} | {tally.differences} | {tally.losses} | {hours} |")
    return "\n".join(rows)
