"""Pages made from documents, and a browser to look at them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, sync_playwright

from smpmake.records import BuildRecord, Compiler, Failure, Sample, Stall, Surroundings
from smpmake.reports.document import Document, document
from smpmake.reports.html import html
from tests.support.made import S, build, command, ran

#: What a hostile project may call a file, or print.
HOSTILE = (
    "<script>window.__pwned=1</script>",
    "</script><script>window.__pwned=2</script>",
    "<!--<script>",
    "\"><img src=x onerror='window.__pwned=3'>",
    "' onmouseover='window.__pwned=4",
    "javascript:window.__pwned=5",
    "]]>&lt;svg onload=window.__pwned=6>&amp;",
    "a\x00b\x1b[31mred\x1b[0m\x07\x7f\x9b",
    "half\udc80\ud800of\udfff",
    "line\u2028and\u2029paragraph \u202egnirts",
    "$title ${script} %s {head}",
)


def large(count: int, slots: int = 4) -> BuildRecord:
    """A build as a large C project has it: long command lines, many folders, moves and links."""
    options = " ".join(
        ["-g -O2 -Wall -Wextra -fPIC -pthread -DHAVE_CONFIG_H"]
        + [f"-I../../include/module{n} -I../../third_party/part{n}/include" for n in range(12)]
    )
    commands, free = [], [0.0] * slots
    for number in range(count):
        slot = free.index(min(free))
        folder = f"/src/lib/module{number % 97}"
        name = f"component_{number * 7919 % 100_003}"
        took = 0.05 + number * 7919 % 1000 / 800
        issued = number * 0.002
        start = max(free[slot], issued)
        free[slot] = start + took
        kind, tool = ("link", "ld") if number % 50 == 49 else ("compile", "gcc")
        words = f"{tool} {options} -MD -MF .deps/{name}.Tpo -c -o {name}.o {name}.c".split(" ")
        argv = "".join(f"{word}\0" for word in words).encode()
        record = ran(number, issued, start, start + took, slot=slot, kind=kind, tool=tool)
        record.cwd, record.argv = folder, argv
        record.outputs = (f"{folder}/{name}.o", f"{folder}/.deps/{name}.Tpo")
        record.max_rss = 30_000 + number * 31 % 90_000
        record.waited_for = number - 1 if number % 50 == 49 else -1
        commands.append(record)
    made = build(*commands, wall=max(free), cpus=slots)
    made.samples = [
        Sample(at / 2, 0.9, (500 + at % 300) << 20, at, slots, count - at)
        for at in range(int(max(free) * 2))
    ]
    made.stalls = [
        Stall("sh", "reads", f"/src/lib/f{n}", n * 10, 1, -1, 0, 0) for n in range(count // 20)
    ]
    for number, stall in enumerate(made.stalls):
        stall.began = int((100 + number * 0.4) * S)
        stall.ended = int((100 + number * 0.4 + 0.2) * S)
    return made


def hostile() -> BuildRecord:
    """A build in which every name, word and message is meant to get out of its place."""
    commands = []
    for number, evil in enumerate(HOSTILE):
        record = ran(number, number / 10, number / 2, number / 2 + 0.5, slot=number % 2)
        raw = evil.encode("utf-8", "surrogatepass").replace(b"\0", b"")
        record.argv = b"gcc\0-D" + raw + b"\0-c\0" + raw + b".c\0"
        record.tool = record.cwd = evil
        record.outputs = (f"/src/{evil}/{evil}.o",)
        record.surprises = (f"read {evil}",)
        record.program, record.warnings, record.errors, record.said = evil, 1, 1, evil
        record.reason = "not-pending"
        record.kind = evil
        record.state = "failed"
        record.status = 1
        record.waited_for = number - 1
        commands.append(record)
    made = build(*commands)
    made.status = 1
    made.command = ["make", *HOSTILE]
    made.cwd = f"/src/{HOSTILE[1]}"
    made.notices = list(HOSTILE)
    made.surroundings = Surroundings(
        *(evil, evil, 1, evil, evil, HOSTILE, (Compiler(evil, evil, evil),))
    )
    made.failures = [
        Failure(c, "\n".join(HOSTILE).encode("utf-8", "surrogatepass"), HOSTILE[1])
        for c in commands
    ]
    made.stalls = [Stall(e, e, f"/src/{e}", 1, 1, -1, 100 * S, 101 * S) for e in HOSTILE]
    return made


def ordinary() -> BuildRecord:
    """A small build with a bit of everything."""
    made = build(
        ran(0, 0, 0, 2, outputs=("/src/lib/alpha.o",), argv=b"gcc\0-c\0-o\0lib/alpha.o\0alpha.c\0"),
        ran(1, 0.1, 0.2, 3, slot=1, outputs=("/src/beta.o",), argv=b"g++\0-c\0beta.cc\0"),
        ran(
            2,
            0.2,
            3,
            9,
            tool="ar",
            kind="archive",
            outputs=("/src/all.a",),
            argv=b"ar\0cr\0all.a\0lib/alpha.o\0beta.o\0",
            inputs=("/src/lib/alpha.o", "/src/beta.o"),
            waited_for=1,
        ),
        ran(3, 0.3, 3, 4, slot=1, state="failed", status=1, outputs=("/src/bad.o",)),
        command(4, issued=101 * S, state="cancelled"),
        command(5, "foreground", reason="query", kind="query", argv=b"gcc\0--version\0"),
    )
    made.id = 7
    made.status = 2
    made.commands[0].program, made.commands[0].warnings, made.commands[0].errors = "/gcc", 0, 0
    made.commands[3].warnings, made.commands[3].errors = 2, 1
    made.commands[3].said = "bad.c:1: error: no\n"
    made.surroundings = Surroundings(
        "host", "a CPU", 4, "Linux 6", "Debian", ("jobs=2",), (Compiler("gcc", "/gcc", "gcc 12"),)
    )
    made.samples = [Sample(at / 2, 0.5, (100 + at) << 20, at, 2, 1) for at in range(20)]
    made.stalls = [Stall("ld", "reads", "/src/all.a", 2, 1, -1, 102 * S, 108 * S)]
    made.failures = [Failure(made.commands[3], b"bad.c:1: error: no\n", "exit status 1")]
    return made


def forest() -> BuildRecord:
    """Compiles in folders of folders, one of them alone in its branch, one at the top, one outside;
    from 20 ms to 4 s, all of one kind."""
    times = {
        "lib/a/x.o": (0, 1, 0),
        "lib/a/y.o": (1, 3, 0),
        "lib/b/z.o": (3, 3.5, 0),
        "app/deep/down/main.o": (0, 4, 1),
        "lib/own.o": (4, 4.02, 1),
        "top.o": (5, 5.2, 1),
        "/usr/gen/q.o": (6, 6.4, 1),
    }
    made = build(
        *(
            ran(
                number,
                0,
                start,
                end,
                slot=slot,
                outputs=(f"{'' if name[0] == '/' else '/src/'}{name}",),
            )
            for number, (name, (start, end, slot)) in enumerate(times.items())
        ),
        wall=8,
    )
    made.command = ["/usr/bin/gmake", "all"]
    return made


def long(count: int = 40) -> BuildRecord:
    """A build of hours on four CPUs."""
    commands = [
        ran(
            n,
            n * 60,
            700 * (n // 4),
            700 * (n // 4) + 650,
            slot=n % 4,
            kind=("compile", "link")[n % 2],
        )
        for n in range(count)
    ]
    return build(*commands, wall=700 * count / 4, cpus=4)


def earlier(count: int) -> list[Document]:
    """Builds before, newest first."""
    return [
        {
            "id": 6 - n,
            "started_unix": 1_700_000_000.0 - n * 1000,
            "wall": 12.0 + n if n != 1 else None,
            "status": [0, None, 2][n % 3],
            "speedup": {"low": 1.4, "middle": 1.5, "high": 1.6} if n == 2 else None,
            "why_not": None if n == 2 else "short",
            "measured": n == 2,
        }
        for n in range(count)
    ]


def page_of(record: BuildRecord, before: int = 0) -> str:
    """The whole way: record, document, page."""
    return html(document(record), earlier(before))


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """Chromium without a window; skips the test where none can be had, saying why."""
    path = _chromium()
    # Chromium's sandbox refuses to run as root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        try:
            made = playwright.chromium.launch(executable_path=path, args=arguments)
        except Error as error:
            pytest.skip(f"chromium does not start: {str(error).splitlines()[0]}")
        yield made
        made.close()


def _chromium() -> str:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                [*command, "chromium", "fonts-dejavu-core"],
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                capture_output=True,
                check=False,
                timeout=600,
            )
        found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("there is no chromium, and none could be installed")
    return str(Path(found))
