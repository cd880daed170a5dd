"""What becomes of a job's output: printed when it ends, kept for its shim, or put in order."""

from __future__ import annotations

import os
import stat

from smpmake.engine import framing
from smpmake.engine.command import Command
from smpmake.engine.sinks import Printer, Sinks
from smpmake.engine.worker_requests import terminal_of
from smpmake.guard.files import File
from smpmake.protocol.wire import FileId
from smpmake.protocol.working import Terminal


class JobOutput:
    """One per engine.  printer: does the writing."""

    def __init__(self, printer: Printer) -> None:
        self._sinks = Sinks(printer)
        self._open: set[FileId] = set()  # where the last of us to print has left a line without end

    def take_descriptors(self, command: Command, out: int, err: int) -> None:
        """Keeps the descriptors that a job's output goes to; they are ours now."""
        pairs = [(command.invoke.out, out), (command.invoke.err, err)]
        if command.analysis.printed:
            os.close(out)
            del pairs[0]
        for sink, given in pairs:
            behind, fd = command.build.output.behind.get(sink), given
            if behind is not None:
                fd = os.dup(behind)
                os.close(given)
            if command.guarded and stat.S_ISREG(os.fstat(fd).st_mode):
                command.log_files += (sink,)
            self._sinks.take_descriptor(sink, fd)
            command.sinks += (sink,)

    def terminal_for(self, command: Command) -> Terminal | None:
        """The terminal that a job prints to, if it does."""
        if command.group is not None:
            return command.group.terminal
        if not command.sinks:
            return None
        out, err = (self._sinks.descriptor(sink) for sink in (command.sinks[0], command.sinks[-1]))
        return terminal_of(command.invoke, out, err, printed=command.analysis.printed)

    def give_back_descriptors(self, command: Command) -> None:
        """The job is over: closes its pipes, whose readers wait until all writers are gone."""
        for sink in command.sinks:
            self._sinks.give_back_descriptor(sink)

    def print_result(self, command: Command, number: int, out: bytes, err: bytes) -> None:
        """A job ended: prints what it said, each message with the command's name before it."""
        transcript = command.build.output.transcript
        if command.group is not None:
            command.group.output.append(out + err)
            out = err = b""  # its shim prints it
        if transcript is not None:
            transcript.fill_place(number, self._write_elsewhere(command, out, err))
        elif out or err:
            self._write(command, out, err)

    def _write_elsewhere(self, command: Command, out: bytes, err: bytes) -> bytes:
        """What goes elsewhere than the driver's own output goes there; returns the rest."""
        rest = []
        for sink, text in ((command.invoke.out, out), (command.invoke.err, err)):
            if sink not in command.sinks or command.build.output.is_drivers(sink):
                rest.append(text)
            elif text:
                self._sinks.write(sink, text, at_once=sink in command.log_files)
        return b"".join(rest)

    def _write(self, command: Command, out: bytes, err: bytes) -> None:
        """Its name stands before its messages, once."""
        sinks = command.invoke.out, command.invoke.err
        texts = [(sinks[1], err), (sinks[0], out)]
        if sinks[0] == sinks[1]:
            texts = [(sinks[0], out + err)]
        is_named = False
        for sink, text in texts:
            # A log that somebody may read holds what it would hold serially, and in time.
            if text and sink in command.log_files:
                self._sinks.write(sink, text, at_once=True)
            elif text and self._is_new(command, sink, text):
                before, message, behind = framing.told(text, command.analysis.behind.encode())
                if message and not is_named:
                    is_named, message = True, self._head(command, sink) + message
                begin = self._fresh(command, sink) if message else b""
                shown = before + _placed(command, message, sink) + behind
                self._sinks.write(sink, begin + shown)
                self._said(sink, shown)

    @staticmethod
    def _is_new(command: Command, sink: FileId, text: bytes) -> bool:
        """What goes elsewhere than the driver's own output has been taken back with the rest."""
        build = command.build
        is_new = build.output.shown.is_new(command.invoke, text)
        return is_new or not build.output.is_drivers(sink)

    def note_said(self, command: Command) -> None:
        """The shim of a command prints for it, and has perhaps not ended the line."""
        self._said(command.invoke.out, command.said)

    def _said(self, sink: FileId, text: bytes) -> None:
        if text.endswith(b"\n"):
            self._open.discard(sink)
        else:
            self._open.add(sink)

    def _fresh(self, command: Command, sink: FileId) -> bytes:
        """What is to come first, so that a job's output begins at the beginning of a line.

        What the driver has printed into a pipe nobody can tell.
        """
        fd = self._sinks.descriptor(sink)
        environment = command.build.tools.environment_of(command.invoke)
        fresh = framing.fresh_line(fd, environment.get("TERM") or "dumb")
        is_open = sink in self._open or framing.has_open_line(fd)
        return fresh or (b"\n" if is_open else b"")

    def _head(self, command: Command, sink: FileId) -> bytes:
        columns = framing.width_of(self._sinks.descriptor(sink))
        return framing.head(command.analysis.main or command.record.words, command.record, columns)

    @staticmethod
    def skip_job(command: Command, number: int) -> None:
        """A job ended, and nothing is printed in its place."""
        if command.build.output.transcript is not None:
            command.build.output.transcript.fill_place(number, b"")

    def close(self) -> None:
        """Closes all descriptors."""
        self._sinks.close()


def _placed(command: Command, text: bytes, sink: FileId) -> bytes:
    """A message in its folder, which the driver may have left meanwhile.

    Editors open files by what make says of the folders that it enters; `make -O` does the same.
    """
    mine = command.build.output.files
    if not text or not command.build.tools.tells_folders or (mine is not None and sink not in mine):
        return text  # what the build reads itself holds what it holds serially
    environment = command.build.tools.environment_of(command.invoke)
    return framing.placed(text, command.invoke.cwd, environment.get("MAKELEVEL"))


def logs(command: Command) -> list[File]:
    """Files that a job's output goes to: who reads such a log must find it there."""
    files: dict[File, None] = {}
    for sink in (command.invoke.out, command.invoke.err):
        if not command.build.output.is_drivers(sink) and sink in command.log_files:
            files[sink.device, sink.inode] = None
    return list(files)
