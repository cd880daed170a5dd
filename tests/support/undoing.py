"""Random changes of a tree, made by guarded processes, and taken back by the journal alone.

As a module: what changes are drawn, and a tree with all its fields.  As a script: makes the changes
that come in on standard input, a JSON list a line, and answers each with an empty line.  Whatever
cannot be done is left: who tries in vain writes into the journal, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import random
import select
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO, NamedTuple

Step = list[str]
Tree = dict[str, tuple[object, ...]]

NAMES = ("a", "b", "c", "d", "e")
_FOLDERS = ("d", "e", "d/a", "e/b", "d/a/c")
_GET_FLAGS, _SET_FLAGS, _NO_DUMP = 0x80086601, 0x40086602, 0x40
_EXCHANGE = 2
_ACL = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, bits, who)
    for tag, bits, who in (
        *((0x01, 7, 0xFFFFFFFF), (0x02, 5, 12345), (0x04, 5, 0xFFFFFFFF)),
        *((0x10, 5, 0xFFFFFFFF), (0x20, 0, 0xFFFFFFFF)),
    )
)

#: How often each kind of change comes.
KINDS = {
    **dict.fromkeys(("mkdir", "rmdir", "create", "remove", "rename"), 6),
    **dict.fromkeys(("rename up", "rename by folder", "chdir", "append", "mode"), 4),
    **dict.fromkeys(("up", "fchdir", "symlink", "link", "rmtree", "owner", "time", "attribute"), 2),
    **dict.fromkeys(("exchange", "write", "cut", "flags", "acl", "temporary"), 1),
    **dict.fromkeys(("no attribute", "through", "replace"), 1),
}


def changes(dice: random.Random, count: int) -> list[Step]:
    """Changes by one of two processes: which, what, and to which paths."""
    kinds, weights = zip(*KINDS.items(), strict=True)
    drawn = dice.choices(kinds, weights, k=count)
    return [[str(dice.randrange(2)), kind, _path(dice), _path(dice)] for kind in drawn]


def _path(dice: random.Random) -> str:
    """Relative to wherever the process is; with folders, links and the way up in it."""
    parts = dice.choices(("..", ".", *NAMES), (3, 1, *[4] * len(NAMES)), k=dice.randrange(3))
    return "/".join([*parts, dice.choice(NAMES)])


# ------------------------------------------------------------------ the tree


def plant(root: Path) -> None:
    """What is there at the beginning."""
    for folder in _FOLDERS:
        (root / folder).mkdir()
    for name in ("a", "d/b", "d/a/b", "e/a", "e/b/e", "d/a/c/a"):
        (root / name).write_text(f"{name}\n" * 3)
    os.link(root / "a", root / "e/d")
    os.symlink("d", root / "b")
    os.symlink("../e/a", root / "d/c")
    (root / "d/a").chmod(0o2750)
    (root / "e").chmod(0o1777)
    if os.getuid() == 0:
        os.chown(root / "d/a", 1234, 1235)
        os.chown(root / "e/a", 1234, 1235)
    with contextlib.suppress(OSError):
        os.setxattr(root / "d/a", "user.one", b"1")
        os.setxattr(root / "e/b", "system.posix_acl_default", _ACL)
    for number, path in enumerate(sorted(root.rglob("*"), reverse=True)):
        os.utime(path, (1000, 1000 + number), follow_symlinks=False)
    os.utime(root, (1000, 999))


def seen(root: Path) -> Tree:
    """Each name with all that stat(2), contents, attributes and flags tell of it."""
    found: Tree = {}
    names: dict[int, str] = {}
    for path in [root, *sorted(root.rglob("*"))]:
        info = path.lstat()
        same = names.setdefault(info.st_ino, str(path))
        extra: object = ""
        if stat.S_ISLNK(info.st_mode):
            extra = os.readlink(path)
        elif stat.S_ISREG(info.st_mode):
            extra = path.read_bytes()
        attributes = {}
        with contextlib.suppress(OSError):
            for name in os.listxattr(path, follow_symlinks=False):
                attributes[name] = os.getxattr(path, name, follow_symlinks=False)
        fields = (oct(info.st_mode), info.st_uid, info.st_gid, info.st_mtime_ns, same)
        found[str(path)] = (*fields, extra, attributes, _flags(path))
    return found


def _flags(path: Path) -> int:
    if not stat.S_ISREG(path.lstat().st_mode) and not stat.S_ISDIR(path.lstat().st_mode):
        return 0
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        return int.from_bytes(fcntl.ioctl(fd, _GET_FLAGS, bytes(8))[:4], "little") & _NO_DUMP
    except OSError:
        return 0
    finally:
        os.close(fd)


def differences(before: Tree, after: Tree) -> list[str]:
    """A line for each name that is not what it was."""
    return [
        f"{name}: {before.get(name)} -> {after.get(name)}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


# ------------------------------------------------------------------ the changes


def apply(kind: str, path: str, other: str) -> None:
    """Makes one change.  Raises OSError."""
    if kind == "mkdir":
        os.mkdir(path, 0o751)
    elif kind == "rmdir":
        os.rmdir(path)
    elif kind == "create":
        with open(path, "w") as file:
            file.write(f"{kind} {other}\n")
    elif kind == "remove":
        os.remove(path)
    elif kind == "rename":
        os.rename(path, other)
    elif kind == "replace":
        os.mkdir(other)
        os.rename(path, other)
    elif kind == "rename up":
        name = os.path.basename(os.getcwd())
        os.rename(f"../{name}", f"../{os.path.basename(other)}")
    elif kind == "rename by folder":
        with _folder(os.path.dirname(path) or ".") as one, _folder("..") as two:
            names = os.path.basename(path), os.path.basename(other)
            os.rename(*names, src_dir_fd=one, dst_dir_fd=two)
    elif kind == "chdir":
        os.chdir(path)
    elif kind == "up":
        os.chdir("..")
    elif kind == "fchdir":
        with _folder(path) as fd:
            os.fchdir(fd)
    elif kind == "append":
        with open(path, "a") as file:
            file.write("more\n")
    else:
        _apply_rarer(kind, path, other)


def _apply_rarer(kind: str, path: str, other: str) -> None:
    if kind == "mode":
        os.chmod(path, 0o500 + len(other))
    elif kind == "owner":
        os.lchown(path, 1234 + len(other), 77)
    elif kind == "time":
        os.utime(path, (5, 5 + len(other)))
    elif kind == "symlink":
        os.symlink(other, path)
    elif kind == "link":
        os.link(path, other, follow_symlinks=False)
    elif kind == "rmtree":
        shutil.rmtree(path)
    elif kind == "write":
        fd = os.open(path, os.O_RDWR)
        os.pwrite(fd, b"XX", 1)
        os.close(fd)
    elif kind == "cut":
        os.truncate(path, 2)
    elif kind == "through":  # a link that leads nowhere yet
        os.symlink(other, path)
        with open(path, "w") as file:
            file.write("through\n")
    elif kind == "temporary":
        os.rename(tempfile.mkdtemp(dir=os.path.dirname(path) or "."), other)
    elif kind == "exchange":
        ctypes.CDLL(None).renameat2(-100, os.fsencode(path), -100, os.fsencode(other), _EXCHANGE)
    elif kind == "attribute":
        os.setxattr(path, f"user.{os.path.basename(other)}", other.encode() * 3)
    elif kind == "no attribute":
        os.removexattr(path, "user.one")
    elif kind == "acl":
        os.setxattr(path, "system.posix_acl_access", _ACL)
    elif kind == "flags":
        fd = os.open(path, os.O_RDONLY)
        was = int.from_bytes(fcntl.ioctl(fd, _GET_FLAGS, bytes(8))[:4], "little")
        fcntl.ioctl(fd, _SET_FLAGS, (was ^ _NO_DUMP).to_bytes(8, "little"))
        os.close(fd)
    else:
        raise ValueError(kind)


@contextlib.contextmanager
def _folder(path: str) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


def serve() -> None:
    """Makes the changes that are asked for, as long as somebody asks, below one folder."""
    top = os.path.dirname(os.getcwd())
    for line in sys.stdin:
        _, kind, path, other = json.loads(line)
        with contextlib.suppress(OSError):
            if all(
                _is_within(each, top) for each in (path, other, "../x" if " up" in kind else "")
            ):
                apply(kind, path, other)
        with contextlib.suppress(FileNotFoundError):
            if not _is_within("", top):
                os.chdir(top)
        print(flush=True)


def _is_within(path: str, top: str) -> bool:
    """Whether a name lies below the folder, wherever a link there may lead."""
    folders = os.path.dirname(path), path
    return all(f"{os.path.realpath(each)}/".startswith(f"{top}/") for each in folders)


# ------------------------------------------------------------------ a trial


class Plan(NamedTuple):
    """Changes, and what is promised meanwhile.

    promise  nothing is known to be unfinished before this step, and what follows it is taken back;
             after the last step everything is.
    pending  before which steps something is promised and kept at once, and whether it shows.
    """

    steps: list[Step]
    promise: int
    pending: dict[int, int]

    def __str__(self) -> str:
        told = [" ".join(step) for step in self.steps]
        return "\n".join([*told[: self.promise], "-- promise", *told[self.promise :]])


def plan(seed: int) -> Plan:
    """The one of a number."""
    dice = random.Random(f"undo {seed}")
    steps = changes(dice, dice.randrange(5, 60))
    promise = dice.choice((len(steps), dice.randrange(len(steps))))
    kept = {number: dice.randrange(2) for number in range(promise) if dice.random() < 0.2}
    return Plan(steps, promise, kept)


def trial(folder: Path, plan: Plan) -> list[str]:
    """Makes changes, takes them back, and says what is not as it was.

    folder  empty, on the file system that is to be tried.
    """
    from smpmake.guard.scoreboard import Scoreboard
    from smpmake.undo.journal import UndoJournal, now_ns
    from tests.support.clock import pass_tick
    from tests.support.guarded import Answering

    session, tree = folder / "session", folder / "tree"
    session.mkdir()
    root = tree / "root"
    root.mkdir(parents=True)
    plant(root)
    pass_tick(now_ns())  # what is there is older than the build
    with ExitStack() as stack:
        journal = stack.enter_context(closing(UndoJournal(session)))
        journal.begin(str(root), 1 << 30)
        board = stack.enter_context(closing(Scoreboard(session / "board")))
        board.keep_journal()
        stack.enter_context(closing(Answering(session / "socket")))
        before = seen(tree)
        processes = [_process(stack, session, root) for _ in range(2)]
        for number, step in enumerate(plan.steps):
            if number == plan.promise:
                before = seen(tree)
                journal.issued(number)
                board.show_counts(1)
            elif number in plan.pending:
                journal.issued(number)
                board.show_counts(plan.pending[number])
                journal.ended(number)
            _ask(processes[int(step[0])], step)
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait() == 0
        undone = journal.take_back(everything=plan.promise == len(plan.steps))
        found = differences(before, seen(tree))
        if undone.complaints or not undone.complete:
            found.append(f"complaints: {undone.complaints}")
        return found


def _process(stack: ExitStack, session: Path, root: Path) -> subprocess.Popen[str]:
    from smpmake import native

    names = {"SOCKET": "socket", "BOARD": "board", "SHIMS": ""}
    process = subprocess.Popen(
        [sys.executable, "-S", "-E", __file__],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={
            "PATH": os.environ["PATH"],
            "LD_PRELOAD": native.guard(),
            "_SMPMAKE_GUARD": native.guard(),
            "_SMPMAKE_BUILD": "main",
            **{f"_SMPMAKE_{name}": str(session / value) for name, value in names.items()},
        },
    )
    stack.enter_context(process)
    stack.callback(process.kill)
    return process


def _ask(process: subprocess.Popen[str], step: Step) -> None:
    stdin: IO[str] | None = process.stdin
    assert stdin is not None
    assert process.stdout is not None
    print(json.dumps(step), file=stdin, flush=True)
    ready, _, _ = select.select([process.stdout], [], [], 20)
    assert ready, f"stands still at {step}"
    assert process.stdout.readline() == "\n", f"ended at {step}"


if __name__ == "__main__":
    serve()
