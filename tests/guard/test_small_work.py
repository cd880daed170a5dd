"""What a process does that is about to become rm, mv or mkdir: what the tool would have done."""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.support import needs
from tests.support.space import SMPMAKE, Space

#: What stands in each folder in which a command line is tried.
NAMES: tuple[str, ...] = (
    *("a", "b", "twin", "other", "readonly", "link", "lost", "into", "dir", "dir/x", "empty"),
    *("closed/x", "closed", "fifo", "none", "none/x", "a/x", "lost/", "dir/", "into/", "a/"),
    *("", ".", "..", "-x", "./-x", "dir/../a", "./a", "new", "new/", "dir/new", "ABROAD"),
    *("n" * 300, "into/y", "*", "new\nline", "loop", "loop/x"),
)
OPTIONS = {
    "rm": ("", "-f", "-f", "-f", "-rf", "-r", "-fr", "-f -r", "-R", "-fv", "--", "-f --", "-d"),
    "mv": ("", "-f", "-f", "-f", "-n", "-f -f", "-T", "-ff", "-u", "--"),
    "mkdir": ("", "-p", "-p", "-p", "-pp", "-m 700", "-p -m 700", "-v", "--parents"),
}

OPTIONS["cat"] = ("", "", "", "", "-n", "--", "-u")
#: Where cat reads and writes.
INPUTS = (
    "CAT </dev/null",
    "CAT >made </dev/null",
    "CAT >made <b",
    "CAT - <b >made",
    "CAT - b <a >made",
    "CAT >made <<E\nsome $((1 + 1))\nE",
    "CAT - >made <<E\nsome\nE",
    "CAT - >>b <<'E'\nsome $x\nE",
    "CAT >dir/x <a",
    "CAT >>a <twin",
    "CAT <a >a",
    "CAT <>b >&0",
    "printf x | CAT - >made",
    "printf x | CAT >>b",
    "{ sleep 0; printf x; } | CAT >made",
    "{ CAT - >made; cat >rest; } <b",
    "CAT >/dev/full <b",
    "CAT >&- <b",
    "CAT <&- >made",
    "CAT - <&- >made",
    "(ulimit -f 0; CAT >made <b)",
    "seq 99999 | CAT >made",
    "seq 99999 >big; CAT big >made </dev/null",
    "seq 99999 >big; { CAT >made; read x; echo $x >>made; } <big",
    "CAT /proc/self/comm >made",
    "exec 3<b; CAT /proc/self/fd/3 >made; rm -f /proc/self/fd/3 /proc/self/cwd/a",
    "ln -s /proc/self/comm own; CAT own >made",
    "CAT /dev/stdin >made <b",
)


def make(folder: Path) -> None:
    """What a command line is tried with."""
    folder.mkdir()
    for name in ("a", "b", "twin", "readonly", "-x", "new\nline"):
        (folder / name).write_text(name)
    (folder / "readonly").chmod(0o444)
    os.link(folder / "twin", folder / "other")
    for name, text in {"link": "a", "lost": "nowhere", "into": "dir", "loop": "loop"}.items():
        (folder / name).symlink_to(text)
    for name in ("dir", "empty", "closed"):
        (folder / name).mkdir()
    for name in ("dir/x", "dir/y", "closed/x"):
        (folder / name).write_text(name)
    (folder / "closed").chmod(0o555)
    os.mkfifo(folder / "fifo")


