"""A build's settings, from all places that have some, as it begins.

A build waits for this module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from smpmake.config import Settings, load
from smpmake.console import say
from smpmake.options import OPTIONS, OTHER_VARIABLES

#: What the environment may say behind this.
_OURS: Final = "SMPMAKE_"
_KNOWN: Final = frozenset(
    name.removeprefix(_OURS)
    for name in (*(option.variable for option in OPTIONS), *OTHER_VARIABLES)
    if name
)


def settings_from(given: Mapping[str, Any]) -> Settings:
    """The files' settings with what the command line and the environment say on top.

    given  that, by the names of smpmake.options; None and () say nothing.
    Tells notices, and faults before anything runs.  Raises SmpmakeError.
    """
    settings = load(Path.cwd())
    if settings.tools:
        from smpmake.commands import families

        families.learn(settings.tools)
    said = {name: value for name, value in given.items() if value is not None and value != ()}
    settings = settings.with_given(said)
    for notice in settings.notices if settings.verbosity >= 0 else ():
        say(notice)
    _tell_misspelt(os.environ)
    if settings.engine != "local":
        from smpmake.cluster.discovery import discover

        discover(settings.engine, os.environ.get("PATH", os.defpath), settings.guard)
    return settings


def settings_of_build(given: Mapping[str, Any]) -> Settings:
    """The same for one build, which may have a status line."""
    settings = settings_from(given)
    status = os.environ.get("SMPMAKE_STATUS")
    if status:
        from smpmake.status.template import StatusFormatError, Wording

        try:
            Wording(status)
        except StatusFormatError as error:
            raise StatusFormatError(f"SMPMAKE_STATUS: {error}") from None
    return settings._replace(status=status)


def _tell_misspelt(environ: Mapping[str, str]) -> None:
    """A variable that is nearly one of ours does nothing; others' may begin as ours do."""
    for name in environ:
        own = name.removeprefix(_OURS)
        if own == name or own in _KNOWN:
            continue
        from smpmake.cli.hints import nearest

        for meant in nearest(own, _KNOWN):
            say(f"{name} is no variable of smpmake: did you mean {_OURS}{meant}?")
