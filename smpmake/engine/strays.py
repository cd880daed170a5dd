"""Ends processes of a build that nobody holds any more: their keeper or worker was killed.

One look could miss what is forked behind it, so it is looked until two find nobody.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import Final

from smpmake import variables

_PAUSE: Final = 0.002  # s between two looks: one that is just being started has no environment
_PATIENCE: Final = 10.0  # s for what cannot be killed: another user's, or one in a dead disk

#: The parent of each process.
_Parents = Mapping[int, int]


def end_strays(known: set[int]) -> None:
    """Kills our descendants, but for `known`, which are children of ours, and what is below them.

    Needs this process to be a subreaper, to which all come whose parent has died.
    """
    _end(lambda parents: _below({os.getpid()}, parents, known))


def end_build(environment: Mapping[str, str]) -> None:
    """Kills the processes of the build whose driver got this environment, and what is below them.

    They are found wherever they have come to.
    """
    mark = (variables.SOCKET, variables.BUILD)
    words = [os.fsencode(f"{name}={environment[name]}") for name in mark]
    own = os.getpid()

    def look(parents: _Parents) -> set[int]:
        marked = {pid for pid in parents if pid != own and _has(pid, words)}
        return marked | _below(marked, parents, {own})

    _end(look)


def _end(look: Callable[[_Parents], set[int]]) -> None:
    """Kills those that `look` finds, until it has found nobody twice."""
    killed: set[int] = set()
    times = 0
    until = time.monotonic() + _PATIENCE
    while times < 2 and time.monotonic() < until:
        found = look(_parents())
        for number in (signal.SIGSTOP, signal.SIGKILL):  # a shell would go on behind its child
            for pid in found:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
        killed |= found
        times = 0 if found else times + 1
        time.sleep(_PAUSE)
        for pid in killed:
            with contextlib.suppress(OSError):  # it is none of our children, or gone
                os.waitpid(pid, os.WNOHANG)


def _below(those: set[int], parents: _Parents, spared: set[int]) -> set[int]:
    """The descendants of `those`, but for `spared` and what is below them."""
    found: set[int] = set()
    level = those
    while level:
        level = {pid for pid, parent in parents.items() if parent in level} - spared - found
        found |= level
    return found


def _parents() -> dict[int, int]:
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                found[int(name)] = int(file.read().rpartition(b")")[2].split(maxsplit=2)[1])
    return found


def _has(pid: int, words: list[bytes]) -> bool:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        return set(words) <= set(file.read().split(b"\0"))
    return False
