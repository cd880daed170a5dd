"""Whether a host's compiler makes what ours does: one small source, compiled here and there.

Clients send a compiler's name, and no version.  The object tells the version (gcc and clang note
it) and what the compiler does unasked: position-independent code, guards of stack and control flow.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Final

from smpmake.cluster.compilers import Compiler
from smpmake.cluster.farm import Client, Host

_PATIENCE: Final = 120.0  # s for one compile; icecream packs the compiler up for it
#: Macros, comments and a text in several lines show whether preprocessed text is understood there.
_SOURCE: Final = """\
#define TWICE(x) x; /* of these */ x
extern int outside;
extern void fill(char *text, int most);
int canary(int count)
{
	char text[64];
	double sum = 0.1;
	TWICE(fill(text, 64));
	for (int i = 0; i < count; ++i)
		sum = sum * 1.7 + text[i & 63] / (i + 1.0);
	return (int)sum + outside;
}
int *where(void)
{
	return &outside;
}
"""
_RAW: Final = """\
const char *raw = R"(
#define RAW 1 /* is text */
)";
"""


class Canaries:
    """Those of one session; what they make lies in its folder."""

    def __init__(self, client: Client, folder: Path) -> None:
        self._client = client
        self._folder = folder
        self._here: dict[Compiler, asyncio.Task[bytes]] = {}

    async def fault(self, host: Host, compiler: Compiler, number: int) -> str:
        """Why the host's object is not ours; "" if it is.

        number  one for each of these, for names.
        """
        word, path = compiler.word, compiler.path
        if compiler not in self._here:
            making = self._compile((word,), path, f"ours-{number}", {})
            self._here[compiler] = asyncio.get_running_loop().create_task(making)
        place = self._folder / f"canary-{number}"
        try:
            ours = await self._here[compiler]
            self._client.prepare(place)
            told = self._client.environment(host, place)
            words = self._client.words((word,), compiler.file)
            theirs = await self._compile(words, path, f"theirs-{number}", told)
        except OSError as error:
            return str(error)
        return "" if theirs == ours else "it makes another object of the same source"

    async def _compile(
        self, words: tuple[str, ...], path: str, name: str, told: dict[str, str]
    ) -> bytes:
        """The object.  Raises OSError where there is none."""
        is_cpp = any("++" in os.path.basename(word) for word in words)
        folder = self._folder / name  # others are at work, and objects have the source's name
        source = folder / ("canary.cc" if is_cpp else "canary.c")
        made = folder / "canary.o"
        folder.mkdir(parents=True, exist_ok=True)
        source.write_text(_SOURCE + _RAW * is_cpp)
        program = self._client.path if told else words[0]
        process = await asyncio.create_subprocess_exec(
            program,
            *(*words[1:], "-O2", "-g0", "-c", source.name, "-o", made.name),
            cwd=folder,
            env={**os.environ, **told, "PATH": path},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            _, said = await asyncio.wait_for(process.communicate(), _PATIENCE)
        except TimeoutError:
            raise OSError(f"no answer within {_PATIENCE:.0f} s") from None
        finally:
            if process.returncode is None:
                process.kill()
        if process.returncode:
            fault = self._client.fault(said.decode(errors="replace"))
            raise OSError(fault or f"status {process.returncode}")
        return made.read_bytes()
