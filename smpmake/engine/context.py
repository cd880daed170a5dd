"""What stands around one invocation: its caller, its build, what is pending near it."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import Final

from smpmake.commands.model import Analysis, Kind, Reason
from smpmake.commands.paths import NULL_DEVICE, is_device
from smpmake.commands.reading.makes import MAKES, READ_BACK
from smpmake.commands.watcom import wmake
from smpmake.decide.procfs import (
    SHELLS,
    WORKER,
    Caller,
    Processes,
    are_messages_captured,
    asks_for_status,
    callers_below_make,
    is_captured,
    is_fresh,
    is_in_background,
    is_limited,
    unguarded_above,
)
from smpmake.disk.elf import takes_guard
from smpmake.disk.held import is_held
from smpmake.disk.paths import Paths
from smpmake.engine.build import Build
from smpmake.engine.tools import wmake_options_above
from smpmake.protocol.wire import FileId, Invoke
from smpmake.protocol.working import Inherited
from smpmake.schedule.hazards import Hazards
from smpmake.schedule.names import is_product

_LINKS: Final = 40  # one behind the other, as the kernel follows them


class Context:
    """The context of one invocation, looked at only as far as the policy asks."""

    __slots__ = (
        "_above",
        "_analysis",
        "_build",
        "_caller",
        "_cwd",
        "_found",
        "_hazards",
        "_inherited",
        "_invoke",
        "_out",
        "_paths",
        "_processes",
        "_shim",
    )

    def __init__(
        self,
        hazards: Hazards,
        paths: Paths,
        processes: Processes,
        inherited: Inherited,
        build: Build,
        invoke: Invoke,
        cwd: str,
        analysis: Analysis,
        out: int,
        shim: int,
    ) -> None:
        self._hazards = hazards
        self._inherited = inherited
        self._paths = paths
        self._processes = processes
        self._build = build
        self._invoke = invoke
        self._cwd = cwd
        self._analysis = analysis
        self._out = out
        self._shim = shim
        self._above: tuple[list[Caller], Caller | None] | None = None
        self._caller: Caller | None = None
        self._found: dict[str, os.stat_result | None] = {}

    def caller(self) -> Caller | None:
        """Who called the shim, None where it is gone."""
        self._caller = self._caller or self._processes.caller(self._invoke.parent)
        return self._caller

    def calling_command(self) -> bytes:
        """See Processes.calling_command."""
        caller = self.caller()
        if caller is None or caller.name in MAKES:
            return b""
        return self._processes.calling_command(caller.pid)

    def captured(self) -> bool:
        """See policy.Context."""
        invoke = self._invoke
        if self._analysis.printed:
            return are_messages_captured(
                self._processes, invoke.parent, invoke.err, self._build.output.files
            )
        mine = (invoke.out, invoke.err)
        if mine == self._build.output.files:
            return False
        if self._analysis.speaks and mine[:1] != (self._build.output.files or ())[:1]:
            return True
        one_program = self._analysis.kind is Kind.LINK
        return is_captured(
            self._processes,
            invoke.parent,
            mine,
            self._build.output.files,
            one_program=one_program,
        )

    def special_file(self) -> str:
        """See policy.Context."""
        analysis = self._analysis
        paths = [write.path for write in analysis.writes if not write.removed]
        paths += [path for path in analysis.reads if path != NULL_DEVICE]
        if analysis.refusal is Reason.UNREADABLE_RESPONSE_FILE:
            paths.append(analysis.detail)
        return next((path for path in paths if self._is_special(path)), "")

    def _is_special(self, path: str) -> bool:
        if is_device(path) or _leads_to_device(os.path.join(self._cwd, path)):
            return True
        info = self._look(path)
        if info is None or stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode):
            return False
        # A job that makes or removes it leaves none: it would be no job.
        return not self._hazards.writers(self._paths.canonical(self._cwd, path))

    def _look(self, path: str) -> os.stat_result | None:
        """What stands at an operand, links followed; looked at once."""
        if path not in self._found:
            try:
                self._found[path] = os.stat(os.path.join(self._cwd, path))
            except (OSError, ValueError):
                self._found[path] = None
        return self._found[path]

    def linked_output(self) -> str:
        """See policy.Context."""
        for write in self._analysis.writes:
            info = self._look(write.path) if not (write.removed or write.replaces) else None
            if info is not None and stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
                return write.path
        return ""

    def held_output(self) -> str:
        """See policy.Context."""
        for write in self._analysis.writes:
            info = self._look(write.path) if not (write.removed or write.replaces) else None
            if info is None or not stat.S_ISREG(info.st_mode):
                continue
            file = FileId(info.st_dev, info.st_ino)
            if file == self._invoke.out:  # as the shell has it open for the command
                held = is_held(self._out)
            else:
                held = self._is_held(os.path.join(self._cwd, write.path), file)
            if held:
                return write.path
        return ""

    def _is_held(self, path: str, file: FileId) -> bool:
        """The kernel knows.  It may mean the build's own jobs, and of some files does not say: then
        the command's callers are looked at, and all processes but jobs'."""
        held = is_held(path)
        if held is False:
            return False
        callers = self._processes.up_to_driver(self._invoke.parent)
        if any(self._processes.holds(each.pid, (file,), own=True) for each in callers):
            return True
        return held is True and self._processes.is_held(file, but=WORKER)

    def missing_folder(self) -> str:
        """See policy.Context.  No pending command will make one: that is done at its issue."""
        made = [write.path for write in self._analysis.writes if not write.removed]
        wanted = dict.fromkeys(map(os.path.dirname, made))
        for path in made:  # a link leads elsewhere
            name = os.path.join(self._cwd, path)
            if os.path.islink(name):
                wanted[os.path.dirname(os.path.realpath(name))] = None
        for folder in wanted:
            there = folder == "" or folder in self._analysis.folders
            if not there and not os.path.isdir(os.path.join(self._cwd, folder)):
                return folder
        return ""

    def fresh_source(self) -> bool:
        """See policy.Context."""
        reads = [path for path in self._analysis.reads[:4] if not is_product(path)]
        sources = [os.path.join(self._cwd, path) for path in reads]
        build, undo = self._build, self._build.undoing.journal
        about = (self._processes, self._invoke.parent, sources, build.began, os.stat)
        return is_fresh(*about, undo.writer_of) if undo is not None else is_fresh(*about)

    def tool_takes_guard(self) -> bool:
        """See policy.Context."""
        return takes_guard(os.fsdecode(self._invoke.real))

    def can_be_checked(self) -> bool:
        """See policy.Context."""
        build, real = self._build, os.fsdecode(self._invoke.real)
        if not build.undoing.reaches_back or real in build.tools.distrusted:
            return False
        return takes_guard(real) and not self.is_pending(real)

    def inherits_otherwise(self) -> bool:
        """See policy.Context."""
        invoke, own = self._invoke, self._inherited
        if not invoke.inherited or not own.number:
            return False
        return invoke.inherited != own.number or invoke.nice < own.nice

    def is_limited(self) -> bool:
        """See policy.Context."""
        return is_limited(self._callers()[0])

    def _callers(self) -> tuple[list[Caller], Caller | None]:
        """See callers_below_make."""
        if self._above is None:
            caller, began = self.caller(), self._build.began
            below = caller is not None and callers_below_make(self._processes, caller, began)
            self._above = below or ([], None)
        return self._above

    def tracer(self) -> str:
        """See policy.Context.  Shells and makes trace nobody, so of a make's recipes it is enough
        to look at that, once."""
        callers, make = self._callers()
        if not callers and make is None:
            return ""
        if any(each.name not in SHELLS for each in callers):
            return self._tracer_of(self._shim)
        traced = self._build.tools.traced
        if make is not None and make.pid not in traced:
            traced[make.pid] = self._tracer_of(make.pid)
        return traced[make.pid] if make is not None else ""

    def _tracer_of(self, pid: int) -> str:
        """Its name; not ours, nor one that traces smpmake itself."""
        tracer = self._processes.tracer(pid)
        if tracer in (0, self._processes.tracer(os.getpid())):
            return ""
        found = self._processes.caller(tracer)
        name = found.name if found is not None else "?"
        return "" if name.startswith("smpmake-") else name

    def is_in_background(self) -> bool:
        """See policy.Context."""
        caller = self.caller()
        return caller is not None and is_in_background(
            self._processes, caller, self._invoke.ignored
        )

    def unguarded_caller(self) -> str:
        """See policy.Context."""
        if not self._build.rules.guard or not self._invoke.unguarded:
            return ""
        return unguarded_above(self._processes, self._invoke.unguarded)

    def status_is_asked(self) -> bool:
        """See policy.Context."""
        source = os.fsencode(self._analysis.reads[0])
        caller = self._processes.command_line(self._invoke.parent)
        return asks_for_status(caller, os.fsencode(self._invoke.tool), source)

    def driver_reads_back(self) -> bool:
        """See policy.Context."""
        sides = self._analysis.included or not all(w.target for w in self._analysis.writes)
        if not sides:
            return False
        caller = self.caller()
        return caller is not None and caller.name in READ_BACK

    def target_checked(self) -> str:
        """See policy.Context."""
        build = self._build
        # Where everybody has a guard no wmake gets by our shim, which gives it what it needs.
        if not build.tools.has_wmake and build.rules.guard and not self._invoke.unguarded:
            return ""
        options = wmake_options_above(self._processes, self._invoke.parent)
        if options is None:
            return ""
        if not options & wmake.UNCHECKED:
            return "no -c"
        return "-j" if "j" in options else ""

    def is_pending(self, path: str) -> bool:
        """See policy.Context."""
        hazards = self._hazards
        return len(hazards) > 0 and hazards.is_written(self._paths.canonical(self._cwd, path))

    def leads_to_pending(self, path: str) -> bool:
        """See policy.Context."""
        name = os.path.join(self._cwd, path)
        if len(self._hazards) == 0 or not os.path.islink(name):
            return False
        return self._hazards.is_written(os.path.realpath(name))

    def exists_already(self, path: str) -> bool:
        """See policy.Context."""
        return not self.is_pending(path) and os.path.lexists(os.path.join(self._cwd, path))

    def is_read_by_pending(self, path: str) -> bool:
        """See policy.Context."""
        hazards = self._hazards
        if len(hazards) == 0:
            return False
        name = self._paths.canonical(self._cwd, path)
        object_ = self._analysis.makes_objects
        return (
            hazards.is_read(name, object_=object_)
            and not hazards.is_written(name)
            and os.path.lexists(name)
        )


def _leads_to_device(path: str) -> bool:
    """Whether links lead to a device, or to a descriptor: another process has another one."""
    with contextlib.suppress(OSError, ValueError):
        for _ in range(_LINKS):
            path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
            if is_device(path):
                return True
    return False
