"""What the user decided about the verdicts in one build."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """What the user decided for one build.

    defer_links  archives and links are jobs too.
    foreground   tool names or patterns of real tools' paths that are never deferred.
    exclusive    the same, for tools that run alone.
    """

    defer_links: bool = False
    foreground: tuple[str, ...] = ()
    exclusive: tuple[str, ...] = ()
