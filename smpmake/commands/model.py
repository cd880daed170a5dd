"""What the analysis of a command line says, in words that every tool family shares.

This room knows nothing of any tool.  It holds the value types that families produce and the
server consumes; it never touches the disk (families ask the `Files` they are given).
"""

# Annotations are no texts here: NamedTuple would compile them, each time the module is loaded.
import enum
from collections.abc import Callable
from typing import NamedTuple, Protocol, Self


class Kind(enum.StrEnum):
    """What a command does, as far as scheduling and reports care."""

    COMPILE = "compile"
    PREPROCESS = "preprocess"
    GENERATE = "generate"  # makes sources and the like
    ASSEMBLE = "assemble"
    LINK = "link"
    ARCHIVE = "archive"
    FILE = "file"  # moves, copies, links, removes, touches: work for the disk, not the CPU
    INSPECT = "inspect"  # reads operands, prints, writes nothing
    QUERY = "query"  # asks the tool about itself: --version, -print-search-dirs
    BUILD = "build"  # a nested make: its commands come by themselves
    UNKNOWN = "unknown"


class Reason(enum.StrEnum):
    """Why a command was not deferred.  The value is the name that `smpmake why` shows.

    `barrier` says whether everything pending must finish first (the command is not understood)
    or only what the command's own operands need; `text` explains it to a person.
    """

    barrier: bool
    text: str

    @classmethod
    def text_of(cls, name: str) -> str:
        """What a reason means; of one that a newer or older smpmake has given, its name."""
        return cls(name).text if name in cls._value2member_map_ else name

    def __new__(cls, name: str, barrier: bool = False, text: str = "") -> Self:
        member = str.__new__(cls, name)
        member._value_ = name
        member.barrier = barrier
        member.text = text
        return member

    # Not understood: these wait for everything that is pending.
    UNKNOWN_OPTION = "unknown-option", True, "an option that smpmake does not know"
    UNKNOWN_LANGUAGE = "unknown-language", True, "a source language that smpmake does not know"
    UNREADABLE_RESPONSE_FILE = "unreadable-response-file", True, "an @file that cannot be read"
    UNREADABLE_SOURCE = "unreadable-source", True, "a source that names modules is not there yet"
    UNUSUAL_OUTPUT = "unusual-output", True, "an output that is no regular file's name"
    UNUSUAL_ENVIRONMENT = "unusual-environment", True, "a variable makes the tool write elsewhere"
    MALFORMED = "malformed-command", True, "the tool itself will refuse this command line"
    WHOLE_FOLDER = "whole-folder", True, "moves, copies or removes a whole folder"
    WRITES_UNPREDICTABLE = "unpredictable-outputs", True, "the names it writes cannot be predicted"
    # With a guard in the tool these wait for that file only.
    PENDING_ANSWER = "pending-answer", True, "what it means depends on a file that is pending"
    # Of all that is pending: it may go through the launcher by whatever name.
    LAUNCHER_QUERY = "launcher-query", True, "asks a launcher what it has done for other commands"
    # Understood, but its answer or its place matters: these wait for their operands only.
    QUERY = "query", False, "asks the tool about itself"
    READS_STDIN = "reads-stdin", False, "reads its source from standard input"
    CALLERS_FILE = "callers-file", False, "names a file that only the caller has open"
    WRITES_STDOUT = "writes-stdout", False, "its result goes to standard output"
    WRITES_NOTHING = "writes-nothing", False, "only its status and messages matter"
    DISCARDED_OUTPUT = "discarded-output", False, "writes to /dev/null: only its status matters"
    PROBE_NAME = "probe-name", False, "a configure-time check, known by its file or folder name"
    CAPTURED_OUTPUT = "captured-output", False, "its output is captured, redirected or discarded"
    SPECIAL_FILE = "special-file", False, "an operand that is a FIFO, a device or a socket"
    FRESH_SOURCE = "fresh-source", False, "a small source that the calling script has just written"
    STATUS_ASKED = (
        "status-asked",
        False,
        "makes a program, and its shell does something else if not",
    )
    NO_FOLDER = "no-folder", False, "the folder of what it makes is not there"
    IN_PLACE = "in-place-update", False, "updates a file in place, which only a guard could hide"
    SEVERAL_NAMES = (
        "several-names",
        False,
        "an output that has a second name, or gets one (a hard link)",
    )
    HELD_OPEN = "held-open", False, "writes into a file that somebody has open, or mapped"
    UNCHECKED = (
        "unchecked-outputs",
        False,
        "a generator of which cannot be seen, or was seen otherwise, what it writes",
    )
    LINK_WAITS = "link-waits", False, "without a guard links and archives run in place"
    NOT_PENDING = "not-pending", False, "touches no pending output"
    USER_FOREGROUND = "user-foreground", False, "named by --foreground or the configuration"
    INHERITED = "inherited", False, "its caller has another group, right, priority or namespace"
    TRACED = "traced", False, "called by, or below, a program that traces it (strace)"
    UNGUARDED = "unguarded-caller", False, "called by a program that takes no guard"
    TIME_LIMIT = "time-limit", False, "called by `timeout`: how long it takes matters"
    BACKGROUND = (
        "background",
        False,
        "a shell runs it in the background, and may wait for or end it",
    )
    STATUS_MATTERS = "status-matters", False, "failed once, and the caller looked at the status"
    FIRST_OF_SCRIPT = (
        "first-of-a-script",
        False,
        "the first call of a script: it shows what it writes",
    )
    WRITES_MORE = "writes-more", False, "a script that writes more than its command line says"
    DRIVER_READS_BACK = "driver-reads-back", False, "its caller reads side outputs at once"
    CHECKS_TARGETS = "checks-targets", False, "wmake looks at the target when the command ends"
    NO_TARGET_CHECK = "no-target-check", False, "wmake runs with -c (promised targets) and -z"
    RECIPE = "recipe-not-understood", False, "a recipe's line of which not every command is known"


