"""The table of hazards, against an oracle: the order of the serial build."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smpmake.schedule.hazards import Hazards
from smpmake.schedule.job import Job, Mode, Operands
from smpmake.schedule.names import is_product


def job(number: int, operands: Operands, issued_ns: int = 0) -> Job:
    return Job(number, "b", Mode.DEFERRED, operands, issued_ns=issued_ns)


def test_read_after_write() -> None:
    table = Hazards()
    writer, reader = job(0, Operands(writes=("/a.o",))), job(1, Operands(reads=("/a.o",)))
    assert table.enter(writer) == set()
    assert table.enter(reader) == {writer}


def test_write_after_read_and_write() -> None:
    table = Hazards()
    first = job(0, Operands(writes=("/a.o",)))
    reader = job(1, Operands(reads=("/a.o",)))
    second = job(2, Operands(writes=("/a.o",)))
    table.enter(first)
    table.enter(reader)
    assert table.enter(second) == {first, reader}


def test_unrelated_commands_do_not_wait() -> None:
    table = Hazards()
    compiling = Operands(undeclared=True, compiles=True, objects=True)
    table.enter(job(0, compiling._replace(reads=("/a.c",), writes=("/a.o",))))
    other = compiling._replace(reads=("/b.c",), writes=("/b.o",))
    assert table.enter(job(1, other)) == set()


def test_two_readers_share_a_file() -> None:
    table = Hazards()
    table.enter(job(0, Operands(reads=("/a.c",))))
    assert table.enter(job(1, Operands(reads=("/a.c",)))) == set()


def test_a_barrier_waits_for_everything() -> None:
    table = Hazards()
    jobs = [job(n, Operands(writes=(f"/{n}.o",))) for n in range(3)]
    for one in jobs:
        table.enter(one)
    assert table.enter(job(9, Operands(everything=True))) == set(jobs)


def test_an_earlier_writer_counts_when_a_later_one_was_cancelled() -> None:
    table = Hazards()
    first, second = job(0, Operands(writes=("/a.o",))), job(1, Operands(writes=("/a.o",)))
    table.enter(first)
    table.enter(second)
    table.leave(second)
    assert table.enter(job(2, Operands(reads=("/a.o",)))) == {first}


def test_a_compile_waits_for_what_could_be_its_header() -> None:
    table = Hazards()
    generator = job(0, Operands(writes=("/gen.h",)))
    table.enter(generator)
    table.enter(job(1, Operands(writes=("/other.o",))))
    asking = job(2, Operands(reads=("/a.c",), undeclared=True))
    asking.guarded = True
    assert table.enter(asking) == {generator}


def test_nobody_knows_what_a_command_reads_that_was_never_seen_to_ask() -> None:
    """It waits for whatever is pending, of whatever name, and who changes anything waits for it."""
    table = Hazards()
    packed = job(0, Operands(writes=("/page.gz",)))
    assembling = job(1, Operands(writes=("/a.o",), undeclared=True))
    change = job(2, Operands(writes=("/b.gz",), changed_ns=(("/b.gz", 0),)))
    table.enter(packed)
    assert table.enter(assembling) == {packed}
    assert table.enter(change) == {assembling}
    assert table.blind == 1


def test_a_compile_does_not_read_what_another_compile_makes() -> None:
    table = Hazards()
    made = (("/a.o", 0),)
    first = job(0, Operands(writes=("/a.o",), undeclared=True, compiles=True, objects=True))
    link = job(1, Operands(writes=("/p",), undeclared=True))
    table.enter(first)
    assert table.enter(link) == {first}  # by a library that names it
    again = Operands(("/b.c",), ("/b.o",), made, undeclared=True, compiles=True, objects=True)
    assert table.enter(job(2, again)) == {link}


def test_what_is_known_by_now_need_not_be_waited_for() -> None:
    table = Hazards()
    packed = job(0, Operands(writes=("/page.gz",)))
    assembling = job(1, Operands(("/x.S",), ("/a.o",), undeclared=True))
    change = job(2, Operands(writes=("/b.gz",), changed_ns=(("/b.gz", 0),)))
    packed.guarded = change.guarded = True
    for each in (packed, assembling, change):
        table.enter(each)
    assert dict(table.resolved()) == {}
    table.believe(assembling)
    assert table.blind == 0
    assert dict(table.resolved()) == {assembling: {packed}, change: {assembling}}
    assert dict(table.resolved()) == {}


def test_changing_a_header_waits_for_compiles_that_were_issued_before() -> None:
    table = Hazards()
    early = job(0, Operands(undeclared=True, writes=("/a.o",)), issued_ns=100)
    late = job(1, Operands(undeclared=True, writes=("/b.o",)), issued_ns=300)
    table.enter(early)
    table.enter(late)
    change = Operands(writes=("/x.h",), changed_ns=(("/x.h", 200),))
    # The file changed at 200, after `early` was issued: that change has waited for `early`.
    assert table.enter(job(2, change)) == {late}


def test_nothing_is_left_when_all_have_left() -> None:
    table = Hazards()
    one = job(0, Operands(("/r",), ("/w.h",), (("/w.h", 1),), undeclared=True))
    table.enter(one)
    table.leave(one)
    assert len(table) == 0
    assert not table.is_read("/r")
    assert not table.is_written("/w.h")
    everything = Operands(("/w.h",), ("/r",), (("/r", 0),), undeclared=True, everything=True)
    assert table.enter(job(1, everything)) == set()


@pytest.mark.parametrize(
    "name",
    [
        "a.o",
        "x/b.obj",
        "libz.a",
        "libz.so",
        "libz.so.1.2.3",
        "a.d",
        ".deps/a.Tpo",
        "a.Plo",
        "m.gch",
        "CMakeFiles/Progress/6",
        "CMakeFiles/p.dir/link.txt",
        "CMakeFiles/p.dir/compiler_depend.ts",
        "CMakeFiles/p.dir/depend.make",
    ],
)
def test_products(name: str) -> None:
    assert is_product(f"/src/{name}")


@pytest.mark.parametrize("name", ["a.c", "a.h", "stamp", "gen.inc", "x.def", "a.i", "tool", "a.oh"])
def test_what_a_compiler_could_include(name: str) -> None:
    assert not is_product(f"/src/{name}")


PATHS = st.sampled_from(["/a.o", "/b.o", "/c.h", "/d.h", "/e.a"])
COMMANDS = st.lists(
    st.tuples(st.sets(PATHS, max_size=3), st.sets(PATHS, max_size=2), st.booleans()), max_size=12
)


@given(COMMANDS, st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_any_allowed_order_gives_the_serial_result(
    commands: list[tuple[set[str], set[str], bool]], random: object
) -> None:
    """Run commands in a random order that the table allows: every one sees what it saw serially."""
    choose = getattr(random, "choice")  # noqa: B009 - hypothesis types its randoms as objects
    table = Hazards()
    jobs, waits = [], {}
    for number, (reads, writes, undeclared) in enumerate(commands):
        operands = Operands(
            tuple(sorted(reads)),
            tuple(sorted(writes)),
            tuple((path, 0) for path in sorted(writes) if path.endswith(".h")),
            undeclared,
        )
        one = job(number, operands, issued_ns=number + 1)
        waits[one] = table.enter(one)
        jobs.append(one)

    def seen(one: Job, disk: dict[str, int]) -> dict[str, int | None]:
        headers = {"/c.h", "/d.h"} if one.operands.undeclared else set()
        return {path: disk.get(path) for path in {*one.operands.reads, *headers}}

    def run(order: list[Job]) -> tuple[dict[Job, dict[str, int | None]], dict[str, int]]:
        disk: dict[str, int] = {}
        views = {}
        for one in order:
            views[one] = seen(one, disk)
            disk.update(dict.fromkeys(one.operands.writes, one.number))
        return views, disk

    order: list[Job] = []
    while len(order) < len(jobs):
        ready = [one for one in jobs if one not in order and waits[one] <= set(order)]
        assert ready, "a command waits for itself"
        order.append(choose(ready))
    assert run(order) == run(jobs)


def test_another_spelling_of_what_is_written() -> None:
    table = Hazards()
    writer = job(0, Operands(writes=("/d/A.o", "/e/b.o")))
    table.enter(writer)
    assert table.in_other_case("/d/a.o") == {writer}
    assert table.in_other_case("/d/A.o") == set()  # that is a write like any other
    assert table.in_other_case("/D/a.o") == set()
    assert table.in_other_case("/d/b.o") == set()
    assert table.in_other_case("/d/a.o", before=0) == set()
    table.leave(writer)
    assert table.in_other_case("/d/a.o") == set()
