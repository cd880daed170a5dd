"""The file of a recording: a line that says what it is, then pieces of one zlib stream.

Each piece is a length and what was compressed since the piece before, flushed, so that a build that
is killed leaves all whole pieces.  Unpacked it is a JSON value a line.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from smpmake.errors import SmpmakeError

VERSION: Final = 1
_HEAD: Final = b"smpmake recording %d\n"
_LENGTH: Final = struct.Struct("<I")
_LEVEL: Final = 3


class TapeError(SmpmakeError):
    """A recording cannot be written or read; the message says which, and why."""


class TapeWriter:
    """Raises TapeError where the file cannot be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._zip = zlib.compressobj(_LEVEL)
        try:
            self._file = open(path, "wb", buffering=0)  # noqa: SIM115 (closed by `close`)
            try:
                self._file.write(_HEAD % VERSION)
            except BaseException:
                self._file.close()
                raise
        except OSError as error:
            raise TapeError(f"{path}: smpmake cannot record there: {error.strerror}") from None
        self.fault = ""

    def add(self, *lines: Any) -> None:
        """Writes values, a line each.  A disk that is full ends the recording, not the build."""
        if self.fault:
            return
        text = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
        data = self._zip.compress(text.encode()) + self._zip.flush(zlib.Z_SYNC_FLUSH)
        piece = _LENGTH.pack(len(data)) + data
        try:
            if self._file.write(piece) != len(piece):
                self.fault = "no room is left"
        except OSError as error:
            self.fault = error.strerror or str(error)

    def close(self) -> None:
        """The recording is over."""
        self._file.close()


def read(path: Path) -> Iterator[Any]:
    """The values of a recording, in their order.

    Raises TapeError at the place where it cannot be read any further.
    """
    try:
        with open(path, "rb") as file:
            yield from _values(path, file)
    except OSError as error:
        raise TapeError(f"{path}: cannot be read: {error.strerror}") from None


def _values(path: Path, file: BinaryIO) -> Iterator[Any]:
    head = file.readline(64)
    if not head.startswith(_HEAD[:-4]):
        raise TapeError(f"{path}: no recording of smpmake's (`smpmake --record FILE` makes one)")
    if head != _HEAD % VERSION:
        version = head[len(_HEAD) - 4 :].strip().decode(errors="replace")
        raise TapeError(
            f"{path}: a recording of version {version}, and this smpmake reads version {VERSION}: "
            "record the build again"
        )
    unzip = zlib.decompressobj()
    number = 0
    while length := file.read(_LENGTH.size):
        number += 1
        wanted = _LENGTH.unpack(length)[0] if len(length) == _LENGTH.size else 0
        data = file.read(wanted)
        if not wanted or len(data) < wanted:
            raise TapeError(
                f"{path}: the file is cut in its piece {number}; those before are whole"
            )
        try:
            lines = unzip.decompress(data).splitlines()
            values = [json.loads(line) for line in lines]
        except (zlib.error, ValueError) as error:
            raise TapeError(f"{path}: piece {number} is damaged: {error}") from None
        yield from values
