"""The findings for programs are what docs/check.schema.json says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from smpmake.checking.findings import Kind
from smpmake.checking.telling import SCHEMA, document
from tests.checking.makefiles import CASES, Case, checked

SCHEMA_FILE = Path(__file__).parent.parent.parent / "docs" / "check.schema.json"
KNOWN = json.loads(SCHEMA_FILE.read_text())
#: One of each kind.
SOME = {case.kind: case for case in CASES}.values()


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.kind.value)
def test_findings_are_as_the_schema_says(tmp_path: Path, case: Case) -> None:
    made = document(checked(tmp_path, case.wrong, case.more))
    jsonschema.validate(json.loads(json.dumps(made)), KNOWN)
    assert case.kind in {each["kind"] for each in made["findings"]}


def test_the_schema_knows_every_kind() -> None:
    kinds = KNOWN["properties"]["findings"]["items"]["properties"]["kind"]["enum"]
    assert kinds == [kind.value for kind in Kind]
    assert KNOWN["properties"]["schema"]["const"] == SCHEMA
