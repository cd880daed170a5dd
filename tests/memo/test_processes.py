"""Whoever starts a command that is remembered sees the process that it would see without."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from smpmake.protocol import layout
from tests.support import needs
from tests.support.remembered import Remembered, settle

#: A compiler of our own: its first word says what it does.
COMPILER: Final = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void end(int number) { (void)number; _exit(3); }
static void wait_at(const char *fifo)
{
    char byte;
    int fd = open(fifo, O_RDONLY);
    while (read(fd, &byte, 1) > 0)
        continue;
    close(fd);
}
int main(int argc, char **argv)
{
    const char *what = argv[1];
    if (strcmp(what, "dies") == 0)
        raise(SIGUSR1);
    if (strcmp(what, "handles") == 0)
        signal(SIGTERM, end);
    if (strcmp(what, "reads") == 0)
        close(open("x.h", O_RDONLY));
    if (strcmp(what, "writes") == 0) {
        int fd = open("x.o", O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (write(fd, "object", 6) != 6 || close(fd) != 0)
            return 9;
        signal(SIGTERM, SIG_IGN);
        raise(SIGSTOP);
    }
    if (strcmp(what, "updates") == 0) { /* as strip does */
        int fd = open("x.o", O_WRONLY | O_TRUNC);
        if (write(fd, "object", 6) != 6 || close(fd) != 0)
            return 9;
        raise(SIGSTOP);
    }
    if (strcmp(what, "drives") == 0) { /* as gcc does */
        if (fork() == 0) {
            int fd = open("x.o", O_WRONLY | O_CREAT | O_TRUNC, 0644);
            return write(fd, "object", 6) != 6;
        }
        wait(NULL);
        raise(SIGSTOP);
    }
    if (strcmp(what, "stops") == 0 || strcmp(what, "reads") == 0)
        raise(SIGSTOP);
    if (strcmp(what, "handles") == 0 || strcmp(what, "waits") == 0)
        wait_at("fifo");
    if (strcmp(what, "alternates") == 0)
        for (int i = 0; i < 9; i++)
            if (write(1 + i % 2, "0123456789" + i, 1) != 1)
                return 9;
    if (strcmp(what, "ignores") == 0)
        printf("%d%d\n", signal(SIGCHLD, SIG_DFL) == SIG_IGN, signal(SIGINT, SIG_DFL) == SIG_IGN);
    if (strcmp(what, "leaves") == 0 && fork() == 0) {
        wait_at("fifo");
        close(open("late", O_CREAT | O_WRONLY, 0644));
    }
    if (strcmp(what, "lingers") == 0) {
        const struct timespec moment = {0, 1000000};
        int child = fork();
        while (child == 0)
            nanosleep(&moment, NULL);
        printf("%d\n", child);
    }
    return argc > 9;
}
"""
WORDS: Final = ("-c", "conftest.c")


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Remembered]:
    """A store, and a gcc of ours that is older than the session."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "compiler.c").write_text(COMPILER)
    subprocess.run(["gcc", "-o", tools / "gcc", tools / "compiler.c"], check=True)
    settle(tmp_path)
    one = Remembered(tmp_path)
    one.plain["PATH"] = f"{tools}:{one.plain['PATH']}"
    (one.folder / "conftest.c").write_text("")
    os.mkfifo(one.folder / "fifo")
    settle(one.folder)
    yield one
    one.close()


def let_go(one: Remembered) -> int:
    """Comes back when a command waits at the FIFO; closing what is returned lets it go on."""
    return os.open(one.folder / "fifo", os.O_WRONLY)


def test_a_command_that_a_signal_ends(ours: Remembered) -> None:
    for _ in range(2):
        assert ours.run("gcc", "dies", *WORDS).status == -signal.SIGUSR1
    assert ours.told.unkept == {layout.MEMO_KILLED: 2}


def test_a_signal_reaches_the_command(ours: Remembered) -> None:
    with ours.start("gcc", "handles", *WORDS) as process:
        held = let_go(ours)
        process.terminate()
        assert process.wait(60) == 3
        os.close(held)
    assert ours.entries() == []


def test_a_signal_that_the_command_does_not_handle(ours: Remembered) -> None:
    with ours.start("gcc", "waits", *WORDS) as process:
        held = let_go(ours)
        process.send_signal(signal.SIGHUP)
        assert process.wait(60) == -signal.SIGHUP
        os.close(held)


def test_a_kill_ends_all_of_it(ours: Remembered) -> None:
    """The command does not outlive what was started in its place."""
    with ours.start("gcc", "waits", *WORDS) as process:
        held = let_go(ours)
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        with pytest.raises(BrokenPipeError):
            while True:  # as long as somebody reads it is taken, and that ends soon
                os.write(held, b".")
        os.close(held)
    assert ours.entries() == []


def test_a_command_that_stops(ours: Remembered) -> None:
    with ours.start("gcc", "stops", *WORDS) as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        process.send_signal(signal.SIGCONT)
        assert process.wait(60) == 0


@pytest.mark.parametrize("how", ["in place", "by another", "not at all"])
def test_a_file_that_changes_while_it_is_read(ours: Remembered, how: str) -> None:
    header = ours.folder / "x.h"
    header.write_text("int a;\n")
    settle(ours.folder)
    with ours.start("gcc", "reads", *WORDS) as process:
        os.waitpid(process.pid, os.WUNTRACED)
        before = header.stat()
        if how == "in place":
            header.write_text("int b;\n")
            os.utime(header, ns=(before.st_atime_ns, before.st_mtime_ns))
        if how == "by another":
            (ours.folder / "fresh").write_text("int b;\n")
            (ours.folder / "fresh").rename(header)
        process.send_signal(signal.SIGCONT)
        assert process.wait(60) == 0
    changed = {layout.MEMO_CHANGED: 1} if how != "not at all" else {}
    assert ours.told.unkept == changed


def replace(path: Path) -> None:
    fresh = path.with_name("fresh")
    fresh.write_text("others")
    fresh.rename(path)


#: What somebody does to an output before the command has ended, and why nothing is kept then.
OTHERS: Final[dict[str, tuple[Callable[[Path], object], tuple[str, ...]]]] = {
    "nothing": (lambda path: None, ("writes", "drives")),
    "removes it": (Path.unlink, ("writes", "updates", "drives")),
    "writes to it": (lambda path: path.write_text("others"), ("drives",)),
    "replaces it": (replace, ("drives",)),
}


@pytest.mark.parametrize(
    ("does", "what"), [(does, what) for does, (_, whats) in OTHERS.items() for what in whats]
)
def test_somebody_is_at_an_output(ours: Remembered, does: str, what: str) -> None:
    """As the worker whose server has been killed: what its job has made it removes."""
    if what == "updates":
        (ours.folder / "x.o").write_text("older.")
        settle(ours.folder)
    with ours.start("gcc", what, *WORDS) as process:
        os.waitpid(process.pid, os.WUNTRACED)
        OTHERS[does][0](ours.folder / "x.o")
        process.send_signal(signal.SIGCONT)
        assert process.wait(60) == 0
    assert ours.told.unkept == ({layout.MEMO_CHANGED: 1} if does != "nothing" else {})


def test_a_command_that_is_told_to_end_and_does_not(ours: Remembered) -> None:
    with ours.start("gcc", "writes", *WORDS) as process:
        os.waitpid(process.pid, os.WUNTRACED)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        assert process.wait(60) == 0
    assert ours.told.unkept == {layout.MEMO_KILLED: 1}


def test_an_output_whose_folder_is_not_there(ours: Remembered) -> None:
    ours.plain["PATH"] = ours.plain["PATH"].partition(":")[2]
    for hits in range(2):
        assert ours.run("gcc", "-c", "conftest.c", "-o", "none/conftest.o").status == 1
        assert (ours.told.hits, ours.told.unkept) == (hits, {}), ours.told


@pytest.mark.parametrize("is_one", [True, False])
def test_both_streams_in_their_order(ours: Remembered, is_one: bool) -> None:
    err = subprocess.STDOUT if is_one else subprocess.PIPE
    for hits in (0, 1, 2):
        with ours.start("gcc", "alternates", *WORDS, stdout=subprocess.PIPE, stderr=err) as process:
            told = process.communicate(timeout=60)
        assert told == ((b"012345678", None) if is_one else (b"02468", b"1357"))
        assert ours.told.hits == hits, ours.told


def test_ignored_signals_are_handed_on(ours: Remembered) -> None:
    script = "trap '' INT CHLD; gcc ignores -c conftest.c"
    plain = ours.run("bash", "-c", script, through_shims=False)
    assert plain.out in (b"11\n", b"01\n")  # not every shell lets go of its children's signal
    for hits in (0, 1):
        assert ours.run("bash", "-c", script) == plain
        assert ours.told.hits == hits, ours.told


def test_a_process_that_is_left_behind(ours: Remembered) -> None:
    """What it does afterwards is no part of the result, and it is not held up."""
    with ours.start("gcc", "leaves", *WORDS) as process:
        held = let_go(ours)
        assert process.wait(60) == 0
    os.close(held)
    while not (ours.folder / "late").exists():
        pass
    assert ours.entries() == []


def test_a_process_that_does_nothing_any_more(ours: Remembered) -> None:
    with ours.start("gcc", "lingers", *WORDS, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert process.wait(60) == 0
        os.kill(child, signal.SIGKILL)
    assert ours.told.unkept == {layout.MEMO_LEFT: 1}


def forbid_tracing() -> None:
    """seccomp(2) fails from here on, as in some containers: a filter of four instructions."""
    number = 317 if platform.machine() == "x86_64" else 277
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000)]
    packed = b"".join(struct.pack("HBBI", *each) for each in code)
    room = ctypes.create_string_buffer(packed)
    program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(room))
    libc = ctypes.CDLL(None)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, program, 0, 0) == 0  # PR_SET_SECCOMP


def test_where_tracing_is_forbidden(remembered: Remembered) -> None:
    (remembered.folder / "conftest.c").write_text("int a = b;\n")
    settle(remembered.folder)
    plain = remembered.run("gcc", *WORDS, through_shims=False)
    for _ in range(2):
        assert remembered.run("gcc", *WORDS, preexec_fn=forbid_tracing) == plain
    assert remembered.told.unkept == {layout.MEMO_UNTRACED: 2}


WRITES: Final = {
    "nobody may write there": "gcc -E conftest.c 1< conftest.c; echo $? >&2",
    "the disk is full": "mount -t tmpfs -o size=8k none full || exit; gcc -E conftest.c > full/out;"
    "echo $? >&2; wc -c full/out >&2",
}


@pytest.mark.parametrize("name", WRITES)
def test_a_standard_output_that_takes_nothing(remembered: Remembered, name: str) -> None:
    """The command fails as it does by itself, though its output was caught and given back."""
    needs.require_mounts()
    (remembered.folder / "full").mkdir()
    (remembered.folder / "conftest.c").write_text("#include <stdio.h>\n")
    settle(remembered.folder)
    command = ("unshare", "-m", "sh", "-c", WRITES[name])
    expected = remembered.run(*command, through_shims=False)
    assert b"error" in expected.err
    for _ in range(2):
        assert remembered.run(*command) == expected
    assert (remembered.told.stored, remembered.told.hits) == (2, 0), remembered.told


ADDS: Final = """
mount -t tmpfs -o size=8k none full || exit
head -c 1M /dev/zero > full/rest 2>/dev/null
rm -f conftest.a
for each in a b; do ar qcv conftest.a $each.o > full/out; done
ar t conftest.a >&2
"""


def test_an_archive_gets_a_member_once(remembered: Remembered) -> None:
    """There is no room for what ar prints, which it does not mind: it is not run again for that."""
    needs.require_mounts()
    (remembered.folder / "full").mkdir()
    for name in "ab":
        (remembered.folder / f"{name}.c").write_text(f"int {name};\n")
    remembered.run("gcc", "-c", "a.c", "b.c", through_shims=False)
    settle(remembered.folder)
    for through_shims in (False, True, True):
        ran = remembered.run("unshare", "-m", "sh", "-c", ADDS, through_shims=through_shims)
        assert ran.err == b"a.o\nb.o\n", ran
    assert (remembered.told.stored, remembered.told.hits) == (3, 1), remembered.told


def test_messages_that_nobody_reads(remembered: Remembered) -> None:
    """The reader of a pipe has gone before the compiler begins: it fails, and makes no file."""
    (remembered.folder / "conftest.c").write_text("#warning hello\nint a;\n")
    settle(remembered.folder)
    seen = []
    for through_shims in (False, True, True):
        reader, writer = os.pipe()
        os.close(reader)
        with subprocess.Popen(
            ["sh", "-c", "gcc -c conftest.c; echo $? > status"],
            cwd=remembered.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=writer,
            env=remembered.environment({}, through_shims=through_shims),
        ):
            os.close(writer)
        seen.append(remembered.tree())
        remembered.clear()
        (remembered.folder / "conftest.c").write_text("#warning hello\nint a;\n")
    assert "conftest.o" not in seen[0]
    assert seen[0] == seen[1] == seen[2]
    assert remembered.told.misses == {layout.MEMO_STREAMS: 2}


COARSE: Final = 5  # CLOCK_REALTIME_COARSE: by it files get their times


def test_the_clock_has_moved_on_when_a_result_is_told(remembered: Remembered) -> None:
    """make compares times: what comes in the tick that made a file would be as old."""
    (remembered.folder / "conftest.c").write_text("int a;\n")
    settle(remembered.folder)
    for hits in range(20):
        assert remembered.run("gcc", *WORDS).status == 0
        now = time.clock_gettime_ns(COARSE)
        made = (remembered.folder / "conftest.o").stat()
        assert remembered.told.hits == hits
        assert now > made.st_mtime_ns or hits == 0
        (remembered.folder / "conftest.o").unlink()


@pytest.mark.parametrize("fresh", ["conftest.c", "x.h"])
def test_a_result_is_younger_than_its_sources(remembered: Remembered, fresh: str) -> None:
    """As it is behind a compiler, which takes longer than a tick."""
    source, header = (remembered.folder / name for name in ("conftest.c", "x.h"))
    texts = {source: '#include "x.h"\nint a;\n', header: "int x;\n"}
    for path, text in texts.items():
        path.write_text(text)
    made = remembered.folder / "conftest.o"
    settle(remembered.folder)
    for hits in range(20):
        path = remembered.folder / fresh
        path.write_text(texts[path])
        assert remembered.run("gcc", *WORDS).status == 0
        assert made.stat().st_mtime_ns > path.stat().st_mtime_ns
        assert remembered.told.hits == hits
        made.unlink()


def test_a_result_is_younger_than_what_was_there(remembered: Remembered) -> None:
    """`test conftest.o -nt x`, where the line before has written x: a header, or any other file."""
    (remembered.folder / "conftest.c").write_text('#include "x.h"\n')
    header, other, made = (remembered.folder / name for name in ("x.h", "other", "conftest.o"))
    for hits in range(20):
        header.write_text("int a;\n")
        other.touch()
        assert remembered.run("gcc", *WORDS).status == 0
        assert made.stat().st_mtime_ns > header.stat().st_mtime_ns
        assert made.stat().st_mtime_ns > other.stat().st_mtime_ns
        other.touch()
        assert made.stat().st_mtime_ns < other.stat().st_mtime_ns
        assert remembered.told.hits == hits
        made.unlink()


def test_a_folder_is_mounted_over_another(remembered: Remembered) -> None:
    needs.require_mounts()
    (remembered.folder / "first").mkdir()
    (remembered.folder / "second").mkdir()
    (remembered.folder / "second/x.h").write_text("#define X 1\n")
    (remembered.folder / "third").mkdir()
    (remembered.folder / "third/x.h").write_text("#define X 3\n")
    (remembered.folder / "conftest.c").write_text('#include "x.h"\nint x = X;\n')
    compiles = "gcc -c conftest.c -Ifirst -Isecond && cksum conftest.o && rm conftest.o"
    script = f"{compiles} && {compiles} && mount --bind third first && {compiles}"
    settle(remembered.folder)
    plain = remembered.run("unshare", "-rm", "sh", "-c", script, through_shims=False)
    assert plain.status == 0, plain
    assert len(set(plain.out.splitlines())) == 2
    assert remembered.run("unshare", "-rm", "sh", "-c", script) == plain
    told = remembered.told
    assert (told.hits, told.misses[layout.MEMO_APPEARED]) == (1, 1), told
