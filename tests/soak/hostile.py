"""A client that means no good: `python -m tests.soak.hostile SOCKET FOLDER SEED`.

A process of its own, because what a server promised to it lasts as long as it lives.  It names no
file outside FOLDER and no program but true and false, so whatever the server makes of it is safe.
Ends with 0 if the server went on answering, else with a sentence.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import random
import socket
import sys
from collections.abc import Callable

from smpmake.protocol import frames, layout, wire
from smpmake.protocol.wire import FileId, Invoke, Question
from tests.commands.any_argv import KNOWN, TAILS, TOOLS

CONNECTIONS = 40
PATIENCE = 20.0
NUMBERS = (0, 1, 2, 3, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1)
FILES = ("a.c", "b.c", "a.o", "b.o", "x.d", "lib.a", "prog", "d/x.o", "none", "link", ".", "d")
JSON = ("", "1", "nul", "[]", '"x"', "{", '{"op": 1}', "{}", "\xff", '{"op": NaN}', "[" * 9000)
OPERATIONS: tuple[object, ...] = (
    *("begin", "counts", "end", "env", "interrupt", "state", "wait", "dance", "", 7, None),
    *(["end"], {"op": "end"}),
)
FIELDS = (
    *("output", "guard", "foreground", "exclusive", "keep_going", "recipes"),
    "signal",
)
BEGIN = {
    **dict.fromkeys(("guard", "recipes"), True),
    "foreground": [],
    "exclusive": [],
    "keep_going": False,
}


class Hostile:
    """Draws what to send."""

    def __init__(self, folder: str, dice: random.Random) -> None:
        self._folder = folder
        self._dice = dice

    def shot(self) -> bytes:
        """What goes over one connection."""
        dice = self._dice
        draws: tuple[Callable[[], bytes], ...] = (
            *(self._noise, self._framed, self._invoke, self._invoke, self._lying),
            *(self._question, self._question, self._request, self._request),
        )
        data = b"".join(dice.choice(draws)() for _ in range(dice.choice((1, 1, 1, 2, 5))))
        kind = dice.randrange(8)
        if kind == 0:
            return data[: dice.randrange(1, len(data) + 1)]
        if kind == 1:
            flipped = bytearray(data)
            for _ in range(dice.randint(1, 4)):
                flipped[dice.randrange(len(flipped))] = dice.randrange(256)
            return bytes(flipped)
        return data

    def _noise(self) -> bytes:
        return self._dice.randbytes(self._dice.choice((1, 11, 12, 13, 200, 70_000)))

    def _framed(self) -> bytes:
        """A header that may be wrong, and anything behind it."""
        dice = self._dice
        payload = dice.randbytes(dice.choice((0, 1, 4, 24, 96, 500)))
        return (
            frames.HEADER.pack(
                layout.WIRE_MAGIC if dice.random() < 0.9 else dice.randrange(1 << 32),
                layout.WIRE_VERSION if dice.random() < 0.9 else dice.randrange(1 << 16),
                dice.choice((*range(14), dice.randrange(1 << 16))),
                len(payload) if dice.random() < 0.7 else dice.choice(NUMBERS),
            )
            + payload
        )

    def _words(self) -> bytes:
        dice = self._dice
        words = [dice.choice(TOOLS)]
        for _ in range(dice.choice((0, 1, 3, 6, 200))):
            word = dice.choice((*FILES, dice.choice(KNOWN), f"{dice.choice(KNOWN)}f"))
            if dice.random() < 0.1:
                word = dice.choice(KNOWN) + dice.choice(TAILS)
            words.append("-c" if dice.random() < 0.2 else word)
        return frames.join_strings(os.fsencode(word) for word in words if "\0" not in word)

    def _invocation(self) -> Invoke:
        dice = self._dice
        argv = self._words()
        if dice.random() < 0.3:
            argv = b"gcc\0-c\0" + dice.choice((b"a.c\0", b"a.c\0-o\0d/x.o\0", b"b.c\0-MMD\0"))
        build = dice.choice(("shell", "shell", "shell", "build-1", "", "\udcff", "nobody"))
        below = dice.choice((b"", b"", b"", b"/d", b"/none", b"/./d/..", b"/link"))
        variables = [b"PATH=/usr/bin:/bin", b"X", b"=", b"\xff=\xfe", b"MAKEFLAGS=k", b"CPATH=:"]
        return Invoke(
            os.getpid() if dice.random() < 0.8 else dice.choice(NUMBERS),
            dice.choice((0o22, 0, 0o777, *NUMBERS)),
            FileId(dice.choice(NUMBERS), dice.choice(NUMBERS)),
            FileId(dice.choice(NUMBERS), dice.choice(NUMBERS)),
            os.fsdecode(argv.partition(b"\0")[0]) if dice.random() < 0.9 else "unheard-of",
            dice.choice((b"/usr/bin/true", b"/usr/bin/true", b"/usr/bin/false", b"/nowhere/gcc")),
            os.fsencode(self._folder) + below,
            build,
            argv,
            frames.join_strings(dice.sample(variables, dice.randint(0, len(variables)))),
            dice.choice((b"", b"", dice.randbytes(16), dice.randbytes(7), bytes(16 * 16))),
            dice.choice((0, 0, 0, os.getpid(), *NUMBERS)),
        )

    def _invoke(self) -> bytes:
        return wire.encode_invoke(self._invocation())

    def _lying(self) -> bytes:
        """A whole frame with lengths that are not its blobs'."""
        dice = self._dice
        data = bytearray(dice.choice((self._invoke, self._question))())
        at = frames.HEADER.size + 4 * dice.randrange(6, 26)
        if at + 4 <= len(data):
            old = int.from_bytes(data[at : at + 4], "little")
            new = dice.choice((old + 1, old - 1, old + 4, 0, *NUMBERS)) % (1 << 32)
            data[at : at + 4] = new.to_bytes(4, "little")
        return bytes(data)

    def _path(self) -> str:
        dice = self._dice
        path = f"{self._folder}/{dice.choice(FILES)}"
        odd = (f"{path}/", f"{path}/..//./x", f"{path}\n\udcff", path + "/y" * 3000, path * 20)
        return dice.choice(odd) if dice.random() < 0.3 else path

    def _question(self) -> bytes:
        dice = self._dice
        known = range(layout.ASK_READ, layout.ASK_COMMIT + 1)
        kind = dice.choice(known) if dice.random() < 0.9 else dice.choice(NUMBERS)
        other = self._path() if dice.random() < 0.4 else ""
        pid = os.getpid() if dice.random() < 0.8 else dice.choice(NUMBERS)
        command = dice.choice((-1, -1, 0, 1, 7, 2**31 - 2, 2**32 - 2))
        build = dice.choice(("shell", "shell", "build-1", "", "nobody"))
        return wire.encode_question(Question(kind, pid, command, build, self._path(), other))

    def _value(self, depth: int = 0) -> object:
        dice = self._dice
        plain = (None, True, 0, -1, 2, 15, 10**30, 1.5, float("inf"), float("nan"), "", "x", "\0")
        kind = dice.randrange(4) if depth < 3 else 0
        if kind == 1:
            return [self._value(depth + 1) for _ in range(dice.randrange(4))]
        if kind == 2:
            return {dice.choice(FIELDS): self._value(depth + 1) for _ in range(dice.randrange(3))}
        return dice.choice(plain)

    def _request(self) -> bytes:
        """An object with fields of any kind, or no object at all.  Never `stop`: it would obey."""
        dice = self._dice
        if dice.random() < 0.15:
            return frames.frame(layout.WIRE_REQUEST, dice.choice(JSON).encode("latin-1"))
        message: dict[str, object] = {"op": dice.choice(OPERATIONS), "id": self._value()}
        if message["op"] == "begin" and dice.random() < 0.6:
            message |= BEGIN | {"output": [[1, 2], [3, 4]]}
        for _ in range(dice.choice((0, 0, 1, 2, 5))):
            message[dice.choice((*FIELDS, "build"))] = self._value()
        return frames.frame(layout.WIRE_REQUEST, json.dumps(message).encode())


