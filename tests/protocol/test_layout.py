"""What Python knows of native/layout is what a C compiler makes of them."""

from __future__ import annotations

import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from smpmake.protocol import layout

ROOT = Path(__file__).parent.parent.parent
NATIVE = ROOT / "smpmake" / "native"
HOOK = runpy.run_path(str(ROOT / "hatch_layout.py"))
STRUCTURES = [name[: -len("_LAYOUT")] for name in vars(layout) if name.endswith("_LAYOUT")]


def assertions() -> list[str]:
    lines = []
    for name in STRUCTURES:
        structure = f"struct {name.lower()}"
        places = getattr(layout, f"{name}_AT")
        lines += [f"offsetof({structure}, {field}) == {at}" for field, at in places.items()]
        lines.append(f"sizeof({structure}) == {getattr(layout, f'{name}_LAYOUT').size}")
    for name, value in vars(layout).items():
        if isinstance(value, int):
            lines.append(f"{name} == {value}LL")
    return lines


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("right", [True, False])
def test_a_c_compiler_has_the_same_places_and_numbers(tmp_path: Path, right: bool) -> None:
    source = tmp_path / "layout.c"
    lines = ["#include <stddef.h>", *(f'#include "layout/{header}"' for header in HOOK["HEADERS"])]
    told = [*assertions(), *([] if right else ["offsetof(struct board, slots) == 8"])]
    assert len(told) > 200
    lines += [f'_Static_assert({each}, "");' for each in told]
    source.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        ["cc", "-std=c11", "-D_GNU_SOURCE", f"-I{NATIVE}", "-fsyntax-only", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is right, done.stderr


def test_the_module_is_that_of_these_headers() -> None:
    assert layout.__file__ is not None
    assert Path(layout.__file__).read_text() == HOOK["module"](NATIVE)


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ("struct gap {\n\tuint32_t a;\n\tuint64_t b;\n};\n", "a gap before b"),
        ("struct odd {\n\tsize_t a;\n};\n", "size_t"),
        ("#define TEXT sizeof(int)\n", "sizeof"),
    ],
)
def test_what_cannot_be_written_down_is_said(tmp_path: Path, header: str, why: str) -> None:
    for name in HOOK["HEADERS"]:
        path = tmp_path / "layout" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(header)
    with pytest.raises(HOOK["HeaderError"], match=why):
        HOOK["module"](tmp_path)