class Refusals:
    """Why a command must not be deferred: of all that speaks against it, the worst.

    One reason that is a barrier outdoes any that is not; among equals the first stays.
    """

    __slots__ = ("detail", "reason")

    def __init__(self, reason: Reason | None = None, detail: str = "") -> None:
        self.reason = reason
        self.detail = detail

    def refuse(self, reason: Reason, detail: str = "") -> None:
        """One more reason, and what it is about."""
        if self.reason is None or (reason.barrier and not self.reason.barrier):
            self.reason, self.detail = reason, detail


class Divides(enum.IntEnum):
    """Whether a command does its work in several processes."""

    NEVER = enum.auto()
    IF_LET = enum.auto()  # where a job server lets it
    ANYHOW = enum.auto()  # in as many as it likes, if no job server says in how many


class Write(NamedTuple):
    """One path that a command makes, changes or removes.

    path     as the command line gives it: relative to the invocation's folder, or absolute.
    timed    its mtime becomes the command's time of issue (false where the tool keeps another
             file's time: mv, cp -p, ln, touch -r).
    in_place the command also reads and updates what is there (ar on an archive, strip x).
    removed  the command removes it (rm, the source of mv).
    target   what the driver's rule makes, as against a side output (a dependency file, a map):
             a stale copy of a target would fool a driver that compares times.
    replaces the tool puts the new file there in one step and the old one is good until then (mv).
    shared   the first command of a build that names it makes it, and those that have the same `kin`
             (see Analysis) only read it: a precompiled header.
    header   a compiler may read it although no command line names it.
    kept     the tool leaves it, and its time, where it would be as it was: a Fortran module.
    symbolic it is a symbolic link: who looks at it sees what is behind it.
    printed  it is what the command prints: its stdout, which a shell has opened and emptied.
    perhaps  the tool may not make it.
    same_as  another path by which the same file is reached: what a link leads to, or was renamed.
    vouches  it may say that commands of the same caller that were issued before are done: a stamp
             that is touched; libtool's x.lo, which has a `same_as` and is written anew if it goes.
    """

    path: str
    timed: bool = True
    in_place: bool = False
    removed: bool = False
    target: bool = True
    replaces: bool = False
    shared: bool = False
    kept: bool = False
    header: bool = True
    symbolic: bool = False
    same_as: str = ""
    printed: bool = False
    perhaps: bool = False
    vouches: bool = False

    @property
    def is_sure(self) -> bool:
        """Whether it is as the words say when the command has ended: there, or gone."""
        if self.removed:
            return True
        is_main = self.target and not self.kept
        return not self.perhaps and (self.timed or self.replaces or is_main)


