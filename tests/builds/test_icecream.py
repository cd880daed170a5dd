"""Builds with icecream: a real scheduler and daemons on this machine, a plain build as oracle."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from smpmake.cluster import icecream
from tests.support.needs import require
from tests.support.space import Space, objects

pytestmark = pytest.mark.chaos


class Net:
    """A scheduler, a daemon that takes nothing from others, and one that does.

    Its compilers run in a root folder of their own, which only root can have made.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="smp-ice-"))
        self._folder.chmod(0o777)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = ""

    def start(self) -> None:
        while True:  # its port for people is the next one
            with socket.socket() as free, socket.socket() as next_to_it:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
                with contextlib.suppress(OSError):
                    next_to_it.bind(("127.0.0.1", port + 1))
                    break
        self.scheduler = f"127.0.0.1:{port}"
        name = f"smp{port}"
        self._start("icecc-scheduler", "-n", name, "-p", str(port))
        while not self._listed():
            assert self._processes[0].poll() is None
        for node, options in (("here", ["-m", "2", "--no-remote"]), ("there", ["-m", "8"])):
            base = self._folder / node
            base.mkdir()
            shutil.chown(base, "icecc")  # who it becomes
            self._start(
                *("iceccd", "-n", name, "-N", node, "-s", self.scheduler, *options),
                *("-b", str(base), "-p", str(self._free_port())),
                ICECC_TEST_SOCKET=str(self._folder / f"{node}.socket"),
            )
        while self._listed().count("jobs=") < 2:
            assert all(process.poll() is None for process in self._processes)

    def variables(self) -> dict[str, str]:
        return {
            "ICECC_SCHEDULER": self.scheduler,
            "ICECC_TEST_SOCKET": str(self._folder / "here.socket"),
            "ICECC_TEST_REMOTEBUILD": "1",
            "ICECC_PREFERRED_HOST": "there",
        }

    def _listed(self) -> str:
        with contextlib.suppress(OSError):
            return icecream.ask(self.scheduler)
        return ""

    @staticmethod
    def _free_port() -> int:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return int(free.getsockname()[1])

    def _start(self, *command: str, **environment: str) -> None:
        self._processes.append(
            subprocess.Popen(
                command,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )

    def close(self) -> None:
        for process in reversed(self._processes):
            with contextlib.suppress(psutil.Error):
                top = psutil.Process(process.pid)
                top.suspend()
                for each in [*top.children(recursive=True), top]:
                    with contextlib.suppress(psutil.Error):
                        each.kill()
            process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


@pytest.fixture
def net() -> Iterator[Net]:
    require("icecc")
    if os.getuid() != 0:
        pytest.skip("iceccd compiles for others as root only")
    net = Net()
    try:
        net.start()
        yield net
    finally:
        net.close()


def test_the_same_files(space: Space, net: Net) -> None:
    files = {
        **objects(12),
        "Makefile": "O = $(patsubst %.c,%.o,$(sort $(wildcard *.c)))\n"
        "all: $(O)\n\t@cat $(O) > all\n"
        "%.o: %.c\n\tgcc -O2 -MMD -c $< -o $@\nf3.o: CFLAGS = -Wall\n",
        "warns.c": "int f(void) { int unused; }\n",
        # Its own time is long enough for a canary, and for the compiler to be packed up.
        "build.sh": "until smpmake-knows; do :; done\nmake -s\n",
    }
    space.environment.update(net.variables())
    _knows(space)
    ended = space.expect_same(files, ["sh", "build.sh"], "--engine=icecream", "--memo=off")
    assert ended.status == 0
    shown = json.loads(space.smpmake("report", "--json").out)
    hosts = {c["host"] for c in shown["commands"] if c["outputs"] and c["tool"] == "gcc"}
    assert len(hosts - {""}) == 1, shown["build"]["notices"]
    assert shown["figures"]["elsewhere"][0]["compiles"] > 1
    assert not shown["build"]["notices"]


def _knows(space: Space) -> None:
    """A program that compiles a file, and says whether the other machines' compiler is known."""
    tools = space.root / "tools"
    tools.mkdir()
    knows = tools / "smpmake-knows"
    knows.write_text(
        "#!/bin/sh\n"
        '[ -n "$_SMPMAKE_SOCKET" ] || { gcc -c f0.c -o known.o; rm known.o; exit 0; }\n'
        "gcc -c f0.c -o known.o; rm known.o\n"
        f"exec {shutil.which('python3')} - <<'E'\n"
        "import os, sys\n"
        f"sys.path.insert(0, {str(Path(icecream.__file__).parents[2])!r})\n"
        "from smpmake.protocol.client import Client\n"
        "hosts = Client(os.environ['_SMPMAKE_SOCKET']).ask('state')['hosts']\n"
        "sys.exit(not any(ours or others for _, _, _, ours, others in hosts))\n"
        "E\n"
    )
    knows.chmod(0o755)
    space.environment["PATH"] = f"{tools}:{space.environment['PATH']}"
