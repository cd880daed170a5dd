"""No name makes a terminal do anything, or looks like a line of ours, wherever it is printed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import smpmake
from tests.support.space import Space
from tests.support.variants import often

PACKAGE = Path(smpmake.__file__).parent
#: What a terminal obeys; a newline in a name would begin a line of ours.
NAME = "x\x1b]0;t\x07\x1b[31m\nsmpmake: y"
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")


def test_messages_go_through_one_place() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path.name in ("console.py", "logs.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
                name = ast.unparse(node.func)
                assert name not in ("print", "logging.basicConfig", "sys.stderr.write"), path


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.parametrize("output", often(["live"], ["live", "serial"]))
def test_p8_a_file_named_like_commands_to_a_terminal(space: Space, output: str) -> None:
    script = (
        'gcc -c "$N.c" -o "$N.o"; cat "$N.o" > /dev/null; gcc -Wall -c "$N.bad.c" -o "$N.bad.o"; '
        'gcc -never -c "$N.c" 2> /dev/null; gcc -c "$N.c" -o "$N.o"; exit 3'
    )
    space.write({f"{NAME}.c": "int x;\n", f"{NAME}.bad.c": "int x = ;\n"})
    space.environment |= {"N": NAME, "GCC_COLORS": ""}
    plain = space.run("sh", "-c", script)
    ended = space.smpmake("-v", f"--output-sync={output}", "--", "sh", "-c", script)
    assert ended.status == plain.status == 3
    compiler = set(plain.err.splitlines())  # whose own words are its own
    texts = [line for line in (ended.out + ended.err).splitlines() if line not in compiler]
    for command in (
        ("why", "--all"),
        ("why", f"{NAME}.o"),
        ("why", f"{NAME}.none"),
        ("history",),
        ("report",),
        ("compare",),
    ):
        space.smpmake("sh", "-c", script)
        said = space.smpmake(*command)
        texts += [said.out, said.err]
    whole = "\n".join(texts)
    assert "x^[]0;t^G^[[31m^Jsmpmake: y" in whole
    assert CONTROLS.search(whole) is None, CONTROLS.findall(whole)
    assert not any(line.startswith("smpmake: y") for line in whole.splitlines())


@pytest.mark.slow
def test_p8_a_failure_that_is_shown_last(space: Space) -> None:
    """Nothing can be undone: the command is shown as it was called."""
    space.write({f"{NAME}.c": "int x = ;\n"})
    space.environment |= {"N": NAME}
    plain = space.run("sh", "-c", 'gcc -c "$N.c"')
    ended = space.smpmake("--no-guard", "sh", "-c", 'gcc -c "$N.c" -o "$N.o"; true')
    assert "failed: gcc -c" in ended.err
    lines = [line for line in ended.err.splitlines() if line not in plain.err.splitlines()]
    assert CONTROLS.search("\n".join(lines)) is None
