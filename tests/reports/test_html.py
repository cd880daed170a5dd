"""The page as text: what is in it, its size, and that nothing of a project gets out."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

from smpmake.reports.document import brief, document
from smpmake.reports.html import environment
from smpmake.reports.pack import pack, script_safe
from tests.support.made import S, build, keep, ran
from tests.support.pages import HOSTILE, hostile, large, ordinary, page_of
from tests.support.space import Space

_VOID = {"meta", "link", "br", "input", "img", "hr"}


class Read(HTMLParser):
    """What a browser would see: tags with attributes, and text by the tag that it is in."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append((self._open[-1] if self._open else "", data))

    def said(self) -> str:
        """What a person without scripts reads."""
        words = "".join(data for tag, data in self.text if tag not in ("script", "style"))
        return " ".join(words.split())


def unpacked(packed: dict[str, Any]) -> list[dict[str, Any]]:
    """The other side of `pack` in Python, as page/data.js does it."""
    columns = packed["commands"]
    words: list[str] = []
    for same, rest in zip(packed["shared"], packed["words"], strict=True):
        words.append((words[-1][:same] if words else "") + rest)
    number = issued = 0
    line: list[int] = []
    found = []
    for at in range(len(columns["number"])):
        number += columns["number"][at]
        issued += columns["issued"][at]
        same, *own = columns["line"][at]
        line = line[:same] + own
        start = columns["started"][at]
        found.append(
            {
                "number": number,
                "command": " ".join(words[word] for word in line),
                "outputs": [words[word] for word in columns["outputs"][at]],
                "started": (max(0, issued) + start) / packed["ticks"] if start >= 0 else None,
                **{key: words[columns[key][at]] for key in ("tool", "folder", "cwd", "verdict")},
            }
        )
    return found


def test_what_is_packed_is_all_there() -> None:
    made = document(large(300))
    for before, after in zip(made["commands"], unpacked(pack(made)), strict=True):
        assert after["started"] == pytest.approx(before["started"], abs=1e-5)
        assert [f"{before['cwd']}/{name}" for name in after["outputs"]] == before["outputs"]
        for key in ("number", "command", "tool", "folder", "cwd", "verdict"):
            assert after[key] == before[key]


def test_who_had_it_is_packed() -> None:
    there = ran(1, 0, 1, 4, host="far:3632", sent=102 * S)
    packed = pack(document(build(ran(0, 0, 0, 1), there)))
    columns, words = packed["commands"], packed["words"]
    assert columns["sent"] == [-1, packed["ticks"]]
    assert packed["shared"][columns["host"][1]] == 0
    assert [words[at] for at in columns["host"]] == ["", "far:3632"]


def test_what_never_ran_is_packed_as_that() -> None:
    packed = pack(document(ordinary()))
    assert [row["started"] for row in unpacked(packed)][4:] == [None, None]


def test_json_in_a_script_can_neither_end_nor_confuse_it() -> None:
    made = script_safe({"all": HOSTILE})
    assert not re.search("[<>&\u2028\u2029]", made) and made.isascii()
    assert json.loads(made) == {"all": list(HOSTILE)}


def test_what_is_no_markup_is_escaped() -> None:
    """Whatever a template inserts, also as an attribute, in a macro or by a caller."""

    def made(template: str, **values: object) -> str:
        return environment().from_string(template).render(**values)

    assert made("<p class='{{ x }}'>{{ x }}</p>", x="<\"'&>").count("&lt;&#34;&#39;&amp;&gt;") == 2
    assert made("{{ x }}", x="a\x1b\udc80\n") == "a^[\N{REPLACEMENT CHARACTER}\n"
    assert made("{% macro m(y) %}<b>{{ y }}</b>{% endmacro %}{{ m(x) }}", x="<i>\a") == (
        "<b>&lt;i&gt;^G</b>"
    )
    with pytest.raises(UndefinedError):
        made("{{ missing }}")


def test_a_build_does_not_pay_for_the_templates() -> None:
    code = (
        "import sys\n"
        "import smpmake.cli.run, smpmake.cli.closing, smpmake.cli.report, smpmake.session\n"
        "from smpmake.reports import document, github, summary, terminal, why\n"
        "print(*{'jinja2', 'markupsafe'} & sys.modules.keys())\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


def test_a_hostile_project_stays_text() -> None:
    page = page_of(hostile())
    page.encode("utf-8")  # no half of a character is left
    read = Read(page)
    scripts = [attributes for name, attributes in read.tags if name == "script"]
    assert scripts == [{"type": "application/json", "id": "data"}, {}]
    assert not [1 for name, _ in read.tags if name in ("img", "iframe", "object", "embed", "base")]
    for _, attributes in read.tags:
        assert not [name for name in attributes if name.startswith("on")], attributes
    assert "<script>window.__pwned=1</script>" in read.said()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]", page)


