"""A file that was just written is known by its times as soon as a lease says that nobody writes."""

from __future__ import annotations

import ctypes
import ctypes.util
import fcntl
import itertools
import mmap
import os
import re
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

import pytest

from tests.support import needs
from tests.support.remembered import Remembered, settle

#: One block of O_DIRECT's; the value stands at its beginning.
SIZE: Final = 4096
PLACE: Final = len("#define X ")
COMPILE: Final = ("gcc", "-c", "conftest.c", "-Iheaders")
IMAGE: Final = 320 << 20
_LIBC: Final = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)


def text(value: int) -> bytes:
    """A header that says it."""
    return f"#define X {value}\n".encode().ljust(SIZE, b" ")


def _mounted(kind: str, root: Path, folder: Path) -> None:
    if kind == "tmpfs":
        words = ["mount", "-t", "tmpfs", "none", str(folder)]
    elif kind == "overlay":
        for name in ("lower", "upper", "work"):
            (root / name).mkdir()
        layers = f"lowerdir={root}/lower,upperdir={root}/upper,workdir={root}/work"
        words = ["mount", "-t", "overlay", "none", "-o", layers, str(folder)]
    else:
        maker = f"mkfs.{kind}"
        needs.require(maker)
        image = root / "image"
        with image.open("wb") as file:
            file.truncate(IMAGE)
        subprocess.run([maker, "-q", str(image)], check=True, capture_output=True)
        words = ["mount", "-o", "loop", str(image), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"{kind} cannot be mounted here: {done.stderr.strip()}")


@pytest.fixture
def headers(request: pytest.FixtureRequest, remembered: Remembered) -> Iterator[Path]:
    """A folder on a file system of that kind, with a header that says 1; and what includes it."""
    kind = request.param
    folder = remembered.folder / "headers"
    folder.mkdir()
    if kind != "as it is":
        needs.require_mounts()
        _mounted(kind, remembered.root, folder)
    try:
        (remembered.folder / "conftest.c").write_text('#include "x.h"\nint a = X;\n')
        (folder / "x.h").write_bytes(text(1))
        settle(folder)
        yield folder
    finally:
        if kind != "as it is":
            subprocess.run(["umount", "-l", str(folder)], check=False)


def is_known(remembered: Remembered, header: Path) -> bool:
    """Whether the store has the hash of a file by its stamp (struct known, native/memo/store.c)."""
    info = header.stat()
    key = struct.pack("=QQQ", info.st_dev, info.st_ino, info.st_size)
    table = remembered.store / "s" / "table"
    return table.exists() and key in table.read_bytes()


def compiled(remembered: Remembered) -> bytes:
    """The object as the shims have it, which is that of the plain compiler."""
    found = []
    for through_shims in (True, False):
        assert remembered.run(*COMPILE, through_shims=through_shims).status == 0
        found.append((remembered.folder / "conftest.o").read_bytes())
        (remembered.folder / "conftest.o").unlink()
    assert found[0] == found[1]
    return found[0]


KINDS: Final = ("as it is", "tmpfs", "overlay", "xfs", "btrfs")


@pytest.mark.parametrize("headers", KINDS, indirect=True)
def test_it_is_known_at_once(remembered: Remembered, headers: Path) -> None:
    """But in memory, where a mapping that is made later need not change the times."""
    header = headers / "x.h"
    with header.open() as file:
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except OSError as error:
            pytest.skip(f"no leases here: {error}")
    command = ["stat", "-f", "-c", "%T", str(header)]
    kind = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    release = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    leased = ["ext2/ext3", "xfs", "btrfs", *(["overlayfs"] if release >= (6, 18) else [])]
    for _ in range(5):  # on a busy machine the kernel may not yet have closed it for who wrote it
        compiled(remembered)
        if is_known(remembered, header):
            break
    assert is_known(remembered, header) == (kind in leased), kind


def _mapping(path: Path) -> mmap.mmap:
    """By which the file can be changed; its descriptor is closed."""
    with path.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 0)
    _ = memory[0]  # reads the page first
    return memory


class Opened:
    """Those who may still change it."""

    def __init__(self, header: Path, *, mapped: bool) -> None:
        self._file: IO[bytes] | mmap.mmap = (
            _mapping(header) if mapped else header.open("r+b", buffering=0)
        )

    def write(self, value: int) -> None:
        """Changes one byte of it."""
        self._file.seek(PLACE)
        self._file.write(str(value).encode())

    def close(self) -> None:
        self._file.close()


@pytest.mark.parametrize("mapped", [False, True], ids=["descriptor", "mapping"])
@pytest.mark.parametrize("headers", KINDS, indirect=True)
def test_not_while_somebody_can_write(
    remembered: Remembered, headers: Path, *, mapped: bool
) -> None:
    writer = Opened(headers / "x.h", mapped=mapped)
    if mapped:
        writer.write(1)  # the page is dirty: a second change of it leaves the times
        settle(headers)
    first = compiled(remembered)
    assert not is_known(remembered, headers / "x.h")
    writer.write(2)
    second = compiled(remembered)
    writer.write(1)
    assert compiled(remembered) == first != second
    writer.close()


