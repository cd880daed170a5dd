"""Server and guards agree on which programs take a guard (elf.py, program.c)."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake import native
from smpmake.disk import elf
from smpmake.disk.elf import takes_guard

_SOURCES = Path(native.__file__).parent
_DRIVER = """
#include "guard/program/program.c"
#include "guard/pages.c"
#include "guard/looks.c"
#include <stdio.h>
static const uint64_t nothing[sizeof(struct board) / 8]; /* is pending */
struct guard guard = {.board = (const struct board *)nothing};
void guard_see(int dir, const char *path) { (void)dir; (void)path; }
int main(int argc, char **argv) {
  guard.interpreter = argv[1];
  for (int i = 2; i < argc; i++)
    putchar('0' + nature_of(AT_FDCWD, argv[i]).takes_guard);
  return 0;
}
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The guard's own function as a program; its folder is open to all users."""
    folder = Path(tempfile.mkdtemp(prefix="smp-", dir="/tmp"))
    folder.chmod(0o755)
    (folder / "driver.c").write_text(_DRIVER)
    built = folder / "driver"
    subprocess.run(
        [
            "cc",
            "-D_GNU_SOURCE",
            f"-I{_SOURCES}",
            "-Wl,-z,norelro",
            "-o",
            built,
            folder / "driver.c",
        ],
        check=True,
    )
    yield built
    subprocess.run(["rm", "-rf", folder], check=True)


def answers(driver: Path, paths: list[Path]) -> dict[str, bool]:
    loader = os.fsdecode(elf._own_loader())
    out = subprocess.run([driver, loader, *paths], capture_output=True, text=True, check=True)
    return {path.name: each == "1" for path, each in zip(paths, out.stdout, strict=True)}


def test_about_what_is_installed(driver: Path) -> None:
    """Every program of the system, whatever it is."""
    paths = [
        path for folder in ("/usr/bin", "/usr/sbin") for path in sorted(Path(folder).iterdir())
    ]
    native_answers = answers(driver, paths)
    assert native_answers == {path.name: takes_guard(str(path)) for path in paths}
    assert native_answers["sh"] and native_answers["env"]


def put(folder: Path, name: str, content: bytes | str, mode: int = 0o755) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)
    return path


def moved(program: bytes, headers: bool, loader: bool) -> bytes:
    """A program with its table of parts, or its loader's name, behind everything else."""
    start, size, count = elf._HEADER.unpack_from(program)
    parts = bytearray(program[start : start + size * count])
    more = bytes(20_000)
    if loader:
        for at in range(0, len(parts), size):
            kind, place, length = elf._PART.unpack_from(parts, at)
            if kind == elf._INTERPRETER:
                struct.pack_into("=Q", parts, at + 8, len(program) + len(more))
                more += program[place : place + length]
    if not headers:
        return program[:start] + bytes(parts) + program[start + len(parts) :] + more
    moved = bytearray(program + more)
    struct.pack_into("=Q", moved, 32, len(moved))
    return bytes(moved + parts)


@pytest.mark.skipif(sys.maxsize < 1 << 32, reason="of 64-bit programs")
def test_about_odd_files(driver: Path) -> None:
    folder = driver.parent / "odd"
    folder.mkdir()
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    for name, flag in (("plain", "-pie"), ("fixed", "-no-pie"), ("static", "-static")):
        subprocess.run(["cc", flag, "-o", folder / name, folder / "main.c"], check=True)
    plain = (folder / "plain").read_bytes()
    loader = elf._own_loader()
    start, size, _ = elf._HEADER.unpack_from(plain)
    narrow = bytearray(plain)
    narrow[4] = 1
    odd_size = bytearray(plain)
    struct.pack_into("=H", odd_size, 54, size + 8)
    beyond = bytearray(plain)
    struct.pack_into("=Q", beyond, 32, 1 << 63)
    expected = {
        put(folder, "far parts", moved(plain, True, False)): True,
        put(folder, "far loader", moved(plain, False, True)): True,
        put(folder, "both far", moved(plain, True, True)): True,
        put(folder, "other loader", plain.replace(loader, loader[:-1] + b"9")): False,
        put(folder, "half a loader", plain.replace(loader + b"\0", loader + b"x")): False,
        put(folder, "narrow", bytes(narrow)): False,
        put(folder, "odd size", bytes(odd_size)): False,
        put(folder, "beyond", bytes(beyond)): False,
        put(folder, "cut short", plain[: start + size]): False,
        put(folder, "magic", b"\x7fELF"): False,
        put(folder, "empty", b""): True,
        put(folder, "short", b"#!"): True,
        put(folder, "text", "echo text\n"): True,
        put(folder, "script", "#! /bin/sh -e\n"): True,
        put(folder, "of static", f"#!{folder}/static x\n"): False,
        put(folder, "of that", f"#!{folder}/of\tstatic"): True,  # no such interpreter
        put(folder, "chain", f"#!{folder}/link\n"): False,
        put(folder, "missing", "#!/nowhere\n"): True,
        put(folder, "carriage", f"#!{folder}/static\r\n"): False,
        put(folder, "nothing", "#! \n/bin/sh"): True,
        put(folder, "endless", f"#!{folder}/endless\n"): True,
        put(folder, "long", f"#!/{'x' * 5000}\n"): True,
        put(folder, "setuid own", plain, 0o4755): True,
        put(folder, "secret", plain, 0o711): True,
        folder / "plain": True,
        folder / "fixed": True,
        folder / "static": False,
        folder / "gone": True,
        folder: True,
    }
    (folder / "link").symlink_to("of static")
    os.mkfifo(folder / "pipe")
    expected[folder / "pipe"] = True
    named = {path.name: value for path, value in expected.items()}
    assert answers(driver, list(expected)) == named
    assert {path.name: takes_guard(str(path)) for path in expected} == named


@pytest.mark.skipif(os.getuid() != 0, reason="only root may make them")
def test_about_other_rights(driver: Path) -> None:
    """As another user sees them: owners' rights, and capabilities; and what cannot be read."""
    folder = driver.parent / "rights"
    folder.mkdir()
    plain = Path("/bin/true").read_bytes()
    paths = [
        put(folder, "plain", plain),
        put(folder, "setuid", plain, 0o4755),
        put(folder, "setgid", plain, 0o2755),
        put(folder, "capable", plain),
        put(folder, "unreadable", plain, 0o711),
    ]
    try:
        os.setxattr(paths[3], "security.capability", struct.pack("<5I", 0x02000001, 1, 0, 0, 0))
    except OSError:
        paths.pop(3)  # not on this file system
    loader = os.fsdecode(elf._own_loader())
    ours = f"from smpmake.disk.elf import takes_guard\n{[str(path) for path in paths]!r}"
    script = f"import os\n{ours.splitlines()[0]}\nos.setgid(54321); os.setuid(54321)\n"
    script += (
        f"print(''.join(str(int(takes_guard(p))) for p in {ours.splitlines()[1]}), flush=True)\n"
    )
    script += f"os.execv({str(driver)!r}, ['driver', {loader!r}, *{ours.splitlines()[1]}])\n"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    first, second = done.stdout.split()
    names = {path.name: each == "1" for path, each in zip(paths, first, strict=True)}
    assert first == second
    expected = {"plain": True, "setuid": False, "setgid": False, "unreadable": True}
    assert names == expected | ({"capable": False} if "capable" in names else {})
