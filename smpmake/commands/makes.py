"""Programs that run recipes, by name."""

from __future__ import annotations

from typing import Final

#: Open Watcom's make, and the one that it is built with.
WMAKES: Final = frozenset({"wmake", "bwmake"})
#: Makes that look at the files that their makefiles name, and are shown a serial build's.
READERS: Final = frozenset({"make", "gmake", "bmake", "pmake", "fmake", "remake"}) | WMAKES
#: Drivers that read a command's dependency file the moment the command ends.
READ_BACK: Final = frozenset({"ninja", "samu"})
#: Drivers that run their commands in parallel by themselves.
PARALLEL: Final = READ_BACK | {"n2"}
#: All that do not read a recipe's output themselves.
MAKES: Final = READERS | READ_BACK | {"colormake"}

#: Programs that are tools only with -E and one of these words (commands.cmake).
SOMETIMES_TOOLS: Final = ("cmake",)
FILE_COMMANDS: Final = (
    "cmake_symlink_executable",
    "cmake_symlink_library",
    "copy",
    "copy_if_different",
    "create_symlink",
    "make_directory",
    "rm",
    "touch",
    "touch_nocreate",
)

#: How MAKEFLAGS names a job server; the second before make 4.2.
JOBSERVER: Final = ("--jobserver-auth=", "--jobserver-fds=")
#: Variables that may; the second is cargo's, for the build scripts of crates.
NAME_JOBSERVER: Final = ("MAKEFLAGS", "CARGO_MAKEFLAGS")


def options_of(makeflags: str) -> list[str]:
    """The words of MAKEFLAGS, up to the variables behind ` -- `."""
    words = makeflags.split(" ")
    return words[: words.index("--")] if "--" in words else words


def without_jobs(makeflags: str) -> str:
    """MAKEFLAGS for a driver that is to issue one command after the other."""
    options = options_of(makeflags)
    rest = makeflags.split(" ")[len(options) :]
    about_jobs = ("-j", "--jobs=", *JOBSERVER)
    kept = [w for w in options if not w.startswith(about_jobs) and w != "--jobs"]
    return " ".join([*kept, *rest])
