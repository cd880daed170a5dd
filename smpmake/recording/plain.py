"""Values as JSON has them: bytes as texts, files as pairs, environments by hashes.

A recording tells nothing of a variable but its name and a hash of its value, unless the engine has
asked for the value, or it says where files are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any, Final

from smpmake import variables
from smpmake.protocol import layout
from smpmake.protocol.frames import HEADER, blobs
from smpmake.protocol.wire import FileId, Invoke, Question
from smpmake.protocol.working import Result

#: Variables that say where things are, and are looked at without being asked for by name.
_SHOWN: Final = frozenset(
    (
        *variables.ALL,
        *("CPATH", "LIBRARY_PATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH"),
        *("LD_PRELOAD", "PATH", "PWD"),
    )
)
_HIDDEN: Final = re.compile("#[0-9a-f]{16}")
_JOB: Final = layout.WIRE_JOB_LAYOUT
#: Descriptors of ours have other numbers in each run.
_OURS: Final = re.compile(r"/proc/\d+/fd/\d+")


def text_of(data: bytes) -> str:
    """Bytes as a text, from which `bytes_of` makes the same bytes again."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """The inverse of `text_of`."""
    return text.encode("utf-8", "surrogateescape")


def digest(data: bytes, salt: bytes = b"") -> str:
    """What stands for bytes that are kept once, or not at all.

    salt  a recording's own: short secrets cannot be looked up in a table of hashes.
    """
    return hashlib.blake2b(data, digest_size=8, salt=salt).hexdigest()


# ------------------------------------------------------------------ variables


def hidden(value: str, salt: bytes) -> str:
    """What stands for a variable's value."""
    return value if _HIDDEN.fullmatch(value) else f"#{digest(bytes_of(value), salt)}"


def is_hidden(value: str) -> bool:
    """Whether this is no value, but stands for one."""
    return _HIDDEN.fullmatch(value) is not None


def pairs_of(blob: bytes) -> list[tuple[str, str]]:
    """An environment's variables; a text without "=" is a name without a value."""
    return [_pair(each) for each in text_of(blob).split("\0")[:-1]]


def _pair(variable: str) -> tuple[str, str]:
    name, equals, value = variable.partition("=")
    return (name, value) if equals else (variable, "\1")


def blob_of(pairs: list[tuple[str, str]]) -> bytes:
    """The inverse of `pairs_of`."""
    return bytes_of(
        "".join(f"{name}\0" if value == "\1" else f"{name}={value}\0" for name, value in pairs)
    )


def shown(name: str, value: str, salt: bytes) -> str:
    """A variable's value as a recording has it."""
    return value if name in _SHOWN or value == "\1" else hidden(value, salt)


def sketch(blob: bytes, salt: bytes) -> list[list[str]]:
    """An environment as a recording has it."""
    return [[name, shown(name, value, salt)] for name, value in pairs_of(blob)]


def environment_digest(blob: bytes, salt: bytes) -> str:
    """What an environment is called: the same for its sketch."""
    return digest(blob_of([(name, hidden(value, salt)) for name, value in pairs_of(blob)]), salt)


# ------------------------------------------------------------------ what comes and goes


def of_invoke(invoke: Invoke, environment: Callable[[bytes], str]) -> dict[str, Any]:
    """An invocation; `environment` tells what one is called."""
    found: dict[str, Any] = {}
    for name in Invoke.__slots__:
        value = getattr(invoke, name)
        if name == "env":
            value = environment(value)
        elif name == "limits":
            value = value.hex()
        found[name] = text_of(value) if isinstance(value, bytes) else value
    return found


def to_invoke(found: dict[str, Any], environment: Callable[[str], bytes]) -> Invoke:
    """The inverse of `of_invoke`."""
    values = dict(found)
    values["env"] = environment(values["env"])
    values["limits"] = bytes.fromhex(values["limits"])
    values["out"], values["err"] = FileId(*values["out"]), FileId(*values["err"])
    for name in ("real", "cwd", "argv"):
        values[name] = bytes_of(values[name])
    return Invoke(**values)


def of_result(result: Result) -> list[Any]:
    """How a job went."""
    return [text_of(each) if isinstance(each, bytes) else each for each in result]


def to_result(found: list[Any]) -> Result:
    """The inverse of `of_result`."""
    *fixed, out, err = found
    return Result(*(*fixed, bytes_of(out), bytes_of(err)))


def to_question(found: list[Any]) -> Question:
    """A guard's question, which is a list as it is."""
    return Question(*found)


def of_order(frame: bytes, salt: bytes) -> dict[str, Any]:
    """An order to a worker: its parts, the environment by its variables' hashes."""
    payload = frame[HEADER.size :]
    number, issued_ns, ignored, blocked, nicer, mask, flags, *rest = _JOB.unpack_from(payload)
    outputs, real, cwd, argv, environment, limits, rows, columns, lent = rest
    parts = blobs(payload, _JOB.size, outputs, real, cwd, argv, environment, limits, lent)
    ours = [
        f"{name}={_OURS.sub('/proc/self/fd/N', value)}"
        for name, value in pairs_of(parts[4])
        if name in variables.ALL
    ]
    return {
        "job": number,
        "issued": issued_ns,
        "signals": [ignored, blocked],
        "nicer": nicer,
        "mask": mask,
        "flags": flags,
        "terminal": [rows, columns],
        "outputs": text_of(parts[0]),
        "real": text_of(parts[1]),
        "cwd": text_of(parts[2]),
        "argv": text_of(parts[3]),
        "environment": environment_digest(
            bytes_of(_OURS.sub("/proc/self/fd/N", text_of(parts[4]))), salt
        ),
        "ours": ours,
        "limits": parts[5].hex(),
        "lent": text_of(parts[6]),
    }
