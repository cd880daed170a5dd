"""What was recorded in whatever way is played without a difference; what is changed shows."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from smpmake.commands.model import Reason
from smpmake.decide import policy
from smpmake.disk.paths import Paths
from smpmake.guard.scoreboard import Scoreboard
from smpmake.guard.traces import Trace, Traces
from smpmake.protocol import layout
from smpmake.recording import tape
from smpmake.recording.player import Difference, Player
from smpmake.recording.recording import Recording
from smpmake.recording.tape import TapeWriter
from smpmake.schedule.hazards import Hazards
from smpmake.schedule.job import Job
from smpmake.undo.journal import UndoJournal
from tests.support.recorded import (
    BROKEN,
    PROJECT,
    RecordedSpace,
    entries,
    file_of,
    played,
    record,
    text_of,
)
from tests.support.space import SMPMAKE, Ended, Space

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("options", [[], ["--chaos", "7"]], ids=" ".join)
def test_a_build_is_played_without_a_difference(space: Space, options: list[str]) -> None:
    space.write(PROJECT)
    assert record(space, options, ["make"]).status == 0
    assert "prog" in space.tree()
    space.expect_clean()
    assert len(list(entries(space, "invoke"))) >= 7
    assert played(space) is None


@pytest.mark.parametrize("options", [["--no-guard"], ["--output-sync=serial"]], ids=" ".join)
def test_so_is_one_with_other_settings(space: Space, options: list[str]) -> None:
    space.write(PROJECT)
    assert record(space, options, ["make"]).status == 0
    assert played(space) is None


def test_so_is_a_failure_that_is_undone_and_run_again(space: Space) -> None:
    space.write({**PROJECT, **BROKEN})
    ended = record(space, [], ["make"])
    assert ended.status == 2
    assert "make ran a second time" in ended.err
    assert len(list(entries(space, "start_over"))) == 1
    assert any(
        action[1] == "run" for row in entries(space, "take_back") for action in row["actions"]
    )
    assert played(space) is None


def test_so_is_a_failure_in_the_order_of_the_serial_build(space: Space) -> None:
    space.write({**PROJECT, **BROKEN})
    assert record(space, ["--output-sync=serial"], ["make"]).status == 2
    assert played(space) is None


def test_so_is_a_make_that_keeps_going(space: Space) -> None:
    space.write({**PROJECT, **BROKEN})
    assert record(space, [], ["make", "-k"]).status == 2
    assert played(space) is None


def test_so_is_a_build_inside_a_build(space: Space) -> None:
    space.write({**PROJECT, "build.sh": f"gcc -c tail.c\n{SMPMAKE} make\n"})
    assert record(space, ["--no-guard"], ["sh", "build.sh"]).status == 0
    assert [row["data"]["id"] for row in entries(space, "build")] == ["main", "build-1"]
    assert played(space) is None


def test_a_replay_needs_no_build_and_changes_nothing(space: Space) -> None:
    space.write({**PROJECT, **BROKEN})
    record(space, [], ["make"])
    for _ in range(2):
        before = space.tree()
        assert played(space) is None
        assert space.tree() == before
        space.clear()


def test_a_build_that_is_killed_leaves_what_was_recorded(space: Space) -> None:
    os.mkfifo(space.folder / "gate")
    script = "for f in tail main parts/one; do gcc -c $f.c; done; echo here >&2; read x < gate\n"
    space.write({**PROJECT, "build.sh": script, "version.h": "#define VERSION 3\n"})
    process = space.start(SMPMAKE, "--record", str(file_of(space)), "sh", "build.sh")
    assert process.stderr is not None
    while (line := process.stderr.readline()) != b"here\n":
        assert line
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    recording = Recording(file_of(space))
    assert not recording.is_whole
    # A state is written at its end; when the third command was heard the second one's was over.
    assert len(list(entries(space, "invoke"))) in (2, 3)
    assert Player(recording).play() is None


# ------------------------------------------------------------------ an engine that is changed


@pytest.fixture
def recorded(space: Space) -> Space:
    space.write(PROJECT)
    assert record(space, [], ["make"]).status == 0
    return space


def differs(space: Space) -> Difference:
    found = played(space)
    assert found is not None
    return found


def of_kind(actions: list[Any], kind: str) -> list[Any]:
    return [action for action in actions if action[0] == kind]


def test_another_reason_shows(recorded: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    decide = policy.decide

    def other(*args: Any) -> policy.Decision:
        decision = decide(*args)
        return decision._replace(reason=Reason.SPECIAL_FILE) if args[2] == "ar" else decision

    monkeypatch.setattr(policy, "decide", other)
    found = differs(recorded)
    assert found.entry["data"]["invoke"]["argv"].startswith("ar\0rcs")
    (missing,), (more,) = of_kind(found.missing, "issued"), of_kind(found.more, "issued")
    assert (missing[1]["verdict"], more[1]["verdict"]) == ("deferred", "foreground")
    assert more[1]["reason"] == Reason.SPECIAL_FILE.value


def test_a_hazard_that_is_forgotten_shows(recorded: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    enter = Hazards.enter

    def fewer(self: Hazards, job: Job) -> set[Job]:
        return {each for each in enter(self, job) if not each.operands.writes[0].endswith("tail.o")}

    monkeypatch.setattr(Hazards, "enter", fewer)
    found = differs(recorded)
    assert found.entry["kind"] == "invoke"
    (missing,), (more,) = of_kind(found.missing, "issued"), of_kind(found.more, "issued")
    assert set(missing[2]["waits for"]) > set(more[2]["waits for"])


def test_a_mark_that_is_not_put_up_shows(recorded: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = Scoreboard.publish_claims

    def fewer(self: Scoreboard, owner: int, claims: Any) -> None:
        publish(self, owner, [each for each in claims if each[1] != layout.ROLE_INPUT])

    monkeypatch.setattr(Scoreboard, "publish_claims", fewer)
    found = differs(recorded)
    (missing,), (more,) = of_kind(found.missing, "board"), of_kind(found.more, "board")
    assert missing[1] == more[1] == f"shim {found.entry['n']}"  # before that is answered
    gone = set(missing[2]["come"]) - set(more[2]["come"])
    assert gone
    assert all(" input " in row for row in gone)


def test_an_entry_that_the_journal_lacks_shows(
    recorded: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(UndoJournal, "ended", lambda self, number: None)
    found = differs(recorded)
    (missing,) = found.missing
    assert missing[:3] == ["do", "write", "undo server"]
    assert found.entry["kind"] == "result"


def test_notes_that_are_read_otherwise_show(
    recorded: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = Traces.end_trace

    def fewer(self: Traces, slot: int) -> Trace:
        return end(self, slot)._replace(reads=())

    monkeypatch.setattr(Traces, "end_trace", fewer)
    found = differs(recorded)
    assert found.entry["kind"] in ("end", "invoke", "ask")
    assert found.missing


def asks(question: Callable[[], object]) -> Callable[[Paths, str, str], str]:
    """Canonical names for which something is asked besides."""
    canonical = Paths.canonical

    def more(self: Paths, cwd: str, path: str) -> str:
        if path.endswith("tail.o"):
            question()
        return canonical(self, cwd, path)

    return more


def test_a_question_without_an_answer_is_named(
    recorded: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = asks(lambda: os.path.islink("/no/such"))
    monkeypatch.setattr(Paths, "canonical", question)
    found = differs(recorded)
    assert "no answer to: lstat /no/such" in found.why
    assert f"state {found.entry['n']} (invoke)" in found.why


def test_a_call_that_nobody_records_is_named(
    recorded: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Paths, "canonical", asks(lambda: os.pathconf("/", "PC_NAME_MAX")))
    assert "no answer to: os.pathconf" in differs(recorded).why


def test_who_asks_in_another_way_is_answered(
    recorded: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How often is not compared; and of what has a state its state as a link is known, too."""
    folder = Paths.folder

    def looked_at(self: Paths, path: str) -> str:
        for _ in range(3):
            os.path.islink(path)
        return folder(self, path)

    monkeypatch.setattr(Paths, "folder", looked_at)
    assert played(recorded) is None


