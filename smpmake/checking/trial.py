"""Trials: targets are made alone by the make that decides about their order, once its products
are gone: in place behind a command of the user's that cleans, or in an overlay of the tree at the
same path (configured trees hold absolute paths), in a mount namespace of its own.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from smpmake.checking.events import Build, Make, build_of, chain
from smpmake.checking.watch import run, serial
from smpmake.errors import SmpmakeError

#: Files: what goes first, folders that do, what is older than all sources (the build changed it and
#: it was there before), what is looked at in the end, and where that is told.
_FILES: Final = ("gone", "folders", "old", "made", "sums")
#: A shell's commands for the first three, which lie in $notes.
CLEAR: Final = """
xargs -0 -r rm -f -- <"$notes/gone"
xargs -0 -r rmdir -- <"$notes/folders" 2>/dev/null
xargs -0 -r touch -h -c -d @1 -- <"$notes/old" 2>/dev/null
"""
_TRY: Final = f"""
cd "$1" || exit 125
start=$1 notes=$2; shift 2
{CLEAR}
echo begun >"$notes/sums"
"$@"
status=$?
cd "$start" && xargs -0 -r sha256sum -b -- <"$notes/made" >>"$notes/sums" 2>/dev/null
exit $status
"""
_OVERLAY: Final = """
top=$1 room=$2; shift 2
mount -t tmpfs smpmake "$room" && mkdir "$room/upper" "$room/work" || exit 125
where=lowerdir=$top,upperdir=$room/upper,workdir=$room/work
mount -t overlay -o "$where" smpmake "$top" || exit 125
exec "$@"
"""
#: Options of make whose argument may be the next word.
_WITH_VALUE: Final = frozenset(
    {"-C", "-f", "-I", "-o", "-W", "--directory", "--file", "--makefile", "--include-dir"}
    | {"--old-file", "--assume-old", "--what-if", "--new-file", "--assume-new", "--eval", "-E"}
)


class NoTrialError(SmpmakeError):
    """Nothing can be tried here; the message says what to do."""


class Trial(NamedTuple):
    """What happened when targets were made alone.

    sums  of the files that were asked for, by path.
    """

    build: Build
    sums: dict[str, str]


def alone(argv: Sequence[str], goals: Sequence[str]) -> list[str]:
    """A make's words with other goals."""
    kept, words = [argv[0]], iter(serial(argv)[1:])
    for word in words:
        if word in _WITH_VALUE:
            kept += [word, next(words, "")]
        elif word.startswith("-") or "=" in word:
            kept.append(word)
    return [*kept, *goals]


def attempt(
    make: Make, goals: Sequence[str], build: Build, top: str, clean: str, wanted: Sequence[str]
) -> Trial:
    """Makes goals in this order.  Raises NoTrialError.

    wanted  files of which the contents are compared later.
    """
    assert make.said is not None
    command = alone(make.said.argv, goals)
    with _notes(build, make, top, wanted, bare=bool(clean)) as notes:
        words = ["sh", "-c", _TRY, "sh", make.began_in, str(notes), *command]
        if clean:
            first = f'cd "$1" && ({clean}\n) >&2 && shift && exec "$@"'
            words = ["sh", "-c", first, "sh", top, *words]
        else:
            words = in_overlay(words, top, notes)
        watched = run(words, make.began_in, make.said.environment, quiet=True)
        told = (notes / "sums").read_text(errors="surrogateescape").splitlines()
        if not told and clean:
            raise NoTrialError(f"`{clean}` failed: smpmake can prove nothing without a clean tree")
        if not told:
            raise NoTrialError(
                "smpmake cannot mount an overlay here: use --clean COMMAND, or be root"
            )
    return Trial(build_of(watched), sums_of(told[1:]))


def in_overlay(words: Sequence[str], top: str, notes: Path) -> list[str]:
    """A command that runs in an overlay of a folder.  Raises NoTrialError."""
    if set(top) & set(":,\\"):
        raise NoTrialError(f"{top}: no overlay can have such a name: use --clean COMMAND")
    room = notes / "room"
    room.mkdir()
    inside = ["sh", "-c", _OVERLAY, "sh", top, str(room), *words]
    return ["unshare", "--mount", *(["--map-root-user"] if os.getuid() else []), *inside]


class Changes(NamedTuple):
    """What a build has made below a folder, by what a trial does with it.

    gone, folders  files that go first, and folders that do, inner ones first.
    old            what was there before and has been changed: it becomes older than all sources.
    """

    gone: list[str]
    folders: list[str]
    old: list[str]

    @property
    def made(self) -> list[str]:
        """All files."""
        return [*self.gone, *self.old]


def changes_of(build: Build, top: str, make: Make | None) -> Changes:
    """Those of one make and all below it, or of all makes."""
    born: dict[str, None] = {}
    folders: dict[str, None] = {}
    changed: dict[str, None] = {}
    for event in build.events:
        inside = make is None or any(each.make is make for each in chain(event.recipe))
        if inside and event.path.startswith(f"{top}/"):
            if event.kind in "ns":
                born[event.path] = None
            elif event.kind == "k":
                folders[event.path] = None
            elif event.kind in "wRa" and event.path not in born:
                changed[event.path] = None
    return Changes(list(born), sorted(folders, key=len, reverse=True), list(changed))


def put_lists(notes: Path, changes: Changes, wanted: Sequence[str]) -> None:
    """Writes down what a trial's script reads."""
    lists = (*changes, wanted, ())
    for file, entries in zip(_FILES, lists, strict=True):
        (notes / file).write_bytes(b"".join(os.fsencode(entry) + b"\0" for entry in entries))


def sums_of(lines: Iterable[str]) -> dict[str, str]:
    """By path, what sha256sum has printed."""
    pairs = (line.partition(" *") for line in lines)
    return {path: digest for digest, star, path in pairs if star}


def sum_of_file(path: str) -> str:
    """As a trial has it."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _notes(
    build: Build, make: Make, top: str, wanted: Sequence[str], *, bare: bool
) -> Iterator[Path]:
    """A folder with lists for a trial.  What makes outside have made stays."""
    changes = Changes([], [], []) if bare else changes_of(build, top, make)
    with tempfile.TemporaryDirectory(prefix="smpmake-proof-") as name:
        path = Path(name)
        put_lists(path, changes, wanted)
        yield path
