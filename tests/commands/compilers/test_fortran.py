"""What a Fortran source says of modules: the real compiler writes just those."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpmake.commands.model import Reason
from tests.commands.disk import FakeFiles, RealFiles, meaning, run
from tests.support import needs

END = "\nend module\n"
#: name of the file, its text, and the modules in it.
SOURCES = {
    "plain": ("x.f90", f"module One{END}Module  TWO ! not three{END}", "one two"),
    "comments that end in &": ("x.f90", f"! call sub(a, &\n!   b)\nmodule c1{END}", "c1"),
    "a comment that goes on, and blank lines": ("x.f90", f"! prose, &\n\n\nmodule g3{END}", "g3"),
    "over two lines": ("x.f90", f"module &\n  ! really\n\n  c2{END}", "c2"),
    "a name over two lines": ("x.f90", f"module c2_&\n&name{END}", "c2_name"),
    "a word over two lines": ("x.f90", f"mod&\n&ule sp{END}", "sp"),
    "quotes": ("x.f90", f"module q\ncharacter(9) :: s = '! ; module no'{END}", "q"),
    "several in a line": ("x.f90", "module a; end module; module b; end module\n", "a b"),
    "a byte order mark": ("x.f90", f"\ufeffmodule bom{END}", "bom"),
    "carriage returns": ("x.f90", f"module cr{END}".replace("\n", "\r\n"), "cr"),
    "no module at all": (
        "x.f90",
        "subroutine s\ninteger :: module_x, used\nmodule_x = 1\nused = 2\nend subroutine\n",
        "",
    ),
    "procedures of a module": (
        "x.f90",
        (
            "module p\ninterface\nmodule subroutine s()\nend subroutine\n"
            "module pure integer function f(x)\ninteger, intent(in) :: x\nend function\n"
            "end interface\nend module\n"
        ),
        "p",
    ),
    "conditions": ("x.F90", f"#if 1\nmodule yes\n#else\nmodule no\n#endif{END}", "yes"),
    "columns": ("x.f", "      module c6\n      end module\nC     module no\n", "c6"),
    "columns without blanks": ("x.f", "      MODULEC5\n      END MODULE\n", "c5"),
    "columns with blanks": ("x.f", "      MODULE C5 B\n      END MODULE\n", "c5b"),
    "columns with numbers behind": (
        "x.f",
        f"{'      module c6':72}SEQ00010\n{'      end module':72}SEQ00020\n",
        "c6",
    ),
    "columns that go on": ("x.f", "      module k\nC x\n     + k\n      end module\n", "kk"),
    "columns by suffix": ("x.fpp", "C and now &\n      module m78\n      end module\n", "m78"),
    "an included file": ("x.f90", "include 'inc.f90'\n", "included"),
    "an included file of the preprocessor's": ("x.F90", '#include "inc.f90"\n', "included"),
    "one in angles": ("x.F90", "#include <inc.f90>\n", "included"),
    "a label": ("x.f90", f"10 module labelled{END}", "labelled"),
}
INCLUDED = "module included\nend module\n"


@pytest.mark.parametrize("name", SOURCES)
def test_modules_are_those_that_the_compiler_writes(tmp_path: Path, name: str) -> None:
    needs.require("gfortran")
    source, text, modules = SOURCES[name]
    (tmp_path / source).write_text(text, newline="")
    (tmp_path / "inc.f90").write_text(INCLUDED)
    line = f"gfortran -I. -c {source} -o x.o"
    foretold = meaning(line, RealFiles(tmp_path), cwd=str(tmp_path))
    done = run(line.split(), tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    wanted = {f"{module}.mod" for module in modules.split()}
    assert {path.name for path in tmp_path.glob("*.mod")} == wanted
    assert foretold.refusal is None, foretold.detail
    named = {write.path for write in foretold.writes if write.path.endswith(".mod")}
    assert wanted <= named
    if name != "conditions":
        assert named == wanted


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("use a", "a.mod"),
        ("use :: a", "a.mod"),
        ("use a, only : b => c", "a.mod"),
        ("use, non_intrinsic :: a", "a.mod"),
        ("use,intrinsic::iso_fortran_env", ""),
        ("10 use a", "a.mod"),
        ("if (x) use_it = 3", ""),
        ("!$ use a", "a.mod"),
        ("submodule (a) b", "a.smod"),
        ("submodule(a:b) c", "a@b.smod"),
    ],
)
def test_what_is_used(text: str, uses: str) -> None:
    found = meaning("gfortran -Jm -Ii -c s/x.f90", FakeFiles({"s/x.f90": f"{text}\n"}))
    wanted = [f"{folder}{use}" for use in uses.split() for folder in ("m/", "", "s/", "i/")]
    assert list(found.reads) == ["s/x.f90", *wanted]


@pytest.mark.parametrize(
    "text",
    [
        "#define CAT(a,b) a/**/b\nmodule CAT(c,_x)",
        "module PRE/**/_mod",
        "module y1 /* c */",
        "#define START module c9\nSTART",
        "#define NAME real\nmodule NAME",
        "module &\n#ifdef X\nx1\n#else\nx2\n#endif",
        '#include "not-there.h"',
        "#include FILE",
    ],
)
def test_what_only_the_preprocessor_knows_is_refused(text: str) -> None:
    found = meaning("gfortran -c x.F90", FakeFiles({"x.F90": f"{text}\nend module\n"}))
    assert found.refusal is Reason.WRITES_UNPREDICTABLE


@pytest.mark.parametrize("option", ["-Wp,-Dg=z", "-Xpreprocessor -Dg=z", "--define-macro=g=z"])
def test_macros_that_are_not_followed_are_refused(option: str) -> None:
    found = meaning(f"gfortran {option} -c x.F90", FakeFiles({"x.F90": "module g\nend module\n"}))
    assert found.refusal is not None and found.refusal.barrier


def test_independent_modules_are_independent() -> None:
    """No compile waits for another one's module files because they could be headers."""
    found = meaning("gfortran -c x.f90", FakeFiles({"x.f90": "module x\nend module\n"}))
    assert [write.header for write in found.writes if "mod" in write.path] == [False, False]
