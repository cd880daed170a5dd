"""What smpmake itself costs: per build, command and process; a section of scripts/benchmark."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark_guard import with_a_guard
from benchmark_reports import Place, Row, build, fresh, report
from benchmark_tool import Spent, Tool, with_tool

ROOT = Path(__file__).resolve().parent.parent
Package = tuple[str, str, str, list[str]]

#: Stands for gcc: the first of its jobs holds everything up.
HOLDER = """
#include <fcntl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char byte;
	int fd = open("hold", O_RDONLY);
	if (fd >= 0 && read(fd, &byte, 1) >= 0)
		unlink("hold");
	return argc < 5 || open(argv[4], O_WRONLY | O_CREAT, 0666) < 0;
}
"""

#: In a session with a busy pool: the server's answers, and whole shims; seconds.
PROBE = """
import array, json, os, socket, sys, time
sys.path.insert(0, sys.argv[1])
from smpmake.protocol import frames, wire
from smpmake.protocol.wire import FileId, Invoke
out, err = os.fstat(1), os.fstat(2)
fds = array.array("i", [1, 2]).tobytes()
env = frames.join_strings(os.fsencode(f"{k}={v}") for k, v in os.environ.items()
                          if not k.startswith(("SMPMAKE_", "_SMPMAKE_")))
def spawned(words, environment):
    start = time.perf_counter()
    os.waitpid(os.posix_spawnp(words[0], words, environment), 0)
    return time.perf_counter() - start
