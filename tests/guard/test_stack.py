"""How much of a caller's stack the guard needs: threads may have 16 KiB, signal handlers 8."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from smpmake import native
from smpmake.guard.scoreboard import Claim, Scoreboard
from smpmake.guard.traces import Traces
from smpmake.undo.journal import now_ns
from tests.guard.test_guard_symbols import hooks
from tests.support import needs
from tests.support.guarded import Answering, guarded, output
from tests.support.space import Space

pytestmark = pytest.mark.slow

SOURCES = Path(native.__file__).parent / "guard"
ROOT = SOURCES.parent.parent.parent
#: Bytes from a hook to the system call, or to libc's own function.
MOST = 4096
_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*?(\d+) bytes \((\w+)\)')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


class Graph:
    """Who calls whom, and with frames of which size."""

    def __init__(self, folder: Path) -> None:
        hook = runpy.run_path(str(ROOT / "hatch_build.py"))
        flags = [*hook["FLAGS"], f"-I{SOURCES.parent}", *hook["_names_of_tools"](ROOT)]
        flags += ["-fcallgraph-info=su"]
        flags += [flag for flag in hook["GUARD_FLAGS"] if flag.startswith("-f")]
        sources = sorted(SOURCES.rglob("*.c"))
        subprocess.run(["gcc", *flags, "-c", *sources], cwd=folder, check=True)
        self.frames: dict[str, int] = {}
        self.kinds: dict[str, str] = {}
        self.calls: dict[str, set[str]] = {}
        for source in sources:
            text = (folder / f"{source.stem}.ci").read_text()
            for name, size, kind in _NODE.findall(text):
                self.frames[name], self.kinds[name] = int(size), kind
            for caller, called in _EDGE.findall(text):
                self.calls.setdefault(caller, set()).add(called)

    def deepest(self, name: str, above: tuple[str, ...] = ()) -> tuple[int, tuple[str, ...]]:
        """Bytes of the chain of calls that needs most, and the chain."""
        assert name not in above, f"a loop: {above}"
        assert self.kinds.get(name, "static") == "static", f"{name}: a frame of any size"
        behind: list[tuple[int, tuple[str, ...]]] = [(0, ())]
        behind += [self.deepest(each, (*above, name)) for each in self.calls.get(name, ())]
        size, chain = max(behind)
        return size + self.frames.get(name, 0), (name.rpartition(":")[2], *chain)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    needs.require("gcc")
    return Graph(tmp_path_factory.mktemp("graph"))


@pytest.mark.parametrize("name", hooks())
def test_no_hook_needs_more_than_a_page_of_stack(graph: Graph, name: str) -> None:
    size, chain = graph.deepest(name)
    assert name in graph.frames
    assert size <= MOST, " > ".join(chain)


#: Calls each hook in a process of its own, in a "thread" or a signal's "handler", as argv[1] says.
#: Prints those that have killed it.
_RUNNER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
typedef long function(long, long, long, long, long, long);
static int visit(void) { return 0; }
static long room[4096], times[8];
static char template[16], folder[16];
static char *words[] = {"p", NULL};
static posix_spawn_file_actions_t actions;
static void *call_it;
static long *with;
static void *run(void *unused)
{
    ((function *)call_it)(with[0], with[1], with[2], with[3], with[4], with[5]);
    return unused;
}
static void handle(int number) { (void)number; run(NULL); }
static char *stack_of(size_t size)
{
    char *all = mmap(NULL, size + 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(all + 65536, size, PROT_READ | PROT_WRITE);
    return all + 65536;
}
static void on_thread(void)
{
    pthread_t thread;
    pthread_attr_t how;
    size_t size = sysconf(_SC_THREAD_STACK_MIN);
    pthread_attr_init(&how);
    pthread_attr_setstack(&how, stack_of(size), size);
    pthread_create(&thread, &how, run, NULL);
    pthread_join(thread, NULL);
}
static void in_handler(void)
{
    stack_t stack = {.ss_sp = stack_of(8192), .ss_size = 8192};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}
int main(int count, char **argv)
{
    struct { const char *name; long w[6]; } hooks[] = {
@HOOKS@
    };
    int number = sizeof hooks / sizeof *hooks;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < number; i++) {
        unlink("p");
        unlink("q");
        close(open("p", O_CREAT | O_WRONLY, 0644));
        if (fork() == 0) {
            alarm(60);
            dup2(open("f", O_RDWR), 3);
            strcpy(template, "tXXXXXX");
            strcpy(folder, "dXXXXXX");
            call_it = dlsym(RTLD_DEFAULT, hooks[i].name);
            with = hooks[i].w;
            if (call_it != NULL)
                (strcmp(argv[1], "thread") == 0 ? on_thread : in_handler)();
            syscall(SYS_exit_group, 0);
        }
        int status;
        wait(&status);
        if (WIFSIGNALED(status)) printf("%s ", hooks[i].name);
    }
    return 0;
}
"""
#: What each parameter is given, by its declaration or its name.
_TYPED = {
    "const char *first": '"q"',
    "const char *mode": '"r"',
    "char *path": "template",
    "char *to": "room",
    "void *to": "room",
    **dict.fromkeys(("pid_t pid", "pid_t thread"), "getppid()"),
}
_NAMED = {
    **dict.fromkeys(("dir", "to_dir"), "AT_FDCWD"),
    **dict.fromkeys(("path", "words", "target", "command"), '"p"'),
    **dict.fromkeys(("info", "result", "handle", "mount", "list", "how", "device"), "room"),
    "folder": 'opendir(".")',
    **dict.fromkeys(("entry", "found"), "room"),
    **dict.fromkeys(("to", "name", "value"), '"q"'),
    **dict.fromkeys(("flags", "tail", "complain", "filter", "compare", "attributes"), "0"),
    **dict.fromkeys(("user", "group", "effective", "saved", "status", "kind", "address"), "0"),
    **dict.fromkeys(("space", "id", "replace"), "0"),
    **dict.fromkeys(("pid", "pidfd"), "room"),
    **dict.fromkeys(("option", "seconds", "first", "others", "which", "timer", "before"), "0"),
    **dict.fromkeys(("what", "type", "data"), '"p"'),
    **dict.fromkeys(("message", "messages", "text", "steps"), "room"),
    **dict.fromkeys(("length", "priority", "until", "limit"), "0"),
    "signal": "SIGURG",
    "queue": "3",
    "set": "-1",
    "count": "1",
    "mode": "0600",
    "request": "0x40086602",  # FS_IOC_SETFLAGS
    "argument": "room",
    "size": "100",
    "room": "4096",
    "depth": "5",
    "most": "7",
    "options": "16",
    "file": "stdin",
    "fd": "3",
    "visit": "visit",
    "paths": "words",
    "argv": "words",
    "env": "environ",
    "actions": "&actions",
    "times": "times",
    "nochdir": "1",
    "noclose": "1",
    "version": "1",
    "mask": "2",
    "number": "SYS_getpid",
    "...": "0",
}


