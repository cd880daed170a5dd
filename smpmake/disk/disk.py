"""What the engine does to the file system: one seam, so that it can be played with another.

Questions about names go to `paths`; everything that changes something is a method here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from pathlib import Path
from typing import Final

from smpmake.disk.clock import FileClock
from smpmake.disk.paths import Paths

_TICK: Final = 20_000_000  # ns: the longest between two of the kernel's times for files


class Disk:
    """One per engine.  folder: the session's, where private files lie."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.paths = Paths()
        self._clock = FileClock()
        self._newest_ns = 0
        self._texts = 0

    def time_in(self, folder: str) -> int:
        """The file system's time now, ns, as a file made in `folder` would get it."""
        try:
            return self._clock.now(folder)
        except OSError:
            return time.time_ns()  # nothing can be written there: the tool will say so

    def output_time(self, issued_ns: int) -> int:
        """The time for the outputs of a command that was issued at `issued_ns`: later than all that
        was there, to which the file system may have given that very time, and later than those of
        the command before."""
        now = time.time_ns()
        is_near = issued_ns <= now < issued_ns + _TICK  # else that file system has another clock
        dated_ns = now if is_near else issued_ns
        if 0 <= self._newest_ns - dated_ns < _TICK:
            dated_ns = self._newest_ns + 1
        self._newest_ns = dated_ns
        return dated_ns

    def let_go(self) -> None:
        """Keeps no file system from being unmounted, until something is asked again."""
        self._clock.close()

    def rename(self, source: str, destination: str, issued_ns: int) -> None:
        """As the command would that was issued at `issued_ns`.  Raises OSError, also where both are
        one file already, with which rename(2) and mv do different things."""
        with contextlib.suppress(FileNotFoundError):
            if os.path.samefile(source, destination):
                raise FileExistsError(errno.EEXIST, "the same file", destination)
        folders = {os.path.dirname(path): 0 for path in (source, destination)}
        for folder in folders:
            folders[folder] = os.stat(folder).st_mtime_ns
        os.rename(source, destination)
        for folder, changed in folders.items():
            with contextlib.suppress(OSError):
                info = os.stat(folder)
                if info.st_mtime_ns != changed and not info.st_mode & stat.S_ISVTX:
                    os.utime(folder, ns=(info.st_atime_ns, max(changed, issued_ns)))

    def remove(self, *paths: str) -> None:
        """Removes what is there of some files."""
        for path in paths:
            with contextlib.suppress(OSError):
                os.unlink(path)

    @staticmethod
    def make_folder(path: str, mask: int) -> None:
        """As mkdir does under that umask; where it cannot, whoever needs the folder will say so."""
        with contextlib.suppress(OSError):
            os.mkdir(path)
            inherited = os.stat(path).st_mode & stat.S_ISGID
            os.chmod(path, 0o777 & ~mask | inherited)

    def private_text(self, text: str) -> str:
        """The name of a private file with that text; it goes with the session, or by `remove`."""
        folder = self.folder / "kept"
        folder.mkdir(mode=0o700, exist_ok=True)
        self._texts += 1
        path = folder / f"{self._texts}.lbc"  # with a suffix, or wlib would add its own
        path.write_bytes(text.encode(errors="surrogateescape"))
        return str(path)

    def private_folder(self, number: int) -> str:
        """A folder for what is made on the way to command `number`'s output."""
        folder = str(self.folder / "parts" / str(number))
        os.makedirs(folder, mode=0o700)
        return folder

    def remove_folder(self, folder: str) -> None:
        """Removes a private folder with the files in it."""
        self.remove(*(entry.path for entry in os.scandir(folder)))
        with contextlib.suppress(OSError):
            os.rmdir(folder)
