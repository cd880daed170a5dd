"""What the tools that move files about mean: mv, cp, ln, rm, touch, install, mkdir.

How their results are described, so that the server may put them among the jobs:

- mv's destination keeps its source's time (`timed` false) and takes the old file's place in one
  step (`replaces`); its source is `removed`.
- cp writes through the file that is there, keeping its mode, so an existing destination is
  `in_place`; so is what touch touches, whose content must stay.
- ln -s is said to read what it points to, although it could do without: who waits for the link
  then has waited for the file behind it, and nobody has to look through links.
- Whatever concerns a whole folder is a barrier: the paths below it are operands too, and unnamed.
"""

from __future__ import annotations

from collections.abc import Sequence

from smpmake.commands.files.coreutils_options import CP, INSTALL, LN, MKDIR, MV, RM, TOUCH, Do
from smpmake.commands.model import Analysis, Files, Invocation, Kind, Reason, Refusals, Write
from smpmake.commands.options import Getopt, Parsed
from smpmake.commands.paths import NULL_DEVICE, basename, is_device, join

# Options that settle the matter whatever the operands are.
_REFUSALS: dict[Do, Reason] = {
    Do.ASK: Reason.READS_STDIN,
    Do.UNPREDICTABLE: Reason.WRITES_UNPREDICTABLE,
}


def _refused(reason: Reason, detail: str = "") -> Analysis:
    return Analysis(Kind.FILE, refusal=reason, detail=detail)


#: With these and one source, mv is rename(2) and nothing else (as a job it has nobody to ask).
_JUST_MOVES = {Do.FORCE, Do.INTO, Do.NOT_INTO}


class Request:
    """One command taken apart."""

    def __init__(self, inv: Invocation, parsed: Parsed[Do]) -> None:
        self.files: Files = inv.files
        self.operands = parsed.operands
        self.options = {given.do: given.value or "" for given in parsed.given}

    def has(self, do: Do) -> bool:
        """Whether the option was given."""
        return do in self.options

    def pairs(self) -> list[tuple[str, str]] | None:
        """Each source with its destination; None where the tool will refuse the operands."""
        operands = self.operands
        folder = self.options.get(Do.INTO)
        if folder is not None:
            if self.has(Do.NOT_INTO) or not operands:
                return None
            return [(source, join(folder, _name(source))) for source in operands]
        if len(operands) < 2:
            return None
        sources, last = operands[:-1], operands[-1]
        into = not self.has(Do.NOT_INTO) and self.files.is_dir(last)
        if into:
            return [(source, join(last, _name(source))) for source in sources]
        if len(sources) > 1 or last.endswith("/"):
            return None
        return [(sources[0], last)]


def _name(path: str) -> str:
    return basename(path.rstrip("/")) or path


def _parse(inv: Invocation, table: Getopt[Do]) -> Request | Analysis:
    """The command taken apart, or the answer where that is all there is to know."""
    parsed = table.parse(inv.argv[1:], permute=inv.getenv("POSIXLY_CORRECT") is None)
    if any(given.do is Do.QUERY for given in parsed.given):
        return Analysis(Kind.QUERY, refusal=Reason.QUERY)
    if parsed.wrong:
        return _refused(Reason.UNKNOWN_OPTION, parsed.wrong)
    refusals = Refusals()
    for given in parsed.given:
        reason = _REFUSALS.get(given.do)
        if reason is not None:
            refusals.refuse(reason, given.name)
    if refusals.reason is not None:
        return _refused(refusals.reason, refusals.detail)
    if not parsed.operands:
        return _refused(Reason.MALFORMED, "no operands")
    return Request(inv, parsed)


def _odd(destination: str) -> Reason | None:
    """The reason where a destination is no regular file's name."""
    if destination == NULL_DEVICE:
        return Reason.DISCARDED_OUTPUT
    return Reason.WRITES_STDOUT if is_device(destination) else None


def _read(path: str) -> tuple[str, ...]:
    """A source as an operand; the empty device is none."""
    return () if path == NULL_DEVICE else (path,)


def analyse_mv(inv: Invocation) -> Analysis:
    """mv"""
    request = _parse(inv, MV)
    if isinstance(request, Analysis):
        return request
    pairs = request.pairs()
    if pairs is None:
        return _refused(Reason.MALFORMED, "operands")
    writes: list[Write] = []
    refusals = Refusals()
    for source, destination in pairs:
        odd = _odd(destination)
        if odd is not None:
            refusals.refuse(odd, destination)
        if request.files.is_dir(source):
            refusals.refuse(Reason.WHOLE_FOLDER, source)
        elif source.endswith("/"):
            refusals.refuse(Reason.MALFORMED, source)
        write = Write(destination, timed=False, replaces=True)
        if destination.endswith(".lo"):
            write = write._replace(vouches=True, same_as=source)
        writes.append(write)
        writes.append(Write(source, timed=False, removed=True, target=False))
    if refusals.reason is not None:
        return _refused(refusals.reason, refusals.detail)
    alone = len(pairs) == 1 and request.options.keys() <= _JUST_MOVES
    return Analysis(
        Kind.FILE,
        reads=tuple(source for source, _ in pairs),
        writes=tuple(writes),
        rename=pairs[0] if alone else None,
    )


