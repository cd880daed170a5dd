"""How many system calls a process makes, counted by the kernel (ptrace), not by another tool."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

#: Prints the number of each call that a program makes, and 0 less one where it becomes another.
#: Leaves with 77 where it may not trace.
_COUNTER = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    FILE *out = fopen(argv[1], "we");
    int status, started = 0;
    pid_t child = fork();
    (void)argc;
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
            _exit(77);
        raise(SIGSTOP);
        execv(argv[2], argv + 3);
        _exit(126);
    }
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC) != 0)
        return 77;
    for (int signal = 0;; signal = 0) {
        if (ptrace(PTRACE_SYSCALL, child, 0, signal) != 0)
            return 77;
        waitpid(child, &status, 0);
        if (WIFEXITED(status))
            return fclose(out) != 0 || WEXITSTATUS(status);
        if (!WIFSTOPPED(status))
            return 125;
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
            fputs("-1\n", out);
            started = 1;
        } else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            struct __ptrace_syscall_info info;
            if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0)
                return 77;
            if (started && info.op == PTRACE_SYSCALL_INFO_ENTRY)
                fprintf(out, "%d\n", (int)info.entry.nr);
        } else if (WSTOPSIG(status) != SIGSTOP) {
            signal = WSTOPSIG(status);
        }
    }
}
"""


class Counter:
    """Runs programs and counts; made once in a folder, with the C compiler that is there."""

    def __init__(self, folder: Path) -> None:
        self._program, self._out = folder / "counter", folder / "calls"
        (folder / "counter.c").write_text(_COUNTER)
        subprocess.run(
            ["gcc", "-o", self._program, folder / "counter.c"], check=True, capture_output=True
        )

    def calls(self, program: str, argv: Sequence[str], **environment: str) -> list[list[int]]:
        """The numbers of its calls, in a list of its own for each program that it becomes.

        Skips the test where the system does not let a process be traced.
        """
        done = subprocess.run(
            [self._program, self._out, program, *argv],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode == 77:
            pytest.skip("no process may be traced here (ptrace)")
        assert done.returncode == 0
        programs: list[list[int]] = []
        for number in map(int, self._out.read_text().split()):
            if number < 0:
                programs.append([])
            else:
                programs[-1].append(number)
        return programs
