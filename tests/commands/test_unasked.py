"""What a shim runs without asking is what the engine would run in its place, whatever it holds."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from smpmake import native, variables
from smpmake.commands.compilers.probes import ASKS, CHECKS
from smpmake.commands.compilers.words import valued
from smpmake.config import Settings
from smpmake.decide.policy import Context, Decision, decide
from tests.commands.any_argv import FILES, KNOWN, OPERANDS, TAILS, TOOLS
from tests.commands.disk import meaning
from tests.support.variants import often
from tests.test_reasons import Answers

#: Stands for a tool.  A shim that asks nobody gives it a number, and the place where it needs one.
TOOL = f"""#!/bin/sh
[ -z "${variables.COMMAND}" ] && exit 3
[ -e /proc/$$/fd/977 ] && exit 4
exit 5
"""
ASKED, PLACED, FREE = 3, 4, 5
#: More names of tools whose family the shim knows.
NAMED = (
    *("x86_64-linux-gnu-gcc-12", "c++-9", "c99-gcc", "gcc-ar", "gcc-nm", "nm-2.40", "ld.lld-14"),
    *("clang-15.0.7", "ld.bfd", "gmsgfmt", "size", "gcc-12-win32", "pgcc", "cc1", "nm.old"),
)


class Shims:
    """Shims of a session in which nothing is pending and nobody can be asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "check").touch()
        (folder / "board").write_bytes(bytes(8192))
        (folder / "tools").mkdir()

    def runs(self, words: Sequence[str], *, into_pipe: bool) -> int:
        """ASKED, PLACED or FREE."""
        tool = self.folder / "tools" / words[0]
        if not tool.exists():
            tool.write_text(TOOL)
            tool.chmod(0o755)
        environment = {
            "PATH": "/usr/bin:/bin",
            variables.SOCKET: str(self.folder / "nobody"),
            variables.BOARD: str(self.folder / "board"),
            variables.GUARD: "guard",
            variables.REAL: str(tool),
        }
        shim = native.program("shim")
        return subprocess.run(
            list(words),
            executable=shim,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if into_pipe else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            check=False,
        ).returncode


@pytest.fixture(name="shims", scope="module")
def _shims(tmp_path_factory: pytest.TempPathFactory) -> Shims:
    return Shims(tmp_path_factory.mktemp("shims"))


def verdict(words: Sequence[str]) -> Decision:
    """The engine's, where nothing is pending and its context says nothing against a job."""
    context = cast(Context, Answers(is_pending=False))
    return decide(meaning(words, FILES), Settings(), words[0], f"/usr/bin/{words[0]}", context)


def is_valued_check(words: Sequence[str]) -> bool:
    """Whether a check's name may be an option's value: the shim knows them for compilers only.

    It runs such a command in its place, which is as right, and no build has one.
    """
    named = [path.rpartition("/")[2].startswith(CHECKS) for path in words[1:]]
    return any(
        is_name and before.startswith("-") and before != "-"
        for before, is_name in zip(words, named, strict=False)
    )


def agree(shims: Shims, words: Sequence[str]) -> list[int]:
    """Has a shim run a command, into a pipe and not; what it does needs no engine."""
    found = [shims.runs(words, into_pipe=into_pipe) for into_pipe in (True, False)]
    decision = verdict(words)
    for does in found:
        assert does in (ASKED, PLACED, FREE), words
        assert does != FREE or not decision.deferred, (words, decision)
        assert does == ASKED or not decision.deferred or is_valued_check(words), (words, decision)
    assert found[1] != FREE, words  # P6: it takes no slot, so it must be one end of a pipe
    return found


