"""Settings: defaults, the user's and the project's files, what the command line says.

The command line and the SMPMAKE_ variables win over the project's `.smpmake.toml`, which wins over
the user's `config.toml`.  Lists (`foreground`, `exclusive`) add up instead.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from smpmake import folders
from smpmake.errors import SmpmakeError

if TYPE_CHECKING:
    from smpmake.commands.custom import Custom

LINKS: Final = ("wait", "defer")
RECIPES: Final = ("off", "understood")
#: Older values of that setting, which have no meaning any more.
RECIPES_BEFORE: Final = ("learned", "all")
OUTPUTS: Final = ("live", "serial")
ENGINES: Final = ("local", "distcc", "icecream", "auto")
#: What a guarded process may be kept from doing too early (guard.questions.CAUSES: by question).
CAUSES: Final = ("reads", "changes", "lists", "walks", "renames", "looks at", "links to", "runs")
#: The server that `serve`, `env`, `wait` and `stop` mean without --socket.
DEFAULT_NAME: Final = "default"
_TOLD: Final = (
    *("jobs", "keep_going", "guard", "links", "nice", "affinity", "memory", "undo", "foreground"),
    *("exclusive", "output", "own_pool", "recipes", "engine", "remote", "chaos", "without"),
    "history",
)
_NEAR: Final = 0.65  # how much of an unknown key a known one must have to be suggested
COLORS: Final = ("auto", "always", "never")


class ConfigError(SmpmakeError):
    """A setting that cannot be used.  The message names the place, the fault and the remedy."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All that the user can decide.

    jobs        slots; 0 means as many as usable CPUs.
    own_pool    whether they are this build's own, whatever else the user builds meanwhile.
    links       "wait" or "defer"; "" means defer where there is a guard.
    recipes     "off" or "understood": whether recipes' lines, and what prints into files, are jobs
                where all that they do is known.
    engine      who compiles: "local", "distcc", "icecream", or "auto" for a cluster where there is
                one.
    remote      how many compiles are on other machines at once; 0: as many as these take.
    chaos       seed of a disorder made on purpose, or None.
    without     causes of stalls that are not waited for (CAUSES): for tests alone.
    verbosity   -1 quiet, 0 normal, 1 verbose.
    status      format of the status line (status.template), "" for none, None for ours.
    history     whether earlier builds decide the order of the queue.
    memory      bytes that jobs leave free, -1 not to look at memory, None for the usual reserve.
    undo        bytes of older contents kept to undo what a build did, -1 for no undoing at all.
    tools       tools that smpmake does not know by itself ([tools.NAME]), the nearest first.
    redact      more names of what is not to be stored (redact.DEFAULT_NAMES).
    history_days, history_size  what is kept of builds: days, MiB.
    idle        s without a command after which a build through shims on PATH has ended.
    sources     the files that these are from.
    notices     what the user is to be told of what the files say.
    """

    jobs: int = 0
    own_pool: bool = False
    keep_going: bool = False
    guard: bool = True
    links: str = ""
    nice: int = 0
    affinity: bool = False
    foreground: tuple[str, ...] = ()
    exclusive: tuple[str, ...] = ()
    output: str = "live"
    recipes: str = "understood"
    engine: str = "local"
    remote: int = 0
    chaos: int | None = None
    without: tuple[str, ...] = ()
    verbosity: int = 0
    color: str = "auto"
    status: str | None = None
    history: bool = True
    memory: int | None = None
    undo: int = 1 << 30
    redact: tuple[str, ...] = ()
    history_days: int = 180
    history_size: int = 256
    idle: int = 10
    tools: tuple[Custom, ...] = ()
    sources: tuple[str, ...] = field(default=(), compare=False)
    notices: tuple[str, ...] = field(default=(), compare=False)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 4096


def _is_positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_size(value: Any) -> bool:
    return isinstance(value, str) and parse_size(value) is not None


def parse_size(text: str) -> int | None:
    """Bytes of "512M", "2G", "100000"; -1 for "off"; None for what is no size."""
    if text == "off":
        return -1
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    if found is None:
        return None
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


def _is_nice(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 19


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_tools(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and v for v in value)


def _one_of(choices: tuple[str, ...]) -> Callable[[Any], bool]:
    return lambda value: value in choices


#: Every key of the files: the setting it sets, a test, and what the value should be.
KEYS: Final[dict[str, tuple[str, Callable[[Any], bool], str]]] = {
    "affinity": ("affinity", _is_flag, "true or false"),
    "color": ("color", _one_of(COLORS), 'one of "auto", "always", "never"'),
    "engine": ("engine", _one_of(ENGINES), 'one of "local", "distcc", "icecream", "auto"'),
    "exclusive": ("exclusive", _is_tools, "a list of tool names or path patterns"),
    "foreground": ("foreground", _is_tools, "a list of tool names or path patterns"),
    "guard": ("guard", _is_flag, "true or false"),
    "history": ("history", _is_flag, "true or false"),
    "history-days": ("history_days", _is_positive, "a number of days"),
    "history-size": ("history_size", _is_positive, "a number of MiB"),
    "idle": ("idle", _is_positive, "a number of seconds"),
    "jobs": ("jobs", _is_count, "a whole number from 0 (all usable CPUs) to 4096"),
    "keep-going": ("keep_going", _is_flag, "true or false"),
    "links": ("links", _one_of(LINKS), 'one of "wait", "defer"'),
    "memory": ("memory", _is_size, 'a size as "512M" or "2G", or "off"'),
    "nice": ("nice", _is_nice, "a whole number from 0 to 19"),
    "output": ("output", _one_of(OUTPUTS), 'one of "live", "serial"'),
    "own-pool": ("own_pool", _is_flag, "true or false"),
    "recipes": ("recipes", _one_of(RECIPES), 'one of "off", "understood"'),
    "remote": ("remote", _is_count, "a whole number from 0 (all that hosts take) to 4096"),
    "redact": ("redact", _is_tools, "a list of names (patterns) of secrets"),
    "undo": ("undo", _is_size, 'a size as "512M" or "2G", or "off"'),
    "status": ("status", _is_text, "a format, as SMPMAKE_STATUS"),
}


def notice_of_recipes(place: str, value: str) -> str:
    """What to tell a user who still has an older value of `recipes` in a file or a variable."""
    return (
        f"{place}: '{value}' of 'recipes' is gone: smpmake does not run recipe lines in parallel "
        "any more that it does not understand; 'understood' is used (remove the setting)"
    )


def merge(settings: Settings, path: Path) -> Settings:
    """Settings with what a file says.  Raises ConfigError; a missing file changes nothing."""
    try:
        text = path.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):  # a home may be /dev/null
        return settings
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text") from None
    table = _parsed(text, path)
    changes: dict[str, Any] = {}
    if "tools" in table:
        changes["tools"] = (*_described(table.pop("tools"), path), *settings.tools)
    for key, value in table.items():
        if key not in KEYS:
            import difflib

            near = difflib.get_close_matches(key, KEYS, 1, _NEAR)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise ConfigError(
                f"{path}: unknown key '{key}'{hint} (known: {', '.join((*KEYS, 'tools'))})"
            )
        if key == "recipes" and value in RECIPES_BEFORE:
            changes["notices"] = (*settings.notices, notice_of_recipes(str(path), value))
            value = "understood"
        name, valid, wanted = KEYS[key]
        if not valid(value):
            raise ConfigError(f"{path}: '{key}' is {value!r} and must be {wanted}")
        if name in ("memory", "undo"):
            changes[name] = parse_size(value)
        elif isinstance(value, list):
            changes[name] = (*getattr(settings, name), *value)
        else:
            changes[name] = value
    return replace(settings, **changes, sources=(*settings.sources, str(path)))


def _parsed(text: str, path: Path) -> dict[str, Any]:
    import tomllib  # most builds have no file, and start sooner without it

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None


def _described(tools: object, path: Path) -> list[Custom]:
    from smpmake.commands import custom

    if not isinstance(tools, dict):
        raise ConfigError(f"{path}: 'tools' must be a table: [tools.NAME]")
    try:
        return [custom.described(*item) for item in tools.items()]
    except custom.DescriptionError as error:
        raise ConfigError(f"{path}: {error}") from None


def load(cwd: Path) -> Settings:
    """Defaults, then the user's file, then the project's.  Raises ConfigError."""
    settings = Settings()
    with contextlib.suppress(folders.NoHomeError):  # who has no home has no file in it
        settings = merge(settings, folders.user_file())
    project = folders.project_file(cwd)
    return merge(settings, project) if project is not None else settings


def told(settings: Settings) -> tuple[str, ...]:
    """What of the settings that decide how a build runs is not as it comes: "jobs=4"."""
    usual, found = Settings(), []
    for name in _TOLD:
        value = getattr(settings, name)
        if value == getattr(usual, name):
            continue
        key = name.replace("_", "-")
        if isinstance(value, bool):
            found.append(key if value else f"no-{key}")
        elif isinstance(value, tuple):
            found += [f"{key}={each}" for each in value]
        else:
            off = name in ("memory", "undo") and value < 0
            found.append(f"{key}={'off' if off else value}")
    return tuple(found)
