"""In doubt as the driver would, with a named reason (P4): each reason by a command that gets just
that one, beside the same command without what it is about, which is a job."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from smpmake.commands.model import Reason
from smpmake.commands.pending_files import PendingAnswerError
from smpmake.config import Settings
from smpmake.decide.policy import Context, Decision, decide
from tests.commands.disk import FakeFiles, meaning
from tests.support.space import Space

#: What a policy is told of a command that may be a job.
USUAL: dict[str, object] = {
    "captured": False,
    "special_file": "",
    "missing_folder": "",
    "linked_output": "",
    "held_output": "",
    "fresh_source": False,
    "status_is_asked": False,
    "driver_reads_back": False,
    "target_checked": "",
    "is_pending": True,
    "leads_to_pending": False,
    "exists_already": False,
    "is_read_by_pending": False,
    "tool_takes_guard": True,
    "can_be_checked": True,
    "inherits_otherwise": False,
    "is_limited": False,
    "is_in_background": False,
    "tracer": "",
    "unguarded_caller": "",
}
USERS = Settings()
DISK = {"y.f90": "end\n", "pending.rsp": "-c a.c"}


class Answers:
    """A policy.Context that has each answer by its name."""

    def __init__(self, **answers: object) -> None:
        assert answers.keys() <= USUAL.keys()
        self._answers = {**USUAL, **answers}

    def __getattr__(self, name: str) -> Callable[..., object]:
        return lambda *_: self._answers[name]


class Pending(FakeFiles):
    """A disk on which a file is still to be written."""

    def read_text(self, path: str) -> str | None:
        if path.startswith("pending"):
            raise PendingAnswerError(path)
        return super().read_text(path)


@dataclass(frozen=True)
class Case:
    """A command line with a reason against a job, and what is otherwise where there is none.

    job      the line of a job; nothing: the same one.  None: no such command is ever a job.
    answers  what the policy is told of the refused one (see USUAL).
    """

    line: str
    job: str | None = ""
    answers: Mapping[str, object] = field(default_factory=dict)
    settings: Settings = USERS
    usual: Settings = USERS
    environment: Mapping[str, str] = field(default_factory=dict)
    files: FakeFiles = field(default_factory=lambda: FakeFiles(DISK, ["dir"]))

    def refused(self) -> Decision:
        """What becomes of it."""
        return _decided(self.line, self.files, self.environment, self.settings, self.answers)

    def usually(self) -> Decision | None:
        """What becomes of it where nothing speaks against a job."""
        if self.job is None:
            return None
        return _decided(self.job or self.line, FakeFiles(DISK, ["dir"]), {}, self.usual, {})


def _decided(
    line: str,
    files: FakeFiles,
    environment: Mapping[str, str],
    settings: Settings,
    answers: Mapping[str, object],
) -> Decision:
    words = shlex.split(line)
    analysis = meaning(words, files, environment)
    context = cast(Context, Answers(**answers))
    return decide(analysis, settings, words[0], f"/usr/bin/{words[0]}", context)


def told(**answers: object) -> Case:
    """A compile of which the policy is told something."""
    return Case("gcc -c a.c", answers=answers)


UNGUARDED = Settings(guard=False)
COMPILE = "gcc -c a.c"
#: With a guard they wait for what they touch, and not for everything.
UNSEEN = {"tool_takes_guard": False}
CASES: dict[Reason, Case] = {
    Reason.UNKNOWN_OPTION: Case("gcc -c a.c -fnever-heard-of", COMPILE),
    Reason.UNKNOWN_LANGUAGE: Case("gcc -c -x ada a.c", "gcc -c -x c a.c"),
    Reason.UNREADABLE_RESPONSE_FILE: Case("gcc @nowhere.rsp", "gcc @pending.rsp"),
    Reason.UNREADABLE_SOURCE: Case("gfortran -c x.f90", "gfortran -c y.f90"),
    Reason.UNUSUAL_OUTPUT: Case("gcc a.c b.c -o -", "gcc a.c b.c -o p"),
    Reason.UNUSUAL_ENVIRONMENT: Case(COMPILE, environment={"DEPENDENCIES_OUTPUT": "d"}),
    Reason.MALFORMED: Case("gcc -c a.c b.c -o x.o", "gcc -c a.c -o x.o"),
    Reason.WHOLE_FOLDER: Case("rm -r dir", "rm a.o", UNSEEN),
    Reason.WRITES_UNPREDICTABLE: Case("gcc -c a.c -da", COMPILE),
    Reason.PENDING_ANSWER: Case("gcc @pending.rsp", answers=UNSEEN, files=Pending(DISK)),
    Reason.LAUNCHER_QUERY: Case("ccache -s", "ccache gcc -c a.c"),
    Reason.QUERY: Case("gcc --version", COMPILE),
    Reason.READS_STDIN: Case("gcc -x c -c - -o a.o", "gcc -x c -c a.c -o a.o"),
    Reason.CALLERS_FILE: Case("gcc -x c -c /dev/fd/63 -o a.o", "gcc -x c -c a.c -o a.o"),
    Reason.WRITES_STDOUT: Case("gcc -E a.c", "gcc -E a.c -o a.i"),
    Reason.WRITES_NOTHING: Case("gcc -fsyntax-only a.c", COMPILE),
    Reason.DISCARDED_OUTPUT: Case("gcc -c a.c -o /dev/null", "gcc -c a.c -o a.o"),
    Reason.PROBE_NAME: Case("gcc -c conftest.c", COMPILE),
    Reason.CAPTURED_OUTPUT: told(captured=True),
    Reason.SPECIAL_FILE: told(special_file="fifo"),
    Reason.FRESH_SOURCE: told(fresh_source=True),
    Reason.STATUS_ASKED: Case("gcc a.c -o p", answers={"status_is_asked": True}),
    Reason.SEVERAL_NAMES: told(linked_output="a.o"),
    Reason.HELD_OPEN: told(held_output="a.s"),
    Reason.NO_FOLDER: told(missing_folder="gone"),
    Reason.IN_PLACE: Case(
        COMPILE, answers={"is_read_by_pending": True}, settings=UNGUARDED, usual=UNGUARDED
    ),
    Reason.UNCHECKED: Case("xxd -i a a.h", answers={"can_be_checked": False}),
    Reason.LINK_WAITS: Case("ar rc lib.a a.o", settings=UNGUARDED),
    Reason.NOT_PENDING: Case("mv a b", answers={"is_pending": False}),
    Reason.USER_FOREGROUND: Case(COMPILE, settings=Settings(foreground=("gcc",))),
    Reason.INHERITED: told(inherits_otherwise=True),
    Reason.TRACED: told(tracer="strace"),
    Reason.UNGUARDED: told(unguarded_caller="static"),
    Reason.TIME_LIMIT: told(is_limited=True),
    Reason.BACKGROUND: told(is_in_background=True),
    Reason.DRIVER_READS_BACK: told(driver_reads_back=True),
    Reason.CHECKS_TARGETS: told(target_checked="wmake"),
    Reason.NO_TARGET_CHECK: Case("wmake", None),
    Reason.RECIPE: Case("sh -c 'gcc -c a.c && unheard-of'", "sh -c 'rm -f a.o && gcc -c a.c'"),
}


@pytest.mark.parametrize("reason", CASES)
def test_p4_in_place_for_a_reason_and_a_job_without_it(reason: Reason) -> None:
    case = CASES[reason]
    refused, usually = case.refused(), case.usually()
    assert refused.reason is reason
    assert refused.barrier is reason.barrier
    assert usually is None or usually.deferred, usually


def reasons(space: Space, files: dict[str, str], *command: str) -> list[str]:
    """Of each command of a build, "" for a job's."""
    space.write(files)
    for name in files:  # a source of this very moment could be the script's own
        os.utime(space.folder / name, (1, 1))
    space.smpmake(*command)
    found: list[dict[str, Any]] = json.loads(space.smpmake("report", "--json").out)["commands"]
    return [command["reason"] for command in found]


