"""Takes secrets out of what is stored: values of variables and options whose names say so."""

from __future__ import annotations

import fnmatch
import functools
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
_REMEMBERED: Final = 4096  # words: a build's commands have most of them in common
_LONG: Final = 256  # characters of a word that is not remembered
# From a word's beginning and without going back: arguments of 100 KiB must not hold anybody up.
_NAME: Final = r"(?<![\w.-])([\w.-]++)="
_IN_WORD: Final = re.compile(_NAME)
_IN_TEXT: Final = re.compile(_NAME + r"""(?:\\?"[^"\n]*"|'[^'\n]*'|[^\s\0]+)""")
_PAIR: Final = re.compile(r"(?<![\w-])(--[\w-]++) ([^\s\0]+)")
_LOGIN: Final = re.compile(r"(\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@\0]+:)[^\s/@\0]+@", re.IGNORECASE)


class Redactor:
    """What is taken out: `NAME=value`, `--name value`, logins in addresses, and wherever they
    stand, the values of environment variables of such names."""

    def __init__(
        self, more: tuple[str, ...] = (), environ: Mapping[str, str] | None = None
    ) -> None:
        patterns = (*DEFAULT_NAMES, *(name.lower() for name in more))
        self._names = re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns))
        values = [
            value
            for name, value in (environ or {}).items()
            if len(value) >= _SHORTEST and self.is_secret(name)
        ]
        values.sort(key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, values))) if values else None
        self._known = functools.lru_cache(_REMEMBERED)(self._looked_through)

    def is_secret(self, name: str) -> bool:
        """Whether what has this name is not to be stored."""
        return self._names.match(name.strip("-").replace("-", "_").lower()) is not None

    def text(self, text: str) -> str:
        """A text without secrets."""
        if self._values is not None:
            text = self._values.sub(SHOWN, text)
        if "://" in text:
            text = _LOGIN.sub(rf"\1{SHOWN}@", text)
        if "=" in text:
            text = _IN_TEXT.sub(self._hide, text)
        if "--" in text:
            text = _PAIR.sub(self._hide_pair, text)
        return text

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
        words = argv.decode("utf-8", "surrogateescape").split("\0")
        before = ""
        for at, word in enumerate(words):
            if before.startswith("--") and "=" not in before and self.is_secret(before):
                words[at] = SHOWN if word else word
            else:
                words[at] = self._word(word)
            before = word
        return "\0".join(words).encode("utf-8", "surrogateescape")

    def _word(self, word: str) -> str:
        return self._known(word) if len(word) < _LONG else self._looked_through(word)

    def _looked_through(self, word: str) -> str:
        """One word: a secret lasts to its end, whatever quotes and blanks are in it."""
        if "=" in word:
            for found in _IN_WORD.finditer(word):
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
