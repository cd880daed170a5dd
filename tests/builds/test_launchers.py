"""How a launcher's cache did in a build, without anything left of the asking."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from smpmake.commands.launchers import tally
from tests.support.needs import require
from tests.support.space import Space, objects

LOG = b"""\
# /src/a.c
cache_miss
direct_cache_miss
preprocessed_cache_miss
# b.c
direct_cache_hit
local_storage_hit
# c.c
preprocessed_cache_hit
direct_cache_miss
# a.c
called_for_preprocessing
# d.c
"""
SCRIPT = "ccache gcc -c f0.c\nccache gcc -c f1.c\n"


def test_what_a_log_tells() -> None:
    assert tally(LOG) == {"hits": 2, "misses": 1, "other": 1}
    assert tally(b"") == {"hits": 0, "misses": 0, "other": 0}


def cached(space: Space) -> None:
    require("ccache")
    space.write({**objects(3), "build.sh": SCRIPT})
    space.environment["CCACHE_DIR"] = str(space.root / "cache")


def report(space: Space) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(space.smpmake("report", "--json").out)
    return found


def test_hits_and_misses_are_counted_and_nothing_is_left(space: Space) -> None:
    cached(space)
    assert space.smpmake("sh", "build.sh").status == 0
    first = report(space)
    assert first["environment"]["launchers"] == [
        {"name": "ccache", "hits": 0, "misses": 2, "other": 0}
    ]
    space.ok("rm", "f0.o", "f1.o")
    space.write({"build.sh": SCRIPT + "ccache gcc -c f2.c\n"})
    before = set(os.listdir(space.folder))
    assert space.smpmake("sh", "build.sh").status == 0
    assert set(os.listdir(space.folder)) - before == {"f0.o", "f1.o", "f2.o"}
    second = report(space)
    (one,) = second["environment"]["launchers"]
    assert (one["hits"], one["misses"]) == (2, 1)
    surprises = {text for each in second["commands"] for text in each["surprises"]}
    assert all(text.startswith(f"wrote {space.root / 'cache'}/") for text in surprises)
    assert "  ccache    67% hits (2 of 3)\n" in space.smpmake("report").out
    assert space.ok("ccache", "--print-stats").out.count("\ncache_miss\t3\n") == 1  # as ever


@pytest.mark.parametrize("how", ["environment", "configuration"])
def test_a_log_of_the_users_own_stays_that(space: Space, how: str) -> None:
    cached(space)
    log = space.root / "log"
    if how == "environment":
        space.environment["CCACHE_STATSLOG"] = str(log)
    else:
        (space.root / "cache").mkdir(exist_ok=True)
        (space.root / "cache" / "ccache.conf").write_text(f"stats_log = {log}\n")
    assert space.smpmake("sh", "build.sh").status == 0
    assert tally(log.read_bytes())["misses"] == 2
    assert report(space)["environment"]["launchers"] == []


def test_only_the_launcher_hears_of_it(space: Space) -> None:
    """Neither the build nor other jobs see the variable."""
    cached(space)
    tool = '#!/bin/sh\nenv | grep -c CCACHE_STATSLOG >> seen\nexec /usr/bin/gcc "$@"\n'
    space.write({"bin/gcc": tool})
    (space.folder / "bin" / "gcc").chmod(0o755)
    space.environment["PATH"] = f"{space.folder / 'bin'}:{space.environment['PATH']}"
    space.write({"build.sh": "env > environment\ngcc -c f2.c\nccache gcc --version\n"})
    assert space.smpmake("sh", "build.sh").status == 0
    assert "CCACHE_STATSLOG" not in (space.folder / "environment").read_text()
    assert (space.folder / "seen").read_text().splitlines()[0] == "0"
