"""What the guard costs those who have nothing to wait for, and what it gives a wheel's compilers.

Sections of scripts/benchmark.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
SMPMAKE = str(Path(sys.executable).parent / "smpmake")
PENDING = 1000

#: 20,000 opens and stats of files that nobody has pending; prints seconds.
LOOP = """
import os, time
names = [f"u{n}.txt" for n in range(100)]
start = time.perf_counter()
for _ in range(100):
    for name in names:
        open(name).close()
        os.stat(name)
print(time.perf_counter() - start)
"""
#: The same in a shell: redirections and tests.
SHELL_LOOP = """
i=0
while [ $i -lt 10000 ]; do : < u$((i % 100)).txt; [ -f u$((i % 100)).txt ]; i=$((i + 1)); done
"""
#: Stands for gcc: the first of its jobs holds everything up.
HOLDER = """#!/bin/sh
[ -p hold ] && read word < hold
exit 0
"""
CPLUSPLUS = """
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>
int main() {
  std::map<std::string, std::vector<std::regex>> all;
  all["a"].emplace_back("(x+)(y*)");
  for (auto &[name, list] : all) for (auto &r : list)
    std::cout << name << std::regex_match(std::string("xxy"), r) << "\\n";
}
"""

Row = Callable[..., None]


def _own_cpu(command: list[str], cwd: Path, environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=cwd, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _loop(folder: Path, command: str, *, guarded: bool) -> float:
    """Seconds of a loop that is timed from inside; guarded, with PENDING outputs pending."""
    environment = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    if not guarded:
        done = subprocess.run(
            ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, check=True
        )
        return float(done.stdout.split()[-1])
    os.mkfifo(folder / "hold")
    script = (
        f"i=0; while [ $i -lt {PENDING} ]; do gcc -c x.c -o o$i.o; i=$((i + 1)); done; "
        f"{command}; mv hold held; echo > held"
    )
    done = subprocess.run(
        [SMPMAKE, "-q", "-j1", "sh", "-c", script],
        cwd=folder,
        env={**environment, "XDG_STATE_HOME": str(folder / "state")},
        capture_output=True,
        check=True,
    )
    (folder / "held").unlink()
    return float(done.stdout.split()[-1])


def cost(rounds: int, header: Row, row: Row) -> None:
    """Unrelated files while 1,000 outputs are pending, and a C++ compile."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bin").mkdir()
        (folder / "bin" / "gcc").write_text(HOLDER)
        (folder / "bin" / "gcc").chmod(0o755)
        (folder / "x.c").write_text("int x;\n")
        for number in range(100):
            (folder / f"u{number}.txt").touch()
        (folder / "loop.py").write_text(LOOP)
        (folder / "loop.sh").write_text(SHELL_LOOP)
        timer = "date +%s.%N"
        loops = {
            "Python": f"{sys.executable} -I loop.py",
            "a shell": f"a=$({timer}); . ./loop.sh; b=$({timer}); echo $b $a | "
            "awk '{print $1 - $2}'",
        }
        header(f"20,000 opens and stats, {PENDING} outputs pending", "unguarded", "guarded", "more")
        for what, command in loops.items():
            pairs = [
                (
                    _loop(folder, command, guarded=False),
                    _loop(folder, command, guarded=True),
                )
                for _ in range(rounds + 1)
            ][1:]
            _print_pairs(row, what, pairs)
        header("CPU of a C++ compile", "unguarded", "guarded, its files noted", "more")
        (folder / "a.cc").write_text(CPLUSPLUS)
        compile_it = ["g++", "-O2", "-std=c++17", "-c", "a.cc"]
        pairs = []
        for _ in range(rounds + 1):
            plain = _own_cpu(compile_it, folder, dict(os.environ))
            pairs.append((plain, _own_cpu(compile_it, folder, _as_a_job(folder))))
        _print_pairs(row, "g++ -O2, <regex>", pairs[1:])


def _as_a_job(folder: Path) -> dict[str, str]:
    """The environment of a guarded job, with a board on which other things are pending."""
    from smpmake import native
    from smpmake.guard.scoreboard import OUTPUT, Scoreboard, name_hash
    from smpmake.guard.traces import Traces

    board = Scoreboard(folder / "board")
    board.publish_claims(1, [(name_hash(b"o%d.o" % n), OUTPUT) for n in range(PENDING)])
    board.show_counts(PENDING)
    board.close()
    trace = Traces(folder).begin_trace(0, 0)
    return {
        **with_a_guard(folder),
        "LD_PRELOAD": native.guard(),
        "_SMPMAKE_COMMAND": "5",
        "_SMPMAKE_TRACE": os.fsdecode(trace),
    }


def with_a_guard(folder: Path) -> dict[str, str]:
    """What a guard must find in its environment; its board is in `folder`, a server nowhere."""
    from smpmake import native

    return {
        **os.environ,
        "_SMPMAKE_GUARD": native.guard(),
        "_SMPMAKE_SOCKET": str(folder / "nobody"),
        "_SMPMAKE_BOARD": str(folder / "board"),
        "_SMPMAKE_SHIMS": str(folder),
        "_SMPMAKE_BUILD": "main",
    }


def _print_pairs(row: Row, what: str, pairs: list[tuple[float, float]]) -> None:
    plain, guarded = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
    more = statistics.median(after / before for before, after in pairs) - 1
    row(what, f"{plain * 1000:.0f} ms", f"{guarded * 1000:.0f} ms", f"{more:+.1%}")


def wheels(rounds: int, header: Row, row: Row, cache: Path) -> None:
    """setup.py build: the compile phase of a wheel, without pip."""
    header("setup.py build", "serial", "smpmake", "speed-up")
    for name in ("pycryptodome", "psutil", "lxml"):
        found = sorted(cache.glob(f"**/{name}-*.tar.gz"))
        if not found:
            row(name, "not fetched", "", "")
            continue
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(["tar", "xf", str(found[-1]), "-C", place], check=True)
            (source,) = Path(place).iterdir()
            build = [sys.executable, "setup.py", "-q", "build"]
            pairs = []
            for _ in range(rounds + 1):
                pair = []
                for command in (build, [SMPMAKE, "-q", *build]):
                    shutil.rmtree(source / "build", ignore_errors=True)
                    pair.append(_seconds(command, source))
                pairs.append((pair[0], pair[1]))
        serial, ours = (statistics.median(pair[i] for pair in pairs[1:]) for i in (0, 1))
        ratio = statistics.median(before / after for before, after in pairs[1:])
        row(
            found[-1].name.removesuffix(".tar.gz"),
            f"{serial:.2f} s",
            f"{ours:.2f} s",
            f"{ratio:.2f}",
        )


def _seconds(command: list[str], cwd: Path) -> float:
    import time

    start = time.perf_counter()
    subprocess.run(
        command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - start
