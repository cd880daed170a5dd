"""Advice is followed before it is given: with all lines in their makefiles the build is run in an
overlay of the tree, once more, and in another order.  A line that fails in this is not given.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from smpmake.checking.advice import Advice, edited
from smpmake.checking.events import Build, build_of, canonical
from smpmake.checking.findings import Finding, findings, is_litter
from smpmake.checking.order import Order
from smpmake.checking.trial import (
    CLEAR,
    Changes,
    NoTrialError,
    changes_of,
    in_overlay,
    put_lists,
    sum_of_file,
    sums_of,
)
from smpmake.checking.watch import run, serial

#: Folder, notes, names of builds, what make is told besides, and the build's command.
_FOLLOW: Final = f"""
cd "$1" || exit 125
notes=$2 builds=$3 other=$4; shift 4
if [ "$builds" != usual ]; then
{CLEAR}
    while read -r name; do
        read -r file && cp -p -- "$name" "$file" || exit 125
    done <"$notes/edits"
fi
[ -z "$other" ] || export MAKEFLAGS="$MAKEFLAGS $other"
for build in $builds; do
    "$@"
    echo $? >"$notes/$build"
    xargs -0 -r sha256sum -b -- <"$notes/made" 2>/dev/null >"$notes/$build.sums"
    xargs -0 -r sh -c 'for path; do [ ! -e "$path" ] || printf "%s\\0" "$path"; done' sh \\
        <"$notes/made" >"$notes/$build.there"
