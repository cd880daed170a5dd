"""Folders of our own, with all that is in them."""

from __future__ import annotations

import contextlib
import os


def remove_tree(folder: str | os.PathLike[str]) -> None:
    """Removes a folder of ours with all that is in it, as far as that can be.

    shutil does that, too, but takes longer to load than most builds have to remove.
    """
    for place, folders_in, files in os.walk(folder, topdown=False):
        for name in files:
            with contextlib.suppress(OSError):
                os.unlink(f"{place}/{name}")
        for name in folders_in:
            with contextlib.suppress(OSError):
                os.unlink(f"{place}/{name}")  # a link to one
            with contextlib.suppress(OSError):
                os.rmdir(f"{place}/{name}")
    with contextlib.suppress(OSError):
        os.rmdir(folder)
