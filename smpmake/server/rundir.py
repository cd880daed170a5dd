"""The private folder of a session or service (socket, board, journal), and its shims.

A lock tells the living from the dead: what a session left whose processes were all killed is
cleaned up by the next one that starts.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from smpmake import native
from smpmake.errors import SmpmakeError

LONGEST_SOCKET: Final = 107  # sizeof sun_path - 1


class FolderError(SmpmakeError):
    """No private folder can be had."""


class SessionFolder:
    """`path` is 0700 and ours."""

    def __init__(self) -> None:
        clean_up_after_the_dead()
        prefix = f"smpmake-{os.getuid()}-"
        try:
            path = Path(tempfile.mkdtemp(prefix=prefix))
            if len(os.fsencode(path / "socket")) > LONGEST_SOCKET:
                path.rmdir()
                path = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))
        except OSError as error:
            raise FolderError(f"no folder for the session: {error}") from None
        self.path = path
        self.socket = path / "socket"
        self._lock = _lock(path)

    def remove(self) -> None:
        """Removes the folder with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def listen(path: Path) -> socket.socket:
    """A socket that takes connections from now on; they wait until somebody accepts them."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.setblocking(False)
    listener.bind(os.fspath(path))
    os.chmod(path, 0o600)
    listener.listen(1024)
    return listener


def _lock(path: Path) -> int:
    fd = os.open(path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return fd


def clean_up_after_the_dead() -> int:
    """Puts back and removes what killed sessions of this user left; returns how many."""
    cleaned = 0
    prefix = f"smpmake-{os.getuid()}-"
    for base in {tempfile.gettempdir(), "/tmp"}:
        try:
            names = [name for name in os.listdir(base) if name.startswith(prefix)]
        except OSError:
            continue
        for name in names:
            folder = Path(base, name)
            if _is_dead(folder):
                subprocess.run([native.program("keeper"), "clean", os.fspath(folder)], check=False)
                cleaned += 1
    return cleaned


def _is_dead(folder: Path) -> bool:
    """Ours, locked once, and locked by nobody now."""
    try:
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return False
        fd = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True
