"""Where the native programs are, and the little of the kernel that Python does not offer."""

from __future__ import annotations

import os
import re
from pathlib import Path

from smpmake.errors import SmpmakeError

_FOLDER = Path(__file__).resolve().parent.parent / "_bin"
_PR_SET_CHILD_SUBREAPER = 36


class NativeMissingError(SmpmakeError):
    """The native programs are not where the package should have them."""


def program(name: str) -> str:
    """The path of `shim`, `worker`, `keeper` or `probe`.

    Raises NativeMissingError when the package was not built.
    """
    path = _FOLDER / f"smpmake-{name}"
    if not os.access(path, os.X_OK):
        raise NativeMissingError(
            f"{path} is missing: install smpmake with pip, which compiles it with cc"
        )
    return str(path)


def guard() -> str:
    """The path of the library to preload.  Raises NativeMissingError when it was not built."""
    path = _FOLDER / "smpmake-guard.so"
    if not os.access(path, os.R_OK):
        raise NativeMissingError(
            f"{path} is missing: install smpmake with pip, which compiles it with cc"
        )
    return str(path)


def fallbacks() -> list[str]:
    """What could not be compiled as it should be at the installation, and why, a line each."""
    try:
        return (_FOLDER / "smpmake-fallbacks").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def build_id() -> str:
    """What tells this build of the package from others: the commit that it was built from, or a
    digest of the native programs where nobody knew."""
    try:
        commit = (_FOLDER / "smpmake-build").read_text(encoding="utf-8").strip()
    except OSError:
        commit = ""
    if commit:
        return commit
    import hashlib  # for whoever asks

    digest = hashlib.sha256()
    for name in ("smpmake-guard.so", "smpmake-keeper", "smpmake-shim", "smpmake-worker"):
        try:
            digest.update((_FOLDER / name).read_bytes())
        except OSError:
            return "not built"
    return f"native-{digest.hexdigest()[:12]}"


def is_preloadable(path: str | os.PathLike[str]) -> bool:
    """Whether LD_PRELOAD can hold a path: blanks and colons part its entries, $ORIGIN is read."""
    return not re.search(r"[\s:;$]", os.fspath(path))


def become_subreaper() -> None:
    """Orphans among our descendants become our children instead of init's (Linux)."""
    import _ctypes  # ctypes itself takes a millisecond more to load

    prctl = _ctypes.dlsym(_ctypes.dlopen("libc.so.6", 0), "prctl")
    _ctypes.call_function(prctl, (_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
