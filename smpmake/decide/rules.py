"""What the user decided about the verdicts in one build."""

from __future__ import annotations

from typing import NamedTuple

from smpmake.config import Settings


class Rules(NamedTuple):
    """What the user decided for one build.

    guard        the driver's processes are guarded, so that more can be deferred: archives and
                 links, too.
    foreground   tool names or patterns of real tools' paths that are never deferred.
    exclusive    the same, for tools that run alone.
    recipes      lines are commands, and what prints into a file has an output.
    ignored      causes of stalls (options.CAUSES) that are not waited for: for tests alone.
    """

    guard: bool = False
    foreground: tuple[str, ...] = ()
    exclusive: tuple[str, ...] = ()
    ignored: frozenset[str] = frozenset()
    recipes: bool = False

    def without_guard(self) -> Rules:
        """For a command of a process that has no guard."""
        return self._replace(guard=False, recipes=False)


def rules_of(settings: Settings) -> Rules:
    """The part of the settings that decides verdicts."""
    return Rules(
        settings.guard,
        settings.foreground,
        settings.exclusive,
        frozenset(settings.without),
        settings.guard and settings.recipes != "off",
    )
