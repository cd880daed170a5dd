"""What is never remembered: what may be different the next time, though every file is the same."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pytest

from smpmake import native
from smpmake.protocol import layout
from tests.memo.test_changes import listed
from tests.support import needs
from tests.support.remembered import Ran, Remembered, settle, with_limit

COMPILE: Final = ("gcc", "-c", "conftest.c")
LINK: Final = ("gcc", "-o", "conftest", "conftest.c")
MAIN: Final = "int main(void) { return 0; }\n"


class Case(NamedTuple):
    """A command, and why its result is not remembered.

    asked  it has no question; else it ran, and then it was clear.
    """

    files: dict[str, str]
    command: tuple[str, ...]
    reason: int
    asked: bool = False
    how: Mapping[str, Any] = MappingProxyType({})


CASES: Final = {
    "the date in a source": Case(
        {"conftest.c": "char *a = __DATE__;\n"}, COMPILE, layout.MEMO_CLOCK, True
    ),
    "the date in a word": Case(
        {"conftest.c": "char *a = A;\n"}, (*COMPILE, "-DA=__TIME__"), layout.MEMO_CLOCK, True
    ),
    "the date in a header": Case(
        {"conftest.c": '#include "h.h"\nchar *a = A;\n', "h.h": "#define A __DATE__\n"},
        COMPILE,
        layout.MEMO_CLOCK,
    ),
    "a date that nobody can read in a text": Case(
        {"conftest.c": "#define P(a, b) a##b\nchar *a = P(__DA, TE__);\n"},
        COMPILE,
        layout.MEMO_CLOCK,
    ),
    "a source's own time": Case(
        {"conftest.c": "char *a = __TIMESTAMP__;\n"}, COMPILE, layout.MEMO_CLOCK, True
    ),
    "link-time optimization, with random names": Case(
        {"conftest.c": MAIN}, (*LINK, "-flto"), layout.MEMO_WORDS, True
    ),
    "a file of words": Case(
        {"conftest.c": MAIN, "words": "-DA"}, (*COMPILE, "@words"), layout.MEMO_WORDS, True
    ),
    "specs": Case(
        {"conftest.c": MAIN, "specs": ""}, (*COMPILE, "-specs=specs"), layout.MEMO_WORDS, True
    ),
    "a profile": Case({"conftest.c": MAIN}, (*COMPILE, "-fprofile-use"), layout.MEMO_WORDS, True),
    "this very CPU": Case(
        {"conftest.c": MAIN}, (*COMPILE, "-march=native"), layout.MEMO_WORDS, True
    ),
    "a random build id": Case(
        {"conftest.c": MAIN}, (*LINK, "-Wl,--build-id=uuid"), layout.MEMO_WORDS, True
    ),
    "a random build id by way of a script": Case(
        {"conftest.c": MAIN},
        (*LINK, "-Xlinker", "--build-id", "-Xlinker", "--build-id=uuid"),
        layout.MEMO_WORDS,
        True,
    ),
    "a variable by which a list is appended to": Case(
        {"conftest.c": MAIN},
        COMPILE,
        layout.MEMO_ENVIRONMENT,
        True,
        {"env": {"DEPENDENCIES_OUTPUT": "list"}},
    ),
    "a library that is preloaded": Case(
        {"conftest.c": MAIN},
        COMPILE,
        layout.MEMO_ENVIRONMENT,
        True,
        {"env": {"LD_PRELOAD": "libm.so.6"}},
    ),
    "a header that cannot be looked at": Case(
        {"conftest.c": '#include "loop.h"\n'}, COMPILE, layout.MEMO_ERROR
    ),
    "a limit of file sizes": Case(
        {"conftest.c": "int a[9999] = {1};\n"},
        COMPILE,
        layout.MEMO_LIMIT,
        True,
        {"preexec_fn": with_limit(resource.RLIMIT_FSIZE, 8192)},
    ),
    "a full disk": Case({"conftest.c": MAIN}, (*COMPILE, "-Bfull/"), layout.MEMO_FAILED),
    "an environment for which there is no room": Case(
        {"conftest.c": MAIN}, (*COMPILE, "-Blong/"), layout.MEMO_FAILED
    ),
    "a damaged file system": Case(
        {"conftest.c": MAIN}, (*COMPILE, "-Bdamaged/"), layout.MEMO_FAILED
    ),
    "an output that is a link": Case(
        {"conftest.c": MAIN, "target": ""}, (*COMPILE, "-o", "link.o"), layout.MEMO_FORMER
    ),
    "an archive with times, by a later word": Case(
        {"conftest.c": MAIN},
        ("sh", "-c", "touch -d @9 conftest.c; exec ar rcD -U conftest.a conftest.c > log"),
        layout.MEMO_WORDS,
        True,
    ),
    "a closed standard output": Case(
        {"conftest.c": MAIN},
        ("sh", "-c", "gcc -E conftest.c >&-; echo $?"),
        layout.MEMO_STREAMS,
        True,
    ),
    "a list of dependencies to an open file": Case(
        {"conftest.c": MAIN},
        ("sh", "-c", "exec gcc -c conftest.c -Wp,-MD,/proc/self/fd/5 5> list"),
        layout.MEMO_WORDS,
        True,
    ),
    "a header that is an open file": Case(
        {"conftest.c": '#include "/proc/self/fd/5"\n', "x.h": "int x;\n"},
        ("sh", "-c", "exec gcc -c conftest.c 5< x.h"),
        layout.MEMO_SPECIAL,
    ),
    "a loader that shows random addresses": Case(
        {"conftest.c": MAIN}, COMPILE, layout.MEMO_ENVIRONMENT, True, {"env": {"LD_SHOW_AUXV": "1"}}
    ),
    "an internal fault": Case({"conftest.c": MAIN}, (*COMPILE, "-Btools/"), layout.MEMO_KILLED),
    "a compiled header, with random parts": Case(
        {"conftest.h": "int a;\n"},
        ("gcc", "-x", "c-header", "conftest.h", "-o", "conftest.gch"),
        layout.MEMO_WORDS,
    ),
    "a link with the times of its objects": Case(
        {"conftest.c": MAIN}, (*LINK, "-Wl,--incremental-full"), layout.MEMO_WORDS, True
    ),
    "the same by one dash": Case(
        {"conftest.c": MAIN}, (*LINK, "-Wl,-incremental-full"), layout.MEMO_WORDS, True
    ),
    **{
        f"random times by {word}": Case(
            {"conftest.c": MAIN}, (*LINK, word), layout.MEMO_WORDS, True
        )
        for word in ("-Wl,-stats", "--time-report")
    },
    "messages with the date": Case(
        {"conftest.c": MAIN},
        (*COMPILE, "-fdiagnostics-format=sarif-file"),
        layout.MEMO_WORDS,
        True,
    ),
    "what Ada writes down of its sources": Case(
        {"conftest.c": MAIN}, ("gcc", "-c", "conftest.c", "-o", "conftest.ali"), layout.MEMO_CLOCK
    ),
    "a part that is a script": Case(
        {"conftest.c": MAIN}, (*COMPILE, "-Bscripts/"), layout.MEMO_SCRIPT
    ),
}
FAILS: Final = """
#include <stdio.h>
#include <string.h>
int main(void) { return fprintf(stderr, "error: conftest.o: %%s\\n", strerror(%d)) > 0; }
"""
STATES: Final = {"full": errno.ENOSPC, "long": errno.E2BIG, "damaged": errno.EUCLEAN}
KILLED: Final = "#include <signal.h>\nint main(void) { return raise(SIGKILL); }\n"


def prepare(folder: Path) -> None:
    """What files alone cannot be."""
    (folder / "loop.h").symlink_to("loop.h")
    (folder / "link.o").symlink_to("target")
    for name in ("tools", "scripts", *STATES):
        (folder / name).mkdir()
    for name, number in STATES.items():
        (folder / "fails.c").write_text(FAILS % number)
        subprocess.run(["gcc", "-o", folder / name / "as", folder / "fails.c"], check=True)
    (folder / "killed.c").write_text(KILLED)
    subprocess.run(["gcc", "-o", folder / "tools/cc1", folder / "killed.c"], check=True)
    shutil.copy(folder / "tools/cc1", folder / "tools/as")
    (folder / "scripts/as").write_text('#!/bin/sh\nexec as "$@"\n')
    (folder / "scripts/as").chmod(0o755)


def run_twice(one: Remembered, case: Case, *, through_shims: bool) -> list[object]:
    one.clear()
    for name, text in case.files.items():
        (one.folder / name).write_text(text)
    prepare(one.folder)
    settle(one.folder)
    results: list[object] = []
    for _ in range(2):
        results += [one.run(*case.command, through_shims=through_shims, **case.how), one.tree()]
        for name in ("conftest.o", "conftest", "conftest.gch"):
            (one.folder / name).unlink(missing_ok=True)
    return results


@pytest.mark.parametrize("name", CASES)
def test_it_is_run_each_time(remembered: Remembered, name: str) -> None:
    case = CASES[name]
    found = run_twice(remembered, case, through_shims=True)
    told = remembered.told
    assert told.hits == 0
    assert remembered.entries() == []
    assert (told.misses if case.asked else told.unkept) == {case.reason: 2}, told
    if case.reason != layout.MEMO_CLOCK and "random" not in name:
        assert found == run_twice(remembered, case, through_shims=False)


def test_a_compiler_by_way_of_a_script(remembered: Remembered) -> None:
    """It may do anything, and what it calls is asked about by itself."""
    tools = remembered.root / "tools"
    tools.mkdir()
    (tools / "gcc").write_text('#!/bin/sh\nexec /usr/bin/gcc "$@"\n')
    (tools / "gcc").chmod(0o755)
    (remembered.folder / "conftest.c").write_text(MAIN)
    more: dict[str, Any] = {"env": {"PATH": f"{tools}:{remembered.plain['PATH']}"}}
    for _ in range(2):
        assert remembered.run(*COMPILE, **more).status == 0
    assert remembered.told.misses == {layout.MEMO_SCRIPT: 2}


def test_who_remembers_itself(remembered: Remembered) -> None:
    needs.require("ccache")
    tools = remembered.root / "tools"
    tools.mkdir()
    (tools / "gcc").symlink_to(str(shutil.which("ccache")))
    (remembered.folder / "conftest.c").write_text(MAIN)
    more: dict[str, Any] = {
        "env": {"PATH": f"{tools}:{remembered.plain['PATH']}", "CCACHE_DISABLE": "1"}
    }
    assert remembered.run(*COMPILE, **more).status == 0
    assert remembered.told.misses == {layout.MEMO_NO_FAMILY: 1}


TWICE: Final = """
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    extern char **environ;
    char *env[999] = {"CPATH=a", "CPATH=b"};
    for (int i = 0; environ[i] != NULL; i++)
        env[i + 2] = environ[i];
    environ = env;
    return execvp(argv[1], argv + 1);
}
"""


@pytest.mark.parametrize("guarded", [True, False])
def test_a_variable_that_is_there_twice(tmp_path: Path, *, guarded: bool) -> None:
    """No shell makes such an environment."""
    remembered = Remembered(tmp_path, guarded=guarded)
    (remembered.folder / "conftest.c").write_text(MAIN)
    (remembered.folder / "twice.c").write_text(TWICE)
    remembered.run("gcc", "-o", "twice", "twice.c", through_shims=False)
    settle(remembered.folder)
    for _ in range(2):
        assert remembered.run("./twice", *COMPILE).status == 0
    remembered.close()
    assert remembered.told.misses == {layout.MEMO_ENVIRONMENT: 2}


def test_a_program_that_the_build_has_made(remembered: Remembered) -> None:
    tools = remembered.folder / "tools"
    tools.mkdir()
    shutil.copy("/usr/bin/gcc", tools / "gcc")
    (remembered.folder / "conftest.c").write_text(MAIN)
    more: dict[str, Any] = {"env": {"PATH": f"{tools}:{remembered.plain['PATH']}"}}
    remembered.run(*COMPILE, **more)
    assert remembered.told.misses == {layout.MEMO_FRESH: 1}


def test_standard_input_counts_where_it_is_read(remembered: Remembered) -> None:
    """A compiler that only inherits it has a result that can be given back; -include /dev/stdin
    reads it by another name."""
    (remembered.folder / "conftest.c").write_text(MAIN)
    (remembered.folder / "a.h").write_text("int a;\n")
    settle(remembered.folder)
    results = []
    for text in ("a.h", "a.h", "conftest.c"):
        with (remembered.folder / text).open() as file:
            words = (*COMPILE, "-include", "/dev/stdin")
            results.append(remembered.run(*words, stdin=file).status)
    assert results == [0, 0, 1]
    assert remembered.told.misses == {layout.MEMO_WORDS: 3}
    for hits in (0, 1):
        (remembered.folder / "conftest.o").unlink(missing_ok=True)
        with (remembered.folder / "a.h").open() as file:
            assert remembered.run(*COMPILE, stdin=file).status == 0
        assert remembered.told.hits == hits


def test_a_folder_that_gives_files_their_mode(remembered: Remembered) -> None:
    """By its list of rights: without it the umask would."""
    listed(remembered.folder)
    (remembered.folder / "conftest.c").write_text(MAIN)
    settle(remembered.folder)
    for _ in range(2):
        assert remembered.run(*COMPILE).status == 0
        assert (remembered.folder / "conftest.o").stat().st_mode & 0o777 == 0o660
        (remembered.folder / "conftest.o").unlink()
    assert remembered.told.unkept == {layout.MEMO_FORMER: 2}


def test_an_output_that_is_written_over_in_place(remembered: Remembered) -> None:
    """Without a server a shim could not take that back: it gives such a result to nobody."""
    (remembered.folder / "conftest.c").write_text(MAIN)
    (remembered.folder / "conftest.s").write_text("")
    settle(remembered.folder)
    inode = (remembered.folder / "conftest.s").stat().st_ino
    for _ in range(2):
        assert remembered.run("gcc", "-S", "conftest.c", "-o", "conftest.s").status == 0
    assert (remembered.folder / "conftest.s").stat().st_ino == inode
    told = remembered.told
    assert (told.hits, told.misses[layout.MEMO_OUTPUT]) == (0, 1), told


SECONDS: Final = """
mkfs.ext4 -q -I 128 image > log 2>&1 && mount -o loop image far || exit 77
until n=$(date +%N); [ $n -gt 020000000 ] && [ $n -lt 200000000 ]; do :; done;  # behind a tick
echo '#define X 1' > far/x.h; before=$(stat -c %z far/x.h)
gcc -c conftest.c -Ifar && cksum conftest.o && rm conftest.o
echo '#define X 2' > far/x.h; [ "$before" = "$(stat -c %z far/x.h)" ] || exit 78
gcc -c conftest.c -Ifar && cksum conftest.o && rm conftest.o
"""
_FACT: Final = struct.Struct("<IHH")  # how memo_fact begins: size, kind, flags
_PATH_AT: Final = 104  # of its path, behind that
_UNSTAMPED: Final = 8


def test_a_file_system_that_counts_whole_seconds(remembered: Remembered) -> None:
    """A header that changes in the second in which it was read has the same times: only what it
    holds tells the two apart, then and for ever."""
    needs.require_mounts()
    with (remembered.folder / "image").open("wb") as image:
        image.truncate(1 << 20)
    (remembered.folder / "far").mkdir()
    for number in range(8):  # a busy machine may be too slow for the second
        text = f'#include "x.h"\nint x{number} = X;\n'
        (remembered.folder / "conftest.c").write_text(text)
        before = set(remembered.entries())
        ended = remembered.run("unshare", "-m", "sh", "-c", SECONDS)
        if ended.status == 77:
            pytest.skip("needs mkfs.ext4 and a loop device")
        if ended.status == 78:
            continue
        assert ended.status == 0, ended
        assert len(set(ended.out.splitlines())) == 2, ended
        assert remembered.told.hits == 0
        (entry,) = set(remembered.entries()) - before
        data = entry.read_bytes()
        at = data.index(b"far/x.h\0")
        assert _FACT.unpack_from(data, at - _PATH_AT)[2] & _UNSTAMPED
        return
    pytest.fail(str(remembered.told))


NOBODY: Final = 65534


def test_a_header_that_one_may_not_read() -> None:
    """For who may read everything there is none: it is somebody else who compiles."""
    root = Path(tempfile.mkdtemp(prefix="smp-"))
    one = Remembered(root)
    one.plain["PATH"] = "/usr/bin:/bin"
    more: dict[str, Any] = {}
    (one.folder / "x.h").write_text("int x;\n")
    (one.folder / "x.h").chmod(0)
    (one.folder / "conftest.c").write_text('#include "x.h"\n')
    (one.folder / "conftest1.c").write_text("int a;\n")
    if os.geteuid() == 0:
        more = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        program = native.program("memo")
        if subprocess.run(["test", "-x", program], check=False, **more).returncode != 0:
            pytest.skip(f"{program} is in a folder that only root may enter")
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", root], check=True)
    settle(one.folder)
    try:
        for _ in range(2):
            ended = one.run(*COMPILE, **more)
            assert (ended.status, b"Permission denied" in ended.err) == (1, True)
        assert one.told.unkept == {layout.MEMO_ERROR: 2}
        for _ in range(2):  # tracing needs no rights
            assert one.run("gcc", "-c", "conftest1.c", "-o", "conftest.o", **more).status == 0
            (one.folder / "conftest.o").unlink()
        assert one.told.hits == 1
    finally:
        one.close()
        shutil.rmtree(root)


def test_a_file_system_whose_times_are_nobodys_promise(remembered: Remembered) -> None:
    """A network's; here one that smpmake does not know."""
    needs.require_mounts()
    (remembered.folder / "far").mkdir()
    (remembered.folder / "conftest.c").write_text('#include "x.h"\nint x = X;\n')
    settle(remembered.folder)
    script = (
        "mount -t ramfs none far && echo '#define X 1' > far/x.h || exit;"
        "while [ $(find far/x.h -newermt '-0.05 seconds') ]; do :; done;"
        "for i in 1 2; do gcc -c conftest.c -Ifar || exit; rm conftest.o; done"
    )
    assert remembered.run("unshare", "-m", "sh", "-c", script).status == 0
    assert remembered.told.unkept == {layout.MEMO_DISTANT: 2}


