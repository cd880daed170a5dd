"""A driver that runs before its session is loaded: whoever needs one gets it, nobody else does."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake.config import Settings
from smpmake.session import limits
from smpmake.session.early_start import EarlyStart, begin
from smpmake.session.setup import SetupOptions, setup_options
from tests.support.space import SMPMAKE, Space

#: What takes longer to load than a driver may wait, and what it does not need.
HEAVY = {
    *("asyncio", "click", "concurrent", "dataclasses", "hashlib", "inspect", "json", "logging"),
    *("psutil", "selectors", "shutil", "socket", "sqlite3", "subprocess"),
    *("tempfile", "threading", "tomllib"),
}
#: What a build's first command does not need, nor the whole of most builds.
UNUSUAL = {
    *("_hashlib", "_ssl", "base64", "bz2", "click", "ctypes", "dataclasses", "hashlib", "lzma"),
    *("json", "psutil", "random", "shutil", "sqlite3", "tempfile"),
}

#: With this the session is there before its driver.
NOT_AHEAD = ("--engine=auto", "--")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to build in, where nothing has settings; our signals and limits as they were."""
    for name in [
        name for name in os.environ if name.startswith(("SMPMAKE_", "_SMPMAKE_", "GITHUB_"))
    ]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path / "build")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    soft = limits.raise_descriptor_limit()
    yield tmp_path
    limits.restore_descriptor_limit(soft)
    for number, handler in handlers.items():
        signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    assert list(tmp_path.glob("smpmake-*")) == []


def ended(*command: str, settings: Settings | None = None) -> EarlyStart:
    """One whose driver has ended, whatever becomes of it."""
    ahead = begin(list(command), settings or Settings())
    assert ahead is not None
    keeper = select.poll()
    keeper.register(ahead.keeper.control, select.POLLIN)
    while ahead._ended() is None:
        keeper.poll(1000)
    return ahead


def test_a_stage_assumes_what_settings_are_without_any() -> None:
    assert setup_options(Settings()) == SetupOptions()


def test_what_a_driver_waits_for_is_little() -> None:
    program = "import sys; import smpmake.cli; import smpmake.cli.early; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.decode().split()}
    assert not loaded & HEAVY


