"""Takes secrets out of what is stored: values of variables and options whose names say so."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from typing import Final

from smpmake.records import BuildRecord

#: Names, whatever their case; patterns as in a shell.  `redact` in the configuration adds to them.
DEFAULT_NAMES: Final = (
    *("*password*", "*passwd*", "*passphrase*", "*secret*", "*credential*"),
    *("*api_key*", "*apikey*", "*access_key*", "*private_key*", "*_token", "token", "*auth*token"),
)
SHOWN: Final = "***"
_SHORTEST: Final = 6  # a shorter value is no secret, and would be found everywhere
# From a word's beginning and without going back: arguments of 100 KiB must not hold anybody up.
# Most builds need none of them, so `re` compiles them where they are used, and remembers them.
_NAME: Final = r"(?<![\w.-])([\w.-]++)="
_IN_TEXT: Final = _NAME + r"""(?:\\?"[^"\n]*"|'[^'\n]*'|[^\s\0]+)"""
_PAIR: Final = r"(?<![\w-])(--[\w-]++) ([^\s\0]+)"
_LOGIN: Final = r"(?i)(\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@\0]+:)[^\s/@\0]+@"


class Redactor:
    """What is taken out: `NAME=value`, `--name value`, logins in addresses, and wherever they
    stand, the values of environment variables of such names."""

    def __init__(
        self, more: tuple[str, ...] = (), environ: Mapping[str, str] | None = None
    ) -> None:
        patterns = (*DEFAULT_NAMES, *map(_as_a_pattern, more))
        self._names = "|".join(fnmatch.translate(pattern) for pattern in patterns)
        self._pieces = {max(re.split(r"[*?]|\[.*", each), key=len) for each in patterns}
        values = [
            value
            for name, value in (environ or {}).items()
            if len(value) >= _SHORTEST and self.is_secret(name)
        ]
        values.sort(key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, values))) if values else None

    def is_secret(self, name: str) -> bool:
        """Whether what has this name is not to be stored."""
        name = _as_a_name(name.strip("-"))
        return self._may_name_one(name) and re.match(self._names, name) is not None

    def text(self, text: str) -> str:
        """A text without secrets."""
        text = self._without_values(text)
        if self._may_name_one(text):
            text = re.sub(_IN_TEXT, self._hide, text)
            text = re.sub(_PAIR, self._hide_pair, text)
        return text

    def _without_values(self, text: str) -> str:
        if self._values is not None:
            text = self._values.sub(SHOWN, text)
        return re.sub(_LOGIN, rf"\1{SHOWN}@", text) if "://" in text else text

    def _may_name_one(self, text: str) -> bool:
        """Whether some secret's name may stand in a text: most commands need no further look."""
        text = _as_a_name(text)
        return any(piece in text for piece in self._pieces)

    def words(self, words: list[str]) -> list[str]:
        """A command line without secrets."""
        joined = "\0".join(words).encode("utf-8", "surrogateescape")
        return self.argv(joined).decode("utf-8", "surrogateescape").split("\0") if words else []

    def record(self, record: BuildRecord) -> None:
        """Takes secrets out of a record that is to be shown to others, and of nothing else."""
        record.command = self.words(record.command)
        record.notices = [self.text(notice) for notice in record.notices]
        for command in record.commands:
            command.argv = self.argv(command.argv)
            command.said = self.text(command.said)
        for failure in (*record.failures, *record.reported):
            output = self.text(failure.output.decode("utf-8", "surrogateescape"))
            failure.output = output.encode("utf-8", "surrogateescape")

    def argv(self, argv: bytes) -> bytes:
        """NUL-ended words without secrets."""
        joined = argv.decode("utf-8", "surrogateescape")
        if not self._may_name_one(joined):
            return self._without_values(joined).encode("utf-8", "surrogateescape")
        words = joined.split("\0")
        before = ""
        for at, word in enumerate(words):
            if before.startswith("--") and "=" not in before and self.is_secret(before):
                words[at] = SHOWN if word else word
            else:
                words[at] = self._word(word)
            before = word
        return "\0".join(words).encode("utf-8", "surrogateescape")

    def _word(self, word: str) -> str:
        """One word: a secret lasts to its end, whatever quotes and blanks are in it."""
        if "=" in word:
            for found in re.finditer(_NAME, word):
                if self._names_secret(found[1]):
                    return word[: found.end()] + SHOWN
        return self.text(word)

    def _hide(self, found: re.Match[str]) -> str:
        return f"{found[1]}={SHOWN}" if self._names_secret(found[1]) else found[0]

    def _hide_pair(self, found: re.Match[str]) -> str:
        return f"{found[1]} {SHOWN}" if self.is_secret(found[1]) else found[0]

    def _names_secret(self, name: str) -> bool:
        name = name.lstrip("-")
        # -DNAME=value: the name begins after the option's letter.
        return self.is_secret(name) or (name[:1] == "D" and self.is_secret(name[1:]))


def _as_a_name(text: str) -> str:
    return text.replace("-", "_").lower()


def _as_a_pattern(name: str) -> str:
    """A pattern for what `_as_a_name` makes of names; "-" in brackets is a range."""
    return name.lower() if "[" in name else _as_a_name(name)