#: Lines of configure scripts, with what becomes of them into a pipe and not.
LINES = {
    "cc -E /tmp/cgXXXXXX/dummy.c": (FREE, PLACED),
    "cc -E -": (FREE, ASKED),
    "gcc -std=gnu99 -E conftest.c": (FREE, PLACED),
    "gcc -E a.c": (FREE, ASKED),
    "gcc -print-prog-name=ld": (FREE, PLACED),
    "gcc -g -O2 -mllvm -x -Wall -print-multi-os-directory": (FREE, PLACED),
    "x86_64-linux-gnu-gcc-12 -print-search-dirs": (FREE, PLACED),
    "gcc -g -v": (FREE, PLACED),
    "nm -B /dev/null": (FREE, ASKED),
    "nm -B conftest.o": (FREE, PLACED),
    "gcc-nm -V": (FREE, PLACED),
    "ld -m elf_x86_64 --help": (FREE, PLACED),
    "ld -m elf_x86_64 -v": (FREE, PLACED),
    "ar --help": (FREE, PLACED),
    "ar cr libconftest.a @conftest.lst": (ASKED, PLACED),
    "msgfmt --statistics /dev/null": (FREE, PLACED),
    "gcc -c conftest.c": (PLACED, PLACED),
    "gcc -o conftest conftest.c": (PLACED, PLACED),
    "gcc -S conftest.c -o -": (ASKED, PLACED),
    "gcc -E a.c -o a.i": (ASKED, ASKED),
    "gcc -E -MD a.c": (ASKED, ASKED),
    "gcc -E @r.rsp": (ASKED, ASKED),
    "gcc -Xlinker -E a.c": (ASKED, ASKED),
    "gcc -I -E a.c": (ASKED, ASKED),
    "gcc -lm -o -print-x": (ASKED, ASKED),
    "clang -mllvm -print-after-all -c a.c": (ASKED, ASKED),
    "ld -m elf_x86_64 -v a.o": (ASKED, ASKED),
    "msgfmt --output-file /dev/null --statistics": (ASKED, ASKED),
    "bison --verbose /dev/null": (ASKED, ASKED),
    "mkdir -v": (ASKED, ASKED),
}
# Work for the disk is not numbered: its shim says nothing of it.


@pytest.mark.parametrize("line", LINES)
def test_lines_of_configure_scripts(shims: Shims, line: str) -> None:
    assert tuple(agree(shims, line.split())) == LINES[line]


def _words() -> Iterator[list[str]]:
    """Every question to every tool, and every check by its name."""
    for tool in (*TOOLS, *NAMED):
        yield [tool]
        for ask in (*ASKS, "-print-prog-name=ld", "-E"):
            yield [tool, ask]
            yield [tool, "-m", "x", ask]
        for name in CHECKS:
            yield [tool, "-c", f"{name}.1.c"]
            yield [tool, "cr", "x", f"@{name}.lst"]
        yield [tool, "--statistics", "/dev/null"]


@pytest.mark.parametrize("one_of", often([7], [1, 7]))
def test_questions_and_checks_to_every_tool(shims: Shims, one_of: int) -> None:
    found = [agree(shims, words) for words in itertools.islice(_words(), None, None, one_of)]
    assert sum(each != [ASKED, ASKED] for each in found) > len(found) // 3


def test_an_options_value_is_no_option(shims: Shims) -> None:
    """What would preprocess, or name nothing to work on, may be the value of the word before."""
    for option, word in itertools.product(valued(), ("-E", "-print-x")):
        agree(shims, ["gcc", option, word, "-c", "a.c"])
        agree(shims, ["clang", "-lm", option, word])


WORD = st.one_of(
    st.sampled_from(KNOWN),
    st.sampled_from(("-E", "-", "-m", "-o", "/dev/null", "-print-x", "conftest.c", *ASKS)),
    st.sampled_from(OPERANDS),
    st.tuples(st.sampled_from(KNOWN), st.sampled_from(TAILS[:-1])).map("".join),
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(("gcc", "clang", "cc", "ld", "nm", "ar", "msgfmt", *TOOLS)),
    st.lists(WORD, max_size=5),
)
@example("ld", ["-", "-m", "conftest.c"])
def test_any_words(shims: Shims, tool: str, words: list[str]) -> None:
    agree(shims, [tool, *words])