def analyse_cp(inv: Invocation) -> Analysis:
    """cp"""
    request = _parse(inv, CP)
    if isinstance(request, Analysis):
        return request
    pairs = request.pairs()
    if pairs is None:
        return _refused(Reason.MALFORMED, "operands")
    kept = request.options.get(Do.PRESERVE)
    keeps = kept is not None and (not kept or "timestamps" in kept or "all" in kept)
    links = request.has(Do.LINKS) or request.has(Do.SYMBOLIC)
    timed = not (keeps or request.has(Do.KEEP_TIME) or links)
    meaning = _copies(request, pairs, timed)
    return _linked(meaning, pairs) if request.has(Do.LINKS) else meaning


def _copies(request: Request, pairs: list[tuple[str, str]], timed: bool) -> Analysis:
    """What cp does once its options are known."""
    return copies(
        request.files,
        pairs,
        timed=timed,
        first_remove=request.has(Do.FIRST_REMOVE),
        perhaps=request.has(Do.PERHAPS),
        symbolic=request.has(Do.SYMBOLIC),
    )


def copies(
    files: Files,
    pairs: Sequence[tuple[str, str]],
    *,
    timed: bool,
    first_remove: bool = False,
    perhaps: bool = False,
    symbolic: bool = False,
    kept: bool = False,
) -> Analysis:
    """Copies of files, each with its destination; for the flags see model.Write.

    first_remove: what is there is removed, not written over.
    perhaps: a destination may be left as it is.
    """
    reads: list[str] = []
    writes: list[Write] = []
    refusals = Refusals()
    for source, destination in pairs:
        odd = _odd(destination)
        if odd is not None:
            refusals.refuse(odd, destination)
        if is_device(source) and source != NULL_DEVICE:
            refusals.refuse(Reason.READS_STDIN, source)
        if files.is_dir(source):
            refusals.refuse(Reason.WHOLE_FOLDER, source)
        reads.extend(_read(source))
        there = not first_remove and files.exists(destination)
        write = Write(destination, timed=timed, in_place=perhaps or there, kept=kept)
        if symbolic:
            write = write._replace(symbolic=True, same_as=source)
        writes.append(write)
    if refusals.reason is not None:
        return _refused(refusals.reason, refusals.detail)
    return Analysis(Kind.FILE, reads=tuple(reads), writes=tuple(writes))


def analyse_ln(inv: Invocation) -> Analysis:
    """ln"""
    request = _parse(inv, LN)
    if isinstance(request, Analysis):
        return request
    files = request.files
    last = request.operands[-1]
    if len(request.operands) == 1 and not request.has(Do.INTO):
        pairs: list[tuple[str, str]] | None = [(last, _name(last))]
    else:
        if request.has(Do.NO_FOLLOW) and files.is_dir(last):
            # A folder, or a link to one?  The tool makes a difference that we cannot see.
            return _refused(Reason.WHOLE_FOLDER, last)
        pairs = request.pairs()
    if pairs is None:
        return _refused(Reason.MALFORMED, "operands")
    return links(files, pairs, symbolic=request.has(Do.SYMBOLIC), force=request.has(Do.FORCE))


def links(
    files: Files, pairs: Sequence[tuple[str, str]], *, symbolic: bool, force: bool
) -> Analysis:
    """Links, each as (what it is given, its own name).  force: in the place of what is there."""
    reads: list[str] = []
    writes: list[Write] = []
    for source, destination in pairs:
        odd = _odd(destination)
        if odd is not None:
            return _refused(odd, destination)
        if not force and files.exists(destination):
            return Analysis(
                Kind.FILE,
                reads=(source, destination),
                refusal=Reason.WRITES_NOTHING,
                detail=destination,
            )
        behind = source
        if symbolic:
            slash = destination.rfind("/")
            if slash >= 0 and not source.startswith("/"):
                behind = join(destination[:slash] or "/", source)
            if files.is_dir(behind):
                # What is below the link would be operands that nobody could see.
                return _refused(Reason.NOT_PENDING, source)
        # A symbolic link of its target's own name is as pending as that; under another name nobody
        # would know, so it waits for the target.
        if not symbolic or _name(source) != _name(destination):
            reads.append(behind)
        # A symbolic link has a time of its own.
        writes.append(
            Write(destination, timed=symbolic, replaces=force, symbolic=symbolic, same_as=behind)
        )
    meaning = Analysis(Kind.FILE, reads=tuple(reads), writes=tuple(writes))
    return meaning if symbolic else _linked(meaning, pairs)


