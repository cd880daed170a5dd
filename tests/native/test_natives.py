"""The native programs as they are compiled here."""

from __future__ import annotations

import errno
import os
import platform
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from smpmake import native, variables
from smpmake.cli.doctor import doctor

SOURCES = Path(native.__file__).parent
ROOT = SOURCES.parent.parent
MACHINES = ("x86_64", "aarch64")


@pytest.mark.skipif(platform.machine() not in MACHINES, reason="bare.c knows no such machine")
@pytest.mark.parametrize(("name", "most"), [("shim", 150_000), ("memo", 200_000)])
def test_it_is_started_without_a_libc(name: str, most: int) -> None:
    """One that fell back to libc would do the same, but take four times as long to start."""
    own, keeper = (os.stat(native.program(each)).st_size for each in (name, "keeper"))
    assert own < most < keeper


def test_nothing_was_compiled_otherwise_than_it_should_be() -> None:
    """What falls back at the installation is said there, and by `smpmake doctor`."""
    assert native.fallbacks() == []


def test_a_fallback_is_said_with_its_reason(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that does not get over the code which stands in for libc."""
    shutil.copytree(ROOT / "smpmake", tmp_path / "smpmake", ignore=shutil.ignore_patterns("_bin"))
    with (tmp_path / "smpmake" / "native" / "bare/bare.c").open("a") as file:
        file.write("#error so it is\n")
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))
    programs = hook["PROGRAMS"]
    for other in programs.keys() - {"shim"}:
        del programs[other]
    monkeypatch.setenv("CFLAGS", "-O0")  # it takes half as long
    hook["compile_programs"](tmp_path)
    told = capfd.readouterr().err
    monkeypatch.setattr(native, "_FOLDER", tmp_path / "smpmake" / "_bin")
    (line,) = native.fallbacks()
    assert re.fullmatch("the shim was not compiled as it should be, .*: .*so it is", line)
    assert told == f"smpmake: {line}\n"
    said = CliRunner().invoke(doctor).output
    assert f"\nbuilt     {line}\n" in said


def test_errors_are_worded_as_libc_does() -> None:
    """All of them: a failure that tells of the machine's state is known by these words."""
    text = (SOURCES / "bare/errors.c").read_text()
    worded = dict(re.findall(r'\[(E[A-Z0-9]+)\] = "([^"]+)",', text))
    for name, words in worded.items():
        # Python does not know the last one by its name.
        assert os.strerror(getattr(errno, name, 133)) == words
    known = {os.strerror(number) for number in range(1, 134)}
    assert {words for words in known if not words.startswith("Unknown")} == set(worded.values())


#: What <string.h> of glibc 2.43 makes of C23: the pointer found is as const as the one given.
_NEWER_STRING_H = """
#include <stdlib.h>
#include <string.h>
#define AS_GIVEN(pointer, type, call) \\
    _Generic(0 ? (pointer) : (void *)1, const void *: (type)(call), default: call)
#undef memchr
#undef strchr
#undef strrchr
#undef strpbrk
#undef strstr
#define memchr(s, c, n) AS_GIVEN(s, const void *, memchr(s, c, n))
#define strchr(s, c) AS_GIVEN(s, const char *, strchr(s, c))
#define strrchr(s, c) AS_GIVEN(s, const char *, strrchr(s, c))
#define strpbrk(s, a) AS_GIVEN(s, const char *, strpbrk(s, a))
#define strstr(s, n) AS_GIVEN(s, const char *, strstr(s, n))
"""


@pytest.mark.parametrize(
    "source", sorted(str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.c"))
)
def test_the_sources_pass_where_string_h_has_macros(source: str, tmp_path: Path) -> None:
    (tmp_path / "newer.h").write_text(_NEWER_STRING_H)
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))
    flags = [*hook["FLAGS"], f"-I{SOURCES}", *hook["_names_of_tools"](ROOT)]
    flags += ["-Werror", "-fsyntax-only"]
    included = ["-include", str(tmp_path / "newer.h")]
    done = subprocess.run(
        ["cc", *flags, *included, str(SOURCES / source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("content", "mode", "words", "status"),
    [
        (b"\x7fELF nonsense", 0o755, "Exec format error", 126),
        (b"#!/no/such/interpreter\n", 0o755, "No such file or directory", 127),
        (b"#!/usr\n", 0o755, "Permission denied", 126),
    ],
)
def test_a_tool_that_cannot_be_started(
    tmp_path: Path, content: bytes, mode: int, words: str, status: int
) -> None:
    shims, tools = tmp_path / "shims", tmp_path / "tools"
    for folder in (shims, tools):
        folder.mkdir()
    (shims / "gcc").symlink_to(native.program("shim"))
    (tools / "gcc").write_bytes(content)
    (tools / "gcc").chmod(mode)
    done = subprocess.run(
        ["gcc", "-c", "a.c"],
        executable=shims / "gcc",
        env={"PATH": f"{shims}:{tools}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert done.stderr == f"smpmake: gcc: {tools}/gcc: {words}\n"


def test_many_and_long_words_pass_through_the_shim(tmp_path: Path) -> None:
    """More than its own memory holds at first."""
    (tmp_path / "shims").mkdir()
    (tmp_path / "shims" / "echo").symlink_to(native.program("shim"))
    words = [f"{number}" * 50 for number in range(2000)]
    more = {f"V{number}": "x" * 1000 for number in range(300)}
    done = subprocess.run(
        ["echo", *words],
        executable=tmp_path / "shims" / "echo",
        env={**more, "PATH": f"{tmp_path}/shims::{os.environ['PATH']}:"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == words


def test_native_programs_name_our_variables_as_we_do() -> None:
    """By the one prefix of wire.h, and no other name that begins as the user's variables do."""
    texts = [path.read_text() for path in SOURCES.rglob("*.[ch]")]
    prefix = re.findall(r'#define OURS "(\w+)"', (SOURCES / "layout/wire.h").read_text())
    assert prefix == [variables.OURS]
    named = {name for text in texts for name in re.findall(r'OURS "([A-Z]+)', text)}
    assert named == {name.removeprefix(variables.OURS) for name in variables.ALL}
    assert not any(re.search(r'"_?SMPMAKE_[A-Z]', text) for text in texts)


def test_a_build_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a commit, a digest of what was compiled."""
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))
    monkeypatch.setattr(native, "_FOLDER", tmp_path)
    assert hook["commit_of"](tmp_path) == ""
    assert native.build_id() == "not built"
    for name in ("smpmake-guard.so", "smpmake-keeper", "smpmake-shim", "smpmake-worker"):
        (tmp_path / name).write_bytes(b"\x7fELF")
    first = native.build_id()
    assert re.fullmatch("native-[0-9a-f]{12}", first)
    (tmp_path / "smpmake-keeper").write_bytes(b"\x7fELF!")
    assert native.build_id() != first


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_build_from_a_commit_is_named_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))
    monkeypatch.setattr(native, "_FOLDER", tmp_path)
    (tmp_path / "smpmake-keeper").write_bytes(b"\x7fELF")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], check=True)
    commit = hook["commit_of"](tmp_path)
    assert re.fullmatch("[0-9a-f]{12}", commit)
    (tmp_path / "smpmake-build").write_text(commit)
    assert native.build_id() == commit
    (tmp_path / "smpmake-keeper").write_bytes(b"other")
    assert hook["commit_of"](tmp_path) == f"{commit}+"
