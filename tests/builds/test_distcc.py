"""Builds with distcc: real daemons on this machine, a plain build as oracle (P1, P2, P6, P8)."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from smpmake.protocol.client import Client, ServerGoneError
from tests.support.needs import require
from tests.support.space import SMPMAKE, Ended, Space

#: The daemon's compiler, under all names that a client gives it.  Files have other names there.
_COMPILER = """#!/bin/sh
for word; do case $word in -frandom-seed=*)
  : > {seen}.${{word#*=}}
  read word < {gate};;
esac; done
exec {real} {more} "$@"
"""
NAMES = ("gcc", "x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc")
FILES = {
    "first.c": "int first;\n",
    "a.c": '#include "a.h"\nint a(void) { return A; }\n',
    "a.h": "#define A 1\n",
    "b.c": "int b(void) { return 2; }\n",
    "warns.c": "int w(void) { int unused; return 0; }\n",
    "bad.c": "int bad(void) { return oops; }\n",
    "main.c": "int a(void); int b(void); int main(void) { return a() + b(); }\n",
}


class Daemon:
    """A distccd on a port of its own.  Root's runs as a user who may not look into our folders."""

    def __init__(self, more: str = "", jobs: int = 4) -> None:
        self.folder = folder = Path(tempfile.mkdtemp(prefix="smp-distccd-"))
        folder.chmod(0o777)
        self.seen, self.gate = folder / "seen", folder / "gate"
        os.mkfifo(self.gate)
        self.gate.chmod(0o666)
        tools = folder / "tools"
        tools.mkdir()
        for compiler in NAMES:
            tool = tools / compiler
            tool.write_text(
                _COMPILER.format(
                    seen=self.seen, gate=self.gate, real=shutil.which("gcc"), more=more
                )
            )
            tool.chmod(0o755)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.name = f"127.0.0.1:{self.port}"
        self.spec = f"{self.name}/{jobs}"
        listen = ("--allow", "127.0.0.1", "--listen", "127.0.0.1", "--port", str(self.port))
        self._process = subprocess.Popen(
            ["distccd", "--no-detach", "--daemon", *listen, "--jobs", str(jobs), "--log-stderr"],
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while self._process.poll() is None:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 5).close()
                return
        raise AssertionError("distccd does not start")

    def holds(self) -> set[str]:
        """Compiles that have come here and wait, by their `-frandom-seed`."""
        return {path.suffix[1:] for path in self.seen.parent.glob(f"{self.seen.name}.*")}

    def let_go(self, process: subprocess.Popen[bytes], count: int) -> None:
        """So many compiles that are held go on."""
        while count and process.poll() is None:
            with contextlib.suppress(OSError):  # nobody reads yet
                end = os.open(self.gate, os.O_WRONLY | os.O_NONBLOCK)
                os.write(end, b"go\n")
                os.close(end)
                count -= 1

    def end(self) -> None:
        """Kills it at once, and all that it has begun: each in a group of its own.  Nobody listens
        at its port then."""
        if self._process.poll() is None:
            top = psutil.Process(self._process.pid)
            top.suspend()  # it would begin others
            while top.status() not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE):
                pass  # it may just be doing so
            begun = top.children(recursive=True)
            for each in [*begun, top]:
                with contextlib.suppress(psutil.Error):
                    each.kill()
            self._process.wait()
            psutil.wait_procs(begun)
        shutil.rmtree(self.folder, ignore_errors=True)


class Cluster:
    """Daemons of a test, and builds that go on behind their first compile when these are known."""

    compiler = "gcc"

    def __init__(self, space: Space) -> None:
        self.space = space
        self.daemons: list[Daemon] = []
        self._gate = space.root / "begin"
        space.environment["DISTCC_DIR"] = str(space.root / "distcc")
        (space.root / "distcc").mkdir()

    def _script(self, rest: str) -> dict[str, str]:
        first = f"{self.compiler} -c first.c\ncat first.o > /dev/null\n"
        hold = f"if [ -p {self._gate} ]; then read word < {self._gate}; fi\n"
        return {"build.sh": f"{first}{hold}{rest}"}

    def add(self, more: str = "", jobs: int = 4) -> Daemon:
        daemon = Daemon(more, jobs)
        self.daemons.append(daemon)
        specs = " ".join(daemon.spec for daemon in self.daemons)
        self.space.environment["DISTCC_HOSTS"] = specs
        return daemon

    def begin(self, script: str, *options: str) -> subprocess.Popen[bytes]:
        """Starts a build, and has it go on when all compilers of hosts have been looked at."""
        self.space.write(self._script(script))
        os.mkfifo(self._gate)
        process = self.space.start(
            SMPMAKE, "--engine=distcc", *options, "--", "sh", "-e", "build.sh"
        )
        while process.poll() is None:
            hosts = self.state().get("hosts", [])
            if hosts and all(ours or others for _, _, _, ours, others in hosts):
                break
        self._gate.write_text("go\n")
        self._gate.unlink()
        return process

    def build(self, script: str, *options: str) -> Ended:
        return self.space.finish(self.begin(script, *options))

    def state(self) -> dict[str, Any]:
        for session in self.space.temporary.glob("smpmake-*/socket"):
            with contextlib.suppress(ServerGoneError, OSError), closing(Client(session)) as client:
                return client.ask("state")
        return {}

    def serial(self, script: str) -> tuple[Ended, dict[str, str]]:
        """The oracle; the folder is as before then."""
        self.space.write({**FILES, **self._script(script)})
        ended = self.space.run("sh", "-e", "build.sh")
        tree = self.space.tree()
        self.space.clear()
        self.space.write(FILES)
        return ended, tree

    def hosts(self) -> dict[str, str]:
        """By output, who made it; "" for this machine."""
        import json

        shown = json.loads(self.space.smpmake("report", "--json").out)
        return {
            os.path.basename(command["outputs"][0]): command["host"]
            for command in shown["commands"]
            if command["outputs"]
        }


@pytest.fixture
def cluster(space: Space) -> Iterator[Cluster]:
    require("distcc")
    cluster = Cluster(space)
    yield cluster
    for daemon in cluster.daemons:
        daemon.end()


#: What preprocessing alone would lose; and whether another machine can have it.
LOST = {
    "pragma.c": (
        '#pragma GCC target("avx2")\n#ifdef __AVX2__\nint with;\n#else\nint out;\n#endif\n',
        False,
    ),
    "clock.c": ('#include "clock.h"\nconst char *when = NOW;\n', False),
    "name.c": ("const char *name = __BASE_FILE__;\n", False),
    "binary.c": ('asm(".data\\n.incbin \\"/etc/hostname\\"");\n', False),
    "columns.c": (
        (
            "#define ADD(x, y) (x + y)\n"
            "int add(int a, int b) { int  c = ADD( a /* first */,  b ); return c + ADD(a,b); }\n"
        ),
        True,
    ),
    "null.c": ("#include <stddef.h>\nint null(void) { int none = NULL; return none; }\n", True),
    "swap.c": (
        (
            "#define SWAP(a, b) t = a; a = b; b = t\n"
            "int swap(int a, int b) { int t = 0; if (a) SWAP(a, b); return a + t; }\n"
        ),
        True,
    ),
    "macros.c": (
        (
            "#define ONCE 1\n"
            '#pragma push_macro("ONCE")\n#undef ONCE\n#define ONCE 2\n#pragma pop_macro("ONCE")\n'
            "#define NEVER (once_ + 0)\nint once_, two = sizeof(int[ONCE]);\n"
        ),
        False,
    ),
    "renamed.c": ("#pragma redefine_extname old new\nint old(void) { return 1; }\n", False),
    "twice.c": (
        (
            '#include "once.h"\n#include "once.h"\n#line 7 "other.c"\n#pragma pack(push, 1)\n'
            "struct { char a; int b; } packed;\n#pragma pack(pop)\n"
            "const char *file = __FILE__; int line = __LINE__, count = __COUNTER__;\n"
            '_Pragma("GCC diagnostic push") int lines = __LINE__;\n'
        ),
        True,
    ),
    "fall.c": (
        "int fall(int x) { switch (x) { case 1: x++; /* fall through */ case 2: x++; } return 1; }",
        True,
    ),
}


@pytest.mark.parametrize("name", LOST)
def test_p1_what_a_preprocessor_does_not_hand_on(cluster: Cluster, name: str) -> None:
    text, is_sent = LOST[name]
    more = {
        name: text,
        "clock.h": "#define NOW __DATE__\n",
        "once.h": "#pragma once\n#define ONCE 1\nint of_header;\n",
    }
    command = f"gcc -Wall -Wextra -fsanitize=undefined -c {name}"
    daemon = cluster.add()
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(globals(), "FILES", {**FILES, **more})
        plain, tree = cluster.serial(command)
        ended = cluster.build(command)
    assert (ended.status, cluster.space.tree()) == (plain.status, tree)
    said = plain.err
    assert said in ended.err
    host = cluster.hosts()[name.replace(".c", ".o")]
    assert host == (daemon.name if is_sent and not said else "")


@pytest.mark.parametrize("more", ["-DA=7", "-fwrapv -O2"])
def test_p1_a_compiler_that_is_a_script_compiles_here(cluster: Cluster, more: str) -> None:
    """distcc would call another one by its name; and one name may stand for two."""
    cluster.add()
    script = f"""\
gcc -c b.c
mkdir -p tools
printf '#!/bin/sh\\nexec {shutil.which("gcc")} {more} "$@"\\n' > tools/gcc
chmod +x tools/gcc
PATH=$PWD/tools:$PATH gcc -c ifdef.c
PATH=$PWD/tools:$PATH gcc -c b.c -o wrapped.o
"""
    with pytest.MonkeyPatch.context() as patched:
        text = "#ifdef A\nint with;\n#endif\nint f(int x) { return x + 1 > x; }\n"
        patched.setitem(globals(), "FILES", {**FILES, "ifdef.c": text})
        _, tree = cluster.serial(script)
        ended = cluster.build(script)
    assert (ended.status, cluster.space.tree()) == (0, tree)
    assert cluster.hosts()["b.o"]


def test_p1_a_precompiled_header_is_read_instead(cluster: Cluster) -> None:
    script = "gcc a.h\nrm a.h; printf '#define A 5\\n' > a.h\ngcc -c -MD a.c\n"
    cluster.add()
    _, tree = cluster.serial(script)
    assert cluster.build(script).status == 0
    assert {**cluster.space.tree(), "a.h.gch": ""} == {**tree, "a.h.gch": ""}  # made anew each time


def test_the_same_files_and_messages(cluster: Cluster) -> None:
    script = """\
gcc -O2 -c a.c -MD
mkdir -p sub
gcc -MMD -MP -c a.c -o sub/a.o
gcc -MD -MF x.d -MT y -c b.c
gcc -Wall -c warns.c
gcc -march=native -c b.c -o native.o
gcc -c main.c
gcc main.o a.o b.o -o main
"""
    daemon = cluster.add(jobs=8)
    plain, tree = cluster.serial(script)
    ended = cluster.build(script)
    assert (ended.status, cluster.space.tree()) == (0, tree)
    assert plain.err in ended.err
    hosts = cluster.hosts()
    assert hosts["first.o"] == ""  # nobody was known then
    assert {hosts[name] for name in ("a.o", "b.o", "main.o")} == {daemon.name}
    assert {hosts[name] for name in ("warns.o", "native.o", "main")} == {""}
    assert "4 compiles on other machines: 4 by 127.0.0.1" in ended.err
    cluster.space.expect_clean()


def test_a_failure_is_the_one_that_is_told_here(cluster: Cluster) -> None:
    script = "gcc -c a.c\ngcc -c bad.c\ngcc -c b.c\n"
    cluster.add()
    plain, tree = cluster.serial(script)
    ended = cluster.build(script)
    assert (ended.status, cluster.space.tree()) == (plain.status, tree)
    assert plain.status != 0
    assert plain.err in ended.err
    cluster.space.expect_clean()


def test_what_is_away_needs_no_slot(cluster: Cluster) -> None:
    """With one slot two compiles are held on a host, while a third is done here."""
    script = (
        "gcc -frandom-seed=1 -c a.c\ngcc -frandom-seed=2 -c b.c\n"
        "gcc -march=native -c main.c\ncat main.o > here\n"
    )
    daemon = cluster.add()
    _, tree = cluster.serial(script)
    process = cluster.begin(script, "-j1")
    here = cluster.space.folder / "here"
    while process.poll() is None and (daemon.holds() != {"1", "2"} or not here.exists()):
        pass
    assert process.poll() is None
    daemon.let_go(process, 2)
    ended = cluster.space.finish(process)
    assert (ended.status, cluster.space.tree()) == (0, tree), ended.err
    assert {cluster.hosts()[name] for name in ("a.o", "b.o")} == {daemon.name}


@pytest.mark.chaos  # distcc waits for some seconds
def test_a_host_that_goes_away(cluster: Cluster) -> None:
    """It is killed while it compiles; all that it had is done here, and by the others."""
    script = "".join(f"gcc -frandom-seed={n} -c b.c -o {n}.o\n" for n in range(6))
    first = cluster.add()
    _, tree = cluster.serial(script)
    process = cluster.begin(script)
    while process.poll() is None and len(first.holds()) < 4:
        pass
    assert process.poll() is None
    first.end()
    ended = cluster.space.finish(process)
    assert (ended.status, cluster.space.tree()) == (0, tree), ended.err
    assert set(cluster.hosts().values()) == {""}
    cluster.space.expect_clean()


def test_a_host_with_another_compiler_gets_nothing(cluster: Cluster) -> None:
    other, same = cluster.add("-fno-PIE -fcf-protection=none"), cluster.add()
    script = "gcc -c a.c\ngcc -c b.c\n"
    _, tree = cluster.serial(script)
    ended = cluster.build(script)
    assert (ended.status, cluster.space.tree()) == (0, tree)
    assert (
        f"nothing that gcc compiles is sent to {other.name}: it makes another object" in ended.err
    )
    assert set(cluster.hosts().values()) == {"", same.name}


def test_a_host_that_is_not_there(cluster: Cluster) -> None:
    gone, there = cluster.add(), cluster.add()
    gone.end()
    script = "gcc -c a.c\ngcc -c b.c\n"
    _, tree = cluster.serial(script)
    ended = cluster.build(script)
    assert (ended.status, cluster.space.tree()) == (0, tree)
    assert f"sent to {gone.name}: " in ended.err
    assert "Connection refused" in ended.err
    assert set(cluster.hosts().values()) == {"", there.name}


@pytest.mark.chaos
@pytest.mark.parametrize("call", ["ccache gcc", "gcc"])
def test_what_a_cache_has_not(cluster: Cluster, call: str) -> None:
    """Called as it is, and by the compiler's name; the second time it has all of it."""
    require("ccache")
    cluster.compiler = call
    script = f"{call} -c a.c\n{call} -MD -MF b.d -MT b.o -c b.c\n{call} -c main.c\n"
    daemon = cluster.add()
    if call == "gcc":
        masks = cluster.space.root / "masks"
        masks.mkdir()
        (masks / "gcc").symlink_to(shutil.which("ccache") or "")
        path = cluster.space.environment["PATH"]
        cluster.space.environment["PATH"] = f"{masks}:{path}"
    cache = cluster.space.root / "cached"
    cluster.space.environment["CCACHE_DIR"] = str(cache)
    _, tree = cluster.serial(script)
    shutil.rmtree(cache)
    ended = cluster.build(script)
    assert (ended.status, cluster.space.tree()) == (0, tree), ended.err
    hosts = cluster.hosts()
    assert {hosts[name] for name in ("a.o", "b.o", "main.o")} == {daemon.name}
    cluster.space.clear()
    cluster.serial(script)  # what hosts have made is not kept for plain builds
    ended = cluster.build(script)
    assert (ended.status, cluster.space.tree()) == (0, tree), ended.err
    assert set(cluster.hosts().values()) == {""}


def test_p1_a_cache_keeps_nothing_of_hosts(cluster: Cluster) -> None:
    require("ccache")
    cluster.space.environment["CCACHE_DIR"] = str(cluster.space.root / "cached")
    cluster.add("-DA=9 -O0")  # another compiler, which the small file does not show
    script = "ccache gcc -c ifdef.c\nccache gcc -Wall -c warns.c\n"
    with pytest.MonkeyPatch.context() as patched:
        text = "#ifndef A\n#define A 1\n#endif\nint a = A;\n"
        patched.setitem(globals(), "FILES", {**FILES, "ifdef.c": text})
        cluster.compiler = "ccache gcc"
        _, tree = cluster.serial(script)
        shutil.rmtree(cluster.space.root / "cached")
        assert cluster.build(script).status == 0
        cluster.space.clear()
        plain, again = cluster.serial(script)
    assert again == tree
    assert "unused variable" in plain.err


@pytest.mark.parametrize("hosts", ["localhost", ""])
def test_without_hosts_nothing_is_run(space: Space, hosts: str) -> None:
    require("distcc")
    space.write({"build.sh": "echo yes > ran\n", "hosts": hosts})
    ended = space.smpmake(
        "--engine=distcc", "sh", "build.sh", DISTCC_HOSTS=hosts or " ", DISTCC_DIR=str(space.folder)
    )
    assert ended.status == 125
    assert "distcc has no host besides this machine" in ended.err
    assert not Path(space.folder / "ran").exists()


def lines_about_nothing(ended: Ended) -> list[str]:
    return [line for line in ended.err.splitlines() if "compiled nothing" in line]


@pytest.mark.parametrize("options", [(), ("-q",), ("-v",)])
def test_hosts_that_are_down_are_told_of_in_one_line(
    cluster: Cluster, options: tuple[str, ...]
) -> None:
    daemon = cluster.add()
    daemon.end()
    cluster.space.write(FILES)
    ended = cluster.build("gcc -c a.c\ngcc -c b.c", *options)
    assert ended.status == 0
    (line,) = lines_about_nothing(ended)
    assert line.startswith("smpmake: distcc compiled nothing, this machine did it all: ")
    assert f"no host can be used ({daemon.name}: " in line and "Connection refused" in line
    assert line.endswith("; `smpmake doctor` tries each host")
    assert ended.err.count("Connection refused") == 1
    assert line.removeprefix("smpmake: ") in cluster.space.smpmake("why").out
    assert "compiled nothing" in cluster.space.smpmake("report").out


def test_a_compiler_that_no_host_has_is_told_of(cluster: Cluster) -> None:
    daemon = cluster.add()
    for tool in (daemon.folder / "tools").iterdir():
        tool.write_text("#!/bin/sh\necho no such compiler >&2; exit 1\n")
    cluster.space.write(FILES)
    ended = cluster.build("gcc -c a.c", "-q")
    assert ended.status == 0
    (line,) = lines_about_nothing(ended)
    assert f"no host can be used ({daemon.name}: " in line


def test_a_compiler_that_is_a_script_is_told_of(cluster: Cluster) -> None:
    cluster.add()
    cluster.space.write(FILES)
    script = f'#!/bin/sh\nexec {shutil.which("gcc")} "$@"\n'
    cluster.space.fake("gcc", script, is_script=True)
    cluster.space.write({"build.sh": "gcc -c a.c\ngcc -c b.c\ncat a.o b.o > /dev/null\n"})
    ended = cluster.space.smpmake("-q", "--engine=distcc", "sh", "-e", "build.sh")
    assert ended.status == 0
    (line,) = lines_about_nothing(ended)
    assert "gcc is a script, and hosts have the compiler without it; name the compiler" in line


def test_where_one_host_works_nothing_came_to_nothing(cluster: Cluster) -> None:
    cluster.add()
    cluster.space.write(FILES)
    ended = cluster.build("gcc -c b.c")
    assert ended.status == 0
    assert set(cluster.hosts().values()) != {""}
    assert not lines_about_nothing(ended)


@pytest.mark.chaos  # distcc waits for some seconds
def test_doctor_tries_each_host(cluster: Cluster) -> None:
    works, down = cluster.add(), cluster.add()
    down.end()
    shown = cluster.space.smpmake("doctor", SMPMAKE_ENGINE="distcc").out
    assert f"{works.name}: works, it makes what " in shown
    assert f"{down.name}: nothing that " in shown and "Connection refused" in shown