def lines(seed: int, count: int) -> list[str]:
    """Random command lines, most with one or two names, and some behind another umask."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        tool = draw.choice(("rm", "rm", "mv", "mkdir", "cat"))
        words = [draw.choice(NAMES) for _ in range(draw.choice((0, 1, 1, 2, 2, 2, 3)))]
        if tool == "mv":
            # coreutils 9.7 looks into a stat that failed: it says one thing or another of this one.
            words = ["lost" if word == "lost/" else word for word in words]
        line = f"{tool} {draw.choice(OPTIONS[tool])} {shlex.join(words)}"
        if tool == "cat":
            line = draw.choice(INPUTS).replace("CAT", line)
        made.append(draw.choice(("", "", "", "umask 77; ", "exec 2>&-; ", "exec 1>&-; ")) + line)
    return made


def tried(
    space: Space, shell: str, abroad: Path, commands: list[str], *before: str
) -> tuple[list[str], dict[str, str]]:
    """What a script prints and leaves that runs each of them in a folder of its own."""
    space.clear()
    abroad.mkdir()
    for number, _ in enumerate(commands):
        make(space.folder / str(number))
        (abroad / str(number)).mkdir()
    text = "".join(
        f"cd {number}\n({line.replace('ABROAD', f'{abroad}/{number}')}) 2>&1\n"
        f"echo {number} $?\ncd ..\n"
        for number, line in enumerate(commands)
    )
    (space.root / "script").write_text(text)
    # Root may do what its rights do not say: without capabilities it may not.
    rights = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    ended = space.run(*before, *rights, shell, str(space.root / "script"))
    subprocess.run(["cp", "-a", abroad, space.folder / "abroad"], check=True)
    shutil.rmtree(abroad)
    return ended.out.splitlines(), space.tree()


def parts(all_of_it: tuple[list[str], dict[str, str]], number: int) -> tuple[object, object]:
    """Of what was tried the status and the files of one command."""
    printed, tree = all_of_it
    own = f"{number}/"
    return (
        [line for line in printed if line.startswith(f"{number} ")],
        {name: what for name, what in tree.items() if name.startswith(own)},
    )


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize(
    "count", [150, pytest.param(1000, marks=[pytest.mark.chaos, pytest.mark.slow])]
)
def test_it_is_what_the_tools_do(space: Space, shell: str, count: int) -> None:
    if shutil.which(shell) is None or shutil.which("setpriv") is None:
        pytest.skip(f"{shell} or setpriv is not here")
    commands = lines(count, count)
    # Another file system, most often.
    abroad = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    abroad.rmdir()
    plain = tried(space, shell, abroad, commands)
    ours = tried(space, shell, abroad, commands, SMPMAKE)
    wrong = [
        commands[number]
        for number, _ in enumerate(commands)
        if parts(plain, number) != parts(ours, number)
    ]
    assert (wrong, ours) == ([], plain)


#: Lines of recipes; A, B and C become names in a folder.
LINES = (
    "echo '# dummy' >A && mv -f A B",
    "mkdir -p A && echo x y  z > B && rm -f C",
    "mkdir -p A/new && mv -f B A/new",
    "echo x >A",
    "echo x>A",
    "echo 2>A",
    "echo 2 >A",
    "echo x 2>A",
    "echo x >A y",
    "echo x >>A",
    "echo x >A >B",
    "echo >A",
    "echo -n x >A",
    "echo x -n >A",
    "echo 'a\\tb' >A",
    "echo a\\tb >A",
    "echo 'it''s' a''b '' end >A",
    'echo "x" >A',
    "echo a # b >A",
    "echo a#b >A",
    "echo '#' \\# >A",
    "echo x=y >A",
    "A=b rm -f A",
    "rm -f A && mv -f B C",
    "rm A && rm A",
    "mv A B && echo x >A",
    "mv -f A B && rm -f A && echo y >C",
    "rm -rf A && mkdir A",
    "mkdir A && mkdir -p A",
    "mkdir -p A && false",
    "rm -f A; echo x >A",
    "rm -f A && ",
    "&& rm -f A",
    "rm -f none &",
    "rm -f none & rm -f B",
    "! rm A",
    "rm -f ~ A",
    "rm -f A?",
    "echo {x,y} >A",
    "echo $$HOME >A",
    "echo %x ^y @z :w >A",
    "echo x >/dev/null",
    "echo x >A/",
    "'echo' x >A",
    "ec''ho x >A",
    "/bin/rm -f A && /usr/bin/mv -f B C",
    "/bin/echo x >A",
    "\trm  -f\tA  ",
    "mkdir -p A B C",
    "rm",
    "echo x >A && (",
    "mkdir -p A && )",
    "rm -rf A && echo x >A",
    "echo a >A && rm -rf A && mkdir -p A && true",
    "echo a >A && mkdir A",
    "rm -f A && mv A B",
    "mkdir -p /proc/self/cwd/A",
    "echo other >/proc/self/comm; cat /proc/$$PPID/comm",
    "echo other >/proc/self/comm && rm -f A",
)
#: Scripts whose commands exec, the loader or a shell would have something to say about.
ODD = (
    "setpriv --inh-caps=-all --bounding-set=-all rm -f closed/x",
    "setpriv --reuid=1 --regid=1 --clear-groups rm -f closed/x",
    "export B=$(head -c 200000 /dev/zero | tr '\\0' x); rm -f a",
    "rm -f a $(seq 400000)",
    "(ulimit -n 3; rm -f a)",
    "(ulimit -v 1500; exec rm -f a)",
    "mkdir lib; echo junk >lib/libc.so.6; LD_LIBRARY_PATH=$PWD/lib rm -f a",
    "LD_DEBUG=statistics rm -f a 2>&1 | grep -c relocation",
    "LC_ALL=xx_XX.UTF-8 bash -c 'echo x >made'",
    "LC_TIME=xx_XX.UTF-8 bash -c 'rm -f a'",
    "SHLVL=1200 bash -c 'rm -f a'",
    "SHLVL=0 bash -c 'rm -f a'; SHLVL=00 bash -c 'rm -f b'; SHLVL=-1 bash -c 'rm -f a'",
    "BASH_COMPAT=99 bash -c 'rm -f a'",
    "OPTIND=x sh -c 'rm -f a'",
    (
        "echo 'echo profile; umask 77' >dir/.profile; export HOME=$PWD/dir;"
        " bash -c \"exec -a -sh /bin/sh -c 'echo x >made'\""
    ),
    "bash -c \"exec -a rbash bash -c 'echo x >made'\"",
    (
        "echo 'mv() { echo mine; }' >dir/.bashrc; export HOME=$PWD/dir SSH_CLIENT=1;"
        " unset SHLVL; exec bash -c 'mv a b'"
    ),
    "mkdir gone; cd gone; rmdir ../gone; unset PWD; sh -c 'rm -f a'",
    "mkdir gone; cd gone; rmdir ../gone; rm -f a; mkdir x; mkdir -p .; echo $?",
    "exec rm -f a",
    "trap 'echo ended' EXIT; exec mv a c",
    "{ time rm -f a; } 2>/dev/null; rm a; rm -f a && echo done",
    "mkdir -p /proc/self/fd/../cwd/k; mkdir -p /proc/self/cwd/z",
    "cp /bin/rm dir/rm; PATH=$PWD/dir:$PATH; rm -f a; mv() { echo mine; }; mv a b",
    "for i in 1 2 3; do rm -f $i & done; wait; rm -f a & wait $!; echo $?",
    (
        "chmod 2777 dir; mkdir dir/sub; umask 277; mkdir -p dir/other; "
        "stat -c '%A %h %U %G %s %n' dir/*"
    ),
)


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_odd_scripts(space: Space, shell: str) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not here")
    found = []
    for before in ((), (SMPMAKE, "-q", "--")):
        space.clear()
        text = ""
        for number, script in enumerate(ODD):
            make(space.folder / str(number))
            (space.folder / str(number) / "script").write_text(script)
            text += f"(cd {number}; {shell} script) 2>&1; echo {number} $?\n"
        space.write({"all.sh": text})
        ended = space.run(*before, shell, "all.sh")
        # Without a descriptor the loader cannot open the guard, and says so.
        lines = [line for line in ended.out.splitlines() if "smpmake-guard.so" not in line]
        found.append((lines, space.tree()))
    assert found[1][0] == found[0][0]
    changed = [name for name, what in found[0][1].items() if found[1][1].get(name) != what]
    assert (changed, found[1][1]) == ([], found[0][1])


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
@pytest.mark.parametrize("how", ["", "umask 77 && ", "set -C; "])
def test_lines_of_recipes_do_what_the_shell_does(space: Space, shell: str, how: str) -> None:
    draw = random.Random(shell + how)
    text, count = f"SHELL = {shell}\nall:\n", 0
    for line in LINES:
        for _ in range(4):
            names = dict(zip("ABC", draw.sample((*NAMES[:13], "none", "none/x"), 3), strict=True))
            words = line
            for letter, name in names.items():
                words = re.sub(rf"\b{letter}\b", f"{count}/{name}", words)
            text += f"\t-{words if draw.random() < 0.7 else how + words}\n"
            count += 1
    found = []
    for before in ((), (SMPMAKE, "-q", "--")):
        space.clear()
        for number in range(count):
            make(space.folder / str(number))
        space.write({"Makefile": text})
        ended = space.run(*before, "make")
        found.append((ended, space.tree()))
    assert found[1][0].err.splitlines() == found[0][0].err.splitlines()
    assert found[1] == found[0]


def test_what_cannot_be_written_is_said_by_cat(space: Space) -> None:
    """A disk that is full: the file has what found room, and the message is cat's."""
    needs.require_mounts()
    small = space.root / "small"
    small.mkdir()
    space.write({"a": "a" * 3000, "b": "b" * 3000})
    script = "cat a b - <<E >small\n$(seq 2000)\nE\necho $?\ncat small | cksum\n"
    (space.root / "script").write_text(script.replace("small", f"{small}/made"))
    found = []
    for before in ("", f"{SMPMAKE} -q -- "):
        mount = f"mount -t tmpfs -o size=8k none {small} && {before}sh {space.root}/script"
        found.append(space.run("unshare", "-m", "sh", "-c", mount))
    assert "No space left" in found[0].err
    assert found[1] == found[0]


