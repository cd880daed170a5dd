"""Results of other machines: what a server has is given back, and whatever is wrong is a miss."""

from __future__ import annotations

import base64
import hashlib
import os
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import pytest

from smpmake import native, variables
from smpmake.options import BY_NAME
from smpmake.protocol import layout
from smpmake.session import memo, memo_http, memo_remote
from smpmake.session.action_result import Digest, entries_of, message
from smpmake.session.memo_remote import Exchanged, Remote
from tests.support import needs
from tests.support.remembered import (
    BOOT,
    FACTS,
    NEEDS_A_GUARD,
    SIZE,
    STATUS,
    SUM,
    Ran,
    Remembered,
    seal,
    settle,
)
from tests.support.results_server import Reply, ResultsServer

COMPILE: Final = ("gcc", "-c", "conftest.c")
_OUTPUT: Final = struct.Struct("6I")  # struct memo_output
_WAS_THERE, _REMOVED = 1, 2
OK: Final = Ran(0, b"", b"")


class Machines:
    """Computers with one folder of the same name and content, each with a store of its own."""

    def __init__(self, root: Path, server: ResultsServer) -> None:
        self._root = root
        self.server = server
        self._opened = ExitStack()
        self._count = 0
        self.folder = root / "same"
        self.folder.mkdir()

    def session(
        self,
        machine: str,
        url: str = "",
        *,
        pushes: bool = False,
        guarded: bool = NEEDS_A_GUARD,
    ) -> tuple[Remembered, Remote]:
        """A session of one; its store stays."""
        self._count += 1
        store = self._root / machine
        one = Remembered(self._root / f"s{self._count}", store, guarded=guarded)
        one.folder = self.folder
        remote = Remote(url or self.server.url, one.session, store, pushes=pushes)
        self._opened.callback(one.close)
        self._opened.callback(remote.close)
        return one, remote

    def fill(self, *command: str, text: str = "int a;\n") -> dict[str, str | bytes]:
        """The first machine runs a command, and tells the server; what it has made."""
        (self.folder / "conftest.c").write_text(text)
        settle(self.folder)
        one, remote = self.session("first", pushes=True)
        ran = one.run(*(command or COMPILE))
        assert one.told.stored == 1, (one.told, ran)
        assert remote.close().errors == 0, remote.notices()
        return one.tree()

    def again(
        self, *command: str, machine: str = "second", url: str = ""
    ) -> tuple[Ran, Remembered, Exchanged]:
        """The same on another machine, where nothing is made yet."""
        for path in self.folder.glob("*.o"):
            path.unlink()
        one, remote = self.session(machine, url)
        ran = one.run(*(command or COMPILE))
        return ran, one, remote.close()

    def close(self) -> None:
        self._opened.close()


@pytest.fixture
def machines(tmp_path: Path, server: ResultsServer) -> Iterator[Machines]:
    made = Machines(tmp_path, server)
    yield made
    made.close()


def test_another_machine_has_the_result(machines: Machines) -> None:
    made = machines.fill()
    ran, one, exchanged = machines.again()
    assert (ran, one.tree()) == (OK, made)
    assert (one.told.hits, one.told.remote, +one.told.misses) == (1, 1, {}), one.told
    assert (exchanged.asked, exchanged.errors) == (1, 0)


@pytest.mark.parametrize("guarded", [True, False])
def test_another_run_of_a_ci_asks_the_same(machines: Machines, *, guarded: bool) -> None:
    """Its variables say which run it is, and on which machine."""
    (machines.folder / "conftest.c").write_text("int a;\n")
    settle(machines.folder)
    one, remote = machines.session("first", pushes=True, guarded=guarded or NEEDS_A_GUARD)
    one.run(*COMPILE, env={"GITHUB_RUN_ID": "1", "CI_JOB_ID": "2", "HOSTNAME": "a"})
    remote.close()
    (machines.folder / "conftest.o").unlink()
    one, _ = machines.session("second", guarded=guarded or NEEDS_A_GUARD)
    one.run(*COMPILE, env={"GITHUB_RUN_ID": "3", "HOSTNAME": "b"})
    assert one.told.remote == 1


