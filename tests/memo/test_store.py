"""The store: whatever is wrong with it makes a miss, never a fault."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from smpmake.cli import memo as cli_memo
from smpmake.protocol import layout
from smpmake.session import memo
from tests.support import needs
from tests.support.remembered import (
    BOOT,
    MOST_BYTES,
    STATUS,
    Ran,
    Remembered,
    facts_of,
    forge,
    settle,
)
from tests.support.space import Space

COMPILE: Final = ("gcc", "-c", "conftest.c")
BIG: Final = f"int a[20000] = {{{','.join(map(str, range(20000)))}}};\n"


def fill(one: Remembered, text: str = "int a;\n") -> Ran:
    """A command that is remembered."""
    (one.folder / "conftest.c").write_text(text)
    settle(one.folder)
    ran = one.run(*COMPILE)
    assert one.told.stored == 1, one.told
    return ran


def again(one: Remembered) -> tuple[Ran, bytes]:
    """The same, and what it has made."""
    (one.folder / "conftest.o").unlink()
    ran = one.run(*COMPILE)
    return ran, (one.folder / "conftest.o").read_bytes()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def spoil(path: Path) -> None:
    """One bit of each of many bytes is another."""
    data = bytearray(path.read_bytes())
    data[100::50] = bytes(byte ^ 4 for byte in data[100::50])
    path.write_bytes(data)


def become_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def become_link(path: Path) -> None:
    os.symlink(path.rename(f"{path}x"), path)


def become_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES: Final[dict[str, Callable[[Path], object]]] = {
    "cut": cut,
    "spoilt": spoil,
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"MEMO" * 5000),
    "a folder": become_folder,
    "a link": become_link,
    "gone": lambda path: path.unlink(),
    "a FIFO": become_fifo,
}


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.parametrize("kind", ["q", "c", "s"])
def test_damages_are_misses(remembered: Remembered, kind: str, name: str) -> None:
    fill(remembered, BIG)
    expected = (remembered.folder / "conftest.o").read_bytes()
    damaged = [
        path
        for path, _ in memo.files_of(remembered.store)
        if path.relative_to(remembered.store).parts[0] == kind
    ]
    assert damaged
    for path in damaged:
        DAMAGES[name](path)
    ran, made = again(remembered)
    assert (ran, made) == (Ran(0, b"", b""), expected)
    assert remembered.told.hits == (1 if kind == "s" else 0), remembered.told
    assert [path for path in remembered.folder.iterdir() if path.name.startswith(".")] == []


def test_no_byte_of_an_entry_may_be_another(remembered: Remembered) -> None:
    """Least of all in front of what its sum is beside: how many facts there are, and the status."""
    fill(remembered)
    (entry,) = remembered.entries()
    data = entry.read_bytes()
    places = (*range(4, STATUS.stop, 4), *range(STATUS.stop, len(data), 499))
    for at in places:
        damaged = bytearray(data)
        damaged[at] ^= 1
        entry.write_bytes(damaged)
        assert again(remembered)[0] == Ran(0, b"", b""), at
    assert remembered.told.hits == 0, remembered.told


#: Its times say nothing of a change: it is young, in one way or another.
_UNSTAMPED: Final = 8


def test_a_stamp_is_believed_of_what_was_old_when_it_was_read(remembered: Remembered) -> None:
    """Who has a file mapped may change it for a while, and leave its times as they are: also if
    nobody looks again for long."""
    header = remembered.folder / "x.h"
    header.write_text("int x;\n")
    fill(remembered, '#include "x.h"\n')
    (entry,) = remembered.entries()
    flags = {fact.path: fact.flags & _UNSTAMPED for fact in facts_of(entry)[0] if any(fact.stamp)}
    assert flags.pop("x.h")
    flags.pop("conftest.c")
    assert not all(flags.values())


@pytest.mark.parametrize(
    ("expire", "writeback", "seconds"), [("3000", "500", 60), ("6000", "6000", 130), ("", "", 60)]
)
def test_how_long_a_mapped_file_may_change(
    tmp_path: Path, expire: str, writeback: str, seconds: int
) -> None:
    for name, value in (("expire", expire), ("writeback", writeback)):
        if value:
            (tmp_path / f"dirty_{name}_centisecs").write_text(f"{value}\n")
    assert memo._settled_ns(os.fspath(tmp_path)) == seconds * 10**9


IMAGES: Final = """
for made in 1 2; do
    mount -o loop,ro image$made far || exit 77
    gcc -c conftest.c -Ifar && rm conftest.o && stat -c '%d %i %s %Y %z' far/x.h || exit
    umount far || exit
