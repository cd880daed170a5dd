"""The guard's memory for paths: who never gives a page back takes nothing from others."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from smpmake.guard.scoreboard import Scoreboard
from smpmake.protocol import frames, layout, wire
from tests.support.guarded import Answering, guarded, output

pytestmark = pytest.mark.slow

#: More than there are pages, whatever takes several of them.
TIMES = 100
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static sigjmp_buf back;
static void leave(int number) { (void)number; siglongjmp(back, 1); }
static void *look(void *name) { close(open(name, O_RDONLY)); return NULL; }
static void *look_for_good(void *name) { for (;;) look(name); }
static int mapped(void)  /* pages */
{
    int pages;
    FILE *file = fopen("/proc/self/statm", "r");
    fscanf(file, "%d", &pages);
    fclose(file);
    return pages;
}
static void run(char *program, int fails)
{
    if (vfork() == 0) {
        execl(fails ? "./none" : program, program, NULL);
        _exit(3);
    }
    int status;
    wait(&status);
    if (status != (fails ? 3 << 8 : 0)) abort();
}
int main(int count, char **argv)
{
    int times = atoi(argv[2]);
    signal(SIGUSR1, leave);
    for (int i = 0, before = 0; i < times; i++) {
        if (i == 1) before = mapped();
        if (!strcmp(argv[1], "runs")) {
            run("/bin/true", 0);
            run("/bin/true", 1);
        } else if (!strcmp(argv[1], "jumps")) {
            if (sigsetjmp(back, 1) == 0) look("held");
        } else if (!strcmp(argv[1], "forks")) {
            pthread_t threads[4];
            for (int t = 0; t < 4; t++)
                pthread_create(threads + t, NULL, look_for_good, "text");
            int status;
            pid_t child = fork();
            if (child == 0) continue;
            wait(&status);
            _exit(status != 0);
        }
        if (i == times - 1 && !strcmp(argv[1], "runs") && mapped() > before) return 4;
    }
    char text[16] = "";
    if (read(open("text", O_RDONLY), text, 15) != 5 || strcmp(text, "text\n")) return 5;
    pthread_t threads[16];
    for (int t = 0; t < 16; t++) pthread_create(threads + t, NULL, look, "text");
    for (int t = 0; t < 16; t++) pthread_join(threads[t], NULL);
    puts("ended");
    return 0;
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """With two results that are pending, `text` and `held`."""
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(
        ["cc", "-w", "-o", "program", "program.c", "-lpthread"], cwd=tmp_path, check=True
    )
    (tmp_path / "text").write_text("text\n")
    with closing(Scoreboard(tmp_path / "board")) as board:
        board.publish_claims(3, [*output(tmp_path / "text"), *output(tmp_path / "held")])
        board.show_counts(1)
        yield tmp_path


def test_a_child_of_vfork_that_runs_a_program_leaves_nothing_behind(folder: Path) -> None:
    with closing(Answering(folder / "s")):
        assert guarded(folder, "./program", "runs", str(TIMES)) == "ended\n"


def test_children_of_a_process_with_threads_have_pages(folder: Path) -> None:
    """One generation after the other, each forked while threads look at files."""
    with closing(Answering(folder / "s")):
        assert guarded(folder, "./program", "forks", "20") == "ended\n"


class Interrupting:
    """A server that sends a signal to who asks about `held`, and does not answer."""

    def __init__(self, path: Path) -> None:
        self._kept: list[socket.socket] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen(64)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            data = connection.recv(1 << 16)
            if not data:
                connection.close()
                return
            (_, payload), *_ = frames.Splitter().feed(data)
            question = wire.decode_question(payload)
            self._kept.append(connection)
            if question.path.endswith("/held"):
                os.kill(question.pid, signal.SIGUSR1)
            else:
                connection.sendall(wire.encode_guard_answer(layout.GUARD_GO_ON))

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(self._socket.getsockname())
        self._thread.join()
        for each in (*self._kept, self._socket):
            each.close()


def test_who_leaves_a_question_by_longjmp_can_ask_others(folder: Path) -> None:
    with closing(Interrupting(folder / "s")):
        assert guarded(folder, "./program", "jumps", str(TIMES)) == "ended\n"
