"""What is kept of builds, and how: while they run, side by side, without secrets."""

from __future__ import annotations

import contextlib
import multiprocessing
import sqlite3
import threading
import time
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from smpmake.columns import STORED
from smpmake.forecast import Forecast
from smpmake.history import VERSION, History, HistoryError, Recorder, past
from smpmake.history import recorder as recording
from smpmake.history.schema import SCHEMA, TYPES
from smpmake.history.store import LockedError
from smpmake.records import (
    FIELDS,
    CommandRecord,
    Compiler,
    Failure,
    Sample,
    Stall,
    Surroundings,
    command_record,
)
from smpmake.redact import SHOWN, Redactor
from smpmake.reports.document import document
from tests.support.made import S, build, command, keep, ran


def test_a_build_comes_back_as_it_was(tmp_path: Path) -> None:
    failed = ran(1, 1, 2, 4, state="failed", status=1, reads=("/src/a.h",), inputs=("/src/a.c",))
    failed.delay_us = 1234
    record = build(ran(0, 0.5, 1, 3, reads=("/src/a.h", "/src/b.h"), max_rss=77), failed)
    record.stalls = [Stall("cat", "reads", "/src/0.o", 0, 1, -1, 101 * S, 103 * S)]
    record.samples = [Sample(0.5, 0.25, 1 << 30, 1, 2, 3, 4, 0.125, 0.75)]
    record.failures = [Failure(failed, b"boom\xff\n", "exit status 1")]
    record.reported = [Failure(record.commands[0], b"once\n", "exit status 1")]
    record.notices.append("something")
    record.serial, record.memory = 17.5, 1 << 34
    record.driver_started, record.again_us, record.watched = 101 * S, 5, 3
    record.calibration = 0.75
    failed.program, failed.warnings, failed.errors = "/usr/bin/gcc", 2, 1
    failed.said = "a.c:1: error: it was --token=12345\n"
    compiler = Compiler("gcc", "/usr/bin/gcc", "gcc 12", "1:2")
    record.surroundings = Surroundings(
        "host", 'a "CPU"', 4, "Linux 6", "Debian", ("jobs=2", "no-guard"), (compiler,)
    )
    number = keep(tmp_path / "h.db", record)
    back = History(tmp_path / "h.db").load(number)
    assert back is not None
    assert back.complete
    assert [c.reads for c in back.commands] == [("/src/a.h", "/src/b.h"), ("/src/a.h",)]
    assert (back.commands[0].issued, back.commands[0].ended) == (S // 2, 3 * S)
    assert back.commands[1].inputs == ("/src/a.c",)
    assert [c.delay_us for c in back.commands] == [-1, 1234]
    assert [(s.who, s.began, s.ended) for s in back.stalls] == [("cat", S, 3 * S)]
    assert back.samples == record.samples
    assert [(f.record.number, f.output, f.why) for f in back.failures] == [
        (1, b"boom\xff\n", "exit status 1")
    ]
    assert [(f.record.number, f.output) for f in back.reported] == [(0, b"once\n")]
    assert (back.serial, back.memory, back.notices) == (17.5, 1 << 34, ["something"])
    assert (back.driver_started, back.again_us, back.watched) == (S, 5, 3)
    assert back.calibration == 0.75
    one, two = back.commands
    assert (one.program, one.warnings, one.errors, one.said) == ("", -1, -1, "")
    assert (two.program, two.warnings, two.errors) == ("/usr/bin/gcc", 2, 1)
    assert two.said == f"a.c:1: error: it was --token={SHOWN}\n"
    assert back.surroundings == record.surroundings
    assert History(tmp_path / "h.db").compilers() == [compiler]


def test_every_column_comes_back_as_it_was(tmp_path: Path) -> None:
    kinds: dict[str, Any] = {
        **dict.fromkeys(("number", "CPU", "KiB"), 7),
        "time": 101 * S,
        **dict.fromkeys(("text", "printed"), "a text"),
        "flag": True,
        "words": b"gcc\0-c\0",
        "texts": ("/src/b", "/src/a"),
        "paths": ("/src/d", "/src/c"),
    }
    values = {column.name: kinds[column.kind] for column in STORED}
    number = keep(tmp_path / "h.db", build(command_record(values.items())))
    back = History(tmp_path / "h.db").load(number)
    assert back is not None
    times = {column.name: S for column in STORED if column.kind == "time"}
    (found,) = back.commands
    assert {name: getattr(found, name) for name in FIELDS} == values | times


def test_the_history_and_its_version_have_the_columns_of_the_table() -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        tables = shape(connection)
        assert sum(map(len, tables.values())) == VERSION
        assert {name for name, _ in tables["command"]} == {"build", *(c.stored for c in STORED)}
    assert {column.name for column in STORED} == set(FIELDS)


def turned(recorder: Recorder) -> None:
    """Waits until a turn is over."""
    assert recorder._worker is not None
    over = threading.Event()
    recorder._worker.submit(over.set)
    over.wait()


def test_it_is_written_while_the_build_runs(tmp_path: Path) -> None:
    """What a killed build leaves: all up to its last turn, and that it never ended."""
    history = History(tmp_path / "h.db")
    record = build(ran(0, 0, 1, 2), command(1, issued=101 * S, slot=1, started=103 * S))
    record.ended = record.driver_ended = 0
    record.started = time.monotonic_ns() - 5 * S
    recorder = Recorder(history, record, Redactor())
    recorder.turn()
    turned(recorder)
    last = history.last("/src")
    assert last is not None
    assert (last.complete, last.running) == (False, True)
    assert [c.state for c in last.commands] == ["done", ""]
    assert last.ended >= 5 * S
    with history.open() as connection:  # another process has got its number
        connection.execute("update build set pid_start = pid_start - 1")
    (head,) = history.heads()
    assert (head.complete, head.running) == (False, False)
    recorder.end()


def test_a_turn_writes_only_what_changed(tmp_path: Path) -> None:
    history = History(tmp_path / "h.db")
    record = build(ran(0, 0, 1, 2), command(1))
    recorder = Recorder(history, record, Redactor())
    recorder.turn()
    turned(recorder)
    assert [c.number for c in recorder._changed()] == []
    record.commands[1].state = "done"
    record.commands.append(command(2))
    assert [c.number for c in recorder._changed()] == [1, 2]
    assert recorder.end() == 1


def test_two_builds_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    records = [build(*(ran(n, 0, 1, 2) for n in range(50))) for _ in range(8)]
    numbers: list[int] = []
    threads = [
        threading.Thread(target=lambda r=record: numbers.append(keep(path, r)))
        for record in records
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 9))
    for number in numbers:
        back = History(path).load(number)
        assert back is not None
        assert len(back.commands) == 50


