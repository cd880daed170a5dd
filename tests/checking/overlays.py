"""Whether trials can be tested here."""

from __future__ import annotations

import os
import subprocess
from functools import cache

import pytest


@cache
def has_overlays() -> bool:
    """Whether we may mount what a trial needs."""
    user = ["--map-root-user"] if os.getuid() else []
    script = (
        "mount -t tmpfs x /mnt && mkdir /mnt/u /mnt/w"
        " && mount -t overlay -o lowerdir=/etc,upperdir=/mnt/u,workdir=/mnt/w x /etc"
    )
    done = subprocess.run(["unshare", "--mount", *user, "sh", "-c", script], capture_output=True)
    return done.returncode == 0


def require_overlays() -> None:
    """Skips the test where not."""
    if not has_overlays():
        pytest.skip("nobody may mount an overlay here")