def test_what_a_first_command_waits_for_is_little() -> None:
    program = (
        "import sys; from smpmake.cli import early; from smpmake.session.early_start import load\n"
        "for name in early._SESSION: load(name)\n"
        "from smpmake.session.local import _SERVER\n"
        "for name in _SERVER: load(name)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    assert not set(done.stdout.decode().split()) & UNUSUAL


def test_who_asks_nothing_needs_no_session(place: Path) -> None:
    ahead = ended("true")
    assert ahead.is_over()
    assert ahead.load_modules(["nothing that could be loaded"])
    ahead.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(ahead.keeper.pid, os.WNOHANG)


@pytest.mark.parametrize("command", [["false"], ["nonesuch"], ["sh", "-c", "kill -9 $$"]])
def test_a_failure_is_for_the_session(place: Path, command: list[str]) -> None:
    ahead = ended(*command)
    assert not ahead.is_over()
    ahead.close()


def test_who_has_asked_is_answered(place: Path) -> None:
    ahead = ended("true")
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(os.fspath(ahead.stage.path / "socket"))
        assert not ahead.is_over()
    ahead.close()


def test_a_signal_waits_for_the_session(place: Path) -> None:
    ahead = ended("true")
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    assert not ahead.is_over()
    assert signal.sigwait({signal.SIGTERM}) == signal.SIGTERM
    assert ahead.is_over()
    ahead.close()


NEEDS = {
    "its end": "read word < fifo",
    "its failure": "read word < fifo; exit 3",
    "a question": "read word < fifo; gcc -E -x c /dev/null > /dev/null; read word < fifo",
    "output": "read word < fifo; echo; read word < fifo",
    "its keeper's end": "read word < fifo; kill -9 $PPID; read word < fifo",
}


@pytest.mark.parametrize("script", NEEDS.values(), ids=list(NEEDS))
def test_nothing_is_loaded_before_something_needs_it(place: Path, script: str) -> None:
    """It waits as long as nothing does, and no longer: else this would not end."""
    os.mkfifo("fifo")
    output = "serial" if "echo" in script else "live"
    ahead = begin(["sh", "-c", script], Settings(output=output))
    assert ahead is not None
    waiting = threading.Thread(target=ahead.wait)
    waiting.start()
    with open("fifo", "w") as fifo:  # the driver is there
        assert waiting.is_alive()
        fifo.write("\n")
    waiting.join()
    with open("fifo", "r+b", buffering=0) as again:
        again.write(b"\n\n")
        ahead.close()


def test_a_signal_needs_a_session(place: Path) -> None:
    ahead = begin(["sleep", "1000"], Settings())
    assert ahead is not None
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    ahead.wait()
    assert signal.sigwait({signal.SIGTERM}) == signal.SIGTERM
    ahead.close()


@pytest.mark.parametrize(
    ("command", "status"),
    [("exit 3", 3 << 8), ("kill -9 $$", 9)],
    ids=["status", "signal"],
)
def test_without_a_session_it_goes_on(place: Path, command: str, status: int) -> None:
    ahead = begin(["sh", "-c", command], Settings())
    assert ahead is not None
    event = ahead.go_on_plainly()
    assert event is not None and event.status == status


def test_without_a_session_it_is_ended_by_our_caller(place: Path) -> None:
    """In a process that has no other thread to which a signal could go."""
    script = "trap 'exit 7' TERM; kill $PPID_OF_US; while :; do :; done"
    program = (
        "import os; from smpmake.session.early_start import begin; "
        "from smpmake.config import Settings; "
        "os.environ['PPID_OF_US'] = str(os.getpid()); "
        f'print(begin(["sh", "-c", "{script}"], Settings()).go_on_plainly().status)'
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    assert int(done.stdout) == 7 << 8


def test_without_its_keeper_it_ends(place: Path) -> None:
    ahead = begin(["sh", "-c", "kill -9 $PPID; while :; do :; done"], Settings())
    assert ahead is not None
    assert ahead.go_on_plainly() is None


@pytest.mark.parametrize("command", ["ninja", "/usr/bin/samu", "wmake"])
def test_who_is_told_something_has_none(place: Path, command: str) -> None:
    assert begin([command], Settings()) is None


@pytest.mark.parametrize("variable", ["_SMPMAKE_SOCKET", "_SMPMAKE_GUARD", "GITHUB_ACTIONS"])
def test_who_is_below_somebody_has_none(
    place: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "x")
    assert begin(["true"], Settings()) is None


def test_what_has_to_be_there_first_is_for_the_session(place: Path) -> None:
    assert begin(["true"], Settings(engine="auto")) is None


@pytest.mark.parametrize(("command", "over"), [("exit 0", True), ("echo x", False)])
def test_what_a_driver_prints_in_order_is_for_the_session(
    place: Path, command: str, over: bool
) -> None:
    ahead = ended("sh", "-c", command, settings=Settings(output="serial"))
    assert ahead.is_over() == over
    ahead.close()


def test_without_a_session_what_it_prints_is_passed_on(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """More than a pipe holds."""
    lines = "i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done; exit 3"
    ahead = begin(["sh", "-c", lines], Settings(output="serial"))
    assert ahead is not None
    event = ahead.go_on_plainly()
    assert event is not None and event.status == 3 << 8
    assert capfd.readouterr().out == "".join(f"line {n}\n" for n in range(9000))


def test_without_a_session_and_a_reader_it_ends_as_by_itself(place: Path) -> None:
    program = (
        "import os; from smpmake.session.early_start import begin; "
        "from smpmake.config import Settings; "
        'ahead = begin(["yes"], Settings(output="serial")); '
        "os.write(2, b'%d' % ahead.go_on_plainly().status)"
    )
    end, nobody_reads = os.pipe()
    os.close(end)
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=nobody_reads, stderr=subprocess.PIPE, check=True
    )
    os.close(nobody_reads)
    assert int(done.stderr) == signal.SIGPIPE


def test_what_settings_say_of_the_stage_holds_for_the_driver(place: Path) -> None:
    settings = Settings(guard=False, jobs=3)
    ahead = begin(["sh", "-c", 'test -z "$LD_PRELOAD"'], settings)
    assert ahead is not None
    event = ahead.go_on_plainly()
    assert event is not None and event.status == 0


def test_where_there_is_no_room_the_session_says_so(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())

    def no_pipe(flags: int) -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "pipe2", no_pipe)
    assert begin(["true"], Settings()) is None
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), NOT_AHEAD], ids=["ahead", "session first"])
def test_the_driver_has_what_it_would_have(space: Space, options: tuple[str, ...]) -> None:
    """Descriptors, limits, signals, mask and environment, but for what is ours."""
    show = (
        "(cd /proc/$$/fd && echo *); ulimit -n; ulimit -c; "
        "grep -E 'Sig(Blk|Ign)' /proc/self/status; "
        "env | grep -v -e SMPMAKE -e LD_PRELOAD -e ^_= | sort"
    )
    plain = space.ok("sh", "-c", show)
    assert space.ok(SMPMAKE, *options, "sh", "-c", show).out == plain.out


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), NOT_AHEAD], ids=["ahead", "session first"])
def test_the_driver_has_what_our_caller_has_open(space: Space, options: tuple[str, ...]) -> None:
    """As a log that recipes write to, or a job server's pipe."""
    rules = "all: w.o\n\techo behind $< >&5\nw.o: w.c\n\t$(CC) -c w.c && echo compiled >&5\n"
    logs = []
    for words in ((), (SMPMAKE, *options)):
        space.clear()
        space.write({"w.c": "int w;\n", "Makefile": rules})
        space.ok("sh", "-c", 'exec 5>log; "$@"', "sh", *words, "make")
        logs.append((space.folder / "log").read_text())
    assert logs[0] == logs[1] == "compiled\nbehind w.o\n"


