"""What headers cost."""

from __future__ import annotations

from collections.abc import Iterable

from smpmake.records import CommandRecord
from smpmake.timing.headers import Header, headers
from tests.support.made import command


def compiled(number: int, seconds: float, *reads: str, kind: str = "compile") -> CommandRecord:
    return command(
        number,
        state="done",
        user_us=int(seconds * 1e6),
        inputs=(f"/src/{number}.c",),
        reads=(f"/src/{number}.c", *reads),
        kind=kind,
    )


def told(found: Iterable[Header]) -> list[tuple[str, int, float, float]]:
    return [(each.name, each.count, each.cpu, each.share) for each in found]


def test_a_file_costs_what_its_compiles_cost() -> None:
    commands = [
        compiled(0, 3, "/src/config.h", "/opt/x.h"),
        compiled(1, 1, "/src/config.h", "/src/config.h", "/opt/x.h"),
        compiled(2, 4, "/src/config.h"),
        compiled(3, 2),
    ]
    assert told(headers(commands, "/src")) == [
        ("config.h", 3, 8.0, 0.8),
        ("/opt/x.h", 2, 4.0, 0.4),
    ]


def test_what_is_no_header() -> None:
    """Read by one alone, by a link, by what failed, or written by the compile itself."""
    commands = [
        compiled(0, 1, "/src/one.h", "/src/0.o"),
        compiled(1, 1, "/src/two.h"),
        compiled(2, 1, "/src/two.h", kind="link"),
    ]
    failed = compiled(3, 1, "/src/two.h")
    failed.state = "failed"
    assert headers([*commands, failed], "/src") == ()
    assert headers([], "/src") == ()


def test_without_times_there_are_no_shares() -> None:
    found = headers([compiled(n, 0, "/src/a.h") for n in range(2)], "/src")
    assert told(found) == [("a.h", 2, 0.0, 0.0)]
