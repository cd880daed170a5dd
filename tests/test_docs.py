"""The documentation is a site whose pages are all in its table, and whose links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*command, "--config-file", str(ROOT / "mkdocs.yml"), "--site-dir", str(tmp_path / "site")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "tutorial.html").exists()


def test_every_page_is_in_the_table() -> None:
    table = (ROOT / "mkdocs.yml").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert f": {page.name}\n" in table, page.name


def test_where_things_go_is_there() -> None:
    """The table of files in CONTRIBUTING.md; NAME stands for a new one."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where things go")[2]
    rows = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    paths = re.findall(r"`([\w./]+[./]\w*)`", "\n".join(rows))
    assert len(paths) > 40
    for path in paths:
        there = [ROOT / path, ROOT / "smpmake" / path]
        assert "NAME" in path or any(map(Path.exists, there)), path
