"""What it costs to be able to undo a build: with the journal and without (`undo = "off"`), in turn.

A section of scripts/benchmark.  $SMPMAKE_BEFORE may name another smpmake to compare with instead.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from kept import pristine  # noqa: E402

SMPMAKE = str(Path(sys.executable).parent / "smpmake")
BEFORE = os.environ.get("SMPMAKE_BEFORE")
FILES = 10_000
PROBES = 30

Row = Callable[..., None]


def undo(row: Row, rounds: int) -> None:
    """Prints the table."""
    row("build", "without", "with", "wall", "CPU", "journal, copies")
    row(*["---"] * 6)
    with tempfile.TemporaryDirectory(prefix="undo-") as name:
        place = Path(name)
        for title, folder, command, prepare in _builds(place):
            _measure(row, title, folder, command, prepare, rounds, place)
        _probes(row, place, rounds)


def _builds(place: Path) -> list[tuple[str, Path, list[str], Callable[[], None]]]:
    lua = _tree(place, "lua5.4", "5.4.4") / "src"
    xz = _tree(place, "xz-utils", "5.4.1")
    over = place / "over"
    subprocess.run(["cp", "-a", xz, over], check=True)
    _quiet(["make", "-j2"], over)
    header = over / "src/liblzma/api/lzma/base.h"
    small = place / "small"
    small.mkdir()
    dice = random.Random(1)
    (small / "slow.c").write_text(
        "\n".join(
            f"int f{n}(int x) {{ int s = 0; for (int i = 0; i < x; i++) s += i * {n}; return s; }}"
            for n in range(700)
        )
    )
    (small / "files.sh").write_text(
        "gcc -O2 -c slow.c\nmkdir -p out\ni=0\n"
        f"while [ $i -lt {FILES} ]; do echo $i > out/$i; i=$((i + 1)); done\n"
    )
    (small / "t").mkdir()
    for number in range(4000):
        (small / "t" / f"f{number}").write_bytes(dice.randbytes(3000))
    _quiet(["tar", "-cf", "t.tar", "t"], small)
    (small / "tar.sh").write_text("gcc -O2 -c slow.c\ntar -xf t.tar\n")
    return [
        ("lua", lua, ["make", "linux"], lambda: _quiet(["make", "clean"], lua)),
        ("xz", xz, ["make"], lambda: _quiet(["make", "clean"], xz)),
        ("xz, a central header touched", over, ["make"], header.touch),
        ("xz, installed over itself", over, ["make", "install", f"DESTDIR={place}/dest"], _nothing),
        ("tar over 4,000 files, a compile pending", small, ["sh", "tar.sh"], _nothing),
        (
            f"{FILES:,} new files, a compile pending",
            small,
            ["sh", "files.sh"],
            lambda: shutil.rmtree(small / "out", ignore_errors=True),
        ),
    ]


def _nothing() -> None:
    pass


def _tree(place: Path, name: str, version: str) -> Path:
    tree = place / name
    subprocess.run(["cp", "-a", pristine(name, version), tree], check=True)
    return tree


def _quiet(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, capture_output=True, check=True)


def _measure(
    row: Row,
    title: str,
    folder: Path,
    command: list[str],
    prepare: Callable[[], None],
    rounds: int,
    place: Path,
) -> None:
    walls: list[float] = []
    cpus: list[float] = []
    seconds: dict[str, list[float]] = {"off": [], "1G": []}
    for number in range(rounds + 1):
        spent = {}
        for budget in ("off", "1G") if number % 2 else ("1G", "off"):
            prepare()
            spent[budget] = _run(command, folder, place, budget)
        if number == 0:  # it warms caches
            continue
        for budget, (wall, _) in spent.items():
            seconds[budget].append(wall)
        walls.append(spent["1G"][0] / spent["off"][0])
        cpus.append(spent["1G"][1] / spent["off"][1])
    prepare()
    journal, kept = _size(command, folder, place)
    row(
        title,
        f"{statistics.median(seconds['off']):.2f} s",
        f"{statistics.median(seconds['1G']):.2f} s",
        f"{statistics.median(walls):.3f} ({min(walls):.2f} to {max(walls):.2f})",
        f"{statistics.median(cpus):.3f}",
        f"{journal >> 10} KiB, {kept / 1e6:.1f} MB",
    )


def _environment(place: Path, budget: str) -> dict[str, str]:
    config = place / f"config-{budget}" / "smpmake"
    config.mkdir(parents=True, exist_ok=True)
    if BEFORE is None:
        (config / "config.toml").write_text(f'undo = "{budget}"\n')
    state = place / f"state-{budget}"
    return {**os.environ, "XDG_CONFIG_HOME": str(config.parent), "XDG_STATE_HOME": str(state)}


def _run(command: list[str], folder: Path, place: Path, budget: str) -> tuple[float, float]:
    """Seconds, and seconds of CPU."""
    smpmake = BEFORE if BEFORE and budget == "off" else SMPMAKE
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [smpmake, "-q", *command],
        cwd=folder,
        env=_environment(place, budget),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _size(command: list[str], folder: Path, place: Path) -> tuple[int, int]:
    """Bytes of the journal, and of older contents kept, when the build ends."""
    witness = place / "size"
    text = (
        "import mmap, os, sys; "
        "head = os.path.dirname(os.environ['_SMPMAKE_BOARD']) + '/undo/head'; "
        "words = memoryview(open(head, 'rb').read(64)).cast('Q'); "
        f"open({str(witness)!r}, 'w').write(f'{{words[1]}} {{words[5]}}')"
    )
    script = place / "then.sh"
    script.write_text(f'"$@" && {sys.executable} -c "{text}"\n')
    _run(["sh", str(script), *command], folder, place, "1G")
    used, kept = map(int, witness.read_text().split())
    return used, kept


def _probes(row: Row, place: Path, rounds: int) -> None:
    """A script that tries flags: ten of thirty fail, and nobody recognises them as probes."""
    folder = place / "probes"
    folder.mkdir()
    (folder / "good.c").write_text('#include <stdio.h>\nint main(void) { return puts(""); }\n')
    (folder / "bad.c").write_text("#include <stdio.h>\nint main(void) { return oops; }\n")
    (folder / "build.sh").write_text(
        "".join(
            f"if gcc {'bad' if n % 3 == 0 else 'good'}.c -o p{n}; then echo {n} >> yes; fi\n"
            for n in range(PROBES)
        )
    )
    ratios, plain, ours = [], [], []
    for number in range(rounds + 1):
        shutil.rmtree(place / "state-1G", ignore_errors=True)  # it would know
        start = time.perf_counter()
        _quiet(["sh", "build.sh"], folder)
        serial = time.perf_counter() - start
        taken, _ = _run(["sh", "build.sh"], folder, place, "1G")
        if number:
            plain.append(serial)
            ours.append(taken)
            ratios.append(taken / serial)
    row(
        f"{PROBES} probes of which 10 fail, unrecognised (against plain sh)",
        f"{statistics.median(plain):.2f} s",
        f"{statistics.median(ours):.2f} s",
        f"{statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})",
        "",
        "",
    )
