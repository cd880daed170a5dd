"""The page's parts that are told in words: what they say.  page/words.html has their markup.

Plain text, whatever it is made of: the templates escape it (html.py).
"""

from __future__ import annotations

import shlex
import time
from typing import Any, Final

from smpmake.reports import heading, phrases
from smpmake.reports.document import Document
from smpmake.reports.heading import TIMES
from smpmake.reports.headline import ends, is_measured, label, told
from smpmake.units import cut, plain, seconds, size

_FAILURES: Final = 50
_OUTPUT: Final = 16_000  # characters of a failure's output
_LINE: Final = 8_000  # of its command line
_NOTICES: Final = 20
_PIECES: Final = 12
_NOTED: Final = 0.1  # of the CPUs: what others took beyond that is worth a row
_WORTH: Final = 0.05  # of the time: what gains less gains nothing


def title(document: Document) -> str:
    """What a browser's tab shows."""
    build = document["build"]
    name = cut(shlex.join(build["command"]), 60)
    state, kind = heading.state(document)
    if kind != "good":
        return f"{name} {state} - smpmake"
    return f"{name} in {seconds(document['figures']['wall'])} - smpmake"


def _driver(document: Document) -> str:
    return phrases.driver(document["build"]["command"])


def head(document: Document) -> dict[str, Any]:
    """Which build, and the sentence about it."""
    build = document["build"]
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(build["started_unix"]))
    number = f"build {build['id']}, " if build["id"] else ""
    state, kind = heading.state(document)
    return {
        "command": cut(shlex.join(build["command"]), 300),
        "state": state,
        "kind": kind,
        **heading.heading(document)._asdict(),
        "when": f"{number}{when}, in ",
        "cwd": build["cwd"],
    }


def findings(document: Document) -> dict[str, Any]:
    """What held it back, in words; only notices of a build that is not whole."""
    wall = document["figures"]["wall"] or 1.0
    whole = heading.is_whole(document)
    return {
        "title": "What held it back" if whole else "Notices",
        "findings": [
            {
                "figure": seconds(finding["seconds"]),
                "text": finding["text"],
                "part": min(1.0, finding["seconds"] / wall),
            }
            for finding in document["findings"]
            if whole and finding["kind"] != "cpus"
        ],
        "notices": document["build"]["notices"][:_NOTICES],
    }


def figures(document: Document) -> list[tuple[str, str, str]]:
    """The key figures: name, value, and what to make of it."""
    f = document["figures"]
    rows = [("Build time", seconds(f["wall"]), "from smpmake's start to its end")]
    if heading.is_whole(document):
        rows += _comparison(document)
    if again := phrases.again(document["build"]):
        rows.append(("Repeated", f"{document['build']['driver_runs']}", again))
    rows += _shares(document)
    rows += _waits(document)
    rows.append(("Commands", f"{f['deferred'] + f['foreground']:,}", _counts(f)))
    memory = "more in use at the peak than at the start"
    if f["peak_job_bytes"]:
        memory += f"; the largest job used {size(f['peak_job_bytes'])}"
    rows.append(("Memory", size(f["peak_memory_bytes"]), memory))
    rows += [
        (
            "Another machine",
            each["host"],
            f"{each['compiles']} compiles, {seconds(each['seconds'])}",
        )
        for each in f["elsewhere"]
    ]
    if f["held_by_memory"]:
        held = "jobs had to wait, because memory was short"
        rows.append(("Held by memory", seconds(f["held_by_memory"]), held))
    if f["surprises"]:
        words = "reads and writes of jobs that no command line named"
        rows.append(("Surprises", f"{f['surprises']:,}", words))
    if f["unguarded"]:
        names = ", ".join(f["unguarded"])
        rows.append(("Without a guard", f"{len(f['unguarded'])}", f"programs: {names}"))
    return rows


