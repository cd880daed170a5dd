"""Older targets of commands whose callers no guard holds back: out of sight while they are made."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake import native
from smpmake.protocol import frames, layout, working
from smpmake.protocol.wire import FileId, Invoke
from tests.support.bench import MAKE, Bench, Shim

FAILED = 1 << 8  # as wait(2) gives exit status 1


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, slots=1, guard=False)
    made.write("a.c", "b.c", "a.o", "b.o")
    yield made
    assert made.close() == []


def there(bench: Bench) -> set[str]:
    """What is in sight."""
    return {name for name in os.listdir(bench.folder) if name.endswith(".o")}


def kept(bench: Bench) -> list[Path]:
    """What is out of sight."""
    return sorted((bench.folder.parent / "session" / "undo" / "kept").iterdir())


def is_older(bench: Bench, name: str) -> bool:
    return (bench.folder / name).read_text() == f"/* {name} */\n"


def test_nothing_stale_is_in_sight_and_nothing_is_kept_for_long(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    bench.run("gcc -c b.c")
    assert there(bench) == set()
    (bench.folder / "a.o").write_text("new")
    bench.workers.end(0)
    assert [path.read_text() for path in kept(bench)] == ["/* b.o */\n"]
    (bench.folder / "b.o").write_text("new")
    bench.workers.end(1)
    assert kept(bench) == []
    assert there(bench) == {"a.o", "b.o"}


def test_what_did_not_come_to_be_made_is_back(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    bench.run("gcc -c b.c")
    bench.workers.end(0, FAILED)  # gcc has written nothing
    assert is_older(bench, "a.o") and is_older(bench, "b.o")
    assert kept(bench) == []


def test_what_a_tool_has_left_that_failed_stays(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    (bench.folder / "a.o").write_text("what it left")
    bench.workers.end(0, FAILED)
    assert (bench.folder / "a.o").read_text() == "what it left"
    assert kept(bench) == []


def test_a_command_that_is_run_once_more_still_has_it_aside(bench: Bench) -> None:
    bench.run("gcc -c a.c")
    bench.workers.lose(0)
    assert there(bench) == {"b.o"}
    bench.workers.end(0, FAILED)
    assert is_older(bench, "a.o")


@pytest.mark.parametrize("name", ["folder", "fifo"])
def test_only_files_go_aside(bench: Bench, name: str) -> None:
    path = bench.folder / name
    path.mkdir() if name == "folder" else os.mkfifo(path)
    bench.run(f"gcc -c a.c -o {name}")
    assert path.exists()
    for number in list(bench.workers.running.values()):
        bench.workers.end(number)


def unguarded(bench: Bench, line: str) -> None:
    """A command of a make that takes no guard, in a build that can be undone."""
    out, err = (os.open(bench.log, os.O_WRONLY | os.O_APPEND) for _ in range(2))
    invocation = bench.invocation(line)
    invocation.unguarded = MAKE
    bench.engine.invoke(bench.build, invocation, Shim(), out, err)


def test_where_all_can_be_undone_it_is_kept_behind_the_end(tmp_path: Path) -> None:
    bench = Bench(tmp_path, slots=1)
    bench.journal.begin(str(bench.folder), 1 << 20)
    bench.build.undoing.begin(bench.journal, lambda: None)
    bench.write("a.c", "a.o")
    bench.run("gcc -c a.c -o guarded.o")
    unguarded(bench, "gcc -c a.c")
    assert there(bench) == set()
    bench.workers.end(0)
    (bench.folder / "a.o").write_text("new")
    bench.workers.end(1)
    assert not bench.journal.is_incomplete
    assert bench.journal.take_back(everything=True).complaints == []
    assert is_older(bench, "a.o")
    assert bench.close() == []


# ---------------------------------------------------------------------- the worker's part


def run_in_a_worker(script: str, output: Path, aside: Path, *, journaled: bool) -> working.Result:
    """One job in a worker of its own."""
    ours, theirs = socket.socketpair()
    alive, other = os.pipe()
    words = [native.program("worker"), str(theirs.fileno()), str(other)]
    with ours, subprocess.Popen(words, pass_fds=[theirs.fileno(), other]) as worker:
        theirs.close()
        os.close(other)
        invoke = Invoke(
            *(1, 0o22, FileId(0, 0), FileId(0, 1), "sh", b"/bin/sh", os.fsencode(output.parent)),
            *("b", b"", b"", b""),
        )
        blob = working.encode_output(os.fsencode(output), os.fsencode(aside), timed=True, made=True)
        argv = frames.join_strings([b"sh", b"-c", script.encode()])
        ours.sendall(
            working.encode_job(
                *(0, 10**18, invoke, argv, blob), merged=False, journaled=journaled, environment=b""
            )
        )
        splitter = frames.Splitter()
        results: list[bytes] = []
        while not results:
            arrived = splitter.feed(ours.recv(1 << 16))
            results = [payload for kind, payload in arrived if kind == layout.WIRE_RESULT]
        ours.shutdown(socket.SHUT_RDWR)
        assert worker.wait(20) == 0
    os.close(alive)
    return working.decode_result(results[0])


@pytest.mark.parametrize("journaled", [True, False], ids=["journaled", "not"])
@pytest.mark.parametrize("script", ["exit 0", "exit 1", "kill -KILL $$"])
def test_only_a_worker_that_ends_a_job_for_good_removes_it(
    tmp_path: Path, script: str, journaled: bool
) -> None:
    output, aside = tmp_path / "a.o", tmp_path / "aside"
    output.write_text("half")
    aside.write_text("older")
    result = run_in_a_worker(script, output, aside, journaled=journaled)
    killed = os.WIFSIGNALED(result.wait_status)
    assert aside.exists() == (journaled or not killed)
    assert result.ok == (script == "exit 0")
