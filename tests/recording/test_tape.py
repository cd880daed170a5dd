"""The file: what is cut, damaged or none says so; bytes come back as they were."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import pytest

from smpmake.recording import plain, tape
from smpmake.recording.player import PlayedWorld
from smpmake.recording.recorder import Recorder
from smpmake.recording.recording import Recording
from smpmake.recording.system import System
from smpmake.recording.tape import TapeError, TapeWriter
from smpmake.recording.world import Entry


def written(path: Path, count: int = 3) -> bytes:
    writer = TapeWriter(path)
    for number in range(count):
        row = {"n": number, "kind": "x", "data": None, "answers": {}, "actions": []}
        writer.add({"kept": f"k{number}", "text": plain.text_of(bytes(range(256)))}, row)
    writer.close()
    return path.read_bytes()


def test_what_was_written_is_read(tmp_path: Path) -> None:
    written(tmp_path / "x")
    recording = Recording(tmp_path / "x")
    assert [row["n"] for row in recording.entries] == [0, 1, 2]
    assert recording.kept({"kept": "k1"}) == bytes(range(256))
    assert not recording.is_whole


def test_every_cut_is_told_and_what_is_before_it_can_be_read(tmp_path: Path) -> None:
    whole = written(tmp_path / "x")
    ends = {len(whole)}
    head = whole.index(b"\n") + 1
    at = head
    while at < len(whole):
        ends.add(at)
        at += 4 + struct.unpack_from("<I", whole, at)[0]
    for length in range(len(whole)):
        (tmp_path / "y").write_bytes(whole[:length])
        if length in ends and length > head:
            assert Recording(tmp_path / "y").entries
            continue
        with pytest.raises(TapeError) as error:
            Recording(tmp_path / "y")
        assert str(error.value).startswith(f"{tmp_path}/y: ")
    (tmp_path / "y").write_bytes(whole[:-1])
    with pytest.raises(TapeError, match="cut in its piece 3"):
        Recording(tmp_path / "y")
    assert len(Recording(tmp_path / "y", until=-1).entries) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no recording of smpmake's"),
        (b"\x7fELF and more", "no recording of smpmake's"),
        (b"smpmake recording 99\n", "of version 99"),
        (b"smpmake recording 1\n\x05\x00\x00\x00hello", "piece 1 is damaged"),
        (b"smpmake recording 1\n", "nothing was recorded"),
    ],
)
def test_what_is_none_is_told(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(TapeError, match=said):
        Recording(tmp_path / "x")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(TapeError, match="cannot be read: No such file"):
        Recording(tmp_path / "x")
    with pytest.raises(TapeError, match="cannot record there: No such file"):
        TapeWriter(tmp_path / "no" / "x")


def test_a_full_disk_ends_the_recording_and_not_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TapeError, match="cannot record there: No space left"):
        TapeWriter(Path("/dev/full"))
    recorder = Recorder(tmp_path / "x")
    recorder.begin({})
    with open("/dev/full", "wb", buffering=0) as full:
        monkeypatch.setattr(recorder._tape, "_file", full)
        assert recorder.enter("test", None, lambda entry: 5) == 5
        monkeypatch.undo()
    assert recorder.fault == "No space left on device"
    recorder.close()
    with pytest.raises(TapeError, match="nothing was recorded"):
        Recording(tmp_path / "x")


def test_environments_are_called_alike_with_and_without_their_values() -> None:
    salt = b"of its own"
    blob = b"HOME=/root\0TOKEN=secret\0ODD\0EMPTY=\0BYTES=\xff\0"
    sketch = plain.blob_of([(name, value) for name, value in plain.sketch(blob, salt)])
    assert b"secret" not in sketch
    assert b"/root" not in sketch
    assert plain.environment_digest(sketch, salt) == plain.environment_digest(blob, salt)
    assert plain.environment_digest(b"A=1\0", salt) != plain.environment_digest(b"A=2\0", salt)
    assert plain.blob_of(plain.pairs_of(blob)) == blob


def test_no_two_recordings_have_the_same_hash_for_a_value(tmp_path: Path) -> None:
    """Else a table of short secrets would tell which one it is."""
    found = []
    for name in ("one", "two"):
        recorder = Recorder(tmp_path / name)
        recorder.begin({})
        recorder.environment(b"PIN=1234\0")
        recorder.enter("test", None, lambda entry: None)
        recorder.close()
        rows = list(tape.read(tmp_path / name))
        found.append(next(row["is"][0][1] for row in rows if "environment" in row))
        again = PlayedWorld(Recording(tmp_path / name))
        assert plain.hidden("1234", again.salt) == found[-1]
    assert found[0] != found[1]


class Looked:
    """A system that changes each time it is looked at."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> int:
        self.looks += 1
        return self.looks