done
"""


def test_an_image_is_mounted_in_the_place_of_another(remembered: Remembered) -> None:
    """Who makes an image says which times are in it: also that of the last change."""
    needs.require_mounts()
    folder = remembered.folder
    (folder / "far").mkdir()
    (folder / "conftest.c").write_text('#include "x.h"\nint x = X;\n')
    for number in (1, 2):
        headers, image = folder / f"headers{number}", folder / f"image{number}"
        headers.mkdir()
        (headers / "x.h").write_text(f"#define X {number}\n")
        os.utime(headers / "x.h", (1_700_000_000, 1_700_000_000))
        with image.open("wb") as file:
            file.truncate(1 << 20)
        for command in (
            ("mkfs.ext4", "-q", "-I", "256", "-d", headers, image),
            ("debugfs", "-w", "-R", "sif x.h ctime 20240101000000", image),
        ):
            if shutil.which(command[0]) is None:
                pytest.skip(f"needs {command[0]}")
            subprocess.run(command, check=True, capture_output=True)
    settle(folder)
    ended = remembered.run("unshare", "-m", "sh", "-c", IMAGES)
    if ended.status == 77:
        pytest.skip("needs a loop device")
    first, second = ended.out.splitlines()
    assert first == second
    assert (remembered.told.hits, remembered.told.stored) == (0, 2), remembered.told


def make_foreign(store: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to give a folder away")
    os.chown(store, 65534, 65534)


BARRED: Final[dict[str, Callable[[Path], object]]] = {
    "of another user": make_foreign,
    "open to others": lambda store: store.chmod(0o755),
    "a link": become_link,
    "gone": lambda store: store.rename(f"{store}x"),
}


@pytest.mark.parametrize("name", BARRED)
def test_a_store_that_cannot_be_trusted_is_not_read(remembered: Remembered, name: str) -> None:
    fill(remembered)
    BARRED[name](remembered.store)
    ran, _ = again(remembered)
    assert ran == Ran(0, b"", b"")
    assert remembered.told.misses[layout.MEMO_STORE] == 1, remembered.told


def test_a_full_store_keeps_nothing(remembered: Remembered) -> None:
    """As on a full disk, nothing can be made there: its folders are files."""
    for kind in "qcs":
        (remembered.store / kind).write_text("")
    (remembered.folder / "conftest.c").write_text(BIG)
    settle(remembered.folder)
    for _ in range(2):
        assert remembered.run(*COMPILE) == Ran(0, b"", b"")
        (remembered.folder / "conftest.o").unlink()
    assert remembered.told.unkept == {layout.MEMO_LARGE: 2}
    assert sorted(path.name for path in remembered.store.iterdir()) == ["c", "q", "s"]


ROOM: Final = """
mount -t tmpfs -o size=8m,mode=700 none ../store || exit
head -c $1 /dev/zero > ../store/other
gcc -c conftest.c
"""


@pytest.mark.parametrize(("other", "stored"), [("3000k", 1), ("7500k", 0)])
def test_a_disk_that_is_nearly_full_is_left_to_the_build(
    remembered: Remembered, other: str, stored: int
) -> None:
    needs.require_mounts()
    (remembered.folder / "conftest.c").write_text("int a;\n")
    settle(remembered.folder)
    ended = remembered.run("unshare", "-m", "sh", "-c", ROOM, "sh", other)
    assert ended == Ran(0, b"", b"")
    assert remembered.told.stored == stored
    assert remembered.told.unkept[layout.MEMO_LARGE] == 1 - stored


def test_one_build_does_not_store_without_end(remembered: Remembered) -> None:
    fill(remembered)
    counted = remembered.session / "stored"
    stored = sum(info.st_size for path, info in memo.files_of(remembered.store))
    assert 0 < counted.stat().st_size <= stored
    os.truncate(counted, MOST_BYTES - 100)
    (remembered.folder / "conftest.c").write_text("int b;\n")
    settle(remembered.folder)
    again(remembered)
    assert remembered.told.unkept == {layout.MEMO_LARGE: 1}
    assert counted.stat().st_size == MOST_BYTES - 100


def test_after_a_boot_contents_are_compared(remembered: Remembered) -> None:
    """Stamps of another boot, or machine, are not believed; what is the same is given back."""
    (remembered.folder / "h.h").write_text("int h;\n")
    fill(remembered, '#include "h.h"\n')
    (entry,) = remembered.entries()
    forge(entry, BOOT, bytes(16))
    again(remembered)
    assert remembered.told.hits == 1
    (remembered.folder / "h.h").write_text("int i;\n")
    settle(remembered.folder)
    again(remembered)
    assert remembered.told.misses[layout.MEMO_FILE] == 1


def test_an_entry_of_another_question_is_none(remembered: Remembered) -> None:
    fill(remembered)
    (entry,) = remembered.entries()
    (remembered.folder / "conftest.c").write_text("int other;\n")
    settle(remembered.folder)
    again(remembered)
    (other,) = (path for path in remembered.entries() if path != entry)
    other.write_bytes(entry.read_bytes())
    again(remembered)
    assert remembered.told.hits == 0
    assert remembered.told.misses[layout.MEMO_DAMAGED] == 1


def test_two_sessions_on_one_store(tmp_path: Path) -> None:
    ones = [Remembered(tmp_path / name, tmp_path / "store") for name in "abcd"]
    for one in ones:
        (one.folder / "conftest.c").write_text(BIG)
    settle(tmp_path)
    for _ in range(4):
        processes = [one.start(*COMPILE, stderr=subprocess.DEVNULL) for one in ones]
        assert [process.wait(60) for process in processes] == [0] * len(ones)
        assert len({(one.folder / "conftest.o").read_bytes() for one in ones}) == 1
        for one in ones:
            (one.folder / "conftest.o").unlink()
    for one in ones:
        assert one.told.hits == 3, one.told
        assert [path.name for path in one.folder.iterdir()] == ["conftest.c"]
        one.close()
    assert list((tmp_path / "store").glob("new-*")) == []


def test_a_shim_that_is_killed_before_its_answer(remembered: Remembered) -> None:
    """Its file is there, and nobody reads what it says; the next one begins anew."""
    text = '#warning "a long text"\n' * 2000
    (remembered.folder / "conftest.c").write_text(text)
    settle(remembered.folder)
    plain = remembered.run(*COMPILE, through_shims=False)
    expected = remembered.tree()
    for hits in (0, 1):
        (remembered.folder / "conftest.o").unlink()
        assert (remembered.run(*COMPILE), remembered.tree()) == (plain, expected)
        assert remembered.told.hits == hits, remembered.told
    (remembered.folder / "conftest.o").unlink()
    with remembered.start(*COMPILE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not (remembered.folder / "conftest.o").exists():
            pass
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
    assert remembered.told.hits == 1
    assert remembered.tree() == expected
    (remembered.folder / "conftest.o").unlink()
    assert (remembered.run(*COMPILE), remembered.tree()) == (plain, expected)
    assert remembered.told.hits == 2


def test_a_shim_that_is_ended_while_it_gives_back(remembered: Remembered) -> None:
    """Ctrl-C: no half of a file is there afterwards, under whatever name; as behind a compiler."""
    fill(remembered, "char a[16 << 20] = {1};\n")
    made = remembered.folder / "conftest.o"
    expected = made.stat().st_size
    for _ in range(100):
        made.unlink(missing_ok=True)
        with remembered.start(*COMPILE) as process:
            while process.poll() is None:
                if any(name.startswith(".smpmake-") for name in os.listdir(remembered.folder)):
                    process.terminate()
                    break
        names = {path.name for path in remembered.folder.iterdir()}
        assert names - {"conftest.o"} == {"conftest.c"}
        assert not made.exists() or made.stat().st_size == expected
        if process.returncode == -signal.SIGTERM and not made.exists():
            return
    pytest.fail("no signal came in between")


def test_a_check_tells_what_is_different(tmp_path: Path) -> None:
    first = Remembered(tmp_path / "a")
    fill(first)
    (entry,) = first.entries()
    forge(entry, STATUS, (7).to_bytes(4, "little"))
    again(first)
    assert first.told.hits == 1  # who forges entries is believed
    checked = Remembered(tmp_path / "b", first.store, mode="check")
    (first.folder / "conftest.o").unlink()
    ran = checked.run(*COMPILE, cwd=first.folder)
    assert ran == Ran(0, b"", b"")
    assert checked.told.differences == [("gcc -c conftest.c", "its status", "")]
    (notice,) = memo.notices(checked.told)
    assert "`gcc -c conftest.c`: its status" in notice
    (first.folder / "conftest.o").unlink()
    checked.run(*COMPILE, cwd=first.folder)
    assert (checked.told.same, len(checked.told.differences)) == (1, 1)
    first.close()
    checked.close()


COUNTS: Final = (
    "[]",
    '{"last": 5, "days": {}, "bytes": 0}',
    '{"last": {"saved_us": []}, "days": {}, "bytes": 0}',
    '{"last": {"misses": 5}, "days": {}, "bytes": 0}',
    '{"last": {"misses": {"a": 1}}, "days": {}, "bytes": 0}',
    '{"last": {"unkept": {"1": "x"}}, "days": {}, "bytes": 0}',
    '{"last": {"remote": 5}, "days": {}, "bytes": 0}',
    '{"last": {"remote": {"sent": 5}}, "days": {}, "bytes": 0}',
    '{"last": {}, "days": {"a": [1, 2]}, "bytes": 0}',
    '{"last": {}, "days": {"1": 5}, "bytes": 0}',
    '{"last": {}, "days": {"1": [null, 1]}, "bytes": 0}',
    '{"last": {}, "days": {}, "bytes": "x"}',
    '{"last": {"hits": Infinity}, "days": {}, "bytes": 0}',
    '{"last": {"saved_us": NaN}, "days": {}, "bytes": 0}',
    '{"last": {"saved_us": -5}, "days": {}, "bytes": 0}',
    '{"last": {"saved_us": 1' + "0" * 400 + '}, "days": {}, "bytes": 0}',
    '{"last": {"misses": {"1": Infinity}}, "days": {}, "bytes": 0}',
    '{"last": {}, "days": {"1": [1, Infinity]}, "bytes": 0}',
    '{"last": {}, "days": {"1": [1, 1' + "0" * 400 + ']}, "bytes": 0}',
    '{"last": {}, "days": {"99999999": [1, 2]}, "bytes": 1e400}',
    "[" * 100_000,
)


@pytest.mark.parametrize("text", [*COUNTS, None], ids=range(len(COUNTS) + 1))
def test_counts_that_are_none(
    remembered: Remembered, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    """A build ends as it does, and what it counts is counted."""
    monkeypatch.setattr(memo, "folder", lambda: remembered.store)
    fill(remembered)
    counts = remembered.store / "counts.json"
    if text is None:
        os.mkfifo(counts)
    else:
        counts.write_text(text)
    assert any(
        line.startswith("last week") for line in cli_memo.lines(remembered.store, MOST_BYTES)
    )
    (remembered.session / memo.TOLD).write_text("h 5\n")
    memo.settle(remembered.session, MOST_BYTES)
    assert any(
        line.startswith("last build 1 results")
        for line in cli_memo.lines(remembered.store, MOST_BYTES)
    )


def test_a_store_is_looked_through_when_it_may_be_full(
    remembered: Remembered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And once a day: it is large, and a build is to end."""
    monkeypatch.setattr(memo, "folder", lambda: remembered.store)
    looked: list[int] = []

    def clean(store: Path, most: int) -> int:
        looked.append(most)
        return 1000

    monkeypatch.setattr(memo, "clean", clean)
    remembered.store.mkdir(exist_ok=True)
    (remembered.session / memo.TOLD).write_text("s\n")
    for _ in range(3):
        memo.settle(remembered.session, MOST_BYTES)
    assert len(looked) == 1
    os.truncate(_file(remembered.session / "stored"), MOST_BYTES // 2)
    for expected in (1, 2, 2):
        memo.settle(remembered.session, MOST_BYTES)
        assert len(looked) == expected


def _file(path: Path) -> Path:
    path.touch()
    return path


def test_what_was_left_half_written_goes(remembered: Remembered) -> None:
    fill(remembered)
    (remembered.store / "new-1").write_text("half")
    assert memo.clear(remembered.store) == 1
    assert list(remembered.store.iterdir()) == []


def test_what_is_used_is_young_again(remembered: Remembered) -> None:
    fill(remembered, BIG)
    files = [path for path, _ in memo.files_of(remembered.store)]
    used = [path for path in files if path.parent.parent.name in "qc"]
    for path in files:
        os.utime(path, (0, 0))
    again(remembered)
    assert remembered.told.hits == 1
    assert len(used) == 2
    assert all(path.stat().st_mtime > 0 for path in used)


def test_what_no_build_has_used_is_trimmed(remembered: Remembered) -> None:
    """What a build uses is noted again when that is ten minutes ago."""
    fill(remembered, BIG)
    files = [path for path, _ in memo.files_of(remembered.store)]
    for path in files:
        os.utime(path, (0, 0))
    before = time.time_ns()
    again(remembered)
    (remembered.folder / "conftest.c").write_text("int other;\n")
    again(remembered)
    others = [path for path, _ in memo.files_of(remembered.store) if path not in files]
    for path in others:
        os.utime(path, (0, 0))
    assert memo.trim(remembered.store, before - 10**9) == 1
    assert not any(path.exists() for path in others)
    (remembered.folder / "conftest.c").write_text(BIG)
    again(remembered)
    assert remembered.told.hits == 2, remembered.told


def test_a_store_has_a_size(space: Space) -> None:
    """The user's: by an option or a variable, or in a file of his own; not in a project's."""
    space.write({"a.c": "int a;\n", "Makefile": "a.o:\n\tgcc -c a.c\n"})
    space.environment["SMPMAKE_MEMO_SIZE"] = "7"
    assert space.smpmake("make").status == 0
    assert "of at most 7 MiB" in space.smpmake("memo").out
    assert "forgotten 0 commands" in space.smpmake("memo", "trim").out
    assert "forgotten 1 command." in space.smpmake("memo", "trim", "0").out
    space.write({".smpmake.toml": "memo-size = 1\n"})
    said = space.smpmake("make")
    assert "memo-size" in said.err


def test_the_oldest_go_first(remembered: Remembered) -> None:
    fill(remembered, BIG)
    files = [path for path, _ in memo.files_of(remembered.store)]
    for at, path in enumerate(files):
        os.utime(path, (at, at))
    size = sum(path.stat().st_blocks * 512 for path in files)
    assert memo.clean(remembered.store, size) == size
    assert memo.clean(remembered.store, size - 1) < size
    left = [path for path, _ in memo.files_of(remembered.store)]
    assert 0 < len(left) < len(files)
    assert files[0] not in left
    assert files[-1] in left
    assert memo.clear(remembered.store) == len(
        [path for path in left if path.parent.parent.name == "q"]
    )
    assert list(memo.files_of(remembered.store)) == []
