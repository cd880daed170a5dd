"""The page's parts that are told in words and pictures, readable everywhere, without a script."""

from __future__ import annotations

import shlex
import time
from typing import Final

from smpmake.reports import charts, phrases
from smpmake.reports.document import Document
from smpmake.reports.ending import gains, of_document
from smpmake.reports.markup import NOTHING, TIMES, Markup, join, plain, section, tag
from smpmake.reports.terminal import best_serial, label, load
from smpmake.units import cut, seconds, size

_FAILURES: Final = 50
_OUTPUT: Final = 16_000  # characters of a failure's output
_LINE: Final = 8_000  # of its command line
_NOTICES: Final = 20
_PIECES: Final = 12
SPLIT: Final = {
    "several": "several at work",
    "driver": "the driver alone",
    "linker": "a link or archive alone",
    "one": "one other command alone",
    "nobody": "nobody",
}


def title(document: Document) -> str:
    """What a browser's tab shows."""
    build = document["build"]
    name = cut(shlex.join(build["command"]), 60)
    if build["status"]:
        return f"failed: {name} - smpmake"
    return f"{name} in {seconds(document['figures']['wall'])} - smpmake"


def head(document: Document) -> Markup:
    """Which build, and the headline."""
    build = document["build"]
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(build["started_unix"]))
    number = f"build {build['id']}, " if build["id"] else ""
    state, kind = "succeeded", "good"
    if not build["complete"]:
        state, kind = ("is still running", "") if build["running"] else ("was killed", "bad")
    elif build["status"]:
        state, kind = f"failed with status {build['status']}", "bad"
    return join(
        [
            tag(
                "p",
                tag("code", cut(shlex.join(build["command"]), 300)),
                " ",
                tag("span", state, class_=f"state {kind}"),
                class_="what",
            ),
            tag("h1", *_headline(document)),
            tag("p", *_share(document), class_="lead"),
            tag("p", f"{number}{when}, in ", tag("code", build["cwd"]), class_="where"),
        ]
    )


def _headline(document: Document) -> list[str]:
    figures = document["figures"]
    if not document["commands"] and not document["build"]["status"]:
        return [f"{seconds(figures['wall'])}, and nothing to run in parallel"]
    if document["build"]["status"]:
        return [cut(of_document(document), 300)]
    if not gains(document):
        return [tag("strong", _whole(figures["wall"]))]
    serial, kind = best_serial(document)
    return [
        tag("strong", f"{serial['speedup']:.2f} {TIMES}"),
        " ",
        _whole(figures["wall"]),
        f" for {kind} ",
        _whole(serial["seconds"]),
        " of serial work",
    ]


def _whole(value: float) -> Markup:
    """Seconds that no line break parts from their unit."""
    return tag("span", seconds(value), class_="whole")


def _share(document: Document) -> list[str]:
    if not document["commands"]:
        return ["No compiler, linker or other tool that smpmake knows was called."]
    figures = document["figures"]
    if not gains(document):
        build = document["build"]
        early = build["status"] or not build["complete"]
        why = "It ended early" if early else "It was too short"
        if build["running"]:
            why = "It has not ended"
        return [f"{why}, so nothing is said of how much smpmake helped."]
    serial, kind = best_serial(document)
    cpus, share = figures["extra_cpus"], serial["efficiency"]
    words = []
    if figures["loaded"]:
        taken = load(document)
        words.append(
            f"{taken[0].upper()}{taken[1:]}; so all times are longer than they could be.  "
        )
    if cpus < 2:
        words.append("With one CPU, or one slot, there is no other one to use.  ")
    elif serial["speedup"] < 0.995:
        words.append(f"On {cpus} CPUs it took longer than serial work would have.  ")
    elif share is not None:
        extra = "the second CPU" if cpus == 2 else f"the {cpus - 1} extra CPUs"
        words.append(f"On {cpus} CPUs, {share:.0%} of {extra} was gained.  ")
    if kind == "a measured":
        estimate = figures["serial_estimated"]
        words.append(
            f"The serial time was measured; it was estimated as {seconds(estimate['seconds'])}."
        )
    else:
        beside = ", beside the same load" if figures["loaded"] else ""
        words.append(f"The serial time is an estimate{beside}; nobody has measured it.")
    return words


