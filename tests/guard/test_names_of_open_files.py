"""Names of what a process has open, or of its folder, are what they lead to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake.protocol import layout
from tests.support.held import Held
from tests.support.space import Space
from tests.support.waiting import Waiting

pytestmark = pytest.mark.slow

#: With `text` open as 5 and as its input.  {pid} is its number.
NAMES = (
    *("/dev/fd/5", "/proc/self/fd/5", "/proc/thread-self/fd/5", "/proc/{pid}/fd/5"),
    *("/proc/{pid}/task/{pid}/fd/5", "/dev/stdin", "/dev/fd/0", "//dev/./fd/5"),
    *("../../../../../../../../../../dev/fd/5", "/proc/self/cwd/text"),
)
READS = {
    "open": "open(name).close()",
    "stat": "os.stat(name)",
    "access": "os.access(name, os.R_OK)",
    "getxattr": "os.listxattr(name)",
    "copy": "shutil.copyfile(name, 'copy')",
}
WRITES = {
    "open": "open(name, 'a').close()",
    "truncate": "os.truncate(name, 1)",
    "chmod": "os.chmod(name, 0o600)",
    "utime": "os.utime(name)",
}


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Waiting]:
    made = Waiting(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", READS)
def test_who_reads_by_it_waits(waiting: Waiting, name: str, way: str) -> None:
    waiting.run(name, READS[way])
    assert waiting.asked(layout.ASK_READ)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", WRITES)
def test_who_changes_by_it_waits(waiting: Waiting, name: str, way: str) -> None:
    waiting.run(name, WRITES[way])
    assert waiting.asked(layout.ASK_WRITE)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("mode", "letter"), [("r", "r"), ("a", "w")])
def test_what_a_job_opens_by_it_is_noted(
    waiting: Waiting, name: str, mode: str, letter: str
) -> None:
    waiting.run(name, f"open(name, {mode!r}).close()", job=True)
    assert waiting.noted("text") == ["r", letter]


@pytest.mark.parametrize("code", ["os.unlink('text')", "os.dup2(os.pipe()[0], 5)"])
def test_what_has_no_name_is_not_noted(waiting: Waiting, code: str) -> None:
    waiting.run("/dev/fd/5", f"{code}; os.open(name, os.O_RDWR | os.O_NONBLOCK)", job=True)
    assert "w" not in [letter for letter, _ in waiting.notes()]


#: libc's own syscall(); machines that have no open(2) have openat(2) alone.
SYSTEM_CALLS = """
import ctypes, platform
call = ctypes.CDLL(None, use_errno=True).syscall
numbers = {
    "x86_64": (257, 437, 2, 85, 262, 332, 269, 439, 4, 6, 21),
    "aarch64": (56, 437, None, None, 79, 291, 48, 439, None, None, None),
}
openat, openat2, plain, creat, *looks = numbers[platform.machine()]
newfstatat, statx, faccessat, faccessat2, stat, lstat, access = looks
room = bytes(512)
def does(number, *words):
    assert number is None or call(ctypes.c_long(number), *words) >= 0
"""


@pytest.mark.parametrize(
    ("code", "letter"),
    [
        ("does(openat, -100, b'other', os.O_RDONLY, 0)", "r"),
        ("does(openat2, -100, b'other', bytes(24), ctypes.c_size_t(24))", "r"),
        ("does(plain, b'other', os.O_RDONLY, 0) if plain else open('other')", "r"),
        ("does(openat, -100, b'other', os.O_WRONLY, 0)", "w"),
        ("does(creat, b'other', 0o600) if creat else open('other', 'w')", "w"),
    ],
)
def test_what_a_job_opens_by_syscall_is_noted(waiting: Waiting, code: str, letter: str) -> None:
    (waiting.folder / "work" / "other").touch()
    waiting.run("", SYSTEM_CALLS + code, job=True)
    assert waiting.noted("other") == [letter]


@pytest.mark.parametrize(
    "code",
    [
        "newfstatat, -100, b'text', room, 0",
        "statx, -100, b'text', 0, 0x7ff, room",
        "faccessat, -100, b'text', 0",
        "faccessat2, -100, b'text', 0, 0",
        "stat, b'text', room",
        "lstat, b'text', room",
        "access, b'text', 0",
    ],
)
def test_what_is_not_there_for_a_job_is_not_for_its_syscall(waiting: Waiting, code: str) -> None:
    waiting.server.answers["text"] = layout.GUARD_ABSENT
    looks = f"number, *words = {code}\nassert number is None or call(ctypes.c_long(number), *words)"
    waiting.run("", f"{SYSTEM_CALLS}{looks} == -1 and ctypes.get_errno() == 2", job=True)


@pytest.mark.parametrize("name", ["/dev/fd/3", "/proc/self/fd/3"])
def test_p1_a_compile_finds_what_was_written_behind_it_by_such_a_name(
    space: Space, name: str
) -> None:
    held = Held(space)
    script = (
        "exec 3< a.h\ngcc -c b.c -o b0.o\ncat b0.o > copy\ngcc -Dheld -c b.c -o b1.o\n"
        f"echo '#define A 2' > {name}\ngcc -c b.c -o b2.o\n: > after\n"
    )
    files = {"a.h": "#define A 1\n", "b.c": '#include "a.h"\nint b = A;\n', "build.sh": script}
    status, expected = held.serial(files, ["sh", "-e", "build.sh"])
    ended, tree = held.parallel(files, ["sh", "-e", "build.sh"])
    assert (ended.status, tree) == (status, expected), ended.err


def test_no_byte_is_left_of_a_note_that_was_taken_back(waiting: Waiting) -> None:
    """Whoever has its room next may be killed before the note is filled in."""
    name = "a-long-name-of-nothing"
    code = f"try: open({name!r})\nexcept FileNotFoundError: pass"
    waiting.run("", code, job=True)
    assert name.encode() not in bytes(waiting.traces._maps[0])


def test_no_byte_is_left_of_the_notes_of_the_job_before(waiting: Waiting) -> None:
    waiting.run("", "open('other', 'w')", job=True)
    assert b"/other\0" in bytes(waiting.traces._maps[0])
    waiting.traces.begin_trace(0, 1)
    assert b"/other\0" not in bytes(waiting.traces._maps[0])