def arguments(parameters: str) -> list[str]:
    """What a hook is called with that has these parameters."""
    text = parameters.replace("DIR_PATH", "int dir, PATH").replace("PATH", "const char *path")
    words = []
    for each in () if text == "void" else text.split(", "):
        name = re.sub(r"\[\d*\]$", "", each).rpartition(" ")[2].lstrip("*")
        words.append(_TYPED.get(each) or _NAMED[name])
    return words


def rows() -> str:
    text = (SOURCES / "hooks/hooks.def").read_text()
    found = re.findall(
        r"^[A-Z]+\((?:[^(]+, )?(\w+), \(((?:[^()]|\([^)]*\))*)\)", text, re.MULTILINE
    )
    assert [name for name, _ in found] == hooks()
    made = {"mkdtemp": ["folder"], "execle": ['"p"', '"q"', "0", "environ"]}
    calls = [(name, made.get(name) or arguments(parameters)) for name, parameters in found]
    casts = [(name, ", ".join([f"(long)({word})" for word in words])) for name, words in calls]
    return "\n".join([f'    {{"{name}", {{{words}}}}},' for name, words in casts])


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runner")
    (folder / "runner.c").write_text(_RUNNER.replace("@HOOKS@", rows()))
    subprocess.run(["cc", "-w", "-o", "runner", "runner.c", "-lpthread"], cwd=folder, check=True)
    return folder / "runner"


def killed(where: str, runner: Path, folder: Path, **more: str) -> set[str]:
    """Hooks that do not live with so little."""
    (folder / "f").write_text("text\n")
    return set(guarded(folder, str(runner), where, **more).split())


def claims(pending: bool, folder: Path) -> list[Claim]:
    return [*output(folder / "p"), *output(folder / "q")] if pending else []


@pytest.mark.parametrize("where", ["thread", "handler"])
@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("job", [False, True])
def test_every_hook_on_a_small_stack(
    runner: Path, tmp_path: Path, where: str, pending: bool, job: bool
) -> None:
    """A thread's and a handler's of the least size; what libc itself does not live with may die."""
    work = tmp_path / "work"
    work.mkdir()
    with (
        closing(Answering(work / "s")) as server,
        closing(Scoreboard(work / "board")) as board,
        closing(Traces(tmp_path)) as traces,
    ):
        more = {}
        if job:
            trace = traces.begin_trace(0, now_ns(), watched=True)
            more = {"_SMPMAKE_COMMAND": "8", "_SMPMAKE_TRACE": os.fsdecode(trace)}
        board.publish_claims(3, claims(pending, work))
        board.show_counts(int(pending))
        plainly = killed(where, runner, work, LD_PRELOAD="")
        assert plainly <= {"glob", "glob64"}
        assert killed(where, runner, work, **more) <= plainly
        assert {"p", "q"} <= {Path(q.path).name for q in server.asked} or not pending


@pytest.mark.parametrize("where", ["thread", "handler"])
def test_every_hook_on_a_small_stack_in_a_build(runner: Path, space: Space, where: str) -> None:
    """Where what is changed is also written down."""
    space.write({"x.c": "int x;\n", "f": ""})
    ended = space.smpmake("-q", "sh", "-c", f"gcc -c x.c -o p; {runner} {where} 2> /dev/null")
    assert set(ended.out.split()) <= {"glob", "glob64"}
    assert ended.status == 0, ended.err