def of_scripts(space: Space) -> list[list[str]]:
    """The tool is a script: it is looked at once, and writes what it says, or more."""
    space.fake("gcc", '#!/bin/sh\nexec /usr/bin/gcc "$@"\n', is_script=True)
    files = {"a.c": "int a;\n", "b.c": "int b;\n"}
    build = ("sh", "-c", "gcc -c a.c; gcc -c b.c")
    usual = reasons(space, files, *build)
    script = '#!/bin/sh\n/usr/bin/gcc "$@"; status=$?\necho > more.o\nexit $status\n'
    space.fake("gcc", script, is_script=True)
    return [reasons(space, files, *build), usual]


def of_tolerated(space: Space) -> list[list[str]]:
    """The first build learns that a failure is tolerated, the next one knows."""
    make = "x.o:\n\tgcc -c bad.c -o x.o || gcc -c other.c -o x.o\n"
    files = {"Makefile": make, "bad.c": "no\n", "other.c": "int other;\n"}
    usual = reasons(space, {**files, "bad.c": "int good;\n"}, "make")
    space.clear()
    reasons(space, files, "make")
    space.clear()
    return [reasons(space, files, "make"), usual]


#: What only a whole build shows: its commands' reasons with what they are about, and without.
BUILDS: dict[Callable[[Space], list[list[str]]], list[list[str]]] = {
    of_scripts: [["first-of-a-script", "writes-more"], ["first-of-a-script", ""]],
    of_tolerated: [["status-matters", ""], [""]],
}


@pytest.mark.slow
def test_p4_a_script_that_is_seen_at_work(space: Space) -> None:
    assert of_scripts(space) == BUILDS[of_scripts]


@pytest.mark.slow
def test_p4_a_status_that_mattered_once(space: Space) -> None:
    assert of_tolerated(space) == BUILDS[of_tolerated]


def test_p4_every_reason_has_a_case() -> None:
    shown = {Reason(name) for with_, _ in BUILDS.values() for name in with_ if name}
    assert CASES.keys() | shown == set(Reason)
    questions = {name for name in vars(Context) if not name.startswith("_")}
    assert questions == USUAL.keys()
