"""Tools whose result is what they print: which command lines do nothing else."""

from __future__ import annotations

import shlex

import pytest

from smpmake.commands.families import is_printer
from smpmake.commands.model import Kind, Reason
from tests.commands.disk import FakeFiles, meaning

FILES = FakeFiles(
    {"prints.sed": "s/a/b/g\n/x/d\n", "writes.sed": "w other\n", "p.awk": "{ print }"}
)

#: What they read.
PRINT = {
    "cat a.d b.d": ["a.d", "b.d"],
    "cat -n a.d": ["a.d"],
    "head -n 3 a.d": ["a.d"],
    "head -5 a.d": ["a.d"],
    "tail -n +2 a.d": ["a.d"],
    "cut -d: -f 1,3 a.d": ["a.d"],
    "sort -u -k2,2 a b": ["a", "b"],
    "sort --random-source=r a": ["a", "r"],
    "sed s/a/b/ x.d": ["x.d"],
    "sed -e 's,a/b,c;d,g' -e /^$/d -n -e 's/#.*//p' x.d": ["x.d"],
    "sed -e '1,/^x/d;s/a\\/b/c/' x": ["x"],
    "sed -E 's/(a|b)+/\\1/' x y": ["x", "y"],
    "sed -e s/a/b/;$!d x": ["x"],
    "sed -n 1p x": ["x"],
    "sed -f prints.sed x": ["x", "prints.sed"],
    "gsed s/a/b/ x": ["x"],
    "awk {print} x": ["x"],
    "mawk -F: '{ if ($1 == \"a\" || $2) print $3 }' x y": ["x", "y"],
    "gawk -v n=1 -f p.awk x": ["x", "p.awk"],
    "objdump -d -r x.o": ["x.o"],
    "x86_64-linux-gnu-objdump --syms x.o": ["x.o"],
    "readelf -aW x.o": ["x.o"],
    "nm -g x.o": ["x.o"],
    "size x.o": ["x.o"],
    "ar t x.a": ["x.a"],
    "fixdep .x.o.d x.o 'gcc -c x.c'": [".x.o.d"],
}
#: Those that read their input, or may do more than print: they are run where they stand.
OTHERWISE = {
    **dict.fromkeys(
        ("cat", "cat -", "cat a - b", "sed s/a/b/", "awk {print}", "sort", "head -n 1"),
        Reason.READS_STDIN,
    ),
    **dict.fromkeys(
        (
            "cat --hel x",
            "tail -f x",
            "tail --follow=name x",
            "sort -o out x",
            "sort --compress-program=gzip x",
            "sed -i s/a/b/ x",
            "sed -i.bak s/a/b/ x",
            "sed --in-place s/a/b/ x",
            "sed 'w other' x",
            "sed s/a/b/w x",
            "sed 's/a/b/w other' x",
            "sed s/a/b/e x",
            "sed '1e date' x",
            "sed 's/a/b/;r other' x",
            "sed -e 's/a/b/' -e 'W o' x",
            "sed '1!{w other\n}' x",
            "sed -f writes.sed x",
            "sed -f missing.sed x",
            "sed -f - x",
            "sed",
            "awk '{ print > \"o\" }' x",
            "awk '{ print | \"sh\" }' x",
            "awk '{ system($0) }' x",
            "awk '{ getline; print }' x",
            "awk '{ \"date\" | getline d; print d }' x",
            "awk 'BEGIN { ARGC = 1 } { print }' x",
            "awk '@include \"f\"; { print }' x",
            "awk '{ print }' n=1 x",
            "awk -f missing.awk x",
            "gawk -i inplace {print} x",
            "fixdep a b",
            "fixdep -x a b",
            "check-local-export",
            "check-local-export -h",
        ),
        None,
    ),
}


@pytest.mark.parametrize("line", PRINT)
def test_what_only_prints_what_it_makes_of_its_operands(line: str) -> None:
    found = meaning(shlex.split(line), FILES)
    assert found.prints
    assert (found.kind, found.refusal) == (Kind.INSPECT, Reason.WRITES_STDOUT)
    assert list(found.reads) == PRINT[line]
    assert found.writes == ()


@pytest.mark.parametrize("line", OTHERWISE)
def test_what_may_do_more_is_left_where_it_stands_and_waits_for_nothing(line: str) -> None:
    found = meaning(shlex.split(line), FILES)
    assert not found.prints
    assert not found.checks
    assert found.refusal is not None
    assert not found.refusal.barrier
    assert OTHERWISE[line] in (None, found.refusal)


def test_a_check_writes_nothing() -> None:
    found = meaning("check-local-export x.o")
    assert found.checks
    assert (found.reads, found.writes, found.refusal) == (("x.o",), (), Reason.WRITES_NOTHING)
    promised = found.promised()
    assert (promised.refusal, promised.checks) == (None, False)


def test_what_is_printed_into_a_file_is_an_output() -> None:
    found = meaning("cat a b").printed_into("/w/c")
    assert found.printed
    assert (found.refusal, found.prints) == (None, False)
    assert [write.path for write in found.writes] == ["/w/c"]


def test_who_prints() -> None:
    assert is_printer("/usr/bin/sed")
    assert is_printer("gawk")
    assert not is_printer("gcc")
    assert not is_printer("grep")  # its status is an answer
    assert not is_printer("unknown")


def test_awk_may_find_its_program_elsewhere() -> None:
    files = FakeFiles({"p.awk": "{ print }"})
    assert meaning("awk -f p.awk a", files).prints
    assert not meaning("awk -f p.awk a", files, {"AWKPATH": "lib"}).prints