def findings(document: Document) -> Markup:
    """What held it back, in words."""
    wall = document["figures"]["wall"] or 1.0
    rows = [
        tag(
            "li",
            tag("b", seconds(finding["seconds"])),
            tag("span", finding["text"]),
            tag("i", style=f"--part:{min(1.0, finding['seconds'] / wall):.3f}", aria_hidden="true"),
        )
        for finding in document["findings"]
    ]
    notices = [tag("li", tag("b", "notice"), tag("span", n)) for n in document["build"]["notices"]]
    if not rows and not notices:
        return NOTHING
    body = tag("ul", *rows, *notices[:_NOTICES], class_="findings")
    return section("findings", "What held it back", body)


def figures(document: Document) -> Markup:
    """The key figures."""
    f, cpus = document["figures"], document["build"]["cpus"]
    gain = gains(document)
    spent = (
        f"{seconds(f['user'])} user, {seconds(f['system'])} system, "
        f"smpmake {seconds(f['server_cpu'])}"
    )
    rows = [
        ("Wall time", seconds(f["wall"]), "from the first moment to the last"),
        (
            "Serial, estimated",
            seconds(f["serial_estimated"]["seconds"]),
            f"{f['serial_estimated']['speedup']:.2f} {TIMES} as long" if gain else "",
        ),
    ]
    if f["serial_measured"] is not None:
        measured = f["serial_measured"]
        words = f"{measured['speedup']:.2f} {TIMES} as long" if gain else ""
        rows.append(("Serial, measured", seconds(measured["seconds"]), words))
    serial, kind = best_serial(document)
    if serial["efficiency"] is not None and serial["speedup"] >= 1 and gain:
        how = phrases.formula(serial["speedup"], f["extra_cpus"])
        words = f"{how}, by the {kind.split()[-1]} serial time"
        rows.append(("Extra CPUs used", f"{serial['efficiency']:.0%}", words))
    if f["loaded"]:
        rows.append(("Others took", f"{(f['others'] or 0) + f['stolen']:.0%}", "of the CPUs"))
    rows += [
        (
            "CPU",
            f"{f['utilisation']:.0%}",
            f"of {cpus} CPU{'s' if cpus != 1 else ''}: {spent}",
        ),
        (
            "Least possible here",
            seconds(f["lower_bound"]),
            f"the build came to {f['closeness']:.0%} of it"
            if f["closeness"] is not None
            else "with nothing beside the build",
        ),
        ("Critical path", seconds(f["critical_path"]), "no machine could be faster"),
        (
            "The driver waited",
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
    if f["held_by_memory"]:
        rows.append(("Held by memory", seconds(f["held_by_memory"]), "jobs had to wait for it"))
    if f["surprises"]:
        rows.append(("Surprises", f"{f['surprises']}", "jobs did what no command line said"))
    if f["unguarded"]:
        rows.append(("Unguarded", f"{len(f['unguarded'])}", ", ".join(f["unguarded"])))
    cells = [
        tag("div", tag("dt", name), tag("dd", tag("b", value), tag("small", words)))
        for name, value, words in rows
    ]
    heading = tag("h2", "Key figures", class_="hidden", id="figures-title")
    body = tag("dl", *cells, class_="figures")
    return tag("section", heading, body, id="figures", aria_labelledby="figures-title")


def _counts(f: Document) -> str:
    words = f"{f['deferred']:,} deferred, {f['foreground']:,} in the foreground"
    for name in ("cancelled", "failed"):
        if f[name]:
            words += f", {f[name]:,} {name}"
    return words


def split(document: Document) -> Markup:
    """Where the time went: a bar and its words."""
    wall = document["figures"]["wall"] or 1.0
    parts = [(name, value) for name, value in document["split"].items() if value >= 0.0005]
    bar = [
        tag("i", class_=f"split-{name}", style=f"--part:{value / wall:.4f}")
        for name, value in parts
    ]
    rows = [
        tag(
            "tr",
            tag("th", tag("i", class_=f"swatch split-{name}"), SPLIT[name], scope="row"),
            tag("td", seconds(value)),
            tag("td", f"{value / wall:.0%}"),
        )
        for name, value in parts
    ]
    counts = [
        (count, value) for count, value in enumerate(document["concurrency"]) if value >= wall / 200
    ]
    at_once = ", ".join(f"{count}: {value / wall:.0%}" for count, value in counts)
    return section(
        "split",
        "Where the time went",
        tag("div", *bar, class_="split", aria_hidden="true"),
        tag("table", tag("tbody", *rows), class_="plain"),
        tag("p", f"Commands at once: {at_once}", class_="note") if at_once else NOTHING,
    )


def what_if(document: Document) -> Markup:
    """What more CPUs would give, and what that assumes."""
    picture = charts.what_if(document)
    if not picture:
        return NOTHING
    f = document["figures"]
    off = f["simulated"] / f["wall"] - 1 if f["wall"] else 0.0
    check = (
        f"For this build as it was it says {seconds(f['simulated'])} where {seconds(f['wall'])} "
        f"were measured (◆): it is {off:+.0%} off.  "
        if not f["loaded"]
        else "Nothing runs beside it there, as other programs did beside this build (◆).  "
    )
    note = (
        "A simulation: the recorded graph of this build, the same work and the same waiting, "
        f"played on other machines.  {check}"
        f"The dashed line is the critical path, {seconds(f['critical_path'])}."
    )
    return section("what-if", "With more CPUs", picture, tag("p", note, class_="note"))


def failures(document: Document) -> Markup:
    """What failed, and what it said."""
    commands = {command["number"]: command for command in document["commands"]}
    shown = []
    for failure in document["failures"][:_FAILURES]:
        command = commands[failure["command"]]
        output = plain(failure["output"]).rstrip()
        told = "; the driver was told" if failure["reported"] else ""
        if len(output) > _OUTPUT:  # compilers say what matters first
            output = f"{output[:_OUTPUT]}\n… and {len(output) - _OUTPUT:,} characters more"
        shown.append(
            tag(
                "article",
                tag("h3", label(command)),
                tag("pre", tag("code", cut(command["command"], _LINE)), class_="command"),
                tag("p", "in ", tag("code", command["cwd"]), ": ", tag("b", failure["why"]), told),
                tag("pre", output or "(it printed nothing)", class_="output", tabindex=0),
                id=f"failure-{command['number']}",
                class_="failure",
            )
        )
    if not shown:
        return NOTHING
    rest = len(document["failures"]) - len(shown)
    more = tag("p", f"… and {rest:,} more", class_="note") if rest > 0 else NOTHING
    return section("failures", "Failures", *shown, more)


def path(document: Document) -> Markup:
    """The critical path's longest pieces, in their order."""
    by_number = {command["number"]: command for command in document["commands"]}
    pieces = document["critical_path"]
    if not pieces:
        return NOTHING
    longest = sorted(pieces, key=lambda p: p["start"] - p["end"])[:_PIECES]
    rows = []
    for piece in sorted(longest, key=lambda p: p["start"]):
        command = by_number.get(piece["command"])
        what = label(command) if command is not None else "the driver"
        rows.append(
            tag(
                "li",
                tag("b", seconds(piece["end"] - piece["start"])),
                tag("span", what, data_job=command["number"] if command is not None else None),
            )
        )
    rest = len(pieces) - len(rows)
    note = (
        "What would still take its time on a machine without limits"
        f"{f'; {rest:,} shorter pieces are left out' if rest > 0 else ''}."
    )
    body = tag("ol", *rows, class_="findings")
    return section("path", "Critical path", tag("p", note, class_="note"), body)


def foot(document: Document) -> Markup:
    """What the words mean."""
    version = document["build"]["smpmake"]
    return join(
        [
            tag(
                "p",
                "Serial estimate: the driver's own time and every command's, each by itself: "
                "its CPU time, and of its waiting the part that was not waiting for a CPU; "
                "where other programs ran, as long as it would take beside these.  "
                "Extra CPUs used: (speed-up - 1) / (N - 1), N CPUs.  "
                "Least possible: the critical path, or all CPU time over all CPUs.",
            ),
            tag("p", f"smpmake {version}.  This page loads nothing from anywhere."),
        ]
    )
