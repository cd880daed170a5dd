"""Checks of a configure script run ahead of it: its files are what the plain script leaves."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import psutil
import pytest

from smpmake.session import memo
from tests.support.ahead import PATIENCE, WAITS, list_of, needs_a_place, store_of
from tests.support.remembered import counts, forget_all_but_checks
from tests.support.space import SMPMAKE, Space

#: As autoconf's: a text is what was found so far and a body.
BEGIN: Final = (
    "#!/bin/sh"
    + WAITS
    + """exec 5> config.log < /dev/null
echo 'It was created by a sample configure 1.0, which was' >&5
: > confdefs.h
try() {
    name=$1 body=$2; shift 2
    { cat confdefs.h; printf '%s\\n' "$body"; } > ${source-conftest.c}
    "$@" >&5 2> conftest.err
    status=$?
    cat conftest.err >&5
    if test $status = 0; then echo "#define $name 1" >> confdefs.h; fi
    echo "$name: $status `cat conftest.o conftest.i 2> /dev/null | cksum`" >> config.status
}
"""
)
END: Final = "rm -f conftest*\n"
#: Four checks, of which three come after the first that nobody answers.
SCRIPT: Final = (
    BEGIN
    + """try WORKS 'int main(void) { return 0; }' gcc -c $CFLAGS conftest.c
waits
try HAS_STDIO '#include <stdio.h>' gcc -c $CFLAGS conftest.c
try HAS_NONE '#include <none.h>' gcc -c $CFLAGS conftest.c
try EXPANDS 'WORKS HAS_STDIO' gcc -E -P -o conftest.i conftest.c
"""
    + END
)


@pytest.fixture
def store(space: Space) -> Path:
    return store_of(space)


def run(space: Space, store: Path, wanted: int, **environment: str) -> int:
    """Runs the script again without what is remembered but the list; the results given back."""
    forget_all_but_checks(store)
    plain = space.tree()
    space.clear()
    space.write({"configure": (space.root / "configure").read_text()})
    told = {"STORE": f"{store}/q", "WANTED": str(wanted), **environment}
    ended = space.finish(space.start(SMPMAKE, "sh", "./configure", **told), PATIENCE)
    assert ended.status == 0, ended
    assert space.tree() == plain, ended
    space.expect_clean()
    hits = counts(space)["hits"]
    assert isinstance(hits, int)
    return hits


def first(space: Space, script: str, **environment: str) -> None:
    """The plain script's files are what stands here behind the first run, which makes the list."""
    (space.root / "configure").write_text(script)
    space.write({"configure": script})
    assert space.smpmake("sh", "./configure", **environment).status == 0


def plainly(space: Space, **environment: str) -> None:
    script = (space.root / "configure").read_text()
    space.clear()
    space.write({"configure": script})
    assert space.run("sh", "./configure", **environment).status == 0


@needs_a_place
def test_what_comes_is_compiled_meanwhile(space: Space, store: Path) -> None:
    first(space, SCRIPT)
    plainly(space)
    for _ in range(2):
        assert run(space, store, 3) == 3
        assert counts(space)["ahead"] >= 3
    assert " checks of configure ran ahead of their script\n" in space.smpmake("memo").out


@needs_a_place
def test_other_flags(space: Space, store: Path) -> None:
    first(space, SCRIPT)
    for flags in ("-O1", "-O1 -DA=1", ""):
        plainly(space, CFLAGS=flags)
        assert run(space, store, 3, CFLAGS=flags) >= 2, flags


@needs_a_place
def test_another_answer_is_heard(space: Space, store: Path) -> None:
    """What confdefs has now is in each text behind it."""
    more = "test -z \"$MORE\" || echo '#define MORE 1' >> confdefs.h\n"
    script = SCRIPT.replace("try HAS_STDIO", f"{more}try HAS_STDIO")
    first(space, script)
    plainly(space, MORE="1")
    run(space, store, 3, MORE="1")


