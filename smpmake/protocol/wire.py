"""What shims and guards say, and are told: bytes in, values out (workers: `working`).

The other half is native/wire.h; docs/wire.md describes both.  Pure: no socket is touched here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, NamedTuple

from smpmake.protocol.frames import WireError, blobs, frame

INVOKE: Final = 1
ANSWER: Final = 2
# 5 to 7: see keeping
REQUEST: Final = 8  # client -> server: a JSON object
REPLY: Final = 9  # server -> client: a JSON object
QUESTION: Final = 10
GUARD_ANSWER: Final = 11


ASK_READ: Final = 1
ASK_WRITE: Final = 2
ASK_LIST: Final = 3
ASK_TREE: Final = 4
ASK_MOVE: Final = 5
ASK_STAT: Final = 6
ASK_ALL: Final = 7
ASK_LINK: Final = 8
ASK_NAMES: Final = 9
ASK_ALIAS: Final = 10
ASK_ROOM: Final = 11
ASK_COMMIT: Final = 12
ASK_REMOVE: Final = 13
ASK_LIBRARIES: Final = 14
ASK_TOKENS: Final = 15
ASK_FOLDER: Final = 16

GUARD_GO_ON: Final = 0
GUARD_FILE: Final = 1
GUARD_ABSENT: Final = 2
GUARD_ELSEWHERE: Final = 3
GUARD_AGAIN: Final = 4
GUARD_FOLDER: Final = 5

_INVOKE: Final = struct.Struct("<IIQQQQQQQiIIIIIIIII")
_ANSWER: Final = struct.Struct("<IiIIII")
_LIMIT: Final = struct.Struct("<QQ")
_UNLIMITED: Final = (1 << 64) - 1
_QUESTION: Final = struct.Struct("<IIIIII")
_GUARD_ANSWER: Final = struct.Struct("<IIqII")


class FileId(NamedTuple):
    """Which file a descriptor stands for."""

    device: int
    inode: int


@dataclass(slots=True)
class Invoke:
    """A command line as it came from a shim.  Blobs stay bytes: most are only passed on.

    parent     the process that called the shim.
    mask       its umask.
    out, err   which files its stdout and stderr are.
    inherited  the number of what it has inherited beside all this; 0: not told.
    ignored    signals that are, as bits (0 is signal 1); blocked: the same.
    nice       its niceness.
    tool       the name that it was called by, without a folder.
    real       the path of the tool that it stands for.
    cwd        the folder that it was called in: absolute, links followed.
    build      the build that it belongs to.
    argv, env  NUL-ended strings; env as the real tool is to get it.
    limits     pairs of 64 bits (soft, hard), one a resource.
    unguarded  the nearest process above it that has no guard, 0 where all have one.
    is_line    it is a recipe's line: what a make has started.
    ignored    which of SIGINT and SIGQUIT are, as bits (0 is signal 1).
    """

    parent: int
    mask: int
    out: FileId
    err: FileId
    tool: str
    real: bytes
    cwd: bytes
    build: str
    argv: bytes
    env: bytes
    limits: bytes
    unguarded: int = 0
    is_line: bool = False
    inherited: int = 0
    ignored: int = 0
    blocked: int = 0
    nice: int = 0

    def limit(self, resource: int) -> int:
        """The soft one of a resource (resource.RLIMIT_NOFILE ...); no limit where none came."""
        at = resource * _LIMIT.size
        if len(self.limits) < at + _LIMIT.size:
            return _UNLIMITED
        return int(_LIMIT.unpack_from(self.limits, at)[0])


class Question(NamedTuple):
    """What a guarded process is about to do to `path` (absolute, not canonical).

    kind     an ASK_ constant.
    command  the number of the command that the process belongs to, -1 for the driver's own.
    other    the second path of a rename or a link, else "".
    """

    kind: int
    pid: int
    command: int
    build: str
    path: str
    other: str


def decode_invoke(payload: bytes) -> Invoke:
    """Raises WireError for anything that is not a whole, sensible invocation."""
    if len(payload) < _INVOKE.size:
        raise WireError("an invocation is cut short")
    (
        parent,
        mask,
        out_dev,
        out_ino,
        err_dev,
        err_ino,
        inherited,
        ignored,
        blocked,
        nice,
        tool_len,
        real_len,
        cwd_len,
        build_len,
        argv_len,
        env_len,
        limits_len,
        unguarded,
        line,
    ) = _INVOKE.unpack_from(payload)
    tool, real, cwd, build, argv, env, limits = blobs(
        payload,
        _INVOKE.size,
        tool_len,
        real_len,
        cwd_len,
        build_len,
        argv_len,
        env_len,
        limits_len,
    )
    if not argv or argv[-1] or (env and env[-1]) or not real or cwd[:1] != b"/":
        raise WireError("an invocation without command, tool or folder")
    if len(limits) % _LIMIT.size:
        raise WireError("limits that are no pairs")
    if b"\0" in real or b"\0" in cwd:
        raise WireError("a NUL inside a path")
    return Invoke(
        parent,
        mask,
        FileId(out_dev, out_ino),
        FileId(err_dev, err_ino),
        tool.decode(errors="surrogateescape"),
        real,
        cwd,
        build.decode(errors="surrogateescape"),
        argv,
        env,
        limits,
        unguarded,
        bool(line),
        inherited,
        ignored,
        blocked,
        nice,
    )


def decode_question(payload: bytes) -> Question:
    """Raises WireError for anything that is not a whole, sensible question."""
    if len(payload) < _QUESTION.size:
        raise WireError("a question is cut short")
    kind, pid, command, *lengths = _QUESTION.unpack_from(payload)
    texts = blobs(payload, _QUESTION.size, *lengths)
    if not texts[1].startswith(b"/") or any(b"\0" in text for text in texts):
        raise WireError("a question without an absolute path")
    if not ASK_READ <= kind <= ASK_FOLDER:
        raise WireError(f"a question of kind {kind}")
    build, path, other = (text.decode(errors="surrogateescape") for text in texts)
    return Question(kind, pid, command - 1, build, path, other)


def encode_question(question: Question) -> bytes:
    """What a guard sends; for tests."""
    texts = [text.encode(errors="surrogateescape") for text in question[3:]]
    fixed = _QUESTION.pack(question.kind, question.pid, question.command + 1, *map(len, texts))
    return frame(QUESTION, fixed, *texts)


def encode_guard_answer(state: int, mode: int = 0, mtime_ns: int = 0, path: bytes = b"") -> bytes:
    """The answer to a question: a GUARD_, mode and time for a FILE, a path for ELSEWHERE."""
    return frame(GUARD_ANSWER, _GUARD_ANSWER.pack(state, mode, mtime_ns, len(path), 0), path)


def encode_invoke(invoke: Invoke) -> bytes:
    """What a shim sends; for tests and for tools that are not the native shim."""
    tool = invoke.tool.encode(errors="surrogateescape")
    build = invoke.build.encode(errors="surrogateescape")
    fixed = _INVOKE.pack(
        invoke.parent,
        invoke.mask,
        *invoke.out,
        *invoke.err,
        invoke.inherited,
        invoke.ignored,
        invoke.blocked,
        invoke.nice,
        len(tool),
        len(invoke.real),
        len(invoke.cwd),
        len(build),
        len(invoke.argv),
        len(invoke.env),
        len(invoke.limits),
        invoke.unguarded,
        invoke.is_line,
    )
    return frame(
        INVOKE,
        fixed,
        tool,
        invoke.real,
        invoke.cwd,
        build,
        invoke.argv,
        invoke.env,
        invoke.limits,
    )


def answer_exit(status: int, message: bytes = b"", out: bytes = b"") -> bytes:
    """The shim leaves with `status`; before, it prints `message` on stderr, `out` on stdout."""
    return frame(ANSWER, _ANSWER.pack(0, status, 0, len(out), len(message), 0), out, message)


def answer_exec(
    argv: bytes = b"", message: bytes = b"", *, keep_open: bool = False, command: int = -1
) -> bytes:
    """The shim becomes the real tool, with another argv if one is given, after `message`.

    command  the number under which the tool's guard asks.
    """
    fixed = _ANSWER.pack(1, 0, keep_open, len(argv), len(message), command + 1)
    return frame(ANSWER, fixed, argv, message)
