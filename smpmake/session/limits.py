"""What the system gives this process: descriptors; and since when it has been at work."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Final

from smpmake.errors import SmpmakeError

#: What is raised where the system gives no more of something: OSError, no thread, no memory (for
#: a module that is mapped, too).
SHORT: Final = (OSError, RuntimeError, MemoryError, ImportError)
_DISK: Final = 1_000_000_000  # ns that reading a program may take
_FEWEST_DESCRIPTORS: Final = 48  # for listening, a few shims and what their jobs print


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()


class ScarceError(SmpmakeError):
    """What this process may have is too little for a session."""


def most_slots() -> int:
    """How many slots the limit of open files leaves room for.  Raises ScarceError for none."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most == resource.RLIM_INFINITY:
        return sys.maxsize
    try:
        left = most - len(os.listdir("/proc/self/fd"))
    except FileNotFoundError:
        raise ScarceError("/proc is not mounted") from None
    except OSError:  # it takes a descriptor to look
        left = 0
    if left <= _FEWEST_DESCRIPTORS:
        raise ScarceError(f"at most {most} open files are allowed (ulimit -n), which is too few")
    return left - _FEWEST_DESCRIPTORS


def raise_descriptor_limit() -> int:
    """Many shims may wait at once.  Returns the soft limit that the driver is to have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        wanted = 65536 if hard == resource.RLIM_INFINITY else hard
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    return soft


def restore_descriptor_limit(soft: int) -> None:
    """As it was before `raise_descriptor_limit`, which returned `soft`."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def began_ns(
    read: Callable[[str], str] = _read,
    now: Callable[[int], int] = time.clock_gettime_ns,
) -> int:
    """When this program was started, by the monotonic clock, ns: reading Python's modules is a part
    of every build.

    The process may be older than that: a shell that did much and then became us.  So it is no
    longer ago than this process has been at work or waited for a CPU, and a second for the disk.
    """
    here = now(time.CLOCK_MONOTONIC)
    try:
        ticks = int(read("/proc/self/stat").rpartition(")")[2].split()[19])
        worked, waited = map(int, read("/proc/self/schedstat").split()[:2])
    except (OSError, ValueError, IndexError):
        return here
    age = now(time.CLOCK_BOOTTIME) - ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    at_work = worked + waited
    return here - max(0, age if age < at_work + _DISK else at_work)
