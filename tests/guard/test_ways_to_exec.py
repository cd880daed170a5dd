"""Every way to start a program: whatever the kernel opens for it is waited for.

Each way is prepared while nothing is pending (what it opens, and its file actions); a server makes
the pending file what it will be once somebody asks about it, or about everything.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from smpmake import native
from smpmake.disk import elf
from smpmake.guard.scoreboard import Scoreboard
from smpmake.protocol import layout, wire
from tests.support import needs
from tests.support.guarded import Answering, output

pytestmark = pytest.mark.slow

#: What is done before "ready" is printed, and what then runs sub/tool.
WAYS = {
    "execve": ("", 'execve("sub/tool", words, environ)'),
    "execv": ("", 'execv("sub/tool", words)'),
    "execvp": ("", 'execvp("tool", words)'),
    "execvpe": ("", 'execvpe("tool", words, environ)'),
    "execl": ("", 'execl("sub/tool", "tool", NULL)'),
    "execlp": ("", 'execlp("tool", "tool", "word", NULL)'),
    "execle": ("", 'execle("sub/tool", "tool", NULL, environ)'),
    "by vfork": ("", 'if (vfork() == 0) { execv("sub/tool", words); _exit(1); } wait(NULL)'),
    "fexecve": ('fd = open("sub/tool", O_RDONLY)', "fexecve(fd, words, environ)"),
    "fexecve of a path": ('fd = open("sub/tool", O_PATH)', "fexecve(fd, words, environ)"),
    "execveat": ("", 'execveat(AT_FDCWD, "sub/tool", words, environ, 0)'),
    "execveat in a folder": (
        'fd = open("sub", O_PATH)',
        'execveat(fd, "tool", words, environ, 0)',
    ),
    "execveat of what is open": (
        'fd = open("sub/tool", O_PATH)',
        'execveat(fd, "", words, environ, AT_EMPTY_PATH)',
    ),
    "execveat of an open file's name": (
        'fd = open("sub/tool", O_PATH); sprintf(name, "/proc/self/fd/%d", fd)',
        "execveat(AT_FDCWD, name, words, environ, 0)",
    ),
    "SYS_execve": ("", 'syscall(SYS_execve, "sub/tool", words, environ)'),
    "SYS_execveat": (
        'fd = open("sub", O_PATH)',
        'syscall(SYS_execveat, fd, "tool", words, environ, 0)',
    ),
    "posix_spawn": ("", 'posix_spawn(&pid, "sub/tool", NULL, NULL, words, environ)'),
    "posix_spawnp": ("", 'posix_spawnp(&pid, "tool", NULL, NULL, words, environ)'),
    "posix_spawn after addchdir": (
        'posix_spawn_file_actions_addchdir_np(&actions, "sub")',
        'posix_spawn(&pid, "./tool", &actions, NULL, words, environ)',
    ),
    "posix_spawn after two of addchdir": (
        (
            'posix_spawn_file_actions_addchdir_np(&actions, "sub");'
            'posix_spawn_file_actions_addchdir_np(&actions, "..")'
        ),
        'posix_spawn(&pid, "sub/tool", &actions, NULL, words, environ)',
    ),
    "posix_spawn after addfchdir": (
        'fd = open("sub", O_PATH); posix_spawn_file_actions_addfchdir_np(&actions, fd)',
        'posix_spawn(&pid, "tool", &actions, NULL, words, environ)',
    ),
    "posix_spawn after addfchdir of a copy": (
        (
            'fd = open("sub", O_PATH); posix_spawn_file_actions_adddup2(&actions, fd, 20);'
            "posix_spawn_file_actions_addfchdir_np(&actions, 20)"
        ),
        'posix_spawn(&pid, "tool", &actions, NULL, words, environ)',
    ),
    "posix_spawn after addfchdir of what it opens": (
        (
            'posix_spawn_file_actions_addopen(&actions, 20, "sub", O_PATH, 0);'
            "posix_spawn_file_actions_addfchdir_np(&actions, 20)"
        ),
        'posix_spawn(&pid, "tool", &actions, NULL, words, environ)',
    ),
    "posix_spawnp after addchdir": (
        'posix_spawn_file_actions_addchdir_np(&actions, "sub"); setenv("PATH", ".:/bin", 1)',
        'posix_spawnp(&pid, "tool", &actions, NULL, words, environ)',
    ),
    "system": ("", 'system("sub/tool")'),
    "popen": ("", 'pclose(popen("sub/tool", "w"))'),
}
_STARTER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(void)
{
    int fd, pid, file = open("sub/tool", O_RDONLY);
    char name[64], line[8], *words[] = {"tool", "word", NULL}, *cat[] = {"cat", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    @BEFORE@;
    write(1, "ready\n", 6);
    read(0, line, sizeof line);
    @RUN@;
    wait(NULL);
    return 0;
}
"""


class Pending:
    """A file below `work/sub`, what it is, and what it will be."""

    def __init__(self, folder: Path, name: str, old: Path | bytes, new: Path | bytes) -> None:
        self.path = folder / "work" / "sub" / name
        self._new = new
        self._put(old)

    def _put(self, content: Path | bytes) -> None:
        """In place: it stays what was open before."""
        self.path.write_bytes(content if isinstance(content, bytes) else content.read_bytes())
        self.path.chmod(0o755)

    def end(self, question: wire.Question) -> None:
        if Path(os.path.normpath(question.path)) == self.path or question.kind == layout.ASK_ALL:
            self._put(self._new)


