"""SHA-256 is SHA-256, wherever it comes from."""

from __future__ import annotations

import hashlib
import importlib

import pytest

from smpmake import digests


def test_it_is_that_of_hashlib() -> None:
    assert digests.sha256(b"text").hexdigest() == hashlib.sha256(b"text").hexdigest()


def test_where_python_has_none_of_its_own_it_is_hashlibs(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(module: str) -> None:
        raise ImportError(module)

    monkeypatch.setattr(importlib, "import_module", without)
    assert digests._find() is hashlib.sha256
