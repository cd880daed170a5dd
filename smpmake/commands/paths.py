"""Names of files, as strings: faster than os.path and free of the disk."""

from __future__ import annotations

import re

NULL_DEVICE = "/dev/null"
_DEVICES = ("/dev/", "/proc/")
_CALLERS = re.compile(
    r"/dev/(?:stdin|stdout|stderr|fd/\d+)\b|/proc/(?:self|thread-self|\d+)/fd/\d+"
)


def basename(path: str) -> str:
    """What follows the last slash."""
    return path[path.rfind("/") + 1 :]


def dirname(path: str) -> str:
    """What comes before the last slash, "." if there is none."""
    at = path.rfind("/")
    return path[:at] or "/" if at >= 0 else "."


def split_suffix(path: str) -> tuple[str, str]:
    """The path up to the last dot of its name, and the rest, as compilers see it."""
    dot = path.rfind(".")
    return (path, "") if dot <= path.rfind("/") else (path[:dot], path[dot:])


def stem(path: str) -> str:
    """The path without its suffix."""
    return split_suffix(path)[0]


def join(folder: str, name: str) -> str:
    """The name in that folder."""
    return name if not folder else f"{folder.rstrip('/') or '/'}/{name}".replace("//", "/")


def callers_file(word: str) -> str:
    """The file in a word of a command line that only its own process can open, or ""."""
    found = _CALLERS.search(word) if "/" in word and not word.startswith(("-D", "-U")) else None
    return found[0] if found is not None else ""


def is_device(path: str) -> bool:
    """Whether the path is no regular file's: a device or a descriptor."""
    return path.startswith(_DEVICES) and not path.startswith("/dev/shm/")
