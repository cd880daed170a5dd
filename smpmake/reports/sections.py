"""The page's parts that are told in words: what they say.  page/words.html has their markup.

Plain text, whatever it is made of: the templates escape it (html.py).
"""

from __future__ import annotations

import shlex
import time
from typing import Any, Final

from smpmake.reports import phrases
from smpmake.reports.document import Document
from smpmake.reports.ending import of_document
from smpmake.reports.headline import ends, is_measured, label, told, untold_word
from smpmake.units import cut, plain, seconds, size

TIMES: Final = "\N{MULTIPLICATION SIGN}"
NONBREAKING: Final = "\N{NO-BREAK SPACE}"

_FAILURES: Final = 50
_OUTPUT: Final = 16_000  # characters of a failure's output
_LINE: Final = 8_000  # of its command line
_NOTICES: Final = 20
_PIECES: Final = 12


def title(document: Document) -> str:
    """What a browser's tab shows."""
    build = document["build"]
    name = cut(shlex.join(build["command"]), 60)
    if build["status"]:
        return f"failed: {name} - smpmake"
    return f"{name} in {seconds(document['figures']['wall'])} - smpmake"


def _driver(document: Document) -> str:
    return phrases.driver(document["build"]["command"])


def head(document: Document) -> dict[str, Any]:
    """Which build, and the headline."""
    build = document["build"]
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(build["started_unix"]))
    number = f"build {build['id']}, " if build["id"] else ""
    state, kind = "succeeded", "good"
    if not build["complete"]:
        state, kind = ("is still running", "") if build["running"] else ("was killed", "bad")
    elif build["status"]:
        state, kind = f"failed with status {build['status']}", "bad"
    return {
        "command": cut(shlex.join(build["command"]), 300),
        "state": state,
        "kind": kind,
        "strong": _strong(document),
        "headline": _headline(document),
        "lead": "".join(_share(document)),
        "when": f"{number}{when}, in ",
        "cwd": build["cwd"],
    }


def _strong(document: Document) -> str:
    """The one figure, where there is one to be proud of."""
    if not document["commands"] or document["build"]["status"]:
        return ""
    gained = told(document)
    if gained is None or not phrases.is_faster(gained.speedup):
        return _unbroken(seconds(document["figures"]["wall"]))
    return _unbroken(f"{phrases.factor(gained.speedup.middle)} {TIMES}")


def _headline(document: Document) -> str:
    figures = document["figures"]
    if not document["commands"] and not document["build"]["status"]:
        return f"{seconds(figures['wall'])}, and nothing to run in parallel"
    if document["build"]["status"]:
        return cut(of_document(document), 300)
    gained = told(document)
    if gained is None:
        return ""
    plain = phrases.plain_time(gained.seconds, measured=is_measured(document))
    if phrases.is_faster(gained.speedup):
        return f"built in {_unbroken(seconds(figures['wall']))}, the plain build: {plain}"
    return f"{phrases.pace(gained.speedup)} ({plain})"


def _unbroken(figure: str) -> str:
    """A figure that no line break parts from its unit."""
    return figure.replace(" ", NONBREAKING)


def _share(document: Document) -> list[str]:
    if not document["commands"]:
        return ["No compiler, linker or other tool that smpmake knows was called."]
    figures = document["figures"]
    gained = told(document)
    if gained is None:
        text = untold_word(document)
        return [f"{text[0].upper()}{text[1:]}."]
    words = []
    if figures["extra_cpus"] < 2:
        words.append("With one CPU, or one slot, there is no other one to use.  ")
    elif used := phrases.used(gained, figures["extra_cpus"]):
        words.append(f"It {used}.  ")
    if is_measured(document):
        words.append("The time of the plain build was measured.")
    else:
        words.append("The time of the plain build is an estimate; nobody has measured it.")
    return words


def findings(document: Document) -> dict[str, Any]:
    """What held it back, in words."""
    wall = document["figures"]["wall"] or 1.0
    return {
        "findings": [
            {
                "figure": seconds(finding["seconds"]),
                "text": finding["text"],
                "part": min(1.0, finding["seconds"] / wall),
            }
            for finding in document["findings"]
        ],
        "notices": document["build"]["notices"][:_NOTICES],
    }


