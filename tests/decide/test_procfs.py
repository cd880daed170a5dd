"""What a caller is, as /proc tells."""

from __future__ import annotations

import pytest

from smpmake.decide.procfs import asks_for_status


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("gcc -o p p.c && strip p", True),
        ("gcc -o p p.c || true", True),
        ("if gcc -o p p.c; then echo; fi", True),
        ("! gcc -o p p.c", True),
        ("set -x; ( if gcc -o p p.c; then :; fi )", True),
        ("while gcc -o p p.c; do :; done", True),
        ("gcc -o p p.c", False),
        ("cd d && gcc -o p p.c", False),
        ("gcc -o p p.c; ./p && echo ran", False),
        ("test -f p || gcc -o p p.c", False),
    ],
)
def test_whose_status_decides(text: str, asks: bool) -> None:
    assert asks_for_status([b"/bin/sh", b"-c", text.encode()], b"gcc", b"p.c") is asks
    assert not asks_for_status([b"/bin/sh", b"build.sh"], b"gcc", b"p.c")
    assert not asks_for_status([b"python3", b"-c", text.encode()], b"gcc", b"p.c")
