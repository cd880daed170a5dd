"""The folders of sessions and servers: whose they are, and that a full disk is survived."""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from smpmake import native
from smpmake.config import Settings
from smpmake.disk.shared import NoRoomError, shared_map
from smpmake.errors import SmpmakeError
from smpmake.guard.scoreboard import Scoreboard
from smpmake.guard.traces import Traces
from smpmake.server import daemon
from smpmake.server.daemon import Service, ServiceError
from smpmake.server.implicit_builds import State
from smpmake.server.rundir import SessionFolder, clean_up_after_the_dead
from smpmake.session.driver_environment import driver_environment
from smpmake.undo.entries import scan
from smpmake.undo.journal import UndoJournal
from tests.support.notes import Notes
from tests.support.space import Space, objects


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short folder for temporary files of this process, and nothing else in it."""
    folder = Path(tempfile.mkdtemp(prefix="smp-", dir="/tmp"))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    # What other sessions of this machine left in the shared one is cleaned, too.
    monkeypatch.setattr("smpmake.server.rundir._SHARED", str(folder))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


class Interrupted:
    """Does something before each of the calls of a module that touch the disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, what: Callable[[], object]) -> None:
        self._what = what
        self._busy = False
        self.count = 0
        for place, name in (
            (os, "open"), (os, "rename"), (os, "mkdir"), (os, "chmod"), (os, "stat"),
            (fcntl, "flock"), (tempfile, "mkdtemp"),
        ):  # fmt: skip
            monkeypatch.setattr(place, name, self.before(getattr(place, name)))

    def before(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """That call, with what is done before it."""

        def wrapped(*arguments: Any, **options: Any) -> Any:
            if not self._busy:
                self._busy = True
                self.count += 1
                self._what()
                self._busy = False
            return call(*arguments, **options)

        return wrapped


def test_p9_a_cleaner_that_comes_at_any_moment_spares_a_new_session(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        interrupted = Interrupted(patch, clean_up_after_the_dead)
        folder = SessionFolder()
    assert interrupted.count >= 4
    assert sorted(os.listdir(folder.path)) == ["lock"]
    assert clean_up_after_the_dead() == 0
    assert (folder.path / "lock").exists()
    folder.remove()
    assert list(temporary.iterdir()) == []


def test_p9_what_the_dead_left_is_cleaned_by_one(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = SessionFolder()
    os.close(folder._lock)
    run = subprocess.run
    found: list[int] = []

    def clean(*arguments: Any, **options: Any) -> object:
        found.append(clean_up_after_the_dead() if not found else -1)
        return run(*arguments, **options)

    monkeypatch.setattr(subprocess, "run", clean)
    assert clean_up_after_the_dead() == 1
    assert found == [0]
    assert list(temporary.iterdir()) == []


def test_p9_a_session_that_is_killed_while_it_leaves(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it has removed by then, the next one removes the rest."""

    class KilledError(BaseException):
        pass

    for moment in range(1, 20):
        folder = SessionFolder()
        for name in ("undo/head", "undo/old/1", "board", "socket"):
            (folder.path / name).parent.mkdir(exist_ok=True)
            (folder.path / name).touch()
        with monkeypatch.context() as patch:
            left = moment

            def unlink(*args: Any, real: Callable[..., None] = os.unlink, **options: Any) -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    raise KilledError
                real(*args, **options)

            patch.setattr(os, "unlink", unlink)
            try:
                folder.remove()
            except KilledError:
                os.close(folder._lock)
        if left > 0:
            break
        clean_up_after_the_dead()
        assert list(temporary.iterdir()) == [], f"killed at {moment}"
    assert moment > 5


def exchange(one: Path, other: Path) -> None:
    """Each has the other's name from now on."""
    done = ctypes.CDLL(None).renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2)
    assert done == 0


@pytest.mark.parametrize("moment", range(8))
@pytest.mark.parametrize("age", [0, 7200])
def test_p9_a_name_that_leads_elsewhere_at_any_moment(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, moment: int, age: int
) -> None:
    """Another user may put a link to a folder of ours where a folder stood, between two looks."""
    precious = temporary / "precious"
    bait = temporary / f"smpmake-{os.getuid()}-bait"
    for folder in (precious, bait):
        (folder / "undo").mkdir(parents=True)
        for name in ("lock", "lock.new", "undo/head", "data"):
            (folder / name).touch()
        if age:
            (folder / "lock").unlink()  # as one that was killed before it had one
        os.utime(folder, (time.time() - age,) * 2)
    link = temporary / "link"
    link.symlink_to(precious)
    there = sorted(precious.rglob("*"))
    seen = 0

    def swap() -> None:
        nonlocal seen
        if seen == moment:
            exchange(bait, link)
        seen += 1

    with monkeypatch.context() as patch:
        interrupted = Interrupted(patch, swap)
        patch.setattr(subprocess, "run", interrupted.before(subprocess.run))
        patch.setattr(os, "rmdir", interrupted.before(os.rmdir))
        clean_up_after_the_dead()
    assert sorted(precious.rglob("*")) == there


@pytest.mark.parametrize("age", [0, 7200])
def test_p9_a_session_that_was_killed_before_it_had_a_lock(temporary: Path, age: int) -> None:
    folder = temporary / f"smpmake-{os.getuid()}-born"
    folder.mkdir()
    (folder / "lock.new").touch()
    os.utime(folder, (time.time() - age,) * 2)
    clean_up_after_the_dead()
    assert folder.exists() == (age == 0)


def claim(name: str = "one") -> tuple[Service, int]:
    service = Service(name, Settings(), lambda record: Notes(), lambda: State(0.0, 0, 0.0, -1.0, 0))
    return service, service._claim()


def test_a_server_that_ends_while_another_starts(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any moment of the second's start the first may go: one folder, one lock, one server."""
    seen = 0
    while True:
        first, lock = claim()
        moments = 0

        def go(first: Service = first, lock: int = lock, at: int = seen) -> None:
            nonlocal moments
            if moments == at:
                first._remove()
                os.close(lock)
            moments += 1

        with monkeypatch.context() as patch:
            Interrupted(patch, go)
            second, other = claim()
        assert os.path.samestat(os.fstat(other), os.stat(second._path / "lock"))
        monkeypatch.setattr(daemon, "_PATIENCE", 0.0)
        with pytest.raises(ServiceError, match="already running"):
            claim()
        monkeypatch.setattr(daemon, "_PATIENCE", 5.0)
        second._remove()
        os.close(other)
        if seen == 6:
            break
        seen += 1


def test_a_server_takes_the_place_of_one_that_was_killed(temporary: Path) -> None:
    first, lock = claim()
    UndoJournal(first._path).close()
    os.close(lock)
    second, other = claim()
    assert os.listdir(second._path) == ["lock"]
    second._remove()
    os.close(other)


@pytest.mark.slow
def test_p9_a_keeper_leaves_alone_what_has_a_new_owner(temporary: Path) -> None:
    """Its server was killed, and another came to the place before it had cleaned up."""
    service, lock = claim()
    read_end, write_end = os.pipe()  # a worker of its server's has the other end
    ours, theirs = socket.socketpair()
    words = map(str, (theirs.fileno(), read_end, 0, 0, service._path))
    keeper = subprocess.Popen(
        [native.program("keeper"), *words], pass_fds=[theirs.fileno(), read_end]
    )
    theirs.close()
    ours.close()
    os.close(write_end)
    os.close(read_end)
    keeper.wait(20)
    assert (service._path / "lock").exists()
    service._remove()
    os.close(lock)


# ------------------------------------------------------------------ names


@pytest.mark.parametrize("library", ["/a b/guard.so", "/a:b/guard.so", "/$ORIGIN/guard.so"])
def test_a_library_whose_name_ld_preload_cannot_hold(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    odd = temporary / "a b:c"
    odd.mkdir()
    monkeypatch.setattr(native, "guard", lambda: library)
    monkeypatch.setattr(tempfile, "tempdir", str(odd))
    folder = SessionFolder()
    try:
        environment = driver_environment(
            odd, folder.socket, folder.path / "board", "main", guarded="sh"
        )
        assert not re.search(r"[\s:;$]", environment["_SMPMAKE_GUARD"])
        assert os.readlink(environment["_SMPMAKE_GUARD"]) == library
    finally:
        folder.remove()
    with pytest.raises(SmpmakeError, match="cannot be preloaded"):
        driver_environment(odd, odd / "socket", odd / "board", "main", guarded="sh")


# ------------------------------------------------------------------ a full disk


@pytest.fixture
def small() -> Iterator[Path]:
    """A file system of 1 MiB."""
    if os.getuid() != 0:
        pytest.skip("only root may mount a file system")
    folder = Path(tempfile.mkdtemp(prefix="smp-", dir="/tmp"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=1777", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        folder.rmdir()
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def fill(folder: Path, leave: int = 0) -> None:
    """Takes all room of a file system but `leave` bytes."""
    with open(folder / "ballast", "ab", buffering=0) as file:
        while os.statvfs(folder).f_bavail * 4096 > leave:
            file.write(bytes(4096))


def test_shared_memory_is_there_or_there_is_none(small: Path) -> None:
    fill(small, leave=300 << 10)
    first = Traces(small)
    assert first.begin_trace(0, 0)
    assert first.begin_trace(1, 0) == b""
    assert "No space left" in first.fault and "TMPDIR" in first.fault
    assert sorted(os.listdir(small)) == ["ballast", "trace-0"]
    trace = first.end_trace(1)
    assert (trace.reads, trace.writes, trace.whole) == ((), (), False)
    with pytest.raises(NoRoomError, match="No space left"):
        Scoreboard(small / "board")
    (small / "ballast").unlink()
    assert first.begin_trace(1, 0)
    first.close()


@pytest.mark.parametrize("number", [95, 22])  # EOPNOTSUPP, EINVAL
def test_a_file_system_that_cannot_allocate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(fd: int, start: int, size: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    shared_map(tmp_path / "map", 200_000).close()
    info = (tmp_path / "map").stat()
    assert info.st_size == 200_000
    assert info.st_blocks * 512 >= 200_000


def test_a_journal_on_a_full_disk_has_whole_entries(small: Path) -> None:
    journal = UndoJournal(small)
    journal.makes(0, "/" + "a" * 100)
    fill(small)
    for number in range(1, 200):
        journal.makes(number, "/" + "c" * 100)
    (small / "ballast").unlink()
    journal.makes(200, "/last")
    found = [(change.command, change.path) for change in scan((small / "undo/server").read_bytes())]
    whole = len(found) - 2
    assert 0 < whole < 199
    assert found == [
        (0, "/" + "a" * 100),
        *((number, "/" + "c" * 100) for number in range(1, whole + 1)),
        (200, "/last"),
    ]
    journal.close()


@pytest.mark.slow
@pytest.mark.parametrize("leave", [4 << 10, 16 << 10, 400 << 10])
def test_p5_a_full_disk_at_the_start_is_told_and_the_build_runs_plainly(
    space: Space, small: Path, leave: int
) -> None:
    space.write({"build.sh": "echo a > a && echo b\n"})
    fill(small, leave)
    ended = space.smpmake("sh", "build.sh", TMPDIR=str(small))
    assert (ended.status, ended.out) == (0, "b\n")
    assert "No space left on device" in ended.err
    assert "running the build plainly" in ended.err
    assert "TMPDIR" in ended.err and "Traceback" not in ended.err
    assert os.listdir(small) == ["ballast"]


@pytest.mark.slow
def test_p5_a_disk_that_fills_up_during_a_build(space: Space, small: Path) -> None:
    """The driver fills it before the first job: there is no trace, and the build is whole."""
    subprocess.run(["mount", "-o", "remount,size=24m", str(small)], check=True)
    script = 'cat /dev/zero > "$BALLAST" 2> /dev/null\nexport TMPDIR=/tmp\n'
    script += "".join(f"gcc -c f{n}.c\n" for n in range(6)) + "gcc -shared -o all.so f*.o\n"
    space.write({**objects(6), "build.sh": script})
    variables = {"BALLAST": str(small / "ballast"), "TMPDIR": str(small)}
    ended = space.smpmake("-j3", "sh", "build.sh", **variables)
    assert ended.status == 0, ended.err
    assert "7 in parallel" in ended.err
    assert "Traceback" not in ended.err and "SIGBUS" not in ended.err
    assert (space.folder / "all.so").exists()
    assert os.listdir(small) == ["ballast"]
    report = space.smpmake("report", "--json")
    assert report.out.count("reads and writes are not noted") == 1