def _linked(meaning: Analysis, pairs: Sequence[tuple[str, str]]) -> Analysis:
    """What makes second names: who writes to such a file later writes to both."""
    return meaning.refused(Reason.SEVERAL_NAMES, pairs[0][1])


def analyse_rm(inv: Invocation) -> Analysis:
    """rm"""
    parsed = RM.parse(inv.argv[1:], permute=inv.getenv("POSIXLY_CORRECT") is None)
    if not parsed.operands and not parsed.wrong and {g.do for g in parsed.given} == {Do.FORCE}:
        return _refused(Reason.NOT_PENDING)  # rm -f alone does nothing, and is no mistake
    request = _parse(inv, RM)
    if isinstance(request, Analysis):
        return request
    if request.options.get(Do.ASK_WHEN, "never") not in ("never", "no", "none"):
        return _refused(Reason.READS_STDIN, "--interactive")
    return removals(request.files, request.operands)


def removals(files: Files, paths: Sequence[str]) -> Analysis:
    """Files that are removed."""
    for path in paths:
        if files.is_dir(path):
            return _refused(Reason.WHOLE_FOLDER, path)
    writes = (Write(path, timed=False, removed=True, target=False) for path in paths)
    return Analysis(Kind.FILE, writes=tuple(writes))


def analyse_touch(inv: Invocation) -> Analysis:
    """touch: the content stays, so everything it touches is updated in place."""
    request = _parse(inv, TOUCH)
    if isinstance(request, Analysis):
        return request
    reference = request.options.get(Do.REFERENCE)
    timed = reference is None and not request.has(Do.KEEP_TIME) and not request.has(Do.ACCESS_ONLY)
    meaning = touches(
        request.files, request.operands, timed=timed, create=not request.has(Do.NO_CREATE)
    )
    return meaning._replace(reads=() if reference is None else (reference,))


def touches(
    files: Files, paths: Sequence[str], *, timed: bool = True, create: bool = True
) -> Analysis:
    """Files that are touched.  timed: by the time that it is now; create: made if need be."""
    writes: list[Write] = []
    for path in paths:
        if path == "-" or is_device(path):
            return _refused(Reason.WRITES_STDOUT, path)
        if files.is_dir(path):
            return _refused(Reason.NOT_PENDING, path)
        perhaps = not (create or files.exists(path))
        writes.append(Write(path, timed=timed, in_place=True, vouches=timed, perhaps=perhaps))
    return Analysis(Kind.FILE, writes=tuple(writes))


def analyse_install(inv: Invocation) -> Analysis:
    """install: removes what is there, copies, sets mode and owner."""
    request = _parse(inv, INSTALL)
    if isinstance(request, Analysis):
        return request
    if request.has(Do.FOLDERS):
        return _refused(Reason.NOT_PENDING, "-d")
    pairs = request.pairs()
    if pairs is None:
        return _refused(Reason.MALFORMED, "operands")
    files = request.files
    timed = not request.has(Do.KEEP_TIME)
    in_place = request.has(Do.PERHAPS)
    writes: list[Write] = []
    for source, destination in pairs:
        odd = _odd(destination)
        if odd is not None:
            return _refused(odd, destination)
        if is_device(source) and source != NULL_DEVICE:
            return _refused(Reason.READS_STDIN, source)
        slash = destination.rfind("/")
        if request.has(Do.LEADING_FOLDERS) and slash > 0 and not files.is_dir(destination[:slash]):
            # The folders it makes are wanted at once, and are on nobody's list.
            return Analysis(
                Kind.FILE,
                reads=(source,),
                writes=(Write(destination, timed=timed),),
                refusal=Reason.NOT_PENDING,
                detail=destination,
            )
        writes.append(Write(destination, timed=timed, in_place=in_place))
    reads = [path for source, _ in pairs for path in _read(source)]
    return Analysis(Kind.FILE, reads=tuple(reads), writes=tuple(writes))


def analyse_mkdir(inv: Invocation) -> Analysis:
    """mkdir: makes no file, and what it makes is wanted at once."""
    request = _parse(inv, MKDIR)
    return request if isinstance(request, Analysis) else _refused(Reason.NOT_PENDING)
