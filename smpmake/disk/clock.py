"""The time that files get: the file system's own, not the one that programs read."""

from __future__ import annotations

import os


class FileClock:
    """The time that the file system would give a file made now, ns.

    The kernel's clock for files is not the one that programs read, so a file of ours is touched on
    the file system in question and its time read.  It has no name: nothing is ever left behind.
    As long as it is open the file system cannot be unmounted.
    """

    def __init__(self) -> None:
        self._stamps: dict[int, int] = {}

    def now(self, folder: str) -> int:
        """Raises OSError where nothing can be written near `folder`."""
        device = os.stat(folder).st_dev
        stamp = self._stamps.get(device)
        if stamp is None:
            stamp = self._stamps[device] = self._make(folder)
        os.utime(stamp)
        return os.fstat(stamp).st_mtime_ns

    def close(self) -> None:
        """Gives the descriptors back; the next question makes new ones."""
        for stamp in self._stamps.values():
            os.close(stamp)
        self._stamps.clear()

    @staticmethod
    def _make(folder: str) -> int:
        try:
            return os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        except OSError:
            import tempfile  # few file systems need it

            stamp, name = tempfile.mkstemp(dir=folder, prefix=".smpmake-")
            os.unlink(name)
            return stamp