def test_any_test_can_be_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`pytest --recorded` gives tests such a space."""
    with contextlib.closing(RecordedSpace(tmp_path)) as space:
        space.expect_same(PROJECT, ["make"])
        assert space.smpmake("--chaos", "3", "--", "make", "-B").status == 0
        assert space.smpmake("report", "--json").status == 0
    assert len(list(tmp_path.glob("*.rec"))) == 2
    space.expect_replayed()
    monkeypatch.setattr(UndoJournal, "ended", lambda self, number: None)
    with pytest.raises(AssertionError, match=r"build-0.rec:\nfirst difference: state \d+: result"):
        space.expect_replayed()


# ------------------------------------------------------------------ what is in a file


def test_variables_are_hashes_unless_they_were_asked_for(space: Space) -> None:
    space.write(PROJECT)
    record(space, [], ["make"], MY_TOKEN="hunter2hunter2", CPATH=str(space.root))
    text = text_of(space)
    assert "hunter2" not in text
    assert "MY_TOKEN" in text
    assert f'["CPATH", "{space.root}"]' in text
    assert played(space) is None


def test_states_can_be_left_out(recorded: Space) -> None:
    numbers = [row["n"] for row in Recording(file_of(recorded)).entries]
    assert numbers == list(range(len(numbers)))
    player = Player(Recording(file_of(recorded), 5))
    assert player.play(5) is None
    assert player.figures.entries == 6


def test_the_file_is_refused_before_anything_runs(space: Space, tmp_path: Path) -> None:
    space.write(PROJECT)
    cases = [
        (["--record", str(tmp_path / "no" / "x.rec")], {}, "cannot record there"),
        (["--record", "x.rec", "--engine=distcc"], {}, "records no build on a cluster"),
        (["--record", "x.rec"], {"_SMPMAKE_SOCKET": "/x"}, "of another smpmake's"),
    ]
    for options, more, text in cases:
        if "--engine=distcc" in options and shutil.which("distcc") is None:
            continue
        ended = space.smpmake(*options, "--", "make", **more)
        assert ended.status != 0
        assert text in ended.err
        assert "main.o" not in space.tree()


# ------------------------------------------------------------------ scripts/replay


def replay(space: Space, *options: str) -> Ended:
    script = Path(__file__).parents[2] / "scripts" / "replay"
    return space.run(sys.executable, str(script), str(file_of(space)), *options)


def test_the_script_measures(recorded: Space) -> None:
    ended = replay(recorded, "--repeat", "2", "--calls")
    assert (ended.status, ended.err) == (0, "")
    assert re.fullmatch(
        r"no difference in \d+ states, 7 commands\n"
        r"CPU +\d+\.\d{3} s, \d+ us a command, the least of 2 replays\n"
        r"questions +\d+, \d+\.\d a command\n"
        r"calls +\d+, \d+ a command\n",
        ended.out,
    )


def test_the_script_shows_a_state(recorded: Space) -> None:
    number = next(entries(recorded, "invoke"))["n"]
    ended = replay(recorded, "--show", str(number))
    assert ended.status == 0
    assert ended.out.startswith(f"state {number}: invoke ")
    assert f"\n  asked  stat {recorded.folder} -> [" in ended.out
    assert '\n  did    ["issued", {"number": 0, ' in ended.out
    assert re.search(r'"[0-9a-f]{8} \(main.o\) ', ended.out)  # a row of the board
    ended = replay(recorded, "--show", "9999")
    assert (ended.status, ended.out) == (2, "")
    assert "there is no state 9999; the last one is" in ended.err


def test_the_script_tells_a_difference(recorded: Space) -> None:
    rows = list(tape.read(file_of(recorded)))
    writer = TapeWriter(file_of(recorded))
    for row in rows:
        for action in row.get("actions", ()):
            if action[0] == "issued" and action[1]["tool"] == "ar":
                action[1]["verdict"] = "barrier"
                number = row["n"]
        writer.add(row)
    writer.close()
    ended = replay(recorded)
    assert (ended.status, ended.err) == (1, "")
    lines = ended.out.splitlines()
    assert lines[0].startswith(f"first difference: state {number}: invoke ")
    assert lines[1:] == [
        "  issued",
        '    verdict recorded: "barrier"',
        '    verdict replayed: "deferred"',
        f"the whole of it as it was recorded: --show {number}",
    ]
    assert replay(recorded, "--until", str(number - 1)).status == 0


def test_the_script_refuses_what_is_cut(recorded: Space) -> None:
    whole = file_of(recorded).read_bytes()
    file_of(recorded).write_bytes(whole[:-100])
    ended = replay(recorded)
    assert (ended.status, ended.out) == (2, "")
    assert "the file is cut in its piece" in ended.err
    assert replay(recorded, "--until", "3").status == 0


def test_tools_that_the_settings_describe_are_known_again(space: Space) -> None:
    described = '[tools."pack.sh"]\nkind = "archive"\noutput = ["-o"]\n'
    script = '#!/bin/sh\ncat "$3" > "$2"\n'
    space.fake("pack.sh", script, is_script=True)
    space.write({".smpmake.toml": described, "a": "x\n", "Makefile": "b:\n\tpack.sh -o b a\n"})
    assert record(space, [], ["make"]).status == 0
    assert "b" in space.tree()
    assert any('"tool": "pack.sh"' in line for line in text_of(space).splitlines())
    assert replay(space).status == 0