ODD: Final[dict[str, str]] = {
    "another source is read": """\
try A 'int a;' gcc -c conftest.c
waits
source=conftest1.c try B '#include "conftest.c"' gcc -c conftest1.c -o conftest.o
""",
    "a folder of its own": """\
mkdir -p conftestd1b; echo "#define N $$" > conftestd1b/n.h
try A 'int a;' gcc -c conftest.c
waits
try B '#include "n.h"
int b[sizeof(int) + N * 0];' gcc -Iconftestd1b -c conftest.c
rm -r conftestd1b
""",
    "a file that it changes": """\
echo 'int x;' > x.h
try A 'int a;' gcc -c conftest.c
waits
echo 'int x[2];' > x.h
try B '#include "x.h"' gcc -I. -c conftest.c
try C '#include "x.h"' gcc -I. -include x.h -c conftest.c
""",
    "messages": """\
try A 'int a;' gcc -c conftest.c
waits
try B 'int b() { return oops; }' gcc -Wall -c `pwd`/conftest.c
try C 'int main() { char c[1]; c[5] = 1; }' gcc -O2 -Wall -Wextra -c conftest.c
try D '#include <stdio.h>' gcc -E conftest.c
""",
    "what they print is one": """\
try A 'int a;' gcc -c conftest.c
waits
gcc -c conftest.c >&5 2>&5
gcc -E conftest.c > conftest.i 2> /dev/null && cksum < conftest.i >> config.status
gcc -c conftest.c > /dev/null 2>&1; echo $? >> config.status
""",
    "what it links and runs": """\
try A 'int main(void) { return 0; }' gcc -g -o conftest conftest.c
./conftest; echo "runs $?" >> config.status
waits
try B 'int main(void) { return 3; }' gcc -g -o conftest conftest.c -lm
./conftest; echo "runs $?" >> config.status
""",
    "a mask and a closed input": """\
try A 'int a;' gcc -c conftest.c
waits
umask 077
try B 'int b;' gcc -c conftest.c
ls -l conftest.o | cut -c1-10 >> config.status
try C 'int c;' gcc -c conftest.c <&-
""",
}


@needs_a_place
@pytest.mark.parametrize("name", ODD)
def test_what_does_not_hold_in_its_place_is_not_believed(
    space: Space, store: Path, name: str
) -> None:
    first(space, BEGIN + ODD[name] + END)
    plainly(space)
    run(space, store, 1)


@needs_a_place
@pytest.mark.parametrize(
    "words",
    [
        "-o ../mine",
        "-o $OLDPWD/mine",
        "-MMD -MF ../mine",
        "-Wl,-Map=../mine",
        "-Wp,-MMD,../mine",
        "-aux-info ../mine",
    ],
)
def test_nothing_outside_of_the_folder_is_written_before_its_turn(
    space: Space, store: Path, words: str
) -> None:
    """Nor ever, where the script does not come to it."""
    script = (
        BEGIN + "mkdir -p in; cd in; : > confdefs.h; cp ../config.log .; source=conftest.c\n"
        "try A 'int a;' gcc -c conftest.c\ncd ..; rm -f mine; cd in\nwaits\n"
        "try B 'int b;' gcc -c conftest.c\ntest -z \"$EARLY\" || exit 0\n"
        f"try C 'int main(void) {{ return 0; }}' gcc {words} conftest.c\n"
    )
    first(space, script)
    plainly(space, EARLY="1")
    assert not (space.folder / "mine").exists()
    run(space, store, 1, EARLY="1")


@needs_a_place
def test_an_early_end_leaves_no_compiler_and_no_temporary_file(space: Space, store: Path) -> None:
    lines = (f"int f{at}(int x) {{ return x * {at} + (x >> {at % 31}); }}" for at in range(4000))
    slow = "\n".join(lines)
    script = (
        BEGIN + "try A 'int a;' gcc -c conftest.c\n"
        'if test -n "$EARLY"; then\n'
        'until ls "$TMPDIR"/cc*.s > /dev/null 2>&1; do sleep 0.05; done; exit 0; fi\n'
        f"try B '{slow}' gcc -O2 -c conftest.c\ntry C '{slow}' gcc -O3 -c conftest.c\n" + END
    )
    first(space, script)
    forget_all_but_checks(store)
    space.clear()
    space.write({"configure": script})
    process = space.start(SMPMAKE, "sh", "./configure", EARLY="1")
    assert space.finish(process, PATIENCE).status == 0
    space.expect_clean()
    mine = [p for p in psutil.process_iter(["name", "environ"]) if p.info["name"] == "cc1"]
    assert not [p for p in mine if (p.info["environ"] or {}).get("TMPDIR") == str(space.temporary)]


@pytest.mark.chaos
def test_who_finds_nothing_useful_gives_up(space: Space, store: Path) -> None:
    """There is a file that its compilers do not see."""
    body = '#if __has_include("made.h")\nint b;\n#endif'
    checks = "".join(f"try A{at} '{body}' gcc -c -DN={at} conftest.c\n" for at in range(90))
    first(space, BEGIN + ": > made.h\n" + checks + END)
    plainly(space)
    assert run(space, store, 0) == 0
    assert counts(space)["ahead"] < 75


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 9)


