"""The user's folders, where the XDG specification has them, and where settings may be.

https://specifications.freedesktop.org/basedir-spec/
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

from smpmake import private
from smpmake.errors import SmpmakeError

_NAME: Final = "smpmake"
#: What is in the root of a repository, as a folder or as a file.
_REPOSITORIES: Final = (".git", ".hg", ".svn", ".jj", ".bzr", "_darcs", ".fslckout")
_BELOW_HOME: Final = {"config": ".config", "state": ".local/state", "cache": ".cache"}


class NoHomeError(SmpmakeError):
    """A folder lies below the user's home, and there is none."""


def config() -> Path:
    """Of settings: ~/.config/smpmake.  Raises NoHomeError, as the others."""
    return _folder("config")


def state() -> Path:
    """Of what is to be kept: ~/.local/state/smpmake."""
    return _folder("state")


def of_project(project: str, base: Path | None = None) -> Path:
    """The file of what is remembered of a project, a folder in which smpmake was started.

    base  where those of all projects are; the user's, if none is given.  Raises NoHomeError.
    """
    from smpmake.digests import sha256  # not before there is a driver

    name = sha256(os.fsencode(project)).hexdigest()[:16]
    return (base or state() / "projects") / name


def replace_file(path: Path, lines: Iterable[str]) -> None:
    """Writes a file of ours, whole or not at all.  Raises OSError."""
    import tempfile  # few builds have anything to save

    private.demand_folder(path.parent)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.writelines(lines)
    os.replace(file.name, path)


def cache() -> Path:
    """Of what can be made again: ~/.cache/smpmake."""
    return _folder("cache")


def user_file() -> Path:
    """The user's own settings.  Raises NoHomeError."""
    return config() / "config.toml"


def project_files(start: Path) -> Iterator[Path]:
    """Every `.smpmake.toml` in `start` and above it, up to the root of its repository, the nearest
    first.

    Without a repository those above count as long as folders are the user's own, and not beyond the
    home.  What cannot be looked at is not there: a build may run below a folder that is closed to
    it.
    """
    return _settings(".smpmake.toml", start, _own_above)


def pyprojects(start: Path) -> Iterator[Path]:
    """The same of pyproject.toml; without a repository only the one in `start`."""
    return _settings("pyproject.toml", start, lambda start: ())


def _settings(name: str, start: Path, above: Callable[[Path], Collection[Path]]) -> Iterator[Path]:
    """above  which folders above count where there is no repository."""
    if os.path.isfile(start / name):
        yield start / name
    higher = [folder for folder in start.parents if os.path.isfile(folder / name)]
    if higher:  # seldom
        root = repository_of(start)
        counted = above(start) if root is None else (root, *_until(root, start))
        yield from (folder / name for folder in higher if folder in counted)


def repository_of(start: Path) -> Path | None:
    """The root of the repository in which a folder is."""
    for folder in (start, *start.parents):
        if any(os.path.exists(folder / name) for name in _REPOSITORIES):
            return folder
    return None


def _until(root: Path, start: Path) -> list[Path]:
    return [folder for folder in start.parents if folder.is_relative_to(root)]


def _own_above(start: Path) -> list[Path]:
    """Folders above that are the user's own, without a gap, up to the home."""
    home = os.path.realpath(os.environ.get("HOME") or "/")
    found = []
    for folder in (start, *start.parents):
        try:
            private.demand_own(folder)
        except OSError:
            break
        found.append(folder)
        if os.fspath(folder) == home:
            break
    return found


def runtime() -> Path | None:
    """Of sockets, where the system has such a folder and we may write there."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(base, _NAME) if base.startswith("/") and os.access(base, os.W_OK) else None


def _folder(kind: str) -> Path:
    variable = f"XDG_{kind.upper()}_HOME"
    told = os.environ.get(variable, "")
    if told.startswith("/"):  # the specification has others ignored
        return Path(told, _NAME)
    home = os.environ.get("HOME", "")
    if not home.startswith("/"):
        home = _home_of_user()
    if not home.startswith("/"):
        why = f"HOME is not set, and user {os.getuid()} is not known"
    elif not os.path.isdir(home):
        # Not to be made: packages are built with such a one, so that nothing is written there.
        why = f"HOME is {home}, which is not there"
    else:
        return Path(home, _BELOW_HOME[kind], _NAME)
    raise NoHomeError(
        f"there is no home folder for the user's {kind}: {why} (set HOME, or {variable})"
    )


def _home_of_user() -> str:
    """By the list of users; "" for whom it has none."""
    import pwd  # seldom

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""