done
"""
_JOBS: Final = 8
#: How many lines are tried one by one when all together are wrong.
_ONE_BY_ONE: Final = 12
_CHANGES: Final = frozenset("wRasdk")


class _Seen(NamedTuple):
    """What a build of a trial did.

    ran   folders of makes, and targets whose recipes ran.
    there, sums  what is there afterwards of the paths that were asked for, and what files hold.
    left  what the check says of it.
    """

    status: str
    ran: set[tuple[str, str]]
    there: set[str]
    sums: dict[str, str]
    left: list[Finding]


def follow(
    advices: Sequence[Advice],
    build: Build,
    command: Sequence[str],
    top: str,
    tell: Callable[[str], None] = lambda text: None,
) -> str:
    """Says of each line what came of following it, and takes away those that are wrong.  Returns
    why nothing was tried, or "".

    tell  is told before the builds begin.
    """
    tried = [each for each in advices if each.line.edit is not None and each.line.text]
    if not tried:
        return ""
    try:
        _require(build, tried, top)
        tell("building with these findings corrected, in an overlay of this folder")
        trials = _Trials(build, command, top)
        _follow(trials, tried, is_all=all(each.line.edit for each in advices))
    except NoTrialError as error:
        return str(error)
    return ""


def _follow(trials: _Trials, tried: list[Advice], *, is_all: bool) -> None:
    wrong = trials.wrong(tried, in_disorder=is_all)
    if wrong:
        for each in tried if 1 < len(tried) <= _ONE_BY_ONE else ():
            if why := trials.wrong([each], in_disorder=False):
                _mend_or_drop(trials, each, why)
        kept = [each for each in tried if not each.line.is_bad]
        wrong = trials.wrong(kept, in_disorder=is_all) if len(tried) > 1 and kept else wrong
        tried = kept
    for each in tried:
        if wrong:
            alone = len(tried) == 1
            _mend_or_drop(trials, each, wrong, in_disorder=is_all) if alone else _drop(each, wrong)
        else:
            each.line = each.line._replace(tried=trials.told(each, in_disorder=is_all))


def _mend_or_drop(trials: _Trials, each: Advice, why: str, *, in_disorder: bool = False) -> None:
    """A file that is new each time is to be there first, but makes nothing new."""
    needing, colon, needed = each.line.text.partition(": ")
    edit = each.line.edit
    if edit is not None and colon and not needed.startswith("|") and not edit.replaces:
        before = each.line
        text = f"{needing}: | {needed}"
        each.line = before._replace(text=text, rule="", edit=edit._replace(text=text))
        if not trials.wrong([each], in_disorder=in_disorder):
            each.line = each.line._replace(tried=trials.told(each, in_disorder=in_disorder))
            return
        each.line = before
    _drop(each, why)


def _drop(each: Advice, why: str) -> None:
    each.line = each.line._replace(edit=None, rule="", tried=why, is_bad=True)


def _require(build: Build, tried: Iterable[Advice], top: str) -> None:
    """Raises NoTrialError where a second build would change what lies elsewhere."""
    here = (f"{top}/", "/tmp/", "/var/tmp/", "/dev/", "/proc/", f"{tempfile.gettempdir()}/")
    for each in tried:
        assert each.line.edit is not None
        if not each.line.edit.file.startswith(f"{top}/"):
            raise NoTrialError(f"{each.line.edit.file} is outside of {top}")
    for event in build.events:
        if event.kind in _CHANGES and not event.path.startswith(here) and not is_litter(event.path):
            raise NoTrialError(f"the build changes {event.path}, which is outside of {top}")


class _Trials:
    """Builds of one command in overlays of one tree."""

    def __init__(self, build: Build, command: Sequence[str], top: str) -> None:
        self._command, self._top = serial(command), top
        self._before = {e.path for e in build.events if os.path.lexists(e.path)}
        self._changes = changes = changes_of(build, top, None)
        made = [path for path in (*changes.made, *changes.folders) if os.path.exists(path)]
        self._made = {p: sum_of_file(p) if os.path.isfile(p) else "" for p in made}
        versions = [make.said.version for make in build.makes if make.said is not None]
        shuffles = bool(versions) and min(versions) >= (4, 4)
        self._other = f"-j{_JOBS}{' --shuffle=reverse' if shuffles else ''}"
        self._kept: list[str] = []  # what make keeps with the lines, and removes without
        self._steady: set[str] = set()  # what has the same bytes in each build
        (self._usual,) = self._builds(["usual"], [], made)

    def told(self, each: Advice, *, in_disorder: bool) -> str:
        """What has been seen of a line that is right."""
        how = f", and `make {self._other}` makes the same files" if in_disorder else ""
        told = f"the build passes, the next one does no more than before{how}"
        own = [name for name in self._kept if name in (each.other, *each.readers)]
        if own:
            told += f"; make keeps {', '.join(own)} from then on"
        return told

    def wrong(self, advices: Sequence[Advice], *, in_disorder: bool) -> str:
        """What is wrong with the makefiles that have these lines; "" for nothing."""
        names = {
            canonical(os.path.normpath(os.path.join(each.make.folder, name))): name
            for each in advices
            if each.make is not None
            for name in (each.other, *each.readers)
        }
        first, again = self._builds(["first", "again"], advices, [*self._made, *names])
        if first.status != "0":
            return f"the build then ends with status {first.status}"
        if lacking := [path for path in self._made if path not in first.there]:
            return f"the build then does not make {self._name(lacking)}"
        if lacking := [path for path in self._usual.there if path not in again.there]:
            return f"the next build then leaves no {self._name(lacking)}"
        if more := sorted(again.ran - self._usual.ran):
            return f"make then builds {more[0][1]} again each time"
        if left := self._still_there(advices, first.left):
            return f"{self._name([left.path])} depends on the order all the same"
        self._steady = {p for p, digest in self._made.items() if first.sums.get(p) == digest}
        self._kept = [n for p, n in names.items() if p in first.there and p not in self._before]
        return self._wrong_in_disorder(advices) if in_disorder else ""

    def _wrong_in_disorder(self, advices: Sequence[Advice]) -> str:
        (seen,) = self._builds(["disorder"], advices, list(self._made), self._other)
        if seen.status != "0":
            return f"`make {self._other}` fails"
        if lacking := [path for path in self._made if path not in seen.there]:
            return f"`make {self._other}` does not make {self._name(lacking)}"
        if others := [path for path in self._steady if seen.sums[path] != self._made[path]]:
            return f"`make {self._other}` makes other bytes in {self._name(others)}"
        return ""

    def _name(self, paths: Iterable[str]) -> str:
        return os.path.relpath(min(paths), self._top)

    def _still_there(self, advices: Iterable[Advice], left: Iterable[Finding]) -> Finding | None:
        wanted = {(f.kind, f.path) for each in advices for f in each.findings}
        return next((each for each in left if (each.kind, each.path) in wanted), None)

    def _builds(
        self, names: Sequence[str], advices: Sequence[Advice], wanted: Sequence[str], more: str = ""
    ) -> list[_Seen]:
        """Runs the command in an overlay, once for each name.  Raises NoTrialError."""
        with _notes(self._changes, advices, wanted) as notes:
            words = ["sh", "-c", _FOLLOW, "sh", self._top, str(notes), " ".join(names), more]
            inside = in_overlay([*words, *self._command], self._top, notes)
            watched = run(inside, self._top, quiet=True)
            if not (notes / names[-1]).exists():
                raise NoTrialError("smpmake cannot mount an overlay here")
            build, begin, found = build_of(watched), 0, []
            for name in names:
                end = _end(build, notes / name)
                found.append(_seen(_part(build, begin, end), notes / name))
                begin = end
            return found


def _end(build: Build, note: Path) -> int:
    """When a trial wrote down that one of its builds had ended."""
    path = os.path.realpath(note)
    return next((e.at for e in build.events if e.path == path and e.kind in _CHANGES), 0)


def _part(build: Build, begin: int, end: int) -> Build:
    return Build(
        [event for event in build.events if begin <= event.at < end],
        [make for make in build.makes if begin <= make.at < end],
        [recipe for recipe in build.recipes if begin <= recipe.at < end],
        *([], 0, 0),
    )


def _seen(build: Build, note: Path) -> _Seen:
    lines = note.with_suffix(".sums").read_text(errors="surrogateescape").splitlines()
    return _Seen(
        note.read_text().strip(),
        {(r.make.folder, r.target) for r in build.recipes if r.make is not None and r.target},
        set(os.fsdecode(note.with_suffix(".there").read_bytes()).split("\0")),
        sums_of(lines),
        findings(build, Order()),
    )


@contextmanager
def _notes(changes: Changes, advices: Iterable[Advice], wanted: Sequence[str]) -> Iterator[Path]:
    """A folder with the lists of a trial and the makefiles as they would be."""
    with tempfile.TemporaryDirectory(prefix="smpmake-follow-") as name:
        path = Path(name)
        put_lists(path, changes, wanted)
        edits = edited(each.line.edit for each in advices if each.line.edit is not None)
        with open(path / "edits", "w", errors="surrogateescape") as told:
            for number, (file, lines) in enumerate(edits.items()):
                copy = path / f"edit-{number}"
                text = "".join(f"{line}\n" for line in lines)
                copy.write_text(text, encoding="utf-8", errors="surrogateescape")
                info = os.stat(file)
                copy.chmod(info.st_mode & 0o7777)
                os.utime(copy, ns=(info.st_atime_ns, info.st_mtime_ns))
                told.write(f"{copy}\n{file}\n")
        yield path
