"""Whether a file that appears would be taken for a header that is elsewhere now.

A compile that was issued before a file appeared must not find it.  It matters where the search path
has a file of the same name behind it: the compile is to read that one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Final

from smpmake.schedule.job import Search

#: Where compilers look last.
_SYSTEM: Final = ("/usr/local/include", "/usr/include")


def hides(
    path: str, searches: Iterable[Search], is_to_come: Callable[[str], bool] = lambda path: False
) -> bool:
    """Whether a new file, by its canonical name, would stand before another of its name.

    The order of the folders is not looked at: a compile has several, by the kind of the directive.
    is_to_come: whether a pending command is to write a file of a canonical name.
    """
    return any(_hides(path, cwd, folders, is_to_come) for cwd, folders in searches)


def _hides(
    path: str, cwd: str, folders: tuple[str, ...], is_to_come: Callable[[str], bool]
) -> bool:
    searched = [*dict.fromkeys(os.path.realpath(os.path.join(cwd, f)) for f in folders), *_SYSTEM]
    for where in searched:
        if path.startswith(f"{where}/"):
            below = path[len(where) + 1 :]
            # Found from the search path, or from the folder of the header that includes it.
            names = {below, os.path.basename(path)}
            others = {f"{other}/{name}" for other in searched for name in names} - {path}
            if any(is_to_come(other) or os.path.exists(other) for other in others):
                return True
    return False