def _lie(path: Path) -> None:
    """Sizes that nothing has."""
    data = bytearray(path.read_bytes())
    for at in range(8, len(data), 40):
        data[at] ^= 0xFF
    path.write_bytes(data)


def _be_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _be_link(path: Path) -> None:
    there = path.rename(path.with_name("elsewhere"))
    path.symlink_to(there)


DAMAGES: Final[dict[str, Callable[[Path], object]]] = {
    "cut": _cut,
    "lies": _lie,
    "garbage": lambda path: path.write_bytes(b"\xa5" * 4096),
    "empty": lambda path: path.write_bytes(b""),
    "a FIFO": _be_fifo,
    "a link": _be_link,
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_list_is_for_nothing(space: Space, store: Path, name: str) -> None:
    first(space, SCRIPT)
    plainly(space)
    DAMAGES[name](list_of(store))
    run(space, store, 0)


def test_of_no_script_of_autoconfs_there_is_a_list(space: Space, store: Path) -> None:
    first(space, SCRIPT.replace("It was created", "It was made"))
    assert list((store / "s").glob("checks-*")) == []


def test_a_script_that_was_interrupted_leaves_the_list_as_it_was(space: Space, store: Path) -> None:
    first(space, SCRIPT)
    whole = list_of(store).read_bytes()
    space.smpmake("sh", "./configure", CFLAGS="-O1")
    longer = list_of(store).read_bytes()
    assert longer != whole
    space.write({"configure": SCRIPT.replace("waits\n", "exit 0\n", 1)})
    space.smpmake("sh", "./configure")
    assert list_of(store).read_bytes() == longer


@pytest.mark.parametrize(
    "options",
    [["--no-run-ahead"], ["--memo=off"], ["--memo=check"], ["-j1"], ["--no-guard"]],
    ids=lambda options: options[0],
)
def test_who_wants_nothing_run_ahead(space: Space, options: list[str]) -> None:
    told = 'echo "${_SMPMAKE_AHEAD-none}"'
    assert space.smpmake(*options, "sh", "-c", told).out == "none\n"


def test_one_cpu_is_the_scripts(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", space.environment["XDG_CACHE_HOME"])
    session = space.root / "session"
    session.mkdir()
    assert "_SMPMAKE_AHEAD" not in memo.prepare("auto", session, 1 << 20, ahead=1)
    assert memo.prepare("auto", session, 1 << 20, ahead=2)["_SMPMAKE_AHEAD"].startswith("2:")


# ---------------------------------------------------------------------- what is left of it


def pool_of(space: Space) -> Iterator[psutil.Process]:
    store = os.fsencode(space.environment["XDG_CACHE_HOME"])
    for process in psutil.process_iter():
        try:
            told = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"smpmake-ahead\0" in told and store in told:
            yield process


def expect_gone(space: Space) -> None:
    end = time.monotonic() + 20
    while list(pool_of(space)):
        assert time.monotonic() < end


STANDS: Final = BEGIN + (
    "try A 'int a;' gcc -c conftest.c\nwaits\necho here > $READY\nread line < $GATE\n"
    "try B 'int b;' gcc -c conftest.c\n" + END
)


@needs_a_place
@pytest.mark.parametrize("how", ["end", "kill", "interrupt", "everything"])
def test_no_process_of_it_outlives_the_build(space: Space, store: Path, how: str) -> None:
    first(space, STANDS.replace("echo here > $READY\nread line < $GATE\n", ""))
    forget_all_but_checks(store)
    space.clear()
    space.write({"configure": STANDS})
    gate, ready = space.root / "gate", space.root / "ready"
    os.mkfifo(gate)
    os.mkfifo(ready)
    process = space.start(
        *(SMPMAKE, "sh", "./configure"),
        STORE=f"{store}/q",
        WANTED="1",
        GATE=str(gate),
        READY=str(ready),
    )
    assert ready.read_text() == "here\n"
    pool = list(pool_of(space))
    assert pool
    match how:
        case "end":
            gate.write_text("go on\n")
        case "kill":
            process.kill()
        case "interrupt":
            os.killpg(process.pid, signal.SIGINT)
        case "everything":
            for other in psutil.Process(process.pid).children(recursive=True):
                if other not in pool:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        other.kill()
            process.kill()
    space.finish(process)
    expect_gone(space)
