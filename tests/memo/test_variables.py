"""A remembered result depends on the variables that the command has asked for, and on no others."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from smpmake.protocol import layout
from tests.support.remembered import (
    IS_VARIABLE,
    NEEDS_A_GUARD,
    Ran,
    Remembered,
    facts_of,
    settle,
)
from tests.support.variants import often

WORDS: Final = ("-c", "conftest.c")
COMPILE: Final = ("gcc", *WORDS)
LINK: Final = ("gcc", "-o", "conftest", "conftest.c")
#: A compiler of our own.  Its first word says how it asks for V, which it prints.
COMPILER: Final = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(WALKS) || defined(LIBRARY)
extern char **environ;
#elif !defined(FOREIGN)
/* As in gcc and binutils, of which we know how they ask. */
const char libiberty[] = "out of memory allocating %lu bytes after a total of %lu bytes";
#endif
#ifdef LIBRARY
const char *find(const char *begin)
{
    for (int i = 0; environ[i] != NULL; i++)
        if (strncmp(environ[i], begin, strlen(begin)) == 0)
            return environ[i] + strlen(begin);
    return NULL;
}
#else
static int starts(const char *tool, const char *how)
{
    int status = 9;
    pid_t child = vfork();
    if (child == 0) {
        execl(tool, "gcc", how, NULL);
        _exit(7);
    }
    waitpid(child, &status, 0);
    return status != 0;
}
int main(int argc, char **argv, char **env)
{
    const char *how = argv[1], *value = NULL;
    if (strcmp(how, "getenv") == 0)
        value = getenv("V");
    if (strcmp(how, "secure_getenv") == 0)
        value = secure_getenv("V");
    if (strcmp(how, "setenv") == 0) {
        char *const words[] = {"gcc", "getenv", NULL};
        setenv("V", "ours", 0);
        return execv("../tools/gcc", words);
    }
    if (strcmp(how, "a part") == 0)
        return starts("../tools/gcc", "getenv");
    if (strcmp(how, "a static part") == 0)
        return starts("../tools/static", "getenv");
    if (strcmp(how, "a foreign part") == 0)
        return starts("../tools/foreign", "the stack");
    if (strcmp(how, "what it has made") == 0) {
        int fd = open("conftest.made", O_WRONLY | O_CREAT | O_TRUNC, 0755);
        int from = open("../tools/foreign", O_RDONLY);
        static char all[200000];
        write(fd, all, read(from, all, sizeof all));
        close(fd);
        int failed = starts("./conftest.made", "the stack");
        unlink("conftest.made");
        return failed;
    }
    if (strcmp(how, "a part that is told ours") == 0) {
        putenv("V=ours");
        return starts("../tools/gcc", "getenv");
    }
    if (strcmp(how, "a part that is told none") == 0) {
        unsetenv("V");
        return starts("../tools/gcc", "getenv");
    }
    if (strcmp(how, "a part that is told more") == 0) {
        static char more[99];
        snprintf(more, sizeof more, "V=more than %s", getenv("V"));
        putenv(more);
        return starts("../tools/gcc", "getenv");
    }
    if (strcmp(how, "a part with other variables") == 0) {
        if (vfork() == 0) {
            char *const words[] = {"gcc", "getenv", NULL}, *const env[] = {"V=ours", NULL};
            execve("../tools/gcc", words, env);
            _exit(7);
        }
        wait(NULL);
        return 0;
    }
    if (strcmp(how, "many") == 0)
        for (char name[] = "VA"; name[1] <= 'J'; name[1]++)
            printf("%zu\n", strlen(getenv(name)));
#ifdef WALKS
    if (strcmp(how, "environ") == 0)
        for (int i = 0; environ[i] != NULL; i++)
            if (strncmp(environ[i], "V=", 2) == 0)
                value = environ[i] + 2;
    if (strcmp(how, "/proc") == 0) {
        static char all[200000];
        int fd = open("/proc/self/environ", O_RDONLY);
        ssize_t size = read(fd, all, sizeof all - 1);
        for (ssize_t at = 0; at < size; at += strlen(all + at) + 1)
            if (strncmp(all + at, "V=", 2) == 0)
                value = all + at + 2;
    }
#endif
#ifdef LINKED
    const char *find(const char *begin);
    if (strcmp(how, "a library") == 0)
        value = find("V=");
#endif
    if (strcmp(how, "the stack") == 0)
        for (; *env != NULL; env++)
            if (strncmp(*env, "V=", 2) == 0)
                value = *env + 2;
    printf("%s\n", value != NULL ? value : "none");
    return argc > 9;
}
#endif
"""


