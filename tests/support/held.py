"""A compiler that stands still until the test lets it go, so that who comes too early shows."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from contextlib import closing
from typing import Any

import psutil

from smpmake.protocol.client import Client, ServerGoneError
from tests.support.space import SMPMAKE, Ended, Space, words

_GCC = """#!/bin/sh
case "$*" in *held*) if [ -p {go} ]; then {{ read word < {go}; }} 2> /dev/null; fi;; esac
exec {gcc} "$@"
"""


def _is_left(process: subprocess.Popen[bytes]) -> bool:
    """Whether smpmake's driver has ended."""
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children():
            if child.name() == "smpmake-keeper":
                return not child.children()
    return False


def _is_stuck(pending: list[list[Any]]) -> bool:
    """Whether some driver waits for a command of its own: one that waits, or the held one itself.

    A job in the pool that waits holds nobody up: its driver goes on behind it.
    """
    own = [state for _, state, _, mode in pending if mode != "deferred"]
    in_pool = any(state == "running" and mode == "deferred" for _, state, _, mode in pending)
    return "waiting" in own or (bool(own) and not in_pool)


class Held:
    """Commands of gcc with "held" among their words wait for `release`; serially they do not."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.gate = space.root / "go"
        space.fake("gcc", _GCC.format(go=self.gate, gcc=shutil.which("gcc")))

    def serial(self, files: dict[str, str], command: list[str]) -> tuple[int, dict[str, str]]:
        """The oracle: status and tree of the plain driver."""
        self.space.clear()
        self.space.write(files)
        status = self.space.run(*command).status
        return status, self.tree()

    def parallel(
        self,
        files: dict[str, str],
        command: list[str],
        *options: str,
        witness: str = "",
        alone: bool = False,
        command_waits: bool = False,
        since: str = "",
    ) -> tuple[Ended, dict[str, str]]:
        """Status and tree under smpmake, where the held command ends only when somebody waits for
        it, or when the driver has come to its own end without (it makes a file `after`).

        witness  a file that must be there before anything is let go.
        alone    the held command must be the only one.
        command_waits  another command that waits is somebody too.
        since    who waits before this file is there is nobody.
        """
        self.space.clear()
        self.space.write(files)
        process = self.start(*words(options, command))
        while process.poll() is None and not self._is_time(witness, alone, since):
            pending = self._state().get("pending", [])
            if command_waits and any(p[1] == "waiting" for p in pending):
                break
            # A held command that runs in place stops its driver: nobody else comes.
            if not (witness or since) and _is_stuck(pending) and self._let_go():
                break
        self.release(process)
        return self.space.finish(process), self.tree()

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts smpmake; the next command that is to be held will be."""
        os.mkfifo(self.gate)
        return self.space.start(SMPMAKE, *arguments)

    def let_go_when_stuck(self, process: subprocess.Popen[bytes]) -> None:
        """Lets go what is held once its driver can do no more, or has made a file `after`."""
        while process.poll() is None:
            over = (self.space.folder / "after").exists()
            state = self._state()
            pending = state.get("pending", [])
            stands = state.get("waiting", 0) > 0 or bool(state.get("awaited"))
            if over or stands or _is_stuck(pending):
                break
            if pending and _is_left(process):  # with nothing pending it may not have begun
                break
        self.release(process)

    def tree(self) -> dict[str, str]:
        """The space's tree."""
        return self.space.tree()

    def release(self, process: subprocess.Popen[bytes]) -> None:
        """Lets all held commands go, now and from now on."""
        while self.gate.exists() and process.poll() is None:
            self._let_go()
        self.gate.unlink(missing_ok=True)

    def _let_go(self) -> bool:
        """Lets go what is held, if anything is."""
        try:
            end = os.open(self.gate, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads yet
            return False
        self.gate.unlink()
        os.close(end)
        return True

    def _is_time(self, witness: str, alone: bool, since: str) -> bool:
        folder = self.space.folder
        if since and not (folder / since).exists():
            return False
        if witness and not (folder / witness).exists():
            return False
        # Looked at before the server is asked: what it counts then is all that there will be.
        over = (folder / "after").exists()
        state = self._state()
        waits = [p for p in state.get("pending", []) if (p[1], p[3]) == ("waiting", "foreground")]
        if state.get("waiting", 0) > 0 or waits:
            return True
        if alone and state.get("running", 2) + state.get("queued", 0) > 1:
            return False
        return over

    def _state(self) -> dict[str, Any]:
        for session in self.space.temporary.glob("smpmake-*/socket"):
            with contextlib.suppress(ServerGoneError, OSError), closing(Client(session)) as client:
                return client.ask("state")
        return {}
