"""`smpmake status`: who is on a server."""

from __future__ import annotations

import shlex
from typing import Any

from smpmake.reports.grid import Kind, Look, Part, table
from smpmake.reports.grid import lines as render
from smpmake.units import seconds

_COLUMNS = (
    *((name, Kind.FIGURE) for name in ("since", "done", "pending")),
    *(("command", Kind.TEXT), ("folder", Kind.NAME)),
)


def document(state: dict[str, Any] | None, builds: dict[str, Any]) -> dict[str, Any]:
    """The same for programs; a build of no known command was begun by a smpmake."""
    server = _server(state, builds) if state is not None else None  # none runs
    return {"format": "smpmake-status", "version": 2, "server": server}


def _server(state: dict[str, Any], builds: dict[str, Any]) -> dict[str, Any]:
    return {
        "slots": builds["slots"],
        "running": state["running"],
        "queued": state["queued"],
        "hosts": [
            {"name": name, "slots": slots, "compiling": taken, "compilers": list(compilers)}
            for name, slots, taken, compilers, _ in state["hosts"]
        ],
        "builds": [
            {
                "command": build["command"],
                "folder": build["folder"] or None,
                "started_unix": build["began"],
                "done": build["done"],
                "pending": build["pending"],
            }
            for build in builds["builds"]
        ],
    }


def lines(
    state: dict[str, Any],
    builds: dict[str, Any],
    now: float,
    look: Look = Look(),
) -> list[str]:
    """What the server says of itself (`state`) and of its builds; `now` in seconds since 1970."""
    running, queued = state["running"], state["queued"]
    parts: list[Part] = [
        f"the server: {running} running on {builds['slots']} slots, {queued} queued"
    ]
    for name, slots, taken, compilers, _ in state["hosts"]:
        known = ", ".join(compilers) or "no compiler that is known to be ours"
        parts.append(f"{name}: {taken} of {slots} compiles ({known})")
    rows = [
        (
            seconds(max(0.0, now - build["began"])),
            str(build["done"]),
            str(build["pending"]),
            shlex.join(build["command"]) or "smpmake",
            build["folder"],
        )
        for build in builds["builds"]
    ]
    if rows:
        parts.append(table(_COLUMNS, rows))
    return render(parts, look)
