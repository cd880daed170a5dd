"""Predicts that a command whose output is captured prints nothing.

A process that captures a compiler's messages acts on what it reads, so its shim waits.  But nearly
all compiles print nothing, and one that printed nothing before, of the same source, most likely
will again: it is answered at once.  If it prints something after all, everything is undone, as
after a wrong promise of success.
"""

from __future__ import annotations

from typing import Final

from smpmake.commands.model import Analysis
from smpmake.decide.known_silence import digest_in_environment
from smpmake.digests import sha256
from smpmake.disk.paths import Paths
from smpmake.engine.build import Build
from smpmake.engine.command import Command
from smpmake.protocol.wire import Invoke
from smpmake.protocol.working import Result
from smpmake.schedule.hazards import Hazards
from smpmake.schedule.names import is_product

_MOST: Final = 4  # sources that are looked at
_LONGEST: Final = 1 << 20  # bytes of each


def digest_of_command(
    hazards: Hazards, paths: Paths, build: Build, invoke: Invoke, cwd: str, analysis: Analysis
) -> str:
    """What a command is known by; "" where nothing is predicted of it.

    Its status is an answer about its source, so another source makes another command.
    """
    if build.promises.silence is None or not build.undoing.reaches_back or invoke.unguarded:
        return ""
    known_by = digest_in_environment(invoke.cwd, invoke.argv, invoke.env)
    whole = sha256(known_by.encode())
    for path in analysis.reads[:_MOST]:
        name = paths.canonical(cwd, path)
        if is_product(name):
            continue
        if hazards.is_written(name):
            return ""
        try:
            with open(name, "rb") as file:
                whole.update(file.read(_LONGEST))
        except OSError:
            return ""
    return whole.hexdigest()[:32]


def was_silent(build: Build, digest: str) -> bool | None:
    """Whether it printed nothing and succeeded in earlier builds; None: not known yet."""
    assert build.promises.silence is not None
    known = build.promises.silence.was_silent(digest)
    return False if known and build.undoing.repeats else known


def check_prediction(command: Command, result: Result) -> str:
    """What it did against the prediction, in words; "" where nothing was predicted, or it held.

    What a caller has waited for is remembered.
    """
    silence = command.build.promises.silence
    if not command.verdict.silence_key or silence is None or command.signalled:
        return ""
    silent = result.ok and not result.out and not result.err
    if command.verdict.awaits_output:
        silence.heard(command.verdict.silence_key, silent=silent)
    elif result.ok and not silent and not command.is_awaited:
        silence.distrust(command.verdict.silence_key)
        return "printed something"
    return ""