def says(folder: Path, word: str, *options: str) -> Path:
    """A program that prints a word."""
    program = folder / f"says-{word}-{len(options)}"
    if not program.exists():
        source = folder / f"{word}.c"
        source.write_text(f'#include <stdio.h>\nint main(void) {{ return puts("{word}") < 0; }}\n')
        subprocess.run(["cc", *options, "-o", program, source], check=True)
    return program


def script(interpreter: Path) -> bytes:
    return f"#!{interpreter} word\n".encode()


def pending(what: str, folder: Path) -> Pending:
    tool = folder / "work" / "sub" / "tool"
    old, new = says(folder, "old"), says(folder, "new")
    if what == "a program":
        return Pending(folder, "tool", old, new)
    if what == "a script":
        return Pending(folder, "tool", script(old), script(new))
    if what == "a loader":
        loader = folder / "work" / "sub" / "loader"
        shutil.copy(says(folder, "new", f"-Wl,--dynamic-linker={loader}"), tool)
        return Pending(folder, "loader", b"", Path(os.fsdecode(elf._own_loader())))
    needs.require("cc", "-static")
    static = says(folder, "old", "-static", "-w"), says(folder, "new", "-static", "-w")
    if what == "a static program":
        return Pending(folder, "tool", *static)
    if what == "an interpreter":
        tool.write_bytes(script(folder / "work" / "sub" / "pending"))
        tool.chmod(0o755)
        return Pending(folder, "pending", *static)
    middle = folder / "work" / "sub" / "middle"
    for each, runs in ((tool, middle), (middle, folder / "work" / "sub" / "pending")):
        each.write_bytes(script(runs))
        each.chmod(0o755)
    return Pending(folder, "pending", old, new)


KINDS = (
    *("a program", "a static program", "a script"),
    *("an interpreter", "an interpreter's interpreter", "a loader"),
)


#: What opens sub/tool, or watches it, by way of libc, after "ready".
OPENINGS = {
    "by a spawn": (
        'posix_spawn_file_actions_addopen(&actions, 0, "sub/tool", O_RDONLY, 0)',
        'posix_spawnp(&pid, "cat", &actions, NULL, cat, environ)',
    ),
    "by a spawn in a folder": (
        (
            'posix_spawn_file_actions_addchdir_np(&actions, "sub");'
            'posix_spawn_file_actions_addopen(&actions, 0, "tool", O_RDONLY, 0)'
        ),
        'posix_spawnp(&pid, "cat", &actions, NULL, cat, environ)',
    ),
    "by one that it has done before": (
        (
            'posix_spawn_file_actions_addopen(&actions, 0, "sub/tool", O_RDONLY, 0);'
            'posix_spawnp(&pid, "true", &actions, NULL, cat, environ); wait(NULL)'
        ),
        'posix_spawnp(&pid, "cat", &actions, NULL, cat, environ)',
    ),
    "a watch": (
        "fd = inotify_init()",
        'inotify_add_watch(fd, "sub/tool", IN_MODIFY); syscall(SYS_sendfile, 1, file, NULL, 9)',
    ),
    "a watch by its number": (
        "fd = inotify_init()",
        (
            'syscall(SYS_inotify_add_watch, fd, "sub/tool", IN_MODIFY);'
            "syscall(SYS_sendfile, 1, file, NULL, 9)"
        ),
    ),
}


@pytest.fixture(scope="module")
def starters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("starters")


def starter(way: str, folder: Path) -> Path:
    program = folder / way.replace(" ", "-")
    before, run = {**WAYS, **OPENINGS}[way]
    source = program.with_suffix(".c")
    source.write_text(_STARTER.replace("@BEFORE@", before).replace("@RUN@", run))
    subprocess.run(["cc", "-w", "-o", program, source], check=True)
    return program


def ready(program: Path, folder: Path) -> subprocess.Popen[str]:
    """Started, guarded, and prepared."""
    process = subprocess.Popen(
        [program],
        cwd=folder / "work",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={
            "PATH": f"sub:{os.environ['PATH']}",
            "LD_PRELOAD": native.guard(),
            "_SMPMAKE_SOCKET": str(folder / "session" / "s"),
            "_SMPMAKE_BOARD": str(folder / "session" / "board"),
            "_SMPMAKE_GUARD": native.guard(),
            "_SMPMAKE_SHIMS": str(folder / "session"),
            "_SMPMAKE_BUILD": "main",
        },
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def printed(process: subprocess.Popen[str], board: Scoreboard, path: Path) -> str:
    """What it prints, for which something is pending from now on."""
    board.publish_claims(3, output(path))
    board.show_counts(1)
    return process.communicate("go\n", timeout=60)[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", KINDS)
def test_what_is_to_run_is_waited_for(way: str, what: str, starters: Path, tmp_path: Path) -> None:
    for name in ("session", "work/sub"):
        (tmp_path / name).mkdir(parents=True)
    late = pending(what, tmp_path)
    with (
        closing(Answering(tmp_path / "session" / "s", late.end)),
        closing(Scoreboard(tmp_path / "session" / "board")) as board,
    ):
        process = ready(starter(way, starters), tmp_path)
        assert printed(process, board, late.path) == "new\n"


@pytest.mark.parametrize("way", OPENINGS)
def test_what_is_to_be_opened_is_waited_for(way: str, starters: Path, tmp_path: Path) -> None:
    for name in ("session", "work/sub"):
        (tmp_path / name).mkdir(parents=True)
    late = Pending(tmp_path, "tool", b"old\n", b"new\n")
    with (
        closing(Answering(tmp_path / "session" / "s", late.end)),
        closing(Scoreboard(tmp_path / "session" / "board")) as board,
    ):
        process = ready(starter(way, starters), tmp_path)
        assert printed(process, board, late.path) == "new\n"
