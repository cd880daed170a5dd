"""What guards note is what the kernel tells: a command's facts are the same either way."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from smpmake import native
from smpmake.protocol import layout
from tests.support import needs
from tests.support.remembered import (
    IS_ABSENT,
    IS_VARIABLE,
    NEEDS_A_GUARD,
    Fact,
    Remembered,
    facts_of,
    settle,
)

#: A compiler of our own.  Its first word says what it does.
COMPILER: Final = r"""
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static const char *const paths[] = {
    "x.h", "./x.h", ".", "..", "/", "", "none.h", "x.h/", "x.h/none", "x.h/..", "x.h/.", "sub",
    "sub/", "sub//y.h", "sub/../x.h", "sub/../../build/x.h", "sub/none/../x.h", "link", "link/",
    "link/.",    "dangling", "tosub", "tosub/", "tosub/y.h", "tosub/../x.h", "up/x.h", "absolute",
    "far/../x.h", "far", "/usr/include/stdio.h", "/usr/../usr//include/./stdio.h", "/none/none",
    "/lib/../lib/none", "many", "secret/x", NULL};
static void say(const char *what, const char *path, long result)
{
    printf("%s %s %ld %d\n", what, path, result, result == -1 ? errno : 0);
}
static void look(const char *path)
{
    struct stat info;
    char to[4096] = "";
    memset(&info, 0, sizeof info);
    say("stat", path, stat(path, &info));
    printf("%lo %ld\n", (long)info.st_mode, S_ISDIR(info.st_mode) ? 0 : (long)info.st_size);
    memset(&info, 0, sizeof info);
    say("lstat", path, lstat(path, &info));
    printf("%lo\n", (long)info.st_mode);
    say("fstatat", path, fstatat(AT_FDCWD, path, &info, 0));
    say("access", path, access(path, F_OK));
    say("access X", path, access(path, X_OK));
    say("readlink", path, readlink(path, to, sizeof to - 1));
    printf("%s\n", to);
    memset(to, 0, sizeof to);
    say("readlink", path, readlink(path, to, 2));
    printf("%s\n", to);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    say("open", path, fd >= 0);
    say("read", path, fd >= 0 ? read(fd, to, 10) : 0);
    close(fd);
    if (strcmp(path, "dangling") != 0) { /* which is never kept */
        fd = open(path, O_RDONLY | O_NOFOLLOW);
        say("open", path, fd >= 0 ? 0 : -1);
        close(fd);
    }
    FILE *file = fopen(path, "rb");
    printf("fopen %d %d\n", file != NULL, file != NULL ? fgetc(file) : errno);
    if (file != NULL)
        fclose(file);
    errno = 0;
    char *real = realpath(path, NULL);
    printf("realpath %s %d\n", real != NULL ? real : "-", errno);
    free(real);
    memset(to, 0, sizeof to);
    errno = 0;
    real = realpath(path, to);
    printf("realpath %d %s %d\n", real == to, to, errno);
}
/* As libc's own calls come: by no function that could be hooked. */
static void *draw_unseen(void *unused)
{
    char to[32];
    long result = SYS_getrandom;
#if defined(__x86_64__)
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(to), "S"(sizeof to), "d"(0)
                     : "rcx", "r11", "memory");
#else
    register long x8 __asm__("x8") = SYS_getrandom, x0 __asm__("x0") = (long)to;
    register long x1 __asm__("x1") = sizeof to, x2 __asm__("x2") = 0;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
