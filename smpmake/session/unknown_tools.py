"""Programs that a build runs itself and that smpmake does not know: seen by a look now and then.

No shim stands for them, so that nothing else tells of them.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from pathlib import Path
from typing import Final

from smpmake.units import seconds

_LEAST: Final = 2.0  # s: who runs shorter is not worth a description
_SHARE: Final = 0.1  # of the build's time
_MOST: Final = 500  # processes in one look
_RUNS: Final = frozenset("RD")  # state of a process that works; who waits for others sleeps
#: What runs others, or text: nobody describes these.
_HOSTS: Final = re.compile(
    r"(smpmake|(da|ba|k|mk|z|fi)?sh|[bgdr]?make|ninja|cmake|meson|python|perl|ruby|node|java|env|xargs)"
    r"[-.\d]*(-.*)?"
)
#: What divides its work itself, with all that it runs.
_PARALLEL: Final = ("bazel", "cargo", "go", "gradle")


class UnknownTools:
    """One per build.

    shims     the folder of those that it calls.
    interval  between two looks, s.
    """

    def __init__(self, shims: str, interval: float, proc: str = "/proc") -> None:
        self._shims = shims
        self._interval = interval
        self._proc = Path(proc)
        self._seen: Counter[str] = Counter()

    def look(self, top: int) -> None:
        """At what works now below a process."""
        todo = self._children(top)
        for _ in range(_MOST):
            if not todo:
                break
            pid = todo.pop()
            with contextlib.suppress(OSError, ValueError, IndexError):  # it has gone
                name, state = self._told(pid)
                if name in _PARALLEL or os.path.lexists(f"{self._shims}/{name}"):
                    continue  # with all that it runs in its turn
                todo += self._children(pid)
                if state in _RUNS and not _HOSTS.fullmatch(name):
                    self._seen[name] += 1

    def notices(self, passed: float) -> list[str]:
        """What the user is to know, after so many seconds."""
        longest = self._seen.most_common(1)
        return [
            f"smpmake does not know {name}, which ran for about {seconds(count * self._interval)}: "
            f"[tools.{name}] in .smpmake.toml can describe it"
            for name, count in longest
            if count * self._interval >= max(_LEAST, _SHARE * passed)
        ]

    def _children(self, pid: int) -> list[int]:
        found: list[int] = []
        with contextlib.suppress(OSError):
            for task in (self._proc / f"{pid}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        return found

    def _told(self, pid: int) -> tuple[str, str]:
        """Its name and its state."""
        text = (self._proc / f"{pid}/stat").read_text(errors="replace")
        name, _, rest = text.partition("(")[2].rpartition(")")
        return name, rest.split(maxsplit=1)[0]
