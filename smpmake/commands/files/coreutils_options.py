"""The options of mv, cp, ln, rm, touch, install and mkdir: tables, and nothing else."""

from __future__ import annotations

import enum

from smpmake.commands.options import Getopt, Marker, Opt, Want


class Do(Marker):
    """What an option of these tools does."""

    NOTHING = enum.auto()
    QUERY = enum.auto()
    FORCE = enum.auto()
    ASK = enum.auto()
    ASK_WHEN = enum.auto()
    UNPREDICTABLE = enum.auto()
    INTO = enum.auto()
    NOT_INTO = enum.auto()
    RECURSE = enum.auto()
    KEEP_TIME = enum.auto()
    PRESERVE = enum.auto()
    PERHAPS = enum.auto()  # it may leave the destination as it is
    FIRST_REMOVE = enum.auto()
    LINKS = enum.auto()
    SYMBOLIC = enum.auto()
    NO_FOLLOW = enum.auto()
    NO_CREATE = enum.auto()
    ACCESS_ONLY = enum.auto()
    REFERENCE = enum.auto()
    FOLDERS = enum.auto()
    LEADING_FOLDERS = enum.auto()


NO, YES, MAYBE = Want.NO, Want.YES, Want.MAYBE

_QUESTIONS = (Opt("--help", Do.QUERY), Opt("--version", Do.QUERY))
_INTO = (
    Opt("-t --target-directory", Do.INTO, YES),
    Opt("-T --no-target-directory", Do.NOT_INTO),
)
_BACKUPS = (
    Opt("-b", Do.UNPREDICTABLE),
    Opt("--backup", Do.UNPREDICTABLE, MAYBE),
    Opt("-S --suffix", Do.UNPREDICTABLE, YES),
)

MV: Getopt[Do] = Getopt(
    (
        Opt("-f --force", Do.FORCE),
        Opt("-i --interactive", Do.ASK),
        Opt("-n --no-clobber", Do.UNPREDICTABLE),
        Opt("-u", Do.UNPREDICTABLE),
        Opt("--update", Do.UNPREDICTABLE, MAYBE),
        Opt("-v --verbose", Do.NOTHING),
        Opt("--debug", Do.NOTHING),
        Opt("--strip-trailing-slashes", Do.NOTHING),
        Opt("-Z", Do.NOTHING),
        Opt("--context", Do.NOTHING, MAYBE),
        *_INTO,
        *_BACKUPS,
        *_QUESTIONS,
    )
)

CP: Getopt[Do] = Getopt(
    (
        Opt("-a --archive", Do.KEEP_TIME),
        Opt("-p", Do.KEEP_TIME),
        Opt("--preserve", Do.PRESERVE, MAYBE),
        Opt("--no-preserve", Do.NOTHING, YES),
        Opt("-d", Do.NOTHING),
        Opt("-f --force", Do.FORCE),
        Opt("-i --interactive", Do.ASK),
        Opt("-H", Do.NOTHING),
        Opt("-L --dereference", Do.NOTHING),
        Opt("-P --no-dereference", Do.NOTHING),
        Opt("-l --link", Do.LINKS),
        Opt("-s --symbolic-link", Do.SYMBOLIC),
        Opt("-n --no-clobber", Do.PERHAPS),
        Opt("-u", Do.PERHAPS),
        Opt("--update", Do.PERHAPS, MAYBE),
        Opt("-R -r --recursive", Do.RECURSE),
        Opt("--remove-destination", Do.FIRST_REMOVE),
        Opt("--attributes-only", Do.UNPREDICTABLE),
        Opt("--parents", Do.UNPREDICTABLE),
        Opt("--copy-contents", Do.UNPREDICTABLE),
        Opt("--reflink", Do.NOTHING, MAYBE),
        Opt("--sparse", Do.NOTHING, YES),
        Opt("--strip-trailing-slashes", Do.NOTHING),
        Opt("-v --verbose", Do.NOTHING),
        Opt("--debug", Do.NOTHING),
        Opt("-x --one-file-system", Do.NOTHING),
        Opt("-Z", Do.NOTHING),
        Opt("--context", Do.NOTHING, MAYBE),
        *_INTO,
        *_BACKUPS,
        *_QUESTIONS,
    )
)

LN: Getopt[Do] = Getopt(
    (
        Opt("-s --symbolic", Do.SYMBOLIC),
        Opt("-f --force", Do.FORCE),
        Opt("-i --interactive", Do.ASK),
        Opt("-n --no-dereference", Do.NO_FOLLOW),
        Opt("-d -F --directory", Do.UNPREDICTABLE),
        Opt("-L --logical", Do.NOTHING),
        Opt("-P --physical", Do.NOTHING),
        Opt("-r --relative", Do.NOTHING),
        Opt("-v --verbose", Do.NOTHING),
        *_INTO,
        *_BACKUPS,
        *_QUESTIONS,
    )
)

RM: Getopt[Do] = Getopt(
    (
        Opt("-f --force", Do.FORCE),
        Opt("-i -I", Do.ASK),
        Opt("--interactive", Do.ASK_WHEN, MAYBE),
        Opt("-R -r --recursive", Do.RECURSE),
        Opt("-d --dir", Do.RECURSE),
        Opt("--one-file-system", Do.NOTHING),
        Opt("--no-preserve-root", Do.NOTHING),
        Opt("--preserve-root", Do.NOTHING, MAYBE),
        Opt("-v --verbose", Do.NOTHING),
        *_QUESTIONS,
    )
)

TOUCH: Getopt[Do] = Getopt(
    (
        Opt("-a", Do.ACCESS_ONLY),
        Opt("-c --no-create", Do.NO_CREATE),
        Opt("-d --date", Do.KEEP_TIME, YES),
        Opt("-f", Do.NOTHING),
        Opt("-h --no-dereference", Do.NOTHING),
        Opt("-m", Do.NOTHING),
        Opt("-r --reference", Do.REFERENCE, YES),
        Opt("-t", Do.KEEP_TIME, YES),
        Opt("--time", Do.ACCESS_ONLY, YES),
        *_QUESTIONS,
    )
)

INSTALL: Getopt[Do] = Getopt(
    (
        Opt("-c", Do.NOTHING),
        Opt("-C --compare", Do.PERHAPS),
        Opt("-d --directory", Do.FOLDERS),
        Opt("-D", Do.LEADING_FOLDERS),
        Opt("-g --group", Do.NOTHING, YES),
        Opt("-m --mode", Do.NOTHING, YES),
        Opt("-o --owner", Do.NOTHING, YES),
        Opt("-p --preserve-timestamps", Do.KEEP_TIME),
        Opt("-s --strip", Do.NOTHING),
        Opt("--strip-program", Do.NOTHING, YES),
        Opt("-v --verbose", Do.NOTHING),
        Opt("--debug", Do.NOTHING),
        Opt("--preserve-context", Do.NOTHING),
        Opt("-Z", Do.NOTHING),
        Opt("--context", Do.NOTHING, MAYBE),
        *_INTO,
        *_BACKUPS,
        *_QUESTIONS,
    )
)

MKDIR: Getopt[Do] = Getopt(
    (
        Opt("-m --mode", Do.NOTHING, YES),
        Opt("-p --parents", Do.NOTHING),
        Opt("-v --verbose", Do.NOTHING),
        Opt("-Z", Do.NOTHING),
        Opt("--context", Do.NOTHING, MAYBE),
        *_QUESTIONS,
    )
)
