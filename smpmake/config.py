"""Settings: defaults, the user's and the project's files, what the command line says.

The command line wins over the SMPMAKE_ variables, these over the project's `.smpmake.toml`, this
over [tool.smpmake] in its `pyproject.toml`, and this over the user's `config.toml`.  Lists
(`foreground`, `exclusive`) add up instead.

A build waits for this module, so annotations are values (see options).
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from smpmake import folders, private
from smpmake.errors import SmpmakeError
from smpmake.options import BY_NAME, KEYS, OPTIONS, ValueUnusableError

if TYPE_CHECKING:
    from smpmake.commands.custom import Custom

#: The server that `serve`, `env`, `wait` and `stop` mean without --socket.
DEFAULT_NAME: Final = "default"
#: What decides how a build runs, and so belongs to what is known of it.
_TOLD: Final = tuple(
    option
    for option in OPTIONS
    if option.name
    not in (
        *("verbose", "quiet", "color", "idle", "redact", "history_size", "memo_size"),
        *("memo_remote", "memo_push"),  # an address may have a password
        "machine_pool",  # a place, not a way
    )
)
#: What a pyproject.toml cannot set: the package may be a stranger's, and these say where commands
#: run, and which commands are believed.
_NOT_OF_PACKAGES: Final = ("engine", "remote", "tools")
#: What no file of a project can set: whoever wrote it would be believed what results are, or would
#: have others' forgotten.
_OF_USERS: Final = ("memo-remote", "memo-push", "memo-size")
_TABLE: Final = b"smpmake"
_NEAR: Final = 0.65  # how much of an unknown key a known one must have to be suggested


class ConfigError(SmpmakeError):
    """A setting that cannot be used.  The message names the place, the fault and the remedy."""


class Accepted(NamedTuple):
    """A finding of `smpmake check` that stays as it is: patterns of the file's path from the
    project's folder and of the targets, "*" for any, and why.
    """

    file: str
    target: str
    reason: str


class Settings(NamedTuple):
    """All that the user can decide; smpmake.options has the words for it.

    jobs        slots; 0 means as many as usable CPUs.
    own_pool    whether they are this build's own, whatever else the user builds meanwhile.
    load_average  as many processes as may run when a job begins beside others; "" for any number.
    pressure    per cent of the time: while memory or disks stall more no job begins beside others.
    slots       classes of jobs and how many of each run at once: NAME=N.
    machine_pool  a folder whose users' builds share the CPUs; "": the user's own builds alone.
    guard       whether the build's processes get one; without one links and archives wait.
    recipes     "off" or "understood": whether recipes' lines, and what prints into files, are jobs
                where all that they do is known.
    memo        "off", "check", "on" or "auto" (that of a check if it came before): whether results
                of commands are remembered.
    memo_size   how much of them: MiB.
    memo_remote  the address of a server that has results of other machines, or "off".
    memo_push   whether results are sent there, too.
    run_ahead   whether checks of configure run before their turn.
    engine      who compiles: "local", "distcc", "icecream", or "auto" for a cluster where there is
                one.
    remote      how many compiles are on other machines at once; 0: as many as these take.
    chaos       seed of a disorder made on purpose, or None.
    without     causes of stalls that are not waited for (options.CAUSES): for tests alone.
    verbosity   -1 quiet, 0 normal, 1 verbose.
    status      format of the status line (SMPMAKE_STATUS), "" for none, None for ours.
    memory      bytes that jobs leave free, -1 not to look at memory, None for the usual reserve.
    undo        bytes of older contents kept to undo what a build did, -1 for no undoing at all.
    tools       tools that smpmake does not know by itself ([tools.NAME]), the nearest first.
    redact      more names of what is not to be stored (redact.DEFAULT_NAMES).
    accepted    what `smpmake check` is not to tell as a finding ([[check]]).
    history_size  what is kept of builds: MiB.
    idle        s without a command after which a build through shims on PATH has ended.
    sources     the files that these are from.
    notices     what the user is to be told of what the files say.
    """

    jobs: int = 0
    own_pool: bool = False
    load_average: str = ""
    pressure: int = 0
    slots: tuple[str, ...] = ()
    machine_pool: str = ""
    keep_going: bool = False
    guard: bool = True
    foreground: tuple[str, ...] = ()
    exclusive: tuple[str, ...] = ()
    output: str = "live"
    recipes: str = "understood"
    memo: str = "auto"
    memo_size: int = 5120
    memo_remote: str = "off"
    memo_push: bool = False
    run_ahead: bool = True
    engine: str = "local"
    remote: int = 0
    chaos: int | None = None
    without: tuple[str, ...] = ()
    verbosity: int = 0
    color: str = "auto"
    status: str | None = None
    memory: int | None = None
    undo: int = 1 << 30
    redact: tuple[str, ...] = ()
    history_size: int = 256
    idle: int = 10
    tools: tuple["Custom", ...] = ()
    accepted: tuple[Accepted, ...] = ()
    sources: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def takes_recipes(self) -> bool:
        """Whether recipes' lines are jobs, and what prints into files."""
        return self.guard and self.recipes != "off"

    def with_given(self, given: Mapping[str, Any]) -> "Settings":
        """These with what the command line and the variables say, which is `given`, on top."""
        changes = dict(given)
        for name in given:
            option = BY_NAME[name]
            if option.kind == "list" and option.key:
                changes[name] = (*getattr(self, name), *given[name])
        verbosity = int(changes.pop("verbose", False)) - int(changes.pop("quiet", False))
        return self._replace(**changes, verbosity=verbosity)


