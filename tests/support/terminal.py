"""A terminal, and a person at it."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import struct
import termios
from fcntl import ioctl

from tests.support.space import Space


class Terminal:
    """A pseudo-terminal with smpmake on it."""

    def __init__(self, space: Space, *command: str, **environment: str) -> None:
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(space.folder)
            env = {**space.environment, "TERM": "xterm", **environment}
            os.execvpe(command[0], list(command), env)
        ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.seen = b""

    def type(self, text: bytes) -> None:
        os.write(self.master, text)

    def read_until(self, word: bytes) -> None:
        while word not in self.seen:
            if not select.select([self.master], [], [], 30)[0]:
                raise AssertionError(f"{word!r} did not come: {self.seen!r}")
            self.seen += os.read(self.master, 4096)

    def finish(self) -> int:
        with contextlib.suppress(OSError):
            while data := os.read(self.master, 4096):
                self.seen += data
        _, status = os.waitpid(self.pid, 0)
        os.close(self.master)
        return os.waitstatus_to_exitcode(status)
