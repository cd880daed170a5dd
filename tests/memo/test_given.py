"""Results that shims give back while nothing is pending, of which the server hears afterwards."""

from __future__ import annotations

import json
from typing import Any

import pytest

from smpmake.protocol import frames, layout, wire
from smpmake.protocol.wire import FileId, Given, Invoke
from tests.memo.test_jobs import FILES, build
from tests.support.remembered import settle
from tests.support.space import Space

#: A command, lines as automake has them, and one that a compiler does not begin.
LINES = """\
all: first.o a.o b.o c.o
first.o: first.c
	gcc -c first.c
a.o b.o: %.o: %.c
	gcc -MD -MF $*.Tpo -c -o $@ $< && mv -f $*.Tpo $*.Po
c.o: c.c
	x=1; gcc -DX=$$x -c -o $@ $<
"""


#: What the makefile's first goal needs until its archive is indexed, which is a worker's.
BEFORE = ("one.o", "a.o", "b.o", "c.o", "d.o", "e.o", "libx.a")


NAMES = ("first", "a", "b", "c")


def commands(space: Space) -> list[dict[str, Any]]:
    """The last build's, as its report has them."""
    report: dict[str, Any] = json.loads(space.smpmake("report", "--json").out)
    return sorted(report["commands"], key=lambda each: each["outputs"])


def took_a_worker(command: dict[str, Any]) -> bool:
    """A worker tells how much memory a job had."""
    return bool(command["max_rss_bytes"])


@pytest.fixture
def first(space: Space) -> list[dict[str, Any]]:
    """The commands of a build whose results are remembered; it has been cleaned."""
    space.write(FILES)
    build(space, hits=0)
    found = commands(space)
    space.ok("make", "clean")
    return found


def test_they_stand_in_the_record_as_if_they_had_run(
    space: Space, first: list[dict[str, Any]]
) -> None:
    space.smpmake("export", "compile-commands", "first.json")
    build(space, hits=len(first))
    again = commands(space)
    same = ("outputs", "command", "cwd", "kind", "tool", "verdict", "status", "state", "program")
    assert [[c[name] for name in same] for c in again] == [
        [c[name] for name in same] for c in first
    ]
    names = {c["outputs"][0].rpartition("/")[2]: c for c in again if c["tool"] != "ranlib"}
    before = [names[name] for name in BEFORE]
    assert not any(map(took_a_worker, before))  # and what comes behind a worker's may take one
    assert all(map(took_a_worker, (c for c in first if c["kind"] == "compile")))
    space.smpmake("export", "compile-commands", "again.json")
    tree = space.tree()
    assert tree["again.json"] == tree["first.json"]


def test_what_they_read_is_known(space: Space, first: list[dict[str, Any]]) -> None:
    def headers() -> list[str]:
        report = json.loads(space.smpmake("report", "--json").out)
        return sorted(header["name"] for header in report["headers"])

    known = headers()
    assert known
    build(space, hits=len(first))
    assert headers() == known


def test_a_line_that_a_compiler_begins(space: Space) -> None:
    files = {"Makefile": LINES, **{f"{name}.c": f"int {name};\n" for name in NAMES}}
    space.write(files)
    build(space, hits=0)
    space.ok("sh", "-c", "rm -f *.o *.Po")
    build(space, hits=len(NAMES))
    found = {
        c["outputs"][0].rpartition("/")[2]: c for c in commands(space) if c["kind"] == "compile"
    }
    assert [name for name in found if took_a_worker(found[name])] == ["c.o"]
    assert found["b.o"]["command"].startswith("gcc -MD")


def test_one_that_has_none_is_a_job_again(space: Space, first: list[dict[str, Any]]) -> None:
    del first
    space.write({"b.c": "int b;\n"})
    settle(space.folder)
    build(space, hits=9)  # nor has the program
    assert took_a_worker(next(c for c in commands(space) if c["outputs"][0].endswith("/b.o")))


#: Commands that read what no word of theirs names.
READING = """\
all: first
	cat foo.s | as -o x.o
	ar -M < script
first:
	as -o x.o < /dev/null
	ar -M < /dev/null
"""


def test_what_reads_its_input_is_for_the_server(space: Space) -> None:
    files = {"foo.s": ".globl x\nx: .long 1\n", "m.c": "int m;\n", "Makefile": READING}
    files["script"] = "create libm.a\naddmod m.o\nsave\nend\n"
    space.write(files)
    space.ok("gcc", "-c", "m.c")
    for _ in range(3):
        space.ok("sh", "-c", "rm -f x.o libm.a")
        space.smpmake("--memo=on", "make")
        assert "libm.a" in space.tree()
        assert " x" in space.ok("nm", "x.o").out


SOME = Given(
    Invoke(
        7, 0o22, FileId(1, 2), FileId(3, 4), "gcc", b"/usr/bin/gcc", b"/x", "b", b"gcc\0", b"", b""
    ),
    ("x.h", "/y/z.h"),
    *(1, 2, 3, 4),
)


def test_what_is_encoded_is_decoded() -> None:
    ((kind, payload),) = list(frames.Splitter().feed(wire.encode_given(SOME)))
    found = wire.decode_given(payload)
    assert kind == layout.WIRE_GIVEN
    assert found[1:] == SOME[1:]
    assert all(getattr(found.invoke, n) == getattr(SOME.invoke, n) for n in Invoke.__slots__)


@pytest.mark.parametrize("size", [0, 10, 47, 50, 58, 70])
def test_what_is_cut_is_refused(size: int) -> None:
    ((_, payload),) = frames.Splitter().feed(wire.encode_given(SOME))
    with pytest.raises(frames.WireError):
        wire.decode_given(payload[:size])