def shoot(path: str, data: bytes, dice: random.Random) -> socket.socket:
    """Sends what the server takes at once, descriptors beside it; the connection."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE)
    connection.connect(path)
    connection.setblocking(False)
    count = dice.choice((2, 2, 2, 2, 0, 1, 3))
    cut = dice.randrange(1, len(data) + 1) if dice.random() < 0.3 else len(data)
    with open(os.devnull, "r+b") as null, contextlib.suppress(OSError):
        beside = array.array("i", [null.fileno()] * count).tobytes()
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, beside)] if count else []
        connection.sendmsg([data[:cut]], ancillary)
        if cut < len(data):
            connection.send(data[cut:])
        end = dice.randrange(4)
        if end == 0:
            connection.shutdown(socket.SHUT_WR)
        elif end == 1:
            connection.recv(1 << 16)
    return connection


def answers(path: str) -> bool:
    """Whether the server still answers a request that is one."""
    with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
        connection.settimeout(PATIENCE)
        connection.connect(path)
        connection.sendall(frames.encode_json(layout.WIRE_REQUEST, {"op": "state", "id": "alive"}))
        splitter = frames.Splitter()
        while data := connection.recv(1 << 16):
            for _, payload in splitter.feed(data):
                reply = frames.decode_json(payload)
                return reply.get("ok") is True and reply["id"] == "alive"
    return False


def main(path: str, folder: str, seed: str) -> int:
    """Attacks; the status."""
    dice = random.Random(seed)
    hostile = Hostile(folder, dice)
    opened: list[socket.socket] = []
    for number in range(CONNECTIONS):
        data = hostile.shot()
        opened.append(shoot(path, data, dice))
        if dice.random() < 0.5:
            opened.pop(dice.randrange(len(opened))).close()
        if dice.random() < 0.2 and not answers(path):
            print(f"after connection {number} the server does not answer", file=sys.stderr)
            print(f"the last was {data[:300]!r}", file=sys.stderr)
            return 1
    for connection in opened:
        connection.close()
    if answers(path):
        return 0
    print("in the end the server does not answer", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
