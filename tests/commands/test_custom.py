"""Tools that the configuration describes."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpmake.commands import custom
from smpmake.commands.model import Analysis, Invocation, Reason
from smpmake.config import ConfigError, Settings, merge
from tests.commands.disk import FakeFiles

PACKER = """
[tools.packer]
kind = "archive"
output = ["-o*", "--out=", "--into"]
reads = ["-d", "--defs"]
flags = ["-q", "-O*"]
values = ["--level"]
also = ["{base}.map", "{output}.log"]
headers = false
"""


def settings(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / ".smpmake.toml"
    path.write_text(text)
    return merge(Settings(), path)


def meaning(tmp_path: Path, text: str, line: str) -> Analysis:
    (tool,) = settings(tmp_path, text).tools
    files = FakeFiles({"words.rsp": "-q -o r.out x"}, ["folder"])
    found: Analysis = custom.family(tool).analyse(
        Invocation(tuple(line.split()), "/build", dict[str, str]().get, files)
    )
    return found


@pytest.mark.parametrize(
    ("line", "reads", "writes"),
    [
        ("packer -o out.pk a b", "a b", "out.pk out.map out.pk.log"),
        ("packer -oout.pk a", "a", "out.pk out.map out.pk.log"),
        ("packer --out=d/o a", "a", "d/o d/o.map d/o.log"),
        ("packer --into o a", "a", "o o.map o.log"),
        ("packer -q -O3 --level 9 -d defs --defs more a -o o", "a defs more", "o o.map o.log"),
        ("packer @words.rsp", "x words.rsp", "r.out r.map r.out.log"),
    ],
)
def test_what_it_reads_and_writes(tmp_path: Path, line: str, reads: str, writes: str) -> None:
    found = meaning(tmp_path, PACKER, line)
    assert found.refusal is None
    assert found.reads == tuple(reads.split())
    assert [write.path for write in found.writes] == writes.split()
    assert [write.target for write in found.writes] == [True, False, False]
    assert not found.undeclared


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("packer -x -o out a", Reason.UNKNOWN_OPTION),
        ("packer -o out -debug a", Reason.UNKNOWN_OPTION),
        ("packer -o out -", Reason.READS_STDIN),
        ("packer -o out - --mystery", Reason.UNKNOWN_OPTION),
        ("packer -o - a", Reason.UNUSUAL_OUTPUT),
        ("packer -o out/ a", Reason.UNUSUAL_OUTPUT),
        ("packer -o folder a", Reason.UNUSUAL_OUTPUT),
        ("packer --outfit -o out a", Reason.UNKNOWN_OPTION),
        ("packer --help", Reason.UNKNOWN_OPTION),
        ("packer", Reason.QUERY),
        ("packer -o out -", Reason.READS_STDIN),
        ("packer a b", Reason.UNUSUAL_OUTPUT),
        ("packer -o /dev/null a", Reason.UNUSUAL_OUTPUT),
        ("packer @no.rsp", Reason.UNREADABLE_RESPONSE_FILE),
    ],
)
def test_what_is_not_deferred(tmp_path: Path, line: str, reason: Reason) -> None:
    assert meaning(tmp_path, PACKER, line).refusal is reason


def test_several_outputs(tmp_path: Path) -> None:
    text = '[tools.gen]\noutput = ["-o", "--header="]\n'
    found = meaning(tmp_path, text, "gen -o p.c --header=p.h p.y")
    assert [write.path for write in found.writes] == ["p.c", "p.h"]


def test_what_it_reads_it_may_rewrite(tmp_path: Path) -> None:
    (write,) = meaning(tmp_path, '[tools.fmt]\ndefault = "{input}"\n', "fmt a").writes
    assert write.in_place


def test_outputs_named_after_inputs(tmp_path: Path) -> None:
    text = '[tools."my*c"]\ndefault = "{stem}.obj"\nalso = ["{input}.lst", "{name}.d"]\n'
    found = meaning(tmp_path, text, "my-c sub/a.src b.src")
    written = [write.path for write in found.writes]
    assert written == ["a.obj", "sub/a.src.lst", "a.src.d", "b.obj", "b.src.lst", "b.src.d"]
    assert found.undeclared


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tools = 3", "'tools' must be a table"),
        ("[tools]\nx = 3", "tools.x must be a table"),
        ("[tools.x]\nouput = ['-o']", "unknown key 'ouput' in tools.x; did you mean 'output'?"),
        ("[tools.x]\noutput = '-o'", 'tools.x.output must be a list of options, or "stdout"'),
        ("[tools.x]\noutput = [1]", "tools.x.output must be a list of texts"),
        ("[tools.x]\noutput = 'stdout'\ndefault = 'x'", "neither default nor also"),
        ("[tools.x]\noutput = 'stdout'\nalso = ['x']", "neither default nor also"),
        ("[tools.x]\noutput = ['-o']\nkind = 'cook'", "tools.x.kind must be one of compile"),
        ("[tools.x]\noutput = ['-o']\nheaders = 1", "tools.x.headers must be true or false"),
        ("[tools.x]\ndefault = 1", "tools.x.default must be a text"),
        ("[tools.x]\noutput = ['o']", "tools.x.output: 'o' is no option"),
        ("[tools.x]\ndefault = '{stem'", "tools.x.default: '{stem' has a brace too many"),
        ("[tools.x]\nflags = ['-q']", "say how its output is named"),
        ("[tools.x]\ndefault = '{base}'", "{base} is none of {input}, {name}, {stem}"),
        ("[tools.x]\noutput=['-o']\nalso = ['{x}']", "tools.x.also: {x} is none of"),
    ],
)
def test_a_wrong_description_is_told(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as fault:
        settings(tmp_path, text)
    assert says in str(fault.value)
    assert str(tmp_path / ".smpmake.toml") in str(fault.value)