def _comparison(document: Document) -> list[tuple[str, str, str]]:
    """With a build without smpmake, and with the best that there can be."""
    f = document["figures"]
    rows = []
    gained = told(document)
    if gained is not None:
        measured = is_measured(document)
        words = f"{phrases.times(gained.speedup, TIMES)} as long"
        if f["serial_estimated"] is not None:
            known = phrases.between(*map(seconds, ends(f["serial_estimated"])))
            rows.append(("Without smpmake, estimated", known, "" if measured else words))
        if measured:
            rows.append(("Without smpmake, measured", seconds(f["serial_measured"]), words))
        if gained.efficiency is not None and gained.efficiency.middle > 0:
            words = f"100% would be {f['extra_cpus']} {TIMES} as fast"
            rows.append(("Extra CPUs used", phrases.part(gained.efficiency), words))
    least = "at best on this machine"
    if f["closeness"] is None:
        least += ", without other programs"
    elif f["lower_bound"] > 0:
        more = f["wall"] / f["lower_bound"] - 1
        longer = f"{more:.0%} longer" if more < 1 else f"{more + 1:.1f} times that"
        least += f"; the build took {longer}"
    rows.append(("Least possible here", seconds(f["lower_bound"]), least))
    words = "the longest chain of commands: no machine could be faster"
    rows.append(("Critical path", seconds(f["critical_path"]), words))
    return rows


def _shares(document: Document) -> list[tuple[str, str, str]]:
    """Who had the CPUs, each by its name."""
    f, cpus = document["figures"], phrases.cpus(document["build"]["cpus"])
    spent = (
        f"of {cpus}: {seconds(f['user'])} in programs, {seconds(f['system'])} in the kernel, "
        f"{seconds(f['server_cpu'])} in smpmake"
    )
    rows = [("This build's CPU share", f"{f['utilisation']:.0%}", spent)]
    if (f["others"] or 0.0) + f["stolen"] > _NOTED:
        if f["others"]:
            rows.append(("Other programs' CPU share", f"{f['others']:.0%}", f"of {cpus}"))
        if f["stolen"] >= 0.01:
            host = "of the CPUs, kept by the host of this virtual machine"
            rows.append(("The host's CPU share", f"{f['stolen']:.0%}", host))
    return rows


def _waits(document: Document) -> list[tuple[str, str, str]]:
    """How long the driver waited for files, and jobs for a slot."""
    f, driver = document["figures"], _driver(document)
    stalled = "for unfinished files, or for a slot" if f["stalled"] else "for no file at all"
    rows = [(f"{driver} waited", seconds(f["stalled"]), stalled)]
    queued = f["queue_wait"] / f["wall"] if f["wall"] else 0.0
    longest = max(
        (
            c["started"] - c["ready"]
            for c in document["commands"]
            if c["verdict"] == "deferred" and None not in (c["started"], c["ready"])
        ),
        default=0.0,
    )
    if queued >= 0.05:
        words = f"on average, until a slot was free; {seconds(longest)} at the longest"
        rows.append(("Jobs waiting", f"{queued:,.0f}" if queued >= 10 else f"{queued:.1f}", words))
    return rows


def _counts(f: Document) -> str:
    ways = ("deferred", "foreground")
    words = ", ".join(f"{f[way]:,} {phrases.verdict(way)}" for way in ways)
    for name in ("cancelled", "failed"):
        if f[name]:
            words += f", {f[name]:,} {name}"
    return words


def split(document: Document) -> dict[str, Any]:
    """Where the time went: parts of a bar with their words."""
    wall = document["figures"]["wall"] or 1.0
    texts = phrases.split(_driver(document))
    parts = [(name, value) for name, value in document["split"].items() if value >= 0.0005]
    counts = [
        (count, value) for count, value in enumerate(document["concurrency"]) if value >= wall / 200
    ]
    return {
        "parts": [
            {
                "name": name,
                "text": texts[name],
                "figure": seconds(value),
                "part": value / wall,
            }
            for name, value in parts
        ],
        "at_once": ", ".join(
            f"{count or 'none'} for {value / wall:.0%}" for count, value in counts
        ),
    }


