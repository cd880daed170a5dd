"""Which programs a command will run: its compiler's driver is asked.

gcc and clang print it (-###) in a thousandth of a second: the compiler proper, the assembler, the
linker, as their options, variables and PATH lead to them.  The answer holds for all commands that
differ in names alone.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from smpmake.commands.compilers.driver_programs import Answer, Choice, read
from smpmake.commands.compilers.launchers import leads_elsewhere
from smpmake.commands.compilers.words import LEADS_ELSEWHERE, SUFFIXED
from smpmake.commands.families import is_launcher
from smpmake.commands.model import Program
from smpmake.disk.elf import is_program, is_script, takes_guard
from smpmake.disk.paths import Paths
from smpmake.engine.environment import Environment, serial

_VARIABLES: Final = ("PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LD_LIBRARY_PATH")
_PATIENCE: Final = 2.0  # s for an answer; it takes a few ms
_LONGEST: Final = 1 << 20  # bytes of it


#: Has each program's loader say what it would load, a library beside it (ld.so(8)).
_TELLS: Final = (
    'library=$1; shift; exec >&2; for program; do printf "\\n= %s\\n" "$program"; '
    'LD_TRACE_LOADED_OBJECTS=1 LD_PRELOAD=$library "$program" --version; done'
)
#: What no program is: a command that runs it is never believed.
UNKNOWN: Final = ("",)
#: Asks a driver: its words, the folder that it runs in, its environment; what it prints.
Ask = Callable[[list[str], str, bytes], bytes]


class Programs:
    """One per engine.

    folder      one of ours, where files may be that a question names.
    is_pending  whether an unfinished command will write a path.
    """

    def __init__(
        self, folder: Path, paths: Paths, is_pending: Callable[[str], bool], ask: Ask | None = None
    ) -> None:
        self._folder = folder
        self._paths = paths
        self._is_pending = is_pending
        self._ask = ask or _asked
        self._answers: dict[tuple[str, ...], Answer | None] = {}
        self._found: dict[tuple[str, str], str] = {}  # on PATH, for one command

    def take_command(self) -> None:
        """Another command has come: what was found before may have changed."""
        self._found.clear()

    def programs_of(
        self, real: str, programs: Iterable[Program], cwd: str, environment: Environment
    ) -> tuple[str, ...] | None:
        """The paths of all that a command runs; UNKNOWN where one of them cannot be told, and None
        where one is a script, which may run anything.

        real  its tool's file.
        cwd   the folder that it runs in.
        """
        found: dict[str, None] = {}
        path = environment.get("PATH") or ""
        led = leads_elsewhere(environment.get)
        for program in programs:
            for itself in self._launched(path, program.name or real):
                if led and _is_called_launcher(itself):
                    return UNKNOWN
                found[itself] = None
            if itself and is_script(itself):  # it is not asked: it may do more than to answer
                return None
            more = self._driven(itself, program.asks, cwd, environment) if itself else None
            if more is None:
                return UNKNOWN
            found |= dict.fromkeys(more)
        return UNKNOWN if any(map(self._is_pending, found)) else tuple(found)

    def scripts_among(self, programs: Iterable[Program], environment: Environment) -> list[str]:
        """Those of a command's programs that are scripts, but for its tool itself."""
        path = environment.get("PATH") or ""
        named = (self._launched(path, each.name)[0] for each in programs if each.name)
        return [file for file in named if file and is_script(file)]

    def loaded_with(
        self, library: str, environment: Environment, programs: Iterable[str]
    ) -> list[str]:
        """Those of the programs into which their loader would load a library.

        glibc's says what it would load, and runs nothing.  Any other runs them, with --version, and
        says nothing.
        """
        asked = [each for each in programs if takes_guard(each) and not is_script(each)]
        words = ["/bin/sh", "-c", _TELLS, "sh", library, *asked]
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            text = self._ask(words, os.fspath(self._folder), serial(environment.blob))
            loads = f"\t{library} (0x"
            parts = os.fsdecode(text).split("\n= ")[1:]
            return [part.partition("\n")[0] for part in parts if f"\n{loads}" in part]
        return []

    def _launched(self, path: str, name: str) -> list[str]:
        """The program of that name; if that is a launcher, also what it launches.  "" for what
        cannot be found."""
        found = [name if name.startswith("/") else self._on_path(path, name)]
        if found[0] and _is_launcher(found[0]):
            folders = [folder for folder in path.split(":") if folder]
            others = (f"{folder}/{os.path.basename(name)}" for folder in folders)
            behind = (other for other in others if is_program(other) and not _is_launcher(other))
            found.append(next(behind, ""))
        return found

    def _driven(
        self, driver: str, question: tuple[str, ...], cwd: str, environment: Environment
    ) -> tuple[str, ...] | None:
        """What a driver runs besides itself."""
        if not question:
            return ()
        path, *led = (environment.get(name) or "" for name in _VARIABLES)
        key = (driver, path, *led, *question)
        # What is found elsewhere today may be another program tomorrow.
        if any(led) or any(word.startswith(LEADS_ELSEWHERE) for word in question):
            answer = self._answer(driver, question, cwd, environment)
        elif key in self._answers:
            answer = self._answers[key]
        else:
            answer = self._answers[key] = self._answer(driver, question, "", environment)
        if answer is None:
            return None
        found = [self._first(path, choice) for choice in answer.choices(question)]
        return tuple(found) if all(found) else None

    def _first(self, path: str, choice: Choice) -> str:
        """The first of them that is there; "" for none."""
        for name in choice[:-1]:
            if is_program(name):
                return name
        return choice[-1] if choice[-1].startswith("/") else self._on_path(path, choice[-1])

    def _on_path(self, path: str, name: str) -> str:
        found = self._found.get((path, name))
        if found is None:
            found = self._paths.on_path(path, name, self._is_pending)
            self._found[path, name] = found
        return found

    def _answer(
        self, driver: str, question: tuple[str, ...], cwd: str, environment: Environment
    ) -> Answer | None:
        own = os.fspath(self._folder)
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            words = [driver]
            for word in question:
                is_file = word[:1] != "-" and word.startswith(SUFFIXED.format(""))
                if is_file:  # it has to be there for clang
                    (self._folder / word).touch()
                words.append(f"{own}/{word}" if is_file else word)
            return read(os.fsdecode(self._ask(words, cwd or own, serial(environment.blob))))
        return None


