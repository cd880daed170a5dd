"""What programs ask their loader for: binutils' readelf says the same."""

from __future__ import annotations

import contextlib
import random
import re
import subprocess
from pathlib import Path

import pytest

from smpmake.disk.elf_dynamic import Dynamic, dynamic_of

FORMATS = ("elf_x86_64", "elf_i386")


def made(folder: Path, form: str, name: str, *options: str) -> Path:
    """A shared library of nothing, for one kind of machine."""
    width = {"elf_x86_64": "--64", "elf_i386": "--32"}[form]
    (folder / "empty.s").touch()
    assembled = ["as", width, "-o", "empty.o", "empty.s"]
    linked = ["ld", "-m", form, "-shared", "-o", name, "empty.o", *options]
    for command in (assembled, linked):
        done = subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            pytest.skip(f"binutils are for another machine: {done.stderr}")
    return folder / name


def by_readelf(path: Path) -> Dynamic:
    said = subprocess.run(
        ["readelf", "-d", path], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
    lists = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", said)
    return Dynamic(tuple(needed), tuple(":".join(lists).split(":") if lists else ()))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["--enable-new-dtags", "--disable-new-dtags"])
def test_it_reads_what_readelf_reads(tmp_path: Path, form: str, kind: str) -> None:
    made(tmp_path, form, "libone.so", "-soname", "libone.so.1")
    made(tmp_path, form, "libtwo.so")
    both = ("--no-as-needed", "libone.so", "libtwo.so")
    path = made(tmp_path, form, "libboth.so", kind, "-rpath", "$ORIGIN/../lib:/some/where", *both)
    assert dynamic_of(str(path)) == by_readelf(path)
    assert dynamic_of(str(path)).needed == ("libone.so.1", "libtwo.so")
    assert dynamic_of(str(path)).search == ("$ORIGIN/../lib", "/some/where")
    lonely = tmp_path / "libtwo.so"
    assert dynamic_of(str(lonely)) == by_readelf(lonely) == Dynamic()


@pytest.mark.parametrize("program", ["/bin/sh", "/usr/bin/env"])
def test_of_the_systems_programs(program: str) -> None:
    assert dynamic_of(program) == by_readelf(Path(program))


def test_what_is_no_whole_program_is_told_so(tmp_path: Path) -> None:
    whole = made(tmp_path, FORMATS[0], "libwhole.so", "-rpath", "/x").read_bytes()
    part = tmp_path / "part"
    for size in (0, 3, 4, 5, 6, 40, 63, 64, 100, 200):
        part.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"."):
            dynamic_of(str(part))
    part.write_bytes(b"#!/bin/sh\n")
    with pytest.raises(ValueError, match="no program"):
        dynamic_of(str(part))
    rng = random.Random(7)
    for _ in range(300):  # whatever it says, it says so, or is told apart
        damaged = bytearray(whole)
        for _ in range(4):
            damaged[rng.randrange(rng.choice((64, 400, len(whole))))] = rng.randrange(256)
        part.write_bytes(damaged)
        with contextlib.suppress(ValueError):
            dynamic_of(str(part))
