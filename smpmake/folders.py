"""The user's folders, where the XDG specification has them (by the library platformdirs), and where
settings may be."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from smpmake.errors import SmpmakeError

_NAME: Final = "smpmake"
_BELOW_HOME: Final = {"config": ".config", "state": ".local/state", "cache": ".cache"}


class NoHomeError(SmpmakeError):
    """A folder lies below the user's home, and there is none."""


def config() -> Path:
    """Of settings: ~/.config/smpmake.  Raises NoHomeError, as the others."""
    return _folder("config")


def state() -> Path:
    """Of what is to be kept: ~/.local/state/smpmake."""
    return _folder("state")


def of_project(project: str, suffix: str = "", base: Path | None = None) -> Path:
    """The file of what is remembered of a project, a folder in which smpmake was started.

    base  where those of all projects are; the user's, if none is given.  Raises NoHomeError.
    """
    from smpmake.digests import sha256  # not before there is a driver

    name = sha256(os.fsencode(project)).hexdigest()[:16]
    return (base or state() / "projects") / f"{name}{suffix}"


def replace_file(path: Path, lines: Iterable[str]) -> None:
    """Writes a file of ours, whole or not at all.  Raises OSError."""
    import tempfile  # few builds have anything to save

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.writelines(lines)
    os.replace(file.name, path)


def cache() -> Path:
    """Of what can be made again: ~/.cache/smpmake."""
    return _folder("cache")


def user_file() -> Path:
    """The user's own settings.  Raises NoHomeError."""
    return config() / "config.toml"


def project_file(start: Path) -> Path | None:
    """The nearest `.smpmake.toml` in `start` or a folder above it.  What cannot be looked at is
    not there: a build may run below a folder that is closed to it."""
    for folder in (start, *start.parents):
        candidate = folder / ".smpmake.toml"
        if os.path.isfile(candidate):
            return candidate
    return None


def pyprojects(start: Path) -> Iterator[Path]:
    """Every pyproject.toml from `start` up to the root of its repository, the nearest first.

    Without a repository only the one in `start`: what lies above may be anybody's.
    """
    folders = (start, *start.parents)
    root = next((at for at, folder in enumerate(folders) if os.path.exists(folder / ".git")), 0)
    files = (folder / "pyproject.toml" for folder in folders[: root + 1])
    return (file for file in files if os.path.isfile(file))


def runtime() -> Path | None:
    """Of sockets, where the system has such a folder and we may write there."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(base, _NAME) if base.startswith("/") and os.access(base, os.W_OK) else None


def _folder(kind: str) -> Path:
    usual = _usual(kind)
    if usual:
        return Path(usual, _NAME)
    from platformdirs.unix import Unix

    try:
        with _without_what_to_ignore(f"XDG_{kind.upper()}_HOME"):
            found: Path = getattr(Unix(_NAME), f"user_{kind}_path")
    except RuntimeError:
        found = Path()
    if not found.is_absolute():
        raise NoHomeError(
            f"there is no home folder for the user's {kind}: HOME is not set, and user "
            f"{os.getuid()} is not known (set HOME, or XDG_{kind.upper()}_HOME)"
        )
    return found


def _usual(kind: str) -> str:
    """Where variables say it all; loading the library would take longer than some builds."""
    home = os.environ.get("HOME", "")
    told = os.environ.get(f"XDG_{kind.upper()}_HOME") or (home and f"{home}/{_BELOW_HOME[kind]}")
    return told if told.startswith("/") and home.startswith("/") else ""


@contextmanager
def _without_what_to_ignore(variable: str) -> Iterator[None]:
    """Relative values, and a HOME that is empty: platformdirs 4.14 ignores them, 2.6 does not."""
    names = [variable] if not os.environ.get(variable, "/").startswith("/") else []
    names += ["HOME"] if os.environ.get("HOME") == "" else []
    ignored = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(ignored)
