"""The scoreboard, its questions on the wire, and a guard that reads it when it is full or stale."""

from __future__ import annotations

import functools
import operator
import os
import random
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from smpmake.guard.scoreboard import (
    Promised,
    Scoreboard,
    file_hash,
    name_hash,
    output_check,
    output_hash,
)
from smpmake.guard.traces import Traces
from smpmake.protocol import frames, layout, wire
from smpmake.protocol.layout import (
    BOARD_FOLDERS,
    BOARD_SLOTS,
    ROLE_ABOVE,
    ROLE_ANYWHERE,
    ROLE_INPUT,
    ROLE_KEPT,
    ROLE_OUTPUT,
    ROLE_STALE,
)
from smpmake.undo.journal import now_ns
from tests.support.guarded import Answering, guarded, look, output

_HEADER = struct.Struct("<QIIIIqq10IQ")
OTHERS = 64
_TURNS, _PLACES = 13, 15  # places in it
FEWEST = 4096


def header(path: Path) -> tuple[int, ...]:
    return _HEADER.unpack_from(path.read_bytes())


def roles(path: Path, value: int) -> int:
    """What a reader finds for a hash, as native/guard/view/lookup.c looks it up."""
    return roles_in(path.read_bytes(), header(path)[_PLACES], value)


def roles_in(data: bytes, places: int, value: int) -> int:
    """The same, of what the file holds."""
    for step in range(places):
        place = _HEADER.size + 8 * ((value + step) % places)
        (slot,) = struct.unpack_from("<Q", data, place)
        if slot == 0:
            return 0
        if slot >> 32 == value and slot & 0xFF:
            return int(slot & 0x3F)
    return 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "board"


def test_claims_come_and_go(path: Path) -> None:
    board = Scoreboard(path)
    name = name_hash(b"a.o")
    board.publish_claims(1, [(name, ROLE_OUTPUT)])
    board.publish_claims(2, [(name, ROLE_INPUT)])
    assert roles(path, name) == ROLE_OUTPUT | ROLE_INPUT
    board.retract_claims(1, [(name, ROLE_OUTPUT)])
    assert roles(path, name) == ROLE_INPUT
    board.retract_claims(2, [(name, ROLE_INPUT)])
    assert roles(path, name) == 0
    board.close()


def test_names_are_folded_and_files_are_not() -> None:
    assert name_hash(b"Foo.O") == name_hash(b"foo.o")
    assert file_hash(1, 2) != file_hash(2, 1)


def test_a_collision_of_places_hides_nobody(path: Path) -> None:
    board = Scoreboard(path)
    first, second, third = 1000, 1000 + BOARD_SLOTS, 1000 + 2 * BOARD_SLOTS  # one place for all
    for owner, value in enumerate((first, second, third)):
        board.publish_claims(owner, [(value, ROLE_OUTPUT)])
    board.retract_claims(1, [(second, ROLE_OUTPUT)])
    assert [roles(path, value) for value in (first, second, third)] == [ROLE_OUTPUT, 0, ROLE_OUTPUT]
    board.publish_claims(1, [(second, ROLE_INPUT)])
    assert roles(path, second) == ROLE_INPUT
    board.close()


def test_whoever_else_comes_and_goes(path: Path) -> None:
    """Slots of one file that many claim, against what all the claims say."""
    rng, board = random.Random(5), Scoreboard(path)
    claims: dict[int, int] = {}
    for _ in range(2000):
        owner, role = (
            rng.randrange(6),
            rng.choice((ROLE_OUTPUT, ROLE_INPUT, ROLE_ABOVE, ROLE_OUTPUT | ROLE_ANYWHERE)),
        )
        if owner in claims and rng.random() < 0.5:
            board.retract_claims(owner, [(1000, role)])
            del claims[owner]
        else:
            board.publish_claims(owner, [(1000, role)])
            claims[owner] = claims.get(owner, 0) | role
        writers = [each for each in claims if claims[each] & ROLE_OUTPUT]
        alone = [*claims] if len(claims) == 1 else writers
        shown = alone[0] + 1 if len(alone) == 1 else 0xFFFFFF
        all_roles = functools.reduce(operator.or_, claims.values(), 0)
        others = OTHERS if len(claims) > 1 and len(writers) == 1 else 0
        expected = (shown, all_roles | others) if claims else (0, 0)
        (slot,) = struct.unpack_from("<Q", path.read_bytes(), _HEADER.size + 8 * 1000)
        assert (slot >> 8 & 0xFFFFFF, slot & 0xFF) == expected
    board.close()


