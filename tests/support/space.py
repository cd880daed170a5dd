"""A folder for one end-to-end test: files from a dict, commands, the plain driver as oracle.

Everything that a test starts is in a process group of its own and ends with the test.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from smpmake import native
from smpmake.errors import SmpmakeError
from smpmake.guard.proofs import Proofs
from smpmake.protocol.client import Client

SMPMAKE = str(Path(sys.executable).parent / "smpmake")
FIXTURES = Path(__file__).parent.parent.parent / "fixtures"


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    status: int
    out: str
    err: str


def words(options: Sequence[str], command: Sequence[str]) -> list[str]:
    """A command line of smpmake's; without an option a plain one, as most users have it."""
    return [*options, *(["--"] if options else []), *command]


class Space:
    """`folder` holds the files; `state` is where smpmake keeps what it keeps.

    Builds happen in `folder` always, so that absolute paths inside objects agree; a serial build's
    tree is remembered by `serial`.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "build"
        self.folder.mkdir()
        (root / "pool").mkdir()  # other tests' builds are to have the CPUs, too
        # Short, because sockets' names must be.
        self.temporary = Path(tempfile.mkdtemp(prefix="smp-"))
        self.environment = {
            **{
                k: v
                for k, v in os.environ.items()
                if not k.startswith(("SMPMAKE_", "_SMPMAKE_", "XDG_", "MAKE", "PYTHONUNBUFFERED"))
            },
            "TMPDIR": str(self.temporary),
            "XDG_STATE_HOME": str(root / "state"),
            "XDG_CONFIG_HOME": str(root / "config"),
            "XDG_CACHE_HOME": str(root / "cache"),
            "SMPMAKE_MACHINE_POOL": str(root / "pool"),
            "LC_ALL": "C",
        }
        self.know_compilers()
        self.stdin = subprocess.DEVNULL
        self._running: list[subprocess.Popen[bytes]] = []

    @property
    def programs(self) -> Path:
        """Where smpmake remembers which programs it has seen with a guard."""
        return self.root / "cache" / "smpmake" / "guarded-programs"

    def forget_programs(self) -> None:
        """From now on it is as if nothing was ever built here."""
        self.programs.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.programs.unlink(missing_ok=True)

    def know_compilers(self) -> None:
        """From now on it is as if an earlier build had called the usual compilers."""
        self.forget_programs()
        shutil.copy(_seen(), self.programs)

    # ------------------------------------------------------------------ files

    def write(self, files: dict[str, str]) -> None:
        """Makes or replaces files; missing folders are made."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def fake(self, name: str, script: str, *, is_script: bool = False) -> None:
        """Puts a tool of our own in front of the real one on the user's PATH.

        It is a program, as most are, which earlier builds have seen, and which says that it runs
        what the real one does; or it is a script itself, of which nobody knows anything.
        """
        folder = self.root / "tools"
        folder.mkdir(exist_ok=True)
        tool = folder / name
        text = tool if is_script else folder / f"{name}.sh"
        text.write_text(script)
        text.chmod(0o755)
        if not is_script:
            shutil.copy(_stand_in(), tool)
            Proofs(native.guard(), self.programs).add_programs([str(tool)], time.time_ns() + 10**9)
        if str(folder) not in self.environment["PATH"]:
            self.environment["PATH"] = f"{folder}:{self.environment['PATH']}"

    def copy(self, fixture: str) -> None:
        """Brings a project from fixtures/, as it was before somebody built it there."""
        made = shutil.ignore_patterns("*.o", "*.a", "*.d", "*.err", "*.lib", "*.pch", "sample")
        shutil.copytree(FIXTURES / fixture, self.folder, dirs_exist_ok=True, ignore=made)

    def clear(self) -> None:
        """Empties the build folder."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def tree(self) -> dict[str, str]:
        """Every file with its mode and a hash of its content, every link with its target, and
        owners that are not ours."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            info = path.lstat()
            if path.is_symlink():
                found[name] = f"-> {os.readlink(path)}"
            elif path.is_file():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
                found[name] = f"{info.st_mode:o} {digest}"
            else:
                found[name] = f"{info.st_mode:o} folder"
            if (info.st_uid, info.st_gid) != (os.getuid(), os.getgid()):
                found[name] += f" of {info.st_uid}:{info.st_gid}"
        return found

    # ------------------------------------------------------------------ commands

    def start(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        """Starts a command in a process group of its own."""
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=self.stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._running.append(process)
        return process

    def finish(self, process: subprocess.Popen[bytes], timeout: float = 60) -> Ended:
        """Waits for a command; one that does not end in `timeout` s is shown with what it does."""
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(self._witness(process)) from None
        return Ended(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def _witness(self, process: subprocess.Popen[bytes]) -> str:
        """What a command and its descendants hang in, and what the server says."""
        top = psutil.Process(process.pid)
        lines = [f"hangs: {process.args!r}"]
        for each in [top, *top.children(recursive=True)]:
            with contextlib.suppress(psutil.Error, OSError):
                wait = Path(f"/proc/{each.pid}/wchan").read_text()
                call = Path(f"/proc/{each.pid}/syscall").read_text().strip()
                line = shlex.join(each.cmdline())
                lines.append(f"{each.pid} {each.status()} in {wait} ({call}): {line[:200]}")
        for path in self.temporary.glob("*/socket"):
            with (
                contextlib.suppress(SmpmakeError, OSError),
                contextlib.closing(Client(path)) as client,
            ):
                client.socket.settimeout(5)
                lines.append(str(client.ask("state")))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return "\n".join([*lines, (out + err)[-3000:].decode(errors="replace")])

    def run(self, *command: str, **environment: str) -> Ended:
        """Runs a command to its end."""
        return self.finish(self.start(*command, **environment))

    def smpmake(self, *arguments: str, **environment: str) -> Ended:
        """Runs smpmake."""
        return self.run(SMPMAKE, *arguments, **environment)

    def ok(self, *command: str) -> Ended:
        """Runs a command that must succeed."""
        ended = self.run(*command)
        assert ended.status == 0, ended
        return ended

    def expect_same(
        self, files: dict[str, str], command: list[str], *options: str, gates: Iterable[Path] = ()
    ) -> Ended:
        """The oracle: a plain build and one under smpmake agree in files, bytes and status.

        Leaves the smpmake build in place; afterwards nothing of smpmake's is left over.
        gates  FIFOs that are there under smpmake alone.
        """
        self.write(files)
        plain = self.run(*command)
        expected = self.tree()
        self.clear()
        self.write(files)
        for gate in gates:
            os.mkfifo(gate)
        ended = self.smpmake(*words(options, command))
        assert self.tree() == expected, ended.err
        assert "Traceback" not in ended.err, ended.err
        assert ended.status == plain.status, ended.err
        self.expect_clean()
        return ended

    def expect_clean(self) -> None:
        """Promise P9: no socket, folder or temporary file is left."""
        left = [p.name for p in self.temporary.iterdir()]
        assert left == [], left
        assert [p for p in self.folder.rglob(".smpmake*") if p.name != ".smpmake.toml"] == []

    def close(self) -> None:
        """Ends what still runs."""
        for process in self._running:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        shutil.rmtree(self.temporary, ignore_errors=True)


_STAND_IN = """\
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char own[4096], other[8192];
    ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
    own[size > 0 ? size : 0] = '\\0';
    int asked = argc > 1 && strcmp(argv[1], "-###") == 0;
    if (asked)
        snprintf(other, sizeof other, "/usr/bin/%s", basename(own));
    else
        snprintf(other, sizeof other, "%s.sh", own);
    if (asked)
        argv[0] = other; /* gcc looks for its parts beside itself */
    execv(other, argv);
    return 127;
}
"""


@functools.cache
def _stand_in() -> Path:
    """A program that runs the script of its name, or tells what the real tool of that name runs."""
    folder = Path(tempfile.mkdtemp(prefix="smp-tool-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "tool.c").write_text(_STAND_IN)
    subprocess.run(["gcc", "-o", folder / "tool", folder / "tool.c"], check=True)
    return folder / "tool"


@functools.cache
def _seen() -> Path:
    """The usual compilers, as an earlier build has seen them."""
    found: dict[str, None] = {}
    for name in ("cc", "gcc", "c++", "g++", "gfortran", "clang", "clang++", "as", "ld", "make"):
        tool = shutil.which(name)
        if tool is None:
            continue
        found[tool] = None
        for part in ("cc1", "cc1plus", "f951", "as", "collect2", "ld", "lto1", "lto-wrapper"):
            asked = [tool, f"-print-prog-name={part}"]
            said = subprocess.run(asked, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            path = shutil.which(said.stdout.strip()) if said.returncode == 0 else None
            if path is not None:
                found[path] = None
        found[os.path.realpath(tool)] = None
    file = Path(tempfile.mkdtemp(prefix="smp-seen-")) / "programs"
    atexit.register(shutil.rmtree, file.parent, ignore_errors=True)
    assert Proofs(native.guard(), file).add_programs(found, time.time_ns())
    return file


def objects(count: int, prefix: str = "f") -> dict[str, str]:
    """`count` small sources, each with a function of its own."""
    return {
        f"{prefix}{n}.c": f"int {prefix}{n}(int x) {{ return x + {n}; }}\n" for n in range(count)
    }


MAIN = "int main(void) { return 0; }\n"