def test_what_words_name_on_such_a_file_system(remembered: Remembered) -> None:
    """What it holds is not even looked up by its times."""
    needs.require_mounts()
    (remembered.folder / "far").mkdir()
    script = "mount -t ramfs none far && echo 'int x;' > far/conftest.c && gcc -c far/conftest.c"
    assert remembered.run("unshare", "-m", "sh", "-c", script).status == 0
    assert remembered.told.misses == {layout.MEMO_DISTANT: 1}


def test_a_program_that_configure_made_is_run(remembered: Remembered) -> None:
    """One that reads a file, then a pipe."""
    source = "#include <unistd.h>\nint main(void) { return lseek(0, 0, SEEK_CUR) < 0; }\n"
    (remembered.folder / "conftest.c").write_text(source)
    settle(remembered.folder)
    script = (
        "gcc -o conftest conftest.c && ./conftest < conftest.c; echo $?; : | ./conftest; echo $?"
    )
    for turn in range(3):
        ended = remembered.run("sh", "-c", script)
        assert ended.out == b"0\n1\n"
        (remembered.folder / "conftest").unlink()
        assert remembered.told.hits == turn


INHERITS: Final = """
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct utsname system;
    char text[64] = "";
    if (argc > 1 && !strcmp(argv[1], "-reads"))
        (void)!read(3, text, sizeof text - 1);
    else if (argc > 1 && !strcmp(argv[1], "-maps"))
        strcpy(text, mmap(NULL, 64, PROT_READ, MAP_PRIVATE, 3, 0));
    else if (argc > 1 && !strcmp(argv[1], "-writes"))
        (void)!write(3, "more\\n", 5);
    else if (argc > 1 && !strcmp(argv[1], "-twice"))
        (void)!read(dup(3), text, sizeof text - 1);
    else if (argc > 1 && !strcmp(argv[1], "-name"))
        uname(&system);
    puts(text);
}
"""


