"""What the driver gets to reach us: its environment, and which files are its output."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from smpmake import native, variables
from smpmake.disk.elf import takes_guard
from smpmake.errors import SmpmakeError

if TYPE_CHECKING:
    from smpmake.protocol.wire import FileId

#: What a process of another build above us may have.
_OF_OTHERS: Final = (
    *(variables.CALLER, variables.UNGUARDED, variables.COMMAND, variables.TRACE),
    *(variables.GUARD, variables.SHIMS, variables.MEMO, variables.MEMORUN),
    *(variables.RECALL, variables.TREE, variables.AHEAD),
)


def driver_environment(
    shims: Path, socket: Path, board: Path, build: str, *, guarded: str = ""
) -> dict[str, str]:
    """The user's environment, with what the driver needs to reach us.

    guarded is the driver's program, or "" for none.  A guard catches tools wherever they are called
    from, so PATH can stay as it is: what configures itself during the build finds the tools that
    it would find serially.  Without one (--no-guard, or a driver that takes none, whose children
    still may) our shims come first on PATH.  Raises SmpmakeError where a name does not allow that.
    """
    environment = dict(os.environ)
    path = environment.get("PATH", os.defpath)
    environment[variables.SOCKET] = os.fspath(socket)
    environment[variables.BOARD] = os.fspath(board)
    environment[variables.BUILD] = build
    for name in _OF_OTHERS:
        environment.pop(name, None)
    if guarded:
        library = _preloadable(native.guard(), board.parent)
        others = re.split("[ :]+", environment.get("LD_PRELOAD", "").strip(" :"))
        libraries = [library, *(each for each in others if each not in ("", library))]
        environment["LD_PRELOAD"] = ":".join(libraries)
        environment[variables.GUARD] = library
        environment[variables.SHIMS] = os.fspath(shims)
        if takes_guard(guarded):
            return environment
        environment[variables.CALLER] = "0000000000"
    if not path.startswith(f"{shims}:"):
        environment["PATH"] = f"{shims}:{path}"
    return environment


def _preloadable(library: str, folder: Path) -> str:
    """The library under a name that LD_PRELOAD can hold.  Raises SmpmakeError if there is none."""
    if native.is_preloadable(library):
        return library
    link = folder / "guard.so"
    if not native.is_preloadable(link):
        raise SmpmakeError(
            f"the guard cannot be preloaded from {library}, nor by way of {folder}: "
            "the names have blanks or colons (use --no-guard, or install smpmake elsewhere)"
        )
    try:
        with contextlib.suppress(FileExistsError):
            link.symlink_to(library)
    except OSError as error:
        raise SmpmakeError(f"{link}: cannot be made: {error.strerror}") from None
    return str(link)


def output_ids() -> tuple[FileId, FileId]:
    """Which files our own stdout and stderr are."""
    return file_id(1), file_id(2)


def file_id(fd: int) -> FileId:
    """Which file a descriptor of ours is; /dev/null for one that is closed."""
    from smpmake.protocol.wire import FileId  # not before there is a driver

    try:
        info = os.fstat(fd)
    except OSError:
        info = os.stat("/dev/null")
    return FileId(info.st_dev, info.st_ino)
