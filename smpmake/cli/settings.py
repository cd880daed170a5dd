"""A build's settings, from all places that have some, as it begins.

A build waits for this module.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smpmake.config import Settings, load
from smpmake.console import say


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
    settings = settings.with_given(said, os.environ)
    for notice in settings.notices if settings.verbosity >= 0 else ():
        say(notice)
    if settings.engine != "local":
        from smpmake.cluster.discovery import discover

        discover(settings.engine, os.environ.get("PATH", os.defpath), settings.guard)
    return settings


def settings_of_build(given: Mapping[str, Any]) -> Settings:
    """The same for one build, which may have a status line."""
    settings = settings_from(given)
    status = os.environ.get("SMPMAKE_STATUS", settings.status)
    if status:
        from smpmake.status.template import Wording

        Wording(status)
    return settings._replace(status=status)