def held(path: Path, how: str) -> sqlite3.Connection:
    """Another program, which keeps a history for itself."""
    other = sqlite3.connect(path, isolation_level=None)
    if how == "all":
        other.execute("pragma locking_mode = exclusive")
    other.execute("begin exclusive")
    other.execute("update build set cwd = cwd")
    return other


@pytest.mark.parametrize("how", ["writing", "all"])
def test_a_history_that_another_program_has_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Nobody waits for it at a turn; what was new then is written at the next."""
    path = tmp_path / "h.db"
    keep(path, build())
    monkeypatch.setattr(recording, "_MEANWHILE", 0.0)
    monkeypatch.setattr(recording, "_AT_LAST", 0.0)
    recorders = [Recorder(History(path), build(ran(0, 0, 1, 2)), Redactor()) for _ in range(2)]
    with contextlib.closing(held(path, how)) as other:
        for recorder in recorders:
            recorder.turn()
            turned(recorder)
            assert recorder.fault == ""
        assert recorders[0].end() == 0
        assert recorders[0].fault == f"{path}: another program has it locked"
        with pytest.raises(LockedError):
            History(path, patience=0.0).set_serial(1, 1.0)
        other.execute("rollback")
    assert recorders[1].end() == 2
    last = History(path).last()
    assert last is not None and len(last.commands) == 1


def test_size_bounds_the_history(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    for _ in range(30):
        record = build(*(ran(n, 0, 1, 2, argv=b"x" * 1000) for n in range(40)))
        keep(path, record, size=400_000)
    heads = History(path).heads(limit=100)
    assert 1 < len(heads) < 15
    assert heads[0].id == 30
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for table in ("command", "file"):
            (least,) = connection.execute(f"select min(build) from {table}").fetchone()
            assert least is None or least == heads[-1].id  # nothing of forgotten builds


def test_builds_without_work_are_no_past_to_go_by(tmp_path: Path) -> None:
    """An up-to-date make, or a typo, calls nothing, or only asks its compiler about itself."""
    history = History(tmp_path / "h.db")
    keep(history.path, build(ran(0, 0, 1, 2)))
    for _ in range(10):
        keep(history.path, build())
        keep(history.path, build(command(0, "foreground", reason="query")))
    assert [head.id for head in history.heads(worked=True)] == [1]
    assert [head.id for head in history.heads("/src", worked=True)] == [1]
    assert len(history.heads(limit=100)) == 21
    assert history.past("/src").keys() == {"/src/0.o"}
    assert history.fullest("/src") == 1


def shape(connection: sqlite3.Connection) -> dict[str, list[tuple[str, str]]]:
    tables = [
        name for (name,) in connection.execute("select name from sqlite_master where type='table'")
    ]
    return {
        table: sorted(row[1:3] for row in connection.execute(f"pragma table_info({table})"))
        for table in tables
    }


def test_an_older_history_is_brought_up_to_date(tmp_path: Path) -> None:
    """It lacks columns, a table and an index; what it has stays."""
    path = tmp_path / "h.db"
    keep(path, build(ran(0, 0, 1, 2)))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            alter table build drop column surroundings;
            alter table build drop column watched;
            alter table command drop column warnings;
            drop index stall_build;
            drop table failure;
            """)
        connection.execute(f"pragma user_version = {VERSION - 12}")
        connection.commit()
    last = History(path).last()
    assert last is not None
    assert (last.command, last.commands[0].outputs) == (["make"], ("/src/0.o",))
    assert (last.surroundings, last.watched, last.failures) == (Surroundings(), 0, [])
    assert last.commands[0].warnings == -1
    assert keep(path, build(ran(0, 0, 1, 2))) == 2
    with (
        contextlib.closing(sqlite3.connect(path)) as old,
        contextlib.closing(sqlite3.connect(":memory:")) as new,
    ):
        new.executescript(SCHEMA)
        assert shape(old) == shape(new)