def test_values_of_variables_are_shared_by_their_hashes(machines: Machines) -> None:
    (machines.folder / "conftest.c").write_text("int a;\n")
    settle(machines.folder)
    for value, machine, remote in (("a-secret", "1", 0), ("a-secret", "2", 1), ("other", "3", 0)):
        (machines.folder / "conftest.o").unlink(missing_ok=True)
        one, talks = machines.session(machine, pushes=True, guarded=True)
        env = {"TERM": value, "BUILD_ID": machine}
        assert one.run(*COMPILE, env=env) == OK
        assert talks.close().asked == 1
        assert one.told.remote == remote
    held = b"".join(machines.server.held.values())
    assert b"TERM" in held
    assert b"a-secret" not in held


def test_the_same_smpmake_asks_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever it was installed; another one has other questions."""
    program = tmp_path / "smpmake-memo"
    program.write_bytes(b"one")
    monkeypatch.setattr(native, "program", lambda name: str(program))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def build() -> str:
        return memo.prepare("on", tmp_path, 1 << 30)[variables.MEMO].split(":")[4]

    first = build()
    os.utime(program, (1, 1))
    assert build() == first
    program.write_bytes(b"two")
    assert build() != first


BIG: Final = f"int a[20000] = {{{','.join(map(str, range(20000)))}}};\n"
#: Of 3 MB, more than fits into a socket's buffers.
HUGE: Final = "char a[3000000] = {1};\n"


@pytest.mark.parametrize("text", [BIG, HUGE])
def test_contents_lie_beside_the_entries(machines: Machines, text: str) -> None:
    made = machines.fill(text=text)
    assert (len(machines.server.names("cas")), len(machines.server.names("ac"))) == (2, 1)
    ran, one, exchanged = machines.again()
    assert (ran, one.tree(), one.told.remote) == (OK, made, 1)
    assert exchanged.received > len(one.tree()["conftest.o"]) - 10
    before = len(machines.server.asked)
    _, one, exchanged = machines.again()  # now it is here
    assert (one.told.hits, one.told.remote, exchanged.asked) == (1, 0, 0)
    assert len(machines.server.asked) == before


def test_a_content_that_was_cleaned_away_is_fetched_again(machines: Machines) -> None:
    made = machines.fill(text=BIG)
    machines.again()
    _, one, _ = machines.again()
    for path in (one.store / "c").rglob("*"):
        if path.is_file():
            path.unlink()
    ran, one, exchanged = machines.again()
    assert (ran, one.tree()) == (OK, made)
    assert (one.told.hits, one.told.remote, +one.told.misses) == (1, 1, {}), one.told
    assert exchanged.asked == 0  # the question was answered here


def test_what_is_otherwise_there_is_a_miss(machines: Machines) -> None:
    """A header, and then a name that the first machine looked for in vain."""
    header, other = machines.folder / "h.h", machines.folder / "a" / "h.h"
    command = ("gcc", "-c", "-Ia", "-I.", "conftest.c")
    (machines.folder / "a").mkdir()
    header.write_text("int h;\n")
    machines.fill(*command, text='#include "h.h"\n#include <h.h>\n')
    header.write_text("int i;\n")
    settle(machines.folder)
    ran, one, exchanged = machines.again(*command)
    assert (ran, one.told.hits, one.told.stored, exchanged.asked) == (OK, 0, 1, 1)
    header.write_text("int h;\n")
    settle(machines.folder)
    _, one, _ = machines.again(*command)
    assert one.told.hits == 1  # which had come from the first machine all the same
    other.write_text("int h;\n")
    settle(machines.folder)
    ran, one, _ = machines.again(*command, machine="third")
    assert (ran, one.told.hits, one.told.stored) == (OK, 0, 1), one.told


def test_stamps_of_another_machine_are_not_believed(machines: Machines) -> None:
    """A header of the very size and times, and another content."""
    header = machines.folder / "h.h"
    header.write_text("int h;\n")
    machines.fill(text='#include "h.h"\n')
    _, one, _ = machines.again()
    (entry,) = one.entries()
    assert entry.read_bytes()[BOOT] == bytes(16)
    assert one.told.remote == 1
    was = header.stat()
    header.write_text("int i;\n")
    os.utime(header, ns=(was.st_atime_ns, was.st_mtime_ns))
    settle(machines.folder)
    _, one, _ = machines.again(machine="third")
    assert one.told.hits == 0


def test_both_machines_results_stay_on_the_server(machines: Machines) -> None:
    """Who has fetched what does not hold here sends it back with its own."""
    header = machines.folder / "h.h"
    header.write_text("int h;\n")
    machines.fill(text='#include "h.h"\n')
    header.write_text("int i;\n")
    settle(machines.folder)
    (machines.folder / "conftest.o").unlink()
    one, remote = machines.session("second", pushes=True)
    one.run(*COMPILE)
    assert remote.close().stored == 1
    for text in ("int h;\n", "int i;\n"):
        header.write_text(text)
        settle(machines.folder)
        _, one, _ = machines.again(machine=f"third {text[4]}")
        assert one.told.remote == 1, text


# ---------------------------------------------------------------------- faults of the server


def other_bytes(method: str, path: str) -> Reply | None:
    return Reply(200, b"MEMO" * 5000) if path.startswith("cas/") else None


def garbage(method: str, path: str) -> Reply | None:
    return Reply(200, b"\x0a\xff\xff\xff\xff\xff garbage") if path.startswith("ac/") else None


def empty(method: str, path: str) -> Reply | None:
    return Reply(200, b"")


def too_large(method: str, path: str) -> Reply | None:
    return Reply(200, bytes(2 << 20)) if path.startswith("ac/") else None


def cut(method: str, path: str) -> Reply | None:
    return Reply(200, b"MEMO", length=50000)


def broken(method: str, path: str) -> Reply | None:
    return Reply(500)


def redirect(method: str, path: str) -> Reply | None:
    return Reply(302, headers=(("Location", "/elsewhere/" + path),))


def unauthorized(method: str, path: str) -> Reply | None:
    return Reply(401, headers=(("WWW-Authenticate", 'Basic realm="results"'),))


def endless(method: str, path: str) -> Reply | None:
    """Of so many bytes nobody has room for."""
    return Reply(200, message(Digest("ab" * 32, 1 << 50), [])) if path.startswith("ac/") else None


FAULTS: Final = (
    endless,
    other_bytes,
    garbage,
    empty,
    too_large,
    cut,
    broken,
    redirect,
    unauthorized,
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault.__name__))
def test_whatever_is_wrong_is_a_miss(
    machines: Machines, fault: Callable[[str, str], Reply | None]
) -> None:
    made = machines.fill(text=BIG)
    machines.server.instead = fault
    for turn in range(4):
        ran, one, exchanged = machines.again(machine=f"second {turn}")
        assert (ran, one.tree()) == (OK, made)
        assert (one.told.hits, one.told.stored) == (0, 1), one.told
        assert exchanged.errors == 1
    assert not any(path.startswith("/elsewhere") for _, path in machines.server.asked)
    machines.server.instead = lambda method, path: None
    _, one, _ = machines.again(machine="third")
    assert one.told.remote == 1


def test_a_server_that_has_gone_is_a_miss(machines: Machines) -> None:
    made = machines.fill()
    machines.server.close()
    ran, one, exchanged = machines.again()
    assert (ran, one.tree(), exchanged.errors) == (OK, made, 1)


def test_contents_that_have_gone_are_a_miss(machines: Machines) -> None:
    """As where a server that knows nothing of results has cleaned up."""
    made = machines.fill(text=BIG)
    for name in machines.server.names("cas"):
        del machines.server.held[f"cas/{name}"]
    ran, one, exchanged = machines.again()
    assert (ran, one.tree(), one.told.hits, exchanged.errors) == (OK, made, 0, 0)


def test_a_connection_that_was_closed_is_opened_again(machines: Machines) -> None:
    """Servers close what nobody uses, and the next request finds that out."""
    machines.fill(text=BIG)
    machines.server.closes_after = 1
    _, one, exchanged = machines.again()
    assert (one.told.remote, exchanged.errors) == (1, 0)


def test_three_faults_are_enough(machines: Machines) -> None:
    machines.fill()
    machines.server.instead = broken
    one, remote = machines.session("second")
    before = len(machines.server.asked)
    for turn in range(5):
        (machines.folder / f"conftest{turn}.c").write_text("int a;\n")
        settle(machines.folder)
        one.run("gcc", "-c", f"conftest{turn}.c")
    assert len(machines.server.asked) - before == 3
    assert one.told.stored == 5
    (notice,) = remote.notices()
    assert "500 Internal Server Error" in notice


def test_a_server_that_hangs_is_left_alone(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answers never come; three threads wait for them, and the fourth asks nothing."""
    monkeypatch.setattr(memo_remote, "_PATIENCE", 0.0)
    one, remote = machines.session("second")
    hung, came = threading.Event(), threading.Semaphore(0)

    def hang(server: memo_http.Server, key: str) -> None:
        came.release()
        hung.wait(60)

    monkeypatch.setattr(memo_http.Server, "entries", hang)
    asked = [find(one.session) for _ in range(3)]
    assert all(came.acquire(timeout=60) for _ in asked)
    last = find(one.session)
    last.settimeout(60)
    assert last.recv(1) == b""
    assert not (one.session / "remote").exists()
    assert "2 s" in remote.notices()[0]
    hung.set()
    for each in (*asked, last):
        each.close()


