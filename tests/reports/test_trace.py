"""The build as trace events: lanes, arrows and the critical path, as viewers read them."""

from __future__ import annotations

from typing import Any

from smpmake.records import Stall
from smpmake.reports.document import document
from smpmake.reports.trace import trace
from tests.support.made import S, build, ran
from tests.support.pages import hostile, large

Event = dict[str, Any]


def made(*, slots: int = 2) -> list[Event]:
    """Two compiles, a link that waits for the second, a mv without a slot, and two stalls at once
    for the link."""
    record = build(
        ran(0, 0, 0, 2),
        ran(1, 0, 0, 3, slot=1),
        ran(2, 0, 3, 7, outputs=("/src/prog",), kind="link", inputs=("/src/1.o",), waited_for=1),
        ran(3, 1, 1, 1.5, slot=-1, verdict="foreground"),
        ran(4, 1, 1.2, 1.4, slot=-1, verdict="foreground"),
        wall=8,
    )
    record.command = ["/usr/bin/gmake"]
    record.stalls = [
        Stall("sh", "runs", "/src/prog", 2, 1, -1, 102 * S, 107 * S),
        Stall("cat", "reads", "/src/prog", 2, 1, -1, 103 * S, 108 * S),
        Stall("cat", "reads", "/src/gone", -1, 1, -1, 103 * S, 104 * S),
    ]
    record.slots = slots
    events: list[Event] = trace(document(record))["traceEvents"]
    return events


def slices(events: list[Event]) -> list[Event]:
    return [event for event in events if event["ph"] == "X"]


def lanes(events: list[Event]) -> dict[int, str]:
    return {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}


def arrows(events: list[Event], name: str) -> list[tuple[Event, Event]]:
    """Both ends of every arrow of this name."""
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert starts.keys() == ends.keys()
    return [(starts[at], ends[at]) for at in starts if starts[at]["name"] == name]


def holder(events: list[Event], end: Event) -> str:
    """The name of the slice that an arrow's end lies in, as a viewer finds it."""
    (found,) = (
        event["name"]
        for event in slices(events)
        if event["tid"] == end["tid"] and event["ts"] <= end["ts"] < event["ts"] + event["dur"]
    )
    return str(found)


def test_slices_have_all_that_a_viewer_needs_and_never_overlap() -> None:
    for events in (made(), trace(document(large(400)))["traceEvents"]):
        until: dict[int, float] = {}
        for event in sorted(slices(events), key=lambda event: event["ts"]):
            assert {"name", "pid", "tid", "ts", "dur"} <= event.keys()
            assert event["ts"] >= until.get(event["tid"], 0.0) - 1e-3
            until[event["tid"]] = event["ts"] + event["dur"]
            assert event["tid"] in lanes(events)


def test_every_command_and_every_wait_has_a_lane() -> None:
    events = made()
    names = lanes(events)
    found = {(each["name"], names[each["tid"]]) for each in slices(events)}
    assert ("gcc 0.o", "slot 0") in found and ("gcc prog", "slot 0") in found
    assert ("gcc 3.o", "no slot") in found and ("gcc 4.o", "no slot") in found
    assert ("sh runs prog", "gmake waits") in found and ("cat reads gone", "gmake waits") in found
    order = {e["tid"]: e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index"}
    assert order.keys() == names.keys()
    assert names[min(order, key=order.__getitem__)] == "critical path"


def test_arrows_lead_from_what_was_waited_for_to_who_waited() -> None:
    events = made()
    found = [
        (holder(events, start), holder(events, end)) for start, end in arrows(events, "waited for")
    ]
    assert found == [
        ("gcc 1.o", "gcc prog"),
        ("gcc prog", "sh runs prog"),
        ("gcc prog", "cat reads prog"),
    ]
    for start, end in arrows(events, "waited for"):
        assert start["ts"] <= end["ts"] and end["bp"] == "e"


def test_the_critical_path_is_a_lane_with_arrows_and_a_mark() -> None:
    events = made()
    (lane,) = (tid for tid, name in lanes(events).items() if name == "critical path")
    path = [event["name"] for event in slices(events) if event["tid"] == lane]
    assert path == ["gcc 1.o", "gcc prog"]
    marked = [e["name"] for e in slices(events) if e.get("args", {}).get("critical_path")]
    assert marked == path
    ((start, end),) = arrows(events, "critical path")
    assert (holder(events, start), holder(events, end)) == ("gcc 1.o", "gcc prog")


def test_what_did_not_end_or_makes_no_sense_is_left_out() -> None:
    record = build(ran(0, 0, 0, 2), ran(1, 0, 1, 3, slot=1, waited_for=0))
    record.commands[0].started += 5 * S  # a clock that was set
    record.commands[0].ended += 5 * S
    record.stalls = [Stall("sh", "runs", "/src/prog", 1, 1, -1, 102 * S, 0)]
    events = trace(document(record))["traceEvents"]
    assert not arrows(events, "waited for")
    assert "make waits" not in lanes(events).values()
    assert trace(document(hostile()))["traceEvents"]
    assert trace(document(build()))["traceEvents"]