@pytest.mark.parametrize(
    "variable", ["BASH_ENV=env.sh", "BASH_FUNC_mv%%=() { echo mine >mine; }", "SHELLOPTS=noclobber"]
)
def test_shells_that_begin_otherwise(space: Space, variable: str) -> None:
    makefile = "SHELL = /bin/bash\nall:\n\techo x >a && mv -f a b\n\t-echo y >b && rm -f a\n"
    files = {"Makefile": makefile, "env.sh": "mv() { echo mine >other; }\n"}
    space.expect_same(files, ["env", variable, "make"])


WATCH = """
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static int spawned(char **argv)
{
    char name[64], comm[64] = "";
    int status;
    pid_t child;
    posix_spawn(&child, argv[0], NULL, NULL, argv, environ);
    sprintf(name, "/proc/%d/comm", child);
    waitid(P_PID, child, NULL, WEXITED | WNOWAIT);
    fgets(comm, sizeof comm, fopen(name, "r"));
    fprintf(stderr, "%s\\n", strcmp(comm, "make\\n") == 0 ? "did it" : "became it");
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
int main(int argc, char **argv)
{
    int status;
    if (getenv("SPAWNS") != NULL)
        return spawned(argv + 1);
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    waitpid(child, &status, 0);
    fprintf(stderr, "%s\\n", WIFSTOPPED(status) ? "became it" : "did it");
    if (WIFSTOPPED(status)) {
        ptrace(PTRACE_DETACH, child, 0, 0);
        waitpid(child, &status, 0);
    }
    return WEXITSTATUS(status) + (argc < 2);
}
"""
#: Command lines, and whether they need no tool.
WORKS = {
    "/usr/bin/rm -f a none": True,
    "/bin/rm a": True,
    "/usr/bin/rm -rf a": True,
    "/usr/bin/mv -f a b": True,
    "/usr/bin/mv a new": True,
    "/usr/bin/mkdir -p dir": True,
    "/usr/bin/mkdir dir/new": True,
    "/usr/bin/mkdir -p new/new": False,
    "/usr/bin/rm -rf dir": False,
    "/usr/bin/rm none": False,
    "/usr/bin/mv a dir": False,
    "/usr/bin/cp a new": False,
    "/bin/sh -c 'mkdir -p dir && mv -f a b'": True,
    "/bin/bash -c 'echo x >new && /bin/mv new b'": True,
    "/bin/sh -c 'echo x >dir'": False,
    "/bin/sh -c 'mv a b; rm c'": False,
    "/bin/sh -ec 'rm -f a'": False,
    "/bin/sh -c 'rm -f a && rm -f b && rm -f c'": False,
}


