"""Random programs, random kills and random environments: builds beside plain ones."""

from __future__ import annotations

import random

from tests.soak.section import SpaceSection
from tests.support import batches, kills
from tests.support.findings import DifferenceError
from tests.support.space import MAIN, Space, objects


class Programs(SpaceSection):
    """Batches of random programs of compiles, links and file operations."""

    name = "programs"
    things = "programs"

    def play(self, space: Space, dice: random.Random, seed: int) -> int:
        """See SpaceSection."""
        seeds = [dice.randrange(1 << 40) for _ in range(dice.randint(20, 60))]
        batches.check(space, seeds, dice.randrange(1 << 20))
        return len(seeds)


class Kills(SpaceSection):
    """A build of real compiles that is killed."""

    name = "kills"
    things = "kills"

    #: So often a build may be over before it could be killed.
    PATIENCE = 20

    def __init__(self) -> None:
        super().__init__()
        self._expected: dict[str, str] = {}

    def prepare(self, space: Space) -> None:
        """See SpaceSection."""
        self._expected = kills.expected_tree(space)

    def play(self, space: Space, dice: random.Random, seed: int) -> int:
        """See SpaceSection."""
        for _ in range(self.PATIENCE):
            if kills.attempt(space, dice, self._expected, seed):
                return 1
        raise AssertionError(f"{self.PATIENCE} builds were over before they could be killed")


BUILD = {
    **objects(4),
    "main.c": MAIN,
    "Makefile": """
all: prog sub.done
prog: main.o libf.a ; gcc -o $@ main.o libf.a
libf.a: f0.o f1.o f2.o ; ar rc $@ f0.o f1.o f2.o
%.o: %.c ; gcc -c $< -o $@
sub.done: f3.o ; $(MAKE) -s stamp && cp f3.o copy.o && ls *.o > listed && touch $@
stamp: ; echo "$(WORDS)" > $@
bad: ; gcc -c none.c -o none.o
""",
}

#: Values that a variable may have; of those that name programs or folders for the plain build too.
ODD = (
    "",
    " ",
    "0",
    "-1",
    "x",
    "no such thing",
    "/",
    "/nowhere",
    "\udcff\udcfe",
    "a\nb",
    "'\"$(x)`",
)
#: What smpmake, its Python, make, gcc or a shell look at.
NAMES = (
    *("HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"),
    *("LANG", "LC_ALL", "LC_CTYPE", "LANGUAGE", "TZ", "PWD", "OLDPWD", "CDPATH", "ENV", "BASH_ENV"),
    *("CI", "GITHUB_ACTIONS", "GITHUB_WORKSPACE", "IFS", "PS4", "POSIXLY_CORRECT", "INCLUDE"),
    *("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "WLIB", "DISPLAY"),
    *("PYTHONPATH", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONWARNINGS", "PYTHONDEVMODE"),
    *("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONOPTIMIZE"),
    *("_SMPMAKE_SOCKET", "_SMPMAKE_BUILD", "_SMPMAKE_BOARD", "_SMPMAKE_DEPTH", "_SMPMAKE_CALLER"),
    *("SMPMAKE_STATUS", "SMPMAKE_STATUS_INTERVAL", "_SMPMAKE_REAL", "SMPMAKE_UNHEARD_OF"),
    *("CPATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", "LD_LIBRARY_PATH", "SOURCE_DATE_EPOCH", "WORDS"),
    *("MAKELEVEL", "MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKEOVERRIDES", "MAKE_TERMOUT"),
)
#: Variables for which any value is too much: they change what both builds are.
SANE = {
    "MAKEFLAGS": ("", "k", "-k", "s", "w", "--no-print-directory", " -- WORDS=b", "kw -- A=1"),
    "MFLAGS": ("", "-k", "-s"),
    "GNUMAKEFLAGS": ("", "-s", "--output-sync=none"),
    "MAKEOVERRIDES": ("", "A=1"),
    "MAKELEVEL": ("", "0", "7", "x"),
    "SHELL": ("/bin/sh", "/bin/bash", "/nowhere"),
    "GCC_EXEC_PREFIX": ("",),
    "SOURCE_DATE_EPOCH": ("0", "1000000000"),
    "PYTHONHASHSEED": ("0", "random", "7"),
    "PYTHONOPTIMIZE": ("1", "2"),
    "PYTHONUTF8": ("0", "1"),  # with another value no Python starts
    "PYTHONIOENCODING": ("ascii", "utf-8:strict", "latin-1"),
    "PYTHONWARNINGS": ("error", "ignore", "x"),
}
#: Folders, which a build as root would make wherever it is told to: all below the space's own.
FOLDERS = ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
PLACES = ("", "x", "{root}/new", "{root}/a b'\"$(x)", "{root}/\udcff", "{root}/file", "/dev/null")
PATHS = (
    "{path}",
    "{path}:",
    ":{path}",
    ".:{path}",
    "{path}:/nowhere",
    "/a b:{path}",
    "{path}:{path}",
)


def environment(dice: random.Random, path: str, root: str) -> dict[str, str]:
    """Some variables with some value; PATH still leads to the tools."""
    found = {}
    for name in dice.sample(NAMES, dice.randint(1, 8)):
        if name in FOLDERS:
            found[name] = dice.choice(PLACES).format(root=root)
            continue
        value = dice.choice(SANE.get(name, ODD))
        if name not in SANE and dice.random() < 0.1:
            value = "y" * dice.choice((300, 5000, 100_000))
        found[name] = value
    if dice.random() < 0.3:
        found["PATH"] = dice.choice(PATHS).format(path=path)
    for number in range(dice.choice((0, 0, 0, 3, 400))):
        found[f"MORE_{number}"] = "z" * dice.randrange(200)
    return found


class Environments(SpaceSection):
    """A small build in an odd environment."""

    name = "environments"
    things = "variables"

    def prepare(self, space: Space) -> None:
        """See SpaceSection."""
        (space.root / "file").touch()

    def play(self, space: Space, dice: random.Random, seed: int) -> int:
        """See SpaceSection."""
        around = environment(dice, space.environment["PATH"], str(space.root))
        command = ["make", *dice.sample(("-k", "-s", "-w", "bad", "all"), dice.randint(0, 3))]
        space.clear()
        space.write(BUILD)
        plain = space.run(*command, **around)
        expected = space.tree()
        space.clear()
        space.write(BUILD)
        ended = space.smpmake("-j3", "--", *command, **around)
        short = {name: value if len(value) < 80 else "..." for name, value in around.items()}
        what = f"{command} in {short}"[:3000]
        assert "Traceback" not in ended.err, f"{what}\n{ended.err}"
        tree = space.tree()
        wrong = {n for n in expected.keys() | tree.keys() if expected.get(n) != tree.get(n)}
        if wrong or ended.status != plain.status:
            raise DifferenceError(
                f"{what}: status {ended.status}, should be {plain.status}; {sorted(wrong)}"
                f"\n{ended.err}"
            )
        space.expect_clean()
        return len(around)