def test_nothing_is_loaded_from_anywhere() -> None:
    read = Read(page_of(ordinary(), 3))
    for name, attributes in read.tags:
        for key in ("src", "href", "action", "data", "poster", "srcset", "xlink:href"):
            assert (attributes.get(key) or "#").startswith("#"), (name, attributes)
    styles = "".join(data for name, data in read.text if name == "style")
    assert "url(" not in styles and "@import" not in styles
    scripts = "".join(data for name, data in read.text if name == "script")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", scripts)
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(", scripts)


def test_the_policy_lets_only_our_script_run() -> None:
    page = page_of(ordinary())
    (policy,) = [
        attributes["content"] or ""
        for name, attributes in Read(page).tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest}';" in policy


def test_a_thousand_commands_are_300_kb_at_most() -> None:
    assert len(page_of(large(1000), 20).encode()) <= 300_000


def test_without_a_script_everything_that_matters_is_said() -> None:
    said = Read(page_of(ordinary(), 3)).said()
    for words in (
        "make failed with status 2 after 10.0 s",
        "gcc bad.o failed; its messages are below.",
        "bad.c:1: error: no",
        "gcc lib/alpha.o",
        "(archives)",
        "asks the tool about itself",
        "build 7",
        "this one",
    ):
        assert words in said, words
    fine = ordinary()
    fine.status = 0
    said = Read(page_of(fine, 3)).said()
    for words in (
        "smpmake built this in 10.0 s instead of about",
        "On 2 CPUs smpmake gained",
        "The time without smpmake is an estimate: ",
        "build everything with smpmake -j1 make once",
        "ld waited 6.0 s for ",
        "smpmake simulated the same commands",
    ):
        assert words in said, words


def test_the_driver_has_its_name_and_commands_run_in_parallel_or_in_place() -> None:
    """What records call them is for programs."""
    record = ordinary()
    record.command = ["/usr/bin/gmake", "all"]
    page = page_of(record)
    said = Read(page).said()
    for words in (
        "gmake waited",
        "gmake alone",
        "5 in parallel, 1 in place",
        "ran in place because it",
    ):
        assert words in said, words
    for words in ("driver", "deferred", "foreground"):
        assert words not in said.lower(), words
    assert pack(document(record))["driver"] == "gmake"


def test_an_estimate_is_never_called_measured() -> None:
    record = build(ran(0, 0, 0, 5), ran(1, 0, 0, 5, slot=1), wall=6)
    assert "was measured" not in Read(page_of(record)).said()
    record.serial = 11.5
    said = Read(page_of(record)).said()
    assert (
        "1.92 \N{MULTIPLICATION SIGN} as fast: smpmake built this in 6.0 s instead of 11.5 s"
    ) in said
    assert "The time without smpmake was measured; smpmake had estimated" in said
    assert "Without smpmake, estimated" in said and "Without smpmake, measured" in said


def test_one_cpu_has_no_other_one() -> None:
    assert "no other one" in Read(page_of(build(ran(0, 0, 0, 5), cpus=1))).said()


def test_builds_of_which_little_is_known_have_a_page() -> None:
    assert "nothing to run in parallel" in Read(page_of(build())).said()
    killed = build(ran(0, 0, 0, 0))
    killed.commands[0].ended = killed.ended = killed.driver_ended = 0
    killed.commands[0].state, killed.complete = "", False
    assert "was killed" in Read(page_of(killed)).said()


def test_what_commands_complained_of_and_where_it_ran() -> None:
    one = ordinary()
    one.commands[0].warnings, one.commands[0].said = 1, "a.c:1: warning: <b>unused</b>\n"
    said = Read(page_of(one)).said()
    assert "1 warning no flag named in 1 file a.c line 1: <b>unused</b>" in said
    assert said.count("bad.c:1: error: no") == 1, "what failed stands among the failures"
    for name, value in (("host", "host: a CPU (4 CPUs)"), ("compiler", "gcc: gcc 12 (/gcc)")):
        assert f"{name}{value}" in said


def test_long_output_and_many_failures_are_cut() -> None:
    record = ordinary()
    record.failures[0].output = b"x" * 100_000
    record.failures *= 60
    page = page_of(record)
    assert "and 84,000 characters more" in page and "and 10 more" in page
    assert page.count("<article") == 50


def test_colours_for_a_terminal_are_left_out() -> None:
    record = ordinary()
    record.failures[0].output = b"\x1b[01m\x1b[Kbad.c:1:\x1b[m\x1b[K error\r\n"
    assert "\nbad.c:1: error</pre>" in page_of(record)


def test_builds_before_are_those_of_this_folder_and_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from smpmake.cli.builds import earlier

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = tmp_path / "smpmake" / "history.db"
    others = [build(ran(0, 0, 0, 5), wall=6), build(wall=3), build(wall=4)]
    others[0].serial = 12.0
    others[1].command = ["make", "check"]
    others[2].cwd = "/elsewhere"
    for record in others:
        keep(path, record)
    last = build(wall=5)
    last.id = keep(path, last)
    (found,) = map(brief, earlier(last))
    assert found["id"] == 1 and found["status"] == 0
    assert found["wall"] == pytest.approx(6) and found["measured"]
    assert found["speedup"] == {"low": 2, "middle": 2, "high": 2}


@pytest.mark.slow
def test_the_command_writes_and_opens_a_page(space: Space) -> None:
    space.copy("sample")
    for _ in range(2):
        assert space.smpmake("-q", "make").status == 0
        space.ok("make", "clean")
    # What click opens pages with: a program that notes what it was asked to open.
    opener = space.root / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\necho "$1" > {space.root}/opened\n')
    opener.chmod(0o755)
    path = f"{opener.parent}:{space.environment['PATH']}"
    written = space.smpmake("report", "--html", "page.html", "--open", PATH=path)
    assert (written.status, written.out) == (0, ""), written
    page = (space.folder / "page.html").read_text()
    assert "this one" in Read(page).said()
    assert space.smpmake("report", "--html", "-").out == page
    refused = space.smpmake("report", "--html", "missing/page.html")
    assert refused.status != 0 and "cannot be written" in refused.err