def find(session: Path) -> socket.socket:
    """Asks for a question, as smpmake-memo does."""
    made = socket.socket(socket.AF_UNIX)
    made.connect(str(session / "remote"))
    made.sendall(layout.REMOTE_ASK_LAYOUT.pack(layout.REMOTE_FIND, 0, 0, 0, bytes(32), b"gcc"))
    return made


def test_a_command_does_not_wait_for_long(machines: Machines) -> None:
    """The session itself does not answer: nobody accepts."""
    machines.fill()
    for path in machines.folder.glob("*.o"):
        path.unlink()
    one, remote = machines.session("second")
    remote.close()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(one.session / "remote"))
        listener.listen()
        began = time.monotonic()
        assert one.run(*COMPILE) == OK
        assert time.monotonic() - began < 30  # it waits 2 s
    assert (one.told.hits, one.told.stored) == (0, 1)


# ---------------------------------------------------------------------- what is not believed


def test_failures_are_not_shared(machines: Machines) -> None:
    (machines.folder / "conftest.c").write_text("int main(void) { return oops; }\n")
    settle(machines.folder)
    one, remote = machines.session("first", pushes=True)
    assert one.run(*COMPILE).status == 1
    assert one.told.stored == 1
    assert remote.close().stored == 0
    assert machines.server.held == {}


