"""What the store makes of an object or a dependency file for another tree, as a program."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from smpmake import native

_SOURCES: Final = Path(native.__file__).parent
_PROGRAM: Final = """
#include "memo/NAME.h"
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    static char room[1 << 22];
    size_t size = fread(room, 1, sizeof room, stdin);
    if (argc != 3)
        return 4;
    const struct memo_place from = {argv[1], strlen(argv[1])}, to = {argv[2], strlen(argv[2])};
    char *made = CALL(room, &size, &from, &to);
    if (made == NULL)
        return 3;
    fwrite(made, 1, size, stdout);
    return 0;
}
"""


def renamer(folder: Path, name: str, call: str) -> Path:
    """Compiles it: `PROGRAM FROM TO` takes its standard input; status 3 where that is refused.

    name  the room's source in native/memo, whose function is `call`.
    """
    source, program = folder / f"{name}.c", folder / name
    source.write_text(_PROGRAM.replace("NAME", name).replace("CALL", call))
    rooms = [f"{_SOURCES}/{room}.c" for room in (f"memo/{name}", "memo/tree", "base/util")]
    command = ["cc", "-O1", "-D_GNU_SOURCE", f"-I{_SOURCES}", "-o", f"{program}"]
    subprocess.run([*command, f"{source}", *rooms], check=True)
    return program
