"""What of jobs' output enters their records."""

from __future__ import annotations

from smpmake.engine.build import BuildOutput
from smpmake.engine.results import reuse_record
from smpmake.protocol.working import failed_result
from tests.support.made import command


def test_only_what_complains_is_kept_and_not_without_end() -> None:
    output = BuildOutput(None, None)
    result = failed_result(0, 0)
    quiet, loud = command(0), command(1)
    assert quiet.warnings == -1
    output.note_complaints(quiet, result._replace(out=b"done\n", err=b""))
    assert (quiet.warnings, quiet.errors, quiet.said) == (0, 0, "")
    text = b"a.c:1: warning: \xff\n" + b"x" * 100_000
    output.note_complaints(loud, result._replace(out=b"", err=text))
    assert (loud.warnings, loud.errors) == (1, 0)
    assert loud.said.startswith("a.c:1: warning: \N{REPLACEMENT CHARACTER}\n")
    assert len(loud.said) == 32 << 10 == output.said
    for number in range(2, 300):
        output.note_complaints(command(number), result._replace(out=text, err=b""))
    assert output.said == 4 << 20
    last = command(300)
    output.note_complaints(last, result._replace(out=text, err=b""))
    assert (last.warnings, last.said) == (1, "")


def test_what_is_reused_keeps_what_was_said() -> None:
    output = BuildOutput(None, None)
    before, after = command(0), command(0)
    before.reads = ("/src/a.h",)
    result = failed_result(0, 0)._replace(err=b"a.c:1: warning: x\n")
    output.note_complaints(before, result)
    reuse_record(after, before)
    output.note_complaints(after, result._replace(err=b""))  # it was printed before
    assert (after.warnings, after.said, after.reads) == (1, "a.c:1: warning: x\n", before.reads)
