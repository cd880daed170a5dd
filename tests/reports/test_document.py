"""The report as JSON is what docs/report.schema.json says, for builds of every kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
import pytest

from smpmake.columns import REPORT_VERSION
from smpmake.records import BuildRecord
from smpmake.reports.document import FORMAT, document
from tests.support import documented
from tests.support.made import build, ran
from tests.support.pages import hostile, large, ordinary
from tests.support.space import Space

SCHEMA: dict[str, Any] = json.loads(documented.SCHEMA.read_text())


def check(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    return found


def empty() -> BuildRecord:
    return build(wall=0)


def killed() -> BuildRecord:
    made = build(ran(0, 0, 0, 0), cpus=1)
    made.commands[0].ended = made.ended = made.driver_ended = 0
    made.commands[0].state, made.complete = "", False
    return made


def measured() -> BuildRecord:
    made = ordinary()
    made.serial = 12.5
    return made


def long() -> BuildRecord:
    return large(3000)


@pytest.mark.chaos
@pytest.mark.parametrize("make", [empty, killed, measured, ordinary, hostile, long])
def test_every_build_keeps_to_the_schema(make: Callable[[], BuildRecord]) -> None:
    # What programs get is UTF-8 whatever names a project has.
    check(json.dumps(document(make())).encode().decode())


def test_a_real_build_keeps_to_it(space: Space) -> None:
    space.copy("sample")
    assert space.smpmake("make").status == 0
    found = check(space.smpmake("report", "--json").out)
    assert len(found["commands"]) == 16
    compilers = found["environment"]["compilers"]
    assert compilers and all(each["version"] for each in compilers)


def test_what_jobs_complain_of_is_counted_and_kept(space: Space) -> None:
    """Not of what runs in place: that prints by itself."""
    space.write({"a.c": "int f(void) { int unused; return 1; }\n", "b.c": "int g;\n"})
    script = "gcc -Wall -c a.c; gcc -Wall -c b.c; gcc -Wall -E a.c > a.i"
    assert space.smpmake("-j2", "sh", "-c", script).status == 0
    found = check(space.smpmake("report", "--json").out)
    told = [(c["warnings"], c["errors"]) for c in found["commands"]]
    assert told == [(1, 0), (0, 0), (None, None)]
    assert (found["figures"]["warnings"], found["figures"]["errors"]) == (1, 0)
    (one,) = found["diagnostics"]
    assert (one["command"], one["warnings"]) == (0, 1) and "unused variable" in one["output"]
    assert found["environment"]["options"] == ["jobs=2"]
    report = space.smpmake("report").out
    assert "\nWarnings and errors\n" in report and "  options   jobs=2\n" in report
    assert "unused variable" in space.smpmake("report", "--log").out
    assert "unused variable" in space.smpmake("why", "a.o").out


def objects(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if part.get("type") == "object":
        yield part
    for value in part.values():
        several = value if isinstance(value, list) else [value]
        for one in several:
            if isinstance(one, dict):
                yield from objects(one)


def test_the_schema_leaves_nothing_open() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    found = list(objects(SCHEMA))
    assert len(found) > 12
    for each in found:
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])
    properties = SCHEMA["properties"]
    assert (properties["format"]["const"], properties["version"]["const"]) == (
        FORMAT,
        REPORT_VERSION,
    )


def test_the_schema_has_the_columns_of_the_table() -> None:
    text = documented.SCHEMA.read_text()
    assert documented.schema(text) == text, "run `python -m tests.support.documented`"
    assert SCHEMA["properties"]["commands"]["items"]["properties"] == documented.commands()


def test_the_page_about_it_names_every_part() -> None:
    page = documented.SCHEMA.with_name("report-format.md").read_text()
    for name in SCHEMA["properties"]:
        assert f"`{name}`" in page, name
