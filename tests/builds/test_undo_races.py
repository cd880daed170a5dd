"""A process finds gone what it has just looked at, since another one was faster: still all is
undone (P1), without anybody having to wait.
"""

from __future__ import annotations

import json

import pytest

from tests.support.held import Held
from tests.support.space import Space

#: A child changes a file.  When its guard has looked at that, and is about to keep what is in it,
#: the parent removes the file.
RACE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <linux/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

int main(int count, char **words)
{
    const char *how = words[1], *file = words[2];
    int removes = strcmp(how, "remove") == 0, raced = 0, status;
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        if (removes)
            unlink(file);
        else
            fputs("new\n", fopen(file, "w"));
        return 0;
    }
    waitpid(child, &status, 0);
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD);
    while (ptrace(PTRACE_SYSCALL, child, 0, 0) == 0 && waitpid(child, &status, 0) == child &&
           !WIFEXITED(status)) {
        struct ptrace_syscall_info call;
        memset(&call, 0, sizeof call);
        ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof call, &call);
        if (raced || call.op != PTRACE_SYSCALL_INFO_ENTRY)
            continue;
        if (removes ? call.entry.nr == SYS_renameat
                    : call.entry.nr == SYS_openat && call.entry.args[2] & O_NOATIME)
            raced = unlink(file) == 0;
    }
    return !raced;
}
"""


@pytest.fixture
def held(space: Space) -> Held:
    space.write({"race.c": RACE})
    space.ok("gcc", "race.c", "-o", str(space.root / "race"))
    return Held(space)


def files(how: str, source: str) -> dict[str, str]:
    """The first compile shows that compilers have a guard: the second may be shown older files."""
    script = (
        f"set -e\ngcc -c y.c\ncat y.o > begun\ngcc -Dheld -c x.c\n../race {how} old\n: > after\n"
    )
    return {"old": "old\n", "y.c": "int y;\n", "x.c": source, "build.sh": script}


@pytest.mark.parametrize("how", ["remove", "write"])
def test_p1_what_two_change_at_once_is_undone(held: Held, how: str) -> None:
    failing, command = files(how, "int x = oops;\n"), ["sh", "build.sh"]
    status, tree = held.serial(failing, command)
    ended, ours = held.parallel(failing, command, since="begun")
    assert (ended.status, ours) == (status, tree), ended.err
    assert " ran a second time" in ended.err


@pytest.mark.parametrize("how", ["remove", "write"])
def test_nobody_waits_because_two_change_something_at_once(held: Held, how: str) -> None:
    ended, tree = held.parallel(files(how, "int x;\n"), ["sh", "build.sh"], since="begun")
    assert ended.status == 0, ended.err
    assert ("old" in tree, "after" in tree) == (how == "write", True)
    stalls = json.loads(held.space.smpmake("report", "--json").out)["stalls"]
    assert "race" not in [stall["who"] for stall in stalls]
