"""smpmake with one of its mechanisms switched off, to show what that is for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.space import Ended, Space, words

_BEGIN = "from smpmake.cli import main\n"


def start(
    space: Space, change: str, command: Sequence[str], *options: str
) -> subprocess.Popen[bytes]:
    """Starts it as `change`, a text of Python, has made it."""
    arguments = words(options, command)
    return space.start(sys.executable, "-c", f"{change}\n{_BEGIN}main()", *arguments)


def run(space: Space, change: str, command: Sequence[str], *options: str) -> Ended:
    """The same to its end."""
    return space.finish(start(space, change, command, *options))


def undoing(space: Space) -> None:
    """From now on nothing is undone: the user says so."""
    file = space.root / "config" / "smpmake" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('undo = "off"\n')


#: Runs a command; says how many system calls its process made before it became another program.
_COUNT = r"""
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <linux/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words)
{
    int status, programs = 0, calls = 0;
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        execv(words[1], words + 1);
        return 127;
    }
    waitpid(child, &status, 0);
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC);
    while (programs < 2 && ptrace(PTRACE_SYSCALL, child, 0, 0) == 0 &&
           waitpid(child, &status, 0) == child && !WIFEXITED(status)) {
        struct ptrace_syscall_info call;
        memset(&call, 0, sizeof call);
        ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof call, &call);
        programs += status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8);
        calls += programs == 1 && call.op == PTRACE_SYSCALL_INFO_ENTRY;
    }
    if (programs == 2) {
        ptrace(PTRACE_DETACH, child, 0, 0);
        waitpid(child, &status, 0);
    }
    printf("%d %d\n", programs, calls);
    return 0;
}
"""


def counter(folder: Path) -> Path:
    """The program that counts system calls."""
    (folder / "count.c").write_text(_COUNT)
    subprocess.run(["gcc", "-o", folder / "count", folder / "count.c"], check=True)
    return folder / "count"