@pytest.mark.parametrize(
    ("how", "hits"),
    [("-nothing", 1), ("-reads", 0), ("-maps", 0), ("-writes", 0), ("-twice", 0), ("-name", 0)],
)
def test_what_a_command_was_started_with(tmp_path: Path, how: str, hits: int) -> None:
    """A file that is open already has no name by which it could be compared."""
    (tmp_path / "gcc.c").write_text(INHERITS)
    subprocess.run(["gcc", "-w", tmp_path / "gcc.c", "-o", tmp_path / "gcc"], check=True)
    settle(tmp_path)
    one = Remembered(tmp_path / "with")
    one.plain["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    (one.folder / "conftest.c").write_text("int a;\n")
    for text in ("1", "2"):
        (one.folder / "open").write_text(text)
        settle(one.folder)
        command = ("sh", "-c", f"gcc {how} -c conftest.c 3<>open && cat open")
        ran = one.run(*command)
        (one.folder / "open").write_text(text)
        assert ran == one.run(*command, through_shims=False)
    assert one.told.hits == hits, one.told
    one.close()


def test_another_container_is_no_other_question(remembered: Remembered) -> None:
    """Each has its own name, mounts and network; none of these is anything that gcc looks at."""
    needs.require_mounts()
    (remembered.folder / "conftest.c").write_text("int a;\n")
    settle(remembered.folder)
    script = "hostname $0 && gcc -c conftest.c && rm conftest.o"
    for name in ("one", "another"):
        ended = remembered.run("unshare", "-m", "-u", "-n", "sh", "-c", script, name)
        assert ended == Ran(0, b"", b"")
    assert remembered.told.hits == 1, remembered.told
