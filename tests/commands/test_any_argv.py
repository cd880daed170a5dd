"""No command line makes an analysis raise, and what it says always holds together."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.commands.any_argv import KNOWN, OPERANDS, TAILS, TOOLS, check

WORDS = st.one_of(
    st.sampled_from(KNOWN),
    st.sampled_from(OPERANDS),
    st.tuples(st.sampled_from(KNOWN), st.sampled_from(TAILS)).map("".join),
    st.text(max_size=12),
)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(TOOLS), st.lists(WORDS, max_size=10))
def test_never_raises(tool: str, words: list[str]) -> None:
    check([tool, *words])


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, max_size=5))
def test_never_raises_behind_a_launcher(words: list[str]) -> None:
    check(["ccache", "gcc", *words])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=9), max_size=3))
def test_never_raises_on_any_tool_name(argv: list[str]) -> None:
    check(argv)
