"""The private folder of a session or service: socket, board, journal.

A lock tells the living from the dead: what a session left whose processes were all killed is
cleaned up by the next one that starts.
"""

from __future__ import annotations

import _socket  # what socket is made of: it takes long to load, for names of constants
import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smpmake import native
from smpmake.disk.trees import remove_tree
from smpmake.errors import SmpmakeError

# A build waits for this module: what only its end needs, or a fault, is loaded there.
if TYPE_CHECKING:
    import socket

LONGEST_SOCKET: Final = 107  # sizeof sun_path - 1
_SHARED: Final = "/tmp"
_STILLBORN: Final = 3600  # s
_LEAST_FREE: Final = 16 << 20  # bytes beside ours, of which a session has some three MiB


class FolderError(SmpmakeError):
    """No private folder can be had."""


class SessionFolder:
    """`path` is 0700 and ours."""

    def __init__(self) -> None:
        """Raises FolderError."""
        with contextlib.suppress(OSError):  # the next session tries again
            clean_up_after_the_dead()
        where = _SHARED
        try:
            where = base()
            self.path = path = _new_folder(where)
        except OSError as error:
            raise _no_folder(where, error) from None
        self.socket = path / "socket"
        try:
            self._lock = _lock(path)
        except OSError as error:
            remove_tree(path)
            raise _no_folder(path, error) from None
        if _free(path) < _LEAST_FREE:  # what is left there the build's own tools need
            self.remove()
            raise _no_folder(where, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    def leave(self) -> None:
        """From now on somebody else may undo by what is in it, and remove it."""
        os.close(self._lock)

    def remove(self) -> None:
        """Removes the folder with all that is in it.

        What says how to undo goes first and the lock last: whoever is killed on the way leaves what
        the next session removes, and does nothing else with.
        """
        with contextlib.suppress(OSError):
            (self.path / "undo/head").unlink()
        with contextlib.suppress(OSError), os.scandir(self.path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    remove_tree(entry)
                elif entry.name != "lock":
                    os.unlink(entry)
        remove_tree(self.path)
        os.close(self._lock)


def base() -> str:
    """Where sessions have their folders.  Raises OSError where there is no such place."""
    place = _temporary()
    return place if is_suitable(Path(place, f"{_prefix()}{'x' * 8}")) else _SHARED


def _temporary() -> str:
    """What tempfile finds; without it where the first place that it tries will do."""
    told = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    place = os.path.abspath(next(filter(None, told), _SHARED))
    if os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
        return place
    import tempfile

    return tempfile.gettempdir()


def _free(folder: Path) -> int:
    info = os.statvfs(folder)
    return info.f_bavail * info.f_frsize


def _new_folder(where: str) -> Path:
    """A folder of a name that nobody else has.  Raises OSError."""
    while True:
        path = Path(where, f"{_prefix()}{os.urandom(4).hex()}")
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
            return path


def _prefix() -> str:
    return f"smpmake-{os.getuid()}-"


def is_suitable(folder: Path) -> bool:
    """Whether a socket in it has a name that is short enough, and the guard one for LD_PRELOAD."""
    if len(os.fsencode(folder / "socket")) > LONGEST_SOCKET:
        return False
    return native.is_preloadable(folder) or native.is_preloadable(native.guard())


def _no_folder(folder: Path | str, error: OSError) -> FolderError:
    return FolderError(
        f"{folder}: no folder for the session: {error.strerror} (make room there, or set TMPDIR)"
    )


def listen(path: Path) -> socket.socket:
    """A socket that takes connections from now on; they wait until somebody accepts them.

    Raises FolderError.
    """
    import socket

    return socket.socket(fileno=open_listener(path))


def open_listener(path: Path) -> int:
    """The same as a descriptor."""
    listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        listener.setblocking(False)
        listener.bind(os.fspath(path))
        os.chmod(path, 0o600)
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise _no_folder(path, error) from None
    return listener.detach()


def _lock(folder: Path) -> int:
    """The lock appears locked: between making a file and locking it a cleaner could come."""
    new = folder / "lock.new"
    fd = os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(new, folder / "lock")
    except BaseException:
        os.close(fd)
        raise
    return fd


def clean_up_after_the_dead() -> int:
    """Puts back and removes what killed sessions of this user left; returns how many."""
    cleaned = 0
    for place in {_temporary(), _SHARED}:
        try:
            names = [name for name in os.listdir(place) if name.startswith(_prefix())]
        except OSError:
            continue
        for name in names:
            path = Path(place, name)
            folder = _open_ours(path)
            if folder < 0:
                continue
            lock = _lock_of_the_dead(folder)
            if lock >= 0:
                clean(folder, path)
                os.close(lock)  # until now: so that only one cleans
                cleaned += 1
            else:
                _remove_stillborn(folder, path)
            os.close(folder)
    return cleaned


def clean(folder: int, path: Path) -> None:
    """Undoes, puts back and removes what was left in an open folder, whose path it was."""
    import subprocess

    command = [native.program("keeper"), "clean", str(folder), os.fspath(path)]
    subprocess.run(command, pass_fds=[folder], check=False)


def open_folder(path: Path) -> int:
    """A folder for what has to be the same one throughout.  Raises OSError, also for a link."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _open_ours(path: Path) -> int:
    """The same if it is this user's, and others cannot write to it; else -1.

    Others may write where it lies: whatever is under its name a moment later, nobody looks.
    """
    try:
        folder = open_folder(path)
    except OSError:
        return -1
    info = os.fstat(folder)
    if info.st_uid == os.getuid() and not info.st_mode & 0o022:
        return folder
    os.close(folder)
    return -1


def _lock_of_the_dead(folder: int) -> int:
    """The lock of a folder of ours that was locked once, and is by nobody now; or -1."""
    try:
        fd = os.open("lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=folder)
    except OSError:
        return -1
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return -1
    return fd


def _remove_stillborn(folder: int, path: Path) -> None:
    """A folder that has had no lock for an hour belongs to a session that was killed before."""
    with contextlib.suppress(OSError):
        if time.time() - os.fstat(folder).st_mtime > _STILLBORN:
            if "lock" not in os.listdir(folder):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink("lock.new", dir_fd=folder)
            path.rmdir()  # only an empty one goes, and no link
