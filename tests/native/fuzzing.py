"""libFuzzer on what the native programs read: each fuzz_*.c here is a target.

They are compiled with clang and its address and undefined behaviour sanitizers.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Final

from smpmake import native
from tests.support.findings import DifferenceError
from tests.support.remembered import Remembered, settle

HERE: Final = Path(__file__).parent
SOURCES: Final = Path(native.__file__).parent
ROOT: Final = SOURCES.parent.parent
TARGETS: Final = tuple(sorted(path.stem[5:] for path in HERE.glob("fuzz_*.c")))
_SANITIZED: Final = (
    "-g",
    "-O1",
    "-fsanitize=fuzzer,address,undefined",
    "-fno-sanitize-recover=all",
)
#: Inputs of these begin with real ones.
_STORED: Final = ("entries", "remote")
_LARGEST: Final = 30_000  # bytes of an input; of an entry there are a dozen thousand


def compile_target(name: str, folder: Path) -> Path:
    """Returns the program.  Raises CalledProcessError."""
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))
    flags = [flag for flag in hook["FLAGS"] if not flag.startswith(("-O", "-W"))]
    command = ["clang", *_SANITIZED, *flags, *hook["_names_of_tools"](ROOT), f"-I{SOURCES}"]
    program = folder / name
    target = HERE / f"fuzz_{name}.c"
    subprocess.run([*command, "-o", program, target, *_beside(target)], check=True)
    return program


def _beside(target: Path) -> list[Path]:
    """What a target needs and does not include: its room, what remembers, and what all use."""
    included = {SOURCES / name for name in _includes(target)}
    rooms = {SOURCES / "memo", SOURCES / "base", *(path.parent for path in included)}
    found = (path for room in sorted(rooms) for path in sorted(room.glob("*.c")))
    return [path for path in found if path not in included and " main(" not in path.read_text()]


def _includes(path: Path) -> list[str]:
    names = re.findall(r'^#include "(\S+)"$', path.read_text(), re.MULTILINE)
    own = [HERE / name for name in names if (HERE / name).is_file()]
    return [*(n for n in names if n.endswith(".c")), *(n for each in own for n in _includes(each))]


def stored(root: Path, corpus: Path) -> None:
    """Puts entries of real commands into a corpus."""
    one = Remembered(root)
    (one.folder / "conftest.h").write_text("int a;\n")
    (one.folder / "conftest.c").write_text('#include "conftest.h"\n')
    settle(one.folder)
    for words in (
        "-c conftest.c",
        "-E conftest.c -o conftest.i",
        "-MD -c conftest.c -o conftest.o",
    ):
        one.run("gcc", *words.split())
        (one.folder / "conftest.o").unlink(missing_ok=True)
    for number, entry in enumerate(one.entries()):
        shutil.copy(entry, corpus / str(number))
    one.close()
    for entry in sorted(corpus.iterdir())[:1]:
        for name in OUTSIDE:
            forged = entry.read_bytes().replace(b"conftest.o\0", name + b"\0")
            (corpus / f"{entry.name}-{name.decode().replace('/', '-')}").write_bytes(forged)


def compiled(corpus: Path) -> None:
    """Puts objects with debug information into a corpus."""
    source = corpus.with_suffix(".c")
    source.write_text("int f(int x) { return x; }\n")
    for compiler in ("gcc", "clang"):
        words = ["-g", f"-fdebug-prefix-map={source.parent}=/w/tree", "-c", source.name]
        made = corpus / compiler
        subprocess.run([compiler, *words, "-o", made], cwd=source.parent, check=True)


#: Names behind links of the folder in which results are given back, as long as that of an output.
OUTSIDE: Final = (b"sub/evil.o", b"lnk/keep.o", b"d/e/evil.o")


def lead_out(store: Path, outside: Path) -> None:
    """Puts links into a folder by which nobody is to leave it."""
    (outside / "e").mkdir(parents=True)
    (outside / "keep.o").write_text("kept")
    (outside / "keep.o").chmod(0o644)
    (store / "sub").symlink_to(outside)
    (store / "lnk").symlink_to(f"../{outside.name}")
    (store / "d").mkdir()
    (store / "d" / "e").symlink_to(outside / "e")


def fuzz(name: str, folder: Path, *, seed: int, runs: int) -> None:
    """Raises DifferenceError with what a sanitizer says."""
    program = folder / name
    corpus, store = folder / f"{name}.corpus", folder / f"{name}.store"
    if not program.exists():
        compile_target(name, folder)
        corpus.mkdir()
        store.mkdir()
        lead_out(store, folder / f"{name}.outside")
        if name in _STORED:
            stored(folder / f"{name}.real", corpus)
        if name == "names":
            compiled(corpus)
    options = [f"-seed={seed}", f"-runs={runs}", f"-max_len={_LARGEST}"]
    options += [f"-use_value_profile={int(name not in _STORED)}"]
    options += ["-rss_limit_mb=2048", f"-artifact_prefix={folder}/{name}."]
    done = subprocess.run(
        [program, *options, corpus],
        cwd=store,
        env={**os.environ, "FUZZED_STORE": str(store), "ASAN_OPTIONS": "detect_leaks=0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        raise DifferenceError(f"{name}, seed {seed}: {done.stderr[-4000:]}")
    assert "Done " in done.stderr, done.stderr[-1000:]
    outside = folder / f"{name}.outside"
    left = sorted(str(path.relative_to(outside)) for path in outside.rglob("*"))
    if left != ["e", "keep.o"] or (outside / "keep.o").read_text() != "kept":
        raise DifferenceError(f"{name}, seed {seed}: what lies outside is {left} now")
