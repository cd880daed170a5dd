"""What Open Watcom's command lines mean, row by row."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from smpmake.commands.families import find
from smpmake.commands.model import Analysis, Invocation, Kind, Reason
from smpmake.commands.watcom.directives import DIRECTIVE_WORDS, DIRECTIVES, OPTIONS
from smpmake.commands.watcom.options import (
    ASSEMBLER,
    COMMON,
    CXX,
    DRIVER,
    OF_ASSEMBLER,
    OF_C,
    OF_CXX,
    OF_DRIVER,
    C,
    Do,
    Options,
)
from smpmake.commands.watcom.words import place
from tests.commands.disk import FakeFiles, meaning

FILES = FakeFiles(
    {
        "a.c": '#include "a.h"\n',
        "b.c": '#include "b.h"\n',
        "c.c": '#include "a.h"\n',
        "a.cpp": '#include "a.h"\n',
        "x.cc": "",
        "../c/far.c": "",
        "opts": "-zq @more",
        "more": "-d2 a.c",
        "loop": "@loop",
        "objs": "+never.obj",
        "objs.txt": "+a.obj +b.obj # not c.obj\n# nor d.obj\n",
        "objs.lbc": "+l.obj",
        "link.lnk": "name prog # not this\nfile a.o, 'b c.o' @libs\n",
        "libs": "library one,two.lib\n",
        "old.lib": "",
    }
)
ENVIRONMENT = {"OPTIONS": "-ox b.c", "opts_too": "-zq"}


def look(line: str | list[str], **more: str) -> Analysis:
    return meaning(line, FILES, {**ENVIRONMENT, **more})


def written(found: Analysis) -> str:
    """The writes in order; what is removed has a minus before it."""
    return " ".join("-" * write.removed + write.path for write in found.writes)


COMPILES = {
    # Where the object goes: the current folder, and what -fo= leaves out is the usual.
    "wcc386 a.c": "a.o a.err -a.d",
    "wcc386 src/a.c": "a.o a.err -a.d",
    "wcc386 -fo=.obj a.c": "a.obj a.err -a.d",
    "wcc386 -fo=sub/ a.c": "sub/a.o a.err -a.d",
    "wcc386 -fo=sub/.obj a.c": "sub/a.obj a.err -a.d",
    "wcc386 -fo=*.obj a.c": "a.obj a.err -a.d",
    "wcc386 -fo=sub a.c": "sub.o a.err -a.d",
    "wcc386 -fo=sub/x.obj a.c": "sub/x.obj a.err -a.d",
    "wcc386 -fo=x.o -fo=y.o a.c": "y.o a.err -a.d",
    "wcc386 -nm=m a.c": "m.o a.err -a.d",
    "wcc386 -nm=m -fo=sub/.obj a.c": "sub/m.obj a.err -a.d",
    "wcc386 -nm=m -fo=x.obj a.c": "x.obj a.err -a.d",
    # Signs before values, case, chains.
    "wcc386 -fo#x.obj a.c": "x.obj a.err -a.d",
    "wcc386 -fox.obj a.c": "x.obj a.err -a.d",
    "wcc386 -FO=x.obj a.c": "x.obj a.err -a.d",
    "wcc386 -zq-fo=x.obj a.c": "x.obj a.err -a.d",
    "wcc386 -zp4-oaxt-w3-fo=x-y.obj a.c": "x-y.obj a.err -a.d",
    # Messages.
    "wcc386 -fr=e a.c": "a.o e.err -a.d",
    "wcc386 -fr=e.txt a.c": "a.o e.txt -a.d",
    "wcc386 -fr=dir/ a.c": "a.o dir/a.err -a.d",
    "wcc386 -fr a.c": "a.o -a.d",
    "wcc386 -fr-zq a.c": "a.o -a.d",
    # Dependencies: made, or removed.
    "wcc386 -ad a.c": "a.o a.err a.d",
    "wcc386 -ad=x.dep a.c": "a.o a.err x.dep",
    "wcc386 -adt=a.obj a.c": "a.o a.err a.d",
    "wcc386 -add=a.c a.c": "a.o a.err a.d",
    "wcc386 -adhp=inc a.c": "a.o a.err a.d",
    "wcc386 -adfs a.c": "a.o a.err -a.d",
    # Other side files.
    "wcc386 -v a.c": "a.o a.err -a.d a.def",
    "wcc386 -db a.c": "a.o a.err -a.d a.mbr",
    "wcc386 -p -fo=a.i a.c": "a.i a.err -a.d",
    "wcc386 -pl-fo=a.i a.c": "a.i a.err -a.d",
    # Definitions are no other options.
    "wcc386 -dDEBUG -dN=1 -d2 a.c": "a.o a.err -a.d",
    "wcc386 -dfo=x.obj a.c": "a.o a.err -a.d",
    # Other tools.
    "wcc a.c": "a.o a.err -a.d",
    "bwcc386 a.c": "a.o a.err -a.d",
    "bwpp386 a.cpp": "a.o a.err -a.d",
    "wpp386 a.cpp x.cc": "a.o a.err -a.d x.o x.err -x.d",
    "wasm a.asm": "a.o a.err",
    "wasm -fl=a.lst a.asm": "a.o a.err a.lst",
    # A precompiled header.
    "wcc386 -fh a.c": "a.o a.err -a.d wcc386.pch",
    "wpp386 -fhq a.cpp": "a.o a.err -a.d wpp386.pch",
    "wpp386 -fhq=my.pch a.cpp": "a.o a.err -a.d my.pch",
    "bwpp386 -fh a.cpp": "a.o a.err -a.d wpp386.pch bwpp386.pch",
    "wpp386 -fhwe a.cpp": "a.o a.err -a.d wpp386.pch",
    "wpp386 -fhd -fh=my.pch a.cpp": "a.o a.err -a.d my.pch",
    "wpp386 -fhw a.cpp": "a.o a.err -a.d wpp386.pch",
    "wpp386 -fhr -fh=my.pch a.cpp": "a.o a.err -a.d",
    # As Open Watcom's own makefiles chain them.
    "bwcc386 -wx-wce=C310-we-j-zastd=c99-zl-x-xx-zam-wpx a.c": "a.o a.err -a.d",
    "wpp386 -w8-wce=P579-j-we-zl-x-xx-zam-wpx-zastd=c++98-zku8-zx a.cpp": "a.o a.err -a.d",
    # Drivers.
    "wcl386 -c a.c": "a.o a.err -a.d",
    "wcl386 a.c": "a a.o a.err -a.d",
    "wcl386 -bt=nt a.c": "a.exe a.o a.err -a.d",
    "wcl386 -l=dos4g a.c": "a.exe a.o a.err -a.d",
    "wcl386 -fe=prog -fm=prog.map a.c x.obj": "prog a.o a.err -a.d prog.map",
    "wcl386 -fo=sub/ -c a.c": "sub/a.o a.err -a.d",
    "wcl386 a.o b.obj": "a",
    "owcc -c a.c": "a.o -a.d",
    "owcc -c -o x.o a.c": "x.o -a.d",
    "owcc -o prog a.c b.c -lm": "prog a.o -a.d b.o -b.d",
    "owcc -b nt -o p.exe a.c": "p.exe a.o -a.d",
}


@pytest.mark.parametrize("line", COMPILES)
def test_what_a_compile_writes(line: str) -> None:
    found = look(line)
    assert found.refusal is None, (found.refusal, found.detail)
    assert written(found) == COMPILES[line]


READS = {
    "wcc386 a": "a.c",
    "wcc386 far.c": "../c/far.c",
    "wcc386 far": "../c/far.c",
    "wpp386 x": "x.cc",
    "wpp386 new": "new.C new.cpp new.cc new.c new.cxx",
    "wcc386 -fi=first.h a.c": "first.h a.c",
    "wpp386 -fhr a.cpp": "a.cpp wpp386.pch",
    "wpp386 -fhr -fh=my.pch a.cpp": "a.cpp my.pch",
    "wcc386 @opts": "a.c",
    "wcc386 @OPTIONS": "b.c",
    "wlink system linux file a.o": "a.o wlink.lnk",
    "wlink sys linux f a,b": "a.o a.obj b.o b.obj wlink.lnk",
    "wlink sys linux f {a.o b.o} f c.o": "a.o b.o c.o wlink.lnk",
    "wlink sys nt n x @link.lnk": "a.o b c.o one.lib two.lib wlink.lnk",
    "wlink sys linux path sub f a.o": "a.o sub/a.o wlink.lnk",
    "wlink sys linux libp l1:l2 f a.o lib m": "a.o m.lib l1/m.lib l2/m.lib wlink.lnk",
    "wlink sys nt f a.o export =names.lbc op resource=r.res": "a.o names.lbc r.res wlink.lnk",
    "wlib new +a.obj -+b.obj c.obj -d": "a.obj b.obj c.obj",
    "wlib new +a ++dll.dll": "a.o a.obj dll.dll",
    "wlib new @objs": "l.obj",
    "wlib new @objs.txt": "a.obj b.obj",
}


@pytest.mark.parametrize("line", READS)
def test_what_is_read(line: str) -> None:
    found = look(line)
    assert found.refusal is None, (found.refusal, found.detail)
    assert " ".join(found.reads) == READS[line]


LINKS = {
    "wlink system linux name prog file a.o": "prog",
    "wlink SYSTEM LINUX NAME prog FILE a.o": "prog",
    "wlink system linux file a.o,b.o": "a",
    "wlink system nt file a.obj": "a.exe",
    "wlink system nt name p.dll file a.obj": "p.dll",
    "wlink system nt_dll name p file a.obj": "p.dll",
    "wlink format elf name p file a.o": "p",
    "wlink format windows nt dll name p file a.o": "p.dll",
    "wlink name p.elf file a.o": "p.elf",
    "wlink sys linux n p op map f a.o": "p p.map",
    "wlink sys linux n p op map=m,symf,quiet f a.o": "p m.map p.sym",
    "wlink sys nt n p op implib=i f a.o": "p.exe i.lib",
    "wlink sys linux debug all n p f a.o": "p",
    "wlib new.lib +a.obj": "new.lib new.bak",
    "wlib -b new +a.obj": "new.lib",
    "wlib -q-b sub/new +a.obj": "sub/new.lib",
    "wlib -n -b old +a.obj": "old.lib",
    "wlib -o=out old +a.obj": "out.lib",
}


@pytest.mark.parametrize("line", LINKS)
def test_what_a_link_or_a_librarian_writes(line: str) -> None:
    found = look(line)
    assert found.refusal is None, (found.refusal, found.detail)
    assert written(found) == LINKS[line]


REFUSED = {
    "wcc386": Reason.QUERY,
    "wcc386 -?": Reason.QUERY,
    "wlink": Reason.QUERY,
    "wlib": Reason.QUERY,
    "wcl386": Reason.QUERY,
    "wcc386 a.c b.c": Reason.MALFORMED,
    "wcc386 -never a.c": Reason.UNKNOWN_OPTION,
    "wcc386 -zq-never a.c": Reason.UNKNOWN_OPTION,
    "wcc386 -d+ a.c": Reason.UNKNOWN_OPTION,
    "wcc386 .": Reason.READS_STDIN,
    "wcc386 -p a.c": Reason.WRITES_STDOUT,
    "wcc386 -p -fo=x a.c": Reason.WRITES_UNPREDICTABLE,
    "wcc386 -zs a.c": Reason.WRITES_NOTHING,
    "wcc386 -fo=/dev/null a.c": Reason.DISCARDED_OUTPUT,
    "wpp386 -fc=batch": Reason.WRITES_UNPREDICTABLE,
    "wcc386 @nowhere": Reason.UNREADABLE_RESPONSE_FILE,
    "wcc386 @loop": Reason.UNREADABLE_RESPONSE_FILE,
    "wlink @nowhere": Reason.UNREADABLE_RESPONSE_FILE,
    "wlink @loop": Reason.UNREADABLE_RESPONSE_FILE,
    "wlib old @nowhere": Reason.UNREADABLE_RESPONSE_FILE,
    "wlink never a.o": Reason.UNKNOWN_OPTION,
    "wlink sys linux op never f a.o": Reason.UNKNOWN_OPTION,
    "wlink sys linux op cvpack f a.o": Reason.UNKNOWN_OPTION,
    "wlink file a.o": Reason.WRITES_UNPREDICTABLE,
    "wlink sys strange file a.o": Reason.WRITES_UNPREDICTABLE,
    "wlink sys nt op incremental file a.o": Reason.IN_PLACE,
    "wlink sys nt op incremental file a*.o": Reason.UNKNOWN_OPTION,
    "wlink sys linux name p": Reason.MALFORMED,
    "wlib -never old +a": Reason.UNKNOWN_OPTION,
    "wlib -q": Reason.MALFORMED,
    "wlib old": Reason.WRITES_STDOUT,
    "wlib -l=old.lst old": Reason.WRITES_UNPREDICTABLE,
    "wlib old *a.obj": Reason.WRITES_UNPREDICTABLE,
    "wlib old :a.obj": Reason.WRITES_UNPREDICTABLE,
    "wlib -x old": Reason.WRITES_UNPREDICTABLE,
    "wcl386 a.pas": Reason.UNKNOWN_LANGUAGE,
    "wcl386 -l=strange a.c": Reason.WRITES_UNPREDICTABLE,
    "wcl386 -@link a.c": Reason.UNKNOWN_OPTION,
    "owcc a.c": Reason.WRITES_UNPREDICTABLE,
    "owcc -S a.c": Reason.UNKNOWN_OPTION,
    "owcc -c -o x.o a.c b.c": Reason.MALFORMED,
}


@pytest.mark.parametrize("line", REFUSED)
def test_refused_with_a_name(line: str) -> None:
    assert look(line).refusal is REFUSED[line]


def test_an_argument_is_split_again_at_blanks() -> None:
    found = look(["wcc386", "-zq -fo=x.obj a.c"])
    assert written(found) == "x.obj a.err -a.d"
    found = look(["wcc386", '-fo="my objects/" "a b.c"'])
    assert written(found) == "my objects/a b.o a b.err -a b.d"


def test_variables_come_first_and_the_command_line_outdoes_them() -> None:
    assert written(look("wcc386 a.c", WCC386="-fo=.obj -ad")) == "a.obj a.err a.d"
    assert written(look("wcc386 -fo=.o a.c", WCC386="-fo=.obj")) == "a.o a.err -a.d"
    assert written(look("wcc a.c", WCC386="-fo=.obj")) == "a.o a.err -a.d"
    assert look("wcc386 a.c", WCC386="b.c").refusal is Reason.UNUSUAL_ENVIRONMENT
    assert written(look("wpp386 a.cpp", WPP386="-v")) == "a.o a.err -a.d a.def"
    assert written(look("wasm a.asm", WASM="-fo=x.obj")) == "x.obj a.err"
    assert written(look("wlink f a.o", WLINK="system nt")) == "a.exe"


def test_a_variable_comes_before_a_file_but_not_for_the_linker() -> None:
    assert look("wcc386 @opts", opts="b.c").reads == ("b.c",)
    assert look("wlink sys nt @link.lnk", **{"link.lnk": "file v.o"}).reads[0] == "a.o"
    assert look("wlink sys nt @other", other="file v.o").reads[0] == "v.o"
    assert look("wlib new @objs", objs="+v.obj").reads == ("v.obj",)
    # The librarian's files have a suffix where none is given.
    assert look("wlib new @objs").reads == ("l.obj",)


def kept(found: Analysis) -> tuple[tuple[str, ...], list[str]]:
    """The command that is run, and the texts that it needs."""
    texts: list[str] = []

    def keep(text: str) -> str:
        texts.append(text)
        return "/private/1"

    assert found.argv is not None
    return found.argv(keep), texts


def test_response_files_are_taken_at_issue() -> None:
    assert kept(look("wcc386 @opts -v")) == (("wcc386", "-zq", "-d2", "a.c", "-v"), [])
    argv, (text,) = kept(look("wlink sys linux @link.lnk"))
    assert argv == ("wlink", "@/private/1")
    assert "library one,two.lib" in text and "'b c.o'" in text and "@" not in text
    argv, (text,) = kept(look("wlib -q new @objs.txt"))
    assert argv == ("wlib", "@/private/1")
    assert text.split() == ["-q", "new", "+a.obj", "+b.obj"]
    for line in ("wcc386 a.c", "wlink sys linux f a.o", "wlib new +a.obj"):
        assert look(line).argv is None


def test_who_may_share_a_precompiled_header() -> None:
    kin = look("wcc386 -fh -zq a.c").kin
    assert kin == look("wcc386 -fh -zq -fo=x.obj -ad c.c").kin
    others = ("-fh -zq -dX a.c", "-fh -zq b.c", "-fh -zq new.c")
    for line in others:
        assert look(f"wcc386 {line}").kin != kin, line
    (header,) = [write for write in look("wcc386 -fh a.c").writes if write.shared]
    assert header.in_place and not header.timed and not header.target


def test_the_librarian_is_alone_in_its_folder() -> None:
    one, two = look("wlib sub/one +a.obj"), look("wlib sub/two +b.obj")
    assert set(one.alone) & set(two.alone)
    assert look("wlib -n old +a.obj").writes[0].in_place is False
    assert look("wlib old +a.obj").writes[0].in_place is True


def test_several_sources_are_compiled_apart() -> None:
    found = look("wcl386 -zq a.c b.c x.obj -fe=p")
    assert found.split is not None
    first, second, link = found.split("")
    assert first.argv == ("wcl386", "-zq", "a.c", "-fe=p", "-c")
    assert second.analysis.reads == ("b.c",)
    assert link.argv == ("wcl386", "-zq", "a.o", "b.o", "x.obj", "-fe=p")
    assert written(link.analysis) == "p"
    assert link.analysis.kind is Kind.LINK
    assert look("wcl386 -zq a.c b.c -fd=kept.lnk").split is None
    found = look("wpp386 -zq a.cpp x.cc")
    assert found.split is not None
    assert [part.argv for part in found.split("")] == [
        ("wpp386", "-zq", "a.cpp"),
        ("wpp386", "-zq", "x.cc"),
    ]


MAKES = {
    "wmake": "wmake -c -z",
    "wmake -f x all": "wmake -c -z -f x all",
    "wmake -c": "wmake -z -c",
    "wmake -C -E": "wmake -C -E",
    "wmake -ms x": "wmake -ms -z x",
    "wmake -ux": "wmake -z -ux",
    "wmake -f -c": "wmake -c -z -f -c",
    "wmake -k -i -u": "wmake -c -z -k -i -u",
    "bwmake -h": "bwmake -c -z -h",
}


@pytest.mark.parametrize("line", MAKES)
def test_wmake_does_not_look_for_targets_and_asks_nobody(line: str) -> None:
    found = look(line)
    assert found.kind is Kind.BUILD and found.refusal is Reason.NO_TARGET_CHECK
    assert kept(found)[0] == tuple(MAKES[line].split())


@pytest.mark.parametrize("tool", ["wcc", "wcc386", "wpp", "wpp386", "wasm", "wcl", "wcl386"])
@pytest.mark.parametrize("prefix", ["", "b"])
def test_names(tool: str, prefix: str) -> None:
    assert find(prefix + tool) is not None
    assert find(f"x{tool}") is None


def test_linkers_names_may_be_cut_short_behind_their_capitals() -> None:
    assert DIRECTIVE_WORDS["f"] is DIRECTIVE_WORDS["file"]
    assert DIRECTIVE_WORDS["libp"] is DIRECTIVE_WORDS["libpath"]
    assert "sy" not in DIRECTIVE_WORDS and "sys" in DIRECTIVE_WORDS
    for table in (DIRECTIVES, OPTIONS):
        names = [name.lower() for text in table.values() for name in text.split()]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("rows", [COMMON, C, CXX, ASSEMBLER, DRIVER])
def test_tables_hold_each_name_once_and_in_lower_case(rows: dict[tuple[Do, object], str]) -> None:
    names = [name for text in rows.values() for name in text.split()]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9?@#+~!]+", name) for name in names)


@pytest.mark.parametrize("options", [OF_C, OF_CXX, OF_ASSEMBLER, OF_DRIVER])
def test_every_name_finds_itself(options: Options) -> None:
    for name in options.rows:
        hits = options.find(f"-{name}") or options.find(f"-{name}X=1")
        assert hits is not None and hits[0].name == name, name


@pytest.mark.parametrize(
    ("pattern", "path"), [("", "a.o"), ("/", "/a.o"), ("x.", "x."), ("s/*", "s/a.o")]
)
def test_places(pattern: str, path: str) -> None:
    assert place(pattern, "a", ".o") == path


def test_the_example_of_how_to_add_a_family() -> None:
    """docs/adding-a-family.md, as it stands there."""
    page = Path(__file__).parents[3] / "docs" / "adding-a-family.md"
    code, entry = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    module: dict[str, Any] = {"__name__": "packer"}
    exec(code, module)
    row = re.fullmatch(r' *Family\("packer", r"(.*)", _in\("packer"\)\),\n', entry)
    assert row is not None
    assert re.fullmatch(row[1], "packer-2")

    def look(line: str) -> Analysis:
        nothing = dict[str, str]().get
        found: Analysis = module["analyse"](Invocation(tuple(line.split()), "/", nothing, FILES))
        return found

    found = look("packer -q -d defs -oout a b")
    assert (found.reads, written(found)) == (("defs", "a", "b"), "out")
    assert look("packer --never").refusal is Reason.UNKNOWN_OPTION
    assert look("packer --help").refusal is Reason.QUERY
    assert look("packer a").refusal is Reason.MALFORMED
