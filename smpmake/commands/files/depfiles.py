"""What a compiler wrote into a dependency file (-MD): prerequisites in make's syntax."""

from __future__ import annotations

import re
from typing import Final

_ESCAPED: Final = re.compile(r"\\([ #:])|\$\$")
_BREAK: Final = re.compile(r"(?<!\\)[ \t]+")


def prerequisites(text: str) -> tuple[str, ...]:
    """The files that the rules' targets depend on; -MP's empty rules name none."""
    found: dict[str, None] = {}
    for rule in text.replace("\\\n", " ").splitlines():
        target, colon, rest = rule.partition(": ")
        if colon and target and not target.startswith("#"):
            words = _BREAK.split(rest.strip())
            found.update(dict.fromkeys(_plain(word) for word in words if word))
    return tuple(found)


def _plain(word: str) -> str:
    return _ESCAPED.sub(lambda found: found[1] or "$", word)
