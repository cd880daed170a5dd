"""A named server of its own, to be attacked."""

from __future__ import annotations

import socket

from tests.support.space import SMPMAKE, Space


class Running:
    """`smpmake serve` in a space."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.process = space.start(SMPMAKE, "serve", "--socket", "t", "-j2")
        assert self.process.stderr is not None
        line = self.process.stderr.readline().decode()
        assert "serving 2 slots" in line, line
        self.socket = line.rsplit(" ", 1)[1].strip()

    def connect(self) -> socket.socket:
        """A connection to it; who waits for more than 20 s there waits in vain."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(20)
        connection.connect(self.socket)
        return connection

    def stop(self) -> str:
        """Ends the server; its log."""
        assert self.space.run(SMPMAKE, "stop", "--socket", "t").status == 0
        ended = self.space.finish(self.process)
        assert ended.status == 0
        return ended.err