class Program(NamedTuple):
    """A program that a command runs.

    name  as the command line has it; "" for the tool itself.
    asks  the words by which it is asked which programs it would run in its turn (see
          compiler_words.Line.question); () where it runs none.
    """

    name: str = ""
    asks: tuple[str, ...] = ()


#: A tool that does all of its work itself.
ALONE: tuple[Program, ...] = (Program(),)


def named(programs: tuple[Program, ...] | None, name: str) -> tuple[Program, ...] | None:
    """What a tool runs, where another stands before it: then it is `name` itself that is run."""
    if programs is None:
        return None
    return tuple(each if each.name else each._replace(name=name) for each in programs)


#: Keeps a text in a private file for as long as the command needs it; returns the file's name.
Keep = Callable[[str], str]


class Analysis(NamedTuple):
    """The meaning of one command line.

    reads       paths that the command is known to read, as given on the command line.
    writes      paths that it makes, changes or removes.
    search      folders in which it looks for what it does not name, in any order; "/": in any.
    undeclared  it may read files that it does not name (headers, libraries, linker scripts).
    refusal     why it must not be deferred, or None where it may be.
    detail      what the refusal is about: the option, the file, the variable.
    split       for several sources in one command: given a folder for intermediate objects, the
                parts that together have the same result; None where it cannot be split.
    rename      (source, destination) where all that it does is this one rename(2).
    kin         what commands have in common that can use one shared file (see Write).
    alone       what no two commands use at once, though it is no operand: a folder in which the
                tool's temporary names are not safe.
    argv        what is run instead of the command line as it came, or None: response files may be
                rewritten before a deferred command runs.  Called with what keeps a text in a file
                of ours and returns its name.
    divides     see Divides.
    folders     what it makes of these first, where they are not there.
    checks      it writes nothing (the refusal); its status tells only whether the build goes on.
    tool        by which name it is known to people, if that is not its own: of a recipe's line.
    speaks      it says more on standard output than what is wrong: who gets that may count on it.
    prints      it is in the foreground because its whole result goes to standard output (the
                refusal), and writes nothing else.
    checked     what it is seen to write is compared with its `writes` when it has ended.
    included    a make may read what it makes as soon as it ends, as a part of its makefiles.
    only        the words of the one command that a shell's line is and that its shell becomes.
    main        the words of the command for whose sake a recipe's line is there: its compile.
    said        what a recipe's line prints by itself before anything in it can fail.
    unsaid      what is run instead of it where that has been printed.
    behind      what it prints by itself later, if all in it succeeds.
    programs    what it runs that may read files which it does not name; None where nobody can tell.
    """

    kind: Kind
    reads: tuple[str, ...] = ()
    writes: tuple[Write, ...] = ()
    undeclared: bool = False
    refusal: Reason | None = None
    detail: str = ""
    split: Callable[[str], tuple["Part", ...]] | None = None
    rename: tuple[str, str] | None = None
    kin: str = ""
    alone: tuple[str, ...] = ()
    argv: Callable[[Keep], tuple[str, ...]] | None = None
    search: tuple[str, ...] = ()
    tool: str = ""
    speaks: bool = False
    prints: bool = False
    checks: bool = False
    divides: Divides = Divides.NEVER
    folders: tuple[str, ...] = ()
    included: bool = False
    checked: bool = False
    only: tuple[str, ...] = ()
    main: tuple[str, ...] = ()
    said: str = ""
    unsaid: tuple[str, ...] = ()
    behind: str = ""
    programs: tuple[Program, ...] | None = None

    @property
    def compiles(self) -> bool:
        """Whether it compiles C, C++ or Fortran: then it reads no object of another's."""
        return self.kind is Kind.COMPILE

    @property
    def makes_objects(self) -> bool:
        """Whether it makes objects, and what is beside them, and nothing that compilers read."""
        made = self.kind in (Kind.COMPILE, Kind.ASSEMBLE)
        return made and not any(write.header for write in self.writes)

    @property
    def printed(self) -> bool:
        """Whether what it prints is an output of its own."""
        return any(write.printed for write in self.writes)

    def printed_into(self, path: str) -> Self:
        """The same command (one that `prints`), its standard output being a file of its alone."""
        write = Write(path, printed=True)
        return self._replace(writes=(*self.writes, write), refusal=None, detail="", prints=False)

    def promised(self) -> Self:
        """The same command (one that `checks`), its success being taken for granted."""
        return self._replace(refusal=None, detail="", checks=False)

    def without_targets(self) -> Self:
        """The same command where guards know links: a symbolic one does not read its target."""
        targets = {write.same_as for write in self.writes if write.symbolic}
        return self._replace(reads=tuple(path for path in self.reads if path not in targets))

    def refused(self, reason: Reason, detail: str) -> Self:
        """The same command, not to be deferred: for this reason, or for a worse one it had."""
        refusals = Refusals(self.refusal, self.detail)
        refusals.refuse(reason, detail)
        return self._replace(refusal=refusals.reason, detail=refusals.detail, split=None)


