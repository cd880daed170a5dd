"""Results that are remembered from build to build: the session's part.

Shims and smpmake-memo do the work (native/memo/store.h); the store is made, counted, cleaned here.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpmake import cpus, folders, native, private, units, variables
from smpmake.disk.elf import takes_guard
from smpmake.disk.trees import remove_tree
from smpmake.errors import SmpmakeError
from smpmake.protocol import layout

if TYPE_CHECKING:
    from smpmake.session.memo_remote import Exchanged, Remote

#: The session's file to which shims append a line for each command.
TOLD: Final = "memo"
#: What reads an unknown script, with none of the build's own modules in its way.
_READER: Final = """\
import sys
sys.path.insert(0, {!r})
from smpmake.configure.foretell import main
sys.exit(main())
"""
_COUNTS: Final = "counts.json"
_STORED: Final = "stored"  # of a session: as long as all that it has stored (native/memo/store.c)
#: What has numbers of its own in it.
_GROUPS: Final = ("misses", "unkept", "remote")
#: What comes of counts that somebody else has written.
_OTHERWISE: Final = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError),
)
_LARGEST: Final = 1 << 62  # of a count; sums of them are still numbers for everybody
_SETTLED: Final = 60_000_000_000  # ns
_DAY: Final = 86400
_WEEK: Final = 7
_PATIENCE_MS: Final = 6000  # for what ends by itself
_KINDS: Final = ("q", "c", "s")  # native/memo/store.h


class Told:
    """What shims have told of a session.

    hits, saved_us  results given back, and the CPU time that they took when they were made.
    remote   those of them that another machine had made.
    misses   commands that ran, by reason; `unkept` those whose results are not remembered.
    examples  by reason, what was not as it was for the first of them.
    stored   how many results are remembered now; `ahead` those that ran ahead of a configure
             script; `same` those that --memo=check found unchanged.
    differences  of the others: the command, what is different, an input that may explain it.
    """

    def __init__(self) -> None:
        self.hits = self.saved_us = self.remote = self.stored = self.same = self.ahead = 0
        self.misses: Counter[int] = Counter()
        self.unkept: Counter[int] = Counter()
        self.examples: dict[int, str] = {}
        self.differences: list[tuple[str, str, str]] = []

    def __repr__(self) -> str:
        return f"Told({vars(self)})"


def folder() -> Path:
    """The store.  Raises folders.NoHomeError."""
    return folders.cache() / "memo"


def prepare(mode: str, session: Path, most: int, *, ahead: int = 1) -> dict[str, str]:
    """The variables by which a session's shims remember, up to so many bytes; none where there can
    be no store.

    ahead  how many checks of configure run ahead of their script at once; 1: none do, as that is
           the script.
    """
    began = time.time_ns()
    try:
        store = folder()
        private.make_folder(store)
        with _own(store):  # or shims do not use it either (native/memo/question.c)
            pass
        (session / TOLD).touch(mode=0o600)
        program, recall = native.program("memo"), native.program("recall")
        # A commit that is worked on has many programs; on other machines they are the same.
        made = zlib.crc32(Path(program).read_bytes())
    except private.SharedError as error:
        private.complain(error, "smpmake remembers no results", private.ANOTHER_CACHE)
        return {}
    except (OSError, folders.NoHomeError, native.NativeMissingError):
        return {}
    here = Path.cwd()
    runner = native.program("ahead")
    # It is to have no guard of the build's.
    may_run = ahead > 1 and not takes_guard(runner)
    may_run &= bool(sys.executable)
    if may_run:
        root = os.fspath(Path(__file__).parents[2])
        (session / layout.READER_FILE).write_text(_READER.format(root), encoding="utf-8")
    before = {variables.AHEAD: f"{ahead}:{runner}", variables.READER: sys.executable}
    build = f"{native.build_id()}-{made:08x}".replace(":", "-")
    return {
        variables.MEMO: f"{mode}:{began}:{_settled_ns()}:{most}:{build}:{store}",
        variables.MEMORUN: program,
        variables.RECALL: recall,
        variables.TREE: os.fspath(folders.repository_of(here) or here),
        **(before if may_run else {}),
    }


def _settled_ns(folder: str = "/proc/sys/vm") -> int:
    """How long a file has to be unchanged before its times are believed, ns (native/memo/store.h).

    folder  where the kernel says how long it keeps what was written; laptops do for minutes.
    """
    told = (cpus.read_text(f"{folder}/dirty_{name}_centisecs") for name in ("expire", "writeback"))
    kept = sum(int(text) for text in told if text is not None) * 10_000_000
    return max(_SETTLED, kept + _SETTLED // 6)


def begin_remote(url: str, session: Path, *, pushes: bool) -> Remote | None:
    """What talks to a server for a session; None where there can be nothing."""
    from smpmake.session.memo_remote import Remote

    try:
        return Remote(url, session, folder(), pushes=pushes)
    except (OSError, RuntimeError, folders.NoHomeError):
        return None


def told_in(session: Path) -> Told:
    """What its shims have told so far; nothing where no results are remembered."""
    told = Told()
    try:
        text = (session / TOLD).read_text(errors="surrogateescape")
    except OSError:
        return told
    for line in text.splitlines():
        letter, _, rest = line.partition(" ")
        if letter == "h" and rest.isdigit():
            told.hits += 1
            told.saved_us += int(rest)
        elif letter == "m" and rest.isdigit():
            told.misses[int(rest)] += 1
        elif letter == "e" and rest.partition(" ")[0].isdigit():
            number, _, name = rest.partition(" ")
            told.examples.setdefault(int(number), name)
        elif letter == "r" and rest.isdigit():
            told.remote += 1
            if int(rest):  # the miss that was told before
                told.misses[int(rest)] -= 1
        elif letter == "n" and rest.isdigit():
            told.unkept[int(rest)] += 1
        elif letter == "s":
            told.stored += 1
        elif letter == "a":
            told.ahead += 1
        elif letter == "c":
            told.same += 1
        elif letter == "d" and rest.count("\t") == 2:
            words, how, what = rest.split("\t")
            told.differences.append((words.strip(), how, what))
    return told


def notices(told: Told) -> Iterator[str]:
    """What the user is to be told of a build: differences that --memo=check has found."""
    for words, how, what in told.differences[:1]:
        why = f"; it looked at {what} only one time" if what else ""
        yield (
            f"--memo=check: of {len(told.differences)} remembered results that are different now "
            f"the first is that of `{words}`: {how} has changed{why} (please report this)"
        )


def savings(told: Told) -> Iterator[str]:
    """What the user is told of a build that went well."""
    if told.ahead:
        yield f"{told.ahead} checks of configure ran ahead of their script, on idle CPUs"
    if told.hits and (told.saved_us or not told.ahead):
        results = "result" if told.hits == 1 else "results"
        yield (
            f"smpmake gave {told.hits} remembered {results} back and saved "
            f"{units.seconds(told.saved_us / 1e6)} of CPU time (`smpmake memo` has more)"
        )


# ---------------------------------------------------------------------- the store


def settle(session: Path, most: int, exchanged: Exchanged | None = None) -> None:
    """At a session's end: counts what it has saved, and makes room in the store.

    most       bytes that it may take.
    exchanged  with a server, if the session had one.
    """
    told = told_in(session)
    if not (told.hits or told.misses or told.stored):
        return
    with contextlib.suppress(OSError, SmpmakeError, ValueError), contextlib.ExitStack() as held:
        store = held.enter_context(_own(folder()))
        _keep_lists(session, store)
        counts = counts_of(store)
        today = int(time.time()) // _DAY
        if told.stored or told.remote:  # first: a full disk has no room for the counts
            added = session / _STORED
            counts["bytes"] += added.stat().st_size if added.exists() else 0
            # To look at all of a large store takes a second.
            if counts["bytes"] > most or str(today) not in counts["days"]:
                counts["bytes"] = clean(folder(), most)
        _count(store, counts, today, told, exchanged)


def end_ahead(session: Path) -> None:
    """Ends what runs checks of configure ahead of their script, before its folder goes."""
    for turn in session.glob("ahead-*"):
        with contextlib.suppress(OSError, ValueError):
            told = turn.read_text()
            process = os.pidfd_open(int(told))
            try:
                words = Path("/proc", told.strip(), "cmdline").read_bytes().split(b"\0")
                ends = select.poll()
                ends.register(process, select.POLLIN)
                for number in (signal.SIGTERM, signal.SIGKILL):
                    if os.fsencode(turn) in words and not ends.poll(0):
                        signal.pidfd_send_signal(process, number)
                        ends.poll(_PATIENCE_MS)
            finally:
                os.close(process)


def _keep_lists(session: Path, store: Path) -> None:
    """The checks of configure scripts, for their next run (native/layout/checks.h).  A script that
    was interrupted leaves the longer list of the run before, if that is of the same day."""
    for made in session.glob("checks-*"):
        kept = store / "s" / made.name.rpartition("-")[0]
        with contextlib.suppress(OSError):
            now = made.stat()
            with contextlib.suppress(FileNotFoundError):
                then = kept.stat()
                is_short = now.st_size <= then.st_size // 2
                if is_short and now.st_mtime - then.st_mtime < _DAY:
                    continue
            fresh = store / f"new-{os.getpid()}"
            fresh.touch(mode=0o600)
            fresh.write_bytes(made.read_bytes())
            fresh.replace(kept)


def _count(
    store: Path, counts: dict[str, Any], today: int, told: Told, exchanged: Exchanged | None
) -> None:
    import json

    days = counts["days"]
    hits, saved = days.get(str(today), (0, 0))
    days[str(today)] = (hits + told.hits, saved + told.saved_us)
    for day in [day for day in days if not today - _WEEK < int(day) <= today]:
        del days[day]
    counts["last"] = {
        "hits": told.hits,
        "saved_us": told.saved_us,
        "ahead": told.ahead,
        "misses": {str(why): count for why, count in told.misses.items() if count > 0},
        "unkept": {str(why): count for why, count in told.unkept.items()},
        "examples": {str(why): name for why, name in told.examples.items()},
    }
    if exchanged is not None:
        counts["last"]["remote"] = {"hits": told.remote, **exchanged.document()}
    fresh = store / f"{_COUNTS}.{os.getpid()}"
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps(counts))
    fresh.replace(store / _COUNTS)


def counts_of(store: Path) -> dict[str, Any]:
    """What was counted: of the last build, and by day; nothing where the file is no such.

    The bytes of the store were exact on the first build of a day.
    """
    import json

    path = store / _COUNTS
    with contextlib.suppress(OSError, *_OTHERWISE):
        if path.is_file():  # nobody may write to a FIFO
            found = json.loads(path.read_text())
            last, days = found["last"], found["days"].items()
            return {
                "last": {name: _field(name, value) for name, value in last.items()},
                "days": {str(int(day)): (_number(hits), _number(us)) for day, (hits, us) in days},
                "bytes": _number(found["bytes"]),
            }
    return {"last": {}, "days": {}, "bytes": 0}


def _field(name: str, found: Any) -> Any:
    """Of what was counted of the last build.  Raises one of _OTHERWISE."""
    if name == "examples":
        return {why: str(text) for why, text in found.items()}
    return _numbers(found) if name in _GROUPS else _number(found)


def _numbers(found: dict[str, Any]) -> Counter[str]:
    return Counter({name: _number(number) for name, number in found.items()})


def _number(found: Any) -> int:
    """Raises one of _OTHERWISE."""
    number = int(found)
    if not 0 <= number <= _LARGEST:
        raise ValueError
    return number


@contextlib.contextmanager
def _own(store: Path) -> Iterator[Path]:
    """The store by what is open, if it is the user's alone, as shims demand (memo/question.c).

    Raises SharedError, or OSError where there is none.
    """
    fd = os.open(store, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        info = os.fstat(fd)
        if info.st_uid != os.geteuid() or info.st_mode & 0o077:
            why = "belongs to another user" if info.st_uid != os.geteuid() else "is open to others"
            raise private.SharedError(os.fspath(store), why)
        yield Path(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)


def files_of(store: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Its files; of another user's store none."""
    with contextlib.suppress(OSError), _own(store) as own:
        for path, info in _files_in(own):
            yield store / path.relative_to(own), info