class Ours:
    """Sessions in one folder, where gcc is a program of ours."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.tools = root / "noted/tools"
        self.tools.mkdir(parents=True)
        source, library = self.tools / "compiler.c", os.fspath(self.tools / "library.so")
        source.write_text(COMPILER)
        for name, *how in (
            ("library.so", "-DLIBRARY", "-shared", "-fPIC"),
            ("gcc",),
            ("walks", "-DWALKS"),
            ("foreign", "-DFOREIGN"),
            ("linked", "-DLINKED", library),
            ("static", "-static"),
        ):
            command = ["gcc", "-w", "-D_GNU_SOURCE", os.fspath(source), *how]
            subprocess.run([*command, "-o", self.tools / name], check=True)
        settle(root)
        self.one = Remembered(root / "noted", guarded=True)
        self.use("gcc")

    def use(self, name: str) -> None:
        """It is this one now; programs are to be older than sessions."""
        folder = self._root / "named" / name
        folder.mkdir(parents=True)
        (folder / "gcc").hardlink_to(self.tools / name)
        settle(self._root)
        self.one.close()
        self.one = Remembered(self._root / f"with {name}", self._root / "store", guarded=True)
        self.one.folder = self._root / "noted/build"
        self.one.plain["PATH"] = f"{folder}:{os.environ['PATH']}"
        self.one.plain.pop("V", None)

    def run(self, how: str, **env: str) -> tuple[bytes, int]:
        """What it printed, as it prints it without us; and how many results were given back."""
        before = self.one.told.hits
        plain = self.one.run("gcc", how, *WORDS, env=env, through_shims=False)
        assert self.one.run("gcc", how, *WORDS, env=env) == plain
        return plain.out, self.one.told.hits - before


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Ours]:
    made = Ours(tmp_path)
    yield made
    made.one.close()


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Remembered]:
    made = Remembered(tmp_path, guarded=True)
    (made.folder / "conftest.c").write_text("#include <stdio.h>\nint main(void) { return 0; }\n")
    settle(made.folder)
    yield made
    made.close()


def run_both_ways(one: Remembered, command: tuple[str, ...], env: dict[str, str]) -> None:
    """It is the same through shims, whether it is given back or not."""
    found: list[tuple[Ran, dict[str, str | bytes]]] = []
    for through_shims in (False, True):
        for path in one.folder.glob("conftest*"):
            if path.suffix != ".c":
                path.unlink()
        found.append((one.run(*command, env=env, through_shims=through_shims), one.tree()))
    assert found[0] == found[1], (one.told, env)


@pytest.mark.parametrize("command", [COMPILE, LINK], ids=" ".join)
def test_what_nobody_asks_for(guarded: Remembered, command: tuple[str, ...]) -> None:
    guarded.plain["RUN"] = "1"
    run_both_ways(guarded, command, {"BUILD_ID": "1", "XDG_DATA_DIRS": "/a", "JOB_TOKEN": "a"})
    del guarded.plain["RUN"]
    run_both_ways(guarded, command, {"BUILD_ID": "2", "XDG_CONFIG_HOME": "/b", "JOB_TOKEN": "b"})
    assert (guarded.told.hits, guarded.told.stored) == (1, 1), guarded.told


def test_what_is_checked_is_the_result_for_these_variables(
    guarded: Remembered, tmp_path: Path
) -> None:
    run_both_ways(guarded, COMPILE, {"BUILD_ID": "1"})
    checked = Remembered(tmp_path / "checked", guarded.store, "check", guarded=True)
    checked.folder = guarded.folder
    run_both_ways(checked, COMPILE, {"BUILD_ID": "2"})
    run_both_ways(checked, COMPILE, {"TERM": "another"})
    checked.close()
    assert (checked.told.same, checked.told.differences) == (1, []), checked.told


class Asked:
    """A variable of gcc's: two values, what reads it, and why the second run is no hit."""

    def __init__(
        self, one: str, other: str, why: int = 0, command: tuple[str, ...] = COMPILE
    ) -> None:
        self.one = one
        self.other = other
        self.why = why
        self.command = command


