"""The variables by which a session, its guards and its shims know each other.

They are nobody else's, and so begin with `_`; those without are the user's (smpmake.options).
native/layout/wire.h has the prefix, too.
"""

from __future__ import annotations

from typing import Final

OURS: Final = "_SMPMAKE_"
#: Of all settings and of what is ours: neither is the build's own.
PREFIXES: Final = (OURS, "SMPMAKE_")
#: Where the session is reached: its socket, its scoreboard, which of its builds is meant.
SOCKET: Final = f"{OURS}SOCKET"
BOARD: Final = f"{OURS}BOARD"
BUILD: Final = f"{OURS}BUILD"
#: Of a guarded build: the guard's library, and the folder of the shims that it calls.
GUARD: Final = f"{OURS}GUARD"
SHIMS: Final = f"{OURS}SHIMS"
#: Which command a process is part of, and where what it reads is noted.
COMMAND: Final = f"{OURS}COMMAND"
TRACE: Final = f"{OURS}TRACE"
#: The nearest guarded process above; the nearest without a guard.
CALLER: Final = f"{OURS}CALLER"
UNGUARDED: Final = f"{OURS}UNGUARDED"
#: For a shim: the tool or the line that it stands for, and how many shims are above it.
REAL: Final = f"{OURS}REAL"
LINE: Final = f"{OURS}LINE"
#: Which recipe a process is part of, where `smpmake check` tells them apart.
RECIPE: Final = f"{OURS}RECIPE"
DEPTH: Final = f"{OURS}DEPTH"
#: How a session's commands remember results; what runs a command to remember its result, and what
#: looks first whether that is remembered, where other commands are pending.
MEMO: Final = f"{OURS}MEMO"
MEMORUN: Final = f"{OURS}MEMORUN"
RECALL: Final = f"{OURS}RECALL"
#: How many checks of configure run ahead of their script at once, and what runs them; the
#: interpreter that reads an unknown script; where a check that runs ahead says that it is at work,
#: and what its script inherited.
AHEAD: Final = f"{OURS}AHEAD"
READER: Final = f"{OURS}READER"
MARKS: Final = f"{OURS}MARKS"
INHERITED: Final = f"{OURS}INHERITED"
#: The top of the tree in which a session builds.
TREE: Final = f"{OURS}TREE"
#: Where the guards of such a command note what its processes look at.
LOOKS: Final = f"{OURS}LOOKS"
ALL: Final = (
    *(SOCKET, BOARD, BUILD, GUARD, SHIMS, COMMAND, TRACE, CALLER, UNGUARDED),
    *(REAL, LINE, RECIPE, DEPTH, MEMO, MEMORUN, RECALL, TREE, LOOKS),
    *(AHEAD, READER, MARKS, INHERITED),
)
