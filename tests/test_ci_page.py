"""docs/how-to-ci.md: its commands are run in the images that it names (-m packaging)."""

from __future__ import annotations

import re
import runpy
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/how-to-ci.md").read_text()
#: What is in there besides what Debian's own image has.
_FILES = {
    "Makefile": "p: a.o b.o\n\tgcc -o $@ $^\n%.o: %.c\n\tgcc -c $<\n",
    "a.c": "int main(void) { return 0; }\n",
    "b.c": "int b;\n",
}
#: What the page does with smpmake once it is there.
_USE = """\
cd project
smpmake --output-sync=serial make
smpmake report --fail-under 1.3
smpmake memo trim 6
smpmake report --html report.html
test -x p && test -s report.html
"""


@pytest.mark.packaging
@pytest.mark.timeout(900)
@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_the_commands_for_a_container(tmp_path: Path, suite: str) -> None:
    machine = runpy.run_path(str(ROOT / "scripts/bare-machine"))
    tree = tmp_path / "tree"
    try:
        machine["prepare"]()
        machine["make"](tree, tmp_path, ["ca-certificates"], suite)
    except machine["NotHereError"] as error:
        pytest.skip(f"no image can be made here: {error}")
    try:
        machine["settle"](tree)
        settings = tree / "etc/apt/apt.conf.d/90-this-machine"
        settings.write_text(
            (tmp_path / "apt.conf").read_text().replace("Install-Recommends", "Own")
        )
        (tree / "root/project").mkdir()
        for name, text in _FILES.items():
            (tree / "root/project" / name).write_text(text)
        for word in ("gcc", "make", "python3", "pip"):
            assert not (tree / "usr/bin" / word).exists()
        commands = block("debian:12")
        assert f"debian:{12 if suite == 'bookworm' else 13}" in PAGE
        status, text = machine["enter"](tree, f"cd ..\n{commands}\n{_USE}")
        assert status == 0, text[-3000:]
        assert "smpmake: --fail-under 1.3 passes: the build was too short" in text
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", str(tree)], check=True)


def block(image: str) -> str:
    """The commands below the sentence that names an image."""
    found = re.search(rf"`{image}`.*?```sh\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_what_is_installed_is_the_same_in_both_images() -> None:
    (slim,) = re.findall(
        r"image: python:3-slim.*?install -y --no-install-recommends (.*)", PAGE, re.DOTALL
    )
    assert set(slim.split("\n")[0].split()) == {"gcc", "libc6-dev", "make"}
    (debian,) = re.findall(r"install -y --no-install-recommends (.*)", block("debian:12"))
    assert set(debian.split()) == {"gcc", "libc6-dev", "make", "python3-venv"}
