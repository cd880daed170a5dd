"""The preload library: inert where it must be, everywhere where it should be, and harmless."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from smpmake import native
from smpmake.disk.elf import takes_guard
from smpmake.guard.scoreboard import Scoreboard, name_hash
from smpmake.history import History
from smpmake.protocol.layout import ROLE_OUTPUT
from tests.support import needs
from tests.support.held import Held
from tests.support.space import MAIN, SMPMAKE, Space, objects

pytestmark = pytest.mark.slow

SHOW = "print('smpmake-guard' in open('/proc/self/maps').read())\n"
GUARDED = f"{sys.executable} -I show.py"


def preloaded(**variables: str) -> subprocess.CompletedProcess[str]:
    """A shell that does a little of everything with the guard and these variables."""
    script = "echo x > f; cat f; mv f g; ls; rm g; mkdir d; rmdir d; test -e d || echo gone"
    return subprocess.run(
        ["sh", "-c", script],
        env={"PATH": os.environ["PATH"], "LD_PRELOAD": native.guard(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"_SMPMAKE_SOCKET": "/nowhere"},
        {"_SMPMAKE_SOCKET": "", "_SMPMAKE_BOARD": "", "_SMPMAKE_BUILD": ""},
        {"_SMPMAKE_SOCKET": "x" * 4000, "_SMPMAKE_BOARD": "/dev/null"},
        {"_SMPMAKE_COMMAND": "nonsense", "_SMPMAKE_TRACE": "/dev/null"},
    ],
)
def test_inert_without_a_session(
    variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = preloaded(**variables)
    assert (done.stdout, done.stderr, done.returncode) == ("x\ng\ngone\n", "", 0)


@pytest.mark.parametrize("damage", ["whole", "short", "garbage", "empty", "missing", "pending"])
def test_inert_when_the_server_is_gone(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A board that nobody keeps any more, in every state, even with something pending on it."""
    path = tmp_path / "board"
    board = Scoreboard(path)
    if damage == "pending":
        board.publish_claims(3, [(name_hash(b"f"), ROLE_OUTPUT), (name_hash(b"g"), ROLE_OUTPUT)])
        board.show_counts(1)
    board.close()
    if damage == "short":
        os.truncate(path, 100)
    elif damage == "garbage":
        path.write_bytes(os.urandom(path.stat().st_size))
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "missing":
        path.unlink()
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    done = preloaded(
        _SMPMAKE_SOCKET=str(tmp_path / "nobody"),
        _SMPMAKE_BOARD=str(path),
        _SMPMAKE_GUARD=native.guard(),
        _SMPMAKE_SHIMS=str(tmp_path),
        _SMPMAKE_BUILD="main",
    )
    assert (done.stdout, done.stderr, done.returncode) == ("x\ng\ngone\n", "", 0)


def by_python(code: str) -> str:
    return f"{sys.executable} -I -c {shlex.quote(f'import os; {code}')}"


WAYS = {
    "plainly": GUARDED,
    "env -i": f"env -i {GUARDED}",
    "without the preload": f"LD_PRELOAD= {GUARDED}",
    "with its variables unset": f"env -u LD_PRELOAD -u _SMPMAKE_SOCKET -u _SMPMAKE_GUARD {GUARDED}",
    "by system": by_python(f"os.system('{GUARDED}')"),
    "by system without an environment": by_python(f"os.environ.clear(); os.system('{GUARDED}')"),
    "by posix_spawn": by_python(
        f"os.waitpid(os.posix_spawn('/bin/sh', ['sh', '-c', '{GUARDED}'], {{}}), 0)"
    ),
    "by a script": "./script",
    "through perl": f"perl -e 'system q({GUARDED})'",
}


@pytest.mark.parametrize("way", WAYS)
def test_the_guard_goes_with_every_program(space: Space, way: str) -> None:
    space.write({"show.py": SHOW, "script": f"#!/bin/sh\nexec {GUARDED}\n"})
    (space.folder / "script").chmod(0o755)
    ended = space.smpmake("-q", "sh", "-c", WAYS[way])
    assert ended.out == "True\n", ended.err


