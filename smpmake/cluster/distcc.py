"""distcc: who its hosts are, and how one compile is sent to one of them.

It is told which host, once a compile, and never to compile here instead: how many run here, and
whether what has failed is tried again, is for us to say.
https://manpages.debian.org/bookworm/distcc/distcc.1.en.html
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Final

from smpmake.cluster.farm import TEMPORARY, ClusterError, Host
from smpmake.commands.compilers.sendable import leaves_macros

_PATIENCE: Final = 10.0  # s for its answer
_USUAL_SLOTS: Final = 4  # of a host that says nothing: "--localslots" and LIMIT in the manual
_OWN_STATUSES: Final = range(100, 120)  # src/exitcode.h
#: struct dcc_task_state in src/state.h: how long it is, where the host's name and the phase are.
_STATE_SIZE: Final = 296
_STATE_HOST, _STATE_PHASE = slice(152, 280), 284
_COMPILING: Final = 5
_CALLED: Final = "called"
_MACROS: Final = "-fdirectives-only"
#: The compiler, to which it is added, is the first word.
_PREFIX: Final = """\
#!/bin/sh
: > "$DISTCC_DIR/{called}"
case $(readlink -f "$1")" $*" in
*clang*|*" -fopenmp"*|*" -fopenacc"*|*" -fgnu-tm"*) exec {distcc} "$@" ;;
*) exec {distcc} "$@" {macros} ;;
esac
"""
_SAID: Final = re.compile(r"distcc\[\d+\] (?:\(\w+\) )?(?:ERROR|CRITICAL!|Warning): (?P<text>.+)")
_SPEC: Final = re.compile(
    r"(?P<machine>@?(?:[^/,@\s]+@)?(?:\[[^\]]+\]|[^/,:\s]+)(?::[^/,\s]+)?)"
    r"(?:/(?P<limit>\d+))?(?P<options>(?:,[\w.-]+)*)"
)


class Distcc:
    """The program at `path`."""

    name = "distcc"
    changes = comes_back = False
    litter = ""

    def __init__(self, path: str) -> None:
        self.path = path

    def slots(self, host: Host) -> int | None:
        """See Client."""
        return host.slots

    def words(self, argv: tuple[str, ...], real: str) -> tuple[str, ...]:
        """See Client.

        gcc can leave macros to the compile itself: so columns and warnings are those of the source.
        """
        leaves = leaves_macros(os.path.basename(real), argv[1:])
        return ("distcc", *argv, _MACROS) if leaves else ("distcc", *argv)

    def prefix(self, folder: Path) -> str:
        """See Client."""
        path = folder / "distcc-prefix"
        if not path.exists():
            path.write_text(
                _PREFIX.format(distcc=shlex.quote(self.path), macros=_MACROS, called=_CALLED)
            )
            path.chmod(0o700)
        return str(path)

    def environment(self, host: Host, folder: Path) -> dict[str, str]:
        """See Client.  It sleeps a second where its only host has no room, if nothing else is said.

        Where that host does not answer it must be let alone for a while, as is usual: else it is
        tried until there are no descriptors left.
        """
        return {
            "DISTCC_HOSTS": host.address,
            "DISTCC_DIR": str(folder),
            "DISTCC_FALLBACK": "0",
            "DISTCC_SKIP_LOCAL_RETRY": "1",
            "DISTCC_PAUSE_TIME_MSEC": "20",
            "DISTCC_NO_REWRITE_CROSS": "1",  # it would call gcc by a name that may be another one's
            "DISTCC_VERBOSE": "0",  # what it says is taken for the compiler's
            "DISTCC_LOG": "",
            "TMPDIR": str(folder / TEMPORARY),
        }

    def prepare(self, folder: Path) -> Path:
        """See Client.  What another one has left says nothing of the next: that it was killed, or
        that the host is to be let alone."""
        for name in ("state", "lock", TEMPORARY):
            path = f"{folder}/{name}"
            try:
                left = os.listdir(path)
            except FileNotFoundError:
                os.makedirs(path)
                continue
            for each in left:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{path}/{each}")
        (folder / _CALLED).unlink(missing_ok=True)
        return folder / "state"

    def is_sent(self, folder: Path) -> bool | None:
        """See Client.  If its states look otherwise it never says."""
        with contextlib.suppress(OSError):
            for name in os.listdir(f"{folder}/state"):
                with open(f"{folder}/state/{name}", "rb", buffering=0) as file:
                    return _is_away(file.read(_STATE_SIZE + 1))
        return None

    def host_of(self, folder: Path) -> str:
        """See Client."""
        del folder
        return ""

    def was_called(self, folder: Path) -> bool:
        """See Client."""
        return (folder / _CALLED).exists()

    def fault(self, said: str) -> str:
        """See Client.  The first complaint is the cause of the others."""
        found = _SAID.search(said)
        return found["text"] if found is not None else said.strip().rpartition("\n")[2]

    def blames_host(self, status: int) -> bool:
        """See Client."""
        return status in _OWN_STATUSES


def _is_away(state: bytes) -> bool | None:
    if len(state) != _STATE_SIZE:
        return None
    host = state[_STATE_HOST].partition(b"\0")[0]
    (phase,) = struct.unpack_from("=I", state, _STATE_PHASE)
    return host != b"localhost" if phase >= _COMPILING else None


def find(environment_path: str) -> str | None:
    """Its program on a PATH, or None."""
    return shutil.which("distcc", path=environment_path)


def hosts(path: str) -> tuple[Host, ...]:
    """Those that it would use here, this machine (`localhost`) aside.

    Raises ClusterError where it does not say.
    """
    try:
        ran = subprocess.run(
            [path, "--show-hosts"],
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClusterError(f"{path} --show-hosts: {error}") from None
    text = ran.stdout.decode(errors="replace")
    if ran.returncode != 0:
        said = ran.stderr.decode(errors="replace").strip() or f"status {ran.returncode}"
        raise ClusterError(f"{path} --show-hosts: {said}")
    named = [host for line in text.splitlines() if (host := host_of(line.strip())) is not None]
    return tuple({host.name: _once(host, named) for host in named}.values())


def _once(host: Host, named: list[Host]) -> Host:
    """Who is named several times has the slots of all of them."""
    slots = sum(each.slots for each in named if each.name == host.name)
    address = host.address.replace(f"/{host.slots}", f"/{slots}", 1)
    return host._replace(address=address, slots=slots)


def host_of(spec: str) -> Host | None:
    """A host as distcc writes it (HOST SPECIFICATIONS in its manual); None for this machine."""
    found = _SPEC.fullmatch(spec)
    if found is None:
        return None
    name = found["machine"].lstrip("@").rpartition("@")[2]
    if name == "localhost" or spec.startswith("-"):
        return None
    slots = int(found["limit"]) if found["limit"] is not None else _USUAL_SLOTS
    # Preprocessing there (",cpp") is for who has started its server of headers, `pump`.
    options = [option for option in found["options"].split(",") if option and option != "cpp"]
    address = ",".join([f"{found['machine']}/{slots}", *options])
    return Host(name, address, slots) if slots else None
