"""Where what a build destroys is kept, and where it is not."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from smpmake import folders


def backup_dirs(tree: str, kept: Path) -> list[Path]:
    """A folder outside of the tree, on its file system, where the session's own lies elsewhere."""
    device = os.stat(tree).st_dev
    if os.stat(kept).st_dev == device:
        return []
    name = kept.parent.parent.name.removeprefix("smpmake-")
    for folder in [*reversed(Path(tree).parents), Path(tree)]:
        store = folder / f".smpmake-{name}"
        with contextlib.suppress(OSError):
            if os.stat(folder).st_dev == device:
                store.mkdir(mode=0o700)
                return [store]
    return []


def excepted(folder: Path, longest: int) -> list[bytes]:
    """Folders whose files are no part of a build: the system's own, ours, caches, states.

    Those whose names have at least `longest` bytes are left out.
    """
    found = ["/proc", "/sys", os.fspath(folder)]
    for find in (folders.cache, folders.state):
        with contextlib.suppress(folders.NoHomeError):
            found.append(os.fspath(find().parent))
    return [os.fsencode(each) for each in found if len(os.fsencode(each)) < longest]


def move(source: str, destination: str) -> None:
    """Renames a file, or copies it where that is on another file system.

    Raises OSError: then it is where it was, and no half of it elsewhere.
    """
    try:
        os.rename(source, destination)
    except OSError:
        import shutil  # few builds need it, all would wait for it

        with contextlib.suppress(FileNotFoundError):
            os.unlink(destination)
        try:
            shutil.copy2(source, destination, follow_symlinks=False)
        except OSError:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(destination)
            raise
        os.unlink(source)