def test_turns_tell_who_looked_that_something_has_changed(path: Path) -> None:
    board = Scoreboard(path)
    turns = [header(path)[_TURNS]]
    for role in (ROLE_STALE, ROLE_KEPT):
        for change in (board.publish_claims, board.retract_claims):
            change(1, [(1000, ROLE_OUTPUT)])
            assert header(path)[_TURNS] == turns[-1]
            change(1, [(2000, role)])
            turns.append(header(path)[_TURNS])
    assert turns == sorted(set(turns))
    board.close()


def test_a_full_table_says_so_and_recovers(path: Path) -> None:
    board = Scoreboard(path)
    claims = [(name_hash(b"n%d" % n), ROLE_OUTPUT) for n in range(BOARD_SLOTS // 2 + 500)]
    board.publish_claims(1, claims)
    assert header(path)[3] == 1  # full: guards ask always
    board.retract_claims(1, claims)
    board.show_counts(0)
    board.publish_claims(2, claims[:10])
    assert header(path)[3] == 0
    assert all(roles(path, value) == ROLE_OUTPUT for value, _ in claims[:10])
    board.close()


def test_slots_are_used_again_and_again(path: Path) -> None:
    board = Scoreboard(path)
    for n in range(3 * BOARD_SLOTS):
        claim = [(name_hash(b"n%d" % n), ROLE_OUTPUT)]
        board.publish_claims(n, claim)
        if n % 10_000 == 0:
            assert roles(path, claim[0][0]) == ROLE_OUTPUT
        board.retract_claims(n, claim)
    assert header(path)[3] == 0
    board.close()


def test_a_table_is_as_large_as_what_it_holds(path: Path) -> None:
    board = Scoreboard(path)
    claims = [(name_hash(b"n%d" % n), ROLE_OUTPUT) for n in range(20_000)]
    assert header(path)[_PLACES] == FEWEST
    board.publish_claims(1, claims)
    places = header(path)[_PLACES]
    assert places in (65_536, BOARD_SLOTS)
    assert all(roles(path, value) == ROLE_OUTPUT for value, _ in claims[::500])
    board.retract_claims(1, claims[10:])
    board.show_counts(1)
    assert header(path)[_PLACES] == places  # nobody is made to ask
    board.retract_claims(1, claims[:10])
    board.publish_claims(2, claims[:2000])
    board.retract_claims(2, claims[:2000])
    board.set_query_all(on=False)
    assert header(path)[_PLACES] == FEWEST
    board.close()


def test_guards_ask_until_a_new_table_has_all(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks while it is made would find nothing of what is pending."""
    board = Scoreboard(path)
    board.publish_claims(1, [(name_hash(b"n%d" % n), ROLE_OUTPUT) for n in range(100)])
    seen = []
    store = Scoreboard._store

    def stored(self: Scoreboard, value: int) -> None:
        seen.append(header(path)[3])
        store(self, value)

    monkeypatch.setattr(Scoreboard, "_store", stored)
    board.set_query_all(on=False)
    assert seen == [1] * 100
    assert header(path)[3] == 0
    board.close()


def test_slots_that_nobody_needs_end_a_chain_again(path: Path) -> None:
    """Against a plain table, with values of which many have the same place."""
    rng, board = random.Random(7), Scoreboard(path)
    values = [FEWEST * high + low for high in range(1, 12) for low in (9, 10, FEWEST - 1)]
    held: set[int] = set()
    for _ in range(3000):
        value = rng.choice(values)
        if value in held:
            board.retract_claims(value, [(value, ROLE_OUTPUT)])
        else:
            board.publish_claims(value, [(value, ROLE_OUTPUT)])
        held ^= {value}
        data, places = path.read_bytes(), header(path)[_PLACES]
        assert {value for value in values if roles_in(data, places, value)} == held
    for value in held:
        board.retract_claims(value, [(value, ROLE_OUTPUT)])
    table = path.read_bytes()[_HEADER.size : _HEADER.size + 8 * FEWEST]
    assert not any(table)
    board.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Answering]:
    answering = Answering(tmp_path / "s")
    yield answering
    answering.close()


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("a.o", True),
        ("./sub/../a.o", True),
        ("A.O", True),
        ("sub//../a.o", True),
        ("way/a.o", True),
        ("sub/A.o", True),  # a link may lead to it
        ("sub/a.o", False),
        ("other.o", False),
        ("sub/a.c", False),
    ],
)
def test_a_guard_asks_by_name(
    tmp_path: Path, path: Path, server: Answering, name: str, asks: bool
) -> None:
    board = Scoreboard(path)
    board.publish_claims(3, output(tmp_path / "a.o"))
    board.show_counts(1)
    (tmp_path / "sub").mkdir()
    (tmp_path / "way").symlink_to(".")
    for each in ("a.o", "A.O", "other.o", "sub/a.c", "sub/a.o"):
        (tmp_path / each).touch()
    (tmp_path / "sub" / "A.o").symlink_to("../a.o")
    look(tmp_path, name)
    asked = [question for question in server.asked if question.kind == layout.ASK_READ]
    assert [q.path for q in asked] == ([f"{tmp_path}/{name}"] if asks else [])
    if asks:
        assert (asked[0].build, asked[0].command) == ("main", -1)
    board.close()


def test_nobody_asks_while_nothing_is_pending(
    tmp_path: Path, path: Path, server: Answering
) -> None:
    board = Scoreboard(path)
    board.publish_claims(3, [(name_hash(b"a.o"), ROLE_OUTPUT)])
    (tmp_path / "a.o").touch()
    look(tmp_path, "a.o")
    assert server.asked == []
    board.close()


def test_a_job_does_not_ask_for_its_own(tmp_path: Path, path: Path, server: Answering) -> None:
    board = Scoreboard(path)
    board.publish_claims(6, output(tmp_path / "a.o"))
    board.show_counts(1)
    (tmp_path / "a.o").touch()
    look(tmp_path, "a.o", _SMPMAKE_COMMAND="7")  # number + 1
    assert server.asked == []
    look(tmp_path, "a.o", _SMPMAKE_COMMAND="8")
    assert [question.command for question in server.asked] == [7]
    board.close()


@pytest.mark.parametrize("others", [ROLE_INPUT, ROLE_OUTPUT, ROLE_KEPT | ROLE_ANYWHERE])
def test_a_job_does_not_ask_for_what_others_are_to_read_of_its_own(
    tmp_path: Path, path: Path, server: Answering, others: int
) -> None:
    board = Scoreboard(path)
    own = output(tmp_path / "a.o")
    claims = own if others == ROLE_OUTPUT else [(name_hash(b"a.o"), others)]
    board.publish_claims(6, [*own, (name_hash(b"a.o"), ROLE_INPUT)])
    board.publish_claims(9, claims)
    board.show_counts(1)
    (tmp_path / "a.o").touch()
    look(tmp_path, "a.o", _SMPMAKE_COMMAND="7")
    assert bool(server.asked) == (others != ROLE_INPUT)
    look(tmp_path, "a.o", _SMPMAKE_COMMAND="8")
    assert server.asked
    board.retract_claims(9, claims)
    server.asked.clear()
    look(tmp_path, "a.o", _SMPMAKE_COMMAND="7")
    assert server.asked == []
    board.close()


def test_outputs_of_folders_that_are_not_there_are_asked_by_name(
    tmp_path: Path, path: Path, server: Answering
) -> None:
    board = Scoreboard(path)
    board.publish_claims(3, [(name_hash(b"a.o"), ROLE_OUTPUT | ROLE_ANYWHERE)])
    board.show_counts(1)
    (tmp_path / "a.o").touch()
    look(tmp_path, "a.o")
    assert server.asked
    board.close()


@pytest.mark.parametrize("name", ["a", "1234567", "12345678", "123456789", "\u00fc" * 8, "n" * 255])
def test_the_board_tells_a_make_what_is_promised(
    tmp_path: Path, path: Path, server: Answering, name: str
) -> None:
    """The driver, and as long as one command alone is to write it."""
    board = Scoreboard(path)
    info = tmp_path.stat()
    key = (info.st_dev, info.st_ino), os.fsencode(name)
    (tmp_path / "rules").write_text(f"old: {name}\n\t@echo made\n{name}: ;\n")
    (tmp_path / "old").touch()
    old = int((tmp_path / "old").stat().st_mtime)

    def promise(owner: int, time: int) -> None:
        what = Promised(layout.GUARD_FILE, 0o644, time * 10**9)
        board.show_promise(owner, output_hash(*key), output_check(*key), what)
        board.publish_claims(owner, output(tmp_path / name))

    def make(**more: str) -> tuple[bool, bool]:
        """Whether it has to make `old` anew, and whether it asked."""
        server.asked.clear()
        made = "made" in guarded(tmp_path, "make", "-s", "-f", "rules", **more)
        return made, bool(server.asked)

    board.show_counts(1)
    promise(4, old + 1000)
    assert make() == (True, False)
    assert make(_SMPMAKE_COMMAND="9")[1], "a command's make waits for what was issued before"
    promise(5, old - 1000)
    assert make()[1], "two are to write it"
    board.retract_claims(4, output(tmp_path / name))
    assert make() == (False, False)
    promise(6, old + 1000)
    board.retract_claims(6, output(tmp_path / name))
    assert make()[1], "the other's promise has gone"
    board.retract_claims(5, output(tmp_path / name))
    assert make() == (True, False), "as it is, and it is not there"
    board.close()


def test_the_board_tells_what_time_a_folder_will_have(
    tmp_path: Path, path: Path, server: Answering
) -> None:
    board = Scoreboard(path)
    folder = tmp_path / "folder"
    folder.mkdir()
    info = folder.stat()
    now = int(info.st_mtime)

    def seen() -> int:
        return int(guarded(tmp_path, "stat", "-c", "%Y", "folder"))

    board.publish_claims(1, [(name_hash(b"folder"), ROLE_ABOVE)])
    board.show_counts(1)
    for rounds in range(2):  # a number that was used
        number = board.folder_entered(file_hash(info.st_dev, info.st_ino))
        assert seen() == now
        board.folder_changes(number, (now + 9 + rounds) * 10**9)
        assert seen() == now + 9 + rounds
        board.folder_changes(number, 0)
        assert seen() == now
        board.folder_left(file_hash(info.st_dev, info.st_ino), number)
    assert seen() == now
    assert server.asked == []
    board.close()


def test_who_has_no_room_for_a_folder_is_asked(
    tmp_path: Path, path: Path, server: Answering
) -> None:
    board = Scoreboard(path)
    for key in range(BOARD_FOLDERS):
        assert board.folder_entered(key) < BOARD_FOLDERS
    info = tmp_path.stat()
    assert board.folder_entered(file_hash(info.st_dev, info.st_ino)) == BOARD_FOLDERS
    board.show_counts(1)
    guarded(tmp_path, "stat", ".")
    assert [question.kind for question in server.asked] == [layout.ASK_STAT]
    board.close()


def test_of_a_full_table_everything_is_asked(tmp_path: Path, path: Path, server: Answering) -> None:
    board = Scoreboard(path)
    board.publish_claims(
        1, [(name_hash(b"n%d" % n), ROLE_OUTPUT) for n in range(BOARD_SLOTS // 2 + 1)]
    )
    board.show_counts(1)
    (tmp_path / "unrelated").touch()
    look(tmp_path, "unrelated")
    assert f"{tmp_path}/unrelated" in {question.path for question in server.asked}
    board.close()


def test_questions_survive_the_wire() -> None:
    question = wire.Question(layout.ASK_MOVE, 12, 34, "main", "/a/b\udcff", "/c")
    ((kind, payload),) = frames.Splitter().feed(wire.encode_question(question))
    assert kind == layout.WIRE_QUESTION
    assert wire.decode_question(payload) == question


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"x" * 24,
        wire.encode_question(wire.Question(1, 1, 1, "m", "relative", ""))[12:],
        wire.encode_question(wire.Question(99, 1, 1, "m", "/a", ""))[12:],
        wire.encode_question(wire.Question(1, 1, 1, "m", "/a\0b", ""))[12:],
        wire.encode_question(wire.Question(1, 1, 1, "m", "/a", ""))[12:-1],
    ],
)
def test_a_malformed_question_is_refused(payload: bytes) -> None:
    with pytest.raises(frames.WireError):
        wire.decode_question(payload)


def begun(traces: Traces, folder: Path) -> dict[str, str]:
    """The variables of a job that has said that it writes a.o and older.o there."""
    info = folder.stat()
    own = [output_check((info.st_dev, info.st_ino), name) for name in (b"a.o", b"older.o")]
    trace = traces.begin_trace(0, 0, own=own, asks_own=False)
    began = time.time_ns()
    while now_ns() <= began:  # what is as old as the job may be somebody else's
        pass
    return {"_SMPMAKE_COMMAND": "8", "_SMPMAKE_TRACE": os.fsdecode(trace)}


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("a.o", False),
        ("sub/../a.o", False),
        ("sub/a.o", True),
        ("b.o", True),
        ("A.o", True),
        ("older.o", True),
    ],
)
def test_a_job_asks_nothing_about_what_it_has_said_that_it_writes(
    tmp_path: Path, path: Path, server: Answering, name: str, asks: bool
) -> None:
    """Though later ones read it, and write it anew."""
    (tmp_path / "sub").mkdir()
    board = Scoreboard(path)
    outputs = [tmp_path / name for name in ("a.o", "b.o", "sub/a.o", "older.o")]
    outputs[-1].touch()  # perhaps by an earlier command, for one that has still to read it
    for number in (7, 9):
        board.publish_claims(number, [claim for each in outputs for claim in output(each)])
    board.publish_claims(9, [(name_hash(os.fsencode(each.name)), ROLE_INPUT) for each in outputs])
    board.show_counts(2)
    traces = Traces(tmp_path)
    job = begun(traces, tmp_path)
    for _ in range(2):  # it is not there, and then it is
        guarded(tmp_path, "dd", "if=/dev/null", f"of={name}", "status=none", **job)
    writes = [q.path for q in server.asked if q.kind == layout.ASK_WRITE]
    assert [os.path.normpath(each) for each in writes] == (
        2 * [os.path.normpath(f"{tmp_path}/{name}")] if asks else []
    )
    assert {q.kind for q in server.asked} <= {layout.ASK_WRITE}
    assert traces.end_trace(0).writes == (os.path.normpath(f"{tmp_path}/{name}"),)
    traces.close()
    board.close()


@pytest.mark.parametrize(
    ("script", "asks"),
    [
        ("echo > new; mv new a.o", False),
        ("echo > new; mv new b.o", True),
        ("mv before a.o", True),  # perhaps by an earlier command
        ("echo > new; mv new older.o", True),
        ("echo > seen.o; mv seen.o a.o", True),
        ("echo > a.o; echo > new; mv new a.o", True),
    ],
)
def test_a_job_that_names_its_output_in_the_end_asks_no_more(
    tmp_path: Path, path: Path, server: Answering, script: str, asks: bool
) -> None:
    """It makes a file of another name, and moves that: as icecream's client does."""
    board = Scoreboard(path)
    outputs = [tmp_path / name for name in ("a.o", "b.o", "older.o", "seen.o")]
    for name in ("older.o", "before"):
        (tmp_path / name).touch()
    board.publish_claims(7, [claim for each in outputs[:3] for claim in output(each)])
    board.publish_claims(9, [(name_hash(os.fsencode(each.name)), ROLE_INPUT) for each in outputs])
    board.show_counts(2)
    traces = Traces(tmp_path)
    job = begun(traces, tmp_path)
    guarded(tmp_path, "sh", "-c", script, **job)
    assert any(q.kind == layout.ASK_MOVE for q in server.asked) == asks
    traces.close()
    board.close()


@pytest.mark.parametrize("is_litter", [False, True])
def test_what_is_no_part_of_the_build_is_neither_asked_about_nor_noted(
    tmp_path: Path, path: Path, server: Answering, is_litter: bool
) -> None:
    board = Scoreboard(path)
    board.publish_claims(7, [(name_hash(b"lock"), ROLE_INPUT)])
    board.show_counts(1, now_ns())
    traces = Traces(tmp_path, "lock" if is_litter else "")
    trace = traces.begin_trace(0, now_ns(), watched=True)
    job = {"_SMPMAKE_COMMAND": "8", "_SMPMAKE_TRACE": os.fsdecode(trace)}
    guarded(tmp_path, "sh", "-c", "echo > lock; cat lock; rm lock", **job)
    assert bool(server.asked) != is_litter
    assert bool(traces.end_trace(0).writes) != is_litter
    traces.close()
    board.close()
