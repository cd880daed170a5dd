"""A build of one file, which shows whether smpmake works here: `smpmake doctor` begins with it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

from smpmake import native, variables
from smpmake.commands.model import Reason
from smpmake.history import History
from smpmake.records import BuildRecord

_PATIENCE: Final = 60.0  # s


def fault(name: str, folder: Path) -> str:
    """Why a compile is not deferred here, or a reader of its object not kept waiting; "" if all is
    well.  `name` is a compiler's on PATH; the folder is empty, and afterwards holds what was made.
    """
    source = folder / "trial.c"
    source.write_text("int trial;\n")
    os.utime(source, (0, 0))  # else it could be one that the script has written itself
    # Twice: the first call of a compiler that is a script is waited for.
    compile_it = f"{shlex.quote(name)} -c trial.c"
    script = f"{compile_it} && {compile_it} && exec cat trial.o /proc/self/maps"
    command = [sys.executable, "-P", "-m", "smpmake", "-q", "--guard", "--", "sh", "-c", script]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(variables.PREFIXES)}
    environment |= {
        "SMPMAKE_STATUS": "",
        "XDG_CONFIG_HOME": os.fspath(folder),
        "XDG_STATE_HOME": os.fspath(folder),
    }
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"a build of one file had not ended after {_PATIENCE:.0f} s"
    said = done.stderr.decode(errors="replace").strip()
    first = said.partition("\n")[0].removeprefix("smpmake: ") or f"status {done.returncode}"
    record = History(folder / "smpmake" / "history.db").last()
    if record is None:
        return first
    lines = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()
    words = next((line for line in lines if not line.startswith("smpmake: ")), "")
    wrong = _not_deferred(record, name, words) or (first if done.returncode else "")
    if not wrong and os.fsencode(os.path.basename(native.guard())) not in done.stdout:
        return "the guard is not loaded into `cat`: is it linked statically, or LD_PRELOAD ignored?"
    return wrong


def _not_deferred(record: BuildRecord, name: str, said: str) -> str:
    for failure in (*record.failures, *record.reported):
        words = failure.output.decode(errors="replace").strip().partition("\n")[0]
        return f"{name} cannot compile an empty program: {words or failure.why}"
    for command in record.commands:
        if command.reason == Reason.FIRST_OF_SCRIPT:
            if command.status:
                return f"{name} cannot compile an empty program: {said}"
        elif command.verdict != "deferred":
            why = f"{command.reason} {command.detail}".strip()
            return f"a compile by {name} did not run in parallel: {why}"
    return "" if record.commands else f"{name} was called, and smpmake did not hear of it"