#endif
    return unused;
}
static void draw(const char *how)
{
    char to[32];
    pthread_t thread;
    if (strcmp(how, "unseen") == 0)
        draw_unseen(NULL);
    if (strcmp(how, "unseen by a thread") == 0) {
        pthread_create(&thread, NULL, draw_unseen, NULL);
        pthread_join(thread, NULL);
    }
    if (strcmp(how, "unseen without a guard") == 0) {
        if (vfork() == 0) {
            execl("../tools/static", "gcc", "draws", "unseen", NULL);
            _exit(7);
        }
        wait(NULL);
    }
    if (strcmp(how, "getrandom") == 0)
        getrandom(to, sizeof to, 0);
    if (strcmp(how, "getrandom 8") == 0)
        getrandom(to, 8, 0);
    if (strcmp(how, "getentropy") == 0)
        getentropy(to, sizeof to);
    if (strcmp(how, "syscall") == 0)
        syscall(SYS_getrandom, to, sizeof to, 0);
#if __GLIBC_PREREQ(2, 36)
    if (strcmp(how, "arc4random") == 0)
        for (int i = 0; i < 99; i++)
            arc4random();
    if (strcmp(how, "arc4random_uniform") == 0)
        for (int i = 0; i < 99; i++)
            if (arc4random_uniform(7) > 6)
                exit(9);
    if (strcmp(how, "arc4random_buf") == 0)
        arc4random_buf(to, sizeof to);
#else
    if (strncmp(how, "arc4random", 10) == 0)
        getentropy(to, sizeof to);
#endif
}
static void *look_for_many(void *which)
{
    char name[64];
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "name-%d-%ld", i, (long)which % 3);
        if (access(name, F_OK) == 0)
            exit(9);
        if (i % 10 == 0 && realpath("tosub/y.h", NULL) == NULL)
            exit(8);
    }
    return NULL;
}
int main(int argc, char **argv)
{
    const char *what = argv[1];
    unsigned char page;
    if (strcmp(what, "shares") == 0)
        printf("%d\n", mincore((void *)0x100000, 4096, &page));
    if (strcmp(what, "looks") == 0)
        for (int i = 0; paths[i] != NULL; i++)
            look(paths[i]);
    if (strcmp(what, "fails") == 0)
        look(argv[2]);
    if (strcmp(what, "makes") == 0) {
        struct stat info;
        say("stat", "conftest.o", stat("conftest.o", &info));
        close(open("conftest.o", O_WRONLY | O_CREAT, 0644));
        say("stat", "conftest.o", stat("conftest.o", &info));
        say("open", "conftest.o", open("conftest.o", O_RDONLY) >= 0);
        say("unlink", "conftest.o", unlink("conftest.o"));
        say("stat", "conftest.o", stat("conftest.o", &info));
    }
    if (strcmp(what, "threads") == 0) {
        pthread_t threads[8];
        for (long i = 0; i < 8; i++)
            pthread_create(&threads[i], NULL, look_for_many, (void *)i);
        for (int i = 0; i < 8; i++)
            pthread_join(threads[i], NULL);
    }
    if (strcmp(what, "starts") == 0) {
        for (int i = 0; i < 2; i++) {
            int status, child = i == 0 ? vfork() : fork();
            if (child == 0) {
                access("of a child.h", F_OK);
                execl(i == 0 ? "../tools/static" : "../tools/gcc", "gcc", "one", NULL);
                _exit(7);
            }
            waitpid(child, &status, 0);
            printf("%d\n", status);
        }
    }
    if (strcmp(what, "draws") == 0)
        draw(argv[2]);
    if (strcmp(what, "one") == 0)
        say("access", "of a part.h", access("of a part.h", F_OK));
    if (strcmp(what, "fills") == 0) { /* the room for notes */
        static char name[3000];
        for (int i = 0; i < 500; i++) {
            memset(name, '/', sizeof name - 1);
            name[snprintf(name, sizeof name, "none-%d", i)] = '/';
            if (access(name, F_OK) == 0)
                return 9;
        }
        access("at last.h", F_OK);
    }
    if (strcmp(what, "twice") == 0) {
        int way = atoi(argv[2]);
        for (int i = 0; i < 2; i++) {
            char to[9];
            struct stat info;
            if (way == 0)
                stat("x.h", &info);
            else if (way == 1)
                close(open("x.h", O_RDONLY));
            else
                readlink("link", to, sizeof to);
            if (i == 0)
                raise(SIGSTOP);
        }
    }
    return argc > 9;
}
"""
WORDS: Final = ("-c", "conftest.c")
SOURCE: Final = '#include <stdio.h>\n#include "x.h"\nint main(void) { return 0; }\n'


UNSTAMPED: Final = 8  # MEMO_UNSTAMPED in native/memo/entry.h


class Both:
    """The same commands in one folder, their looks noted by guards and told by the kernel."""

    def __init__(self, root: Path) -> None:
        self.noted = Remembered(root / "noted", guarded=True)
        self.told = Remembered(root / "told", guarded=False)
        self.told.folder = self.noted.folder
        self.folder = self.noted.folder

    def close(self) -> None:
        self.noted.close()
        self.told.close()

    def facts(self, one: Remembered, *command: str) -> tuple[set[Fact], set[frozenset[str]], bytes]:
        """Those of a command that is remembered now, and what it printed."""
        before, files = set(one.entries()), set(self.folder.iterdir())
        ran = one.run(*command)
        fresh = set(one.entries()) - before
        made = set(self.folder.iterdir()) - files
        for path in made:
            path.unlink()
        assert len(fresh) == 1, (ran, one.told)
        # The library itself is one file more, and the kernel knows nothing of variables.
        found, groups = facts_of(fresh.pop())
        library = native.guard()
        # Whether a file was old enough depends on the clock, where tools were installed just now.
        found = {fact._replace(flags=fact.flags & ~UNSTAMPED) for fact in found}
        # Only a guard knows that as and ld look at their output for its own sake.
        outputs = {path.name for path in made}
        found = {fact for fact in found if fact.kind != IS_ABSENT or fact.path not in outputs}
        return (
            {fact for fact in found if fact.path != library and fact.kind != IS_VARIABLE},
            {paths for paths in groups if library not in paths},
            ran.out + ran.err,
        )

    def compare(self, *command: str) -> set[Fact]:
        """Runs a command both ways; returns its facts."""
        if NEEDS_A_GUARD:
            pytest.skip("with this libc nothing is kept without a guard")
        noted, told = self.facts(self.noted, *command), self.facts(self.told, *command)
        assert noted[0] ^ told[0] == set()
        assert noted[1] == told[1]
        assert noted[2] == told[2]
        return noted[0]


def made_in(root: Path) -> Both:
    """Files and links to look at."""
    made = Both(root)
    folder = made.folder
    (folder / "conftest.c").write_text(SOURCE)
    (folder / "conftest.cc").write_text(f"#include <string>\n{SOURCE}")
    (folder / "conftest.more.s").write_text("\t.globl f\nf:\tret\n")
    (folder / "bad.c").write_text('#include "x.h"\n#include <none.h>\n')
    (folder / "x.h").write_text("extern int x;\n")
    (folder / "sub").mkdir()
    (folder / "sub/y.h").write_text("extern int y;\n")
    links = {
        "link": "x.h",
        "dangling": "none",
        "round": "round",
        "tosub": "sub",
        "up": "../build",
        "absolute": os.fspath(folder / "sub/y.h"),
        "far": "/usr/include",
        "many": "m0",
        **{f"m{i}": f"m{i + 1}" for i in range(20)},
        "m20": "x.h",
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    settle(folder)
    return made


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    made = made_in(tmp_path)
    yield made
    made.close()


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Both]:
    """With a gcc of ours, which is older than the sessions."""
    tools = tmp_path / "noted/tools"
    tools.mkdir(parents=True)
    (tools / "compiler.c").write_text(COMPILER)
    compile_ = ["gcc", "-w", "-pthread", os.fspath(tools / "compiler.c"), "-o"]
    subprocess.run([*compile_, tools / "gcc"], check=True)
    subprocess.run([*compile_, tools / "static", "-static"], check=True)
    settle(tmp_path)
    made = made_in(tmp_path)
    for one in (made.noted, made.told):
        one.plain["PATH"] = f"{tools}:{one.plain['PATH']}"
    yield made
    made.close()


@pytest.mark.parametrize(
    "command",
    [
        ("gcc", "-c", "conftest.c"),
        ("gcc", "-g", "-O2", "-o", "conftest", "conftest.c", "-lm"),
        ("gcc", "-pipe", "-c", "conftest.c"),
        ("gcc", "-S", "conftest.c", "-o", "conftest.s"),
        ("gcc", "-c", "conftest.more.s"),
        ("gcc", "-c", "bad.c", "-o", "conftest.o"),
        ("g++", "-c", "conftest.cc"),
    ],
    ids=" ".join,
)
def test_compilers(both: Both, command: tuple[str, ...]) -> None:
    needs.require(command[0])
    assert len(both.compare(*command)) > 10


def test_a_guard_shares_a_page_with_the_tracer(ours: Both) -> None:
    """Else the rest of these tests would compare the kernel with itself."""
    assert ours.noted.run("gcc", "shares", *WORDS).out == b"0\n"
    assert ours.told.run("gcc", "shares", *WORDS).out == b"-1\n"


def test_each_way_to_look(ours: Both) -> None:
    ours.compare("gcc", "looks", *WORDS)
    plain = ours.noted.run("gcc", "looks", *WORDS, through_shims=False)
    again = ours.noted.run("gcc", "looks", *WORDS)
    assert (plain, ours.noted.told.hits) == (again, 1)


@pytest.mark.parametrize("path", ["round", "l" * 300])
def test_what_fails_otherwise(ours: Both, path: str) -> None:
    """As root nothing is without a permission; a link to itself and a name that is too long are
    no absence either."""
    for one in (ours.noted, ours.told):
        plain = one.run("gcc", "fails", path, *WORDS, through_shims=False)
        assert one.run("gcc", "fails", path, *WORDS) == plain
        assert one.told.unkept == {layout.MEMO_ERROR: 1}


def test_what_a_command_looks_for_and_makes_itself(ours: Both) -> None:
    facts = ours.compare("gcc", "makes", *WORDS)
    absent = [fact for fact in facts if fact.path == "conftest.o"]
    assert {fact.kind for fact in absent} == {IS_ABSENT}


def test_threads(ours: Both) -> None:
    facts = ours.compare("gcc", "threads", *WORDS)
    assert len([fact for fact in facts if fact.path.startswith("name-")]) == 600


def test_processes_with_a_guard_and_without(ours: Both) -> None:
    facts = ours.compare("gcc", "starts", *WORDS)
    assert {"of a child.h", "of a part.h"} < {fact.path for fact in facts}


def test_more_than_there_is_room_for(ours: Both) -> None:
    facts = ours.compare("gcc", "fills", *WORDS)
    assert len([fact for fact in facts if fact.path.startswith("none-")]) == 500
    assert "at last.h" in {fact.path for fact in facts}


@pytest.mark.parametrize("how", ["unseen", "unseen by a thread"])
def test_random_numbers_of_libc_alone(ours: Both, how: str) -> None:
    """With glibc 2.41 any program asks for them: only a guard can say that it does not itself."""
    assert ours.noted.run("gcc", "draws", how, *WORDS).status == 0
    assert ours.told.run("gcc", "draws", how, *WORDS).status == 0
    assert (ours.noted.told.stored, ours.noted.told.unkept) == (1, {})
    assert ours.told.told.unkept == {layout.MEMO_RANDOM: 1}


@pytest.mark.parametrize(
    "how",
    [
        "unseen without a guard",
        "getrandom",
        "getrandom 8",
        "getentropy",
        "syscall",
        "arc4random",
        "arc4random_uniform",
        "arc4random_buf",
    ],
)
def test_random_numbers_of_a_program(ours: Both, how: str) -> None:
    assert ours.noted.run("gcc", "draws", how, *WORDS).status == 0
    assert (ours.noted.told.stored, ours.noted.told.unkept) == (0, {layout.MEMO_RANDOM: 1})


def another_file(folder: Path) -> None:
    (folder / "fresh").write_text("int a;\n")
    (folder / "fresh").rename(folder / "x.h")


def another_target(folder: Path) -> None:
    (folder / "fresh").symlink_to("y.h")
    (folder / "fresh").rename(folder / "link")


def gone(folder: Path) -> None:
    (folder / "x.h").unlink()


@pytest.mark.parametrize("change", [another_file, gone])
@pytest.mark.parametrize("way", ["0", "1"])
def test_what_is_seen_twice_is_one(ours: Both, way: str, change: Callable[[Path], None]) -> None:
    run_twice(ours, way, change)
    assert ours.noted.told.unkept == {layout.MEMO_CHANGED: 1}


def test_a_link_that_is_seen_twice_is_one(ours: Both) -> None:
    run_twice(ours, "2", another_target)
    assert ours.noted.told.unkept == {layout.MEMO_CHANGED: 1}


def test_what_is_seen_twice_and_stays(ours: Both) -> None:
    run_twice(ours, "0", lambda _: None)
    assert ours.noted.told.unkept == {}


def run_twice(ours: Both, way: str, change: Callable[[Path], None]) -> None:
    """The command looks, stops, and looks again."""
    with ours.noted.start("gcc", "twice", way, *WORDS) as process:
        os.waitpid(process.pid, os.WUNTRACED)
        change(ours.folder)
        process.send_signal(signal.SIGCONT)
        assert process.wait(60) == 0


def test_a_fifo_is_opened_once(both: Both) -> None:
    """Who writes to it would lose its reader, and the command would wait for another for ever."""
    one, fifo = both.noted, both.folder / "fifo"
    (both.folder / "conftest.c").write_text('#include "fifo"\n')
    os.mkfifo(fifo)
    is_over = threading.Event()

    def keep_young() -> None:
        while not is_over.is_set():
            os.utime(fifo)

    def write() -> None:
        fifo.write_text("int a;\n")

    threads = [threading.Thread(target=each, daemon=True) for each in (keep_young, write)]
    for thread in threads:
        thread.start()
    try:
        ran = one.run("gcc", "-c", "conftest.c")
    finally:
        is_over.set()
    assert ran == (0, b"", b"")
    for thread in threads:
        thread.join()
    assert (both.folder / "conftest.o").stat().st_size > 0
    assert one.told.unkept == {layout.MEMO_SPECIAL: 1}, one.told
