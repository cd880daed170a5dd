"""Generators are jobs; what they are seen to write is compared with what was foretold (P1, P2)."""

from __future__ import annotations

import os
import re
import shutil

import pytest

from tests.support import needs
from tests.support.held import Held
from tests.support.space import MAIN, Ended, Space, words

pytestmark = pytest.mark.slow

GRAMMAR = "%code { int yylex(void); void yyerror(const char *); }\n%token N\n%%\nall: N ;\n"
SOURCES = {
    "g.y": GRAMMAR,
    "other.y": GRAMMAR,
    "named.y": f'%output "named.c"\n{GRAMMAR}',
    "k.c": MAIN,
    "use.c": '#include "g.h"\nint n = N;\n',
}
#: A bison that makes what nobody has foretold.
STRANGE = '#!/bin/sh\necho strange > extra\nexec {bison} "$@"\n'


def jobs(ended: Ended) -> int:
    found = re.search(r"(\d+) in parallel", ended.err)
    return int(found[1]) if found else 0


def files(*recipe: str) -> dict[str, str]:
    lines = "".join(f"\t{line}\n" for line in (*recipe, ": > after"))
    return {**SOURCES, "Makefile": f"all:\n{lines}"}


@pytest.fixture
def held(space: Space) -> Held:
    needs.require("bison")
    return Held(space)


def check(held: Held, made: dict[str, str]) -> Ended:
    status, serial = held.serial(made, ["make"])
    held.space.clear()
    held.space.write(made)
    process = held.start(*words([], ["make"]))
    held.let_go_when_stuck(process)
    ended = held.space.finish(process)
    assert (ended.status, held.tree()) == (status, serial), ended.err
    held.space.expect_clean()
    return ended


def test_its_header_is_found_by_a_compile(held: Held) -> None:
    ended = check(held, files("bison -d -o g.c g.y", "gcc -c use.c", "gcc -c g.c"))
    assert jobs(ended) == 3, ended.err


def test_those_that_make_headers_run_side_by_side(space: Space) -> None:
    """One stands at a FIFO until what another has made has been read."""
    needs.require("protoc")
    gate = space.root / "gate"
    space.fake(
        "protoc",
        f'#!/bin/sh\ncase "$*" in *first*) read word < {gate};; esac\n'
        f'exec {shutil.which("protoc")} "$@"\n',
    )
    message = 'syntax = "proto3";\nimport "common.proto";\nmessage {} {{ C c = 1; }}\n'
    recipe = (
        *("protoc --cpp_out=. first.proto", "protoc --cpp_out=. second.proto"),
        f"cat second.pb.h > copy; echo go > {gate}",
    )
    made = {
        "first.proto": message.format("A"),
        "second.proto": message.format("B"),
        "common.proto": 'syntax = "proto3";\nmessage C { int32 n = 1; }\n',
        "Makefile": "all:\n" + "".join(f"\t{line}\n" for line in recipe),
    }
    os.mkfifo(gate)
    space.write(made)
    ended = space.smpmake("-j2", "--", "make")
    assert ended.status == 0, ended.err
    assert jobs(ended) >= 2, ended.err
    assert len(list(space.folder.glob("*.pb.h"))) == 2
    space.expect_clean()


def test_a_grammar_that_is_pending_is_waited_for_in_place(held: Held) -> None:
    made = files("gcc -E -P -x c -Dheld g.y -o p.y", "bison -o p.c p.y", "gcc -c k.c")
    ended = check(held, made)
    assert "pending-answer" in ended.err, ended.err


def test_one_that_names_its_output_is_left_in_place(held: Held) -> None:
    ended = check(held, files("gcc -Dheld -c k.c", "bison named.y"))
    assert jobs(ended) == 1, ended.err


def test_p1_what_was_not_foretold_is_undone_and_then_in_place(space: Space) -> None:
    needs.require("bison")
    space.fake("bison", STRANGE.format(bison=shutil.which("bison")))
    made = files("bison -o g.c g.y", "cp extra seen", "bison -o other.c other.y", "gcc -c g.c")
    ended = space.expect_same(made, ["make"])
    assert "did not do what its words say (wrote" in ended.err, ended.err
    assert "unchecked-outputs" in ended.err, ended.err


def test_p2_a_failure_is_told(held: Held) -> None:
    made = files("bison -o g.c g.y", "bison -o bad.c bad.y", "gcc -c g.c")
    check(held, {**made, "bad.y": "%%\nall: oops\n"})


def test_it_is_in_place_where_nothing_can_be_undone(space: Space) -> None:
    needs.require("bison")
    ended = space.expect_same(files("bison -o g.c g.y", "gcc -c g.c"), ["make"], "--no-guard")
    assert jobs(ended) <= 1, ended.err


def test_its_own_program_may_be_made_by_the_build(held: Held) -> None:
    """A bison of the project's, called by its whole path."""
    folder = held.space.folder
    made = files(
        "gcc -Dheld -o bison bison.c",
        f"{folder}/bison -o g.c g.y",
        "gcc -c g.c",
    )
    made["bison.c"] = (
        '#include <stdio.h>\nint main(void) { FILE *f = fopen("g.c", "w"); '
        'fputs("int made;\\n", f); return fclose(f); }\n'
    )
    check(held, made)