def _pwrite(header: Path) -> None:
    with header.open("r+b", buffering=0) as file:
        os.pwrite(file.fileno(), b"2", PLACE)


def _writes_and_sets_times_back(header: Path) -> None:
    info = header.stat()
    _pwrite(header)
    os.utime(header, ns=(info.st_atime_ns, info.st_mtime_ns))


def _maps(header: Path) -> None:
    memory = _mapping(header)
    memory[PLACE : PLACE + 1] = b"2"
    memory.close()


def _cuts(header: Path) -> None:
    header.write_bytes(text(2))


def _punches(header: Path) -> None:
    """The value becomes NUL bytes, then it is written anew by the same descriptor."""
    with header.open("r+b", buffering=0) as file:
        hole = 0x01 | 0x02  # FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE
        if _LIBC.fallocate(file.fileno(), hole, ctypes.c_long(0), ctypes.c_long(SIZE)) != 0:
            pytest.skip("no holes here")
        os.pwrite(file.fileno(), text(2), 0)


def _copies_a_range(header: Path) -> None:
    other = header.with_name("other")
    other.write_bytes(text(2))
    with other.open("rb") as source, header.open("r+b") as target:
        try:
            os.copy_file_range(source.fileno(), target.fileno(), SIZE)
        except OSError as error:
            pytest.skip(f"no copy_file_range here: {error}")


def _writes_directly(header: Path) -> None:
    block = mmap.mmap(-1, SIZE)  # at the beginning of a page
    block.write(text(2))
    try:
        fd = os.open(header, os.O_WRONLY | os.O_DIRECT)
    except OSError as error:
        pytest.skip(f"no O_DIRECT here: {error}")
    os.write(fd, block)
    os.close(fd)


def _renames(header: Path) -> None:
    info = header.stat()
    other = header.with_name("other")
    other.write_bytes(text(2))
    os.utime(other, ns=(info.st_atime_ns, info.st_mtime_ns))
    other.rename(header)


def _by_another_name(header: Path) -> None:
    other = header.with_name("other")
    os.link(header, other)
    _pwrite(other)
    other.unlink()


CHANGES: Final[dict[str, Callable[[Path], None]]] = {
    "write": _pwrite,
    "write, and times set back": _writes_and_sets_times_back,
    "mapping": _maps,
    "cut and written": _cuts,
    "hole": _punches,
    "copy_file_range": _copies_a_range,
    "O_DIRECT": _writes_directly,
    "rename": _renames,
    "another name": _by_another_name,
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("headers", KINDS, indirect=True)
def test_what_changes_later_is_seen(remembered: Remembered, headers: Path, name: str) -> None:
    """At once behind the hash, and again when the change is a while ago."""
    first = compiled(remembered)
    CHANGES[name](headers / "x.h")
    second = compiled(remembered)
    assert second != first
    settle(headers)
    assert compiled(remembered) == second
    CHANGES[name](headers / "x.h")
    assert compiled(remembered) == second


@pytest.mark.parametrize("mapped", [False, True], ids=["descriptor", "mapping"])
@pytest.mark.parametrize("headers", ["as it is", "overlay"], indirect=True)
def test_what_changes_meanwhile_is_seen(
    remembered: Remembered, headers: Path, *, mapped: bool
) -> None:
    """Somebody changes it all the time, opening it anew for each change."""
    header, over = headers / "x.h", threading.Event()

    def change() -> None:
        for value in itertools.cycle((1, 2)):
            if over.is_set():
                break
            writer = Opened(header, mapped=mapped)
            writer.write(value)
            writer.close()

    changing = threading.Thread(target=change)
    changing.start()
    try:
        for _ in range(12):
            assert remembered.run(*COMPILE).status == 0
    finally:
        over.set()
        changing.join()
    for value in (1, 2):
        last = Opened(header, mapped=mapped)
        last.write(value)
        last.close()
        compiled(remembered)
        settle(headers)
        compiled(remembered)


def test_who_opens_it_meanwhile_is_only_held_up(remembered: Remembered, tmp_path: Path) -> None:
    """A break of the lease is no signal that ends a compile: 40 compiles beside an opener."""
    source, over = remembered.folder / "conftest.c", threading.Event()
    source.write_text("int a;\n")
    settle(remembered.folder)

    def open_it() -> None:
        while not over.is_set():
            os.close(os.open(source, os.O_WRONLY))

    opening = threading.Thread(target=open_it)
    opening.start()
    try:
        for number in range(40):
            ran = remembered.run("gcc", "-c", "conftest.c", f"-DN={number}")
            assert (ran.status, ran.err) == (0, b"")
    finally:
        over.set()
        opening.join()
