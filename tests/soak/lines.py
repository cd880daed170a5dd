"""Random command lines for the analyses: `python -m tests.soak.lines SEED COUNT`.

A process of its own, so that one without an end can be told.  Ends with 0, or shows the line.
"""

from __future__ import annotations

import random
import sys

from tests.commands.any_argv import KNOWN, OPERANDS, TAILS, TOOLS, check

#: Characters that mean something to one of the analyses, and some that mean nothing.
LETTERS = "abcxo.-=,@/+*{}()'\"\\ \t\n%~:;#$&|<>!?0189éÿ\udcff\u2028"


def word(dice: random.Random) -> str:
    """One word: of an option table, of a list of operands, both glued together, or any letters."""
    kind = dice.randrange(5)
    if kind == 0:
        return "".join(dice.choice(LETTERS) for _ in range(dice.randrange(12)))
    if kind == 1:
        return dice.choice(KNOWN) + dice.choice(TAILS)
    if kind == 2:
        return dice.choice(KNOWN) + dice.choice(OPERANDS)
    return dice.choice(OPERANDS if kind == 3 else KNOWN)


def line(dice: random.Random) -> list[str]:
    """A whole command line, perhaps behind a launcher, perhaps of no tool at all."""
    tool = dice.choice(TOOLS) if dice.random() < 0.97 else word(dice)
    before = ["ccache"] if dice.random() < 0.1 else []
    return [*before, tool, *(word(dice) for _ in range(dice.randrange(12)))]


def main(seed: str, count: int) -> int:
    """Analyses so many; the status."""
    dice = random.Random(f"lines {seed}")
    for _ in range(count):
        argv = line(dice)
        try:
            check(argv)
        except BaseException:
            print(f"the command line {argv!r}", file=sys.stderr)
            raise
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
