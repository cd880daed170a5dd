"""README's first commands are what CI runs, literally, and its links lead somewhere."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

from smpmake import __version__
from smpmake.cli.names import COMMANDS as OURS
from smpmake.commands.model import Reason
from tests.support import documented

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


BARE = runpy.run_path(str(ROOT / "scripts" / "bare-machine"))
COMMANDS: list[str] = BARE["commands"](README)


def test_ci_runs_both_commands_as_they_stand() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    for command in COMMANDS:
        assert command in lines
    assert len(COMMANDS) == 2
    assert COMMANDS[1] == "scripts/check"


def test_both_are_on_the_first_screen() -> None:
    assert README.index(COMMANDS[1]) < len("\n".join(README.splitlines()[:40]))


def test_the_bare_machine_has_what_the_commands_are_said_to_need() -> None:
    assert BARE["packages"](README) == ["python3", "python3-venv", "g++", "make"]
    ci = (ROOT / ".ci" / "run").read_text()
    assert ci.index("    scripts/bare-machine\n") < ci.index("apt-get install")


def test_ci_installs_what_a_full_run_is_said_to_need() -> None:
    said = re.search(r"a full run needs (.*?) too\.", README, re.DOTALL)
    ci = re.search(r"(?m)^full='(.*)'$", (ROOT / ".ci" / "run").read_text())
    assert said is not None and ci is not None
    assert re.split(r",\s+|\s+and\s+", said[1]) == ci[1].split()


def test_a_public_host_runs_the_same() -> None:
    workflow = (ROOT / ".github" / "workflows" / "check.yml").read_text()
    ci = re.search(r"(?m)^full='(.*)'$", (ROOT / ".ci" / "run").read_text())
    installed = re.search(
        r"--no-install-recommends (.*?)\n      - run: (\S+)\n", workflow, re.DOTALL
    )
    assert installed is not None and ci is not None
    needed = [*BARE["packages"](README), *ci[1].split()]
    assert installed[1].replace("\\\n", "").split() == needed
    assert installed[2] == COMMANDS[1]


@pytest.mark.parametrize(
    ("line", "stanza"),
    [
        ("deb-src http://host/debian bookworm main", ""),
        ("# deb http://host/debian bookworm main", ""),
        (
            "deb [signed-by=/a/key.gpg arch=amd64,i386] http://host/debian bookworm a b # why",
            (
                "Types: deb|URIs: http://host/debian|Suites: bookworm|Components: a b"
                "|Signed-By: /a/key.gpg|Architectures: amd64 i386"
            ),
        ),
    ],
)
def test_the_bare_machine_reads_either_form_of_source_list(line: str, stanza: str) -> None:
    assert BARE["stanza"](line) == stanza.replace("|", "\n")


STANZA = "Types: deb\nURIs: http://host/debian\nSuites: {}\nComponents: main"


@pytest.mark.parametrize(
    ("suites", "suite", "others"),
    [
        ("bookworm bookworm-updates", "trixie", "trixie trixie-updates"),
        ("bookworm-security", "trixie", "trixie-security"),
        ("bookworm bookworm-updates", "sid", "sid"),
        ("bookworm-security", "sid", ""),
        ("bookworm-backports bookworm", "trixie", "trixie"),
        ("bookworms", "trixie", ""),
        ("other", "trixie", ""),
    ],
)
def test_the_bare_machine_finds_other_suites_where_its_own_is(
    suites: str, suite: str, others: str
) -> None:
    expected = STANZA.format(others) if others else ""
    assert BARE["of_suite"](STANZA.format(suites), "bookworm", suite) == expected


def test_the_bare_machine_counts_tests_by_the_closing_line() -> None:
    text = "9 passed\n5 passed in 0.10s\n1 failed, 1905 passed, 2 skipped in 197.74s (0:03:17)\n"
    assert BARE["passed"](text) == 1905
    assert BARE["passed"]("no tests ran in 0.01s\n") == 0


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists()


def test_readme_and_package_agree_on_licence_and_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_command_has_a_help_line() -> None:
    for name, (module, text) in OURS.items():
        assert (ROOT / "smpmake" / "cli" / f"{module}.py").exists()
        assert text.endswith("."), name


def test_troubleshooting_knows_every_reason() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    assert [reason.value for reason in Reason if f"`{reason.value}`" not in page] == []


def test_every_reason_explains_itself() -> None:
    names = [reason.value for reason in Reason]
    assert len(set(names)) == len(names)
    for reason in Reason:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", reason.value)
        assert len(reason.text) > 10


def test_readme_claims_what_the_corpus_shows() -> None:
    text = documented.README.read_text()
    assert documented.readme(text) == text, "run `python -m tests.support.documented`"
    assert len(documented.corpus()) >= 12


def test_the_page_has_every_word_that_is_never_remembered() -> None:
    text = documented.MEMO.read_text()
    assert documented.memo(text) == text, "run `python -m tests.support.documented`"
    assert {"-v", "-save-temps", "-wrapper"} <= {
        w for ws in documented.unanswerable().values() for w in ws
    }
