"""Random small programs of file operations and compilations, and a driver that runs them.

As a module: what a program is and how one is drawn.  As a script (`programs.py FILE`): runs the
programs in a JSON file, each in a folder of its own, writing down what it saw; this is what is run
plainly as the oracle, and then under smpmake.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

SOURCES = ("a.c", "b.c", "c.c")
HEADERS = ("h.h", "i.h")
PRODUCTS = ("x.o", "y.o", "z.o", "d/x.o", "d/w.o")
PROGRAMS = ("p", "q")
COPIES = ("k.o", "d/k.o")  # no links to these, which cp would refuse to write
FOLDERS = (".", "d")
#: What a shell is told to print into a file, and whether that file is one command's alone.
SHELL = (
    "cat {0} > {1}; :",
    "sed s/1/2/ {0} > {1} && :",
    "set -e; sed -e 's/</(/' {0} > {1}; test -e {1}",
    "cat {0} {0} > {1}; cat {1} > d/t; rm d/t",
    "{{ cat {0}; echo end; }} > {1}; :",
    "( sed s/1/2/ {0}; cat {0} ) > {1}; :",
    "cat {0} >> {1}; :",
    "sed s/1/2/ {0} > t; mv t {1}",
    "cat {0} {0}.not > {1} || cat {0} > {1}",
    "if cat {0} > {1}; then :; fi",
)

#: What no compiler takes, and whose failure a program tolerates, or ends with.
BAD = "bad.c"
#: One program of so many: each wrong promise undoes the whole batch.
SOME = 64

Step = list[str]

#: More than a configure script writes (callers.is_fresh), so that compiles are deferred.
PADDING = " " * 5000


def program(seed: int, length: int = 14) -> list[Step]:
    """A program that uses only what is there at that point; its compiles fail where it says so."""
    dice = random.Random(seed)
    steps: list[Step] = [["write", name] for name in (*SOURCES[:2], *HEADERS)]
    there = {step[1] for step in steps}
    for _ in range(length):
        steps.append(_step(dice, there, seed % SOME == 0))
    return steps


def _step(dice: random.Random, there: set[str], fails: bool) -> Step:
    sources = sorted(there & set(SOURCES))
    objects = sorted(there & set(PRODUCTS))
    kind = dice.choice(
        ["compile"] * 6
        + ["try"] * (fails and dice.random() < 0.3)
        + ["stop"] * (fails and dice.random() < 0.05)
        + ["link"] * 2
        + ["print"] * 3
        + ["read", "stat", "list", "write", "remove", "rename", "append", "copy", "link to"]
    )
    if kind == "compile" and sources:
        out = dice.choice(PRODUCTS)
        there.add(out)
        return ["compile", dice.choice(sources), out]
    if kind in ("try", "stop"):
        return [kind, dice.choice([BAD, *sources]), dice.choice(("t.o", "d/t.o"))]
    if kind == "link" and objects:
        out = dice.choice(PROGRAMS)
        there.add(out)
        return ["link", out, *dice.sample(objects, min(len(objects), 2))]
    if kind == "list":
        return ["list", dice.choice(FOLDERS)]
    if kind == "stat":
        return ["stat", dice.choice((*SOURCES, *HEADERS, *PRODUCTS, *PROGRAMS))]
    if kind == "write":
        name = dice.choice((*SOURCES, *HEADERS, *PRODUCTS))
        there.add(name)
        return ["write", name]
    name = dice.choice(sorted(there)) if there else "a.c"
    if name in HEADERS and kind not in ("append", "read", "print"):
        return ["write", name]  # a header that comes or goes is a limit (docs/limits.md)
    if kind == "remove" and len(there) > 2:
        there.discard(name)
        return ["remove", name]
    if kind == "print":
        out = dice.choice([each for each in (*SOURCES, *PRODUCTS) if each != name])
        there.add(out)
        return ["print", name, out, dice.choice(SHELL)]
    if kind in ("rename", "copy", "link to"):
        family: tuple[str, ...] = SOURCES if name in SOURCES else PRODUCTS
        if kind == "copy":
            family = COPIES
        if kind == "link to" and name in COPIES:
            return ["read", name]
        other = dice.choice([each for each in family if each != name])
        there.add(other)
        if kind == "rename":
            there.discard(name)
        return [kind, name, other]
    return ["append" if kind == "append" else "read", name]


def run(steps: list[Step]) -> None:
    """Runs a program in the current folder; what it sees goes to the file `seen`."""
    os.mkdir("d")
    Path(BAD).write_text("!" + PADDING)
    seen = []
    for number, step in enumerate(steps):
        kind, name, *more = step
        if kind == "compile":
            subprocess.run(["gcc", "-c", name, "-o", more[0]], check=True)
        elif kind in ("try", "stop"):
            status = subprocess.run(["gcc", "-c", name, "-o", more[0]], check=False).returncode
            seen.append(f"{kind} {name}: {status}")
            if kind == "stop" and status:
                break
        elif kind == "link":
            subprocess.run(["gcc", "-o", name, *more], check=True)
        elif kind == "print":
            out, text = more
            done = subprocess.run(["sh", "-c", text.format(name, out)], check=False)
            seen.append(f"{text}: {done.returncode}")
        elif kind == "list":
            seen.append(f"{name}: {sorted(os.listdir(name))}")
        elif kind == "stat":
            seen.append(f"{name}: {os.path.exists(name)}")
        elif kind == "write":
            Path(name).write_text(f"<{number}>{PADDING}")
        elif kind == "append":
            with open(name, "a") as file:
                file.write(f"+{number}")
        elif kind == "read":
            seen.append(f"{name}: {Path(name).read_text().replace(' ', '')}")
        elif kind == "remove":
            os.unlink(name)
        elif kind == "rename":
            os.rename(name, more[0])
        elif kind == "copy":
            subprocess.run(["cp", name, more[0]], check=True)
        elif kind == "link to":
            if os.path.lexists(more[0]):
                os.unlink(more[0])
            os.link(name, more[0])
    Path("seen").write_text("\n".join(seen))


def main(file: str) -> None:
    """Runs all programs of a file."""
    base = os.getcwd()
    for number, steps in enumerate(json.loads(Path(file).read_text())):
        os.mkdir(f"p{number}")
        os.chdir(f"p{number}")
        run(steps)
        os.chdir(base)


if __name__ == "__main__":
    main(sys.argv[1])
