"""Command lines of generators: what is a job, and what is left where it stands."""

from __future__ import annotations

import pytest

from smpmake.commands.model import Kind
from smpmake.commands.pending_files import Foretold, ForetoldFiles
from tests.commands.disk import FakeFiles, meaning

GRAMMAR = "%token N\n%%\nall: N ;\n"
FILES = FakeFiles(
    {
        "g.y": GRAMMAR,
        "g.l": "%%\n. ;\n",
        "g.re": "/*!re2c */\n",
        "a.proto": "",
        "src/a-b.proto": "",
        **{
            f"{number}.y": f"{text}\n{GRAMMAR}"
            for number, text in enumerate(
                (
                    '%output "x.c"',
                    "%output = 'x.c'",
                    '%defines "x.h"',
                    '%header "x.h"',
                    '%file-prefix "x"',
                    "%verbose",
                    '%language "c++"',
                    '%skeleton "lalr1.cc"',
                    '%define api.location.file "l.hh"',
                    '/* % output "x.c" */',
                )
            )
        },
        **{
            f"{number}.l": f"%option {text}\n%%\n. ;\n"
            for number, text in enumerate(
                (
                    'outfile="x.c"',
                    'noyywrap header-file="x.h"',
                    'prefix="zz"',
                    "c++",
                    'tables-file="t"',
                    "backup",
                )
            )
        },
        "o.re": "/*!re2c re2c:flags:output = x.c; */",
        "h.re": "/*!header:re2c:on*/",
    },
    ["out"],
)

MADE = [
    ("bison g.y", ["g.tab.c"]),
    ("bison -d g.y", ["g.tab.c", "g.tab.h"]),
    ("bison -H../t.h -o out/g.cc -v g.y", ["out/g.cc", "../t.h", "out/g.output"]),
    ("bison --yacc -b q --defines g.y", ["q.tab.c", "q.tab.h"]),
    ("yacc -dv g.y", ["y.tab.c", "y.tab.h", "y.output"]),
    ("flex g.l", ["lex.yy.c"]),
    ("flex -o x.c 2.l", ["x.c"]),
    ("flex -Pzz g.l", ["lex.zz.c"]),
    ("re2c -o out/x.c -t x.h g.re", ["out/x.c", "out/x.h"]),
    ("gperf g.gperf --output-file=x.c", ["x.c"]),
    ("msgfmt -o a.mo a.po b.po", ["a.mo"]),
    ("moc -DX -I inc a.h -o moc_a.cpp", ["moc_a.cpp"]),
    ("gdbus-codegen --generate-c-code=x a.xml", ["x.h", "x.c"]),
    ("protoc --cpp_out=lite:out -I src src/a-b.proto", ["out/a-b.pb.h", "out/a-b.pb.cc"]),
    ("protoc --python_out=out src/a-b.proto", ["out/src/a_b_pb2.py"]),
    ("protoc -I. -I src --cpp_out . a.proto src/a-b.proto", None),
    ("xxd -i a.bin a.c", ["a.c"]),
]
LEFT = [
    ("bison", "reads-stdin"),
    ("bison -", "reads-stdin"),
    ("bison --version", "query"),
    ("bison --report=all g.y", "unknown-option"),
    ("bison -S lalr1.cc g.y", "unknown-option"),
    ("bison -Dapi.location.file=x g.y", "unpredictable-outputs"),
    ("bison -o parser g.y", "unpredictable-outputs"),
    ("bison none.y", "unreadable-source"),
    *((f"bison {number}.y", "unpredictable-outputs") for number in range(10)),
    *((f"flex {number}.l", "unpredictable-outputs") for number in range(6)),
    ("flex -b g.l", "unknown-option"),
    ("flex -t g.l", "writes-stdout"),
    ("flex -+ g.l", "unknown-option"),
    ("re2c g.re", "writes-stdout"),
    ("re2c -o x.c o.re", "unpredictable-outputs"),
    ("re2c -o x.c h.re", "unpredictable-outputs"),
    ("gperf g.gperf", "writes-stdout"),
    ("gperf", "reads-stdin"),
    ("msgfmt a.po", "unpredictable-outputs"),
    ("msgfmt --java -d . -r x a.po", "unknown-option"),
    ("msgfmt -o - a.po", "writes-stdout"),
    ("msgfmt -o /dev/null a.po", "unusual-output"),
    ("moc a.h", "writes-stdout"),
    ("moc @options", "unknown-option"),
    ("moc --collect-json a.json -o x", "unknown-option"),
    ("rcc --project -o x", "unknown-option"),
    ("glib-mkenums --template t a.h", "writes-stdout"),
    ("glib-mkenums @list", "unknown-option"),
    ("gdbus-codegen --generate-docbook x a.xml", "unknown-option"),
    ("gdbus-codegen --header --output-directory out a.xml", "unpredictable-outputs"),
    ("wayland-scanner client-header", "reads-stdin"),
    ("protoc --java_out=. a.proto", "unknown-option"),
    ("protoc --grpc_out=. --plugin=p a.proto", "unknown-option"),
    ("protoc --cpp_out=annotate_headers:. a.proto", "unpredictable-outputs"),
    ("protoc --cpp_out=. none.proto", "unpredictable-outputs"),
    ("protoc --cpp_out=. -Isrc a.proto", "unpredictable-outputs"),
    ("protoc a.proto", "unpredictable-outputs"),
    ("protoc @words", "unknown-option"),
    ("xxd a", "writes-stdout"),
    ("xxd -r a b", "unknown-option"),
    ("xxd -i", "reads-stdin"),
    ("pod2man", "reads-stdin"),
]


@pytest.mark.parametrize(("line", "made"), MADE)
def test_a_job_names_all_that_it_makes(line: str, made: list[str] | None) -> None:
    found = meaning(line, FILES)
    assert found.checked
    assert found.kind is Kind.GENERATE
    if made is None:
        assert found.refusal is not None
    else:
        assert found.refusal is None, (found.refusal, found.detail)
        assert [write.path for write in found.writes] == made


@pytest.mark.parametrize(("line", "refusal"), LEFT)
def test_all_else_is_left_where_it_stands(line: str, refusal: str) -> None:
    found = meaning(line, FILES)
    assert found.refusal == refusal
    assert found.checked


@pytest.mark.parametrize("line", ["bison g.y", "flex g.l", "re2c -o x.c g.re", "yacc g.y"])
def test_a_grammar_that_is_to_be_written_is_waited_for(line: str) -> None:
    source = line.split()[-1]
    files = ForetoldFiles(FILES, lambda path: Foretold.THERE if path == source else path)
    found = meaning(line, files)
    assert (found.refusal, found.reads) == ("pending-answer", (source,))