ANOTHER, UNKNOWN = layout.MEMO_VARIABLE, layout.MEMO_UNKNOWN
ASKED: Final = {
    "CPATH": Asked("a", "b", ANOTHER),
    "C_INCLUDE_PATH": Asked("a", "b", ANOTHER),
    "LIBRARY_PATH": Asked("a", "b", ANOTHER, LINK),
    "COMPILER_PATH": Asked("a", "b", ANOTHER),
    "GCC_EXEC_PREFIX": Asked("/a/b/", "/c/d/", ANOTHER),
    "TERM": Asked("xterm", "dumb", ANOTHER),
    "LANG": Asked("C", "C.UTF-8", UNKNOWN),
    "LC_ALL": Asked("POSIX", "C.UTF-8", UNKNOWN),
    "LD_RUN_PATH": Asked("/a", "/b", UNKNOWN, LINK),
    "TMPDIR": Asked("FOLDER/a", "FOLDER/b", UNKNOWN),
    # Nothing is printed to a terminal, and no source asks for the date.
    "COLUMNS": Asked("20", "30"),
    "GCC_COLORS": Asked("error=01;31", "error=01;32"),
    "SOURCE_DATE_EPOCH": Asked("1", "2"),
}


@pytest.mark.parametrize("change", often(["appears"], ["another value", "appears", "goes"]))
@pytest.mark.parametrize("name", ASKED)
def test_what_gcc_asks_for(guarded: Remembered, name: str, change: str) -> None:
    asked = ASKED[name]
    values = {
        "another value": (asked.one, asked.other),
        "appears": (None, asked.other),
        "goes": (asked.one, None),
    }[change]
    guarded.plain.pop(name, None)
    for folder in ("a", "b"):
        (guarded.folder / folder).mkdir()
        (guarded.folder / folder / "stdio.h").write_text(f"extern int {folder};\n")
    settle(guarded.folder)
    for value in values:
        env = {} if value is None else {name: value.replace("FOLDER", os.fspath(guarded.folder))}
        run_both_ways(guarded, asked.command, env)
    told = guarded.told
    expected = {UNKNOWN: 1} if not asked.why else {UNKNOWN: 1, ANOTHER: 1}
    if asked.why == UNKNOWN:
        expected = {UNKNOWN: 2}
    assert (told.hits, +told.misses) == (not asked.why, expected), told
    run_both_ways(guarded, asked.command, env)
    assert guarded.told.hits == told.hits + 1


def test_a_variable_by_which_gcc_writes_more(guarded: Remembered) -> None:
    for name in ("DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"):
        env = {name: f"{guarded.folder}/conftest.d"}
        run_both_ways(guarded, COMPILE, {})
        run_both_ways(guarded, COMPILE, env)
    assert guarded.told.hits == 1
    assert guarded.told.misses[layout.MEMO_ENVIRONMENT] == 2


SEEN: Final = ["getenv", "secure_getenv", "setenv", "a part", "a part that is told more"]


@pytest.mark.parametrize("how", SEEN)
def test_each_way_to_ask(ours: Ours, how: str) -> None:
    def says(value: str) -> bytes:
        return f"more than {value}\n".encode() if "more" in how else f"{value}\n".encode()

    assert ours.run(how, V="1") == (says("1"), 0)
    assert ours.run(how, V="2", W="1") == (says("2"), 0)
    assert ours.run(how, V="2", W="2") == (says("2"), 1)
    assert ours.run(how, V="1") == (says("1"), 1)
    assert ours.run(how)[1] == 0
    assert ours.run(how, W="3")[1] == 1
    assert ours.one.told.misses == {UNKNOWN: 1, ANOTHER: 2}


@pytest.mark.parametrize(
    ("tool", "how"),
    [
        ("walks", "environ"),
        ("walks", "getenv"),
        ("linked", "a library"),
        ("foreign", "the stack"),
        ("foreign", "getenv"),
        ("static", "getenv"),
        ("gcc", "a static part"),
        ("gcc", "a foreign part"),
        ("gcc", "what it has made"),
    ],
)
def test_where_nobody_sees_what_is_asked_for(ours: Ours, tool: str, how: str) -> None:
    """All variables count."""
    if tool != "gcc":
        ours.use(tool)
    assert ours.run(how, V="1", W="1") == (b"1\n", 0)
    assert ours.run(how, V="2", W="1") == (b"2\n", 0)
    assert ours.run(how, V="2", W="1") == (b"2\n", 1)
    assert ours.run(how, V="2", W="2") == (b"2\n", 0)
    assert ours.one.told.misses == {UNKNOWN: 3}


