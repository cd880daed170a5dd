"""What is shipped: a wheel with native programs for its platform, an sdist with their sources."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from smpmake import __version__
from tests.support import needs

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both, built from a copy so that the checkout stays as it is."""
    needs.require("git")
    folder = tmp_path_factory.mktemp("package")
    source, target = folder / "source", folder / "dist"
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in files.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
    quickly = {**os.environ, "CFLAGS": "-O0"}
    subprocess.run(build, cwd=source, env=quickly, capture_output=True, check=True)
    return target


@pytest.mark.chaos
def test_the_wheel_is_for_this_platform_and_holds_the_programs(built: Path) -> None:
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    wheel = built / f"smpmake-{__version__}-py3-none-{platform}.whl"
    with zipfile.ZipFile(wheel) as archive:
        entries = {info.filename: info for info in archive.infolist()}
    for program in ("shim", "worker", "keeper", "probe"):
        info = entries[f"smpmake/_bin/smpmake-{program}"]
        assert info.external_attr >> 16 & 0o111 == 0o111
    assert not [name for name in entries if name.endswith((".c", ".h"))]
    assert not [name for name in entries if name.startswith(("tests", "fixtures"))]
    for page in (ROOT / "smpmake" / "reports" / "page").iterdir():
        assert f"smpmake/reports/page/{page.name}" in entries
    for shell in ("bash", "fish", "zsh"):
        assert f"smpmake/cli/shells/{shell}" in entries
    assert not [name for name in entries if name.startswith("smpmake/") and name.endswith(".1")]
    assert f"smpmake-{__version__}.data/data/share/man/man1/smpmake.1" in entries
    for licence in ("LICENSE", "licenses/musl.txt", "licenses/zig.txt"):
        assert f"smpmake-{__version__}.dist-info/licenses/{licence}" in entries


def test_it_names_no_address_that_is_not_there(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"smpmake-{__version__}.dist-info/METADATA").decode()
    head, _, page = text.partition("\n\n")
    assert "Project-URL" not in head and "Home-page" not in head
    assert page.strip() == (ROOT / "README.md").read_text().strip()


def test_the_sdist_holds_what_is_needed_to_build_and_test(built: Path) -> None:
    with tarfile.open(built / f"smpmake-{__version__}.tar.gz") as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    for name in (
        "smpmake/native/shim/shim.c",
        "smpmake/native/layout/wire.h",
        "hatch_build.py",
        "tests/protocol/test_wire.py",
        "fixtures/sample/Makefile",
        "fixtures/textkit/Makefile",
        "scripts/check",
        "docs/architecture.md",
        "LICENSE",
        "licenses/musl.txt",
        "debian/rules",
    ):
        assert name in names
    assert not [name for name in names if "_bin" in name or name.endswith(".pyc")]
