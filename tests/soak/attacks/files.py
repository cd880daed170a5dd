"""Files that many cases begin with."""

from __future__ import annotations

from tests.soak.attacks.case import text

SMALL = {
    "a.c": '#include "a.h"\nint f(void) { return A; }\n',
    "a.h": "#define A 1\n",
    "m.c": "int main(void) { return 0; }\n",
}
#: A function that a program calls, and one that stands alone.
CALLING = {
    **SMALL,
    "v.c": "int f(void) { return V; }\n",
    "mf.c": "int f(void);\nint main(void) { return f(); }\n",
}
#: A program of two sources, and a source that does not compile.
PRINTING = {
    "a.c": '#include "a.h"\nint f(void) { return A; }\n',
    "a.h": "#define A 1\n",
    "m.c": '#include <stdio.h>\nint f(void);\nint main(void) { printf("%d\\n", f()); return 0; }\n',
    "bad.c": "int x = ;\n",
}
#: A wrapper of a compiler that fails late.
LATE = text(
    """
    #!/bin/sh
    pause
    exit 1
    """
)
BAD = "int x = ;\n"
#: A source that takes a compiler a while.
SLOW = "".join(
    f"int f{number}(int a, int b) {{ int s = 0; for (int k = 0; k < a; k++) for (int j = 0; j < b;"
    f" j++) s += k * j % ({number} + 3); return s; }}\n"
    for number in range(300)
)
