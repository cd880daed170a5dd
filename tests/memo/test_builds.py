"""Whole builds with --memo: what they leave is what plain builds leave."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path

import psutil
import pytest

from smpmake.protocol import layout
from tests.support.held import Held
from tests.support.kills import name_of
from tests.support.remembered import CONFIGURE_BEGIN, NEEDS_A_GUARD, STATUS, counts, forge, settle
from tests.support.space import Space

CONFIGURE = f"""{CONFIGURE_BEGIN}check '#include <none.h>' gcc -E conftest.c -o conftest.i
ls >> config.h
rm -f conftest*
"""
CHECKS = 4


def test_a_second_configure_gets_its_answers_back(space: Space) -> None:
    for turn in range(3):
        space.clear()
        space.expect_same({"configure": CONFIGURE}, ["sh", "./configure"], "--memo=on")
        assert counts(space)["hits"] == (0 if turn == 0 else CHECKS), counts(space)
    checked = space.smpmake("--memo=check", "sh", "./configure")
    assert "--memo=check" not in checked.err
    assert counts(space)["misses"] == {str(layout.MEMO_ONLY_CHECKED): CHECKS}
    shown = space.smpmake("memo").out
    assert f"commands   {CHECKS}\n" in shown
    assert f"{CHECKS} commands run" in shown
    assert layout.MEMO_WHY_SENTENCES[layout.MEMO_ONLY_CHECKED] in shown
    assert f"forgotten {CHECKS} commands" in space.smpmake("memo", "clear").out
    assert "no results yet" in space.smpmake("memo").out


def test_a_check_tells_the_user(space: Space) -> None:
    files = {"configure": "exec < /dev/null; gcc -c conftest.c; true\n", "conftest.c": "int a;\n"}
    space.write(files)
    space.smpmake("--memo=on", "sh", "./configure")
    store = Path(space.environment["XDG_CACHE_HOME"], "smpmake", "memo")
    (entry,) = (path for path in (store / "q").rglob("*") if path.is_file())
    forge(entry, STATUS, (7).to_bytes(4, "little"))
    (space.folder / "conftest.o").unlink()
    ended = space.smpmake("--memo=check", "sh", "./configure")
    assert "the first is that of `gcc -c conftest.c`: its status has changed" in ended.err


def test_who_wants_nothing_remembered(space: Space) -> None:
    space.expect_same({"configure": CONFIGURE}, ["sh", "./configure"], "--memo=off")
    assert not Path(space.environment["XDG_CACHE_HOME"], "smpmake", "memo").exists()


#: As scons gives its commands an environment of their own.
OWN = {
    "env": "env -i PATH=$$PATH gcc -c $< -o $@",
    "posix_spawn": """python3 -c "import os, sys; pid = os.posix_spawnp('gcc', sys.argv[1:], \
        {'PATH': os.environ['PATH']}); os.waitpid(pid, 0)" gcc -c $< -o $@""",
    "system": """python3 -c "import os; path = os.environ['PATH']; os.environ.clear(); \
        os.environ['PATH'] = path; os.system('gcc -c $< -o $@')\"""",
}


@pytest.mark.parametrize("way", OWN)
def test_a_command_with_an_environment_of_its_own(space: Space, way: str) -> None:
    makefile = f"all: a.o b.o\n%.o: %.c\n\t@{OWN[way]} </dev/null\n"
    files = {"Makefile": makefile, "a.c": "int a;\n", "b.c": "int b;\n"}
    for turn in range(2):
        space.clear()
        space.expect_same(files, ["make"], "--memo=on")
        assert counts(space)["hits"] == turn * 2, counts(space)


@pytest.mark.skipif(NEEDS_A_GUARD, reason="with this libc nothing is kept without a guard")
def test_without_a_guard(space: Space) -> None:
    for turn in range(2):
        space.clear()
        space.expect_same(
            {"configure": CONFIGURE}, ["sh", "./configure"], "--memo=on", "--no-guard"
        )
        assert counts(space)["hits"] == turn * CHECKS, counts(space)


UNDONE = """\
exec < /dev/null
cksum conftest.o > before
echo '{source}' > conftest.c
gcc -c conftest.c
cksum conftest.o > after
"""


@pytest.mark.parametrize("source", ["int a;", "char a[150000000] = {1};"])
@pytest.mark.parametrize("older", [{"conftest.o": "older"}, {}], ids=["older", "new"])
def test_what_a_result_replaces_comes_back(
    space: Space, older: dict[str, str], source: str
) -> None:
    """make goes on behind a failure, so all of it is undone and run again: it finds the file that
    lay in the place of the result that was given back."""
    for turn in range(2):
        bad = f"bad{turn}.c"  # that it fails is known the next time
        makefile = f"all:\n\tsh ./checks\n\tgcc -c {bad}\n\techo never > never\n"
        checks = UNDONE.format(source=source)
        files = {"Makefile": makefile, "checks": checks, bad: "int bad(\n", **older}
        space.clear()
        ended = space.expect_same(files, ["make"], "--memo=on")
        assert "make ran a second time" in ended.err, ended.err
        assert counts(space)["hits"] == 1 + turn, counts(space)


#: What is as old as the build is kept for its undoing: first the file system's clock goes on.
NAMES = """\
exec < /dev/null
for tick in 1 2 3 4 5 6 7 8; do
    touch one
    while touch two; do test two -nt one && break; done
done
rm one two
gcc -c conftest.c
ln conftest.o second
gcc -c conftest.c
ls -l second | sed 's/^[^ ]* *//; s/ .*//' > names
"""


def test_a_file_has_as_many_names_as_its_build_gave_it(space: Space) -> None:
    """What a result replaces stays for an undoing, but not as one more name of what is left."""
    for _ in range(2):
        space.clear()
        files = {"Makefile": "all:\n\tsh ./checks\n", "checks": NAMES, "conftest.c": "int a;\n"}
        space.expect_same(files, ["make"], "--memo=on")
    assert counts(space)["hits"] == 1, counts(space)


@pytest.mark.chaos
def test_a_signal_while_a_result_is_given_back(space: Space) -> None:
    """In place, beside a pending job: its file is whole or is not there, as behind a compiler that
    is told to end."""
    held = Held(space)
    space.write({"x.c": "#warning so it is awaited\nchar a[150000000] = {1};\n", "y.c": "int y;\n"})
    script = "gcc -Dheld -c y.c; o=$(cc -c x.c -o x.o 2>&1 < /dev/null)"
    build = ["-j2", "--memo=on", "sh", "-c", script]
    path = space.folder / "x.o"
    settle(space.folder)
    for _ in range(3):  # first smpmake believes that it prints nothing
        assert space.smpmake(*build).status == 0
        whole = path.stat().st_size
        path.unlink()
    assert counts(space)["hits"] == 1
    for _ in range(20):  # a busy machine may be too late for it
        path.unlink(missing_ok=True)
        process = held.start(*build)
        giving: list[psutil.Process] = []
        while not giving and process.poll() is None:
            below = psutil.Process(process.pid).children(recursive=True)
            giving = [each for each in below if name_of(each) == "smpmake-recall"]
        while not path.exists() and process.poll() is None:
            pass
        for each in giving:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGINT)
        held.release(process)
        ended = space.finish(process)
        assert not path.exists() or path.stat().st_size == whole
        if ended.status != 0:
            return
    pytest.fail("no result was still being given back")
