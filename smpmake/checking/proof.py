"""Proofs: the order that no rule forbids is tried, and what the reader then finds is looked at.

The make that decides about the order makes the reader's target alone, once its products are gone:
in place behind a command of the user's that cleans, or in an overlay of the tree at the same path
(configured trees hold absolute paths), in a mount namespace of its own.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from smpmake.checking.advice import Advice
from smpmake.checking.events import Build, Make, Recipe, build_of, chain
from smpmake.checking.findings import Kind
from smpmake.checking.watch import run
from smpmake.errors import SmpmakeError

PROVED, NOT_SHOWN = "proved", "not shown"
#: Files: what goes first, folders that do, what is looked at in the end, and where that is told.
_FILES: Final = ("gone", "folders", "made", "sums")
_TRY: Final = """
cd "$1" || exit 125
xargs -0 -r rm -f -- <"$2/gone"
xargs -0 -r rmdir -- <"$2/folders" 2>/dev/null
start=$1 notes=$2; shift 2
echo begun >"$notes/sums"
"$@"
status=$?
cd "$start" && xargs -0 -r sha256sum -b -- <"$notes/made" >>"$notes/sums" 2>/dev/null
exit $status
"""
_OVERLAY: Final = """
top=$1 room=$2; shift 2
mount -t tmpfs smpmake "$room" && mkdir "$room/upper" "$room/work" || exit 125
mount -t overlay -o "lowerdir=$top,upperdir=$room/upper,workdir=$room/work" smpmake "$top" || exit 125
exec "$@"
"""
#: Options of make whose argument may be the next word.
_WITH_VALUE: Final = frozenset(
    {"-C", "-f", "-I", "-o", "-W", "--directory", "--file", "--makefile", "--include-dir"}
    | {"--old-file", "--assume-old", "--what-if", "--new-file", "--assume-new", "--eval", "-E"}
)


class NoProofError(SmpmakeError):
    """Nothing can be proved here; the message says what to do."""


class Trial(NamedTuple):
    """What happened when targets were made alone.

    sums  of what the reader had made in the whole build, by path.
    """

    build: Build
    sums: dict[str, str]


def prove(advices: Iterable[Advice], build: Build, top: str, clean: str = "") -> None:
    """Says of each advice whether a trial shows it.  Raises NoProofError.

    clean  a command that leaves the tree as before the build, in place; "": an overlay is used.
    """
    for each in advices:
        if each.make is None or each.make.said is None:
            each.proof = f"{NOT_SHOWN}: smpmake does not know how to make this alone"
            continue
        each.proof = _proof(each, build, top, clean)


def _proof(each: Advice, build: Build, top: str, clean: str) -> str:
    make, reader = each.make, each.readers[0]
    assert make is not None
    made = _outputs(build, make, reader)
    wanted = [path for path in (*made, *each.paths) if os.path.isfile(path)]
    before = {path: _sum(path) for path in wanted}
    trial = _try(make, _goals(each, reader), build, top, clean, wanted)
    seen = _seen(trial.build, make.folder, reader)
    paths = {f.path for f in each.findings}
    vain = {
        event.path for event in trial.build.events if event.kind == "v" and event.recipe in seen
    } & paths
    reads = {
        event.path for event in trial.build.events if event.kind in "rR" and event.recipe in seen
    } & paths
    changed = [path for path in made if path in before and trial.sums.get(path) != before[path]]
    words = " ".join(_goals(each, reader))
    name = lambda found: os.path.relpath(sorted(found)[0], top)  # noqa: E731
    if not seen and each.kind is Kind.REMOVES:
        return f"{NOT_SHOWN}: {name(paths)} is gone, and no rule makes it again"
    if not seen:
        return f"{NOT_SHOWN}: `make {words}` did not come to the recipe of {reader}"
    if each.kind is Kind.BOTH_WRITE:
        return _two_writers(each, trial, seen, before, words, top)
    if each.kind is Kind.FOLDER:
        inside = {
            event.path
            for event in trial.build.events
            if event.kind == "v"
            and event.recipe in seen
            and any(event.path.startswith(f"{path}/") for path in paths)
        }
        if inside and trial.build.status:
            return f"{PROVED}: `make {words}` fails, for {name(inside)} has no folder yet"
        if paths & {
            event.path for event in trial.build.events if event.kind == "w" and event.recipe in seen
        }:
            return f"{PROVED}: `make {words}` makes a file of {name(paths)}"
        return f"{NOT_SHOWN}: `make {words}` ended without a complaint about the folder"
    if each.kind in (Kind.OLD, Kind.IN_VAIN):
        if reads and changed:
            return f"{PROVED}: after `make {words}` {name(changed)} has other bytes"
        if reads and trial.build.status:
            return f"{PROVED}: `make {words}` fails once {name(reads)} is there"
        return f"{NOT_SHOWN}: `make {words}` has the same result"
    if vain and trial.build.status:
        return f"{PROVED}: `make {words}` does not find {name(vain)}, and fails"
    if vain and changed:
        return (
            f"{PROVED}: `make {words}` does not find {name(vain)}; {name(changed)} has other bytes"
        )
    if trial.build.status:
        return f"{NOT_SHOWN}: `make {words}` fails for another reason"
    return f"{NOT_SHOWN}: `make {words}` has the same result"


def _two_writers(
    each: Advice, trial: Trial, seen: set[Recipe], before: dict[str, str], words: str, top: str
) -> str:
    wrote = {
        event.path for event in trial.build.events if event.kind in "wRs" and event.recipe in seen
    } & set(each.paths)
    other = [path for path in each.paths if trial.sums.get(path) != before.get(path)]
    if wrote and other:
        return f"{PROVED}: after `make {words}` {os.path.relpath(other[0], top)} has other bytes"
    if wrote and any(finding.reader.pid == 0 for finding in each.findings):
        return f"{PROVED}: `make {words}` runs a second recipe that writes it"
    return f"{NOT_SHOWN}: `make {words}` leaves the same bytes"


def _goals(each: Advice, reader: str) -> list[str]:
    """What is made, in this order: another than that of the serial build."""
    if each.kind in (Kind.OLD, Kind.IN_VAIN, Kind.REMOVES):
        return [each.other, reader]
    if each.kind is Kind.BOTH_WRITE and each.findings[0].reader.pid:
        return [reader, each.other]
    return [reader]


def _outputs(build: Build, make: Make, target: str) -> list[str]:
    """Files that a target's recipe, with all below it, was the last to write."""
    last: dict[str, Recipe] = {}
    for event in build.events:
        if event.kind in "wRas":
            last[event.path] = event.recipe
    return [
        path
        for path, recipe in last.items()
        if any(each.make is make and each.target == target for each in chain(recipe))
    ]