def forged(machines: Machines, change: Callable[[bytearray], None]) -> None:
    """The server's one entry says something else."""
    server = machines.server
    (key,) = server.names("ac")
    data = bytearray(server.held[f"cas/{entries_of(server.held[f'ac/{key}']).hash}"])
    change(data)
    seal(data)
    fresh = Digest(hashlib.sha256(data).hexdigest(), len(data))
    server.held[f"cas/{fresh.hash}"] = bytes(data)
    server.held[f"ac/{key}"] = message(fresh, [])


def fail(data: bytearray) -> None:
    data[STATUS] = (1).to_bytes(4, "little")


def other_key(data: bytearray) -> None:
    data[8:40] = bytes(32)


def set_mode(mode: int) -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        at = data.index(b"conftest.o\0", data.rindex(b"conftest.o\0") - 40) - 12
        assert int.from_bytes(data[at : at + 4], "little") & 0o7777 == 0o644
        data[at : at + 4] = mode.to_bytes(4, "little")

    return change


def rename(name: bytes) -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        at = data.rindex(b"conftest.o\0")
        data[at : at + len(b"conftest.o")] = name.ljust(len(b"conftest.o"), b"\0")

    return change


FORGERIES: Final = {
    "a failure": fail,
    "of another question": other_key,
    "setuid": set_mode(0o104755),
    "setgid": set_mode(0o102755),
    "a device": set_mode(0o020666),
    "above": rename(b"../x"),
    "above by way of below": rename(b"a/../../x"),
    "elsewhere": rename(b"/tmp/x.o"),
    "nowhere": rename(b""),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_nobody_should_say_is_not_believed(machines: Machines, name: str) -> None:
    made = machines.fill()
    above = set(machines.folder.parent.iterdir())
    forged(machines, FORGERIES[name])
    ran, one, exchanged = machines.again()
    assert (ran, one.tree()) == (OK, made)
    assert (one.told.hits, one.told.stored, exchanged.asked) == (0, 1, 1), one.told
    assert {path.name for path in set(machines.folder.parent.iterdir()) - above} <= {
        *("second", "s2")
    }


def remove(name: bytes) -> Callable[[bytearray], None]:
    """Of the entry's one output: another file has been there, and has gone."""

    def change(data: bytearray) -> None:
        at = data.rindex(b"conftest.o\0") - _OUTPUT.size
        size, *_ = _OUTPUT.unpack_from(data, at)
        blob = int.from_bytes(data[at + size : at + size + 4], "little")
        path = name + b"\0"
        padded = (_OUTPUT.size + len(path) + 7) // 8 * 8
        fresh = _OUTPUT.pack(padded, _WAS_THERE | _REMOVED, 0o100644, 0, len(path), 0) + path
        data[at : at + size + blob] = fresh.ljust(padded, b"\0")
        data[SIZE] = (len(data) - SIZE.start).to_bytes(4, "little")

    return change


def lead_out(machines: Machines, tmp_path: Path) -> Path:
    """Links in the folder by which somebody could leave it; where they lead."""
    outside = tmp_path / "outside"
    (outside / "e").mkdir(parents=True)
    (outside / "keep").write_text("kept")
    (outside / "keep").chmod(0o644)
    (machines.folder / "lnk").symlink_to("../outside")
    (machines.folder / "far").symlink_to(outside)
    (machines.folder / "d").mkdir()
    (machines.folder / "d" / "e").symlink_to("../lnk/e")
    return outside


def is_as_it_was(outside: Path) -> bool:
    names = sorted(str(path.relative_to(outside)) for path in outside.rglob("*"))
    return names == ["e", "keep"] and (outside / "keep").read_text() == "kept"


LEADING_OUT: Final = {
    "made": rename(b"lnk/evil"),
    "made by an absolute link": rename(b"far/evil"),
    "made further below": rename(b"d/e/evil"),
    "made behind a dot": rename(b"./lnk/x.o"),
    "removed": remove(b"lnk/keep"),
    "removed further below": remove(b"d/../lnk/keep"),
}


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("name", LEADING_OUT)
def test_no_server_leaves_the_folder_by_a_link(
    machines: Machines, tmp_path: Path, name: str, *, guarded: bool
) -> None:
    outside = lead_out(machines, tmp_path)
    made = machines.fill()
    forged(machines, LEADING_OUT[name])
    (machines.folder / "conftest.o").unlink()
    one, remote = machines.session("second", guarded=guarded or NEEDS_A_GUARD)
    ran = one.run(*COMPILE)
    assert is_as_it_was(outside)
    assert (ran, one.tree()) == (OK, made)
    assert (one.told.hits, one.told.stored, remote.close().asked) == (0, 1, 1), one.told


def test_a_forgery_that_removes_may_be_believed(machines: Machines) -> None:
    machines.fill()
    forged(machines, remove(b"d/keep"))
    (machines.folder / "d").mkdir()
    (machines.folder / "d" / "keep").write_text("kept")
    (machines.folder / "d" / "keep").chmod(0o644)
    ran, one, _ = machines.again()
    assert (ran, one.told.remote) == (OK, 1)
    assert list((machines.folder / "d").iterdir()) == []


def no_facts(data: bytearray) -> None:
    end = SIZE.start + 48
    for _ in range(int.from_bytes(data[FACTS], "little")):
        end += int.from_bytes(data[end : end + 4], "little")
    del data[SIZE.start + 48 : end]
    data[FACTS] = bytes(4)
    data[SIZE] = (len(data) - SIZE.start).to_bytes(4, "little")


def test_what_nobody_has_observed_is_no_result(machines: Machines) -> None:
    """It would hold for every question."""
    made = machines.fill()
    forged(machines, no_facts)
    ran, one, _ = machines.again()
    assert (ran, one.tree(), one.told.hits, one.told.stored) == (OK, made, 0, 1)


def test_a_forgery_that_may_be_is_believed(machines: Machines) -> None:
    """Or the tests above would show nothing."""
    machines.fill()
    forged(machines, rename(b"b/x.o"))
    (machines.folder / "b").mkdir()
    ran, one, _ = machines.again()
    assert (ran, one.told.remote) == (OK, 1)
    assert (machines.folder / "b" / "x.o").exists()


@pytest.mark.parametrize("words", [("-o", "PATH"), ("-oPATH",)])
def test_names_in_words_may_lie_elsewhere(
    machines: Machines, tmp_path: Path, words: tuple[str, ...]
) -> None:
    away = tmp_path / "away.o"
    command = (*COMPILE, *(word.replace("PATH", str(away)) for word in words))
    machines.fill(*command)
    made = away.read_bytes()
    away.unlink()
    ran, one, _ = machines.again(*command)
    assert (ran, one.told.remote, away.read_bytes()) == (OK, 1, made)


def test_what_lies_on_another_computer_is_no_fact_here(machines: Machines) -> None:
    """The same header on a file system that smpmake does not know."""
    needs.require_mounts()
    far = machines.folder / "far"
    far.mkdir()
    (far / "x.h").write_text("#define X 1\n")
    mount = "mount -t ramfs none far && echo '#define X 1' > far/x.h && "
    in_place = ("unshare", "-m", "sh", "-c", "exec gcc -c conftest.c -Ifar")
    machines.fill(*in_place, text='#include "x.h"\nint x = X;\n')
    ran, one, exchanged = machines.again(*in_place[:-1], mount + in_place[-1])
    assert (ran, one.told.hits, exchanged.asked, exchanged.errors) == (OK, 0, 1, 0)
    _, one, _ = machines.again(*in_place, machine="third")
    assert one.told.remote == 1


@pytest.mark.parametrize("seed", range(8))
def test_nothing_that_a_server_says_is_a_fault(
    machines: Machines, tmp_path: Path, seed: int
) -> None:
    """Bytes here and there are others, in an entry whose sums are right; folders are links."""
    outside = lead_out(machines, tmp_path)
    made = machines.fill()
    chance = random.Random(seed)
    usual = dict(machines.server.held)

    def change(data: bytearray) -> None:
        if chance.random() < 0.5:
            LEADING_OUT[chance.choice(list(LEADING_OUT))](data)
        head, text = SUM.stop + 24, len(data)
        for _ in range(chance.choice((1, 2, 8))):
            at = chance.choice((chance.randrange(40, SUM.start), chance.randrange(head, text)))
            size = chance.choice((1, 4))
            value = chance.choice((0, 1, 7, 8, 0x7FFFFFF8, 0xFFFFFFFF, chance.randrange(1 << 32)))
            data[at : at + size] = value.to_bytes(4, "little")[:size]

    for turn in range(8):
        machines.server.held = dict(usual)
        forged(machines, change)
        ran, one, _ = machines.again(machine=f"second {turn}")
        assert is_as_it_was(outside)
        assert (ran.status, [each for each in one.tree() if each.startswith(".")]) == (0, [])
        if one.told.hits == 0:
            assert (ran, one.tree()) == (OK, made)


# ---------------------------------------------------------------------- addresses


@pytest.mark.parametrize("login", ["me:pass%20word@", ""])
def test_a_login_is_of_the_address_or_of_netrc(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, login: str
) -> None:
    machines.fill()
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password pass\\ word\n")
    (tmp_path / ".netrc").chmod(0o600)
    url = machines.server.url.replace("//", f"//{login}")
    machines.again(url=url)
    assert machines.server.headers["Authorization"] == (
        "Basic " + base64.b64encode(b"me:pass word").decode()
    )
    monkeypatch.setenv("HOME", "/nowhere")


def test_a_proxy_is_asked(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = machines.server.url.removesuffix("/results").replace("//", "//p:q@")
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server = memo_http.Server(memo_http.Address("http://far.example/results"), 30)
    assert server.entries("ab" * 32) is None
    server.close()
    assert machines.server.asked[-1] == ("GET", f"http://far.example/results/ac/{'ab' * 32}")
    assert machines.server.headers["Proxy-Authorization"] == "Basic cDpx"
    assert machines.server.headers["Host"] == "far.example"


@pytest.mark.parametrize(
    "address",
    [
        *("off", "http://x", "https://me:pass%20word@cache.example.org:8443/a/b~c/"),
        *("http://[::1]:8080/x", "http://10.0.0.1/"),
    ],
)
def test_addresses_are_taken(address: str) -> None:
    assert BY_NAME["memo_remote"].from_text(address) == address
    memo_http.Address(address)


# ---------------------------------------------------------------------- what is worth it


def test_a_distant_server_is_asked_for_what_takes_long() -> None:
    worth = memo_remote.Worth()
    for _ in range(20):
        assert worth.has(b"gcc-c check")
        worth.took(b"gcc-c check", 30_000)
        worth.took(b"gcc-c", 700_000)
        worth.answered(0.001)
    for _ in range(40):
        worth.answered(0.020)
    assert not worth.has(b"gcc-c check")
    assert worth.has(b"gcc-c")
    assert worth.has(b"g++-c")  # of which nobody knows anything


def test_results_that_wait_too_long_are_dropped(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a session's end a server that takes nothing has a moment, and no more."""
    monkeypatch.setattr(memo_remote, "_AT_THE_END", 0.0)
    taken, hung = threading.Event(), threading.Event()

    def hang(method: str, path: str) -> Reply | None:
        if method == "PUT":
            taken.set()
            hung.wait(60)
        return None

    machines.server.instead = hang
    one, remote = machines.session("first", pushes=True)
    for name in "abc":
        (machines.folder / f"conftest{name}.c").write_text("int a;\n")
    settle(machines.folder)
    for name in "abc":
        one.run("gcc", "-c", f"conftest{name}.c")
    assert taken.wait(60)
    exchanged = remote.close()
    assert (exchanged.stored, exchanged.dropped) == (0, 3)
    hung.set()


def test_nothing_is_sent_unless_that_is_wanted(machines: Machines) -> None:
    (machines.folder / "conftest.c").write_text("int a;\n")
    settle(machines.folder)
    one, remote = machines.session("first")
    one.run(*COMPILE)
    assert one.told.stored == 1
    assert remote.close().asked == 1
    assert {method for method, _ in machines.server.asked} == {"GET"}


def test_a_server_that_trickles_is_hung_up_on(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte comes in time, and the answer never does: no thread waits for that."""
    monkeypatch.setattr(memo_remote, "_PATIENCE", 0.2)
    gone = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def trickle() -> None:
            with suppress(OSError), listener.accept()[0] as connection:
                for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 5000:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.01)
            gone.set()

        threading.Thread(target=trickle, daemon=True).start()
        one, remote = machines.session("second", f"http://127.0.0.1:{listener.getsockname()[1]}")
        with find(one.session) as asked:
            asked.settimeout(60)
            assert asked.recv(1) == b""
        assert gone.wait(60)
        assert remote.close().errors == 1