@pytest.fixture(scope="module")
def watcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needs.require("gcc")
    folder = tmp_path_factory.mktemp("watch")
    (folder / "watch.c").write_text(WATCH)
    # Shells and makes do small work: so these names.
    for name in ("bash", "make"):
        subprocess.run(["gcc", "-o", name, "watch.c"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("spawns", [False, True])
@pytest.mark.parametrize("command", WORKS)
def test_who_needs_the_tool_becomes_it(
    space: Space, watcher: Path, command: str, spawns: bool
) -> None:
    shutil.rmtree(space.folder)
    make(space.folder)
    how = ["env", "SPAWNS=1", str(watcher / "make")] if spawns else [str(watcher / "bash")]
    ended = space.smpmake(*how, *shlex.split(command), SHLVL="1")
    assert ("did it" if WORKS[command] else "became it") in ended.err, ended


def test_cat_into_a_file_needs_no_cat(space: Space, watcher: Path) -> None:
    shutil.rmtree(space.folder)
    make(space.folder)
    for words, done in (("a b >new", True), ("a - <b >>new", True), ("a b | cat >new", False)):
        ended = space.smpmake("sh", "-c", f"{watcher}/bash /bin/cat {words}")
        assert ended.err.startswith("did it" if done else "became it"), ended
        assert (space.folder / "new").read_text() == ("abab" if ">>" in words else "ab")


def test_other_libraries_see_the_tool(space: Space, watcher: Path) -> None:
    """fakeroot keeps a list of what is removed."""
    make(space.folder / "there")
    (space.folder / "empty.c").write_text("int nothing_of_this_name;\n")
    space.ok("gcc", "-shared", "-o", "empty.so", "empty.c")
    library = str(space.folder / "empty.so")
    before = ("env", f"LD_PRELOAD={library}", str(watcher / "bash"))
    ended = space.smpmake(*before, "/usr/bin/rm", "-f", "there/a")
    assert ended.err.startswith("became it"), ended


def test_a_script_of_that_name_is_run(space: Space) -> None:
    space.fake("rm", '#!/bin/sh\necho "not today: $*"\n', is_script=True)
    space.write({"a": "", "build.sh": "rm -f a\n"})
    assert "not today: -f a" in space.smpmake("sh", "build.sh").out


def test_what_a_failed_build_removed_is_there_again(space: Space) -> None:
    """The journal has what the tools would have changed, whoever did."""
    makefile = (
        "all: x.o check\nx.o: x.c\n\tgcc -c x.c\n"
        "check:\n\trm -f old\n\tmv -f older new\n\tmkdir -p made\n\ttest -f nothing\n"
    )
    files = {"Makefile": makefile, "x.c": "this is no C\n", "old": "old", "older": "older"}
    space.write(files)
    plain = space.run("make")
    expected = space.tree()
    space.clear()
    space.write(files)
    ended = space.smpmake("make")
    assert (ended.status, space.tree()) == (plain.status, expected), ended
