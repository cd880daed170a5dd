"""The named server: builds share its slots (P6), barriers, outcomes, clean ends (P9, P10)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.support import needs
from tests.support.kills import name_of
from tests.support.space import SMPMAKE, Space, objects

pytestmark = pytest.mark.slow

#: Counts how many of it run at once, under a lock; waits for word on a fifo.
COUNTING_GCC = """#!/bin/sh
for last; do :; done
now=$(flock lock sh -c 'n=$(($(cat count) + 1)); echo $n > count; echo $n >> counts; echo $n')
read word < go
flock lock sh -c 'echo $(($(cat count) - 1)) > count'
echo made > "${last%.c}.o"
"""


class Server:
    """`smpmake serve` for one test."""

    def __init__(self, space: Space, *options: str) -> None:
        self.space = space
        self.process = space.start(SMPMAKE, "serve", *options)
        assert self.process.stderr is not None
        self.first_line = self.process.stderr.readline().decode()
        assert "serving" in self.first_line, self.first_line

    def stop(self) -> str:
        ended = self.space.run(SMPMAKE, "stop")
        assert ended.status == 0, ended.err
        end = self.space.finish(self.process)
        assert end.status == 0, end.err
        return end.err


def shell(text: str) -> tuple[str, str, str]:
    return ("sh", "-c", f'eval "$({SMPMAKE} env)"\n{text}')


def test_p6_two_builds_share_the_slots(space: Space) -> None:
    space.fake("gcc", COUNTING_GCC)
    space.write({"count": "0\n", "counts": "", "lock": ""})
    os.mkfifo(space.folder / "go")
    space.write({f"{n}.c": "" for n in range(16)})
    server = Server(space, "-j3")
    half = [" ; ".join(f"gcc -c {n}.c" for n in part) for part in (range(8), range(8, 16))]
    builds = [space.start(*shell(f"{SMPMAKE} -q sh -c '{text}'")) for text in half]
    # Hold the fifo open: a written line lets one waiting tool go on.
    with open(space.folder / "go", "r+b", buffering=0) as fifo:
        for _ in range(16):
            fifo.write(b"go\n")
        for build in builds:
            assert space.finish(build).status == 0
    server.stop()
    counts = [int(line) for line in (space.folder / "counts").read_text().split()]
    assert len(counts) == 16
    assert max(counts) <= 3
    assert all((space.folder / f"{n}.o").exists() for n in range(16))


@pytest.mark.chaos
def test_who_has_evaluated_a_servers_variables_asks_that_one(space: Space) -> None:
    default, other = Server(space), Server(space, "--socket", "other")
    in_shell = f'eval "$({SMPMAKE} env --socket other)"; {SMPMAKE} status && {SMPMAKE} stop'
    ended = space.run("sh", "-c", in_shell)
    assert ended.status == 0, ended.err
    assert space.finish(other.process).status == 0
    assert default.process.poll() is None
    default.stop()


def test_what_a_shell_evaluates_is_quoted(space: Space) -> None:
    odd = os.fsdecode(b"it's \\ a;touch injected;$(touch injected)`touch injected`\n\xff \"$HOME")
    for name in ("XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        folder = (space.root if name == "XDG_CACHE_HOME" else space.temporary) / odd
        folder.mkdir()
        space.environment[name] = str(folder)
    space.environment["PYTHONIOENCODING"] = "utf-8:strict"
    space.write(objects(1))
    server = Server(space)
    done = space.run(*shell(f"gcc -c f0.c && {SMPMAKE} wait && ls f0.o && command -v gcc"))
    assert done.status == 0, done.err
    assert done.out.startswith("f0.o\n") and "injected" in done.out
    assert not (space.folder / "injected").exists()
    server.stop()


@pytest.mark.chaos
def test_shims_in_a_shell_with_env_wait_and_stop(space: Space) -> None:
    space.write({**objects(3), "bad.c": "int x = oops;\n"})
    server = Server(space)
    done = space.run(*shell(f"gcc -c f0.c && gcc -c f1.c && {SMPMAKE} wait && ls f0.o f1.o"))
    assert done.status == 0, done.err
    page = json.loads(space.ok(SMPMAKE, "status", "--json").out)
    on_server = page["server"]
    assert (page["format"], page["version"], on_server["running"]) == ("smpmake-status", 2, 0)
    assert on_server["slots"] >= 1 and on_server["hosts"] == []
    assert [build["folder"] for build in on_server["builds"]] in ([], [str(space.folder)])
    (shared,) = page["tables"]
    (build,) = shared["builds"]
    assert build["command"][:2] == ["smpmake", "serve"]
    assert build["folder"] == str(space.folder)
    failed = space.run(*shell(f"gcc -c bad.c; {SMPMAKE} wait"))
    assert failed.status == 1
    assert "failed: gcc -c bad.c" in failed.err
    assert "'oops' undeclared" in failed.err
    again = space.run(*shell(f"gcc -c f2.c; {SMPMAKE} wait"))
    assert again.status == 0, "the outcome was given; a new start"
    server.stop()
    space_is_clean(space)


def space_is_clean(space: Space) -> None:
    base = space.temporary / f"smpmake-services-{os.getuid()}"
    assert list(base.iterdir()) == []
    assert list(space.folder.glob(".smpmake*")) == []


def test_a_second_server_of_that_name_is_refused(space: Space) -> None:
    server = Server(space)
    second = space.smpmake("serve")
    assert second.status == 125
    assert "already running" in second.err
    server.stop()


@pytest.mark.parametrize("name", ["a/b", "", ".hidden", "x" * 60])
def test_names_that_cannot_be_sockets(space: Space, name: str) -> None:
    ended = space.smpmake("serve", "--socket", name)
    assert ended.status == 125
    assert "no name for a socket" in ended.err


def test_without_a_server_env_wait_and_stop_say_so(space: Space) -> None:
    for command in ("env", "wait", "stop"):
        ended = space.smpmake(command)
        assert ended.status == 125
        assert "smpmake serve" in ended.err


def test_p3_a_killed_client_takes_its_build_with_it(space: Space) -> None:
    space.fake("gcc", "#!/bin/sh\necho half > 0.o\necho up > started\nread word < never\n")
    space.write({"0.c": "", "1.c": "", "1.o": "stale"})
    for fifo in ("started", "never"):
        os.mkfifo(space.folder / fifo)
    server = Server(space, "-j1")
    build = space.start(
        *shell(f"exec {SMPMAKE} --no-guard sh -c 'gcc -c 0.c; gcc -c 1.c; read x < never'")
    )
    (space.folder / "started").read_text()
    while (space.folder / "1.o").exists():
        assert build.poll() is None
    below = psutil.Process(build.pid).children(recursive=True)
    build.kill()
    space.finish(build)
    assert psutil.wait_procs(below, timeout=20)[1] == []
    server.stop()  # waits until the build's jobs are gone
    assert not (space.folder / "0.o").exists()
    assert (space.folder / "1.o").read_text() == "stale"


def a_build_that_only_waits(space: Space) -> tuple[Server, subprocess.Popen[bytes]]:
    """Its driver has ended; its job would run for ever."""
    space.fake("gcc", "#!/bin/sh\necho up > started\nread word < never\n")
    space.write({"0.c": ""})
    for fifo in ("started", "never"):
        os.mkfifo(space.folder / fifo)
    server = Server(space, "-j1")
    build = space.start(*shell(f"exec {SMPMAKE} -q sh -c 'gcc -c 0.c; true'"))
    (space.folder / "started").read_text()
    while "sh" in map(name_of, psutil.Process(build.pid).children(recursive=True)):
        assert build.poll() is None
    return server, build


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_build_that_only_waits_for_its_jobs_obeys_a_signal(space: Space, number: int) -> None:
    server, build = a_build_that_only_waits(space)
    build.send_signal(number)
    assert space.finish(build).status == -number
    server.stop()
    assert not (space.folder / "0.o").exists()
    space_is_clean(space)


def test_a_server_that_is_told_to_end_while_a_build_ends(space: Space) -> None:
    """The job of that build ends by it, and everybody leaves in order."""
    server, build = a_build_that_only_waits(space)
    server.process.send_signal(signal.SIGTERM)
    end = space.finish(server.process)
    assert end.status == 0, end.err
    assert "Traceback" not in end.err
    assert "Traceback" not in space.finish(build).err
    space_is_clean(space)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_p9_a_server_that_is_ended_leaves_nothing(space: Space, number: int) -> None:
    server = Server(space)
    below = psutil.Process(server.process.pid).children(recursive=True)
    server.process.send_signal(number)
    server.process.wait(20)
    assert psutil.wait_procs(below, timeout=20)[1] == []
    space_is_clean(space)
    assert Server(space).stop() is not None


def test_p10_shims_without_a_server_are_the_plain_tools(space: Space) -> None:
    folder = space.root / "shims"
    done = space.ok(SMPMAKE, "shims", "install", str(folder))
    assert "gcc -> /usr/bin/gcc" in done.out
    listed = space.ok(SMPMAKE, "shims", "list", str(folder)).out.split()
    assert {"gcc", "ar", "ld", "mv"} <= set(listed)
    space.environment["PATH"] = f"{folder}:{space.environment['PATH']}"
    space.write(objects(1))
    assert space.ok("gcc", "-dumpversion").out == subprocess.check_output(
        ["/usr/bin/gcc", "-dumpversion"], text=True
    )
    space.ok("gcc", "-c", "f0.c")
    failing = space.run("gcc", "-c", "nothing.c")
    assert failing.status == 1
    assert "nothing.c" in failing.err
    # Every installed name leads to its real tool.
    for name in listed:
        assert space.run(name, "--version").status != 125
    space.ok(SMPMAKE, "shims", "remove", str(folder))
    assert not folder.exists()


def test_shims_stand_for_every_compiler_that_is_there(space: Space) -> None:
    needs.require("g++")
    folder = space.root / "shims"
    space.ok(SMPMAKE, "shims", "install", str(folder))
    listed = space.ok(SMPMAKE, "shims", "list", str(folder)).out.split()
    assert {"gcc", "g++"} <= set(listed)


def test_shims_do_not_replace_real_tools(space: Space) -> None:
    folder = space.root / "bin"
    folder.mkdir()
    (folder / "gcc").write_text("#!/bin/sh\n")
    ended = space.smpmake("shims", "install", str(folder))
    assert ended.status == 125
    assert f"{folder}/gcc exists and is not a shim" in ended.err
    assert space.smpmake("shims", "list", str(space.root / "nowhere")).status == 125


def test_two_shim_folders_and_a_masquerade_never_call_each_other(space: Space) -> None:
    """A ccache masquerade behind two shims folders, one of them twice on PATH."""
    one, two = space.root / "one", space.root / "two"
    space.ok(SMPMAKE, "shims", "install", str(one))
    space.ok(SMPMAKE, "shims", "install", str(two))
    masquerade = space.root / "ccache"
    masquerade.mkdir()
    launcher = masquerade / "launcher"
    launcher.write_text(
        f'#!/bin/sh\nPATH=$(echo "$PATH" | sed "s|{masquerade}:||g")\n'
        f"echo seen >> {space.root}/seen\n"
        'exec "${0##*/}" "$@"\n'
    )
    launcher.chmod(0o755)
    (masquerade / "gcc").symlink_to("launcher")
    real = space.environment["PATH"]
    space.environment["PATH"] = f"{one}:{two}:{one}:{masquerade}:{real}"
    ended = space.run("gcc", "-dumpversion")
    assert ended.status == 0, ended.err
    assert (space.root / "seen").read_text() == "seen\n"
    # Behind a server too: the launcher is found once, and not our own shim again.
    space.write({"a.c": "int a;\n"})
    built = space.smpmake("gcc", "-c", "a.c")
    assert built.status == 0, built.err
    assert (space.root / "seen").read_text() == "seen\n" * 2


def test_wrappers_that_loop_end_with_an_error(space: Space) -> None:
    folder, loop = space.root / "shims", space.root / "loop"
    space.ok(SMPMAKE, "shims", "install", str(folder))
    loop.mkdir()
    (loop / "gcc").write_text(f'#!/bin/sh\nPATH={folder}:$PATH exec {folder}/gcc "$@"\n')
    (loop / "gcc").chmod(0o755)
    ended = space.run(str(folder / "gcc"), PATH=f"{folder}:{loop}:/usr/bin:/bin")
    assert ended.status == 126
    assert "shims call each other" in ended.err


def test_a_tool_that_only_the_shim_knows(space: Space) -> None:
    folder = space.root / "shims"
    space.ok(SMPMAKE, "shims", "install", str(folder))
    ended = space.run(str(folder / "gcc"), "-c", "x.c", PATH=str(folder))
    assert ended.status == 127
    assert "no such tool on PATH behind smpmake's shim" in ended.err


def test_the_folder_of_servers_must_be_private(space: Space) -> None:
    base = Path(space.temporary, f"smpmake-services-{os.getuid()}")
    base.mkdir(mode=0o777)
    base.chmod(0o777)
    ended = space.smpmake("serve")
    assert ended.status == 125
    assert "not private" in ended.err


MAKEFILE = """prog: f0.o f1.o
\techo made > prog
f0.o: f0.c
\tgcc -c f0.c
f1.o: f1.c
\tgcc -c f1.c
"""


def test_plain_make_through_shims_alone_has_a_report(space: Space) -> None:
    """The three uses of smpmake meet: a server, shims on PATH, and a report afterwards."""
    space.write({**objects(2), "Makefile": MAKEFILE})
    server = Server(space)
    done = space.run(*shell(f"make && {SMPMAKE} status && {SMPMAKE} wait && {SMPMAKE} report"))
    assert done.status == 0, done.err
    assert "slots" in done.out
    report = done.out.partition("build 1,")[2]
    assert "2 in parallel, 0 in place" in report
    assert "make was not run by smpmake: its status is not known" in report
    assert "2 in parallel, 0 in place" in done.err
    history = space.run(SMPMAKE, "history")
    assert "?  make" in history.out
    assert "make" in space.run(SMPMAKE, "why", "f0.o").out
    assert "a build begins: make" in server.stop()
    space_is_clean(space)


def test_a_failure_behind_plain_make_is_reported(space: Space) -> None:
    """Its status was 0: who looks afterwards hears of it; the next make is told itself."""
    space.write({**objects(2), "f1.c": "int x = oops;\n", "Makefile": MAKEFILE})
    server = Server(space)
    script = f"make; echo $? > status; {SMPMAKE} wait; make; echo $? > again; {SMPMAKE} wait"
    space.run(*shell(script))
    assert (space.folder / "status").read_text() == "0\n"
    assert (space.folder / "again").read_text() == "2\n"
    reports = space.run(SMPMAKE, "report", "1")
    assert "failed" in reports.out
    assert "oops" in reports.out
    assert "failed: gcc -c f1.c" in server.stop()