def _seen(build: Build, folder: str, target: str) -> set[Recipe]:
    """The recipes of a target, and of makes below it."""
    return {
        recipe
        for recipe in build.recipes
        if any(
            each.make is not None and each.make.folder == folder and each.target == target
            for each in chain(recipe)
        )
    }


def _sum(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def alone(argv: Sequence[str], goals: Sequence[str]) -> list[str]:
    """A make's words with other goals."""
    kept, words = [argv[0]], iter(argv[1:])
    for word in words:
        if word in _WITH_VALUE:
            kept += [word, next(words, "")]
        elif word.startswith("-") or "=" in word:
            kept.append(word)
    return [*kept, *goals]


def _try(
    make: Make, goals: Sequence[str], build: Build, top: str, clean: str, wanted: Sequence[str]
) -> Trial:
    assert make.said is not None
    command = alone(make.said.argv, goals)
    with _notes(build, make, top, wanted, bare=bool(clean)) as notes:
        words = ["sh", "-c", _TRY, "sh", make.began_in, str(notes), *command]
        if clean:
            words = [
                "sh",
                "-c",
                f'cd "$1" && ({clean}\n) >&2 && shift && exec "$@"',
                "sh",
                top,
                *words,
            ]
        else:
            _require(top)
            inside = ["sh", "-c", _OVERLAY, "sh", top, str(notes / "room"), *words]
            words = ["unshare", "--mount", *(["--map-root-user"] if os.getuid() else []), *inside]
        watched = run(words, make.began_in, make.said.environment, quiet=True)
        told = (notes / "sums").read_text(errors="surrogateescape").splitlines()
        if not told and clean:
            raise NoProofError(f"`{clean}` failed: smpmake can prove nothing without a clean tree")
        if not told:
            raise NoProofError(
                "smpmake cannot mount an overlay here: use --clean COMMAND, or be root"
            )
    sums = dict(reversed(line.split(" *", 1)) for line in told[1:] if " *" in line)
    return Trial(build_of(watched), sums)


def _require(top: str) -> None:
    if set(top) & set(":,\\\\"):
        raise NoProofError(f"{top}: no overlay can have such a name: use --clean COMMAND")


@contextmanager
def _notes(
    build: Build, make: Make, top: str, wanted: Sequence[str], *, bare: bool
) -> Iterator[Path]:
    """A folder with lists for a trial.  What makes outside have made stays."""
    born: dict[str, None] = {}
    folders: dict[str, None] = {}
    for event in build.events:
        inside = any(each.make is make for each in chain(event.recipe))
        if inside and event.path.startswith(f"{top}/") and not bare:
            if event.kind in "ns":
                born[event.path] = None
            elif event.kind == "k":
                folders[event.path] = None
    with tempfile.TemporaryDirectory(prefix="smpmake-proof-") as name:
        path = Path(name)
        (path / "room").mkdir()
        lists = (born, sorted(folders, key=len, reverse=True), wanted, ())
        for file, entries in zip(_FILES, lists, strict=True):
            data = b"".join(os.fsencode(entry) + b"\0" for entry in entries)
            (path / file).write_bytes(data)
        yield path
