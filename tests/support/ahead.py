"""Configure scripts in small, whose checks run ahead of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from tests.support.space import Space

Test = TypeVar("Test", bound=Callable[..., Any])

#: s: what runs ahead gets what others leave, and other tests leave little.
PATIENCE: Final = 300
#: That the machine is busy is no reason here; `waits` stands until as many results are stored as
#: the script is told.
WAITS: Final = r"""
test -z "$_SMPMAKE_AHEAD" || _SMPMAKE_AHEAD=1000:${_SMPMAKE_AHEAD#*:}
test -z "$_SMPMAKE_AHEAD" || export _SMPMAKE_AHEAD
waits() {
    test -z "$WANTED" || until test `find "$STORE" -type f | wc -l` -ge $WANTED; do sleep 0.05; done
    WANTED=
}
"""

#: As the pool takes the script's place: not in a chroot, nor where namespaces are forbidden.
_UNSHARE: Final = ("unshare", *(("-r",) if os.geteuid() != 0 else ()), "-m")
_has_a_place = pytest.mark.skipif(
    subprocess.run([*_UNSHARE, "true"], capture_output=True, check=False).returncode != 0,
    reason="no mount namespaces here",
)


def needs_a_place(test: Test) -> Test:
    """A test whose checks run ahead, when others leave them a CPU."""
    marked: Test = pytest.mark.timeout(3 * PATIENCE)(_has_a_place(test))
    return marked


def store_of(space: Space) -> Path:
    return Path(space.environment["XDG_CACHE_HOME"], "smpmake", "memo")


def list_of(store: Path) -> Path:
    """The only script's checks."""
    (found,) = (store / "s").glob("checks-*")
    return found
