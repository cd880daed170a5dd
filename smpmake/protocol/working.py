"""What workers are told, and say: bytes in, values out.

The other half is native/layout/wire.h; docs/wire.md describes both.  Pure: no socket is touched.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from smpmake.protocol import layout
from smpmake.protocol.frames import HEADER, WireError, blobs
from smpmake.protocol.layout import (
    JOB_AWAITED,
    JOB_JOURNALED,
    JOB_MERGED_OUTPUT,
    OUTPUT_BEHIND,
    OUTPUT_MADE,
    OUTPUT_PERHAPS,
    OUTPUT_PRINTED,
    OUTPUT_TIMED,
)
from smpmake.protocol.wire import Invoke

_JOB: Final = layout.WIRE_JOB_LAYOUT
_WORKER: Final = layout.WIRE_WORKER_LAYOUT
_RESULT: Final = layout.WIRE_RESULT_LAYOUT
_NOT_FOUND: Final = 127


class Terminal(NamedTuple):
    """What of a job's output would have gone to a terminal (JOB_TERMINAL_...), and its size."""

    flags: int
    rows: int
    columns: int


class Inherited(NamedTuple):
    """What a worker's tools inherit: the number of it (0: not told), and niceness."""

    number: int = 0
    nice: int = 0


class Result(NamedTuple):
    """How a job went.  Times: monotonic clock, ns; CPU: microseconds; memory: KiB.

    wait_status  as wait(2) gives it, or -1 when the tool could not be started (see `error`, an
                 errno).
    missing      outputs that should be there after a success and are not.
    """

    id: int
    wait_status: int
    error: int
    start_ns: int
    end_ns: int
    user_us: int
    system_us: int
    max_rss_kib: int
    minor_faults: int
    major_faults: int
    voluntary: int
    involuntary: int
    missing: int
    out: bytes
    err: bytes

    @property
    def ok(self) -> bool:
        """Whether the tool ran and was content."""
        return self.wait_status == 0 and self.error == 0

    @property
    def ending(self) -> int:
        """As wait(2) gives it for one that a shell has called."""
        return self.wait_status if self.wait_status >= 0 else _NOT_FOUND << 8


def encode_output(
    path: bytes,
    aside: bytes,
    *,
    timed: bool,
    made: bool,
    printed: bool = False,
    perhaps: bool = False,
    behind: bool = False,
) -> bytes:
    """One output of a job; `aside` is where its stale copy was put, or empty."""
    flags = (OUTPUT_TIMED if timed else 0) | (OUTPUT_MADE if made else 0)
    flags |= (OUTPUT_PRINTED if printed else 0) | (OUTPUT_PERHAPS if perhaps else 0)
    flags |= OUTPUT_BEHIND if behind else 0
    return b"%c%b\0%b\0" % (flags, path, aside)


def encode_job(
    job_id: int,
    issued_ns: int,
    invoke: Invoke,
    argv: bytes,
    outputs: bytes,
    *,
    merged: bool,
    journaled: bool,
    awaited: bool = False,
    environment: bytes,
    terminal: Terminal | None = None,
    lent: bytes = b"",
    nicer: int = 0,
) -> bytes:
    """An order for a worker: `argv` in the invocation's context, but for its environment.

    merged: stdout and stderr are one file; journaled: unless it finishes, it is undone; awaited:
    its caller hears how it ends; lent: the FIFO of a job server for it; nicer: by how much its
    niceness is to be above the worker's.
    """
    flags = (JOB_MERGED_OUTPUT if merged else 0) | (JOB_JOURNALED if journaled else 0)
    flags |= JOB_AWAITED if awaited else 0
    flags |= terminal.flags if terminal is not None else 0
    return b"".join(
        (
            HEADER.pack(
                layout.WIRE_MAGIC,
                layout.WIRE_VERSION,
                layout.WIRE_JOB,
                _JOB.size
                + len(outputs)
                + len(invoke.real)
                + len(invoke.cwd)
                + 2
                + len(argv)
                + len(environment)
                + len(invoke.limits)
                + len(lent)
                + 1,
            ),
            _JOB.pack(
                job_id,
                issued_ns,
                invoke.ignored,
                invoke.blocked,
                nicer,
                invoke.mask,
                flags,
                len(outputs),
                len(invoke.real) + 1,
                len(invoke.cwd) + 1,
                len(argv),
                len(environment),
                len(invoke.limits),
                *(terminal[1:] if terminal is not None else (0, 0)),
                len(lent) + 1,
            ),
            outputs,
            invoke.real,
            b"\0",
            invoke.cwd,
            b"\0",
            argv,
            environment,
            invoke.limits,
            lent,
            b"\0",
        )
    )


def job_of(frame: bytes) -> int:
    """The number of the job that an order (`encode_job`) is about."""
    return int(_JOB.unpack_from(frame, HEADER.size)[0])


def decode_worker(payload: bytes) -> Inherited:
    """What a worker says first.  Raises WireError when it is not as long as that."""
    if len(payload) != _WORKER.size:
        raise WireError("a worker's first words are cut short")
    number, nice, _ = _WORKER.unpack(payload)
    return Inherited(number, nice)


def decode_result(payload: bytes) -> Result:
    """Raises WireError when lengths do not add up."""
    if len(payload) < _RESULT.size:
        raise WireError("a result is cut short")
    *fixed, out_len, err_len, _ = _RESULT.unpack_from(payload)
    out, err = blobs(payload, _RESULT.size, out_len, err_len)
    return Result(*(*fixed, out, err))


def failed_result(job_id: int, error: int) -> Result:
    """What stands for the result of a worker that can give none any more; `error` is an errno."""
    return Result(job_id, -1, error, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b"", b"")