def test_the_system_s_own_list_of_variables(ours: Ours) -> None:
    ours.use("walks")
    for value in ("1", "2", "2"):
        assert ours.run("/proc", V=value) == (f"{value}\n".encode(), 0)
    assert ours.one.told.unkept == {layout.MEMO_SPECIAL: 3}


@pytest.mark.parametrize(
    ("how", "says"),
    [("a part that is told ours", b"ours\n"), ("a part that is told none", b"none\n")],
)
def test_what_a_part_is_told_is_no_fact(ours: Ours, how: str, says: bytes) -> None:
    """It follows from the command.  Where it is what the command was told, too, nobody can say."""
    assert ours.run(how, V="1") == (says, 0)
    assert ours.run(how, V="2") == (says, 1)
    assert [fact for fact in facts_of(ours.one.entries()[0])[0] if fact.kind == IS_VARIABLE] == []


def test_a_part_without_our_variables(ours: Ours) -> None:
    """Its guard does not know where to note what it asks for."""
    for value, hits in (("1", 0), ("2", 0), ("2", 1)):
        assert ours.run("a part with other variables", V=value) == (b"ours\n", hits)


@pytest.mark.skipif(NEEDS_A_GUARD, reason="with this libc nothing is kept without a guard")
def test_without_a_guard(remembered: Remembered) -> None:
    (remembered.folder / "conftest.c").write_text("int a;\n")
    settle(remembered.folder)
    for number in ("1", "2", "2"):
        run_both_ways(remembered, COMPILE, {"BUILD_NUMBER": number})
    assert (remembered.told.hits, +remembered.told.misses) == (1, {UNKNOWN: 2})


@pytest.mark.skipif(NEEDS_A_GUARD, reason="with this libc nothing is kept without a guard")
def test_what_was_seen_with_a_guard_is_given_back_without(
    guarded: Remembered, tmp_path: Path
) -> None:
    run_both_ways(guarded, COMPILE, {"BUILD_NUMBER": "1"})
    plain = Remembered(tmp_path / "plain", guarded.store, guarded=False)
    plain.folder = guarded.folder
    plain.plain["PATH"] = guarded.plain["PATH"]
    run_both_ways(plain, COMPILE, {"BUILD_NUMBER": "2"})
    plain.close()
    assert plain.told.hits == 1


def test_the_last_eight_values_of_one_variable(ours: Ours) -> None:
    for number in range(10):
        assert ours.run("getenv", V=str(number)) == (f"{number}\n".encode(), 0)
    for number in range(2, 10):
        assert ours.run("getenv", V=str(number)) == (f"{number}\n".encode(), 1)
    assert ours.run("getenv", V="1") == (b"1\n", 0)


@pytest.mark.parametrize("value", ["", "\udcff\udc80", "a=b\nc", "x" * 120_000])
def test_any_value(ours: Ours, value: str) -> None:
    says = os.fsencode(f"{value}\n")
    assert ours.run("getenv") == (b"none\n", 0)
    assert ours.run("getenv", V=value) == (says, 0)
    assert ours.run("getenv", V=value) == (says, 1)
    assert ours.run("getenv", V=f"{value}.") == (says[:-1] + b".\n", 0)


def test_more_values_than_there_is_room_for(ours: Ours) -> None:
    env = {f"V{letter}": "x" * 120_000 for letter in "ABCDEFGHIJ"}
    for _ in range(2):
        assert ours.run("many", **env)[1] == 0
    assert ours.one.told.unkept == {layout.MEMO_LARGE: 2}


def test_a_value_is_kept_by_its_hash_alone(ours: Ours) -> None:
    ours.run("a part that is told ours", V="very secret")
    ours.run("setenv", V="very secret")
    entries = ours.one.entries()
    assert len(entries) == 2
    for entry in entries:
        prints = b"very secret\n" in entry.read_bytes()
        assert entry.read_bytes().count(b"very secret") == prints