def test_a_newer_history_is_refused_with_its_version(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"pragma user_version = {VERSION + 1}")
    with pytest.raises(HistoryError, match="newer smpmake"):
        History(path).last()


def test_a_damaged_history_is_a_fault_and_no_exception(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    path.write_bytes(b"this is no database, however long it is" * 100)
    recorder = Recorder(History(path), build(), Redactor())
    recorder.turn()
    assert recorder.end() == 0
    assert str(path) in recorder.fault
    assert "move the file away" in recorder.fault


def test_what_commands_took_is_found_by_output(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    away = ran(2, 0, 1, 4, sent=102 * S, user_us=20_000)
    keep(path, build(ran(0, 0, 1, 3, max_rss=500), ran(1, 0, 1, 2), away))
    keep(path, build(ran(0, 0, 1, 2, outputs=("/src/1.o",), max_rss=9)))  # only that was rebuilt
    past = History(path).past("/src")
    assert (past["/src/0.o"].seconds, past["/src/0.o"].max_rss) == (2.0, 500)
    assert (past["/src/1.o"].seconds, past["/src/1.o"].max_rss) == (1.0, 9)
    assert [past[f"/src/{n}.o"].elsewhere for n in range(3)] == [0.0, 0.0, 2.0]
    works = [Forecast(past).work(f"/src/{n}.o") for n in range(4)]
    assert works == [2.0, 1.0, 2.0, None]
    assert History(path).past("/elsewhere") == {}


def test_builds_with_one_slot_calibrate_the_others(tmp_path: Path) -> None:
    """Where CPUs share a core the same compile takes more CPU time beside another one."""
    path = tmp_path / "h.db"
    jobs = [ran(n, 0, 2 * n, 2 * n + 2) for n in range(3)]
    several = build(*(ran(n, 0, 0, 2.5, slot=n) for n in range(3)))
    assert past.calibration(several, History(path)) is None
    single = build(*jobs)
    single.slots = 1
    keep(path, single)
    assert past.calibration(several, History(path)) == pytest.approx(0.8)
    assert past.calibration(single, History(path)) is None
    path.write_bytes(b"this is no database" * 100)
    assert past.calibration(several, History(path)) is None


SECRETS = Redactor(("my_*",), {"DEPLOY_TOKEN": "t0psecret", "HOME": "/home/me", "PASSWORD": "abc"})


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("-DDB_PASSWORD=hunter2", f"-DDB_PASSWORD={SHOWN}"),
        ('-DAPI_KEY="a b c"', f"-DAPI_KEY={SHOWN}"),
        ("--auth-token=xyz", f"--auth-token={SHOWN}"),
        ("MY_THING=5", f"MY_THING={SHOWN}"),
        ("-DKEY=t0psecret", f"-DKEY={SHOWN}"),
        ("https://me:pw@example.org/x", f"https://me:{SHOWN}@example.org/x"),
        ("-DMAX_TOKENS=5", "-DMAX_TOKENS=5"),
        ("-lsecret", "-lsecret"),
        ("passwd.c", "passwd.c"),
        ("-I/home/me", "-I/home/me"),
        ("-Dabc=1", "-Dabc=1"),
    ],
)
def test_secrets_in_arguments(word: str, shown: str) -> None:
    assert SECRETS.argv(f"gcc\0{word}\0-c\0".encode()) == f"gcc\0{shown}\0-c\0".encode()


