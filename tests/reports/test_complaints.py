"""Warnings on the page: by the flag that turns them on, then by file."""

from __future__ import annotations

from typing import Any

from smpmake.records import BuildRecord, Failure
from smpmake.reports.complaints import complaints
from smpmake.reports.document import document
from tests.support.made import build, ran


def record(*said: str, **fields: object) -> BuildRecord:
    """A compile for each text, which says that many warnings."""
    return build(
        *(
            ran(n, 0, n, n + 1, said=text, warnings=text.count("arning"), errors=0, **fields)
            for n, text in enumerate(said)
        )
    )


def shown(made: BuildRecord) -> dict[str, dict[str, Any]]:
    return {group["flag"]: group for group in complaints(document(made))["shown"]}


def test_many_files_with_one_warning_are_one_row() -> None:
    made = record(*(f"f{n}.c:3:7: warning: unused 'x' [-Wunused-variable]\n" for n in range(40)))
    (group,) = shown(made).values()
    assert (group["count"], group["where"]) == ("40 warnings", "in 40 files")
    assert group["files"][0] == {
        "file": "f0.c",
        "count": "",
        "messages": [{"line": "3", "text": "unused 'x'", "times": 1}],
        "more": 0,
    }
    assert len(group["files"]) + group["more"] == 40 and not group["open"]


def test_what_many_compiles_say_of_a_header_stands_there_once() -> None:
    text = "In file included from a.c:1:\nlib/h.h:9:1: warning: old [-Wold]\n"
    (group,) = shown(record(text, text, text)).values()
    (file,) = group["files"]
    assert (group["count"], file["file"], file["count"]) == ("3 warnings", "lib/h.h", "3 warnings")
    assert file["messages"] == [{"line": "9", "text": "old", "times": 3}]
    assert group["open"], "what is short need not be opened"


def test_paths_are_seen_from_the_builds_folder() -> None:
    made = record("../h.h:1: warning: a [-Wa]\n/usr/i.h:2: warning: b [-Wa]\n", cwd="/src/sub")
    assert {file["file"] for file in shown(made)["-Wa"]["files"]} == {"h.h", "/usr/i.h"}


def test_other_tools_number_their_warnings_or_name_nothing() -> None:
    made = record(
        "a.c(3): Warning! W201: unreachable code\n"
        "b.c:4: warning 85: unused\n"
        "ld: warning: no version\n"
        '   12 | puts("x: warning: y")\n'
        "c.s:7: Warning: odd\n"
    )
    groups = shown(made)
    assert [groups[name]["files"][0]["file"] for name in ("W201", "85")] == ["a.c", "b.c"]
    assert groups["W201"]["files"][0]["messages"][0] == {
        "line": "3",
        "text": "unreachable code",
        "times": 1,
    }
    # A tool that names no file is told by its command.
    assert [file["file"] for file in groups["no flag named"]["files"]] == ["c.s", "gcc 0.o"]
    assert not groups["no flag named"]["is_flag"]


def test_errors_come_first_then_the_most_frequent() -> None:
    made = record(
        "a.c:1: warning: x [-Wa]\n",
        *["b.c:1: warning: x [-Wb]\n"] * 2,
        "c.c:1: error: no [-Werror=c]\n",
    )
    made.commands[3].errors = 1
    assert list(shown(made)) == ["-Werror=c", "-Wb", "-Wa"]
    assert complaints(document(made))["told"] == ["1 error", "3 warnings"]


def test_what_failed_stands_elsewhere_and_what_was_not_kept_is_counted() -> None:
    made = record("a.c:1: warning: x [-Wa]\n", "b.c:1: warning: x [-Wb]\n", "")
    made.failures = [Failure(made.commands[0], b"", "exit status 1")]
    made.commands[2].warnings = 5
    found = complaints(document(made))
    assert [group["flag"] for group in found["shown"]] == ["-Wb"]
    assert (found["told"], found["lost"]) == (["6 warnings"], 5)