def figures(document: Document) -> list[tuple[str, str, str]]:
    """The key figures: name, value, and what to make of it."""
    f, cpus = document["figures"], document["build"]["cpus"]
    gained = told(document)
    spent = (
        f"{seconds(f['user'])} user, {seconds(f['system'])} system, "
        f"smpmake {seconds(f['server_cpu'])}"
    )
    rows = [("Wall time", seconds(f["wall"]), "from the first moment to the last")]
    measured = is_measured(document)
    words = f"{phrases.times(gained.speedup, TIMES)} as long" if gained is not None else ""
    if f["serial_estimated"] is not None:
        known = phrases.between(*map(seconds, ends(f["serial_estimated"])))
        rows.append(("Plain build, estimated", known, "" if measured else words))
    if measured:
        rows.append(("Plain build, measured", seconds(f["serial_measured"]), words))
    if gained is not None and gained.efficiency is not None and gained.efficiency.middle > 0:
        how = phrases.formula(gained.speedup, f["extra_cpus"])
        rows.append(("Extra CPUs used", phrases.part(gained.efficiency), how))
    if f["busy"]:
        rows.append(("Others wanted", phrases.percent(f["others_wanted"]), "of the CPUs"))
    if again := phrases.again(document["build"]):
        rows.append(("Repeated", f"{document['build']['driver_runs']}", again))
    rows += [
        (
            "CPU",
            f"{f['utilisation']:.0%}",
            f"of {cpus} CPU{'s' if cpus != 1 else ''}: {spent}",
        ),
        *_bounds(f),
        (
            f"{_driver(document)} waited",
            seconds(f["stalled"]),
            f"jobs waited {seconds(f['queue_wait'])} for a slot, all in all",
        ),
        ("Commands", f"{f['deferred'] + f['foreground']:,}", _counts(f)),
        (
            "Memory",
            size(f["peak_memory_bytes"]),
            f"more in use at the peak; {size(f['peak_job_bytes'])} at most in one job",
        ),
    ]
    rows += [
        ("Elsewhere", each["host"], f"{each['compiles']} compiles, {seconds(each['seconds'])}")
        for each in f["elsewhere"]
    ]
    if f["held_by_memory"]:
        rows.append(("Held by memory", seconds(f["held_by_memory"]), "jobs had to wait for it"))
    if f["surprises"]:
        rows.append(("Surprises", f"{f['surprises']}", "jobs did what no command line said"))
    if f["unguarded"]:
        rows.append(("Unguarded", f"{len(f['unguarded'])}", ", ".join(f["unguarded"])))
    return rows


def _bounds(f: Document) -> list[tuple[str, str, str]]:
    """What no build could be faster than; of a part of a build that says nothing."""
    if f["lower_bound"] is None:
        return []
    reached = "with nothing beside the build"
    if f["closeness"] is not None:
        reached = f"the build came to {f['closeness']:.0%} of it"
    return [
        ("Least possible here", seconds(f["lower_bound"]), reached),
        ("Critical path", seconds(f["critical_path"]), "no machine could be faster"),
    ]


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
        "at_once": ", ".join(f"{count}: {value / wall:.0%}" for count, value in counts),
    }


def what_if(document: Document) -> str:
    """What the picture of more CPUs assumes, and how far off it is."""
    f = document["figures"]
    if f["simulated"] is None:
        return ""
    off = f["simulated"] / f["wall"] - 1 if f["wall"] else 0.0
    check = (
        f"For this build as it was it says {seconds(f['simulated'])} where {seconds(f['wall'])} "
        f"were measured (◆): it is {off:+.0%} off.  "
        if not f["busy"]
        else "Nothing runs beside it there, as other programs did beside this build (◆).  "
    )
    return (
        "A simulation: the recorded graph of this build, the same work and the same waiting, "
        f"played on other machines.  {check}"
        f"The dashed line is the critical path, {seconds(f['critical_path'])}."
    )


def failures(document: Document) -> dict[str, Any]:
    """What failed, and what it said."""
    commands = {command["number"]: command for command in document["commands"]}
    shown = []
    for failure in document["failures"][:_FAILURES]:
        command = commands[failure["command"]]
        output = plain(failure["output"]).rstrip()
        told = f"; {_driver(document)} was told" if failure["reported"] else ""
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


def complaints(document: Document) -> dict[str, Any]:
    """What succeeded, or was told to fail, with warnings or errors in what it said."""
    commands = {command["number"]: command for command in document["commands"]}
    failed = {failure["command"] for failure in document["failures"]}
    said = [each for each in document["diagnostics"] if each["command"] not in failed]
    said.sort(key=lambda each: (-each["errors"], -each["warnings"], each["command"]))
    shown = [
        {
            "label": label(commands[each["command"]]),
            "count": ", ".join(phrases.complaints(each)),
            "output": cut(plain(each["output"]).rstrip(), _OUTPUT),
        }
        for each in said[:_FAILURES]
    ]
    return {"shown": shown, "rest": len(said) - len(shown)}


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
        "What would still take its time on a machine without limits"
        f"{f'; {rest:,} shorter pieces are left out' if rest > 0 else ''}."
    )
    return {"note": note, "rows": rows}


def foot(document: Document) -> list[str]:
    """What the words mean."""
    version = document["build"]["smpmake"]
    return [
        (
            f"Plain build, estimated: {_driver(document)}'s own time and every command's, each by "
            "itself: its CPU time, and of its waiting the part that was not waiting for a CPU.  "
            "Extra CPUs used: (speed-up - 1) / (N - 1), N CPUs.  "
            "Least possible: the critical path, or all CPU time over all CPUs."
        ),
        f"smpmake {version}.  This page loads nothing from anywhere.",
    ]
