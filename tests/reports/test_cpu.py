"""The CPU time that the summary tells is the group's, however a command runs."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Final

import pytest

from tests.support.space import SMPMAKE, Space

#: Some 0.3 s of CPU time.
SOURCE: Final = "".join(
    f"int f{i}(int x) {{ int s = 0; for (int j = 0; j < x; j++) s += j * {i}; return s; }}\n"
    for i in range(150)
)
COMPILE: Final = "gcc -O2 -c a.c"
#: Makefiles by how their compile runs, and smpmake's options.
WAYS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "in parallel": (f"all: ; {COMPILE}\n", ()),
    "without a guard": (f"all: ; {COMPILE}\n", ("--no-guard",)),
    "remembered": (f"all: ; {COMPILE}\n", ("--memo=on",)),
    "in place": (f"all: ; {COMPILE}\n", ("--foreground=gcc",)),
    "its output is captured": (f"all: ; x=$$({COMPILE} 2>&1); echo $$x\n", ()),
    "a script's first": ("all: ; sh build.sh\n", ()),
    "a line that a shell runs": (f"all: ; test -f a.c && {COMPILE}\n", ()),
    "parted": ("all: ; gcc -O2 a.c b.c -o p\n", ()),
    "of a make without a guard": (f"all: ; env -u LD_PRELOAD make -f in.mk\nin: ; {COMPILE}\n", ()),
    "through a pipe": (f"all: ; {COMPILE} 2>&1 | cat\n", ()),
    "with a time limit": (f"all: ; timeout 60 {COMPILE}\n", ()),
}


def measured(space: Space, *options: str) -> tuple[float, float]:
    """Seconds of CPU: of all processes, and as the report has it."""
    process = subprocess.Popen(
        [SMPMAKE, "-q", *options, "--", "make", "-s"],
        cwd=space.folder,
        env=space.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    cpu = json.loads(space.smpmake("report", "--json").out)["figures"]
    return used.ru_utime + used.ru_stime, cpu["user"] + cpu["system"] + cpu["server_cpu"]


def check(of_all: float, told: float, compile_time: float) -> None:
    """A compile that is missing, or there twice, would be seen; smpmake's own start is not told."""
    assert told <= of_all + 0.1 * compile_time
    assert told >= of_all - 0.25 - 0.5 * compile_time


def compile_time(space: Space) -> float:
    process = subprocess.Popen(["gcc", "-O2", "-c", "a.c", "-o", "/dev/null"], cwd=space.folder)
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("way", WAYS)
def test_a_way_to_run(space: Space, way: str) -> None:
    makefile, options = WAYS[way]
    space.write(
        {
            "Makefile": makefile,
            "in.mk": f"all: ; {COMPILE}\n",
            "build.sh": f"{COMPILE} || exit 1\n",
            "a.c": SOURCE,
            "b.c": f"int main(void) {{ return 0; }}\n{SOURCE.replace('int f', 'static int g')}",
        }
    )
    of_all, told = measured(space, *options)
    check(of_all, told, compile_time(space))


def test_after_a_build_that_failed(space: Space) -> None:
    """Then the shim waits for the status of what a worker runs."""
    space.write({"Makefile": f"all: ; {COMPILE}\n", "a.c": f"{SOURCE}int x = ;\n"})
    assert space.smpmake("make").status == 2
    space.write({"a.c": SOURCE})
    of_all, told = measured(space)
    check(of_all, told, compile_time(space))
    assert "status-matters" in space.smpmake("why").out


def test_what_is_undone(space: Space) -> None:
    """And run again by the second make."""
    space.write({"Makefile": f"all: b a\nb: ; gcc -c bad.c\na: ; {COMPILE}\n"})
    space.write({"bad.c": "int x = ;\n", "a.c": SOURCE})
    of_all, told = measured(space)
    check(of_all, told, compile_time(space))
