"""Everything that the user can decide: one table for the command line, the variables and the files.

A build waits for this module, so annotations are values: texts would be compiled when a tuple's
fields are made of them.  It needs no parser: a parser's options are made from the table.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

OUTPUTS: Final = ("live", "serial")
#: What a guarded process may be kept from doing too early (guard.questions.CAUSES: by question).
CAUSES: Final = ("reads", "changes", "lists", "walks", "renames", "looks at", "links to", "runs")
_TRUE: Final = ("1", "on", "t", "true", "y", "yes")
_FALSE: Final = ("0", "f", "false", "n", "no", "off")
_MOST: Final = 4096  # jobs
_SIZE: Final = 'a size such as "512M" or "2G", or "off"'
_TOOLS: Final = "a list of tool names or path patterns"


class ValueUnusableError(ValueError):
    """A value that an option cannot have; the message says what it must be."""


class Option(NamedTuple):
    """One of them.

    name       the field of config.Settings.
    kind       what its values are.  Lists add up: those of files, and each time one is given.
    help       for the command line.
    words      how it is given on the command line; nothing: it is not.
    off        how a flag is taken back there.
    variable   in the environment; "": it is not there.
    key        in files; "": it is not there.
    metavar    what stands for a value in the help.
    default    what holds without it, for the help.
    choices    the values that it can have.
    least, most  the same of numbers, both included.
    like       a pattern of texts that it can have.
    wanted     the same in words.
    builds, servers  whose command line it is on.
    """

    name: str
    kind: Literal["flag", "number", "choice", "amount", "list", "text"]
    help: str = ""
    words: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    variable: str = ""
    key: str = ""
    metavar: str = ""
    default: str = ""
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = 1 << 62
    like: str = ""
    wanted: str = ""
    builds: bool = True
    servers: bool = True

    def from_text(self, text: str) -> Any:
        """The value that a word or a variable means.  Raises ValueUnusableError."""
        value: Any = text
        if self.kind == "flag":
            word = text.strip().lower()
            value = word in _TRUE if word in _TRUE + _FALSE else None
        elif self.kind == "number":
            value = int(text) if re.fullmatch(r"\d{1,18}", text, re.ASCII) else None
        elif self.kind == "amount":
            value = parse_size(text)
        if value is None or not self._may_be(value):
            raise ValueUnusableError(f"'{text}' must be {self.must_be}")
        return value

    def from_file(self, value: Any) -> Any:
        """The value that a file's means.  Raises ValueUnusableError."""
        found: Any = None
        if self.kind == "list":
            listed = value
            if self.like and isinstance(value, dict):  # a table: NAME = N
                listed = [f"{name}={number}" for name, number in value.items()]
            if isinstance(listed, list) and all(isinstance(each, str) and each for each in listed):
                found = tuple(listed)
                value = next((each for each in listed if not self._may_be(each)), value)
        elif self.kind == "flag":
            found = value if isinstance(value, bool) else None
        elif self.kind == "number":
            found = value if isinstance(value, int) and not isinstance(value, bool) else None
        elif self.kind == "text" and self.like and isinstance(value, (int, float)):
            found = str(value)  # "2.5" and 2.5 are the same to who writes it
        elif isinstance(value, str):
            found = parse_size(value) if self.kind == "amount" else value
        values = found if self.kind == "list" else (found,)
        if found is not None and all(map(self._may_be, values)):
            return found
        raise ValueUnusableError(f"is {value!r} and must be {self.must_be}")

    def _may_be(self, value: Any) -> bool:
        if self.kind == "number":
            return bool(self.least <= value <= self.most)
        if self.like and re.fullmatch(self.like, value) is None:
            return False
        return not self.choices or value in self.choices

    @property
    def must_be(self) -> str:
        """What its value must be, in words."""
        if self.wanted:
            return self.wanted
        if self.choices:
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        if self.kind == "flag":
            return "true or false"
        return f"a whole number from {self.least} to {self.most}"

    @property
    def placeholder(self) -> str:
        """What stands for a value in the help; "" for a flag."""
        return self.metavar or (f"[{'|'.join(self.choices)}]" if self.choices else "")

    @property
    def help_text(self) -> str:
        """Its help, with its variable and what holds without it."""
        facts = [f"env var: {self.variable}"] if self.variable else []
        facts += [f"default: {self.default}"] if self.default else []
        return f"{self.help}  [{'; '.join(facts)}]" if facts else self.help


def parse_size(text: str) -> int | None:
    """Bytes of "512M", "2G", "100000"; -1 for "off"; None for what is no size."""
    if text == "off":
        return -1
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    if found is None:
        return None
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


