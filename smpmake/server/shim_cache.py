"""Folders of shims that builds use, made once and then used again.

A build waits for this module: what finds tools is loaded where a folder is made.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from smpmake import __version__, commands, folders, native, private
from smpmake.errors import SmpmakeError

_FOR_LINES: Final = ".line"  # no tool of that name is on anybody's PATH


class ShimFolderError(SmpmakeError):
    """There is no place for a folder of shims."""


def shims_for(search_path: str, session: Path, described: Sequence[str] = ()) -> Path:
    """A folder with a shim for every known tool on a PATH; made once, then used again.

    described: what the names of tools match that the configuration has besides.

    It outlives the session: a configure script that runs inside a build may write down the
    paths of tools that it found, and those must go on working (as the plain tools).  Which folder
    belongs to a PATH is remembered as long as none of PATH's folders changes.  Where the cache
    cannot have it (no home, read-only, full, others may write there, or with a colon, which would
    part it in a PATH) it is in the session's folder, for this session alone.
    Raises ShimFolderError.
    """
    why = ""
    try:
        cache = folders.cache() / "shims"
        if ":" not in str(cache):
            return _cached(cache, search_path, described)
    except (folders.NoHomeError, OSError) as error:
        why = f": {error}"
        if isinstance(error, private.SharedError):
            private.complain(error, "this build has shims of its own", private.ANOTHER_CACHE)
    own = session / "shims"
    if ":" in str(own):
        raise ShimFolderError(
            f"no folder for shims{why}: neither XDG_CACHE_HOME nor TMPDIR is without a colon"
        )
    try:
        own.mkdir(mode=0o700, exist_ok=True)
        return _make_shims(own, search_path)
    except OSError as error:
        raise ShimFolderError(f"no folder for shims: {error}") from None


def _cached(cache: Path, search_path: str, described: Sequence[str]) -> Path:
    """Raises OSError."""
    private.demand_folder(cache)
    state = os.fsencode("\n".join(_state_of(search_path, described)))
    index = f"by-path/{zlib.crc32(state):08x}"
    with contextlib.suppress(OSError):
        path, _, of = private.read(index, below=cache).partition(b"\0")
        name = os.path.basename(os.fsdecode(path))
        if of == state and name:
            os.close(private.opened(name, private.FOLDER, below=cache))
            return cache / name
    folder = _make_shims(cache, search_path)
    private.demand_folder(folder.name, below=cache)
    private.demand_folder("by-path", below=cache)
    new = cache / f"{index}.{os.getpid()}"
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(os.fsencode(folder) + b"\0" + state)
    new.rename(cache / index)
    return folder


def _make_shims(cache: Path, search_path: str) -> Path:
    """Raises OSError."""
    import hashlib
    import shutil
    import tempfile

    from smpmake.commands import families
    from smpmake.server.shims import find_tools

    found = {*(tool.name for tool in find_tools(search_path)), *families.built_tools(), _FOR_LINES}
    shim = native.program("shim")
    names = os.fsencode("\n".join([shim, *sorted(found)]))
    folder = cache / hashlib.sha256(names).hexdigest()[:16]
    if folder.is_dir():
        return folder
    new = Path(tempfile.mkdtemp(dir=cache))
    try:
        for name in found:
            (new / name).symlink_to(shim)
        new.rename(folder)
    except OSError:
        shutil.rmtree(new, ignore_errors=True)
        if not folder.is_dir():  # or another session was quicker
            raise
    return folder


def _state_of(search_path: str, described: Sequence[str]) -> list[str]:
    """What finding tools depends on: PATH, the times of its folders, ourselves, known names."""
    state = [__version__, native.program("shim"), search_path, *described]
    (known,) = commands.__path__
    for name in (known, os.path.join(known, "families.py"), *search_path.split(":")):
        with contextlib.suppress(OSError):
            state.append(f"{os.stat(name or '.').st_mtime_ns} {os.path.abspath(name or '.')}")
    return state
