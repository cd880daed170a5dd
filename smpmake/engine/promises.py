"""What a make is told of an output while it is pending."""

from __future__ import annotations

import os
import stat

from smpmake.commands.model import Kind
from smpmake.disk.paths import Paths
from smpmake.engine.command import Command, OutputFile
from smpmake.guard.pending import Pending, Promise
from smpmake.schedule.hazards import Hazards
from smpmake.schedule.job import Job


def promise_of(
    command: Command,
    output: OutputFile,
    job: Job,
    hazards: Hazards,
    pending: Pending,
    paths: Paths,
) -> Promise:
    """Its mode and time, as a serial build would show them; nothing where they cannot be told."""
    write = output.write
    if write.removed:
        return Promise(None, absent=True)
    mode = 0o755 if command.record.kind == Kind.LINK else 0o644
    if write.perhaps:
        return Promise(None, perhaps=True)
    if write.kept:
        written = hazards.writers(output.name)
        if written or os.path.lexists(output.name):
            return Promise(None)
    if write.timed and not write.symbolic:  # who looks, looks through a link
        anew = command.record.kind != Kind.FILE and not write.in_place and not write.printed
        return Promise(job.issued_ns, mode & ~command.invoke.mask, anew=anew)
    source = paths.canonical(command.record.cwd, write.same_as) if write.same_as else ""
    if command.rename is not None:
        source = command.rename[0]
    if source:
        known = pending.promise(source)
        if known is not None:
            return known
        try:
            info = os.stat(source)
        except OSError:
            return Promise(None)
        return Promise(info.st_mtime_ns, stat.S_IMODE(info.st_mode))
    return Promise(None)
