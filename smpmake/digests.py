"""SHA-256 without OpenSSL, which hashlib loads first: 2 ms, for digests of a few hundred bytes."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hashlib import _Hash


def _find() -> Callable[[bytes], _Hash]:
    """Python's own; hashlib's where a distribution has left that out."""
    for module in ("_sha2", "_sha256"):  # since 3.12, and before
        with contextlib.suppress(ImportError):
            found: Callable[[bytes], _Hash] = importlib.import_module(module).sha256
            return found
    import hashlib

    return hashlib.sha256


sha256: Final = _find()
