"""What the session does not undo, whatever ends it, its keeper undoes (P3)."""

from __future__ import annotations

import pytest

from tests.support import without
from tests.support.space import Space

FILES = {"bad.c": "int x = oops;\n", "m.c": "int m;\n", "old/a": "a\n"}
#: The failure is known before the driver ends, and behind all that it does.
SCRIPT = "gcc -c bad.c; mv old new; echo x > m.c; cat bad.o"

FAULTS = {
    "in the session": """
from smpmake.session.local import LocalBackend
def fail(*_, **__): raise MemoryError
LocalBackend.take_back = fail
""",
    "by which nothing can be given back": """
import sys
sys.modules["smpmake.undo.reuse"] = None
""",
    "of the process that undoes": """
import subprocess
run = subprocess.run
def end(command, **more):
    if "undo" in command:
        command = ["sh", "-c", "kill -9 $$"]
    return run(command, **more)
subprocess.run = end
""",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_p3_what_followed_a_failure_is_undone(space: Space, fault: str) -> None:
    space.write(FILES)
    before = space.tree()
    ended = without.run(space, FAULTS[fault], ["sh", "-c", SCRIPT])
    assert ended.status != 0, ended.err
    assert "Traceback" not in ended.err or fault == "in the session", ended.err
    tree = space.tree()
    if fault == "by which nothing can be given back":
        assert ended.status == space.run("sh", "-c", SCRIPT).status
        assert tree == space.tree(), ended.err
    else:
        assert tree == before, ended.err
    space.expect_clean()
