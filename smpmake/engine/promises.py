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
    """What an output will be, with mode and time as a serial build would show them."""
    write = output.write
    if write.removed:
        return Promise(None, absent=True)
    if write.perhaps:
        return Promise(None, perhaps=True)
    if write.symbolic:  # who looks, looks through it
        target = paths.canonical(command.record.cwd, write.same_as)
        return _of_source(target, pending)._replace(leads_to=target, absent=False)
    promise = _of_file(command, output, job, hazards, pending, paths)
    unsure = not write.is_sure or _may_be_a_link(command, pending)
    return promise._replace(leads_to="", unsure=unsure)


def _of_file(
    command: Command,
    output: OutputFile,
    job: Job,
    hazards: Hazards,
    pending: Pending,
    paths: Paths,
) -> Promise:
    """Nothing where it cannot be told."""
    write = output.write
    if write.kept:
        written = hazards.writers(output.name)
        if written or os.path.lexists(output.name):
            return Promise(None)
    if write.timed:
        mode = 0o755 if command.record.kind == Kind.LINK else 0o644
        anew = command.record.kind != Kind.FILE and not write.in_place and not write.printed
        return Promise(job.issued_ns, mode & ~command.invoke.mask, anew=anew)
    if command.rename is not None:
        return _of_source(command.rename[0], pending)
    if write.same_as:
        return _of_source(paths.canonical(command.record.cwd, write.same_as), pending)
    return Promise(None)


def _of_source(source: str, pending: Pending) -> Promise:
    """What a file has of another one that is moved or linked there."""
    known = pending.promise(source)
    if known is not None:
        return known
    try:
        info = os.stat(source)
    except OSError:
        return Promise(None)
    return Promise(info.st_mtime_ns, stat.S_IMODE(info.st_mode))


def _may_be_a_link(command: Command, pending: Pending) -> bool:
    """Whether what a command moves or copies is a symbolic link, or may be: such a one leads from
    another folder somewhere else."""
    if command.record.kind != Kind.FILE:
        return False
    for path in command.record.inputs:
        promise = pending.promise(path)
        if promise is None:
            if os.path.islink(path):
                return True
        elif promise.leads_to or promise.unsure or promise.perhaps:
            return True
    return False