def merge(settings: Settings, path: Path) -> Settings:
    """Settings with what a file says.  Raises ConfigError; a missing file changes nothing."""
    settings, data = _read(settings, path)
    return settings if data is None else _merged(settings, _parsed(data, path), str(path))


def _read(
    settings: Settings,
    path: Path,
    below: Path | None = None,
    is_wanted: Callable[[Path], bool] = os.path.exists,
) -> tuple[Settings, bytes | None]:
    """What a file holds; None if there is none, or others may change it, which is a notice.

    below      the folder in which it is: of a project nobody asks whose the folders above are.
    is_wanted  whether its user would miss what it says.
    Raises ConfigError.
    """
    try:
        if below is None:
            return settings, private.read(path, follow=True)
        return settings, private.read(path.name, follow=True, below=below)
    except (FileNotFoundError, NotADirectoryError):  # a home may be /dev/null
        return settings, None
    except private.SharedError as error:
        if not is_wanted(path):
            return settings, None
        why = error.strerror if error.filename == os.fspath(path) else str(error)
        remedy = error.remedy or "only files of yours and of root count"
        notice = f"{path} is ignored: {'it ' if why == error.strerror else ''}{why} ({remedy})"
        return settings._replace(notices=(*settings.notices, notice)), None
    except OSError as error:
        if not os.path.lexists(path):  # another user's home is closed to us
            return settings, None
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def _has_table(path: Path) -> bool:
    try:
        return _TABLE in path.read_bytes()
    except OSError:
        return False


def merge_pyproject(settings: Settings, cwd: Path) -> Settings:
    """Settings with what the nearest pyproject.toml that has some says.  Raises ConfigError."""
    for path in folders.pyprojects(cwd):
        settings, data = _read(settings, path, path.parent, _has_table)
        if data is None or _TABLE not in data:  # most: they are not even parsed
            continue
        tools = _parsed(data, path).get("tool")
        table = tools.get("smpmake") if isinstance(tools, dict) else None
        if table is None:
            continue
        place = f"{path}: [tool.smpmake]"
        if not isinstance(table, dict):
            raise ConfigError(f"{place} must be a table")
        settings = _without(settings, table, place, _NOT_OF_PACKAGES, ".smpmake.toml or your own")
        return _merged_project(settings, table, place)
    return settings


def _merged_project(settings: Settings, table: dict[str, Any], place: str) -> Settings:
    """Settings with what a project says that may."""
    return _merged(_without(settings, table, place, _OF_USERS, "your own"), table, place)


def _without(
    settings: Settings, table: dict[str, Any], place: str, keys: tuple[str, ...], where: str
) -> Settings:
    """Takes keys out of a table that are not for it; settings with notices that say so."""
    notices = tuple(
        f"{place}: '{key}' is ignored (write it into {where} config.toml)"
        for key in keys
        if table.pop(key, None) is not None
    )
    return settings._replace(notices=settings.notices + notices)