def test_the_value_of_a_secret_option() -> None:
    assert SECRETS.argv(b"ld\0--password\0hunter2\0x.o\0") == b"ld\0--password\0***\0x.o\0"
    assert SECRETS.argv(b"gcc\0-lsecret\0x.o\0") == b"gcc\0-lsecret\0x.o\0"
    assert SECRETS.argv(b"gcc\0\xff\xfe.c\0") == b"gcc\0\xff\xfe.c\0"


@pytest.mark.parametrize(
    ("pattern", "name"),
    [("my-key", "MY_KEY"), ("my_key", "my-key"), ("*", "x"), ("a[b-d]*e", "ACxE"), ("x?z", "xyz")],
)
def test_names_of_ones_own(pattern: str, name: str) -> None:
    """The quick look at a whole command must not pass over what the pattern means."""
    redactor = Redactor((pattern,))
    assert redactor.argv(f"cc\0-D{name}=1\0x.c".encode()) == f"cc\0-D{name}={SHOWN}\0x.c".encode()
    assert redactor.text(f"a --{name} b") == f"a --{name} {SHOWN}"
    assert redactor.argv(b"cc\0-Dother=1\0x.c") == (
        b"cc\0-Dother=***\0x.c" if pattern == "*" else b"cc\0-Dother=1\0x.c"
    )


