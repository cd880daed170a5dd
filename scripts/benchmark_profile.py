"""Who holds the interpreter while a build runs: samples by py-spy (`pip install py-spy`)."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from benchmark_reports import build, fresh

Package = tuple[str, str, str, list[str]]
#: Samples a second, without a stop of what is looked at.
_RATE = ("--gil", "--nonblocking", "--rate", "1000")
_SHOWN = 12


def profile(
    packages: list[Package],
    pristine: Callable[[str, str], Path],
    program: str,
    rounds: int,
    header: Callable[..., None],
    row: Callable[..., None],
) -> None:
    """Shares of modules in the samples of whole builds."""
    sampler = shutil.which("py-spy", path=str(Path(program).parent)) or shutil.which("py-spy")
    if sampler is None:
        sys.exit("benchmark: profile needs py-spy (pip install py-spy)")
    header("package", "module", "of the samples", "with what it calls")
    for name, version, sub, command in packages:
        own: Counter[str] = Counter()
        whole: Counter[str] = Counter()
        for _ in range(rounds):
            folder = fresh(pristine(name, version), name) / sub
            with tempfile.TemporaryDirectory() as state, tempfile.NamedTemporaryFile() as raw:
                output = ("--format", "raw", "--output", raw.name)
                words = [sampler, "record", *_RATE, *output, "--", program, "-q", *command]
                build(folder, words, state)
                _count(Path(raw.name).read_text(), own, whole)
        total = own.total() or 1
        for module, count in own.most_common(_SHOWN):
            row(
                name, module, f"{100 * count / total:.1f} %", f"{100 * whole[module] / total:.1f} %"
            )


def _count(text: str, own: Counter[str], whole: Counter[str]) -> None:
    """Lines are "frame;frame;... count", a frame "function (file:line)"."""
    for line in text.splitlines():
        stack, _, number = line.rpartition(" ")
        places = [frame.rpartition("(")[2] for frame in stack.split(";")]
        modules = [place.partition(":")[0] for place in places if ":" in place] or ["none"]
        own[modules[-1]] += int(number)
        whole.update(dict.fromkeys(modules, int(number)))