def _merged(settings: Settings, table: dict[str, Any], place: str) -> Settings:
    """Settings with what a table of a file says."""
    changes: dict[str, Any] = {}
    if "tools" in table:
        changes["tools"] = (*_described(table.pop("tools"), place), *settings.tools)
    if "check" in table:
        changes["accepted"] = (*settings.accepted, *_accepted(table.pop("check"), place))
    for key, value in table.items():
        option = KEYS.get(key)
        if option is None:
            raise ConfigError(f"{place}: {_unknown(key)}")
        try:
            found = option.from_file(value)
        except ValueUnusableError as error:
            raise ConfigError(f"{place}: '{key}' {error}") from None
        if option.kind == "list":
            found = (*getattr(settings, option.name), *found)
        changes[option.name] = found
    sources = (*settings.sources, place)
    return settings._replace(**changes, sources=sources)


def _unknown(key: str) -> str:
    import difflib

    near = difflib.get_close_matches(key, KEYS, 1, _NEAR)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"unknown key '{key}'{hint} (known: {', '.join(sorted((*KEYS, 'check', 'tools')))})"


def _parsed(data: bytes, path: Path) -> dict[str, Any]:
    import tomllib  # most builds have no file, and start sooner without it

    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None


def _described(tools: object, place: str) -> list["Custom"]:
    from smpmake.commands import custom

    if not isinstance(tools, dict):
        raise ConfigError(f"{place}: 'tools' must be a table: [tools.NAME]")
    try:
        return [custom.described(*item) for item in tools.items()]
    except custom.DescriptionError as error:
        raise ConfigError(f"{place}: {error}") from None


def _accepted(entries: object, place: str) -> Iterator[Accepted]:
    """What [[check]] says.  Raises ConfigError."""
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise ConfigError(f"{place}: 'check' must be a list of tables: [[check]]")
    for entry in entries:
        unknown = sorted(entry.keys() - set(Accepted._fields))
        if unknown:
            known = ", ".join(Accepted._fields)
            raise ConfigError(f"{place}: [[check]]: unknown key '{unknown[0]}' (known: {known})")
        words = {"file": "*", "target": "*", **entry}
        wrong = [key for key, value in words.items() if not isinstance(value, str) or not value]
        if wrong or "reason" not in words:
            key = wrong[0] if wrong else "reason"
            raise ConfigError(f"{place}: [[check]]: '{key}' must be a text (say why: reason)")
        yield Accepted(**words)


def load(cwd: Path) -> Settings:
    """Defaults, then the user's file, then the project's two.  Raises ConfigError."""
    settings = Settings()
    with contextlib.suppress(folders.NoHomeError):  # who has no home has no file in it
        settings = merge(settings, folders.user_file())
    settings = merge_pyproject(settings, cwd)
    for project in folders.project_files(cwd):
        settings, data = _read(settings, project, project.parent)
        if data is not None:
            return _merged_project(settings, _parsed(data, project), str(project))
    return settings


def told(settings: Settings) -> Iterator[str]:
    """What of the settings that decide how a build runs is not as it comes: "jobs=4"."""
    usual = Settings()
    for option in _TOLD:
        value = getattr(settings, option.name)
        if value == getattr(usual, option.name):
            continue
        key = option.key or option.name.replace("_", "-")
        if isinstance(value, bool):
            yield key if value else f"no-{key}"
        elif isinstance(value, tuple):
            yield from (f"{key}={each}" for each in value)
        else:
            off = option.kind == "amount" and value < 0
            yield f"{key}={'off' if off else value}"


def sent(settings: Settings) -> dict[str, Any]:
    """The settings that a server needs to run a build's commands, as values of JSON."""
    return {
        option.name: getattr(settings, option.name)
        for option in _TOLD
        if option.kind != "amount" and getattr(settings, option.name) is not None
    }


def received(values: Any) -> Settings:
    """The inverse of `sent`.  Raises LookupError, TypeError or ValueError for anything else."""
    return Settings()._replace(**{n: BY_NAME[n].from_file(v) for n, v in dict(values).items()})