def test_nothing_secret_reaches_the_file(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    argv = b"gcc\0-DDB_PASSWORD=hunter2\0-DX=t0psecret\0"
    record = build(ran(0, 0, 1, 2, argv=argv, detail="t0psecret"))
    record.command = ["make", "TOKEN=hunter2"]
    record.failures = [Failure(record.commands[0], b"error near hunter2=1 t0psecret\n", "x")]
    recorder = Recorder(History(path), record, SECRETS)
    recorder.end()
    data = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert b"t0psecret" not in data
    assert b"PASSWORD=hunter2" not in data
    assert b"TOKEN=hunter2" not in data


def _open(path: Path, together: Barrier, faults: SimpleQueue[str]) -> None:
    together.wait()
    try:
        History(path).last()
    except HistoryError as error:
        faults.put(str(error))


@pytest.mark.chaos
def test_first_builds_at_once_make_one_history(tmp_path: Path) -> None:
    """SQLite itself refuses some of them: the file's journal is changed without waiting."""
    context = multiprocessing.get_context("fork")
    together, faults = context.Barrier(6), context.SimpleQueue()
    for round_ in range(10):
        path = tmp_path / f"{round_}" / "h.db"
        processes = [context.Process(target=_open, args=(path, together, faults)) for _ in range(6)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    assert faults.empty(), faults.get()


def test_commands_that_come_while_it_writes(tmp_path: Path) -> None:
    """The server goes on meanwhile: nothing is lost, and nothing is given up."""
    record = build(*(ran(n, 0, 1, 2) for n in range(3)))
    record.stalls = [Stall("cat", "reads", "/src/0.o", 0, 1, -1, 101 * S, 0)]

    class Growing(list[CommandRecord]):
        def __getitem__(self, at: Any) -> Any:
            if len(self) < 6:
                self.append(ran(len(self), 0, 1, 2))
                record.stalls[0].ended = 103 * S
            return super().__getitem__(at)

    record.commands = Growing(record.commands)
    recorder = Recorder(History(tmp_path / "h.db"), record, Redactor())
    recorder.turn()
    number = recorder.end()
    assert not recorder.fault
    back = History(tmp_path / "h.db").load(number)
    assert back is not None
    assert [command.number for command in back.commands] == list(range(6))
    assert [stall.ended for stall in back.stalls] == [3 * S]


@pytest.mark.parametrize("word", ["a" * 200_000, "a." * 100_000, "--" + "x-" * 100_000])
def test_long_words_hold_nobody_up(word: str) -> None:
    """Looked through from word to word, not from every letter (this would take minutes)."""
    redactor = Redactor()
    assert redactor.text(f"{word} PASSWORD=abc =") == f"{word} PASSWORD={SHOWN} ="
    assert redactor.argv(word.encode() + b"\0x=y\0") == word.encode() + b"\0x=y\0"


def test_the_drivers_command_and_notices_are_stored_without_secrets(tmp_path: Path) -> None:
    record = build()
    record.command = ["./b", "--password", "hunter22", "--api-key=a b"]
    record.notices = ["gcc --api-key hunter22 x.c: succeeded"]
    record.cwd = "/src/\udcff"
    number = keep(tmp_path / "h.db", record)
    back = History(tmp_path / "h.db").load(number)
    assert back is not None
    assert back.command == ["./b", "--password", SHOWN, f"--api-key={SHOWN}"]
    assert back.notices == [f"gcc --api-key {SHOWN} x.c: succeeded"]
    assert [head.id for head in History(tmp_path / "h.db").heads("/src/\udcff")] == [number]


NESTED = "[" * 5000
NUMBERS = ("x", None, 0, -1, 1 << 62, float("inf"), 1e308)
TEXTS = (
    *(None, b"x", "x", "[1]", "{}", '{"a": 1}', NESTED),
    *('{"host": [1]}', '{"compilers": [{"name": 1, "path": 2, "version": 3}]}'),
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A history that has something in each table."""
    record = build(ran(0, 0, 1, 2, reads=("/src/x.h",)), ran(1, 0, 1, 3), ran(2, 1, 3, 9))
    record.stalls = [Stall("make", "reads", "/src/0.o", 0, 1, -1, 101 * S, 102 * S)]
    record.samples = [Sample(1.0, 0.5, 100, 1, 1, 0), Sample(2.0, 0.5, 100, 1, 1, 0)]
    record.failures = [Failure(record.commands[0], b"x", "exit status 1")]
    record.surroundings = Surroundings("h", "c", 2, compilers=(Compiler("gcc", "/bin/gcc", "1"),))
    single = build(ran(0, 0, 1, 2))
    single.slots = 1
    path = tmp_path_factory.mktemp("kept") / "h.db"
    for each in (record, single):
        keep(path, each)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma journal_mode = delete")
    return path.read_bytes()


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, columns in TYPES.items() for column in columns]
)
def test_whatever_a_value_is_it_is_no_exception(
    tmp_path: Path, kept: bytes, table: str, column: str
) -> None:
    path = tmp_path / "h.db"
    for value in TEXTS if TYPES[table][column].startswith(("text", "blob")) else NUMBERS:
        path.write_bytes(kept)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            with contextlib.suppress(sqlite3.Error):
                connection.execute(f"update {table} set {column} = ?", (value,))
            connection.commit()
        history = History(path)
        past.with_sequel(past.of_commands("/src", history), "/src", history)
        past.calibration(build(ran(0, 0, 1, 2)), history)
        with contextlib.suppress(HistoryError):
            history.heads()
        with contextlib.suppress(HistoryError):
            record = history.load(1)
            assert record is None or document(record)
