"""Takes invocations in: what does it mean, how is it to be run?

An invocation becomes one command or several, which engine/issuing issues; or none, and its commands
come by themselves.
"""

from __future__ import annotations

import os

from smpmake.commands import families
from smpmake.commands.model import Analysis, Invocation, Kind, Reason
from smpmake.decide import policy
from smpmake.decide.known_failures import digest_of
from smpmake.disk.elf import is_script
from smpmake.engine.build import Build
from smpmake.engine.computer import Computer
from smpmake.engine.context import Context
from smpmake.engine.elsewhere import Elsewhere
from smpmake.engine.environment import Environment
from smpmake.engine.foresight import Foresight
from smpmake.engine.issuing import Issuing, close_all
from smpmake.engine.observer import Observer
from smpmake.engine.pool import Workers
from smpmake.engine.programs import Programs
from smpmake.engine.recipes import Recipes
from smpmake.engine.replies import Reply
from smpmake.engine.verdict import Verdict, judge
from smpmake.guard.pending import Pending
from smpmake.protocol.wire import CLOSED, Given, Invoke
from smpmake.schedule.hazards import Hazards


class Intake:
    """One per engine."""

    def __init__(
        self,
        computer: Computer,
        issuing: Issuing,
        hazards: Hazards,
        pending: Pending,
        *,
        observer: Observer,
        workers: Workers,
        elsewhere: Elsewhere,
        programs: Programs,
    ) -> None:
        self._paths = computer.disk.paths
        self._processes = computer.processes
        self._issuing = issuing
        self._hazards = hazards
        self._pending = pending
        self._observer = observer
        self._workers = workers
        self._elsewhere = elsewhere
        self._programs = programs
        self._foresight = Foresight(hazards, pending, self._paths)
        self._recipes = Recipes(hazards, self._paths, self._processes)

    def take_command(
        self, build: Build, invoke: Invoke, reply: Reply, out: int, err: int, shim: int
    ) -> None:
        """A command line has come.  `out` and `err` are descriptors that are ours now.

        shim  the process that brings it.
        """
        build.output.shown.note_driver_went_on()
        self._programs.take_command()
        if build.undoing.journal is not None and not build.undoing.squashed:
            build.undoing.journal.grow()
        if build.undoing.squashed or build.replies.stopping or build.promises.broken is not None:
            close_all(out, err)
            build.replies.refuse_shim(reply)
            return
        if invoke.is_line and not self._recipes.may_read(invoke, build.rules):
            _decline(reply, out, err)
            return
        cwd = os.fsdecode(invoke.cwd)
        analysis = self._understand(build, invoke, cwd, out)
        context = Context(
            *(self._hazards, self._paths, self._processes, self._workers.inherited),
            *(build, invoke, cwd, analysis),
            out=out,
            shim=shim,
        )
        verdict = self._judge(build, invoke, cwd, analysis, context)
        if verdict is None:
            _decline(reply, out, err)
        else:
            self._act(verdict, build, invoke, cwd, analysis, reply, out, err)

    def _understand(self, build: Build, invoke: Invoke, cwd: str, out: int) -> Analysis:
        """What a command means."""
        words = tuple(invoke.argv[:-1].decode("utf-8", "surrogateescape").split("\0"))
        environment = build.tools.environment_of(invoke)
        build.tools.look_at_make(self._processes, environment, invoke)
        analysis = self._analyse(build, invoke, words, cwd, environment, out)
        if analysis.kind is Kind.BUILD:
            build.tools.note_wmake()
        return analysis

    def _judge(
        self, build: Build, invoke: Invoke, cwd: str, analysis: Analysis, context: Context
    ) -> Verdict | None:
        """How it is to be run; None for a line whose commands come by themselves."""
        rules = build.rules._replace(guard=False) if invoke.unguarded else build.rules
        real, is_line = os.fsdecode(invoke.real), invoke.is_line
        decision = policy.decide(analysis, rules, invoke.tool, real, context)
        if is_line and (
            not decision.deferred
            or (self._elsewhere.compiles and analysis.kind is Kind.COMPILE)  # which comes by itself
            or self._is_run_by_unknown_scripts(analysis, build.tools.environment_of(invoke))
        ):
            build.promises.command_tells(invoke)
            return None
        is_first = decision.deferred and rules.guard and not is_line
        is_first = is_first and self._shows_what_it_writes(invoke, analysis)
        writes_more = is_first and self._observer.writes_more(invoke.real, analysis.kind)
        is_told = decision.deferred and not writes_more
        caller = b""
        if is_told and build.undoing.journal is not None:
            caller = context.calling_command()
        failure_key = build.promises.awaited_digest(invoke, caller) if is_told else ""
        # As a rule it fails.
        if is_told and build.promises.lost and self._needs_lost(build, cwd, analysis):
            failure_key = failure_key or digest_of(invoke.cwd, invoke.argv)
        if not is_told:
            build.promises.command_tells(invoke)
        if not build.promises.owes_truth:
            self._pending.end_query()
        # A file of the tool's own may take the number of a closed stream: a worker has none.
        has_streams = CLOSED not in (invoke.out, invoke.err)
        return judge(
            decision,
            caller,
            failure_key if has_streams else "",
            writes_more=writes_more,
            is_first=is_first,
        )

    def _act(
        self,
        verdict: Verdict,
        build: Build,
        invoke: Invoke,
        cwd: str,
        analysis: Analysis,
        reply: Reply,
        out: int,
        err: int,
    ) -> None:
        """Has a command run as it was judged: as several, in the background, or where it stands."""
        decision = verdict.decision
        may_split = decision.deferred or decision.reason is Reason.LINK_WAITS
        if analysis.split is not None and may_split and not verdict.failure_key:
            self._issuing.split_command(build, invoke, cwd, analysis, decision, reply, out, err)
            return
        is_job = decision.deferred or verdict.is_awaited
        if not is_job:
            close_all(out, err)
            out = err = -1
        bare = None
        if decision.deferred:
            environment = build.tools.environment_of(invoke)
            bare = self._recipes.without_shell(invoke, analysis.only, environment)
        command = self._issuing.make_command(
            build, bare or invoke, invoke.argv, cwd, analysis, verdict
        )
        command.reply = reply
        if bare is not None:
            self._issuing.replace_argv(command, lambda _: analysis.only)
        elif analysis.said and build.output.transcript is None:
            said = analysis.said.encode()
            command.said = said if build.output.shown.is_new(invoke, said, by_shim=True) else b""
            self._issuing.replace_argv(command, lambda _: analysis.unsaid)
        elif analysis.argv is not None and (decision.deferred or analysis.kind is Kind.BUILD):
            self._issuing.replace_argv(command, analysis.argv)
        if decision.light and build.undoing.journal is None:
            self._issuing.note_stamps(invoke, cwd, analysis)
        if is_job:
            self._issuing.defer_command(command, cwd, out, err)
        else:
            self._issuing.run_in_place(command, cwd)

    def note_given(self, build: Build, given: Given) -> None:
        """A command had its result before anybody heard of it: there is nothing to decide."""
        if build.undoing.journal is not None:
            build.undoing.journal.grow()
        invoke = given.invoke
        words = tuple(invoke.argv[:-1].decode("utf-8", "surrogateescape").split("\0"))
        cwd = os.fsdecode(invoke.cwd)
        environment = build.tools.environment_of(invoke)
        files = self._foresight.files_foreseen(cwd)
        analysis = families.analyse(Invocation(words, cwd, environment.get, files))
        self._issuing.note_given(build, given, cwd, analysis)

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
        files = self._foresight.files_foreseen(cwd)
        analysis = families.analyse(Invocation(words, cwd, environment.get, files))
        if build.rules.takes_recipes and not invoke.unguarded:
            analysis = self._recipes.seen_in_recipe(analysis, invoke, cwd, out)
        if analysis.rename is not None and self._is_one_file(cwd, *analysis.rename):
            analysis = analysis.refused(Reason.MALFORMED, analysis.rename[1])
        if analysis.kind is Kind.FILE and build.rules.guard and not invoke.unguarded:
            analysis = analysis.without_targets()
        return analysis

    def _is_one_file(self, cwd: str, source: str, destination: str) -> bool:
        """Whether mv refuses to rename it: rename(2) would do nothing, or make a link to itself."""
        source, destination = (self._paths.canonical(cwd, path) for path in (source, destination))
        if source == destination:
            return True
        return os.path.islink(source) and os.path.realpath(source) == destination

    # ------------------------------------------------------------------ what is asked

    def _shows_what_it_writes(self, invoke: Invoke, analysis: Analysis) -> bool:
        """Whether a tool may do anything, as a script may, and has still to be seen at work; or
        has been seen to do more than its words say."""
        if analysis.checked:  # each of them is looked at when it has ended
            return False
        own = analysis.programs is None or any(not each.name for each in analysis.programs)
        if not own or not analysis.undeclared or not is_script(os.fsdecode(invoke.real)):
            return False
        if families.is_described(invoke.tool):  # its user knows
            return False
        return self._may_write_more(invoke.real, analysis.kind)

    def _is_run_by_unknown_scripts(self, analysis: Analysis, environment: Environment) -> bool:
        """The same of the tools in a recipe's line."""
        scripts = self._programs.scripts_among(analysis.programs or (), environment)
        return any(self._may_write_more(os.fsencode(each), analysis.kind) for each in scripts)

    def _may_write_more(self, tool: bytes, kind: str) -> bool:
        return not self._observer.has_been_seen(tool, kind) or self._observer.writes_more(
            tool, kind
        )

    def _needs_lost(self, build: Build, cwd: str, analysis: Analysis) -> bool:
        reads = (self._paths.canonical(cwd, path) for path in analysis.reads)
        return any(path in build.promises.lost and not os.path.lexists(path) for path in reads)


def _decline(reply: Reply, out: int, err: int) -> None:
    """A line of which something is not known: its commands come one by one."""
    close_all(out, err)
    reply.decline()
