"""What shims and guards say, and are told: bytes in, values out (workers: `working`).

The other half is native/layout/wire.h; docs/wire.md describes both.  Pure: no socket is touched.
"""

from __future__ import annotations

import copy
from typing import Final, NamedTuple

from smpmake.protocol import layout
from smpmake.protocol.frames import WireError, blobs, frame

_INVOKE: Final = layout.WIRE_INVOKE_LAYOUT
_GIVEN: Final = layout.WIRE_GIVEN_LAYOUT
_ANSWER: Final = layout.WIRE_ANSWER_LAYOUT
_LIMIT: Final = layout.WIRE_LIMIT_LAYOUT
_QUESTION: Final = layout.WIRE_QUESTION_LAYOUT
_GUARD_ANSWER: Final = layout.WIRE_GUARD_ANSWER_LAYOUT
_UNLIMITED: Final = (1 << 64) - 1


class FileId(NamedTuple):
    """Which file a descriptor stands for."""

    device: int
    inode: int


CLOSED: Final = FileId(0, 0)


class Invoke:
    """A command line as it came from a shim.  Blobs stay bytes: most are only passed on.

    parent     the process that called the shim.
    mask       its umask.
    out, err   which files its stdout and stderr are; CLOSED where one is closed.
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

    __slots__ = (
        *("argv", "blocked", "build", "cwd", "env", "err", "ignored", "inherited", "is_line"),
        *("limits", "mask", "nice", "out", "parent", "real", "tool", "unguarded"),
    )

    def __init__(
        self,
        parent: int,
        mask: int,
        out: FileId,
        err: FileId,
        tool: str,
        real: bytes,
        cwd: bytes,
        build: str,
        argv: bytes,
        env: bytes,
        limits: bytes,
        unguarded: int = 0,
        is_line: bool = False,
        inherited: int = 0,
        ignored: int = 0,
        blocked: int = 0,
        nice: int = 0,
    ) -> None:
        self.parent = parent
        self.mask = mask
        self.out = out
        self.err = err
        self.tool = tool
        self.real = real
        self.cwd = cwd
        self.build = build
        self.argv = argv
        self.env = env
        self.limits = limits
        self.unguarded = unguarded
        self.is_line = is_line
        self.inherited = inherited
        self.ignored = ignored
        self.blocked = blocked
        self.nice = nice

    def of(self, real: bytes) -> Invoke:
        """The same of another program."""
        other = copy.copy(self)
        other.real = real
        return other

    def limit(self, resource: int) -> int:
        """The soft one of a resource (resource.RLIMIT_NOFILE ...); no limit where none came."""
        at = resource * _LIMIT.size
        if len(self.limits) < at + _LIMIT.size:
            return _UNLIMITED
        return int(_LIMIT.unpack_from(self.limits, at)[0])


class Given(NamedTuple):
    """A command whose remembered result a shim has given back, while nothing was pending.

    invoke     its command line; of what is inherited nothing is told.
    reads      what it read of what is not the system's, as it spelled that.
    start_ns, end_ns  monotonic clock.
    user_us, system_us  the shim's CPU time.
    """

    invoke: Invoke
    reads: tuple[str, ...]
    start_ns: int
    end_ns: int
    user_us: int
    system_us: int


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


def decode_given(payload: bytes) -> Given:
    """Raises WireError for anything that is not whole and sensible."""
    if len(payload) < _GIVEN.size:
        raise WireError("a result that was given back is cut short")
    start_ns, end_ns, user_us, system_us, reads_len, _ = _GIVEN.unpack_from(payload)
    behind = _GIVEN.size + reads_len
    reads = payload[_GIVEN.size : behind]
    if behind > len(payload) or (reads and reads[-1]):
        raise WireError("names that are cut short")
    names = reads.decode(errors="surrogateescape").split("\0")[:-1]
    invoke = decode_invoke(payload[behind:])
    return Given(invoke, tuple(names), start_ns, end_ns, user_us, system_us)


def decode_question(payload: bytes) -> Question:
    """Raises WireError for anything that is not a whole, sensible question."""
    if len(payload) < _QUESTION.size:
        raise WireError("a question is cut short")
    kind, pid, command, *lengths = _QUESTION.unpack_from(payload)
    texts = blobs(payload, _QUESTION.size, *lengths)
    if not texts[1].startswith(b"/") or any(b"\0" in text for text in texts):
        raise WireError("a question without an absolute path")
    if not layout.ASK_READ <= kind <= layout.ASK_FOLDER:
        raise WireError(f"a question of kind {kind}")
    build, path, other = (text.decode(errors="surrogateescape") for text in texts)
    return Question(kind, pid, command - 1, build, path, other)


def encode_question(question: Question) -> bytes:
    """What a guard sends; for tests."""
    texts = [text.encode(errors="surrogateescape") for text in question[3:]]
    fixed = _QUESTION.pack(question.kind, question.pid, question.command + 1, *map(len, texts))
    return frame(layout.WIRE_QUESTION, fixed, *texts)


def encode_guard_answer(state: int, mode: int = 0, mtime_ns: int = 0, path: bytes = b"") -> bytes:
    """The answer to a question: a GUARD_, mode and time for a FILE, a path for ELSEWHERE."""
    return frame(
        layout.WIRE_GUARD_ANSWER, _GUARD_ANSWER.pack(state, mode, mtime_ns, len(path), 0), path
    )


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
        layout.WIRE_INVOKE,
        fixed,
        tool,
        invoke.real,
        invoke.cwd,
        build,
        invoke.argv,
        invoke.env,
        invoke.limits,
    )


def encode_given(given: Given) -> bytes:
    """What a shim sends; for tests."""
    names = [f"{name}\0".encode(errors="surrogateescape") for name in given.reads]
    reads = b"".join(names)
    fixed = _GIVEN.pack(*given[2:], len(reads), 0)
    invoke = encode_invoke(given.invoke)[layout.WIRE_HEADER_LAYOUT.size :]
    return frame(layout.WIRE_GIVEN, fixed, reads, invoke)


def answer_exit(status: int, message: bytes = b"", out: bytes = b"") -> bytes:
    """The shim ends by `status`, as wait(2) gives it; before, it prints `message` on stderr, `out`
    on stdout."""
    return frame(
        layout.WIRE_ANSWER,
        _ANSWER.pack(layout.ANSWER_EXIT, status, 0, len(out), len(message), 0),
        out,
        message,
    )


def answer_exec(
    argv: bytes = b"", message: bytes = b"", *, keep_open: bool = False, command: int = -1
) -> bytes:
    """The shim becomes the real tool, with another argv if one is given, after `message`.

    command  the number under which the tool's guard asks.
    """
    fixed = _ANSWER.pack(layout.ANSWER_EXEC, 0, keep_open, len(argv), len(message), command + 1)
    return frame(layout.WIRE_ANSWER, fixed, argv, message)
