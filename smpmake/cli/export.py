"""`smpmake export`: a recorded build as other tools want it."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import click

from smpmake.cli.builds import (
    NoBuildError,
    build_and_path,
    build_option,
    complete_paths,
    earlier,
    find,
)
from smpmake.commands import families
from smpmake.commands.model import Files
from smpmake.config import load
from smpmake.console import say
from smpmake.disk.paths import FolderFiles, Paths
from smpmake.errors import SmpmakeError
from smpmake.history import History
from smpmake.records import BuildRecord

#: So many builds before are looked through for what this one may lack.
_EARLIER: Final = 3


class FileError(SmpmakeError):
    """The file cannot be read or written."""


class _Disk:
    """The disk, for exports."""

    def __init__(self) -> None:
        self._paths = Paths()

    def canonical(self, cwd: str, path: str) -> str:
        """The name that records have."""
        return self._paths.canonical(cwd, path)

    def exists(self, path: str) -> bool:
        """Whether it exists, links followed."""
        return os.path.exists(path)

    def is_dir(self, path: str) -> bool:
        """Whether it is a folder, links followed."""
        return os.path.isdir(path)

    def is_empty(self, path: str) -> bool:
        """Whether it has no content, or is not there."""
        try:
            return os.path.getsize(path) == 0
        except OSError:
            return True

    def files(self, cwd: str) -> Files:
        """Names relative to a folder."""
        return FolderFiles(cwd)


def _options(command: Any) -> Any:
    """What both exports take."""
    words = click.argument(
        "words", nargs=-1, metavar="[BUILD] [FILE]", shell_complete=complete_paths
    )
    return words(build_option(command))


@click.group()
def export() -> None:
    """Write a recorded build down for other tools."""


@export.command(
    "compile-commands", short_help="Write a compilation database, for clangd and the like."
)
@_options
def compile_commands(words: tuple[str, ...], build: int | str | None) -> int:
    """Write a compilation database, for clangd and its like.

    FILE is compile_commands.json in this folder if you name none, and - is standard output.  An
    older FILE keeps its entries, except those that the build compiled again and those whose source
    is gone.  BUILD is a number that smpmake history shows, `last` or `last-N`.
    """
    from smpmake.exports import compile_commands as database

    named, file = build_and_path(words, build)
    record = _find(named)
    target = file or "compile_commands.json"
    old = []
    if target != "-" and os.path.exists(target):
        try:
            old = database.parse(Path(target).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, database.DamagedError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise FileError(f"{target}: {why}; it is left as it is (move it away)") from None
    found = database.found_in(record, FolderFiles, os.path.exists)
    for line in found.warnings():
        _warn(line)
    if not found.entries:
        _warn(f"build {record.id} compiled nothing that is still there; --build names another")
    merged = database.merge(old, found.entries, os.path.exists)
    _write(target, database.text(merged))
    if target != "-":
        of_build = f"{len(found.entries)} of them from build {record.id}"
        say(f"wrote {target}: {_counted(len(merged), 'compile command')}, {of_build}")
    return 0


@export.command("ninja", short_help="Write a build.ninja that makes again what the build has made.")
@_options
def ninja(words: tuple[str, ...], build: int | str | None) -> int:
    """Write a build.ninja that makes again what the build has made.

    FILE is build.ninja in this folder if you name none, and - is standard output.  Run ninja in
    the folder of FILE.  BUILD is a number that smpmake history shows, `last` or `last-N`.
    """
    try:
        from smpmake.exports import ninja as exports
    except ModuleNotFoundError as error:
        if error.name != "ninja_syntax":
            raise
        raise SmpmakeError(
            "smpmake export ninja needs the Python library ninja-syntax, which is not installed "
            f"for {sys.executable}: pip install ninja-syntax"
        ) from error
    named, file = build_and_path(words, build)
    record = _find(named)
    target = file or "build.ninja"
    folder = os.path.dirname(target) if target != "-" else ""
    root = os.path.realpath(folder or ".")
    disk = _Disk()
    plan = exports.plan(record, disk)
    for line in plan.warnings():
        _warn(line)
    heads = earlier(record, _EARLIER)
    builds = [found for head in heads if (found := History().load(head.id)) is not None]
    missing = exports.missing(record, builds, disk)
    if missing:
        _warn(
            f"{len(missing)} files that earlier builds made are not in it ({missing[0]} ...), "
            "because this build did not make them; export a build from scratch to have all"
        )
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.wall_clock))
    title = f"Build {record.id} of {when}, written by smpmake export ninja (do not edit)."
    _write(target, exports.text(plan.chains, root, title))
    if target != "-":
        count = sum(len(chain.steps) for chain in plan.chains)
        say(f"wrote {target}: {_counted(count, 'command')} of build {record.id}")
    return 0


def _find(build: int | str) -> BuildRecord:
    """The build that is meant; another folder's only by its number."""
    families.learn(load(Path.cwd()).tools)
    record = find(build)
    if isinstance(build, str) and record.cwd != os.getcwd():
        raise NoBuildError(
            "no build of this folder is in the history: put smpmake in front of one, "
            "or name one of another folder with --build NUMBER"
        )
    return record


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _warn(text: str) -> None:
    say(text)


def _write(path: str, text: str) -> None:
    """The whole file or none; a link keeps pointing at it."""
    if path == "-":
        sys.stdout.write(text)
        return
    target = os.path.realpath(path)
    temporary = None
    try:
        fd, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".smpmake-export-")
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            os.fchmod(fd, _mode_of(target))
            file.write(text)
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _mode_of(path: str) -> int:
    """A file's mode, or what a new one gets."""
    try:
        return os.stat(path).st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