class Part(NamedTuple):
    """One command of a split: argv as it is to be run, and what it means."""

    argv: tuple[str, ...]
    analysis: Analysis


class Files(Protocol):
    """What an analysis may ask of the disk; paths are relative to the invocation's folder.

    Each question is answered as it will be when what is pending has ended, and raises
    foretold.PendingAnswerError where that cannot be told yet.
    """

    def read_text(self, path: str) -> str | None:
        """The text of a response file (bytes kept by surrogateescape), or None."""

    def is_dir(self, path: str) -> bool:
        """Whether path is a folder, links followed."""

    def exists(self, path: str) -> bool:
        """Whether path exists, links followed."""


class Invocation(NamedTuple):
    """A command line as a shim received it.

    argv    the whole of it; argv[0] as the driver spelled it.
    cwd     the folder that it was called in: absolute, links followed.
    getenv  looks a variable up in the invocation's environment.
    files   the disk, as far as an analysis may ask.
    fed     what is on its standard input is known to come from a pipe or a file of its line.
    """

    argv: tuple[str, ...]
    cwd: str
    getenv: Callable[[str], str | None]
    files: Files
    fed: bool = False


class Family(NamedTuple):
    """Tools whose command lines follow one grammar.

    pattern  a regular expression that the whole tool name matches (no folder): `(.+-)?gcc(-\\d+)?`.
    analyse  the meaning of one invocation; never raises on any argv.
    on_disk  the whole work is on the disk: where nothing is pending nobody needs to hear of it.
    vouches  what it does may say that something pending has been made.
    prints   its result is what it prints: of concern only where that goes to a file.
    built    it is no tool of the system's: a project builds it and calls it by a path of its own.
    alone    what programs that are these tools have in their files, if they start no other program.
    """

    name: str
    pattern: str
    analyse: Callable[[Invocation], Analysis]
    on_disk: bool = False
    vouches: bool = False
    alone: bytes = b""
    prints: bool = False
    built: bool = False
