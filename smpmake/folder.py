"""The private folder of a session or service (socket, board, journal), and its shims.

A lock tells the living from the dead: what a session left whose processes were all killed is
cleaned up by the next one that starts.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from smpmake import __version__, native
from smpmake.commands import families
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


def shims_for(search_path: str) -> Path:
    """A folder with a shim for every known tool on a PATH; made once, then used again.

    It outlives the session: a configure script that runs inside a build may write down the
    paths of tools that it found, and those must go on working (as the plain tools).  Which folder
    belongs to a PATH is remembered as long as none of PATH's folders changes.
    Raises FolderError.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if base.startswith("/") else Path.home() / ".cache"
    cache = home / "smpmake" / "shims"
    index = cache / "by-path" / _digest(_state_of(search_path))
    try:
        return index.resolve(strict=True)
    except OSError:
        pass
    try:
        index.parent.mkdir(parents=True, exist_ok=True)
        folder = _make_shims(cache, search_path)
        with contextlib.suppress(FileExistsError):
            index.symlink_to(folder)
    except OSError as error:
        raise FolderError(f"no folder for shims: {error}") from None
    return folder


def _make_shims(cache: Path, search_path: str) -> Path:
    """Raises OSError."""
    from smpmake import tools  # knows every command: not needed when the cache does

    found = tools.find_tools(search_path)
    shim = native.program("shim")
    folder = cache / _digest([shim, *(tool.name for tool in found)])
    if folder.is_dir():
        return folder
    new = Path(tempfile.mkdtemp(dir=cache))
    for tool in found:
        (new / tool.name).symlink_to(shim)
    new.chmod(0o755)
    try:
        new.rename(folder)
    except OSError:  # another session was quicker
        shutil.rmtree(new)
    return folder


def _state_of(search_path: str) -> list[str]:
    """What finding tools depends on: PATH, the times of its folders, ourselves, known names."""
    state = [__version__, native.program("shim"), search_path, *families.patterns()]
    for name in search_path.split(":"):
        with contextlib.suppress(OSError):
            state.append(f"{os.stat(name or '.').st_mtime_ns} {os.path.abspath(name or '.')}")
    return state


def _digest(words: list[str]) -> str:
    return hashlib.sha256(os.fsencode("\n".join(words))).hexdigest()[:16]


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
