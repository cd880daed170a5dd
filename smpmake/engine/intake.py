"""Takes invocations in: what does it mean, how is it to be run?

An invocation becomes one command or several, which engine/issuing issues; or none, and its commands
come by themselves.
"""

from __future__ import annotations

import os

from smpmake.commands import families
from smpmake.commands.model import Analysis, Invocation, Kind, Reason
from smpmake.decide import policy
from smpmake.decide.learnt import Doubt, Lesson
from smpmake.decide.procfs import Processes
from smpmake.disk.paths import FolderFiles, Paths
from smpmake.engine.build import Build
from smpmake.engine.caught import Caught
from smpmake.engine.command import Reply
from smpmake.engine.context import Context, make_tells_folders
from smpmake.engine.distribution import Distribution
from smpmake.engine.environment import Environment
from smpmake.engine.issuing import Issuing, close_all
from smpmake.engine.learning import Learning
from smpmake.engine.outcome import refuse
from smpmake.engine.recipes import Recipes
from smpmake.guard.pending import Pending
from smpmake.protocol.wire import Invoke
from smpmake.schedule.hazards import Hazards


class Intake:
    """One per engine."""

    def __init__(
        self,
        issuing: Issuing,
        hazards: Hazards,
        pending: Pending,
        paths: Paths,
        *,
        processes: Processes,
        distribution: Distribution,
        learning: Learning,
        caught: Caught,
    ) -> None:
        self._issuing = issuing
        self._hazards = hazards
        self._pending = pending
        self._paths = paths
        self._processes = processes
        self._distribution = distribution
        self._learning = learning
        self._caught = caught
        self._recipes = Recipes(hazards, paths, processes)

    def take(self, build: Build, invoke: Invoke, reply: Reply, out: int, err: int) -> None:
        """A command line has come.  `out` and `err` are descriptors that are ours now."""
        if build.undo is not None and not build.squashing:
            build.undo.grow()
        if build.squashing or build.stopping or build.broken is not None:
            close_all(out, err)
            refuse(build, reply)
            return
        words = tuple(invoke.argv[:-1].decode("utf-8", "surrogateescape").split("\0"))
        cwd = os.fsdecode(invoke.cwd)
        is_line = invoke.is_line
        if is_line and not self._recipes.may_read(invoke, build.rules):
            _decline(reply, out, err)
            return
        environment = build.environment_of(invoke)
        if not build.tells_folders:
            self._look_for_folders(build, environment, invoke)
        learns = self._learning.concerns(build, invoke)
        known = self._learning.known(build, invoke) if learns else None
        printed = ""
        if learns and not build.hears(invoke):
            printed = self._recipes.file_of_its_alone(invoke, out)
        if known is None:
            analysis = self._analyse(build, invoke, words, cwd, environment, out)
        else:
            learnt = self._learning.meaning(build, invoke, words, known, printed)
            if learnt is None:
                self._one_by_one(
                    build, invoke, known, reply, out, err, learns=learns, printed=printed
                )
                return
            analysis = learnt
        build.wmakes |= analysis.kind is Kind.BUILD
        context = Context(self._hazards, self._paths, self._processes, build, invoke, cwd, analysis)
        rules = build.rules.without_guard() if invoke.unguarded else build.rules
        decision = policy.decide(analysis, rules, invoke.tool, os.fsdecode(invoke.real), context)
        if is_line and (not decision.deferred or self._distribution.wants_its_commands(analysis)):
            self._one_by_one(build, invoke, known, reply, out, err, learns=learns, printed=printed)
            return
        caught, listens = "", False
        if decision.reason is Reason.CAPTURED_OUTPUT and not is_line:
            caught = self._caught.digest(build, invoke, cwd, analysis)
        if caught:
            context.expect_silence()
            silent = self._caught.was_silent(build, caught)
            anyway = policy.decide(analysis, rules, invoke.tool, os.fsdecode(invoke.real), context)
            listens = anyway.deferred and silent is None
            if anyway.deferred and silent:
                decision = anyway
        caller = b""
        if decision.deferred and build.undo is not None:
            caller = self._processes.calling_command(invoke.parent)
        doubted = self._learning.doubts(invoke)
        digest = build.to_be_told(invoke, caller, deferred=decision.deferred, doubted=doubted)
        if not build.owed:
            self._pending.heard()
        if digest and known is not None:  # beside others it has failed; alone it may not
            self._one_by_one(build, invoke, known, reply, out, err, learns=learns, printed=printed)
            return
        if digest:
            decision = decision._replace(reason=Reason.STATUS_MATTERS)
        if build.lost and self._needs_lost(build, cwd, analysis):
            close_all(out, err)
            refuse(build, reply)
            return
        waits_to_link = decision.reason is Reason.LINK_WAITS
        if analysis.split is not None and (decision.deferred or waits_to_link) and not digest:
            self._issuing.split(build, invoke, cwd, analysis, decision, reply, out, err)
            return
        if not (decision.deferred or digest or listens):
            close_all(out, err)
            out = err = -1
        bare = None
        if decision.deferred:
            bare = self._recipes.without_shell(invoke, analysis.only, environment)
        command = self._issuing.command(build, bare or invoke, invoke.argv, cwd, analysis, decision)
        command.reply, command.digest, command.caller = reply, digest, caller
        command.caught, command.listens = caught, listens
        command.is_learnt = analysis.kind is Kind.RECIPE
        analysis = self._issuing.share(build, cwd, analysis)
        if bare is not None:
            self._issuing.replace_argv(command, lambda _: analysis.only)
        elif analysis.argv is not None and (decision.deferred or analysis.kind is Kind.BUILD):
            self._issuing.replace_argv(command, analysis.argv)
        if decision.light and build.undo is None:
            self._issuing.note_stamps(invoke, cwd, analysis)
        if decision.deferred or digest or listens:
            self._issuing.defer(command, cwd, analysis, decision, out, err)
        else:
            self._issuing.in_foreground(command, cwd, analysis, decision)

    def _look_for_folders(self, build: Build, environment: Environment, invoke: Invoke) -> None:
        """A make has one environment for all that it calls: it is looked at once in each folder."""
        make = hash((environment.blob, invoke.cwd))
        if make not in build.makes:
            build.makes.add(make)
            parent = invoke.parent
            build.tells_folders = make_tells_folders(environment, self._processes, parent)

    def _analyse(
        self,
        build: Build,
        invoke: Invoke,
        words: tuple[str, ...],
        cwd: str,
        environment: Environment,
        out: int,
    ) -> Analysis:
        """What its words mean, and what stands around it."""
        files = FolderFiles(cwd, lambda path: self._is_pending(cwd, path))
        analysis = families.analyse(Invocation(words, cwd, environment.get, files))
        if build.rules.recipes and not invoke.unguarded:
            analysis = self._recipes.seen(analysis, invoke, cwd, out)
        if analysis.kind is Kind.FILE and build.rules.guard and not invoke.unguarded:
            analysis = analysis.without_targets()
        return analysis

    def _one_by_one(
        self,
        build: Build,
        invoke: Invoke,
        known: Lesson | Doubt | None,
        reply: Reply,
        out: int,
        err: int,
        *,
        learns: bool,
        printed: str,
    ) -> None:
        """A line that is no job: its commands are met one by one.

        learns: whether what it does is to be known in the next build, or is.
        printed: the file that holds what it prints, if that is its alone.
        """
        build.to_be_told(invoke, b"", deferred=False)
        notes = 0
        if learns:
            caught = not (printed or build.hears(invoke))
            doubted = bool(build.to_be_told(invoke, b"", deferred=True))
            notes = self._learning.begin(build, invoke, known, caught=caught, doubted=doubted)
        _decline(reply, out, err, notes)

    # ------------------------------------------------------------------ what is asked

    def _needs_lost(self, build: Build, cwd: str, analysis: Analysis) -> bool:
        reads = (self._paths.canonical(cwd, path) for path in analysis.reads)
        return any(path in build.lost and not os.path.lexists(path) for path in reads)

    def _is_pending(self, cwd: str, path: str) -> bool:
        return bool(self._hazards.writers(self._paths.canonical(cwd, path)))


def _decline(reply: Reply, out: int, err: int, notes: int = 0) -> None:
    """A line of which something is not known: its commands come one by one."""
    close_all(out, err)
    reply.decline(notes)
