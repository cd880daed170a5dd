"""A small source that was written a moment ago: who wrote it tells a check from a recipe."""

from __future__ import annotations

import pytest

from tests.support.space import Space

pytestmark = pytest.mark.slow

#: Keeps something pending, so that what others write is written down.
FIRST = "gcc -c first.c"
RECIPES = {
    "the recipe before": (["echo 'int w;' > w.c", "gcc -c w.c || exit 1"], False),
    "a program of the recipe before": (["cat text > w.c", "gcc -c w.c || exit 1"], False),
    "a move in the recipe before": (
        ["cat text > w.t; mv w.t w.c", "cd . && gcc -c w.c || exit 1"],
        False,
    ),
    "by a link to its folder": (
        ["ln -s . here; cat text > here/w.c", "gcc -c w.c || exit 1"],
        False,
    ),
    "the script itself": (["sh ./check.sh"], True),
    "a fork of the script": (["sh ./forks.sh"], True),
    "a move of the script": (["sh ./moves.sh"], True),
}
SCRIPTS = {
    "check.sh": "echo 'int w;' > w.c\ngcc -c w.c || echo no > no\n",
    "forks.sh": "cat text > w.c\n(gcc -c w.c) || echo no > no\n",
    "moves.sh": "cat text > w.t\nmv w.t w.c\ngcc -c w.c || echo no > no\n",
}


@pytest.mark.parametrize("name", RECIPES)
def test_who_wrote_a_source_decides(space: Space, name: str) -> None:
    recipe, fresh = RECIPES[name]
    lines = "".join(f"\t{line}\n" for line in (FIRST, *recipe))
    made = {"first.c": "int f;\n", "text": "int w;\n", **SCRIPTS, "Makefile": f"all:\n{lines}"}
    ended = space.expect_same(made, ["make"])
    assert ("fresh-source" in ended.err) is fresh, ended.err