def test_other_libraries_stay_and_ours_comes_first(space: Space) -> None:
    space.write({"other.c": "int other;\n"})
    space.ok("cc", "-shared", "-o", "other.so", "other.c")
    other = str(space.folder / "other.so")
    ended = space.smpmake("-q", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD=other)
    assert ended.out == f"{native.guard()}:{other}\n"
    ended = space.smpmake("-q", "--", "env", f"LD_PRELOAD={other}", "sh", "-c", "echo $LD_PRELOAD")
    assert ended.out == f"{native.guard()}:{other}\n"


def test_a_program_with_a_sanitizer_runs(space: Space) -> None:
    needs.require("gcc", "-fsanitize=address")
    files = {"a.c": MAIN, "build.sh": "gcc -fsanitize=address -o a a.c && ./a && echo ran > ran\n"}
    space.expect_same(files, ["sh", "-e", "build.sh"])


def test_p1_tools_by_absolute_path(space: Space) -> None:
    gcc = shutil.which("gcc")
    script = "".join(f"{gcc} -c f{n}.c\n" for n in range(5)) + f"{gcc} -o prog main.c f*.o\n"
    files = {**objects(5), "main.c": MAIN, "build.sh": script}
    ended = space.expect_same(files, ["sh", "-e", "build.sh"])
    assert "6 in parallel, 0 in place" in ended.err


def test_p1_a_static_program_is_not_let_loose(space: Space) -> None:
    """It takes no guard, so it starts when nothing is pending any more."""
    needs.require("cc", "-static")
    files = {
        "size.c": (
            "#include <sys/stat.h>\n#include <stdio.h>\nint main(int c, char **v) {\n"
            'struct stat s; if (stat(v[1], &s)) return 1; printf("%ld\\n", (long)s.st_size); }\n'
        ),
        **objects(3),
        "build.sh": "gcc -c f0.c; gcc -c f1.c; ./size f1.o > size1\n",
    }
    space.write(files)
    space.ok("cc", "-static", "-o", "size", "size.c")
    program = (space.folder / "size").read_bytes()
    command = ["sh", "-e", "-c", "chmod +x size; . ./build.sh"]
    assert space.run(*command).status == 0
    expected = space.tree()
    space.clear()
    space.write(files)
    (space.folder / "size").write_bytes(program)
    ended = space.smpmake("-v", *command)
    assert space.tree() == expected, ended.err
    assert "sh runs " in ended.err


def test_p1_a_static_driver_reads_what_it_has_compiled(space: Space) -> None:
    """An unknown driver without a guard gets its results at once; compilers are found on PATH."""
    needs.require("cc", "-static")
    source = (
        "#include <stdlib.h>\n#include <sys/stat.h>\nint main(void) { struct stat s;\n"
        'if (system("gcc -c f0.c")) return 1; return stat("f0.o", &s) ? 2 : 0; }\n'
    )
    space.write({**objects(1), "driver.c": source})
    space.ok("cc", "-static", "-o", "driver", "driver.c")
    assert not takes_guard(str(space.folder / "driver"))
    for command in (["./driver"], ["sh", "-c", "./driver; exit $?"]):
        (space.folder / "f0.o").unlink(missing_ok=True)
        ended = space.smpmake("-v", *command)
        assert ended.status == 0, ended.err
        assert "unguarded-caller" in ended.err


_RUNNER = """#include <stdlib.h>
int main(int count, char **words) { return system(words[1]) != 0; }
"""


@pytest.mark.parametrize(
    "line",
    [
        "make f0.o; cat f0.o | wc -c > size",
        "make size",
        "make bad.o && rm -rf gone",
        "sh -c 'gcc -c f0.c'; cat f0.o > copy",
        "./run 'make size'",
    ],
)
def test_p1_below_a_program_without_a_guard_nothing_is_early(space: Space, line: str) -> None:
    """Runners of tasks are static programs; what they run takes a guard again."""
    needs.require("cc", "-static")
    files = {**objects(1), "bad.c": "int x = ;\n", "run.c": _RUNNER, "gone/there": ""}
    files["Makefile"] = "size: f0.o\n\twc -c < f0.o > size\n%.o: %.c\n\tgcc -c $<\n"
    space.write(files)
    space.ok("cc", "-static", "-o", str(space.root / "run"), "run.c")
    (space.root / "run").rename(space.folder / "run")
    runner = (space.folder / "run").read_bytes()
    command = ["sh", "-c", f'./run "{line}"; echo $? > status; gcc -c f0.c -o last.o']
    assert space.run(*command).status == 0
    expected = space.tree()
    space.clear()
    space.write(files)
    (space.folder / "run").write_bytes(runner)
    (space.folder / "run").chmod(0o755)
    ended = space.smpmake("-v", *command)
    assert space.tree() == expected, ended.err
    assert "unguarded-caller" in ended.err
    assert "1 in parallel" in ended.err


