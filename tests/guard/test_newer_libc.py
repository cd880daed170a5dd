"""Functions of newer C libraries, stood in for where the one here does not have them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from smpmake.guard.scoreboard import Scoreboard
from tests.guard.test_guard_symbols import exports, libc
from tests.support.guarded import Answering, guarded, output

pytestmark = pytest.mark.slow

#: What glibc 2.39 and 2.43 have.
_NEWER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/openat2.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *inner(const char *name)  /* past every hook, as within libc */
{
    return dlsym(dlopen("libc.so.6", RTLD_LAZY), name);
}
#define SPAWN(name, inner_name) \\
int name(int *fd, const char *path, const posix_spawn_file_actions_t *actions, \\
    const posix_spawnattr_t *how, char *const argv[], char *const env[]) \\
{ \\
    pid_t pid; \\
    __typeof__(&posix_spawn) spawn = inner(inner_name); \\
    int failed = spawn(&pid, path, actions, how, argv, env); \\
    if (!failed) *fd = syscall(SYS_pidfd_open, pid, 0); \\
    return failed; \\
}
SPAWN(pidfd_spawn, "posix_spawn")
SPAWN(pidfd_spawnp, "posix_spawnp")
int openat2(int dir, const char *path, const struct open_how *how, size_t size)
{
    __typeof__(&syscall) call = inner("syscall");
    return call(SYS_openat2, dir, path, how, size);
}
"""
_USER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int count, char **words)
{
    void *function = dlsym(RTLD_DEFAULT, words[1]);
    if (!strcmp(words[1], "openat2")) {
        struct open_how how = {.flags = O_RDONLY, .resolve = *words[2] == '/' ? 16 : 0};
        int dir = open(".", O_PATH);
        int (*open_it)(int, const char *, struct open_how *, size_t) = function;
        int fd = open_it(dir, words[2], &how, sizeof how);
        char text[64];
        return fd < 0 || write(1, text, read(fd, text, sizeof text)) < 0;
    }
    int (*spawn)(int *, const char *, void *, void *, char **, char **) = function;
    int fd;
    siginfo_t info;
    int failed = spawn(&fd, words[2], NULL, NULL, words + 2, environ);
    if (failed) return failed;
    return waitid(P_PIDFD, fd, &info, WEXITED) || info.si_status;
}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Answering]:
    """With two results that are pending: `text`, and the program `tool`."""
    (tmp_path / "newer.c").write_text(_NEWER)
    (tmp_path / "user.c").write_text(_USER)
    for words in (
        ["-shared", "-fPIC", "-o", "newer.so", "newer.c"],
        ["-o", "user", "user.c", "-Wl,--no-as-needed", "./newer.so", "-Wl,-rpath,$ORIGIN"],
        ["-o", "older", "user.c"],
    ):
        subprocess.run(["cc", "-w", *words], cwd=tmp_path, check=True)
    (tmp_path / "text").write_text("seen\n")
    (tmp_path / "tool").write_text("#!/bin/sh\necho $0 seen\n")
    (tmp_path / "tool").chmod(0o755)
    with closing(Answering(tmp_path / "s")) as answering, closing(board_of(tmp_path)):
        yield answering


def board_of(folder: Path) -> Scoreboard:
    board = Scoreboard(folder / "board")
    board.publish_claims(3, [*output(folder / "text"), *output(folder / "tool")])
    board.show_counts(1)
    return board


@pytest.mark.parametrize(
    ("function", "operand", "name"),
    [
        ("openat2", "text", "text"),
        ("openat2", "/text", "text"),  # RESOLVE_IN_ROOT
        ("pidfd_spawn", "./tool", "tool"),
        ("pidfd_spawnp", "tool", "tool"),
    ],
)
def test_what_a_newer_libc_opens_and_starts_is_asked_about(
    server: Answering, tmp_path: Path, function: str, operand: str, name: str
) -> None:
    printed = guarded(tmp_path, "./user", function, operand, PATH=".:/usr/bin:/bin")
    assert "seen" in printed
    assert str(tmp_path / name) in {str(Path(q.path)) for q in server.asked}


def test_who_finds_our_openat_in_an_older_libc_can_use_it(
    server: Answering, tmp_path: Path
) -> None:
    assert guarded(tmp_path, "./older", "openat2", "text") == "seen\n"
    assert str(tmp_path / "text") in {question.path for question in server.asked}


@pytest.mark.skipif("pidfd_spawn" in exports(libc()), reason="this libc has it")
def test_who_finds_our_spawn_in_an_older_libc_is_told_that_there_is_none(
    server: Answering, tmp_path: Path
) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        guarded(tmp_path, "./older", "pidfd_spawn", "./tool")
    assert failed.value.returncode == 38  # ENOSYS