answers, shims = [], []
for n in range(300):
    frame = wire.encode_invoke(Invoke(os.getpid(), 0o22, FileId(out.st_dev, out.st_ino),
        FileId(err.st_dev, err.st_ino), "gcc", os.fsencode(sys.argv[2]), os.fsencode(os.getcwd()),
        os.environ["_SMPMAKE_BUILD"], b"gcc\\0-O2\\0-Wall\\0-c\\0-o\\0%d.o\\0x.c\\0" % n, env, b""))
    start = time.perf_counter()
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["_SMPMAKE_SOCKET"])
    s.sendmsg([frame], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
    s.recv(100)
    answers.append(time.perf_counter() - start)
    s.close()
    time.sleep(0.003)
    shims.append(spawned(["gcc", "-O2", "-c", "-o", f"s{n}.o", "x.c"], os.environ))
json.dump([answers, shims], open("measured", "w"))
"""

#: Starts a program that does nothing with either of two preloads, in turn; the median of how much
#: longer the first takes, ns.
SPAWN = """
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
extern char **environ;
static long took[2][3000];
static int longer(const void *a, const void *b)
{
	return *(const long *)a < *(const long *)b ? -1 : 1;
}
int main(int argc, char **argv)
{
	for (int i = 0; argc > 2 && i < 3000; i++)
		for (int which = 0; which < 2; which++) {
			struct timespec a, b;
			char *words[] = {"true", 0};
			pid_t child;
			setenv("LD_PRELOAD", argv[1 + which], 1);
			clock_gettime(CLOCK_MONOTONIC, &a);
			posix_spawn(&child, "/bin/true", 0, 0, words, environ);
			waitpid(child, 0, 0);
			clock_gettime(CLOCK_MONOTONIC, &b);
			took[which][i] = (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
		}
	for (int which = 0; which < 2; which++)
		qsort(took[which], 3000, sizeof **took, longer);
	printf("%ld", took[0][1500] - took[1][1500]);
}
"""


def _server_ms(found: dict[str, Any]) -> float:
    cpu: float = found["figures"]["server_cpu"]
    return 1000 * cpu / len(found["commands"])


def _middle(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ms ({min(values):.2f} to {max(values):.2f})"


def _over(pairs: list[tuple[Spent, Spent]]) -> str:
    """Of pairs of plain and ours: how much more wall and CPU time, ms."""
    more = [
        statistics.median(1000 * (ours[which] - plain[which]) for plain, ours in pairs)
        for which in (0, 1)
    ]
    return f"{more[0]:.0f} ms, {more[1]:.0f} ms of CPU"


def cost(
    packages: list[Package], pristine: Place, program: str, rounds: int, header: Row, row: Row
) -> None:
    """Everything but whole builds, of which other sections are."""
    header("what it costs", "measured", "target")
    with with_tool(program) as tool:
        _builds(tool, rounds, row)
        _probe(tool, row)
        _guard(tool, rounds, row)
        _commands(tool, row)
    for name, version, sub, command in packages:
        state = tempfile.mkdtemp()
        spent = []
        for _ in range(min(rounds, 3)):
            folder = fresh(pristine(name, version), name) / sub
            build(folder, [program, "-q", *command], state)
            spent.append(_server_ms(report(folder, program, state)))
        shutil.rmtree(state)
        row(f"server, CPU a command: {name}", _middle(spent), "0.4 ms")


def _builds(tool: Tool, rounds: int, row: Row) -> None:
    ours = [tool.program]
    pairs = [(tool.run("true"), tool.run(*ours, "true")) for _ in range(3 * rounds + 1)][1:]
    row("`smpmake true` over `true`", _over(pairs), "40 ms, 60 ms of CPU")
    tool.makefile(200)
    make = ["make", "-s"]
    tool.run(*make)
    pairs = [(tool.run(*make), tool.run(*ours, *make)) for _ in range(3 * rounds + 1)][1:]
    row("`smpmake make` with nothing to do over make", _over(pairs), "50 ms")


def _probe(tool: Tool, row: Row) -> None:
    tool.makefile(1)
    (tool.work / "probe.py").write_text(PROBE)
    probe = [sys.executable, "probe.py", str(ROOT), f"{tool.folder}/bin/gcc"]
    tool.run(tool.program, "-q", *probe, BENCH_BURN_MS="20")
    answers, shims = json.loads((tool.work / "measured").read_text())
    for what, values, target in (
        ("answer to a shim, pool busy", answers, "0.2, 1 ms"),
        ("whole shim with its fork, pool busy", shims, ""),
    ):
        ranked = sorted(1000 * value for value in values)
        half, most = ranked[len(ranked) // 2], ranked[int(len(ranked) * 0.99)]
        row(f"{what}, p50 and p99", f"{half:.2f}, {most:.2f} ms", target)


def _guard(tool: Tool, rounds: int, row: Row) -> None:
    """Of a process that does nothing, its guard standing, nothing pending; the parent has none."""
    from smpmake import native
    from smpmake.guard.scoreboard import Scoreboard

    empty, spawn = str(tool.folder / "empty.so"), str(tool.folder / "spawn")
    compiler = ["gcc", "-w", "-O2", "-x", "c"]
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", empty, "/dev/null"], check=True)
    subprocess.run([*compiler, "-o", spawn, "-"], input=SPAWN.encode(), check=True)
    board = Scoreboard(tool.folder / "board")
    board.keep_journal()
    more = []
    for _ in range(rounds):
        words = [spawn, native.guard(), empty]
        said = subprocess.run(
            words, env=with_a_guard(tool.folder), stdout=subprocess.PIPE, check=True
        ).stdout
        more.append(int(said) / 1000)
    board.close()
    among = f"{statistics.median(more):.0f} us ({min(more):.0f} to {max(more):.0f})"
    row("guard, a process (over an empty preload)", among, "20 us")


def _commands(tool: Tool, row: Row) -> None:
    def each(count: int) -> str:
        return f"{1000 * tool.server_cpu() / count:.2f} ms"

    tool.make(jobs=8000)
    row("server, CPU a command: 8,000 that do nothing", each(8000), "0.4 ms")
    tool.stand_in("held", HOLDER)
    for count in (100, 1000, 10_000):
        tool.makefile(count, then="\tmv hold freed; echo > freed; rm freed")
        os.mkfifo(tool.work / "hold")
        tool.run(tool.program, "-q", "-j1", "make", "-s", tools="held")
        row(f"server, CPU a command: {count:,} pending", each(count), "flat")