def test_what_jobs_read_is_recorded_and_checked(space: Space) -> None:
    files = {
        "a.c": '#include "h.h"\nint a = H;\n',
        "h.h": "#define H 1\n",
        "b.s": '.data\n.incbin "a.o"\n',
    }
    space.write(files)
    space.smpmake("sh", "-c", "gcc -c a.c; gcc -c b.s")
    assert f"read {space.folder}/a.o" in space.smpmake("why", COLUMNS="400").out
    record = History(space.root / "state" / "smpmake" / "history.db").last()
    assert record is not None
    reads = {name for command in record.commands for name in command.reads}
    assert {f"{space.folder}/{name}" for name in ("a.c", "h.h", "b.s", "a.o")} <= reads


def test_a_vfork_a_thread_and_a_signal_handler(space: Space) -> None:
    """A program that does all of it at once while something is pending, with descriptors closed."""
    code = (
        "import os, signal, threading, subprocess\n"
        "signal.signal(signal.SIGALRM, lambda *_: os.path.exists('f0.o'))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)\n"
        "def work(n):\n"
        "    for i in range(200):\n"
        "        os.path.exists(f'none{i}'); open('t%d' % n, 'w').close(); os.listdir('.')\n"
        "threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]\n"
        "[t.start() for t in threads]\n"
        "for _ in range(10): subprocess.run(['true'], close_fds=True, check=True)\n"
        "[t.join() for t in threads]\n"
        "os.close(0); os.close(2)\n"
        "assert os.stat('f1.o').st_size > 0\n"
    )
    script = f"gcc -c f0.c; gcc -c f1.c; {sys.executable} -I work.py; rm t*\n"
    files = {**objects(2), "work.py": code, "build.sh": script}
    space.expect_same(files, ["sh", "-e", "build.sh"])


#: Nothing can be opened, and what is done cannot be undone.
LEAVE = (
    "import os, resource, sys; limits = resource.getrlimit(resource.RLIMIT_NOFILE); "
    "resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1])); os.seteuid(os.geteuid()); "
    "resource.setrlimit(resource.RLIMIT_NOFILE, limits); "
)


def test_who_has_no_descriptor_left_does_not_wait_for_good(space: Space) -> None:
    code = LEAVE + "open('after', 'w')"
    process = space.start(SMPMAKE, "-q", sys.executable, "-I", "-c", code)
    assert space.finish(process).status == 0
    assert "after" in space.tree()


def test_a_job_that_has_no_descriptor_left_does_not_wait_for_itself(space: Space) -> None:
    gcc = space.root / "gcc"
    real = shutil.which("gcc")
    gcc.write_text(
        f"#!{sys.executable} -I\n{LEAVE}\nos.execv({real!r}, [{real!r}, *sys.argv[1:]])\n"
    )
    gcc.chmod(0o755)
    space.write(objects(1))
    path = f"{space.root}:{space.environment['PATH']}"
    process = space.start(SMPMAKE, "-q", "sh", "-c", "gcc -c f0.c", PATH=path)
    assert space.finish(process).status == 0
    assert "f0.o" in space.tree()


def test_a_tool_that_is_called_as_what_is_pending_is_not_heard_of(space: Space) -> None:
    """coreutils makes an rm, and its recipes call the system's."""
    held = Held(space)
    files = {"main.c": MAIN, "other": ""}
    command = ["sh", "-c", "gcc -Dheld -o rm main.c; rm -f other; echo > after"]
    status, expected = held.serial(files, command)
    ended, tree = held.parallel(files, command)
    assert (ended.status, tree) == (status, expected), ended.err
    assert "1 in parallel, 0 in place" in ended.err