def what_if(document: Document) -> list[str]:
    """What more CPUs would give, what the picture of that assumes, and how far off it is."""
    f = document["figures"]
    if f["simulated"] is None:
        return []
    off = f["simulated"] / f["wall"] - 1 if f["wall"] else 0.0
    check = (
        f"The build itself took {seconds(f['wall'])} (◆), because other programs ran beside it: "
        "the simulation has none."
    )
    if not f["busy"]:
        check = (
            f"For the build as it was smpmake simulated {seconds(f['simulated'])}, and it took "
            f"{seconds(f['wall'])} (◆).  {_how_far(off)}"
        )
    assumed = (
        "smpmake simulated the same commands on machines with other numbers of CPUs; each command "
        "waits for the same others as it did in this build."
    )
    bound = (
        "The dashed line is the critical path: however many CPUs there are, the build takes at "
        f"least {seconds(f['critical_path'])}."
    )
    return [*_more_cpus(document), f"{assumed}  {check}  {bound}"]


def _how_far(off: float) -> str:
    if abs(off) < 0.005:
        return "So the simulation is right to 1%."
    return f"So the simulation is {abs(off):.0%} too {'high' if off > 0 else 'low'}."


def _more_cpus(document: Document) -> list[str]:
    """How much the next larger machine would gain, and from where on nothing is gained."""
    curve, here = document["what_if"], document["figures"]["extra_cpus"]
    now = min((point["seconds"] for point in curve if point["cpus"] <= here), default=0.0)
    more = [point for point in curve if point["cpus"] > here]
    if not more or now <= 0:
        return []
    best = min(point["seconds"] for point in more)
    if best > (1 - _WORTH) * now:
        return ["More CPUs would gain next to nothing."]
    enough = next(p["cpus"] for p in curve if p["seconds"] <= best * (1 + _WORTH) + 0.001)
    share = f"{more[0]['seconds'] / now:.0%}"
    first = (
        f"With {more[0]['cpus']} CPUs the build would take about {share} of its time with {here}."
    )
    return [f"{first}  More than {enough} CPUs would gain next to nothing."]


def failures(document: Document) -> dict[str, Any]:
    """What failed, and what it said."""
    commands = {command["number"]: command for command in document["commands"]}
    shown = []
    for failure in document["failures"][:_FAILURES]:
        command = commands[failure["command"]]
        output = plain(failure["output"]).rstrip()
        told = f"; smpmake told {_driver(document)}" if failure["reported"] else ""
        if len(output) > _OUTPUT:  # compilers say what matters first
            output = f"{output[:_OUTPUT]}\n… and {len(output) - _OUTPUT:,} characters more"
        shown.append(
            {
                "number": command["number"],
                "label": label(command),
                "command": cut(command["command"], _LINE),
                "cwd": command["cwd"],
                "why": failure["why"],
                "told": told,
                "output": output or "(it printed nothing)",
            }
        )
    return {"shown": shown, "rest": len(document["failures"]) - len(shown)}


def path(document: Document) -> dict[str, Any]:
    """The critical path's longest pieces, in their order."""
    by_number = {command["number"]: command for command in document["commands"]}
    pieces = document["critical_path"]
    longest = sorted(pieces, key=lambda p: p["start"] - p["end"])[:_PIECES]
    rows = []
    for piece in sorted(longest, key=lambda p: p["start"]):
        command = by_number.get(piece["command"])
        rows.append(
            {
                "figure": seconds(piece["end"] - piece["start"]),
                "text": label(command) if command is not None else _driver(document),
                "number": command["number"] if command is not None else None,
            }
        )
    rest = len(pieces) - len(rows)
    note = (
        "The longest chain of commands that wait for each other: however many CPUs there are, "
        "the build takes at least as long."
    )
    if rest > 0:
        note += f"  {rest:,} shorter pieces are left out."
    return {"note": note, "rows": rows}


def foot(document: Document) -> list[str]:
    """What the words mean."""
    version = document["build"]["smpmake"]
    rows = [f"smpmake {version} made this page.  It loads nothing from anywhere."]
    if heading.without(document):
        rows.insert(
            0,
            f"Without smpmake: smpmake adds up {_driver(document)}'s own time and that of every "
            "command by itself.  That is its CPU time, and the time in which it waited for "
            "anything but a CPU.  Extra CPUs used: (speed-up - 1) / (N - 1) with N CPUs.  Least "
            "possible here: the critical path, or all CPU time over all CPUs if that is more.",
        )
    return rows