OPTIONS: Final = (
    Option(
        "jobs",
        "number",
        "Run up to N jobs at once.  0 means one job for each usable CPU.",
        default="0",
        words=("-j", "--jobs"),
        variable="SMPMAKE_JOBS",
        key="jobs",
        metavar="N",
        most=_MOST,
        wanted=f"a whole number from 1 to {_MOST}, or 0 for all usable CPUs",
    ),
    Option(
        "keep_going",
        "flag",
        "After a failure, go on with everything that does not depend on it.  This is for build"
        " scripts: tell make itself with `smpmake make -k`.",
        words=("-k", "--keep-going"),
        variable="SMPMAKE_KEEP_GOING",
        key="keep-going",
    ),
    Option(
        "guard",
        "flag",
        "Make the build's processes wait for a result that they touch too early.  Without a guard"
        " fewer commands run in parallel, and links and archives run in place.",
        default="--guard",
        words=("--guard",),
        off=("--no-guard",),
        variable="SMPMAKE_GUARDED",
        key="guard",
    ),
    Option(
        "recipes",
        "choice",
        "Run recipe lines, and commands that print into files, in parallel: when smpmake knows all"
        " that they do (understood), or never (off).",
        default="understood",
        words=("--recipes",),
        variable="SMPMAKE_RECIPES",
        key="recipes",
        choices=("off", "understood"),
    ),
    Option(
        "memo",
        "choice",
        "Remember the results of commands, and give them back from the second time on.  auto waits"
        " with checks of configure until they come for the second time, on does not.  check runs"
        " every command and says where a remembered result is different.",
        default="auto",
        words=("--memo",),
        variable="SMPMAKE_MEMO",
        key="memo",
        choices=("off", "check", "on", "auto"),
        servers=False,
    ),
    Option(
        "memo_size",
        "number",
        "Let remembered results take up to so many MiB of the disk.  What no build has used for"
        " longest goes first.",
        default="5120",
        words=("--memo-size",),
        variable="SMPMAKE_MEMO_SIZE",
        key="memo-size",
        metavar="MIB",
        least=1,
        wanted="a number of MiB, at least 1",
        servers=False,
    ),
    Option(
        "memo_remote",
        "text",
        "Also ask the server at URL for results that other machines remember, as with --memo=on."
        "  Each machine that can write there can change what your programs do.",
        default="off",
        words=("--memo-remote",),
        variable="SMPMAKE_MEMO_REMOTE",
        key="memo-remote",
        metavar="URL",
        like=r"""off|https?://([^\s/?#@]+@)?([\w.-]+|\[[\da-fA-F:.]+\])(:\d{1,5})?(/[!"$->@-~]*)?""",
        wanted='an address such as "https://cache.example.org/smpmake", or "off"',
        servers=False,
    ),
    Option(
        "memo_push",
        "flag",
        "Also send this build's results to the server of --memo-remote.",
        default="--no-memo-push",
        words=("--memo-push",),
        off=("--no-memo-push",),
        variable="SMPMAKE_MEMO_PUSH",
        key="memo-push",
        servers=False,
    ),
    Option(
        "run_ahead",
        "flag",
        "Run the checks of a configure script ahead of their turn, on idle CPUs"
        " (with --memo=auto or on; the default).",
        default="--run-ahead",
        words=("--run-ahead",),
        off=("--no-run-ahead",),
        variable="SMPMAKE_RUN_AHEAD",
        key="run-ahead",
    ),
    Option(
        "engine",
        "choice",
        "Compile on this machine alone (local), or also on the machines of distcc or icecream."
        "  auto uses those machines if there are any.",
        default="local",
        words=("--engine",),
        variable="SMPMAKE_ENGINE",
        key="engine",
        choices=("local", "distcc", "icecream", "auto"),
    ),
    Option(
        "remote",
        "number",
        "Run at most N compiles on other machines at once.  0 means as many as those take.",
        default="0",
        words=("--remote",),
        variable="SMPMAKE_REMOTE",
        key="remote",
        metavar="N",
        most=_MOST,
        wanted=f"a whole number from 1 to {_MOST}, or 0 for all that other machines take",
    ),
    Option(
        "memory",
        "amount",
        "Start no job that would leave less than SIZE of memory free.  off starts jobs without a"
        " look at memory.",
        default="5 % of the memory, at most 1G",
        words=("--memory",),
        variable="SMPMAKE_MEMORY",
        key="memory",
        metavar="SIZE",
        wanted=_SIZE,
    ),
    Option(
        "own_pool",
        "flag",
        "Do not share the CPUs with your other builds: each build then runs as many jobs as if it"
        " were alone.",
        words=("--own-pool",),
        variable="SMPMAKE_OWN_POOL",
        key="own-pool",
    ),
    Option(
        "load_average",
        "text",
        "Start no second job while N processes run on this machine, as make and ninja do."
        "  Without it the -l of a make that runs smpmake counts.",
        words=("-l", "--load-average"),
        variable="SMPMAKE_LOAD_AVERAGE",
        key="load-average",
        metavar="N",
        like=r"\d{1,6}(\.\d{1,6})?|",
        wanted='a number such as "4" or "2.5"',
    ),
    Option(
        "pressure",
        "number",
        "Start no second job while everybody waits for memory or disks for PERCENT of the"
        " time (the kernel's `full` pressure).  0 does not look.",
        default="0",
        words=("--pressure",),
        variable="SMPMAKE_PRESSURE",
        key="pressure",
        metavar="PERCENT",
        most=100,
        wanted="a whole number from 1 to 100, or 0 for no look at pressure",
    ),
    Option(
        "slots",
        "list",
        "Run at most N jobs of a class at once: link, lto, or a pattern of a tool.  You may give"
        " this option several times.",
        words=("--slots",),
        variable="SMPMAKE_SLOTS",
        key="slots",
        metavar="CLASS=N",
        like=r".+=[1-9]\d{0,3}",
        wanted="a class and a number: link=2, in a file a table with link = 2",
    ),
    Option(
        "machine_pool",
        "text",
        "Share the CPUs with every build that names this folder: of other users, and in containers"
        " that have it mounted.  All of its users must be able to write there.",
        words=("--machine-pool",),
        variable="SMPMAKE_MACHINE_POOL",
        key="machine-pool",
        metavar="DIR",
        like=r"/[^\0]+|",
        wanted="the absolute path of a folder",
    ),
    Option(
        "foreground",
        "list",
        "Always run TOOL in place, never in the background.  TOOL is a name, or a pattern of its"
        " path.  You may give this option several times.",
        words=("--foreground",),
        variable="SMPMAKE_FOREGROUND",
        key="foreground",
        metavar="TOOL",
        wanted=_TOOLS,
    ),
    Option(
        "exclusive",
        "list",
        "Run TOOL alone: no other job runs at the same time.  You may give this option several"
        " times.",
        words=("--exclusive",),
        variable="SMPMAKE_EXCLUSIVE",
        key="exclusive",
        metavar="TOOL",
        wanted=_TOOLS,
    ),
    Option(
        "output",
        "choice",
        "Print a job's output in one piece when the job ends (live), or in the order of the serial"
        " build (serial).",
        default="live",
        words=("--output-sync",),
        variable="SMPMAKE_OUTPUT_SYNC",
        key="output-sync",
        choices=OUTPUTS,
        servers=False,
    ),
    Option(
        "chaos",
        "number",
        "Test smpmake's own waiting: delay and reorder jobs at random, from the number SEED.  This"
        " does not find forgotten dependencies of a makefile.",
        words=("--chaos",),
        variable="SMPMAKE_CHAOS",
        metavar="SEED",
        wanted="a whole number",
        servers=False,
    ),
    Option("without", "list", words=("--without",), choices=CAUSES, servers=False),  # for tests
    Option(
        "verbose",
        "flag",
        "Also say which commands did not run in parallel, and why.",
        words=("-v", "--verbose"),
        variable="SMPMAKE_VERBOSE",
        servers=False,
    ),
    Option(
        "quiet",
        "flag",
        "Print no status line, and a summary of one line; none where nothing ran in parallel.",
        words=("-q", "--quiet"),
        variable="SMPMAKE_QUIET",
        servers=False,
    ),
    Option(
        "color",
        "choice",
        "Colour smpmake's own lines: on a terminal (auto), always or never.",
        default="auto",
        words=("--color",),
        variable="SMPMAKE_COLOR",
        key="color",
        choices=("auto", "always", "never"),
        servers=False,
    ),
    Option(
        "idle",
        "number",
        "A build that no make runs has ended after SECONDS without a command.",
        default="10",
        words=("--idle",),
        key="idle",
        metavar="SECONDS",
        least=1,
        wanted="a number of seconds, at least 1",
        builds=False,
    ),
    Option(
        "undo",
        "amount",
        "Keep up to so many bytes of older contents of files, to undo what a build did behind a"
        " failure.  off undoes nothing.",
        default="1G",
        key="undo",
        wanted=_SIZE,
    ),
    Option(
        "redact",
        "list",
        "Do not store the values of variables and options of these names either.",
        key="redact",
        wanted="a list of names (patterns) of secrets",
    ),
    Option(
        "history_size",
        "number",
        "Forget the oldest builds when the history takes more MiB.",
        default="256",
        key="history-size",
        least=1,
        wanted="a number of MiB, at least 1",
    ),
)
#: Every key of the files.
KEYS: Final = {option.key: option for option in OPTIONS if option.key}
BY_NAME: Final = {option.name: option for option in OPTIONS}


#: Variables that are no option of a build's.
OTHER_VARIABLES: Final = ("SMPMAKE_STATUS", "SMPMAKE_STATUS_INTERVAL", "SMPMAKE_SERVER")


def of_builds() -> Iterator[Option]:
    """What a build's command line has."""
    return (option for option in OPTIONS if option.words and option.builds)


def of_servers() -> Iterator[Option]:
    """What the command line of `smpmake serve` has."""
    return (option for option in OPTIONS if option.words and option.servers)