@pytest.mark.slow
def test_a_job_server_of_our_caller(space: Space) -> None:
    """The driver takes part in it, as it would without us, and every token comes back."""
    outer = "all: one two\none two:\n\t+$(RUN) $(MAKE) --no-print-directory -C $@ all\n"
    inner = "all: a.o b.o\n\tcat $^ > all\n%.o: %.c\n\tgcc -c $<\n"
    files = {f"{sub}/{n}.c": f"int {n};\n" for sub in ("one", "two") for n in "ab"}
    trees = []
    for run in ("", SMPMAKE):
        space.clear()
        space.write({**files, "Makefile": outer, "one/Makefile": inner, "two/Makefile": inner})
        ended = space.ok("make", "-j3", f"RUN={run}")
        assert "jobserver" not in ended.err
        trees.append(space.tree())
    assert trees[0] == trees[1]
    space.expect_clean()


#: What a process does before it becomes the command that it is given.
BECOME = (
    "import ctypes, os, signal, sys; "
    "[signal.signal(n, signal.SIG_DFL) for n in (signal.SIGPIPE, signal.SIGXFSZ)]; "
    "{}; os.execvp(sys.argv[1], sys.argv[1:])"
)
#: Odd things that our caller may do; the same holds for the plain command.
CALLERS = {
    "waits for nobody": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "blocks a signal": "signal.pthread_sigmask(signal.SIG_BLOCK, [15])",
    "has a variable without a name": "ctypes.CDLL(None).putenv(b'=odd=1')",
    "reads no messages": "os.dup2(os.open('/dev/full', os.O_WRONLY), 2)",
    "has closed its messages": "os.close(2)",
}


@pytest.mark.slow
@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("options", [(), NOT_AHEAD], ids=["ahead", "session first"])
@pytest.mark.parametrize(
    "driver",
    [
        ["true"],
        ["sh", "-c", "gcc -c w.c && cksum w.o > seen; grep SigIgn /proc/self/status; exit 3"],
    ],
    ids=["nothing", "a compile"],
)
def test_whatever_our_caller_does(
    space: Space, caller: str, options: tuple[str, ...], driver: list[str]
) -> None:
    space.write({"w.c": "int w;\n"})
    become = [sys.executable, "-c", BECOME.format(CALLERS[caller])]
    plain = space.run(*become, *driver)
    tree = space.tree()
    space.clear()
    space.write({"w.c": "int w;\n"})
    ended = space.run(*become, SMPMAKE, *options, *driver)
    assert (ended.status, ended.out) == (plain.status, plain.out), ended.err
    assert space.tree() == tree
    space.expect_clean()


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), NOT_AHEAD], ids=["ahead", "session first"])
def test_a_signal_that_our_caller_blocks_does_not_end_us(
    space: Space, options: tuple[str, ...]
) -> None:
    comes = "signal.pthread_sigmask(signal.SIG_BLOCK, [15]); os.kill(os.getpid(), 15)"
    become = [sys.executable, "-c", BECOME.format(comes)]
    assert space.run(*become, "true").status == 0
    assert space.run(*become, SMPMAKE, *options, "true").status == 0


@pytest.mark.slow
def test_our_own_descriptors_take_no_slot(space: Space) -> None:
    space.write({"w.c": "int w;\n"})
    ended = space.ok("sh", "-c", 'ulimit -n 60; "$0" sh -c "gcc -c w.c; exit 0"', SMPMAKE)
    assert "1 in parallel" in ended.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    ["echo jobs = never > .smpmake.toml", 'cd /; rm -r "$OLDPWD"; mkdir "$OLDPWD"; cd "$OLDPWD"'],
    ids=["settings", "folder"],
)
def test_what_the_driver_changes_at_once(space: Space, first: str) -> None:
    """A session is loaded behind a driver that may have changed everything that it looks at."""
    script = f"echo x >> {space.root}/runs; {first}; echo 'int w;' > w.c; gcc -c w.c; exit 3"
    ended = space.run(SMPMAKE, "sh", "-c", script)
    assert ended.status == 3, ended.err
    assert (space.root / "runs").read_text() == "x\n"
    assert (space.folder / "w.o").exists()
    space.expect_clean()


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), NOT_AHEAD], ids=["ahead", "session first"])
def test_what_called_no_tool_is_not_remembered(space: Space, options: tuple[str, ...]) -> None:
    assert space.ok(SMPMAKE, *options, "true").err == ""
    assert space.run(SMPMAKE, *options, "false").status == 1
    told = space.ok(SMPMAKE, "history").out
    assert "false" in told and "true" not in told


@pytest.mark.slow
def test_a_driver_that_takes_its_time_and_asks_nothing(space: Space) -> None:
    """It is over only when the session has been there for long."""
    script = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done"
    ended = space.run(SMPMAKE, "-v", "sh", "-c", script)
    assert ended.status == 0 and "smpmake ran nothing in parallel" in ended.err
    assert space.run(SMPMAKE, "history").out == ""
    space.expect_clean()