def test_within_a_moment_the_same_question_has_the_same_answer(tmp_path: Path) -> None:
    recorder, looked = Recorder(tmp_path / "x"), Looked()

    def run(entry: Entry) -> None:
        def ask() -> int:
            return recorder.ask("size", "/a", looked, int, int)

        assert (ask(), ask()) == (1, 1)
        recorder.mark()  # from here on it must be looked at anew
        assert (ask(), ask()) == (2, 2)
        entry.changes(["/a"])  # and where we have changed it ourselves
        assert (ask(), looked.looks) == (3, 3)

    recorder.enter("test", None, run)
    recorder.close()
    (row,) = Recording(tmp_path / "x").entries
    assert row["answers"] == {"size /a": {"moments": [[0, 1], [1, 2]]}, "size /a #1": 3}


def test_a_clock_is_looked_at_each_time(tmp_path: Path) -> None:
    recorder, looked = Recorder(tmp_path / "x"), Looked()

    def slow() -> int:
        return looked() // 3

    def run(entry: Entry) -> list[int]:
        recorder.ask("year", "", lambda: 2026, int, int, anew=True)
        recorder.ask("year", "", lambda: 2026, int, int, anew=True)
        return [recorder.ask("time", "", slow, int, int, anew=True) for _ in range(6)]

    assert recorder.enter("test", None, run) == [0, 0, 1, 1, 1, 2]
    recorder.close()
    recording = Recording(tmp_path / "x")
    (row,) = recording.entries
    assert row["answers"] == {"year ": 2026, "time ": {"series": [[2, 0], [3, 1], [1, 2]]}}
    world = PlayedWorld(recording)
    entry = world.begin(row)
    answers = [
        world.within(entry, lambda: world.ask("time", "", slow, int, int, anew=True))
        for _ in range(8)
    ]
    assert answers == [0, 0, 1, 1, 1, 2, 2, 2]  # who asks more often is told the last one


def test_what_the_system_refuses_is_an_answer(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "x")

    def refused() -> int:
        raise FileNotFoundError(2, "no")

    def run(entry: Entry) -> None:
        for _ in range(2):
            with pytest.raises(FileNotFoundError):
                recorder.ask("size", "/a", refused, int, int)
        raise LookupError("ours")

    with pytest.raises(LookupError):
        recorder.enter("test", None, run)
    recorder.close()
    recording = Recording(tmp_path / "x")
    assert recording.is_whole
    (row,) = recording.entries
    assert row["answers"] == {"size /a": {"error": 2}}
    assert row["actions"] == [["raised", "LookupError('ours')"]]
    assert list(tape.read(tmp_path / "x"))[-1] == {"end": 1}


def test_folders_are_walked_as_they_were(tmp_path: Path) -> None:
    """By os.walk and by os.scandir; what was asked of an entry, too."""
    (tmp_path / "tree/below").mkdir(parents=True)
    (tmp_path / "tree/below/file").write_text("x")
    (tmp_path / "tree/link").symlink_to("below")

    def looked() -> Any:
        with os.scandir(tmp_path / "tree") as entries:
            found = {e.name: (e.is_symlink(), e.is_dir(), e.stat().st_ino) for e in entries}
        return found, [*os.walk(tmp_path / "tree")]

    before = looked()
    recorder = Recorder(tmp_path / "x")
    system = System(recorder, recorder.keep, lambda value: b"")
    system.install()
    try:
        assert recorder.enter("test", None, lambda entry: looked()) == before
    finally:
        system.remove()
        recorder.close()
    (tmp_path / "tree/link").unlink()
    recording = Recording(tmp_path / "x")
    world = PlayedWorld(recording)
    system = System(world, lambda data: None, recording.kept)
    system.install()
    try:
        assert world.within(world.begin(recording.entries[0]), looked) == before
    finally:
        system.remove()
    assert looked() != before
