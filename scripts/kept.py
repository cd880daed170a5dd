"""Where the package tests keep what they have fetched and configured, for scripts that build it."""

from __future__ import annotations

import os
from pathlib import Path

CACHE = Path(
    os.environ.get("SMPMAKE_TESTS_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "smpmake-tests"
)


def pristine(name: str, version: str) -> Path:
    """A package ready for `make`, as the package tests keep it, or unpacked."""
    for folder in (
        CACHE / "pristine" / name,
        CACHE / "corpus" / name / "pristine",
        *CACHE.glob(f"baselines/{name}-{version}-*/pristine"),
    ):
        if folder.is_dir():
            return folder
    raise SystemExit(f"{name} is not there: run pytest -m packages tests/packages first")
