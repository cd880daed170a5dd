"""What is said after a build.  It is imported while the first commands run."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Final

from smpmake.cli import idle
from smpmake.config import Settings
from smpmake.console import bold, fitting, use_color
from smpmake.engine.sinks import write_all
from smpmake.records import BuildRecord, WhyNot
from smpmake.reports import summary

if TYPE_CHECKING:
    from smpmake.history import Recorder
    from smpmake.timing import Timing

_PATIENCE: Final = 0.25  # s for a look at earlier builds: our own recorder may be writing
_RED: Final = "\033[1;31m"
_PLAIN: Final = "\033[0m"


def report(
    settings: Settings, record: BuildRecord, recorder: Recorder | None, *, silent: bool
) -> None:
    """Ends the record, and prints the summary (unless silent)."""
    model = conclude(record, recorder)
    if silent:
        return
    color = use_color(settings.color, sys.stderr.isatty())
    sys.stderr.flush()
    data = _said(settings, record, model, color)
    try:
        write_all(2, data)
    except OSError:
        return


def conclude(record: BuildRecord, recorder: Recorder | None) -> Timing | None:
    """Writes the end of a build down; returns its figures, None where it called no tool."""
    if not record.by_shims:
        record.ended = time.monotonic_ns()  # with what came behind the last command
    model = None
    try:
        if record.commands:
            model = _figures(record, remembered=recorder is not None)
            record.estimate, record.estimate_most = model.estimated.seconds
            record.why_not = model.why_not
        else:
            record.estimate = (record.ended - record.started) / 1e9
            record.why_not = WhyNot.NO_JOBS
    finally:
        if recorder is not None:
            _note(record, recorder)
    if recorder is not None and recorder.fault:
        record.notices.append(f"this build is not in the history: {recorder.fault}")
    return model


def _note(record: BuildRecord, recorder: Recorder) -> None:
    """What called no tool and went well has nothing to remember."""
    if record.commands or record.status or record.notices:
        recorder.end()
    else:
        recorder.forget()
        idle.note(record.command)


def _figures(record: BuildRecord, *, remembered: bool) -> Timing:
    from smpmake import timing
    from smpmake.history import History, past

    if remembered:
        record.calibration = past.calibration(record, History(patience=_PATIENCE))
        _note_compilers(record)
    return timing.analyse(record)


def _note_compilers(record: BuildRecord) -> None:
    from smpmake.history import History, HistoryError
    from smpmake.session import host_info

    try:
        known = History(patience=_PATIENCE).compilers()
    except HistoryError:  # the recorder says so
        return
    place = host_info.with_compilers(record.surroundings, record.commands, known)
    record.surroundings = place


def _said(settings: Settings, record: BuildRecord, model: Timing | None, color: bool) -> bytes:
    """The summary and what failed; the line that says that the build failed is the last."""
    failed = record.status != 0
    rows = summary.lines(record, model, anyway=settings.verbosity > 0)
    unused = summary.unused_engine(record)
    if settings.verbosity < 0:
        rows = rows[:0] if failed or model is None else rows[:1]
        rows += [unused] if unused else []
    elif failed:  # what hides it is left out
        rows = rows[1:] if settings.verbosity else summary.notices(record)
    is_quiet = settings.verbosity < 0  # one line
    parts = [[row] if is_quiet else fitting(row, summary.indent(row)) for row in rows]
    if color and parts and not failed:
        parts[0] = [bold(line) for line in parts[0]]
    rows = [line for part in parts for line in part]
    if settings.verbosity > 0:
        rows += _why(record)
    data = _lines(rows) + summary.failures(record)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        data += _for_github(settings, record)
    if failed and (record.commands or rows or settings.verbosity > 0 or record.failures):
        last = fitting(summary.failed(record))
        data += _lines([f"{_RED}{line}{_PLAIN}" if color else line for line in last])
    return data


def _why(record: BuildRecord) -> list[str]:
    """Tables are loaded for who asks for them."""
    import shutil

    from smpmake.reports import why
    from smpmake.reports.grid import Look

    return why.lines(record, Look(shutil.get_terminal_size((120, 24)).columns))


def _lines(rows: list[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode(errors="replace")


def _for_github(settings: Settings, record: BuildRecord) -> bytes:
    """Annotations to be printed; the step's summary goes to its file.  Others read both."""
    from smpmake.redact import Redactor
    from smpmake.reports import github
    from smpmake.reports.document import document

    Redactor(settings.redact, os.environ).record(record)
    page = document(record)
    lines = github.workflow_commands(page, os.environ.get("GITHUB_WORKSPACE", ""))
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        try:
            with open(path, "a", encoding="utf-8", errors="replace") as file:
                file.write(github.summary(page))
        except OSError as error:
            lines.append(f"smpmake: {path}: the summary cannot be written: {error.strerror}")
    return _lines(lines)