def _files_in(own: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for kind in _KINDS:
        for parent, _, names in os.walk(own / kind):
            for name in names:
                path = Path(parent, name)
                with contextlib.suppress(OSError):  # another build's
                    yield path, path.lstat()
    for path in own.glob("new-*"):  # what somebody writes, or has left half written
        with contextlib.suppress(OSError):
            yield path, path.lstat()


def clean(store: Path, most: int) -> int:
    """Removes what was not used for longest until a tenth of `most` is free; returns how many bytes
    are left."""
    with contextlib.suppress(OSError), _own(store) as own:
        return _clean(own, most)
    return 0


def _clean(own: Path, most: int) -> int:
    files = sorted(_files_in(own), key=lambda each: each[1].st_mtime_ns)
    size = sum(info.st_blocks * 512 for _, info in files)
    if size <= most:
        return size
    for path, info in files:
        if size <= most * 9 // 10:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            size -= info.st_blocks * 512
    return size


def clear(store: Path) -> int:
    """Forgets everything; returns how many results those were."""
    entries = 0
    with contextlib.suppress(OSError), _own(store) as own:
        entries = _remove(path for path, _ in list(_files_in(own)))
        for kind in _KINDS:
            remove_tree(own / kind)
    return entries


def trim(store: Path, since_ns: int) -> int:
    """Forgets what no build has used since then (wall clock); returns how many results those were.

    That something was used is noted again when ten minutes have passed.
    """
    with contextlib.suppress(OSError), _own(store) as own:
        return _remove(path for path, info in list(_files_in(own)) if info.st_mtime_ns < since_ns)
    return 0


def _remove(paths: Iterable[Path]) -> int:
    """Returns how many of them were results."""
    entries = 0
    for path in paths:
        entries += path.parent.parent.name == "q"
        with contextlib.suppress(OSError):
            path.unlink()
    return entries