def _asked(question: list[str], folder: str, environment: bytes) -> bytes:
    """What a driver prints of itself.  Raises OSError; b"" where it says nothing in time."""
    variables = dict(each.split(b"=", 1) for each in environment.split(b"\0") if b"=" in each)
    ours, theirs = os.pipe()
    try:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, theirs, 2),
        ]
        words = ("/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", folder, *question)
        pid = os.posix_spawn(words[0], words, variables, file_actions=actions, setpgroup=0)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    try:
        return _heard(ours)
    finally:
        os.close(ours)
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _heard(fd: int) -> bytes:
    text, until = b"", time.monotonic() + _PATIENCE
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while len(text) < _LONGEST:
        left = until - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return b""
        more = os.read(fd, 1 << 16)
        if not more:
            return text
        text += more
    return b""


def _is_called_launcher(path: str) -> bool:
    """Whether it is one, under whatever name."""
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return False
    return _is_launchers_file(path, info.st_dev, info.st_ino, info.st_ctime_ns)


@functools.lru_cache(256)
def _is_launchers_file(path: str, _device: int, _inode: int, _changed: int) -> bool:
    return is_launcher(os.path.basename(os.path.realpath(path)))


def _is_launcher(path: str) -> bool:
    """Whether it stands on PATH in a compiler's place."""
    return _is_called_launcher(path) and not is_launcher(path)
